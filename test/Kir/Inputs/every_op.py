#!/usr/bin/env python3
"""Fails where a test lacks an op of KIR.

    every_op.py OPS_DEF TEST

OPS_DEF is kir/include/poot/kir/ops.def; each op that it names must occur in the
file TEST.
"""

import re
import sys

ops = re.findall(r'POOT_KIR_(?:OP|MATH)\(\w+,\s*"([a-z0-9_.]+)"', open(sys.argv[1]).read())
tokens = set(re.findall(r"[a-z]+\.[a-z0-9_]+", open(sys.argv[2]).read()))
missing = [op for op in ops if op not in tokens]
for op in missing:
    print(f"{sys.argv[2]}: lacks {op}")
# A table that reads as empty is a wrong path or another way of writing it.
sys.exit(1 if missing or len(ops) < 100 else 0)
