#!/usr/bin/env python3
"""Checks that the sanitizer finds what is planted in kernels, at its place.

    check_faults.py SOURCE.cpp FOLDER

The file is a series of cases. Each begins with its name and what poot-run is
given, and has two kernels: NAME, which has one fault, and NAME_fixed, which has
none. Behind the line of the fault stands, at its column, what is to be reported:

    // CASE store_past_end: --input 0=undefined:64
    KERNEL store_past_end(buffer<int32_t> y) {
      y[local_id() + 1] = 7;
    //                  ^ error: index 64 of buffer 0, which has 64 elements [out-of-bounds]
    }
    KERNEL store_past_end_fixed(buffer<int32_t> y) {

and where there are notes on other lines, of calls and of other accesses, they
too. Two notes have no marks: which work-item it was, and how often. pootc writes
the kernels to FOLDER, and poot-run interprets them with the sanitizer: NAME must
give the reports that are marked in its case and no other, NAME_fixed none.
"""

import os
import re
import shutil
import subprocess
import sys

CASE = re.compile(r"// CASE (\w+):(.*)$")
MARK = re.compile(r"//( *)\^ ((?:error|note): .*)$")
REPORT = re.compile(r"(.*?):(\d+):(\d+): ((?:error|note): .*)$")
UNMARKED = re.compile(r"note: (in work-item .* of workgroup .*|seen \d+ times)$")


def read_cases(path):
    """(name, arguments, marks) of each case; a mark is (line, column, text)."""
    cases, code = [], 0
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file.read().splitlines(), 1):
            if match := CASE.match(line):
                cases.append((match[1], match[2].split(), []))
            elif match := MARK.match(line):
                cases[-1][2].append((code, len(match[1]) + 3, match[2]))
            else:
                code = number
    return cases


def interpret(folder, kernel, arguments, source):
    """The exit code, and what was reported, as marks would say it."""
    result = subprocess.run(
        ["poot-run", "--interpret", f"{folder}/{kernel}.kir.json", "--sanitize", *arguments],
        capture_output=True, text=True,
    )  # fmt: skip
    said = []
    for line in result.stderr.splitlines():
        match = REPORT.match(line)
        if not match or match[1] != source:
            said.append((0, 0, line))
            continue
        text = match[4].replace("[poot-sanitize-", "[")
        # Work-items depend on what is checked elsewhere: test/Interp.
        text = re.sub(r", by work-item .* of workgroup .*$", "", text)
        if not UNMARKED.match(text):
            said.append((int(match[2]), int(match[3]), text))
    return result.returncode, said


def main():
    source, folder = sys.argv[1:]
    name = os.path.basename(source)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    command = ["pootc", "-std=c++20", "-fsyntax-only", "-w", f"--out-dir={folder}", source]
    subprocess.run(command, check=True)
    cases, wrong = read_cases(source), 0

    def fail(line, text):
        nonlocal wrong
        wrong += 1
        print(f"{name}:{line}: {text}")

    kernels = [case[0] + end for case in cases for end in ("", "_fixed")]
    found = [file[: -len(".kir.json")] for file in os.listdir(folder)]
    for kernel in sorted(set(kernels) ^ set(found)):
        fail(0, f"{kernel} is " + ("no case's" if kernel in found else "missing"))
    for case, arguments, marks in cases:
        if not any(text.startswith("error: ") for _, _, text in marks):
            fail(0, f"{case} has no mark of an error")
        for kernel, wanted in ((case, marks), (case + "_fixed", [])):
            status, said = interpret(folder, kernel, arguments, source)
            for line, column, text in sorted(set(wanted) - set(said)):
                fail(f"{line}:{column}", f"{kernel} didn't report: {text}")
            for line, column, text in sorted(set(said) - set(wanted)):
                fail(f"{line}:{column}", f"{kernel} reported: {text}")
            if status != (1 if wanted else 0):
                fail(0, f"{kernel} ended with status {status}")
    print(f"{name}: {len(cases)} cases, {wrong} differences")
    return 1 if wrong or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
