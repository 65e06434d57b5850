"""The table of bad input that run.py runs: for each case the files, the command,
the status, and an expression for the message, which has to name the file, the
place, what was wrong and what is allowed, as far as each applies."""

import json
import os
import struct
import subprocess
from dataclasses import dataclass, field

import builders
from builders import F16, F32, Q4_0, gguf_entry, gguf_file, gguf_tensor, npy
from builders import safetensors, tensor

FOLDER = object()  # As the content of a file: a folder, a named pipe.
PIPE = object()


@dataclass(frozen=True)
class Case:
    group: str
    name: str
    tool: str
    arguments: tuple
    pattern: str
    status: int = 1
    files: dict = field(default_factory=dict)
    stdin: bytes = b""
    stdout: str = ""
    environment: dict = field(default_factory=dict)
    full_disk: bool = False


class Table:
    def __init__(self):
        self.cases = []
        self.group = ""

    def add(self, name, command, pattern, status=1, **options):
        """COMMAND as typed, split at spaces."""
        tool, *arguments = command.split() if isinstance(command, str) else command
        self.cases.append(
            Case(self.group, name, tool, tuple(arguments), pattern, status, **options)
        )


# ----------------------------------------------------------------------------
# Graphs
# ----------------------------------------------------------------------------

# y = sum + (x + w), which is the new sum.
ADD = """\
graph.const @w : tensor<2x3xf32>
graph.state @sum : tensor<2x3xf32>
func.func @forward(%x: tensor<2x3xf32> {graph.name = "x"})
    -> (tensor<2x3xf32> {graph.name = "y"}) {
  %w = graph.get @w : tensor<2x3xf32>
  %old = graph.get @sum : tensor<2x3xf32>
  %0 = graph.binary add %x, %w : tensor<2x3xf32>
  %1 = graph.binary add %old, %0 : tensor<2x3xf32>
  graph.set @sum, %1 : tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}
"""

OPEN = """\
graph.state @open : tensor<?x4xf32>
func.func @forward(%at: tensor<1xi32> {graph.name = "at"})
    -> (tensor<1x4xf32> {graph.name = "y"}) {
  %old = graph.get @open : tensor<?x4xf32>
  %y = graph.gather %old, %at dim 0 : tensor<?x4xf32>, tensor<1xi32> -> tensor<1x4xf32>
  return %y : tensor<1x4xf32>
}
"""

HALF = """\
func.func @forward(%x: tensor<8xf16> {graph.name = "x"})
    -> (tensor<8xf16> {graph.name = "y"}) {
  %y = graph.unary neg %x : tensor<8xf16>
  return %y : tensor<8xf16>
}
"""

KERNEL = """\
kernel.func @k(%x: !kernel.buffer<f32, write>)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  kernel.return
}
"""


