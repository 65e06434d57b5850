#!/usr/bin/env python3
"""Compares the oracle with numpy on every case of cases.py.

    numpy_ops.py --poot-eval build/bin/poot-eval

Prints a table of cases and largest errors per op and element type, and fails
when one output is outside its rule. Tolerances stand in cases.py:
 - integers, comparisons, moves, packed decoding, random words, and float
   arithmetic that IEEE 754 rounds correctly: equal;
 - transcendental functions: TRANSCENDENTAL_ULPS;
 - sums and products: one rounding a term in the accumulator, one at the end;
   the table gives the part of that bound which the error takes.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import cases


def check(output, got):
    """Error messages about GOT, and its error in the unit of the rule."""
    reference, rule = output.reference, output.rule
    expected = "float32" if output.kind == "bf16" else cases.NUMPY[output.kind]
    if got.shape != reference.shape or got.dtype != np.dtype(expected):
        return f"has type {got.dtype}{got.shape}, not " \
               f"{np.dtype(expected)}{reference.shape}", np.inf
    if output.kind not in cases.FORMAT:
        wrong = got != reference
        error = np.zeros(got.shape)
    else:
        wide, reference = got.astype(cases.Wide), reference.astype(cases.Wide)
        # What has overflowed the type has no distance.
        rounded = cases.round_to(reference, output.kind).astype(cases.Wide)
        same = ((wide == rounded) | (np.isnan(wide) & np.isnan(rounded)))
        finite = np.isfinite(wide) & np.isfinite(rounded)
        with np.errstate(all="ignore"):
            distance = np.where(finite, np.abs(wide - reference), 0)
            if rule.name == "exact":
                error = np.where(same, 0, distance
                                 / cases.ulp(reference, output.kind))
                wrong = ~same
                if rule.signed_zero:
                    wrong |= (wide == 0) & (np.signbit(wide)
                                            != np.signbit(rounded))
            elif rule.name == "ulp":
                error = distance / cases.ulp(reference, output.kind)
                wrong = np.where(finite, error > rule.ulps, ~same)
            else:
                error = distance / rule.bound
                wrong = np.where(finite, error > 1, ~same)
    error = float(np.max(error, initial=0))
    if not np.any(wrong):
        return None, error
    place = tuple(int(i[0]) for i in np.nonzero(np.atleast_1d(wrong)))
    return (f"{np.count_nonzero(wrong)} of {wrong.size} elements are wrong, "
            f"first {np.atleast_1d(got)[place]!r} at {list(place)}, where "
            f"{np.atleast_1d(output.reference)[place]!r} is right "
            f"({rule.name} rule)"), error


def write_array(folder, array, written):
    """The name of a .npy file with ARRAY; equal arrays share one."""
    key = (array.dtype.str, array.shape, array.tobytes())
    if key not in written:
        written[key] = f"in{len(written)}.npy"
        np.save(folder / written[key], array)
    return written[key]


def main():
    top = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--poot-eval", required=True)
    parser.add_argument("--golden", default=top / "weights/test/golden",
                        help="golden blocks of the packed types")
    parser.add_argument("--only", default="",
                        help="cases whose function name contains this")
    parser.add_argument("--keep", type=pathlib.Path,
                        help="leave all files in this folder")
    options = parser.parse_args()

    # poot-eval waits until each output is on disk; memory is always there.
    memory = pathlib.Path("/dev/shm")
    with tempfile.TemporaryDirectory(
            dir=memory if memory.is_dir() else None) as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(exist_ok=True)
        return run(options, folder)


def run(options, folder):
    chosen = [case for case in cases.all_cases(options.golden, composites=True)
              if options.only in case.name]
    cases.write_golden_gguf(options.golden, folder / "golden.gguf")
    failures, written = [], {}
    for accumulate in ("f32", "f64"):
        group = [case for case in chosen if case.accumulate == accumulate]
        module = f"cases_{accumulate}.mlir"
        (folder / module).write_text(cases.module(group))
        runs = [{"file": module, "function": case.name,
                 "inputs": {name: write_array(folder, array, written)
                            for name, array in case.inputs.items()},
                 "outputs": {output.name: f"{case.name}.{output.name}.npy"
                             for output in case.outputs}}
                for case in group]
        manifest = folder / f"{accumulate}.json"
        manifest.write_text(json.dumps({"runs": runs}))
        process = subprocess.run(
            [options.poot_eval, f"--manifest={manifest}",
             f"--accumulate={accumulate}",
             f"--weights={folder / 'golden.gguf'}"])
        if process.returncode != 0:
            failures.append(f"poot-eval gave {process.returncode}")

    # Rows of the table: op -> rule, types, cases, largest error.
    table = collections.OrderedDict()
    outputs = 0
    for case in chosen:
        for output in case.outputs:
            outputs += 1
            path = folder / f"{case.name}.{output.name}.npy"
            if not path.exists():
                failures.append(f"{case.name}: {output.name} is missing")
                continue
            message, error = check(output, np.load(path))
            if message:
                failures.append(f"{case.name}: {output.name} {message}")
            row = table.setdefault((case.op, output.rule.name),
                                   [[], set(), 0.0])
            if case.kind not in row[0]:
                row[0].append(case.kind)
            row[1].add(case.name)
            row[2] = max(row[2], error)

    print(f"{'op':<22} {'cases':>5}  {'rule':<6} {'largest error':>13}  types")
    unit = {"exact": "", "ulp": " ulp", "bound": " bound"}
    for (op, rule), (kinds, names, error) in table.items():
        types = " ".join(kinds)
        types = types if len(types) < 60 else f"{len(kinds)} combinations"
        print(f"{op:<22} {len(names):>5}  {rule:<6} "
              f"{f'{error:.4g}{unit[rule]}':>13}  {types}")
    print(f"{len(chosen)} cases, {outputs} outputs, {len(failures)} failures")
    for failure in failures[:50]:
        print(failure, file=sys.stderr)
    return 1 if failures or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
