#!/usr/bin/env python3
"""Checks what the hand-written pages say.

    check_docs.py [--examples BUILD_FOLDER [--page PAGE]]

 - Every relative link leads to a file, and its #anchor to a heading.
 - docs/README.md lists every page of docs/.
 - docs/targets.md has the features of poot/bundle/features.h, word by word.
 - docs/licences.md names every library of test/layering/check_layers.py.

With --examples instead: the `sh` blocks of PAGE (README.md if left out) are
pasted into one shell, in the order of the page. A `text` block right behind one
is what it prints, where "..." stands for anything. Every command must succeed,
but for those of a block that prints an error: one of these must fail. The shell
starts in a scratch folder where build/, examples/ and kernels/ are links, with
BUILD_FOLDER as build/.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test" / "layering"))
import check_layers  # noqa: E402

# How docs/licences.md spells the keys of check_layers.LIBRARIES.
LIBRARIES = {
    "benchmark": "Google Benchmark",
    "cli11": "CLI11",
    "flatbuffers": "FlatBuffers",
    "gtest": "GoogleTest",
    "json": "JSON for Modern C++",
    "llvm": "LLVM, MLIR",
    "pcre2": "PCRE2",
    "rapidcheck": "RapidCheck",
    "spirv-tools": "SPIRV-Tools",
    "utf8proc": "utf8proc",
    "vulkan": "Vulkan headers",
    "xxhash": "xxHash",
}


def markdown_files():
    for path in sorted(ROOT.rglob("*.md")):
        parts = path.relative_to(ROOT).parts
        if not parts[0].startswith(("build", ".")):
            yield path


def without_code(text):
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))


def anchors(text):
    """The anchors of a page's headings, as GitHub forms them."""
    for heading in re.findall(r"^#+ (.*)$", text, re.M):
        words = re.sub(r"[^\w\- ]", "", heading.lower().replace("`", ""))
        yield words.replace(" ", "-")


def check_links():
    for path in markdown_files():
        text = path.read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)\s]+)\)", without_code(text)):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            other = (path.parent / name).resolve() if name else path
            where = path.relative_to(ROOT)
            if not other.exists():
                yield f"{where}: {target} leads nowhere"
            elif anchor and anchor not in anchors(other.read_text(encoding="utf-8")):
                yield f"{where}: {target} has no such heading"


def check_index():
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for path in sorted((ROOT / "docs").rglob("*.md")):
        name = path.relative_to(ROOT / "docs").as_posix()
        if name != "README.md" and f"]({name})" not in index:
            yield f"docs/README.md does not list {name}"


def check_features():
    header = (ROOT / "bundle/include/poot/bundle/features.h").read_text("utf-8")
    page = (ROOT / "docs" / "targets.md").read_text(encoding="utf-8")
    page = page.partition("## Feature names")[2].partition("\n## ")[0]
    features = re.findall(r'\{"([a-z0-9-]+)",\s*"([^"]+)"\}', header)
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| (.*) \|$", page, re.M)
    if not features:
        yield "no features found in features.h"
    for missing in sorted(set(features) - set(rows)):
        yield f"docs/targets.md lacks: | `{missing[0]}` | {missing[1]} |"
    for extra in sorted(set(rows) - set(features)):
        yield f"docs/targets.md has a feature that features.h lacks: {extra[0]}"


def check_licences():
    page = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    for library in check_layers.LIBRARIES:
        if LIBRARIES.get(library, "\0") not in page:
            yield f"docs/licences.md does not name {library}"


BLOCK = re.compile(r"^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.M | re.S)


def pattern_of(text):
    """What the text of a page says of an output."""
    lines = [
        "(?:.*\n)*?" if line.strip() == "..."
        else re.escape(line).replace(re.escape("..."), ".*") + "\n"
        for line in text.splitlines()
    ]  # fmt: skip
    return "".join(lines)


def run_examples(build, page):
    blocks = BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))
    if not blocks:
        yield f"{page} has no examples"
    with tempfile.TemporaryDirectory() as scratch:
        os.symlink(build.resolve(), os.path.join(scratch, "build"))
        for folder in ("examples", "kernels"):
            os.symlink(ROOT / folder, os.path.join(scratch, folder))
        # Failed commands of block I go to I.failed, what it prints to I.out.
        session = "trap 'echo \"$BASH_COMMAND\" >&3' ERR\n"
        for i, (commands, _) in enumerate(blocks):
            at = os.path.join(scratch, str(i))
            pathlib.Path(f"{at}.sh").write_text(commands, encoding="utf-8")
            session += f"exec 3> {at}.failed; . {at}.sh > {at}.out 2>&1\n"
        os.mkdir(os.path.join(scratch, "tmp"))
        environment = {**os.environ, "TMPDIR": os.path.join(scratch, "tmp")}
        subprocess.run(["bash", "-c", session], cwd=scratch, timeout=300,
                       env=environment)  # fmt: skip
        for i, (commands, text) in enumerate(blocks):
            at = os.path.join(scratch, str(i))
            if not os.path.exists(f"{at}.out"):
                yield f"{page}: never comes to: {commands}"
                return
            out = pathlib.Path(f"{at}.out").read_text("utf-8", "replace")
            failed = pathlib.Path(f"{at}.failed").read_text("utf-8")
            print(f"$ {commands}{out[-2000:]}")
            if "error: " in text and not failed:
                yield f"{page}: should fail: {commands}"
            if "error: " not in text and failed:
                yield f"{page}: fails: {failed}"
            if text and not re.fullmatch(pattern_of(text), out):
                yield f"{page}: prints another text than this:\n{text}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=pathlib.Path)
    parser.add_argument("--page", default="README.md")
    arguments = parser.parse_args()
    if arguments.examples:
        problems = list(run_examples(arguments.examples, arguments.page))
    else:
        problems = [
            *check_links(), *check_index(), *check_features(), *check_licences(),
        ]  # fmt: skip
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
