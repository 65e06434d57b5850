#!/usr/bin/env python3
"""Writes the corpus of tokenizer_fuzzer.cpp, whose comment says what an input
holds."""

import os

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")


def byte_names():
    plain = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    return [chr(b if b in plain else next(others)) for b in range(256)]


def write(name, model, options, tokens, merges, text):
    data = bytes([model, options])
    data += "\n".join(tokens).encode() + b"\0" + "\n".join(merges).encode() + b"\0"
    with open(os.path.join(FOLDER, name), "wb") as file:
        file.write(data + text)


def main():
    os.makedirs(FOLDER, exist_ok=True)
    words = ["ab", "\u0120a", "\u0120ab", "12"]
    bpe = ["1" + t for t in byte_names() + words] + ["3<|end|>", "4<user>"]
    merges = ["a b", "\u0120 a", "\u0120a b", "1 2"]
    text = " ab abab 1234<|end|>\u00e9\u4e16\U0001f600<user>\n\n".encode() + b"\xff\xe4"
    for i, name in enumerate(("smollm", "gpt-2", "llama-bpe", "qwen2")):
        write(name, i << 1, 0x0D | i << 4, bpe, merges, text)
    pieces = ["2<unk>", "3<s>", "3</s>"] + [f"6<0x{b:02X}>" for b in range(256)]
    pieces += ["1" + p for p in ("\u2581", "a", "b", "ab", "\u2581a", "\u2581ab")]
    write("llama", 1, 0x1C, pieces, [], text)
    write("llama-no-bytes", 1, 0x1E, pieces[:3] + pieces[-6:], [], text)
    write("few-tokens", 0, 0, ["1a", "1b", "1ab"], ["a b"], b"abc")


main()
