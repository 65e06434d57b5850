"""Inputs of a paged prefill step, and the comparison of its logits.

    paged.py make FOLDER
    paged.py compare FOLDER

The text of 8 tokens lies in block 5 of the cache; the other blocks of the row
are out of order.
"""

import pathlib
import sys

import numpy as np

# Device and oracle differ by the order of sums and by exp alone.
TOLERANCE = 1e-4

command, folder = sys.argv[1], pathlib.Path(sys.argv[2])
if command == "make":
    folder.mkdir(parents=True, exist_ok=True)
    positions = np.arange(8, dtype=np.int32)[None]
    np.save(folder / "token.npy",
            np.array([[5, 77, 300, 12, 900, 41, 8, 9]], np.int32))
    np.save(folder / "pos.npy", positions)
    np.save(folder / "write_map.npy", positions + np.int32(5 * 16))
    np.save(folder / "block_table.npy", np.array([[5, 2, 7, 1]], np.int32))
    np.save(folder / "last.npy", np.array([7], np.int32))
else:
    device = np.load(folder / "device.npy")
    oracle = np.load(folder / "oracle.npy")
    difference = float(np.abs(device - oracle).max())
    spread = float(oracle.max() - oracle.min())
    print(f"largest difference {difference:.3g} of a spread of {spread:.3g}")
    if not (difference <= TOLERANCE and spread > 1):
        sys.exit(1)
