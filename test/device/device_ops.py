#!/usr/bin/env python3
"""Runs the cases of test/Eval/cases.py on Vulkan drivers and the interpreter, and
compares them with their references.

    device_ops.py --bin build/bin                 a sample, every driver here
    device_ops.py --bin build/bin --all           every case, and self-checks
    device_ops.py --bin build/bin --write-docs    also writes docs/ops.md

The sample holds one case of every op and element type, and of every way in which
operands are views. Prints a table of cases
and largest errors per op and driver. Fails when a case doesn't compile or run,
when an output is outside its tolerance, or when docs/ops.md isn't what the
cases and tolerances give.

Subnormal numbers may be taken as zero by a device (G-number-2), so only the
moves, which keep every bit, get them as inputs; where a reference is subnormal,
any number as small is right.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zlib

import numpy as np

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "test/Eval"))
import cases  # noqa: E402
import numpy_ops  # noqa: E402


@dataclasses.dataclass
class Driver:
    target: str
    manifests: list = dataclasses.field(default_factory=list)  # of Vulkan
    flags: list = dataclasses.field(default_factory=list)  # of poot-run

    def environment(self):
        """What poot-run needs to find it; None if it isn't installed."""
        if not self.manifests:
            return dict(os.environ)
        manifest = next(filter(os.path.exists, self.manifests), None)
        return manifest and dict(os.environ, VK_ICD_FILENAMES=manifest,
                                 LP_NUM_THREADS="0")


LAVAPIPE = ["/usr/share/vulkan/icd.d/lvp_icd.x86_64.json",
            "/usr/share/vulkan/icd.d/lvp_icd.aarch64.json"]
DRIVERS = {
    "lavapipe": Driver("vulkan:f16", LAVAPIPE),
    # With the kernels that are chosen for CPUs.
    "lavapipe-cpu": Driver("vulkan:cpu", LAVAPIPE),
    # It has 32-bit types alone.
    "swiftshader": Driver("vulkan:base",
                          ["/usr/lib/chromium/vk_swiftshader_icd.json"]),
    # Under the sanitizer, whose reports are failures.
    "interp": Driver("interp", flags=["--device", "interp", "--sanitize"]),
}
BASE_KINDS = {"i1", "i32", "f32"}

# How far a function of f32 may be off: units in the last place, and an absolute
# error that adds to them. exp, exp2, log, log2 and rsqrt are the driver's:
# Vulkan allows exp and exp2 3 + 2|x| ulp, and log and log2 2^-21 around 1 and 3
# ulp elsewhere (precision of GLSL.std.450), rsqrt 2 ulp. The others are ours:
# kernel-expand-math states them. Division is 2.5 ulp in Vulkan, and correctly
# rounded on both drivers.
FUNCTIONS = {
    "exp": (67, 0), "exp2": (67, 0), "log": (3, 2.0 ** -21),
    "log2": (3, 2.0 ** -21), "rsqrt": (2, 0), "expm1": (2, 0), "log1p": (3, 0),
    "tanh": (3, 0), "erf": (2, 0), "sin": (2, 0), "cos": (2, 0), "pow": (16, 0),
}
# An intermediate value may be subnormal, and taken as zero, where the result
# isn't.
FLUSHED = 2.0 ** -126


# Ops whose error is that of several steps.
STEPS = {"softmax", "rms_norm", "layer_norm", "rope", "attention"}

# Vulkan has these on f32 alone; f16 and bf16 go through it.
NOT_ON_F64 = {f"unary {name}" for name in cases.TRANSCENDENTAL
              if name != "rsqrt"} | {"binary pow"}


def is_supported(case):
    return not (case.kind == "f64" and case.op in NOT_ON_F64)


def kinds_of(case):
    """The element types that a case's border has."""
    return set(re.findall(r"[<x](i\d+|bf16|f\d+)>", case.text))


