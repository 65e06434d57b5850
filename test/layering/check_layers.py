#!/usr/bin/env python3
"""Checks that no part of poot includes one that stands above it.

    check_layers.py [--root FOLDER]   checks every #include of the tree
    check_layers.py --self-test       checks the checker on planted violations

PARTS below is the one table of what may include what; docs/architecture.md
draws it. Every C++, C and TableGen file belongs to exactly one part. A
violation is printed as FILE:LINE with what the part may include; the exit
code is 1 when there is one.
"""

import argparse
import os
import re
import sys
import tempfile
from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    name: str
    folders: tuple
    includes: tuple = ()  # Parts above this one in the table.
    libraries: tuple = ()  # Headers of others, keys of LIBRARIES.
    # Tests of the part may include the part, what it may include, and these.
    test_folders: tuple = ()
    test_includes: tuple = ()
    test_libraries: tuple = ()


def compiler_part(name, includes=(), folder=None, libraries=(), **keywords):
    """A part of the compiler half: include/Poot/X and lib/X."""
    folder = folder or name
    return Part(
        name,
        (f"include/Poot/{folder}", f"lib/{folder}"),
        includes,
        ("llvm", *libraries),
        (f"unittests/{folder}",),
        **keywords,
    )


def tool(name, includes, libraries=(), **keywords):
    return Part(
        name,
        (f"tools/{name}",),
        includes,
        libraries,
        (f"tools/{name}/test",),
        **keywords,
    )


DEPLOYMENT = ("weights", "kir", "bundle", "runtime", "serve", "kernels")
COMPILER = (
    "Support", "Graph", "Kernel", "Kir", "Plan", "Trace", "Model", "Eval", "Import", "Target",
    "Planner", "Bundle", "InitAll",
)  # fmt: skip

# Lower parts first: a part includes only those before it.
PARTS = (
    # The deployment half: neither LLVM nor MLIR.
    Part("weights", ("weights",), (), ("json",),
         ("weights/test", "weights/fuzz"), (), ("rapidcheck",)),
    Part("kir", ("kir",), ("weights",), ("json",), ("kir/test", "kir/fuzz")),
    Part("bundle", ("bundle",), ("weights",), ("flatbuffers", "json", "xxhash"),
         ("bundle/test", "bundle/fuzz"), (), ("rapidcheck",)),
    Part("runtime", ("runtime",), ("weights", "kir", "bundle"), ("vulkan", "xxhash"),
         ("runtime/test", "runtime/examples", "runtime/fuzz")),
    Part("serve", ("serve",), ("weights", "runtime"), ("pcre2", "utf8proc"),
         ("serve/test", "serve/fuzz"), ("bundle",), ("json", "rapidcheck")),
    # Tests of the library run on devices as well.
    Part("kernels", ("kernels",), ("weights",), (),
         ("kernels/test", "unittests/KernelLibrary"), ("Kernel",), ("llvm",)),
    Part("examples", ("examples",), ("kernels",)),
    tool("poot-run", ("weights", "kir", "bundle", "runtime"), ("cli11", "json")),
    tool("poot-llm", ("weights", "runtime", "serve"), ("cli11",),
         test_includes=("bundle",)),
    # The compiler half.
    compiler_part("Support", ("weights",)),
    compiler_part("Graph", ("weights",), "Dialect/Graph"),
    compiler_part("Kernel", (), "Dialect/Kernel"),
    compiler_part("Kir", ("weights", "kir", "Support", "Kernel")),
    compiler_part("Plan", ("Graph", "Kernel"), "Dialect/Plan"),
    compiler_part("Trace", ("weights", "Graph"), test_includes=("Eval",)),
    compiler_part("Model", ("weights", "Graph", "Trace"), None, ("json",),
                  test_includes=("Eval",)),
    compiler_part("Eval", ("weights", "Graph")),
    compiler_part("Import", ("weights", "kir", "Support", "Kernel", "Kir"),
                  test_includes=("kernels", "runtime", "Target")),
    compiler_part("Target", ("bundle", "Support", "Kernel")),
    compiler_part("Planner", ("weights", "bundle", "Support", "Graph", "Kernel", "Kir",
                              "Plan", "Eval"), test_includes=("Trace", "runtime", "Target")),
    compiler_part("Bundle", ("weights", "kir", "bundle", "Graph", "Kernel",
                             "Kir", "Plan", "Planner", "Target"), test_includes=("runtime",)),
    # Kernels run on devices: these tests need what makes and runs a bundle.
    Part("kernel tests", ("unittests/Kernel",),
         ("weights", "kir", "bundle", "runtime", "Kernel", "Kir", "Target"),
         ("llvm", "gtest", "spirv-tools")),
    # Registration, for the tools that know every dialect and pass.
    Part("InitAll", ("include/Poot/InitAll.h",),
         ("weights", "kir", "bundle") + COMPILER[:-1], ("llvm",)),
    tool("poot-opt", ("Support", "InitAll"), ("llvm",)),
    tool("poot-translate", ("Support", "InitAll"), ("llvm",)),
    tool("pootc", ("Support", "Import"), ("llvm",)),
    tool("poot-eval", ("weights", "Support", "Graph", "Eval"), ("llvm",)),
    tool("poot-compile", ("weights", "bundle") + COMPILER, ("llvm",)),
    # Measurements and end-to-end tests stand above everything.
    Part("bench", ("bench",), DEPLOYMENT + COMPILER, ("llvm", "benchmark")),
    Part("test", ("test",), DEPLOYMENT + COMPILER, ("llvm", "gtest")),
    Part("build", ("cmake",)),
)  # fmt: skip

