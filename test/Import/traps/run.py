#!/usr/bin/env python3
"""Runs the kernels of a file in the interpreter and on a Vulkan device.

    run.py SOURCE

The file says what to run and what poot-run prints then:

    // RUNS: KERNEL --grid 2 --input y=zeros:4
    // GIVES: y (i32): 1 2 3 4

The interpreter runs a kernel under its sanitizer, which must have nothing to
say, and on subgroups of 1, 4 and 32 lanes.
"""

import os
import re
import subprocess
import sys
import tempfile


def main():
    source = os.path.abspath(sys.argv[1])
    with open(source, encoding="utf-8") as file:
        cases = re.findall(r"^// RUNS: (\w+) (.*)\n((?:// GIVES: .*\n)+)", file.read(), re.M)
    assert cases, f"{source} says of no kernel what it gives"
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        run = lambda command: subprocess.run(
            command, cwd=folder, timeout=100, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
        made = run(["pootc", "-std=c++20", "-fsyntax-only", source])
        assert made.returncode == 0, made.stdout
        for kernel, options, text in cases:
            expected = re.sub("^// GIVES: ", "", text, flags=re.M)
            made = run(["poot-compile", f"{kernel}.kir.json", "-o", f"{kernel}.poot"])
            assert made.returncode == 0, made.stdout
            interpret = ["--interpret", f"{kernel}.kir.json", "--sanitize"]
            for command in (
                *([*interpret, "--subgroup-size", size] for size in ("1", "4", "32")),
                [f"{kernel}.poot", "--kernel", kernel, "--device", "vulkan"],
            ):
                result = run(["poot-run", *command, *options.split()])
                if result.returncode or result.stdout != expected:
                    print(f"{' '.join(command)} {options} gives {result.stdout}")
                    wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
