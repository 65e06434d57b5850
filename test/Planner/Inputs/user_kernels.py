"""Operands for user-kernels-run.mlir, and the comparison of its results:
user_kernels.py make | compare REFERENCE OTHER..."""

import sys

import numpy as np

if sys.argv[1] == "make":
    random = np.random.default_rng(1)
    np.save("x.npy", random.standard_normal((65, 5), np.float32))
    np.save("h.npy", random.standard_normal((65, 5)).astype(np.float16))
    np.save("s.npy", random.standard_normal(5, np.float32))
    np.save("i.npy", random.integers(-9, 9, 3, np.int32))
else:
    for name, limit in (("a", 1e-6), ("b", 2e-3), ("c", 1e-6), ("d", 2e-3), ("e", 0)):
        reference, *others = (
            np.load(f"{run}/{name}.npy").astype(np.float64) for run in sys.argv[2:]
        )
        for other in others:
            assert other.shape == reference.shape
            error = abs(other - reference).max()
            assert error <= limit * max(1, abs(reference).max()), (name, error)
