#!/usr/bin/env python3
"""Writes golden/TYPE.packed and golden/TYPE.f32 for every packed type.

The packed bytes are random except for the scales, which are finite f16 values
and include zeros, the smallest and largest subnormals and the largest normals
(for MXFP4: every kind of exponent). The expected values come from the
reference implementation, the Python package gguf:

    pip install gguf numpy && weights/test/make_golden.py
"""

import pathlib

import numpy as np
from gguf import quants
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

# Positions of the f16 fields of a block.
SCALES = {
    "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0],
    "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2],
    "Q6_K": [208], "IQ4_NL": [0], "MXFP4": [],
}
EDGES = [0x0000, 0x8000, 0x0001, 0x03FF, 0x8001, 0x0400, 0x7BFF, 0xFBFF]


def main():
    folder = pathlib.Path(__file__).parent / "golden"
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(20261130)
    for name, fields in SCALES.items():
        kind = GGMLQuantizationType[name]
        elements, size = GGML_QUANT_SIZES[kind]
        count = 12 if elements == 256 else 40
        blocks = rng.integers(0, 256, (count, size), dtype=np.uint8)
        for field in fields:
            scales = (rng.standard_normal(count) * 0.01).astype(np.float16)
            bits = scales.view(np.uint16)
            bits[: len(EDGES)] = rng.permutation(EDGES)
            blocks[:, field:field + 2] = bits.view(np.uint8).reshape(count, 2)
        if name == "MXFP4":
            blocks[:6, 0] = [0, 1, 2, 127, 254, 255]
        values = quants.dequantize(blocks, kind).astype(np.float32)
        assert not np.isnan(values).any()
        (folder / f"{name.lower()}.packed").write_bytes(blocks.tobytes())
        (folder / f"{name.lower()}.f32").write_bytes(values.tobytes())


if __name__ == "__main__":
    main()
