#!/usr/bin/env python3
"""Checks that every C and C++ file is formatted as .clang-format says.

    check_format.py CLANG_FORMAT [--root FOLDER] [--fix]

Prints each file that differs; the exit code is 1 when there is one.
"""

import argparse
import concurrent.futures
import os
import subprocess
import sys

SUFFIXES = (".h", ".hpp", ".cpp", ".c", ".inc")


def files_of(root):
    for folder, names, files in os.walk(root):
        top = folder == root
        names[:] = [
            name
            for name in names
            if not name.startswith(".") and not (top and name.startswith("build"))
        ]
        for name in files:
            if name.endswith(SUFFIXES):
                yield os.path.relpath(os.path.join(folder, name), root)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("clang_format")
    parser.add_argument("--root", default=os.path.dirname(here))
    parser.add_argument("--fix", action="store_true")
    arguments = parser.parse_args()
    files = sorted(files_of(arguments.root))
    action = ["-i"] if arguments.fix else ["--dry-run", "-Werror"]

    def formatted(path):
        command = [arguments.clang_format, *action, path]
        result = subprocess.run(
            command, cwd=arguments.root, capture_output=True, text=True
        )
        return path, result.returncode == 0

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        wrong = [path for path, good in pool.map(formatted, files) if not good]
    for path in wrong:
        print(path)
    print(f"{len(files)} files, {len(wrong)} differ from .clang-format")
    if wrong:
        print(f"format them with: {arguments.clang_format} -i FILE...")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main())