def stored(name):
    """A file beside this one: made by changing a few bytes of a good one, and
    on which LLVM's own reader crashes."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name), "rb") as file:
        return file.read()


def entry(body, slots="%x: tensor<2x3xf32>", result="tensor<2x3xf32>"):
    """An entry of one slot x and one output y around BODY, which makes %y."""
    return (
        f'func.func @forward({slots} {{graph.name = "x"}})\n'
        f'    -> ({result} {{graph.name = "y"}}) {{\n{body}\n'
        f"  return %y : {result}\n}}\n"
    )


def graph_files(table):
    table.group = "Graph files"

    def graph(name, text, pattern, **options):
        table.add(
            name, "poot-compile m.mlir -o m.poot", pattern, files={"m.mlir": text}, **options
        )

    graph("syntax error", ADD.replace("add %x,", "add %x"),
          r"m\.mlir:7:27: error: expected ','")  # fmt: skip
    graph("cut in the middle", ADD[:300], r"m\.mlir:\d+:\d+: error: ")
    graph("binary garbage", bytes(range(256)) * 8, r"m\.mlir:1:\d: error: ")
    graph("bytecode that ends early", b"ML\xefR\x0d\x01", r"m\.mlir.*error: ")
    graph("bytecode that crashes LLVM's reader", stored("damaged.mlirbc"), r"m\.mlir: error: is damaged")
    graph("bytecode of a later version", b"ML\xefR" + b"\xff" * 64, r"m\.mlir.*error: ")
    graph("no module but text", "hello\n", r"m\.mlir:1:1: error: ")
    graph("empty file", "", r"m\.mlir:.*error: .*needs at least one entry")
    graph("operand of another type", ADD.replace("%0 :", "%x :").replace(
          "get @w : tensor<2x3xf32>", "get @w : tensor<2x3xf16>"),
          r"m\.mlir:7:\d+: error: .*'tensor<2x3xf32>' vs 'tensor<2x3xf16>'")  # fmt: skip
    graph("value that doesn't exist", ADD.replace("add %x, %w", "add %x, %v"),
          r"m\.mlir:7:\d+: error: use of undeclared SSA value name")  # fmt: skip
    graph("symbol that doesn't exist", ADD.replace("get @w", "get @v"),
          r"m\.mlir:5:\d+: error: .*@?v")  # fmt: skip
    graph("unknown op", ADD.replace("graph.binary add %x", "graph.frobnicate %x"),
          r"m\.mlir:7:\d+: error: .*graph\.frobnicate")  # fmt: skip
    graph("unknown dialect", ADD.replace("graph.binary add %x", "tosa.add %x"),
          r"m\.mlir:7:\d+: error: .*tosa.*\n.*Available dialects")  # fmt: skip
    graph("unknown operation of an op", ADD.replace("binary add %x", "binary hypot %x"),
          r"m\.mlir:7:\d+: error: .*add, sub")  # fmt: skip
    graph("an op of another dialect in an entry",
          entry("  %y = arith.negf %x : tensor<2x3xf32>"),
          r"m\.mlir:3:\d+: error: .*arith\.negf.*only graph ops")  # fmt: skip
    graph("old state read after its update", ADD.replace(
          "  return %1", "  %y = graph.binary add %old, %0 : tensor<2x3xf32>\n  return %y"),
          r"m\.mlir:10:\d+: error: .*m\.mlir:9:\d+")  # fmt: skip
    graph("state set twice", ADD.replace(
          "  return", "  graph.set @sum, %0 : tensor<2x3xf32>\n  return"),
          r"m\.mlir:10:\d+: error: .*sum")  # fmt: skip
    graph("constant set", ADD.replace("set @sum", "set @w"),
          r"m\.mlir:9:\d+: error: .*sets @w, a graph\.const, which never changes")  # fmt: skip
    graph("unknown element type", ADD.replace("f32", "f80"),
          r"m\.mlir:1:\d+: error: .*f80.*")  # fmt: skip
    graph("element type without kernels", ADD.replace("f32", "i4"),
          r"m\.mlir:1:\d+: error: .*i4.*i8")  # fmt: skip
    graph("unknown packed type", "graph.const @w : !graph.packed<q9_k, gguf, 4x256>\n",
          r"m\.mlir:1:32: error: .*one of: q4_0, .*q9_k")  # fmt: skip
    graph("packed row that is no multiple of a block",
          "graph.const @w : !graph.packed<q4_k, gguf, 4x100>\n",
          r"m\.mlir:1:\d+: error: .*256")  # fmt: skip
    graph("extents whose product overflows", ADD.replace("2x3x", "4611686018427387904x4x"),
          r"m\.mlir:1:\d+: error: .*at most 2\^48 elements")  # fmt: skip
    graph("extent beyond 64 bits", ADD.replace("2x3x", "99999999999999999999x"),
          r"m\.mlir:1:\d+: error: ")  # fmt: skip
    graph("extent of zero", ADD.replace("2x3x", "0x3x"), r"m\.mlir:1:\d+: error: .*0")
    graph("open extent of a slot", entry("  %y = graph.unary neg %x : tensor<?x3xf32>",
          "%x: tensor<?x3xf32>", "tensor<?x3xf32>"),
          r"m\.mlir:\d+:\d+: error: ")  # fmt: skip
    graph("operand too large for a binding",
          "graph.const @w : tensor<40000x4000xf32>\n"
          + entry("  %w = graph.get @w : tensor<40000x4000xf32>\n"
                  "  %s = graph.reduce sum %w dims [0, 1] : tensor<40000x4000xf32> -> tensor<f32>\n"
                  "  %b = graph.broadcast %s dims [] : tensor<f32> -> tensor<2x3xf32>\n"
                  "  %y = graph.binary add %x, %b : tensor<2x3xf32>"),
          r"m\.mlir:5:\d+: error: .*more than 134217728 bytes, .*vulkan:base binds")  # fmt: skip
    graph("slice out of range",
          entry("  %y = graph.slice %x offsets [1, 0] strides [1, 1] : "
                "tensor<2x3xf32> -> tensor<2x3xf32>"),
          r"m\.mlir:3:\d+: error: .*slice.*2")  # fmt: skip
    graph("permutation that isn't one",
          entry("  %y = graph.transpose %x [0, 0] : tensor<2x3xf32> -> tensor<2x3xf32>"),
          r"m\.mlir:3:\d+: error: .*permutation")  # fmt: skip
    graph("reshape to another size",
          entry("  %y = graph.reshape %x : tensor<2x3xf32> -> tensor<7xf32>",
                result="tensor<7xf32>"),
          r"m\.mlir:3:\d+: error: .*6.*7")  # fmt: skip
    graph("matrices that don't fit",
          entry("  %y = graph.matmul %x, %x : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>"),
          r"m\.mlir:3:\d+: error: .*3.*2")  # fmt: skip
    graph("slot without a name", ADD.replace(' {graph.name = "x"}', ""),
          r"m\.mlir:3:\d+: error: .*argument 0 .*graph\.name")  # fmt: skip
    graph("50,000 nested modules", "module {\n" * 50000 + "}\n" * 50000,
          r"m\.mlir:257:8: .*256")  # fmt: skip
    graph("50,000 nested arrays",
          "module attributes {a = " + "[" * 50000 + "]" * 50000 + "} {}",
          r"m\.mlir:1:279: .*256")  # fmt: skip
    graph("50,000 nested types",
          entry("", "%x: " + "tuple<" * 50000 + "i1" + ">" * 50000), r"m\.mlir:1:\d+: .*256")  # fmt: skip
    graph("a literal with fewer values than its type",
          entry("  %y = graph.constant dense<[[1.0, 2.0]]> : tensor<2x3xf32>"),
          r"m\.mlir:3:\d+: error: ")  # fmt: skip
    table.add("garbage on standard input", "poot-compile - -o m.poot", r"error: ",
              stdin=bytes(range(255, 0, -1)))  # fmt: skip
    table.add("missing file", "poot-compile absent.mlir -o m.poot",
              r"absent\.mlir.*: No such file")  # fmt: skip
    table.add("folder instead of a file", "poot-compile d.mlir -o m.poot",
              r"d\.mlir.*: Is a directory", files={"d.mlir": FOLDER})  # fmt: skip


# ----------------------------------------------------------------------------
# Tools of the compiler
# ----------------------------------------------------------------------------


def compiler_tools(table):
    files = {"m.mlir": ADD, "k.mlir": KERNEL}
    table.group = "poot-compile: command lines"
    add = lambda *a, **o: table.add(*a, **{"files": files, **o})
    add("no arguments", "poot-compile", r"give one input, .*--help")
    add("no output", "poot-compile m.mlir", r"no output.*-o")
    add("unknown option", "poot-compile m.mlir --optimise -o m.poot",
        r"Unknown command line argument '--optimise'.*--help")  # fmt: skip
    add("option without its value", "poot-compile m.mlir -o", r"-o option: requires a value")
    add("two inputs", "poot-compile m.mlir k.mlir -o m.poot", r"at most 1 positional")
    add("unknown target", "poot-compile m.mlir --target metal -o m.poot",
        r"unknown target 'metal'; known are vulkan")  # fmt: skip
    add("output into a folder that doesn't exist", "poot-compile m.mlir -o no/m.poot",
        r"no/m\.poot: cannot create: no such file or directory")  # fmt: skip
    add("output is a folder", "poot-compile m.mlir -o d", r"d: cannot write: is a directory",
        files={**files, "d": FOLDER})  # fmt: skip
    add("output into a folder that can't be written", "poot-compile m.mlir -o /proc/m.poot",
        r"/proc/m\.poot: cannot create: ")  # fmt: skip
    add("a kernel beside a graph", "poot-compile b.mlir -o m.poot",
        r"b\.mlir:12:1: error: .*kernel\.func", files={"b.mlir": ADD + KERNEL})  # fmt: skip

    table.group = "poot-opt"
    add("unknown pass", "poot-opt m.mlir --graph-optimise", r"Unknown command line argument")
    add("unknown pass in a pipeline",
        ["poot-opt", "m.mlir", "--pass-pipeline=builtin.module(nope)"], r"'nope' does not refer")  # fmt: skip
    add("pipeline that ends early", ["poot-opt", "m.mlir", "--pass-pipeline=builtin.module("],
        r"error: expected pass pipeline")  # fmt: skip
    add("missing file", "poot-opt absent.mlir", r"absent\.mlir.*: No such file", files={})
    add("folder", "poot-opt .", r"'\.': Is a directory")
    add("garbage on standard input", "poot-opt", r"error: ", stdin=b"\0\1\2\xff" * 999)
    add("bytecode that crashes LLVM's reader", "poot-opt m.mlir", r"m\.mlir: error: is damaged",
        files={"m.mlir": stored("damaged.mlirbc")})  # fmt: skip
    add("unknown element type of a buffer", "poot-opt k.mlir",
        r"k\.mlir:1:\d+: error: .*f80",
        files={"k.mlir": KERNEL.replace("f32", "f80")})  # fmt: skip
    add("kernel without a workgroup size", "poot-opt k.mlir",
        r"k\.mlir:1:1: error: .*workgroup_size",
        files={"k.mlir": KERNEL.replace("attributes {workgroup_size = array<i32: 1, 1, 1>} ", "")})  # fmt: skip
    add("workgroup of size zero", "poot-opt k.mlir", r"k\.mlir:1:1: error: .*workgroup",
        files={"k.mlir": KERNEL.replace("1, 1, 1", "0, 1, 1")})  # fmt: skip
    add("store into a buffer for reading", "poot-opt k.mlir", r"k\.mlir:4:\d+: error: .*read",
        files={"k.mlir": KERNEL.replace("write>", "read>").replace("  kernel.return",
            "  %i = kernel.local_id x\n  %v = arith.constant 1.0 : f32\n"
            "  kernel.store %v, %x[%i] : !kernel.buffer<f32, read>\n  kernel.return")
            .replace("{\n  %i", "{ %i")})  # fmt: skip
    add("50,000 nested blocks of parentheses", "poot-opt k.mlir", r"k\.mlir:1:\d+: .*256",
        files={"k.mlir": "#m = affine_map<(d0) -> (" + "(" * 50000 + "d0" + ")" * 50000 + ")>\n"})  # fmt: skip
    add("output into a folder that doesn't exist", "poot-opt m.mlir -o no/m.mlir",
        r"no/m\.mlir: cannot create: no such file or directory")  # fmt: skip

    table.group = "poot-translate"
    add("no translation", "poot-translate m.mlir", r"exactly one translation; --help")
    add("two translations", "poot-translate --graph-to-bundle --kernel-to-spirv m.mlir", r"exactly one translation; --help")
    add("unknown target", "poot-translate --graph-to-bundle --bundle-target=metal m.mlir -o m.poot",
        r"m\.mlir:.*unknown target 'metal'; known are")  # fmt: skip
    add("unknown kernel", "poot-translate --kernel-to-spirv --kernel=j k.mlir -o k.spv",
        r"k\.mlir:.*no kernel 'j'; it has: k")  # fmt: skip
    add("SPIR-V of three bytes", "poot-translate --spirv-to-mlir k.spv",
        r"k\.spv:.*multiple of 4 bytes.*3", files={"k.spv": b"\3\2\x23"})  # fmt: skip
    add("SPIR-V that ends early", "poot-translate --spirv-to-mlir k.spv", r"k\.spv.*error: is no SPIR-V module",
        files={"k.spv": struct.pack("<5I", 0x07230203, 0x10600, 0, 99, 0)
               + struct.pack("<2I", 0x000AFFFF, 1)})  # fmt: skip
    add("SPIR-V of ids beyond its bound", "poot-translate --spirv-to-mlir k.spv", r"error: 'spirv\.module' op requires",
        files={"k.spv": struct.pack("<5I", 0x07230203, 0x10600, 0, 2, 0)
               + struct.pack("<4I", 0x00040015, 4000000000, 32, 0)})  # fmt: skip
    add("SPIR-V that crashes LLVM's reader", "poot-translate --spirv-to-mlir k.spv",
        r"k\.spv: error: is damaged", files={"k.spv": stored("damaged.spv")})  # fmt: skip
    add("GGUF that is none", "poot-translate --gguf-to-graph m.mlir -o g.mlir", r"m\.mlir: ")
    add("GGUF that ends early", "poot-translate --gguf-to-graph m.gguf -o g.mlir",
        r"m\.gguf: byte \d+: tensor .* but the file holds \d+ bytes", files={"m.gguf": builders.llama()[:9000]})  # fmt: skip

    table.group = "poot-eval"
    good = "poot-eval m.mlir --input=x=splat:1 --const=w=splat:1 "
    add("no arguments", "poot-eval", r"FILE\.mlir.*--help")
    add("unknown option", "poot-eval m.mlir --fast", r"Unknown command line argument '--fast'")
    add("missing file", "poot-eval absent.mlir", r"absent\.mlir.*: No such file")
    add("unknown function", good + "--function=backward", r"no function 'backward'.*'forward'")
    add("unknown slot", good + "--input=z=splat:1", r"no slot 'z'.*'x'")
    add("slot without a value", "poot-eval m.mlir", r"slot 'x' .*--input=x=")
    add("constant without a value", "poot-eval m.mlir --input=x=splat:1",
        r"m\.mlir:1:1: error: .*--weights or --const=w=")  # fmt: skip
    add("number that is none", "poot-eval m.mlir --input=x=splat:one --const=w=splat:1",
        r"slot 'x' can't be 'splat:one'; .*splat:1\.5")  # fmt: skip
    add("slot given twice", good + "--input=x=splat:2", r"--input names 'x' twice")
    add("no steps", good + "--steps=0", r"--steps must be at least 1")
    add("steps out of range", good + "--steps=99999999999999999999", r"--steps option")
    add("negative extent", good + "--open-extent=-4", r"--open-extent must be at least 1")
    add("open state without an extent", "poot-eval o.mlir --input=at=splat:0",
        r"o\.mlir:1:1: error: .*extent", files={"o.mlir": OPEN})  # fmt: skip
    add("open state of 2^60 rows", "poot-eval o.mlir --input=at=splat:0 --open-extent=%d" % 2**60,
        r"o\.mlir:1:1: error: .*(memory|overflow|large)", files={"o.mlir": OPEN})  # fmt: skip
    add("index out of range", "poot-eval o.mlir --input=at=splat:9 --open-extent=4",
        r"o\.mlir:5:\d+: error: .*9.*4", files={"o.mlir": OPEN})  # fmt: skip
    add("value of another shape", "poot-eval m.mlir --input=x=x.npy --const=w=splat:1",
        r"x\.npy.*3x2.*2x3|2x3.*x\.npy.*3x2",
        files={**files, "x.npy": npy("'<f4'", (3, 2), bytes(24))})  # fmt: skip
    add("value of another type", "poot-eval m.mlir --input=x=x.npy --const=w=splat:1",
        r"x\.npy.*i32|i32.*x\.npy", files={**files, "x.npy": npy("'<i4'", (2, 3), bytes(24))})  # fmt: skip
    add("output into a folder that doesn't exist", good + "--output=y=no/y.npy",
        r"no/y\.npy: cannot create")  # fmt: skip
    add("manifest that isn't JSON", "poot-eval --manifest=r.json", r"r\.json: .*",
        files={**files, "r.json": "{runs: 1}"})  # fmt: skip
    add("manifest nested 100,000 deep", "poot-eval --manifest=r.json", r"r\.json:1:265: .*256",
        files={"r.json": '{"runs": ' + "[" * 100000 + "]" * 100000 + "}"})  # fmt: skip
    add("manifest with an unknown key", "poot-eval --manifest=r.json", r"r\.json: .*setps",
        files={**files, "r.json": '{"runs": [{"file": "m.mlir", "setps": 2}]}'})  # fmt: skip
    add("weights that lack the constant", "poot-eval m.mlir --input=x=splat:1 --weights=w.safetensors",
        r"m\.mlir:1:1: error: .*w", files={**files, "w.safetensors": safetensors(
            {"v": tensor("F32", [2, 3], 0, 24)}, bytes(24))})  # fmt: skip


# ----------------------------------------------------------------------------
# Weights
# ----------------------------------------------------------------------------


def weight_files(table):
    def gguf_case(name, data, pattern):
        table.add(name, "poot-eval m.mlir --input=x=splat:1 --weights=w.gguf", pattern,
                  files={"m.mlir": ADD, "w.gguf": data})  # fmt: skip

    table.group = "GGUF"
    text = gguf_entry("general.name", "string", "x")
    good = gguf_tensor("w", [3, 2], F32, 0)
    whole = gguf_file([text], [good], bytes(32))
    one = lambda *a: gguf_file([], [gguf_tensor("w", *a)], bytes(64))
    kv = lambda *entries: gguf_file(entries, [good], bytes(32))
    gguf_case("ends in the header", whole[:20], r"w\.gguf: byte 16: truncated")
    gguf_case("ends in the metadata", whole[:50], r"w\.gguf: byte \d+: ")
    gguf_case("ends in the data", whole[:-20], r"w\.gguf: byte \d+: tensor 'w' takes 24 bytes")
    gguf_case("version 1", gguf_file(version=1), r"w\.gguf: byte 4: GGUF version 1 .*must be 2 or 3")
    gguf_case("version 99", gguf_file(version=99), r"w\.gguf: byte 4: GGUF version 99 .*2 or 3")
    gguf_case("big-endian", gguf_file(version=0x03000000), r"w\.gguf: .*big-endian")
    gguf_case("more tensors declared than fit", gguf_file(counts=(2**60, 0)),
              r"w\.gguf: byte 8: declares 1152921504606846976 tensors")  # fmt: skip
    gguf_case("more metadata declared than fits", gguf_file(counts=(0, 2**63)),
              r"w\.gguf: byte 16: declares 9223372036854775808 metadata")  # fmt: skip
    gguf_case("string of 1 GiB in a small file",
              kv(builders.gguf_string("k") + struct.pack("<IQ", 8, 1 << 30)),
              r"w\.gguf: byte \d+: .*'k' declares 1073741824 bytes, but \d+ remain")  # fmt: skip
    gguf_case("array of 2^62 numbers",
              kv(builders.gguf_string("k") + struct.pack("<IIQ", 9, 10, 1 << 62)),
              r"w\.gguf: byte \d+: .*'k' declares 4611686018427387904 elements")  # fmt: skip
    gguf_case("array of arrays",
              kv(builders.gguf_string("k") + struct.pack("<IIQ", 9, 9, 1) + bytes(64)),
              r"w\.gguf: byte \d+: .*array of arrays")  # fmt: skip
    gguf_case("unknown type of a value", kv(builders.gguf_string("k") + struct.pack("<II", 77, 0)),
              r"w\.gguf: byte \d+: .*type 77, must be 0 to 12")  # fmt: skip
    gguf_case("key that occurs twice", kv(text, text), r"w\.gguf: byte \d+: .*occurs twice")
    gguf_case("empty key", kv(gguf_entry("", "u8", 1)), r"w\.gguf: byte \d+: .*key is empty")
    gguf_case("bool of value 7", kv(gguf_entry("k", "bool", 7)),
              r"w\.gguf: byte \d+: .*bool of value 7, must be 0 or 1")  # fmt: skip
    gguf_case("alignment of 2^30", kv(gguf_entry("general.alignment", "u32", 1 << 30)),
              r"w\.gguf: .*general\.alignment is 1073741824, must be")  # fmt: skip
    gguf_case("alignment of 0", kv(gguf_entry("general.alignment", "u32", 0)),
              r"w\.gguf: .*general\.alignment is 0, must be")  # fmt: skip
    gguf_case("alignment that is a string", kv(gguf_entry("general.alignment", "string", "32")),
              r"w\.gguf: .*general\.alignment")  # fmt: skip
    gguf_case("extent of zero", one([3, 0], F32, 0), r"w\.gguf: byte \d+: .*extent 0, must be")
    gguf_case("negative extent", one([3, -2], F32, 0), r"w\.gguf: byte \d+: .*negative")
    gguf_case("extents whose product wraps", one([2**42 + 1, 2**22], F32, 0),
              r"w\.gguf: byte \d+: tensor 'w': .*")  # fmt: skip
    gguf_case("nine dimensions", one([1] * 9, F32, 0), r"w\.gguf: .*9 dimensions, may have 4")
    gguf_case("unknown type of a tensor", one([3, 2], 250, 0),
              r"w\.gguf: .*type 250, which poot can't decode; it can: f32")  # fmt: skip
    gguf_case("row that is no multiple of a block", one([33, 2], Q4_0, 0), r"w\.gguf: .*'w'.*32")
    gguf_case("offset beyond the end", one([3, 2], F32, 1 << 40),
              r"w\.gguf: .*'w' takes 24 bytes at data offset 1099511627776, but")  # fmt: skip
    gguf_case("offset near 2^64", one([3, 2], F32, 2**64 - 32), r"w\.gguf: .*'w'.*but the file")
    gguf_case("offset that isn't aligned", one([3, 2], F32, 8),
              r"w\.gguf: .*data offset 8, must be a multiple of the alignment 32")  # fmt: skip
    gguf_case("tensors that overlap",
              gguf_file([], [good, gguf_tensor("v", [3, 2], F32, 0)], bytes(64)),
              r"w\.gguf: tensors '[wv]' and '[wv]' overlap")  # fmt: skip
    gguf_case("two tensors of one name",
              gguf_file([], [good, gguf_tensor("w", [3, 2], F32, 32)], bytes(64)),
              r"w\.gguf: tensor 'w' occurs twice")  # fmt: skip
    gguf_case("name of 1,000 bytes", gguf_file([], [gguf_tensor("n" * 1000, [3], F32, 0)], bytes(32)),
              r"w\.gguf: .*1000 bytes, may have 64")  # fmt: skip
    gguf_case("part of a split model", kv(gguf_entry("split.count", "u16", 3)),
              r"w\.gguf: .*3 parts.*merge")  # fmt: skip
    gguf_case("empty file", b"", r"w\.gguf: is empty")
    gguf_case("folder without a model", FOLDER, r"w\.gguf: the folder holds neither")
    gguf_case("named pipe", PIPE, r"w\.gguf: is not a regular file")
    gguf_case("garbage", bytes(range(200)), r"w\.gguf: neither GGUF .* nor safetensors")

    table.group = "safetensors"

    def tensors_case(name, data, pattern, **files):
        table.add(name, "poot-eval m.mlir --input=x=splat:1 --weights=w.safetensors", pattern,
                  files={"m.mlir": ADD, "w.safetensors": data, **files})  # fmt: skip

    w = tensor("F32", [2, 3], 0, 24)
    tensors_case("header length near 2^64", safetensors({"w": w}, bytes(24), 2**64 - 8),
                 r"w\.safetensors: .*18446744073709551608")  # fmt: skip
    tensors_case("header longer than the file", safetensors({"w": w}, b"", 4000),
                 r"w\.safetensors: .*4000")  # fmt: skip
    tensors_case("ends in the length", b"\1\2\3", r"w\.safetensors: ")
    tensors_case("header that isn't JSON", safetensors(b"{'w': 1}"), r"w\.safetensors: .*JSON")
    tensors_case("header that isn't UTF-8", safetensors(b'{"\xff\xfe": 1}'), r"w\.safetensors: ")
    tensors_case("header nested 100,000 deep",
                 safetensors(b'{"w": ' + b"[" * 100000 + b"]" * 100000 + b"}"),
                 r"w\.safetensors: ")  # fmt: skip
    tensors_case("header that is an array", safetensors(b"[1, 2]"), r"w\.safetensors: byte 8: the header must start with '{'")
    tensors_case("offsets past the end", safetensors({"w": w}, bytes(8)), r"w\.safetensors: .*'w'")
    tensors_case("offsets the wrong way round", safetensors({"w": tensor("F32", [2, 3], 24, 0)}, bytes(24)),
                 r"w\.safetensors: .*'w'")  # fmt: skip
    tensors_case("negative offset", safetensors({"w": tensor("F32", [2, 3], -24, 0)}, bytes(24)),
                 r"w\.safetensors: .*'w'")  # fmt: skip
    tensors_case("offsets that are no numbers", safetensors({"w": tensor("F32", [2, 3], "a", "b")}, bytes(24)),
                 r"w\.safetensors: .*'w'.*data_offsets")  # fmt: skip
    tensors_case("gap between tensors",
                 safetensors({"v": w, "w": tensor("F32", [2, 3], 32, 56)}, bytes(56)),
                 r"w\.safetensors: .*'w'")  # fmt: skip
    tensors_case("bytes behind the last tensor", safetensors({"w": w}, bytes(99)), r"w\.safetensors: .*")
    tensors_case("unknown type", safetensors({"w": tensor("F31", [2, 3], 0, 24)}, bytes(24)),
                 r"w\.safetensors: .*'w'.*F31.*F32")  # fmt: skip
    tensors_case("shape of another size", safetensors({"w": tensor("F32", [2, 4], 0, 24)}, bytes(24)),
                 r"w\.safetensors: .*'w'.*32.*24|w\.safetensors: .*'w'.*24.*32")  # fmt: skip
    tensors_case("shape whose product wraps",
                 safetensors({"w": tensor("F32", [2**32, 2**32, 3], 0, 24)}, bytes(24)),
                 r"w\.safetensors: .*'w'")  # fmt: skip
    tensors_case("key that occurs twice",
                 safetensors(b'{"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},'
                             b'"w":{"dtype":"F32","shape":[2,3],"data_offsets":[24,48]}}', bytes(48)),
                 r"w\.safetensors: .*'w'.*twice")  # fmt: skip
    for name, text, pattern in (
        ("index whose shard is missing", '{"weight_map": {"w": "gone.safetensors"}}',
         r"gone\.safetensors: cannot open"),
        ("index that leads out of its folder", '{"weight_map": {"w": "../w.safetensors"}}',
         r"\.index\.json: .*'\.\./w\.safetensors'.*same folder"),
        ("index without a map", "[]", r"\.index\.json: .*weight_map"),
    ):  # fmt: skip
        table.add(name, "poot-eval m.mlir --input=x=splat:1 --weights=m", pattern,
                  files={"m.mlir": ADD, "m/model.safetensors.index.json": text})  # fmt: skip


# ----------------------------------------------------------------------------
# Models
# ----------------------------------------------------------------------------


def models(table, small):
    table.group = "Models"

    def model(name, pattern, metadata=None, tensors=None, arguments="", status=1):
        table.add(name, "poot-compile m.gguf -o m.poot " + arguments, pattern, status,
                  files={"m.gguf": builders.llama(metadata, tensors)})  # fmt: skip

    model("unknown family", r"m\.gguf: .*'mamba9'.*llama", {"general.architecture": ("string", "mamba9")})
    model("no family", r"m\.gguf: .*general\.architecture", {"general.architecture": None})
    for key in ("embedding_length", "block_count", "attention.head_count", "feed_forward_length",
                "attention.layer_norm_rms_epsilon"):  # fmt: skip
        model(f"no llama.{key}", rf"m\.gguf: .*llama\.{key}", {f"llama.{key}": None})
    model("number that is a string", r"m\.gguf: .*llama\.block_count.*string",
          {"llama.block_count": ("string", "1")})  # fmt: skip
    model("no layers", r"m\.gguf: the number of layers is 0; it must be 1 to", {"llama.block_count": ("u32", 0)})
    model("no heads", r"m\.gguf: .*head", {"llama.attention.head_count": ("u32", 0)})
    model("heads that K/V heads don't divide", r"m\.gguf: .*head",
          {"llama.attention.head_count": ("u32", 2), "llama.attention.head_count_kv": ("u32", 3)})  # fmt: skip
    model("heads that don't divide the width", r"m\.gguf: .*head",
          {"llama.attention.head_count": ("u32", 3), "llama.attention.head_count_kv": ("u32", 3)})  # fmt: skip
    model("2^31 heads", r"m\.gguf: ", {"llama.attention.head_count": ("u32", 2**31)})
    model("more layers than tensors for them", r"m\.gguf: .*blk\.1\.", {"llama.block_count": ("u32", 2)})
    model("4 billion layers", r"m\.gguf: ", {"llama.block_count": ("u32", 2**32 - 1)})
    model("one tensor missing", r"m\.gguf: .*blk\.0\.ffn_up\.weight", None, {"blk.0.ffn_up.weight": None})
    model("tensors of a layer too many", r"m\.gguf: .*blk\.1\.ffn_up\.weight", None,
          {"blk.1.ffn_up.weight": ([64, 64], F16)})  # fmt: skip
    model("tensor of another shape", r"m\.gguf: .*blk\.0\.attn_k\.weight.*64.*32|"
          r"m\.gguf: .*blk\.0\.attn_k\.weight.*32.*64", None, {"blk.0.attn_k.weight": ([64, 64], F16)})  # fmt: skip
    model("embedding smaller than the vocabulary", r"m\.gguf: .*260",
          None, {"token_embd.weight": ([200, 64], F16)})  # fmt: skip
    model("RoPE of more dimensions than a head", r"m\.gguf: 4096 rotating elements of a head of 32; .*at most the head size",
          {"llama.rope.dimension_count": ("u32", 4096)})  # fmt: skip
    model("RoPE scaling of an unknown kind", r"m\.gguf: rope scaling of type 'spiral'; supported are none and linear",
          {"llama.rope.scaling.type": ("string", "spiral")})  # fmt: skip
    model("epsilon that is no number", r"m\.gguf: .*epsilon",
          {"llama.attention.layer_norm_rms_epsilon": ("f32", float("nan"))})  # fmt: skip
    model("capacity of zero", r"--capacity.*|capacity", arguments="--capacity=-1")
    model("absurd capacity", r"capacity", arguments="--capacity=9000000000000000000")
    model("capacity that is no number", r"capacity", arguments="--capacity=many")
    model("no rows", r"rows", arguments="--rows=0")
    model("a billion rows", r"rows|memory|large", arguments="--rows=1000000000")
    model("prefill chunk of negative size", r"tokens is -3; it must be 1 to", arguments="--prefill=-3")
    model("prefill chunk larger than the capacity", r"4096 tokens a row do not fit a cache of 64 positions", arguments="--prefill=4096 --capacity=64")
    model("a --shape beside a file", r"--shape", arguments="--shape=llama3-8b")
    model("unknown type of the cache", r"kv-type.*'q9'", arguments="--kv-type=q9")
    table.add("unknown shape", "poot-compile --shape gpt9 -o m.poot", r"'gpt9' is unknown; known are smollm2-135m")
    table.add("unknown type of a shape's weights",
              "poot-compile --shape smollm2-135m --weight-type q9 -o m.poot", r"weight-type.*'q9'")  # fmt: skip
    table.add("GGUF that ends early", "poot-compile m.gguf -o m.poot", r"m\.gguf: byte \d+: ",
              files={"m.gguf": builders.llama()[:7000]})  # fmt: skip
    table.add("graph file that is called .gguf", "poot-compile m.gguf -o m.poot", r"m\.gguf",
              files={"m.gguf": ADD})  # fmt: skip

    table.group = "poot-llm"
    good = {"m.poot": small, "m.gguf": builders.llama()}
    run = "poot-llm m.poot --weights m.gguf "
    add = lambda *a, **o: table.add(*a, **{"files": good, **o})
    add("no arguments", "poot-llm", r"BUNDLE is required.*--help", 2)
    add("no weights", "poot-llm m.poot --prompt hi", r"--weights is required", 2)
    add("no prompt", run, r"either --prompt or --tokens is required", 2)
    add("unknown option", run + "--prompt hi --speed 9", r"--speed", 2)
    add("prompt and tokens", run + "--prompt hi --tokens t.npy", r"--prompt|--tokens", 2)
    add("negative count", run + "--prompt hi -n -1", r"-n: Value -1 not in range", 2)
    add("count that is no number", run + "--prompt hi -n ten", r"-n", 2)
    add("count beyond 32 bits", run + "--prompt hi -n 99999999999", r"-n", 2)
    add("negative temperature", run + "--prompt hi --temperature -1", r"temperature must be 0 \(greedy\) or a positive number", 2)
    add("temperature that is no number", run + "--prompt hi --temperature nan", r"temperature", 2)
    add("top-p of 2", run + "--prompt hi --top-p 2", r"top-p", 2)
    add("negative top-k", run + "--prompt hi --top-k -5", r"top-k", 2)
    add("unknown kind of device", run + "--prompt hi --device tpu:0", r"'?tpu:0'?.*vulkan")
    add("device that doesn't exist", run + "--prompt hi --device vulkan:99", r"vulkan:99.*vulkan:0")
    add("empty prompt", ["poot-llm", "m.poot", "--weights", "m.gguf", "--raw", "--prompt", ""], r"prompt")
    add("missing bundle", "poot-llm absent.poot --weights m.gguf --prompt hi", r"absent\.poot: cannot open")
    add("missing weights", "poot-llm m.poot --weights absent.gguf --prompt hi", r"absent\.gguf: cannot open")
    add("bundle and weights swapped", "poot-llm m.gguf --weights m.poot --prompt hi",
        r"m\.poot: byte 0: not a GGUF file")  # fmt: skip
    add("prompt that is longer than the capacity", ["poot-llm", "m.poot", "--weights", "m.gguf",
        "--raw", "--prompt", "x" * 1000], r"1000.*64|64.*1000")  # fmt: skip
    add("token ids that are floats", run + "--tokens t.npy -n 1",
        r"t\.npy: holds f32 .*token ids are i32",
        files={**good, "t.npy": npy("'<f4'", "(2,)", bytes(8))})  # fmt: skip
    add("token id beyond the vocabulary", run + "--tokens t.npy -n 1", r"260|token",
        files={**good, "t.npy": npy("'<i4'", "(2,)", struct.pack("<2i", 5, 260))})  # fmt: skip
    add("negative token id", run + "--tokens t.npy -n 1", r"-1",
        files={**good, "t.npy": npy("'<i4'", "(2,)", struct.pack("<2i", 5, -1))})  # fmt: skip
    add("logits into a folder that doesn't exist", run + "--prompt hi --logits no/l.npy",
        r"no/l\.npy: cannot create")  # fmt: skip

    def tokenizer(name, pattern, **changes):
        metadata = {f"tokenizer.{k.replace('__', '.')}": v for k, v in changes.items()}
        add(name, run + "--raw --prompt hi -n 1", pattern,
            files={"m.poot": small, "m.gguf": builders.llama(metadata)})  # fmt: skip

    tokens = builders.llama_metadata()["tokenizer.ggml.tokens"][1]
    tokenizer("no tokenizer", r"m\.gguf.*tokenizer\.ggml\.model is missing", ggml__model=None)
    tokenizer("unknown tokenizer", r"m\.gguf: .*'bloom'.*gpt2", ggml__model=("string", "bloom"))
    tokenizer("unknown pre-tokenizer", r"m\.gguf: .*'martian'.*smollm", ggml__pre=("string", "martian"))
    tokenizer("no vocabulary", r"m\.gguf: .*tokens is missing", ggml__tokens=None)
    tokenizer("vocabulary of numbers", r"m\.gguf: .*tokenizer\.ggml\.tokens", ggml__tokens=("[u32]", [1, 2]))
    tokenizer("token that occurs twice", r"m\.gguf: .*tokens\[1\] repeats",
              ggml__tokens=("[string]", tokens[:1] + tokens[:1] + tokens[2:]))  # fmt: skip
    tokenizer("fewer token types than tokens", r"m\.gguf: .*token_type has 3 entries for 260",
              ggml__token_type=("[i32]", [1, 1, 1]))  # fmt: skip
    tokenizer("token of type 9", r"m\.gguf: .*token_type\[0\] is 9; allowed",
              ggml__token_type=("[i32]", [9] * 260))  # fmt: skip
    tokenizer("end of text beyond the vocabulary", r"m\.gguf: .*eos_token_id is 128009, but .*260",
              ggml__eos_token_id=("u32", 128009))  # fmt: skip
    tokenizer("merge of three parts", r"m\.gguf: .*merges\[0\]", ggml__merges=("[string]", ["a b c"]))
    tokenizer("merge of an unknown token", r"m\.gguf: .*merges\[0\]", ggml__merges=("[string]", ["\u4e00 b"]))
    tokenizer("SentencePiece without scores", r"m\.gguf: .*scores is missing", ggml__model=("string", "llama"))
    tokenizer("score that is no number", r"m\.gguf: .*scores\[0\]", ggml__model=("string", "llama"),
              ggml__scores=("[f32]", [float("nan")] * 260))  # fmt: skip
    add("unknown prompt form", run + "--prompt hi -n 1", r"m\.gguf: .*--raw",
        files={"m.poot": small, "m.gguf": builders.llama({"tokenizer.chat_template": ("string", "{{x}}")})})  # fmt: skip
    add("vocabulary smaller than the model's", run + "--raw --prompt hi -n 1", r"token_embd\.weight",
        files={"m.poot": small, "m.gguf": builders.llama(
            {"tokenizer.ggml.tokens": ("[string]", tokens[:249] + ["ab"]),
             "tokenizer.ggml.token_type": ("[i32]", [1] * 250),
             "tokenizer.ggml.bos_token_id": None, "tokenizer.ggml.eos_token_id": None},
            {"token_embd.weight": ([250, 64], F16)})})  # fmt: skip
    add("weights of another type", run + "--raw --prompt hi -n 1", r"blk\.0\.ffn_up\.weight.*f16.*f32|"
        r"blk\.0\.ffn_up\.weight.*f32.*f16",
        files={"m.poot": small, "m.gguf": builders.llama(None, {"blk.0.ffn_up.weight": ([64, 64], F32)})})  # fmt: skip
    add("weights that lack a tensor", run + "--raw --prompt hi -n 1", r"blk\.0\.ffn_up\.weight",
        files={"m.poot": small, "m.gguf": builders.llama(None, {"blk.0.ffn_up.weight": None})})  # fmt: skip


# ----------------------------------------------------------------------------
# Bundles
# ----------------------------------------------------------------------------


def bundles(table, bundle, half):
    table.group = "Bundles"

    def info(name, data, pattern):
        table.add(name, "poot-run m.poot --info", pattern, files={"m.poot": data})

    data = bundle.bytes
    bit = lambda at, d=data: d[:at] + bytes([d[at] ^ 1]) + d[at + 1 :]
    table.add("missing file", "poot-run absent.poot --info", r"absent\.poot: cannot open: ")
    info("empty file", b"", r"m\.poot: is empty")
    info("folder", FOLDER, r"m\.poot: is a directory")
    info("named pipe", PIPE, r"m\.poot: is not a regular file")
    info("a GGUF file", builders.llama(), r"m\.poot: .*not a (poot )?bundle")
    info("text", ADD, r"m\.poot: .*not a (poot )?bundle")
    info("changed by a transfer as text", data.replace(b"\r\n", b"\n", 1), r"m\.poot: .*text")
    info("version 0", bundle.header(version=0), r"m\.poot: .*version 0.*1")
    info("a version to come", bundle.header(version=7), r"m\.poot: .*version 7.*1")
    info("cut in the header", data[:40], r"m\.poot: ")
    info("cut in the index", data[:900], r"m\.poot: ")
    info("cut in a section", data[:-1], r"m\.poot: .*%d" % len(data))
    info("cut in the middle", data[: len(data) // 2], r"m\.poot: ")
    info("a byte too long", data + b"\0", r"m\.poot: .*%d" % len(data))
    info("bit flipped in the index", bit(200), r"m\.poot: .*hash")
    info("bit flipped in the magic", bit(0), r"m\.poot: .*not a (poot )?bundle")
    info("index larger than the file", bundle.header(indexSize=2**40), r"m\.poot: ")
    info("index of no bytes", bundle.header(indexSize=0), r"m\.poot: ")
    info("data before the index", bundle.header(dataStart=0), r"m\.poot: ")
    info("data sizes that wrap", bundle.header(dataSize=2**64 - 4096), r"m\.poot: ")
    info("index of zeros", builders.reframe(bytes(512), bundle.data), r"m\.poot: ")
    info("index of garbage", builders.reframe(bytes(range(256)) * 4, bundle.data), r"m\.poot: ")

    target = lambda i: i["targets"][0]
    kernel = lambda i: i["targets"][0]["kernels"][0]
    program = lambda i: i["targets"][0]["programs"][0]
    dispatch = lambda i: next(c["body"] for c in program(i)["commands"] if c["body_type"] == "Dispatch")

    def edited(name, pattern, *changes, command="--info", data=None, **options):
        """Each change: a function that finds an object, a key, a value."""

        def change(index):
            for find, key, value in changes:
                find(index)[key] = value

        table.add(name, "poot-run m.poot " + command, pattern,
                  files={"m.poot": bundle.edit(change, data), "x.npy": npy("'<f4'", (2, 3), bytes(24)),
                         "w.safetensors": WEIGHTS}, **options)  # fmt: skip

    run = "--entry forward --input x=x.npy --weights w.safetensors"
    place = r"m\.poot: .*targets\[0\]\.programs\[0\]\."
    edited("kernel that doesn't exist", place + r".*kernel 77 is out of range", (dispatch, "kernel", 77))
    edited("buffer that doesn't exist", place + r".*buffer 77 is out of range",
           (lambda i: dispatch(i)["arguments"][0], "buffer", 77))  # fmt: skip
    edited("argument past its buffer", place, (lambda i: dispatch(i)["arguments"][0], "offset", 2**40))
    edited("argument whose end wraps", place, (lambda i: dispatch(i)["arguments"][0], "offset", 2**64 - 8))
    edited("argument too few", place + r".*arguments", (dispatch, "arguments", []))
    edited("grid of zero", place + r".*grid", (dispatch, "grid", [1, 0, 1]))
    edited("wait for a later command", place + r".*waits",
           (lambda i: program(i)["commands"][0], "waits", [{"command": 3, "edge": "Full"}]))  # fmt: skip
    edited("section past the end", r"m\.poot: .*sections\[0\]", (lambda i: i["sections"][0], "size", 2**50))
    edited("section that isn't aligned", r"m\.poot: .*sections\[0\].*4096", (lambda i: i["sections"][0], "offset", 12))
    edited("code past its section", r"m\.poot: .*kernels\[0\]", (lambda i: kernel(i)["code"][0], "offset", 5000))
    edited("unknown element type", r"m\.poot: .*consts\[0\].*'f31' is unknown; known: ",
           (lambda i: i["consts"][0]["type"], "element", "f31"))  # fmt: skip
    edited("shape whose product wraps", r"m\.poot: .*consts\[0\]",
           (lambda i: i["consts"][0]["type"], "shape", [2**40, 2**40]))  # fmt: skip
    edited("extent of zero", r"m\.poot: .*consts\[0\].*extent 1 is 0",
           (lambda i: i["consts"][0]["type"], "shape", [2, 0]))  # fmt: skip
    edited("size that contradicts the type", r"m\.poot: .*consts\[0\].*size is 25 bytes, but its type takes 24",
           (lambda i: i["consts"][0], "size", 25))  # fmt: skip
    edited("two targets of one name", r"m\.poot: .*targets\[1\]", (lambda i: i["targets"].append(target(i)) or i,
           "producer", "x"))  # fmt: skip
    edited("two entries of one name", r"m\.poot: .*programs\[1\]",
           (lambda i: target(i)["programs"].append(program(i)) or i, "producer", "x"))  # fmt: skip
    edited("index of another version than the header", r"m\.poot: .*version", (lambda i: i, "version", 1))

    edited("no targets", r"m\.poot: .*no targets", (lambda i: i, "targets", []), command=run)
    edited("for another kind of GPU", r"m\.poot: no target fits .*'cuda:sm_90a' holds no code for .*choose another device",
           (target, "name", "cuda:sm_90a"),
           *((lambda i, n=n: target(i)["kernels"][n]["code"][0], key, value)
             for n in range(len(bundle_kernels(bundle)))
             for key, value in (("format", "Cubin"), ("architecture", "sm_90a"))), command=run)  # fmt: skip
    edited("features that the device lacks",
           r"m\.poot: no target fits .*requires 'antigravity', which the device lacks.*compile",
           (target, "required_features", ["antigravity"]), command=run)  # fmt: skip
    edited("unknown target", r"no target 'vulkan:warp'; the bundle has 'vulkan:base'",
           command=run + " --target vulkan:warp")  # fmt: skip
    words = bundle.data
    for name, code in (
        ("SPIR-V of zeros", bytes(len(words))),
        ("SPIR-V of another magic", b"\x03\x02\x23\x08" + words[4:]),
        ("SPIR-V of half an instruction", words[:20] + b"\x11\0\xff\x7f" + words[24:]),
    ):
        edited(name, r"m\.poot: .*SPIR-V", (lambda i: i["sections"][0], "hash", builders.xxh3(code)),
               command=run, data=code)  # fmt: skip
    edited("scratch memory of 2^61 bytes", r"memory|bytes", (program, "arena_size", 2**61), command=run)
    edited("scratch memory of 64 TiB", r"memory|bytes", (program, "arena_size", 2**46), command=run)
    edited("workgroup beyond every device", r"workgroup extent of 65536, and the device's limit \w+ is \d+", (kernel, "workgroup_size", [65536, 1, 1]),
           command=run)  # fmt: skip
    edited("workgroup memory beyond every device",
           r"workgroup memory: 2147483648, and the device's limit \w+ is \d+",
           (kernel, "static_workgroup_bytes", 2**31), command=run)  # fmt: skip
    edited("grid beyond every device", r"grid of 4294967295x\d+x\d+, and the device's limit",
           (dispatch, "grid", [2**32 - 1, 2**32 - 1, 2**32 - 1]), command=run)  # fmt: skip
    edited("no test vectors", r"m\.poot: .*no test vectors",
           *((lambda i, n=n: target(i)["kernels"][n], "tests", [])
             for n in range(len(bundle_kernels(bundle)))), command="--self-check")  # fmt: skip
    table.add("bit flipped in a kernel", "poot-run m.poot " + run, r"m\.poot: section 0.*hash",
              files={"m.poot": bit(len(data) - 100), "x.npy": npy("'<f4'", (2, 3), bytes(24)),
                     "w.safetensors": WEIGHTS})  # fmt: skip
    table.add("bit flipped in a section", "poot-run m.poot --verify", r"m\.poot: .*sections\[0\]: its hash is",
              files={"m.poot": bit(len(data) - 100)})  # fmt: skip
    table.add("state without an extent", "poot-run o.poot --entry forward --input at=at.npy",
              r"state.*--state-extent|'open'.*extent",
              files={"o.poot": half["open"], "at.npy": npy("'<i4'", "(1,)", bytes(4))})  # fmt: skip
    for name, extent in (("state of 2^60 rows", 2**60), ("state of 2^63 - 1 rows", 2**63 - 1)):
        table.add(name, f"poot-run o.poot --entry forward --input at=at.npy --state-extent {extent}",
                  r"open|extent|memory", files={"o.poot": half["open"], "at.npy": npy("'<i4'", "(1,)", bytes(4))})  # fmt: skip


WEIGHTS = safetensors({"w": tensor("F32", [2, 3], 0, 24)}, bytes(24))


def bundle_kernels(bundle):
    """The kernels of a bundle, from its index."""
    found = []
    bundle.edit(lambda index: found.extend(index["targets"][0]["kernels"]))
    return found


def running(table, bundle):
    table.group = "poot-run: command lines"
    good = {"m.poot": bundle.bytes, "x.npy": npy("'<f4'", (2, 3), bytes(24)), "w.safetensors": WEIGHTS}
    add = lambda *a, **o: table.add(*a, **{"files": good, **o})
    full = "poot-run m.poot --entry forward --weights w.safetensors "
    run = full + "--input x=x.npy "
    add("no arguments", "poot-run", r"exactly one of --info", 2)
    add("no bundle", "poot-run --info", r"bundle's file name is missing", 2)
    add("two things to do", "poot-run m.poot --info --self-check", r"exactly one of", 2)
    add("unknown option", "poot-run m.poot --info --fast", r"--fast", 2)
    add("entry without a name", "poot-run m.poot --entry", r"--entry", 2)
    add("unknown entry", "poot-run m.poot --entry backward --weights w.safetensors",
        r"m\.poot: .*backward.*forward")  # fmt: skip
    add("unknown slot", run + "--input z=x.npy", r"entry forward has no z; it has x \(f32 2x3\)")
    add("slot without a value", full, r"x.*--input")
    add("slot without a file", full + "--input x", r"--input x: NAME=FILE\.npy is needed")
    add("slot given twice", run + "--input x=x.npy", r"--input: x is given twice")
    add("unknown output", run + "--output q=q.npy", r"entry forward has no q; it has y")
    add("unknown kind of device", run + "--device tpu:0", r"tpu:0.*vulkan")
    add("device that doesn't exist", run + "--device vulkan:99", r"vulkan:99.*vulkan:0")
    add("device number that is none", run + "--device vulkan:x", r"vulkan:x")
    add("no driver", run, r"no Vulkan driver was found.*install one",
        environment={"VK_ICD_FILENAMES": "/nonexistent.json", "VK_DRIVER_FILES": "/nonexistent.json"})  # fmt: skip
    add("no steps", run + "--steps 0", r"--steps: Value 0 not in range", 2)
    add("negative steps", run + "--steps -1", r"--steps", 2)
    add("steps out of range", run + "--steps 99999999999999999999", r"--steps", 2)
    add("extent of zero", run + "--state-extent 0", r"--state-extent 0: .*at least 1")
    add("extent that is no number", run + "--state-extent sum=x", r"--state-extent sum=x: ")
    add("extent beyond 64 bits", run + "--state-extent 9223372036854775808", r"--state-extent 9223")
    add("extent of an unknown state", run + "--state-extent nope=4", r"nope")
    add("steps without an entry", "poot-run m.poot --info --steps 2", r"--entry", 2)
    add("output into a folder that doesn't exist", run + "--output y=no/y.npy", r"no/y\.npy: cannot create")
    add("output is a folder", run + "--output y=d", r"d: cannot write: is a directory",
        files={**good, "d": FOLDER})  # fmt: skip
    for name, text, pattern in (
        ("missing manifest", None, r"r\.json: can't be opened"),
        ("manifest that isn't JSON", "{runs: 1}", r"r\.json: "),
        ("manifest nested 100,000 deep", '{"runs": ' + "[" * 100000 + "]" * 100000 + "}", r"r\.json: "),
        ("manifest of an unknown key", '{"runs": [{"entry": "forward", "setps": 1}]}',
         r"r\.json: runs\[0\]\.setps: keys of a run are entry"),
        ("manifest of an unknown entry", '{"runs": [{"entry": "backward"}]}', r"backward.*forward"),
        ("manifest with steps that are no number", '{"runs": [{"entry": "forward", "steps": "two"}]}',
         r"r\.json: runs\[0\]\.steps"),
    ):  # fmt: skip
        add(name, "poot-run m.poot --manifest r.json --weights w.safetensors", pattern,
            files={**good, **({"r.json": text} if text is not None else {})})  # fmt: skip

    table.group = "Arrays (.npy)"
    zeros = bytes(24)
    for name, data, pattern in (
        ("another shape", npy("'<f4'", (3, 2), zeros), r"holds f32 3x2, but slot x takes f32 2x3"),
        ("another type", npy("'<i4'", (2, 3), zeros), r"holds i32 2x3, but slot x takes f32 2x3"),
        ("ends early", npy("'<f4'", (2, 3), zeros[:7]), r"shape 2x3 of f32 takes 24 bytes, but 7 follow"),
        ("too long", npy("'<f4'", (2, 3), bytes(99)), r"takes 24 bytes, but 99 follow"),
        ("big-endian", npy("'>f4'", (2, 3), zeros), r"'>f4' is big-endian; must be one of '<f4'"),
        ("Python objects", npy("'|O'", (2, 3), zeros), r"Python objects"),
        ("structured", npy("[('a', '<f4')]", (2, 3), zeros), r"structured array"),
        ("Fortran order", npy("'<f4'", (2, 3), zeros, order=True), r"Fortran order.*ascontiguousarray"),
        ("negative extent", npy("'<f4'", (-2, 3), zeros), r"aren't negative"),
        ("shape whose product wraps", npy("'<f4'", (2**62, 8), zeros), r"4611686018427387904x8|overflow"),
        ("extent beyond 64 bits", npy("'<f4'", (2**70, 3), zeros), r"beyond 2\^63-1"),
        ("unknown version", npy("'<f4'", (2, 3), zeros, version=9), r"version 9\.0 is not supported"),
        ("header longer than the file", b"\x93NUMPY\x01\x00\xff\xff{'descr'", r"declares a header of 65535 bytes"),
        ("header without a shape", b"\x93NUMPY\x01\x00\x10\x00{'descr':'<f4'} ", r"lacks"),
        ("not an array", ADD, r"not a \.npy file"),
        ("empty file", b"", r"is empty"),
        ("folder", FOLDER, r"is a directory"),
        ("named pipe", PIPE, r"is not a regular file"),
    ):  # fmt: skip
        add(name, run, r"x\.npy: .*" + pattern, files={**good, "x.npy": data})
    add("missing file", full + "--input x=absent.npy", r"absent\.npy: cannot open")

    table.group = "Weights that don't match the bundle"
    for name, data, pattern in (
        ("missing tensor", safetensors({"v": tensor("F32", [2, 3], 0, 24)}, zeros), r"'w'"),
        ("another type", safetensors({"w": tensor("I32", [2, 3], 0, 24)}, zeros), r"'w'.*i32.*f32|'w'.*f32.*i32"),
        ("another shape", safetensors({"w": tensor("F32", [3, 2], 0, 24)}, zeros), r"'w'.*3x2.*2x3|'w'.*2x3.*3x2"),
        ("another rank", safetensors({"w": tensor("F32", [6], 0, 24)}, zeros), r"'w'"),
        ("a file that ends early", WEIGHTS[:-4], r"w\.safetensors: "),
    ):  # fmt: skip
        add(name, run, pattern, files={**good, "w.safetensors": data})
    add("no weights", "poot-run m.poot --entry forward --input x=x.npy", r"'w'.*--weights")
    add("weights of another model", "poot-run m.poot --entry forward --input x=x.npy --weights m.gguf",
        r"'w'", files={**good, "m.gguf": builders.llama()})  # fmt: skip
    add("a bundle of no model in poot-llm", "poot-llm m.poot --weights m.gguf --raw --prompt hi",
        r"m\.poot|'w'", files={**good, "m.gguf": builders.llama()})  # fmt: skip

    table.group = "Full disks"
    model = {**good, "m.mlir": ADD}
    eval_ = "poot-eval m.mlir --input=x=splat:1 --const=w=splat:1 "
    for name, command in (
        ("poot-compile", "poot-compile m.mlir -o full/m.poot"),
        ("poot-translate", "poot-translate --graph-to-bundle m.mlir -o full/m.poot"),
    ):
        add(f"{name} to a full disk", command, r"full/m\.poot: cannot write: (no space left|file too large)",
            files=model, full_disk=True)  # fmt: skip
    long = "".join(f"graph.const @w{i} : tensor<2x3xf32>\n" for i in range(999)) + ADD
    add("poot-opt to a full disk", "poot-opt m.mlir -o full/m.mlir",
        r"full/m\.mlir: cannot write: (no space left|file too large)",
        files={"m.mlir": long}, full_disk=True)  # fmt: skip
    large = entry("  %y = graph.broadcast %x dims [0, 1] : tensor<1x3xf32> -> tensor<900x3xf32>",
                  "%x: tensor<1x3xf32>", "tensor<900x3xf32>")  # fmt: skip
    add("poot-eval to a full disk", "poot-eval m.mlir --input=x=splat:1 --output=y=full/y.npy",
        r"full/y\.npy: cannot write: (no space left|file too large)",
        files={"m.mlir": large}, full_disk=True)  # fmt: skip
    for name, command, pattern in (
        ("poot-compile to /dev/full", "poot-compile m.mlir -o /dev/full", r"/dev/full: cannot write: no space"),
        ("poot-opt to /dev/full", "poot-opt m.mlir -o /dev/full", r"/dev/full: cannot write: no space"),
        ("poot-eval to /dev/full", eval_ + "--output=y=/dev/full", r"/dev/full: cannot write: no space"),
        ("poot-run to /dev/full", run + "--output y=/dev/full", r"/dev/full: cannot write: no space"),
    ):  # fmt: skip
        add(name, command, pattern, files=model)
    for name, command in (
        ("poot-opt", "poot-opt m.mlir"),
        ("poot-translate", "poot-translate --graph-to-bundle m.mlir"),
        ("poot-eval", eval_),
        ("poot-compile", "poot-compile m.mlir --print-plan"),
        ("poot-run", "poot-run m.poot --info"),
        ("poot-run --json", "poot-run m.poot --json"),
        ("poot-run --entry", run),
    ):
        add(f"standard output of {name} on a full disk", command,
            r"standard output can't be written: no space left", files=model, stdout="/dev/full")  # fmt: skip


# ----------------------------------------------------------------------------
# Kernels
# ----------------------------------------------------------------------------

# y = x + n
SHIFT = """\
kernel.func @shift(%x: !kernel.buffer<i32, read> loc("x"("s.cpp":1:1)),
                   %y: !kernel.buffer<i32, write> loc("y"("s.cpp":1:2)),
                   %n: i32 loc("n"("s.cpp":1:3)))
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %i = kernel.workgroup_id x
  %a = kernel.load %x[%i] : !kernel.buffer<i32, read>
  %b = arith.addi %a, %n : i32
  kernel.store %b, %y[%i] : !kernel.buffer<i32, write>
  kernel.return
}
"""


def launching(table, bundle, graph):
    table.group = "Kernels of a bundle"
    good = {"m.poot": bundle, "g.poot": graph, "x.npy": npy("'<i4'", (3,), bytes(12)),
            "f.npy": npy("'<f4'", (3,), bytes(12)), "m.mlir": SHIFT, "g.mlir": ADD}  # fmt: skip
    add = lambda *a, **o: table.add(*a, **{"files": good, **o})
    kernel = "poot-run m.poot --kernel shift --grid 3 "
    run = kernel + "--metadata 1 --input x=x.npy "
    launch = run + "--input y=zeros:3 "
    add("no bundle", "poot-run --kernel shift", r"bundle's file name is missing", 2)
    add("kernel and entry", launch + "--entry shift", r"exactly one of .*--kernel", 2)
    add("a grid without a kernel", "poot-run m.poot --info --grid 3", r"--grid goes with --kernel or --interpret", 2)
    add("a constant, which the bundle has fixed", launch + "--spec n=1", r"--spec requires --interpret", 2)
    add("no file of this name", "poot-run absent.poot --kernel shift", r"absent\.poot: cannot open: ")
    add("unknown kernel", "poot-run m.poot --kernel shaft", r"m\.poot: has no kernel 'shaft'; it has shift$")
    add("kernel of a graph, without KIR", "poot-run g.poot --kernel add_f32_2x3",
        r"g\.poot: has no KIR of a kernel 'add_f32_2x3'; it has that of none: poot-compile --target interp adds it")  # fmt: skip
    add("no number", kernel, r"--metadata: 0 values are given, and the kernel takes 1 \(n i32\)")
    add("numbers too many", kernel + "--metadata 1,2", r"--metadata: 2 values are given, .* 1 \(n i32\)")
    add("number of another type", kernel + "--metadata 1.5", r"--metadata: 1\.5 is no integer of 32 bits")
    add("number beyond 32 bits", kernel + "--metadata 4294967296", r"--metadata: 4294967296 is no integer of 32 bits")
    add("grid that is none", launch.replace("--grid 3", "--grid 3,x"), r"--grid 3,x: .* like 4,1,1")
    add("grid of zero", launch.replace("--grid 3", "--grid 3,0"), r"--grid 3,0: at least one workgroup in x, y and z")
    add("grid beyond the device", launch.replace("--grid 3", "--grid 4294967295"),
        r"'shift' has a grid of 4294967295x1x1, and the device's limit \w+ is \d+")  # fmt: skip
    add("buffer without a value", run, r"buffer 1 needs a value; .*0 or x \(buffer<i32, read>\), 1 or y")
    add("unknown buffer", run + "--input z=x.npy", r"--input z=x\.npy: the kernel has no such buffer; it has 0 or x")
    add("buffer given twice", launch + "--input 1=x.npy", r"--input 1=x\.npy: this buffer is given twice")
    add("buffer without a file", kernel + "--metadata 1 --input x", r"--input x: BUFFER=VALUE is needed")
    add("array of another type", run + "--input y=f.npy", r"f\.npy: holds f32, but the buffer i32")
    add("array of no elements", run + "--input y=zeros:0", r"--input y=zeros:0: 0 is no shape like 4x8")
    add("array beyond memory", run + "--input y=zeros:999999999999", r"zeros:999999999999: .* at most 64 GiB")
    add("output of an unknown buffer", launch + "--output z=z.npy", r"--output z=z\.npy: the kernel has no such buffer")
    add("output into a folder that doesn't exist", launch + "--output y=no/y.npy", r"no/y\.npy: cannot create")
    add("unknown target", launch + "--target vulkan:warp",
        r"m\.poot: there is no target 'vulkan:warp'; the bundle has 'vulkan:f16' and 'interp'")  # fmt: skip
    add("target of another device", launch + "--target interp --device vulkan",
        r"m\.poot: no target fits vulkan:0 .*'interp' holds no code for vulkan devices")  # fmt: skip
    at = len(bundle) - 100  # Within the KIR, which a section holds at the end.
    flipped = lambda at: bundle[:at] + bytes([bundle[at] ^ 1]) + bundle[at + 1 :]
    add("bit flipped in SPIR-V", launch, r"m\.poot: section 0, which holds kernels, differs from its hash",
        files={**good, "m.poot": flipped(4096 + 100)})  # fmt: skip
    add("bit flipped in KIR", launch, r"m\.poot: (kernel shift|section 1)", files={**good, "m.poot": flipped(at)})
    add("plan of kernels", "poot-compile m.mlir --print-plan", r"m\.mlir: holds kernels alone, which have no plan")
    add("constant that doesn't exist", "poot-compile m.mlir --spec n=1 -o s.poot",
        r"error: has no specialization constant 'n'")  # fmt: skip
    add("constant of a graph", "poot-compile g.mlir --spec n=1 -o s.poot", r"--spec is for kernels")
    add("unknown target of kernels", "poot-compile m.mlir --target cuda -o s.poot",
        r"unknown target 'cuda'; known are vulkan, ")  # fmt: skip
    add("kernels that don't fit the target", "poot-compile m.mlir --target vulkan:base -o s.poot",
        r"error: .*!kernel\.buffer<i8, write>.*target vulkan:base doesn't have; allowed are i1, i32, f32",
        files={"m.mlir": KERNEL.replace("f32", "i8")})  # fmt: skip


def own_kernels(table):
    table.group = "Kernels of one's own (poot-compile --kernel)"

    def implements(pattern, kernel=KERNEL):
        return kernel.replace("{work", f'{{kernel.attributes = {{implements = "{pattern}"}}, work')

    def add(name, content, pattern, file="k.mlir", input=ADD):
        files = {"g.mlir": input} if content is None else {"g.mlir": input, file: content}
        table.add(name, f"poot-compile g.mlir -o g.poot --kernel {file}", pattern, files=files)

    add("missing file", None, r"k\.mlir:0:0: error: cannot open input file 'k\.mlir': No such file")
    add("folder", FOLDER, r"k\.mlir:0:0: error: cannot open .*Is a directory")
    add("syntax error", KERNEL.replace("func @k", "func k"), r"k\.mlir:1:13: error: ")
    add("JSON of something else", '{"runs": []}', r"k\.kir\.json: is no KIR", file="k.kir.json")
    add("a graph", ADD, r"k\.mlir:1:1: error: 'graph\.const' does not belong in a file of kernels")
    add("a kernel that implements nothing", KERNEL,
        r"k\.mlir:0:0: error: holds no kernel that says what it implements; POOT_IMPLEMENTS")  # fmt: skip
    add("unknown pattern", implements("sillu"),
        r"k\.mlir:1:1: error: kernel 'k' can't implement 'sillu': .* allowed are silu, .*layer_norm")  # fmt: skip
    add("pattern nested 100,000 deep", implements("neg(" * 100000 + "x" + ")" * 100000),
        r"k\.mlir:1:1: error: .* pattern of 500001 characters; a pattern has at most 1000")  # fmt: skip
    add("pattern of too many ops", implements("neg(" * 17 + "x" + ")" * 17), r"has 17 ops; a pattern has at most 16")
    add("a buffer too few", implements("add"), r"kernel 'k' has 1 buffers and 0 words .* 'add' has 3 buffers")
    add("for a kernel instead of a graph", KERNEL, r"--kernel is for graphs and models, and the input holds kernels",
        input=KERNEL)  # fmt: skip


def kernel_files(table):
    table.group = "Kernels as text (.kir.json)"
    run = "poot-run --interpret k.kir.json --input 0=zeros:4 --input 1=zeros:4"

    def text(name, content, pattern, command=run, **options):
        table.add(name, command, pattern, files={"k.kir.json": content}, **options)

    def module(name, change, pattern, command=run, **options):
        """With a module that CHANGE has edited: it is given the module, the
        functions, and the ops of the hook's body and of both of the kernel's
        blocks."""
        module = builders.kir_module()
        hook, kernel = module["functions"]
        change(module, hook, kernel, hook["blocks"][0]["ops"], *(b["ops"] for b in kernel["blocks"]))
        text(name, json.dumps(module), r"k\.kir\.json: .*" + pattern, command, **options)

    def put(container, key, value):
        container[key] = value

    good = json.dumps(builders.kir_module())

    # The text.
    text("empty file", "", r"k\.kir\.json: .*empty")
    text("ends early", good[:700], r"k\.kir\.json: is no JSON: wrong at byte 701")
    text("binary garbage", bytes(range(256)) * 8, r"k\.kir\.json: is no JSON: wrong at byte 1")
    text("a name that isn't UTF-8", good.replace('"k"', '"k\xff"').encode("latin-1"),
         r"k\.kir\.json: is no JSON: wrong at byte \d+")  # fmt: skip
    text("NaN as a number", good.replace("100", "NaN"), r"k\.kir\.json: is no JSON: wrong at byte \d+")
    text("a number beyond all", good.replace("100", "1e999"), r"k\.kir\.json: is no JSON")
    text("nested 100,000 deep", good.replace("100", "[" * 100000 + "]" * 100000),
         r"k\.kir\.json: functions\[0\].*ops\[0\]\.value: is no i32")  # fmt: skip
    text("nested 100,000 deep and cut", "[" * 100000, r"k\.kir\.json: is no JSON: wrong at byte 100001")
    text("a key twice", good.replace('"loc": 0', '"loc": 0, "loc": 0', 1),
         r"k\.kir\.json: the key 'loc' stands twice in an object")  # fmt: skip
    text("JSON of something else", '{"runs": []}', r"k\.kir\.json: is no KIR; its \"format\" would be")
    table.add("missing file", run, r"k\.kir\.json: cannot open")
    table.add("folder", run, r"k\.kir\.json: is a directory", files={"k.kir.json": FOLDER})
    table.add("named pipe", run, r"k\.kir\.json: is not a regular file", files={"k.kir.json": PIPE})

    # Its keys.
    module("a later version", lambda m, *_: put(m, "version", 2), r"has version 2 of KIR; this build reads 1")
    module("version that is no number", lambda m, *_: put(m, "version", "1"), r"has version \"1\" of KIR")
    module("no functions", lambda m, *_: m.pop("functions"), r"lacks the key 'functions'")
    module("unknown key", lambda m, h, k, *_: put(k, "grid", 3),
           r"functions\[1\]: has the key 'grid'; allowed are kernel, ")  # fmt: skip
    module("location that comes later", lambda m, *_: put(m, "locations", [{"callee": 1, "caller": 1}, None]),
           r"locations\[0\]\.callee: names a location, of which there are none")  # fmt: skip
    module("location of an unknown file", lambda m, *_: put(m["locations"], 1, [7, 1, 1]),
           r"locations\[1\]: names file 7 of 1")  # fmt: skip
    module("calls 100,000 deep", lambda m, *_: m["locations"].extend(
           {"callee": 0, "caller": i + 1} for i in range(100000)),
           r"location \d+ has parts in parts more than 256 levels deep")  # fmt: skip
    module("workgroup of size zero", lambda m, h, k, *_: put(k, "workgroup_size", [4, 0, 1]),
           r"kernel 'k': has the workgroup size 0; allowed are 1 to 65535")  # fmt: skip
    module("workgroup of negative size", lambda m, h, k, *_: put(k, "workgroup_size", [-1, 1, 1]),
           r"functions\[1\]\.workgroup_size\[0\]: is no integer of 0 to 65535")  # fmt: skip
    module("workgroup that is too large", lambda m, h, k, *_: put(k, "workgroup_size", [65535, 65535, 65535]),
           r"kernel 'k': its workgroups have 281462092005375 work-items; .* 1024 at most")  # fmt: skip

    # Ops and values.
    module("unknown op", lambda m, h, k, body, *_: put(body[1], "op", "arith.hypot"),
           r"functions\[0\]\.blocks\[0\]\.ops\[1\]: has the op 'arith\.hypot', which KIR doesn't have")  # fmt: skip
    module("attribute of another op", lambda m, h, k, body, *_: put(body[1], "dim", "x"),
           r"ops\[1\]: has a key that 'arith\.divsi' doesn't take; allowed are op, .*exact")  # fmt: skip
    module("attribute of no such value", lambda m, h, k, body, first, *_: put(first[0], "dim", "w"),
           r"ops\[0\]\.dim: is 'w'; allowed are x, y, z")  # fmt: skip
    module("op without its attribute", lambda m, h, k, body, first, *_: first[0].pop("dim"),
           r"ops\[0\]: lacks the key 'dim', which 'kernel\.local_id' needs")  # fmt: skip
    module("operand of another type", lambda m, h, k, body, *_: put(body[0], "results", [[1, "i64"]]),
           r"hook body 'reciprocal': block 0, op 1: 'arith\.divsi' has the type \(i64, i32\)")  # fmt: skip
    module("constant of another type", lambda m, h, k, body, *_: put(body[0], "value", 1.5),
           r"ops\[0\]\.value: is no i32; allowed are ")  # fmt: skip
    module("constant beyond its type", lambda m, h, k, body, *_: put(body[0], "value", 2**31),
           r"ops\[0\]\.value: is no i32; allowed are ")  # fmt: skip
    module("constant beyond 64 bits", lambda m, h, k, body, *_: put(body[0], "value", 2**70),
           r"ops\[0\]\.value: is no i32; allowed are ")  # fmt: skip
    module("operand too many", lambda m, h, k, body, *_: put(body[1], "operands", [1, 0, 0]),
           r"op 1: 'arith\.divsi' has 3 operands; it takes 2$")  # fmt: skip
    module("operand that is no value", lambda m, h, k, body, *_: put(body[1], "operands", [1, 9]),
           r"op 1: 'arith\.divsi' has the operand 9, which is no value")  # fmt: skip
    module("value before its definition", lambda m, h, k, body, *_: put(body[1], "operands", [1, 2]),
           r"op 1: 'arith\.divsi' uses value 2, which isn't defined on every way here")  # fmt: skip
    module("values out of order", lambda m, h, k, body, *_: put(body[0], "results", [[4000000000, "i32"]]),
           r"results\[0\]: defines value 4000000000; .*so this is 1")  # fmt: skip
    module("branch to the entry", lambda m, h, k, body, first, *_: put(first[1], "successors", [[0]]),
           r"kernel 'k': block 0, op 1: 'cf\.br' leads to block 0; allowed are 1 to 1")  # fmt: skip
    module("branch to a block that isn't there", lambda m, h, k, body, first, *_: put(first[1], "successors", [[7]]),
           r"'cf\.br' leads to block 7; allowed are 1 to 1")  # fmt: skip
    module("branch with a value too many", lambda m, h, k, body, first, *_: put(first[1], "successors", [[1, 2]]),
           r"'cf\.br' passes 1 values to block 1, which takes 0")  # fmt: skip
    module("block without an end", lambda m, h, k, body, first, second: second.pop(),
           r"kernel 'k': block 1, op 2: 'kernel\.store' is no terminator and ends a block")  # fmt: skip
    module("block without ops", lambda m, h, k, body, first, second: second.clear(),
           r"kernel 'k': block 1 is empty; it needs a terminator")  # fmt: skip
    module("store into a buffer for reading", lambda m, h, k, body, first, second: put(second[2], "operands", [4, 0, 2]),
           r"kernel 'k': block 1, op 2: 'kernel\.store' writes to buffer<i32, read>")  # fmt: skip

    # Types.
    def typed(name, spelling, pattern, **options):
        """A workgroup array, table, variable or value of that type."""
        kind = spelling.split("<")[0]
        op = {"workgroup": "kernel.workgroup_alloc", "table": "kernel.constant_table",
              "var": "kernel.var"}.get(kind, "ub.poison")  # fmt: skip
        new = {"op": op, "results": [[2, spelling]], "loc": 0}
        if kind == "table":
            new["value"] = [0.0]

        def change(m, h, k, body, first, second):
            first[:] = [new, {"op": "kernel.return", "loc": 0}]
            k["blocks"].pop()

        module(name, change, pattern, **options)

    typed("unknown type", "f80", r"results\[0\]\[1\]: 'f80' is no type; types are spelt as in f32, ")
    typed("type of another spelling", "vector<4 x f32>", r"results\[0\]\[1\]: 'vector<4 x f32>' is no type")
    typed("type nested 100,000 deep", "vector<" * 100000, r"results\[0\]\[1\]: 'vector<vector<.*\.\.\. is no type")
    typed("array beyond 64 bits", "workgroup<99999999999999999999xf32>", r"'workgroup<9+xf32>' is no type")
    typed("array of 2^62 elements", f"workgroup<{2**62}xf32>", r"'workgroup<4611686018427387904xf32>' is no type")
    typed("array of 8 GiB", "workgroup<2147483647xf32>", r"kernel 'k': its workgroup arrays take more than 16 MiB")
    typed("array of no elements", "workgroup<0xf32>", r"an array has one extent of 1 to 2147483647")
    typed("table of 8 GiB", "table<2147483647xf32>", r"kernel 'k': a table takes more than \d+ MiB")
    typed("variable whose product wraps", f"var<{2**32}x{2**32}xf32>", r"a variable has 1 to 2147483647 elements")
    typed("variable of 8 GiB", "var<2147483647xf32>", r"kernel 'k': (a variable of .* is too large|its values take more)")
    typed("vector of 2^31 elements", "vector<2147483647xf32>", r"kernel 'k': .*(too long|take more than)")
    typed("fragment of odd extents", "fragment<17x3xf16, a>", r"a fragment has 8, 16 or 32 rows and columns")
    module("structure whose leaves overlap", lambda m, h, k, *_: put(
           k["blocks"][0]["arguments"], 0, [0, "buffer<struct<8: f32 at 0, f32 at 2>, read>", 0]),
           r"struct<8: .*has a leaf at 2 that .*overlaps")  # fmt: skip
    module("number among the arguments before a buffer", lambda m, h, k, *_: put(
           k["blocks"][0]["arguments"], 0, [0, "i32", 0]),
           r"kernel 'k': has the argument 1 of type buffer<i32, write>; allowed are buffers, then i32 and f32")  # fmt: skip

    # Functions and hooks.
    module("no such kernel", lambda *_: None, r"there is no kernel 'j'; there is k", run + " --kernel j")
    module("kernel that is a hook's body", lambda *_: None, r"there is no kernel 'reciprocal'; there is k", run + " --kernel reciprocal")
    module("hook bodies alone", lambda m, *_: m["functions"].pop(), r"holds no kernel")
    module("no functions at all", lambda m, *_: m["functions"].clear(), r"holds no kernel")
    module("two functions of one name", lambda m, h, k, *_: m["functions"].append(k), r"two functions are called 'k'")
    two = builders.kir_module()
    two["functions"].append({**two["functions"][1], "kernel": "j"})
    text("two kernels, and none is named", json.dumps(two),
         r"--kernel is needed: k\.kir\.json has more than one kernel, the first being k")  # fmt: skip
    module("hook without its default", lambda m, *_: m["functions"].pop(0),
           r"kernel 'k': block 1, op 1: 'kernel\.hook' has the default 'reciprocal', which is no hook body")  # fmt: skip
    module("hook's body of other types", lambda m, h, k, body, first, second: (
           put(h, "results", []), body[2].pop("operands")),
           r"'kernel\.hook' has the type \(i32\) -> \(i32\), but its default 'reciprocal' another")  # fmt: skip
    module("hook's body that yields another type", lambda m, h, *_: put(h, "results", ["f32"]),
           r"hook body 'reciprocal': block 0, op 2: 'kernel\.yield' .*the function gives other results")  # fmt: skip
    module("hook's body that ends like a kernel", lambda m, h, k, body, *_: put(body, 2, {"op": "kernel.return", "loc": 0}),
           r"hook body 'reciprocal': block 0, op 2: 'kernel\.return' ends a kernel")  # fmt: skip
    module("hook's body with a workgroup array", lambda m, h, k, body, *_: put(
           body, 0, {"op": "kernel.workgroup_alloc", "results": [[1, "workgroup<4xi32>"]], "loc": 0}),
           r"hook body 'reciprocal': block 0, op (0|1): ")  # fmt: skip
    module("hook's body that is its own default", lambda m, h, k, body, first, second: put(
           body, 1, {**second[1], "operands": [1], "results": [[2, "i32"]]}),
           r"the hook body 'reciprocal' is its own default")  # fmt: skip
    module("hook filled with nothing", lambda m, h, k, *_: put(k, "fill", {"f": "g"}),
           r"kernel 'k': fills the hook 'f' with 'g', which is no hook body")  # fmt: skip
    module("hook that the kernel hasn't", lambda m, h, k, *_: put(k, "fill", {"g": "reciprocal"}),
           r"kernel 'k': has no hook 'g', which is to be filled by 'reciprocal'")  # fmt: skip

    # Other tools, and what a run finds.
    translate = "poot-translate --kir-json-to-kernel k.kir.json"
    text("poot-translate: ends early", good[:700], r"k\.kir\.json.*is no JSON: wrong at byte 701", translate)
    text("poot-translate: operand that is no value", good.replace("[1, 0]", "[1, 9]"),
         r"k\.kir\.json.*: 'arith\.divsi' has the operand 9, which is no value", translate)  # fmt: skip
    text("integer division by zero", good,
         r"error: integer division by zero \[poot-sanitize-division\]", run + " --sanitize")  # fmt: skip
    text("access beyond a buffer", good, r"index 3 of buffer 1, which has 3 elements",
         run.replace("1=zeros:4", "1=zeros:3"))  # fmt: skip
    forever = builders.kir_module()
    forever["functions"][1]["blocks"][1]["ops"] = [{"op": "cf.br", "successors": [[1]], "loc": 0}]
    text("kernel that never ends", json.dumps(forever), r"kernel 'k' was given up after 1000 steps",
         run + " --step-limit 1000")  # fmt: skip

    table.group = "poot-run --interpret: command lines"
    add = lambda name, rest, pattern, status=1: table.add(
        name, "poot-run --interpret k.kir.json " + rest, pattern, status, files={"k.kir.json": good})  # fmt: skip
    both = "--input 0=zeros:4 --input 1=zeros:4 "
    add("subgroups of three lanes", both + "--subgroup-size 3", r"subgroups of 3 lanes; allowed are powers of two up to 128")
    add("subgroups of no lanes", both + "--subgroup-size 0", r"--subgroup-size", 2)
    add("unknown constant", both + "--spec n=1", r"k\.kir\.json: kernel 'k': has no specialization constant 'n'")
    add("constant without a number", both + "--spec n", r"--spec n: NAME=NUMBER is needed")
    add("number for a kernel that takes none", both + "--metadata 1", r"--metadata: 1 values are given, .* takes 0")
    add("buffer without a value", "--input 0=zeros:4", r"buffer 1 needs a value")
    add("buffer beyond memory", "--input 0=zeros:999999999999 --input 1=zeros:4", r"at most 64 GiB")
    add("negative step limit", both + "--step-limit -1", r"--step-limit", 2)
    add("a bundle and a kernel's file", "m.poot", r"--interpret", 2)


# ----------------------------------------------------------------------------
# All
# ----------------------------------------------------------------------------


def compiled(binaries, folder, name, content, *options):
    """The path of the bundle that poot-compile makes of CONTENT."""
    with open(os.path.join(folder, name), "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    tool = os.path.join(binaries, "poot-compile")
    # A relative name, since bundles hold the places of ops.
    subprocess.run([tool, name, "-o", name + ".poot", *options], check=True, cwd=folder)
    return os.path.join(folder, name + ".poot")


def all_cases(binaries, flatc, schema, folder):
    read = lambda path: open(path, "rb").read()
    bundle = builders.Bundle(compiled(binaries, folder, "add.mlir", ADD), flatc, schema)
    small = read(compiled(binaries, folder, "small.gguf", builders.llama(), "--prefill=8"))
    others = {"open": read(compiled(binaries, folder, "open.mlir", OPEN))}
    table = Table()
    graph_files(table)
    compiler_tools(table)
    weight_files(table)
    models(table, small)
    bundles(table, bundle, others)
    running(table, bundle)
    launching(table, read(compiled(binaries, folder, "shift.mlir", SHIFT)), bundle.bytes)
    own_kernels(table)
    kernel_files(table)
    return table.cases
