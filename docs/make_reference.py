#!/usr/bin/env python3
"""Writes docs/reference/ from the TableGen files and the tools' own --help.

    make_reference.py --llvm-bin FOLDER --tools FOLDER [--check]

The target `docs` runs it. With --check nothing is written: each page that
differs from what would be written, is missing or is left over is named, and
the exit code is 1. A TableGen file of passes or ops without a page is an error.
"""

import argparse
import difflib
import glob
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
REFERENCE = os.path.join(ROOT, "docs", "reference")
REMAKE = "cmake --build build --target docs"

# Page, title, TableGen file, what is asked of mlir-tblgen.
DIALECTS = (
    ("graph-dialect.md", "Dialect/Graph/GraphOps.td", "graph"),
    ("kernel-dialect.md", "Dialect/Kernel/KernelOps.td", "kernel"),
    ("plan-dialect.md", "Dialect/Plan/PlanOps.td", "plan"),
)
PASSES = (
    ("graph-passes.md", "Passes over the graph dialect", "Dialect/Graph/Passes.td"),
    ("kernel-passes.md", "Passes over kernels", "Dialect/Kernel/Passes.td"),
    ("plan-passes.md", "Passes over plans", "Dialect/Plan/PlanPasses.td"),
    ("planner-passes.md", "Passes from graph to plan", "Planner/PlannerPasses.td"),
    ("target-passes.md", "Passes from kernels to targets", "Target/Passes.td"),
)

# Tools whose --help is complete in itself, and those whose options are mostly
# those of an MLIR driver: there only what the driver lacks is shown.
PLAIN_TOOLS = ("poot-compile", "poot-eval", "poot-llm", "poot-run", "pootc")
DRIVER_TOOLS = {"poot-opt": "mlir-opt", "poot-translate": "mlir-translate"}


def run(*command):
    # The same width and no colour on every machine.
    environment = {**os.environ, "COLUMNS": "80", "TERM": "dumb", "LC_ALL": "C.UTF-8"}
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    if result.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{result.stderr}")
    return result.stdout


def page(source, title, body):
    lines = [line.rstrip() for line in body.strip().splitlines()]
    text = "\n".join(lines)
    text = re.sub(r"\n{3,}", "\n\n", text)
    return f"<!-- Made from {source} by `{REMAKE}`. -->\n\n# {title}\n\n{text}\n"


class TableGen:
    def __init__(self, llvm_bin):
        self.program = os.path.join(llvm_bin, "mlir-tblgen")
        self.llvm_include = os.path.join(os.path.dirname(llvm_bin), "include")

    def __call__(self, path, *flags):
        text = run(
            self.program, *flags, os.path.join(ROOT, path),
            "-I", os.path.join(ROOT, "include"), "-I", self.llvm_include,
        )  # fmt: skip
        text = re.sub(r"^<!--.*?-->\n", "", text)
        return text.replace("[TOC]\n", "")


def dialect_page(tablegen, source, dialect):
    path = f"include/Poot/{source}"
    body = tablegen(path, "-gen-dialect-doc", f"-dialect={dialect}")
    body = re.sub(r"\A\s*# .*\n", "", body)  # The page has its own title.
    return page(path, f"The {dialect} dialect", body)


def pass_page(tablegen, source, title):
    path = f"include/Poot/{source}"
    body = tablegen(path, "-gen-pass-doc")
    # One level up, and passes by their name instead of their flag.
    body = re.sub(r"^#(#+) ", r"\1 ", body, flags=re.MULTILINE)
    body = re.sub(r"^## `-", "## `", body, flags=re.MULTILINE)
    return page(path, title, body)


def entries_of(help_text):
    """(section, option, text, sub-options) of an LLVM command-line help."""
    category, group, entries = "Options", "", []
    for line in help_text.splitlines():
        match = re.match(r"( +)(-{1,2}|=)(\S+)(?: +- ?(.*))?$", line)
        if not match:
            # A category stands at the margin; a group of passes, pipelines or
            # translations is indented, and its members further.
            heading = re.match(r"( *)([A-Z][^:]*):?$", line)
            if heading and not heading.group(1):
                category = heading.group(2)
            elif heading:
                group = heading.group(2)
            continue
        indent, dashes, name, text = match.groups()
        if dashes != "=" and len(indent) in (2, 6):
            section = group if len(indent) == 6 else category
            entries.append((section, name, (text or "").strip(), []))
        elif entries:
            entries[-1][3].append((dashes, name, (text or "").strip()))
    return entries