# How the public headers of a part are spelt.
PUBLIC = {
    **{f"Poot/{part}/": part for part in COMPILER},
    "poot/weights/": "weights",
    "poot/kir/": "kir",
    "poot/bundle/": "bundle",
    "poot/runtime.h": "runtime",
    "poot/interp/": "runtime",
    "poot/serve/": "serve",
    "poot/kernel.h": "kernels",
    "poot/host.h": "kernels",
    "poot/host_context.h": "kernels",
    "poot/operands.h": "kernels",
    "Poot/Dialect/Graph/": "Graph",
    "Poot/Dialect/Kernel/": "Kernel",
    "Poot/Dialect/Plan/": "Plan",
    "Poot/InitAll.h": "InitAll",
}

# What runs a compiled kernel on a device, for every test that has one.
SHARED_BY_TESTS = ("unittests/Kernel/DeviceRunner.h",)

# Headers of others; docs/licences.md names each library.
LIBRARIES = {
    "llvm": ("mlir/", "mlir-c/", "llvm/", "llvm-c/", "clang/", "clang-c/"),
    "benchmark": ("benchmark/",),
    "cli11": ("CLI/",),
    "flatbuffers": ("flatbuffers/",),
    "gtest": ("gtest/", "gmock/"),
    "json": ("nlohmann/",),
    "pcre2": ("pcre2.h",),
    "rapidcheck": ("rapidcheck.h", "rapidcheck/"),
    "spirv-tools": ("spirv-tools/",),
    "utf8proc": ("utf8proc.h",),
    "vulkan": ("vulkan/",),
    "xxhash": ("xxhash.h",),
}

# The C and C++ libraries and POSIX: any part.
SYSTEM = re.compile(
    r"[a-z_0-9]+$|sys/|(assert|ctype|dirent|dlfcn|errno|fcntl|float|inttypes|"
    r"limits|malloc|math|poll|pthread|signal|stdarg|stdbool|stddef|stdint|"
    r"stdio|stdlib|string|time|ucontext|unistd)\.h$"
)

INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
TABLEGEN_INCLUDE = re.compile(r'\s*include\s*(")([^"]+)"')
SUFFIXES = (".h", ".hpp", ".cpp", ".c", ".cc", ".cxx", ".hh", ".inc", ".td")


