#!/usr/bin/env python3
"""Writes the seed files of the fuzzers, with the formats' own Python packages.

    pip install gguf numpy && weights/fuzz/make_corpus.py
"""

import json
import pathlib
import struct

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter
from gguf.constants import GGML_QUANT_SIZES

FOLDER = pathlib.Path(__file__).parent / "corpus"


def gguf_file(name, alignment, kinds):
    path = FOLDER / "gguf" / name
    writer = GGUFWriter(path, "llama")
    if alignment != 32:
        writer.add_custom_alignment(alignment)
    writer.add_block_count(1)
    writer.add_rope_freq_base(10000.0)
    writer.add_add_bos_token(True)
    writer.add_token_list(["a", "", "\u00e9", "<s>"])
    writer.add_token_scores([0.5, -1.0, 0.0, 3.0])
    writer.add_token_types([1, 6, 1, 3])
    writer.add_uint64("a.u64", 1 << 40)
    writer.add_int16("a.i16", -3)
    writer.add_float64("a.f64", 0.1)
    for kind in kinds:
        elements, size = GGML_QUANT_SIZES[kind]
        rows = np.arange(2 * size, dtype=np.uint32).astype(np.uint8)
        writer.add_tensor(f"t.{kind.name}", rows.reshape(2, size),
                          raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def safetensors_file(name, header, data):
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    (FOLDER / "safetensors" / name).write_bytes(
        struct.pack("<Q", len(text)) + text + data)


def main():
    for name in "gguf", "safetensors", "npy":
        (FOLDER / name).mkdir(parents=True, exist_ok=True)
    kind = GGMLQuantizationType
    gguf_file("scalars.gguf", 32, [kind.F32, kind.F16, kind.BF16, kind.I64])
    gguf_file("legacy.gguf", 8,
              [kind.Q4_0, kind.Q4_1, kind.Q5_0, kind.Q5_1, kind.Q8_0,
               kind.IQ4_NL, kind.MXFP4])
    gguf_file("k.gguf", 64,
              [kind.Q2_K, kind.Q3_K, kind.Q4_K, kind.Q5_K, kind.Q6_K])
    gguf_file("empty.gguf", 32, [])
    (FOLDER / "gguf" / "version1.gguf").write_bytes(
        b"GGUF" + struct.pack("<IQQ", 1, 0, 0))

    entry = lambda dtype, shape, begin, end: {
        "dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
    safetensors_file("two.safetensors", {
        "__metadata__": {"format": "pt"},
        "a": entry("F32", [1, 2], 0, 8),
        "b": entry("BF16", [3], 8, 14)}, bytes(14))
    safetensors_file("zero.safetensors", {
        "\u00e9": entry("I8", [0, 3], 0, 0),
        "s": entry("F8_E4M3", [], 0, 1)}, bytes(1))
    safetensors_file("empty.safetensors", {}, b"")
    safetensors_file("gap.safetensors", {"a": entry("U8", [1], 1, 2)}, bytes(2))

    npy = FOLDER / "npy"
    np.save(npy / "f4.npy", np.arange(6, dtype=np.float32).reshape(2, 3))
    np.save(npy / "i1.npy", np.arange(3, dtype=np.int8))
    np.save(npy / "scalar.npy", np.float64(1.5))
    np.save(npy / "fortran.npy", np.ones((2, 2), np.int32, order="F"))
    with open(npy / "v2.npy", "wb") as out:
        np.lib.format.write_array(out, np.zeros((1, 0, 2), bool), (2, 0))


if __name__ == "__main__":
    main()
