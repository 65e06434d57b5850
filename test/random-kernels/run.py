#!/usr/bin/env python3
"""Compares random C++ kernels on the CPU and on every device.

    run.py --pootc POOTC --compare COMPARE --host-library LIBRARY
           [--seed N] [--count N] [--per-file N] [--keep FOLDER]

Each file of kernels is generated, compiled by pootc, which writes the object
file of the host and imports the kernels, run on the host with subgroups of
every size that a device may have, and run on the devices by COMPARE. A kernel
that came out wrong is named with its file; --keep keeps the files.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SUBGROUP_SIZES = (4, 8, 32, 64)


def run(command, **keywords):
    return subprocess.run(command, check=True, timeout=600, **keywords)


def check_file(args, seed, count, folder):
    source = os.path.join(folder, "kernels.cpp")
    manifest = os.path.join(folder, "kernels.json")
    run([sys.executable, os.path.join(HERE, "generate.py"), "--seed",
         str(seed), "--count", str(count), "-o", source,
         "--manifest", manifest])
    program = os.path.join(folder, "kernels")
    # The importer sees the same source; nothing is contracted on the host.
    run([args.pootc, "-std=c++17", "-O1", "-w", "-ffp-contract=off",
         "-Xclang", "-ffloat16-excess-precision=none", "--emit=mlir",
         f"--out-dir={folder}", source, args.host_library, "-o", program])
    prefix = os.path.join(folder, "host.")
    for size in SUBGROUP_SIZES:
        run([program, str(size), prefix + str(size)])
    result = subprocess.run([args.compare, manifest, folder, prefix],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            timeout=600, text=True)
    for line in result.stdout.splitlines():
        if result.returncode != 0 or " kernels on " in line:
            print(f"seed {seed}: {line}", flush=True)
    return result.returncode == 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pootc", required=True)
    parser.add_argument("--compare", required=True)
    parser.add_argument("--host-library", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--per-file", type=int, default=50)
    parser.add_argument("--keep", help="a folder to work in and leave")
    args = parser.parse_args()
    start = time.time()
    failed = []
    for i in range(0, args.count, args.per_file):
        seed = args.seed + i // args.per_file
        count = min(args.per_file, args.count - i)
        with tempfile.TemporaryDirectory() as temporary:
            folder = temporary
            if args.keep:
                folder = os.path.join(args.keep, str(seed))
                os.makedirs(folder, exist_ok=True)
            if not check_file(args, seed, count, folder):
                failed.append(seed)
    print(f"{args.count} kernels in {time.time() - start:.0f} s; files that "
          f"came out wrong: {failed if failed else 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