def check_table():
    """The table itself: a part includes only those before it."""
    before = {}
    for part in PARTS:
        for name in part.includes:
            assert name in before, f"{part.name} may not include {name}: above it"
        before[part.name] = part
    for part in PARTS:
        assert all(name in before for name in part.test_includes), part.name


def inside(path, folder):
    return path == folder or path.startswith(folder + "/")


class Owner:
    """The part that a file belongs to, and whether it is a test of it."""

    def __init__(self, path):
        self.part, self.is_test, best = None, False, -1
        for part in PARTS:
            for folders, is_test in ((part.folders, False), (part.test_folders, True)):
                for folder in folders:
                    if inside(path, folder) and len(folder) > best:
                        self.part, self.is_test, best = part, is_test, len(folder)

    def allowed(self):
        includes = {self.part.name, *self.part.includes}
        libraries = set(self.part.libraries)
        if self.is_test:
            includes |= set(self.part.test_includes)
            libraries |= {"gtest", *self.part.test_libraries}
        return includes, libraries

    def describe(self):
        includes, libraries = self.allowed()
        parts = ", ".join(sorted(includes - {self.part.name})) or "no other part"
        others = ", ".join(sorted(libraries)) or "no library"
        tests = "tests of " if self.is_test else ""
        return (
            f"{tests}{self.part.name} may include {parts}; "
            f"of others' headers {others}"
        )


def files_of(root):
    """Every source file below root, build folders and hidden ones left out."""
    for folder, names, files in os.walk(root):
        top = folder == root
        names[:] = sorted(
            name
            for name in names
            if not name.startswith(".") and not (top and name.startswith("build"))
        )
        for name in sorted(files):
            if name.endswith(SUFFIXES):
                yield os.path.relpath(os.path.join(folder, name), root)


def included_part(spelling):
    for prefix, part in PUBLIC.items():
        if spelling.startswith(prefix):
            return part
    return None


def included_library(spelling):
    for library, prefixes in LIBRARIES.items():
        for prefix in prefixes:
            if spelling == prefix or (prefix[-1] == "/" and spelling.startswith(prefix)):
                return library
    return None


def violation(root, path, owner, quote, spelling):
    """Why the include is wrong, or None."""
    includes, libraries = owner.allowed()

    # A file beside the including one, or elsewhere by a relative path.
    if quote == '"':
        beside = os.path.normpath(os.path.join(os.path.dirname(path), spelling))
        if os.path.exists(os.path.join(root, beside)):
            other = Owner(beside)
            if other.part and other.part.name == owner.part.name:
                return None
            # Tests share what a lower part's tests are made of.
            if owner.is_test and other.is_test and other.part.name in includes:
                return None
            if beside in SHARED_BY_TESTS and (owner.is_test or owner.part.name == "test"):
                return None
            name = other.part.name if other.part else "no part"
            return f"{beside} belongs to {name}: include public headers only"

    part = included_part(spelling)
    if part:
        return None if part in includes else f"{spelling} belongs to {part}"

    library = included_library(spelling)
    if library:
        return None if library in libraries else f"{spelling} belongs to {library}"

    if quote == "<":
        if SYSTEM.match(spelling):
            return None
        return (
            f"<{spelling}> belongs to no library that check_layers.py knows: "
            "add it to LIBRARIES and to docs/licences.md"
        )

    # A private header of the same part, found through an include directory.
    for folder in owner.part.folders + owner.part.test_folders:
        for where, _, files in os.walk(os.path.join(root, folder)):
            if os.path.isfile(os.path.join(where, spelling)):
                return None
    return f'"{spelling}" is no header of {owner.part.name}'