def driver_page(tool, llvm_bin, tools):
    base = DRIVER_TOOLS[tool]
    known = {
        name.split("=")[0]
        for _, name, _, _ in entries_of(run(os.path.join(llvm_bin, base), "--help"))
    }
    help_text = run(os.path.join(tools, tool), "--help")
    overview = re.search(r"OVERVIEW: (.*)", help_text).group(1)
    sections = {}
    for section, name, text, inner in entries_of(help_text):
        if name.split("=")[0] in known:
            continue
        lines = sections.setdefault(section, [])
        lines.append(f"- `--{name}`: {text}")
        for dashes, inner_name, inner_text in inner:
            dashes = "=" if dashes == "=" else ""
            lines.append(f"  - `{dashes}{inner_name}`: {inner_text}")
    body = [
        f"{overview[0].upper()}{overview[1:]}. Beside what MLIR's `{base}` has, "
        f"which `{tool} --help` shows as well:"
    ]
    for section in sorted(sections):
        body += ["", f"## {section}", "", *sections[section]]
    return page(f"{tool} --help", tool, "\n".join(body))


def plain_page(tool, tools):
    program = os.path.join(tools, tool)
    text = run(program, "--help").replace(program, tool)
    if "--aarch64-" in text:
        sys.exit(f"{tool} --help shows LLVM's options: call cl::HideUnrelatedOptions")
    return page(f"{tool} --help", tool, f"```text\n{text.strip()}\n```")


def diagnostics_page():
    path = "include/Poot/Import/Diagnostics.def"
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        text = file.read()
    # A row has a name, a level and two texts, each of several strings.
    row = re.compile(r'^POOT_DIAGNOSTIC\(\s*\w+,\s*"([\w-]+)",\s*(\w+),(.*?)\)$', re.M | re.S)
    lines = [
        "What pootc says of a kernel ends in `[poot-kernel-NAME]`; notes below it "
        "name the calls that lead there from the kernel. An *error* here is one "
        "always; `--warn=NAME` makes a warning of an *error, changeable*, and "
        "`--error=NAME` an error of a *warning*. `all` stands for all that can be "
        "changed.",
        "",
        "| name | | what it is about | instead |",
        "|---|---|---|---|",
    ]
    kinds = {
        "Always": "error",
        "DefaultError": "error, changeable",
        "DefaultWarning": "warning",
    }
    for name, level, rest in row.findall(text):
        about, advice = (
            "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', part)).replace("|", "\\|")
            for part in re.split(r"(?<=\")\s*,\s*(?=\")", rest)
        )
        lines.append(f"| `{name}` | {kinds[level]} | {about} | {advice} |")
    if len(lines) - 4 != text.count("\nPOOT_DIAGNOSTIC("):
        sys.exit(f"{path}: a row that {__file__} can't read")
    return page(path, "What a kernel may not do", "\n".join(lines))


def every_source_has_a_page():
    have = {source for _, source, _ in DIALECTS} | {source for _, _, source in PASSES}
    base = os.path.join(ROOT, "include", "Poot")
    for path in glob.glob(os.path.join(base, "**", "*.td"), recursive=True):
        if re.search(r"(Ops|Passes)\.td$", path):
            source = os.path.relpath(path, base)
            if source not in have:
                sys.exit(f"include/Poot/{source} has no page: add it to {__file__}")


def pages(llvm_bin, tools):
    every_source_has_a_page()
    tablegen = TableGen(llvm_bin)
    result = {}
    for name, source, dialect in DIALECTS:
        result[name] = dialect_page(tablegen, source, dialect)
    for name, title, source in PASSES:
        result[name] = pass_page(tablegen, source, title)
    result["kernel-diagnostics.md"] = diagnostics_page()
    for tool in DRIVER_TOOLS:
        result[f"tools/{tool}.md"] = driver_page(tool, llvm_bin, tools)
    for tool in PLAIN_TOOLS:
        result[f"tools/{tool}.md"] = plain_page(tool, tools)
    return result


def committed_pages():
    result = {}
    for folder, _, files in os.walk(REFERENCE):
        for name in files:
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as file:
                result[os.path.relpath(path, REFERENCE)] = file.read()
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--llvm-bin", required=True)
    parser.add_argument("--tools", required=True)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    wanted, have = pages(arguments.llvm_bin, arguments.tools), committed_pages()
    stale = [
        name
        for name in sorted(wanted.keys() | have.keys())
        if wanted.get(name) != have.get(name)
    ]
    if arguments.check:
        for name in stale:
            difference = difflib.unified_diff(
                have.get(name, "").splitlines(), wanted.get(name, "").splitlines(),
                f"docs/reference/{name}", "as generated", lineterm="", n=1,
            )  # fmt: skip
            print("\n".join(list(difference)[:20]))
        if stale:
            print(f"\n{len(stale)} pages differ; run: {REMAKE}")
        return 1 if stale else 0
    for name in stale:
        path = os.path.join(REFERENCE, name)
        if name not in wanted:
            os.remove(path)
            continue
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(wanted[name])
        print(f"docs/reference/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
