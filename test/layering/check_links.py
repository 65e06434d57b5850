#!/usr/bin/env python3
"""Checks that programs of the deployment half need no compiler library.

    check_links.py [--control COMPILER_TOOL] PROGRAM...

Asks ldd for everything each PROGRAM loads, directly or not, and fails when a
library of LLVM, MLIR or Clang is among it. COMPILER_TOOL does load MLIR: that
it is found there proves that the check can fail.
"""

import argparse
import re
import subprocess
import sys

FORBIDDEN = re.compile(r"llvm|mlir|clang(?!_rt)", re.IGNORECASE)


def forbidden_libraries(program):
    result = subprocess.run(["ldd", program], capture_output=True, text=True)
    if result.returncode or "=>" not in result.stdout:
        sys.exit(f"ldd {program}: {result.stdout}{result.stderr}")
    # The name is what the program asks for; where it was found doesn't matter.
    names = [line.split()[0] for line in result.stdout.splitlines() if line.strip()]
    return [name for name in names if FORBIDDEN.search(name.rsplit("/", 1)[-1])]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--control")
    parser.add_argument("programs", nargs="+")
    arguments = parser.parse_args()
    failed = False
    for program in arguments.programs:
        found = forbidden_libraries(program)
        if found:
            failed = True
            print(f"{program} may load neither LLVM, MLIR nor Clang, but loads {found}")
    if arguments.control and not forbidden_libraries(arguments.control):
        failed = True
        print(f"{arguments.control} loads MLIR, but ldd did not show it")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