def function_tolerance(op, kind):
    """Units in the last place of KIND and an absolute error, or None."""
    name = op.split(" ")[-1]
    if op not in (f"unary {name}", "binary pow") or name not in FUNCTIONS:
        return None
    ulps, absolute = FUNCTIONS[name]
    # The half types are rounded from f32, where 67 ulp are below 1/100 of
    # theirs; f64 has rsqrt alone, by a root and a division.
    return {"f32": ulps, "f64": 2}.get(kind, 0.51), absolute


def rule_for(case, output):
    tolerance = function_tolerance(case.op, output.kind)
    if tolerance is None and output.rule.name == "bound":
        return dataclasses.replace(
            output.rule, bound=output.rule.bound + output.rule.device)
    if tolerance is None:
        return output.rule
    ulps, absolute = tolerance
    with np.errstate(all="ignore"):
        bound = (ulps * cases.ulp(output.reference, output.kind) + absolute
                 + FLUSHED)
    return cases.Rule("bound", case.op, bound=bound)


def check(case, output, got):
    """Error messages about GOT, and its error in the unit of the rule."""
    output = dataclasses.replace(output, rule=rule_for(case, output))
    if output.kind in cases.FORMAT and got.shape == output.reference.shape:
        least = 2.0 ** cases.FORMAT[output.kind][1]
        if case.group in ("packed", "stored_contractions"):
            least = 12 * 2.0 ** -127  # mxfp4 may have a subnormal scale
        small = ((np.abs(output.reference) <= least) & (np.abs(got) <= least)
                 & (case.group != "moves"))
        reference = cases.round_to(output.reference, output.kind)
        got = np.where(small, reference, got).astype(got.dtype)
    message, error = numpy_ops.check(output, got)
    return output.rule, message, error


def all_cases(options, target):
    """The cases that TARGET has the types for."""
    cases.Builder.border = "i32" if target == "vulkan:base" else "i8"
    found = []
    for case in cases.all_cases(options.golden,
                                lambda group: group is cases.moves,
                                composites=True):
        if target == "vulkan:base" and not kinds_of(case) <= BASE_KINDS:
            continue
        # Devices accumulate in f32; the oracle's other mode isn't theirs.
        if case.accumulate == "f64":
            continue
        if options.only in case.name and is_supported(case):
            found.append(case)
    return found


def sample(chosen):
    """One case of every op, type and view, always the same."""
    groups = collections.OrderedDict()
    for case in chosen:
        groups.setdefault((case.op, case.kind, case.view), []).append(case)
    return [group[zlib.crc32(group[0].name.encode()) % len(group)]
            for group in groups.values()]


class Failure(Exception):
    pass


def tool(command, environment=None):
    process = subprocess.run([str(word) for word in command], text=True,
                             capture_output=True, env=environment)
    if process.returncode != 0:
        # Without the stack of a crash, and of a self-check what is wrong.
        message = "\n".join(
            [line for line in process.stdout.splitlines() if "WRONG" in line]
            + [line for line in process.stderr.splitlines()
               if not re.match(r"\s*#\d+ ", line)])
        raise Failure(f"{' '.join(map(str, command))}\n"
                      f"gave {process.returncode}: {message[-2000:]}")
    return process.stdout


def run_batch(options, folder, number, name, batch):
    """Compiles and runs BATCH; a list of failures. Outputs are files."""
    driver = DRIVERS[name]
    name = f"{name}{number}"
    graph, bundle = folder / f"{name}.mlir", folder / f"{name}.poot"
    graph.write_text(cases.module(batch))
    written = {}
    runs = [{"entry": case.name,
             "inputs": {slot: write_array(folder, name, array, written)
                        for slot, array in case.inputs.items()},
             "outputs": {output.name: f"{name}.{case.name}.{output.name}.npy"
                         for output in case.outputs}}
            for case in batch]
    (folder / f"{name}.json").write_text(json.dumps({"runs": runs}))
    weights = folder / "golden.gguf"
    try:
        tool([options.bin / "poot-compile", graph, "-o", bundle,
              f"--target={driver.target}"]
             + ([] if options.all else ["--no-test-vectors"]))
        run = [options.bin / "poot-run", bundle] + driver.flags
        tool(run + ["--manifest", folder / f"{name}.json"]
             + (["--weights", weights] if batch[0].symbols else []),
             driver.environment())
        if options.all:
            tool(run + ["--self-check"], driver.environment())
    except Failure as failure:
        return [str(failure)]
    return []


