#!/usr/bin/env python3
"""Takes kernels of a bundle through the compiler's IR and back.

    bundle_kernels.py BUNDLE FOLDER STEP

Every STEPth kernel that BUNDLE holds as KIR is written to FOLDER, becomes IR
with poot-translate and KIR again; fails where that has other bytes.
"""

import os
import subprocess
import sys

bundle, folder, step = sys.argv[1], sys.argv[2], int(sys.argv[3])
start, end = b'{\n  "format": "poot-kir"', b"\n  ]\n}\n"
data = open(bundle, "rb").read()
kernels, at = [], data.find(start)
while at >= 0:
    stop = data.index(end, at) + len(end)
    kernels.append(data[at:stop])
    at = data.find(start, stop)
os.makedirs(folder, exist_ok=True)
for number in range(0, len(kernels), step):
    name = os.path.join(folder, str(number))
    with open(name + ".kir.json", "wb") as file:
        file.write(kernels[number])
    for option, source, result in (
        ("--kir-json-to-kernel", ".kir.json", ".mlir"),
        ("--kernel-to-kir-json", ".mlir", ".again.json"),
    ):
        subprocess.run(
            ["poot-translate", option, "--mlir-print-debuginfo", name + source,
             "-o", name + result],
            check=True,
        )  # fmt: skip
    if open(name + ".again.json", "rb").read() != kernels[number]:
        sys.exit(f"{name}.kir.json and {name}.again.json differ")
print(len(kernels), "kernels")