def check(root):
    """Returns (violations as text, files seen)."""
    problems, count = [], 0
    for path in files_of(root):
        count += 1
        owner = Owner(path)
        if owner.part is None:
            problems.append(
                f"{path}:1: belongs to no part: give its folder a row in PARTS "
                "of test/layering/check_layers.py"
            )
            continue
        pattern = TABLEGEN_INCLUDE if path.endswith(".td") else INCLUDE
        with open(os.path.join(root, path), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                match = pattern.match(line)
                if not match:
                    continue
                why = violation(root, path, owner, *match.groups())
                if why:
                    problems.append(f"{path}:{number}: {why}; {owner.describe()}")
    return problems, count


# Path, text, and what the message must say (None: no violation).
PLANTED = (
    ("weights/lib/a.cpp", '#include "poot/bundle/reader.h"', "belongs to bundle"),
    ("bundle/lib/a.cpp", '#include "mlir/IR/Builders.h"', "belongs to llvm"),
    ("bundle/lib/b.cpp", '#  include <llvm/ADT/StringRef.h>', "belongs to llvm"),
    ("runtime/lib/a.cpp", '#include "Poot/Eval/Eval.h"', "belongs to Eval"),
    ("runtime/lib/b.h", '#include "poot/serve/driver.h"', "belongs to serve"),
    ("serve/lib/a.cpp", '#include "poot/bundle/reader.h"', "belongs to bundle"),
    ("serve/lib/b.cpp", '#include "../../runtime/lib/b.h"', "belongs to runtime"),
    ("serve/lib/c.cpp", '#include "missing.h"', "is no header of serve"),
    ("serve/test/a.cpp", '#include "poot/bundle/reader.h"', None),
    ("serve/test/helper.h", "// Nothing.", None),
    ("tools/poot-llm/test/a.cpp", '#include "../../../serve/test/helper.h"', None),
    ("tools/poot-llm/a.cpp", '#include "../../serve/test/helper.h"',
     "belongs to serve"),
    ("tools/poot-run/a.cpp", '#include "Poot/InitAll.h"', "belongs to InitAll"),
    ("lib/Dialect/Graph/a.cpp", '#include "Poot/Planner/Passes.h"',
     "belongs to Planner"),
    ("lib/Dialect/Graph/b.cpp", '#include "mlir/IR/Builders.h"', None),
    ("lib/Eval/a.cpp", '#include "Poot/Dialect/Kernel/Kernel.h"',
     "belongs to Kernel"),
    ("include/Poot/Dialect/Kernel/a.td",
     'include "Poot/Dialect/Plan/PlanOps.td"', "belongs to Plan"),
    ("lib/Target/a.cpp", "#include <boost/any.hpp>", "add it to LIBRARIES"),
    ("lib/Unknown/a.cpp", "#include <vector>", "belongs to no part"),
    ("lib/Eval/Ops.h", "// Nothing.", None),
    ("lib/Eval/b.cpp", '#include "Ops.h"\n#include <cmath>\n', None),
)  # fmt: skip


def self_test():
    with tempfile.TemporaryDirectory() as root:
        for path, text, _ in PLANTED:
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write("\n" + text + "\n")
        problems, _ = check(root)
    failures = []
    for path, text, expected in PLANTED:
        found = [problem for problem in problems if problem.startswith(path + ":")]
        if expected is None and found:
            failures.append(f"{path} is right, but: {found[0]}")
        elif expected and not (len(found) == 1 and expected in found[0]):
            failures.append(f"{path} ({text}): expected '{expected}', got {found}")
        elif expected and "belongs to no part" not in expected:
            if not found[0].startswith(f"{path}:2: "):
                failures.append(f"wrong line: {found[0]}")
    return failures, len(PLANTED)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(here)))
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    check_table()
    if arguments.self_test:
        problems, count = self_test()
        what = "planted files"
    else:
        problems, count = check(arguments.root)
        what = "files"
    for problem in problems:
        print(problem)
    print(f"{count} {what}, {len(problems)} violations")
    # A tree without sources is a wrong --root, not a clean one.
    return 1 if problems or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