def write_array(folder, name, array, written):
    key = (array.dtype.str, array.shape, array.tobytes())
    if key not in written:
        written[key] = f"{name}.in{len(written)}.npy"
        np.save(folder / written[key], array)
    return written[key]


def batches(chosen, size):
    """Groups of cases with and without weights apart."""
    for weighted in (False, True):
        group = [case for case in chosen if bool(case.symbols) == weighted]
        for start in range(0, len(group), size):
            yield group[start:start + size]


def run_driver(options, folder, driver, chosen):
    """Rows of the table, and failures."""
    failures = []
    numbered = list(enumerate(batches(chosen, options.batch)))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for result in pool.map(lambda item: run_batch(
                options, folder, item[0], driver, item[1]), numbered):
            failures += result
    rows = collections.OrderedDict()
    place = {case.name: f"{driver}{number}" for number, batch in numbered
             for case in batch}
    for case in chosen:
        for output in case.outputs:
            path = folder / f"{place[case.name]}.{case.name}.{output.name}.npy"
            if not path.exists():
                failures.append(f"{driver}: {case.name}: {output.name} is "
                                f"missing")
                continue
            rule, message, error = check(case, output, np.load(path))
            if message:
                failures.append(f"{driver}: {case.name}: {output.name} "
                                f"{message}")
            row = rows.setdefault((case.op, rule.name, output.kind),
                                  [set(), set(), 0.0])
            row[0].add(case.kind)
            row[1].add(case.name)
            row[2] = max(row[2], error)
    return rows, failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True, type=pathlib.Path,
                        help="folder of poot's tools")
    parser.add_argument("--driver", action="append", choices=list(DRIVERS),
                        help="instead of every driver here")
    parser.add_argument("--all", action="store_true",
                        help="every case instead of the sample, and the "
                        "self-check of every bundle")
    parser.add_argument("--golden", default=TOP / "weights/test/golden",
                        help="golden blocks of the packed types")
    parser.add_argument("--only", default="",
                        help="cases whose function name contains this")
    parser.add_argument("--batch", type=int, default=150,
                        help="cases of one bundle")
    parser.add_argument("--messages", type=int, default=80,
                        help="failures printed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--write-docs", action="store_true",
                        help="write docs/ops.md if all is well")
    parser.add_argument("--keep", type=pathlib.Path,
                        help="leave all files in this folder")
    options = parser.parse_args()
    memory = pathlib.Path("/dev/shm")
    with tempfile.TemporaryDirectory(
            dir=memory if memory.is_dir() else None) as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        return run(options, folder)


def run(options, folder):
    cases.write_golden_gguf(options.golden, folder / "golden.gguf")
    failures, count, tables = [], 0, {}
    for driver in options.driver or DRIVERS:
        if DRIVERS[driver].environment() is None:
            failures.append(f"{driver} isn't installed")
            continue
        chosen = all_cases(options, DRIVERS[driver].target)
        if not options.all and not options.only:
            chosen = sample(chosen)
        count += len(chosen)
        tables[driver], found = run_driver(options, folder, driver, chosen)
        failures += found
        print_table(driver, tables[driver])
        print(f"{driver}: {len(chosen)} cases, {len(found)} failures\n",
              flush=True)
    page = TOP / "docs/ops.md"
    text = documentation(options) if not options.only else None
    if options.write_docs and text and not failures:
        page.write_text(text)
    if text and page.read_text() != text:
        failures.append(f"{page} isn't what the cases give; write it with "
                        f"--write-docs")
    for failure in failures[:options.messages]:
        print(failure, file=sys.stderr)
    return 1 if failures or not count else 0


def tolerance_text(case, output):
    tolerance = function_tolerance(case.op, output.kind)
    if tolerance is not None:
        ulps, absolute = tolerance
        return (f"{ulps:g} ulp"
                + (f" + 2^{int(np.log2(absolute))}" if absolute else ""))
    if output.rule.name == "exact":
        return "equal"
    return "steps" if case.op in STEPS else "sum"


