#!/usr/bin/env python3
"""Checks what pootc says of kernels that are wrong.

    check_diagnostics.py POOTC SOURCE_FOLDER [--write]

Every file of test/Import/diagnostics is compiled. Behind a line of code that
something is said of stands, at its column, what:

      throw v;
    // ^ error: 'throw' in a kernel [exception]

This is all of the message but for the advice, which Diagnostics.def has. All
that pootc says of a file must stand in it, and nothing else. Every diagnostic
of Diagnostics.def must have a case, and one in a function that a kernel calls,
but for those of INTERFACE; docs/reference is checked elsewhere. --write puts
what pootc says into the files.
"""

import glob
import os
import re
import subprocess
import sys

# Diagnostics of a kernel as a whole.
INTERFACE = {
    "kernel-member", "kernel-name", "parameter-type", "pointer-parameter",
    "return-type", "workgroup-limit", "workgroup-size",
}  # fmt: skip

ROW = re.compile(r'POOT_DIAGNOSTIC\(\s*\w+,\s*"([\w-]+)",\s*(\w+),\s*(.*?)\)\n', re.S)
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
MARK = re.compile(r"//( *)\^ ((?:error|warning|note): .*)$")


def read_table(path):
    """Name to advice: the last argument of each row, strings joined."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    text = text[text.index("//===----------------------------------", 200):]
    table = {}
    for name, _, rest in ROW.findall(text):
        # Two arguments, each of several strings, with a comma between.
        parts = re.split(r'"\s*,\s*"', rest)
        assert len(parts) == 2, name
        table[name] = "".join(STRING.findall('"' + parts[1]))
    return table


def say(pootc, path, flags):
    command = [pootc, "-std=c++20", "-fsyntax-only", "-ferror-limit=0",
               "-fno-caret-diagnostics", "--emit=none", *flags, path]  # fmt: skip
    result = subprocess.run(command, capture_output=True, text=True)
    said = []
    for line in result.stderr.splitlines():
        match = re.match(r"(.*?):(\d+):(\d+): (error|warning|note): (.*)$", line)
        if match and os.path.basename(match[1]) == os.path.basename(path):
            said.append((int(match[2]), int(match[3]), match[4], match[5]))
    return said, result


def shorten(message, table):
    match = re.match(r"(.*) \[poot-kernel-([\w-]+)\]$", message)
    if not match:
        return message
    advice = "; " + table[match[2]]
    if not match[1].endswith(advice):
        return message
    return f"{match[1][: -len(advice)]} [{match[2]}]"


def main():
    pootc, root = sys.argv[1:3]
    writes = "--write" in sys.argv[3:]
    table = read_table(os.path.join(root, "include/Poot/Import/Diagnostics.def"))
    assert len(table) > 40
    seen, called, wrong = set(), set(), 0
    for path in sorted(glob.glob(f"{root}/test/Import/diagnostics/*.cpp")):
        name = os.path.basename(path)
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        flags = lines[0][10:].split() if lines[0].startswith("// FLAGS:") else []
        wanted, code = [], 0
        plain = []  # Lines without marks, with their numbers.
        for number, line in enumerate(lines, 1):
            match = MARK.match(line)
            if match:
                wanted.append((code, len(match[1]) + 3, match[2]))
                seen.update(re.findall(r"\[([\w-]+)\]$", match[2]))
            else:
                code = number
                plain.append((number, line))
        said, result = say(pootc, path, flags)
        have = [(line, column, f"{kind}: {shorten(text, table)}")
                for line, column, kind, text in said]  # fmt: skip
        last = None  # What a note belongs to.
        for _, _, _, text in said:
            name_of = re.search(r" \[poot-kernel-([\w-]+)\]$", text)
            last = name_of[1] if name_of else last
            if text.startswith("reached through this call"):
                called.add(last)
        if writes:
            with open(path, "w", encoding="utf-8") as file:
                for number, line in plain:
                    file.write(line + "\n")
                    for at, column, text in have:
                        if at == number:
                            file.write(f"//{' ' * (column - 3)}^ {text}\n")
            continue
        for entry in sorted(set(wanted) - set(have)):
            print(f"{name}:{entry[0]}:{entry[1]}: isn't said: {entry[2]}")
            wrong += 1
        for entry in sorted(set(have) - set(wanted)):
            print(f"{name}:{entry[0]}:{entry[1]}: isn't expected: {entry[2]}")
            wrong += 1
        if len(have) != len(wanted):
            print(f"{name}: {len(have)} messages instead of {len(wanted)}")
            wrong += 1
        if (result.returncode != 0) != any(kind == "error" for _, _, kind, _ in said):
            print(f"{name}: exit code {result.returncode}")
            wrong += 1
    if not writes:
        for name in sorted(set(table) - seen):
            print(f"Diagnostics.def: {name} has no case")
            wrong += 1
        for name in sorted(set(table) - called - INTERFACE):
            print(f"Diagnostics.def: {name} has no case within a call")
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