def join_packed(kinds):
    """KINDS with one for all packed types that have the others in common."""
    word = re.compile(rf"({'|'.join(cases.PACKED)})(\.\w+)?")
    found = {}
    for kind in kinds:
        match = word.search(kind)
        found.setdefault(word.sub("packed", kind), set()).update(
            match.groups()[:1] if match else [])
    for kind, names in found.items():
        missing = [name for name in cases.PACKED if name not in names]
        if "packed" in kind and missing:
            kind = kind.replace("packed", f"packed (not {', '.join(missing)})")
        yield kind


def documentation(options):
    """The text of docs/ops.md."""
    order = {kind: i for i, kind in enumerate(cases.ALL)}
    lines = OPS_HEAD.splitlines()
    rows = collections.OrderedDict()
    for target in ("vulkan:base", "vulkan:f16"):
        for case in all_cases(options, target):
            row = rows.setdefault(case.op, ({}, collections.OrderedDict()))
            row[0].setdefault(target, set()).add(case.kind)
            for output in case.outputs:
                row[1].setdefault(tolerance_text(case, output), set()).add(
                    output.kind)
    def types(kinds):
        kinds = sorted(join_packed(kinds), key=lambda kind: [
            order.get(part, len(order)) for part in re.split(r"->|\*", kind)])
        if len(kinds) == len(cases.ALL) ** 2:
            return "any to any"
        if set(kinds) == set(cases.ALL):
            return "all"
        if set(kinds) == set(cases.NUMBERS):
            return "all but i1"
        return ", ".join(kind.replace("->", " to ") for kind in kinds)
    for op, (targets, tolerances) in rows.items():
        text = "; ".join(
            rule if len(tolerances) == 1 else
            f"{', '.join(sorted(kinds, key=order.get))}: {rule}"
            for rule, kinds in tolerances.items())
        lines.append(f"| {op} | {types(targets.get('vulkan:base', []))} | "
                     f"{types(targets['vulkan:f16'])} | {text} |")
    return "\n".join(lines) + "\n"


OPS_HEAD = """\
# Ops on devices

What each target has, by element type. Every pair of op and type in this table
is compiled, run and compared with its reference by `test/device/device_ops.py`,
which also writes the table: vulkan:f16 on lavapipe, vulkan:base on SwiftShader.
vulkan:cpu and the interpreter have what vulkan:f16 has; the interpreter runs every
case under its sanitizer.

vulkan:base has i1, i32 and f32 and reads packed weights; vulkan:f16 has every
type. The transcendental functions other than rsqrt, and pow, aren't available
on f64: a graph that uses them so is refused with an error that names the op.
*a\*b* are the types of left operand and weights, or of query and cache; *packed* is
every packed type.

*equal*: the result is the reference, bit for bit but for NaN payloads and, where
`docs/graph-semantics.md` leaves it open, the sign of zero. *n ulp*: within n units in the
last place of the exact value, plus the absolute error that follows. *sum*: n
roundings of Σ|x| or Σ|a·b| in f32 (f64 for f64) for n terms, and one of the
result; packed weights may be left unrounded. *steps*: the roundings of the op's
f32 computation, with Vulkan's exp (3 + 2|x| ulp), rsqrt and division, carried
through its formula, and one of the result; keys, values and weights of attention
may be left unrounded. Subnormal numbers may be taken as zero, but moves keep them.

| op | vulkan:base | vulkan:f16 | tolerance |
|---|---|---|---|
"""


def print_table(driver, rows):
    print(f"{driver:<22} {'cases':>5}  {'rule':<6} {'type':<5} "
          f"{'largest error':>14}")
    unit = {"exact": "", "ulp": " ulp", "bound": " bound"}
    for (op, rule, kind), (_, names, error) in rows.items():
        if rule == "exact" and error == 0:
            continue
        print(f"{op:<22} {len(names):>5}  {rule:<6} {kind:<5} "
              f"{f'{error:.4g}{unit[rule]}':>14}")


if __name__ == "__main__":
    sys.exit(main())
