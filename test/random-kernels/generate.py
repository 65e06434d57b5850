#!/usr/bin/env python3
"""Writes random GPU kernels in annotated C++, many to a translation unit.

    generate.py --seed N --count N [--features LIST] -o kernels.cpp
                                          [--manifest kernels.json]

The same source is compiled for the host, where `main` launches every kernel
and writes what it computed, and imported by pootc. Every operation used is
exact or correctly rounded on each of them (Vulkan promises neither of float
division and square roots), so results are compared bit for bit. A kernel reads `in` and writes `out`; both are words, and the kernel takes
what it needs out of them.

What keeps a program's result defined:
- loops count down a budget of the work-item;
- integers wrap as unsigned numbers; shifts and divisors are masked;
- floats are kept at multiples of 2^-10 below 2^20 after each operation, so
  there is neither overflow nor a subnormal number nor a NaN;
- barriers and subgroup operations stand in control flow that is uniform;
- between two barriers a work-item writes only its own element of a workgroup
  array, and reads others' only after the next one;
- atomics commute, and their results aren't used before a barrier.

FEATURES name what a kernel may use beyond 32-bit types: half, wide (8, 16 and
64-bit integers), subgroup. Each kernel of the manifest lists those it uses.
"""

import argparse
import json
import random

WORKGROUP = 16
GROUPS = 2
ITEMS = WORKGROUP * GROUPS
IN_WORDS = 64
OUT_WORDS = 8  # of each work-item
SHARED_OUT = 8  # words behind them that all work-items update atomically

PRELUDE = """\
// Random kernels of test/random-kernels/generate.py, seed {seed}.
#include "poot/kernel.h"

#include <algorithm>
#include <array>
#include <cmath>

using namespace poot;

namespace {{

/// Keeps a float where every later operation on it is exact or rounds to a
/// normal number.
inline float tame(float v) {{
  v = std::min(std::max(v, -1048576.0f), 1048576.0f);
  return std::floor(v * 1024.0f) / 1024.0f;
}}
inline float toFloat(uint32_t v) {{
  return static_cast<float>(static_cast<int32_t>(v & 0xfffu) - 2048) / 16.0f;
}}
/// The bits, of a zero without its sign: what is added to it may be dropped.
inline uint32_t bitsOf(float v) {{
  return v == 0.0f ? 0u : bit_cast<uint32_t>(v);
}}
inline uint32_t toWord(float v) {{ return bitsOf(tame(v)); }}
inline uint32_t mix(uint32_t a, uint32_t b) {{
  a ^= b + 0x9e3779b9u + (a << 6) + (a >> 2);
  return a * 0x85ebca6bu;
}}
template <class T> inline T pick(bool c, T a, T b) {{
  if (c)
    return a;
  return b;
}}
template <int N> inline uint32_t horner(const std::array<uint32_t, N> &c,
                                        uint32_t x) {{
  uint32_t sum = 0;
  for (int i = 0; i < N; ++i)
    sum = sum * x + c[i];
  return sum;
}}

struct Pair {{
  uint32_t a = 1, b = 2;
  Pair() = default;
  Pair(uint32_t a, uint32_t b) : a(a), b(b) {{}}
  uint32_t sum() const {{ return a + b; }}
  Pair operator+(const Pair &o) const {{ return Pair(a + o.a, b ^ o.b); }}
  void turn() {{ std::swap(a, b); }}
}};
struct Base {{
  int32_t tag = 3;
}};
struct Point : Base {{
  float x = 0, y = 0;
  Point moved(float dx) const {{
    Point p = *this;
    p.x = tame(p.x + dx);
    return p;
  }}
}};

constexpr uint32_t table[16] = {{{table}}};

}} // namespace
"""


class Kernel:
    """One random kernel."""

    def __init__(self, rng, name, features):
        self.rng = rng
        self.name = name
        self.features = features
        self.used = set()
        self.lines = []
        self.depth = 1
        self.names = 0
        # Variables in scope, by type. Constants of a loop are read-only.
        self.scopes = [{"u": ["gid", "lid", "n"], "f": [], "b": [], "l": [],
                        "h": [], "pair": [], "arr": [], "vec": [],
                        "point": []}]
        self.readonly = {"gid", "lid", "n"}
        self.shared = None
        self.uniform = True
        self.loop_depth = 0
        self.switch_depth = 0
        self.in_lambda = False

    # Text.
    def emit(self, text):
        self.lines.append("  " * self.depth + text)

    def fresh(self, stem):
        self.names += 1
        return f"{stem}{self.names}"

    def has(self, feature):
        return feature in self.features

    # Scopes.
    def visible(self, kind):
        return [v for scope in self.scopes for v in scope.get(kind, [])]

    def declare(self, kind, name):
        self.scopes[-1].setdefault(kind, []).append(name)

    def block(self, head, body, tail="}"):
        self.emit(head)
        self.depth += 1
        self.scopes.append({})
        body()
        self.scopes.pop()
        self.depth -= 1
        self.emit(tail)

    # Expressions.
    def uint(self, d=0):
        r = self.rng
        options = ["var", "var", "const", "in"]
        if d < 3:
            options += ["bin"] * 5 + ["cmp", "shift", "div", "cond", "call",
                                      "float", "table", "math"]
            if self.visible("arr"):
                options += ["arr"] * 2
            if self.visible("pair"):
                options += ["pair"] * 2
            if self.visible("vec"):
                options += ["vec"]
            if self.has("wide"):
                options += ["wide"]
            if self.has("half"):
                options += ["half"]
        kind = r.choice(options)
        u = lambda: self.uint(d + 1)
        if kind == "var":
            return r.choice(self.visible("u"))
        if kind == "const":
            return f"{r.choice([0, 1, 2, 3, 7, 31, 255, 0x80000000, 0xffffffff, r.getrandbits(32)])}u"
        if kind == "in":
            return f"in[({u() if d < 3 else 'gid'}) % {IN_WORDS}u]"
        if kind == "bin":
            return f"({u()} {r.choice(['+', '-', '*', '&', '|', '^'])} {u()})"
        if kind == "cmp":
            return f"static_cast<uint32_t>({self.boolean(d + 1)})"
        if kind == "shift":
            if r.random() < 0.3:
                return (f"static_cast<uint32_t>(static_cast<int32_t>({u()}) >> "
                        f"({u()} & 31u))")
            return f"({u()} {r.choice(['<<', '>>'])} ({u()} & 31u))"
        if kind == "div":
            if r.random() < 0.3:
                return (f"static_cast<uint32_t>(static_cast<int32_t>({u()} >> 1) "
                        f"{r.choice(['/', '%'])} (static_cast<int32_t>({u()} & "
                        f"0xffu) - 300))")
            return f"({u()} {r.choice(['/', '%'])} ({u()} | 1u))"
        if kind == "cond":
            return f"({self.boolean(d + 1)} ? {u()} : {u()})"
        if kind == "call":
            name = r.choice(["mix", "pick", "min", "max", "clamp", "rot"])
            if name == "mix":
                return f"mix({u()}, {u()})"
            if name == "pick":
                return f"pick<uint32_t>({self.boolean(d + 1)}, {u()}, {u()})"
            if name == "clamp":
                return f"std::clamp<uint32_t>({u()}, 3u, 900u)"
            if name == "rot":
                x = u()
                return f"(({x} << 7) | ({x} >> 25))"
            return f"std::{name}<uint32_t>({u()}, {u()})"
        if kind == "float":
            return f"toWord({self.real(d + 1)})"
        if kind == "table":
            return f"table[{u()} & 15u]"
        if kind == "math":
            name = r.choice(["popcount", "clz", "mul_hi"])
            if name == "mul_hi":
                return f"mul_hi({u()}, {u()})"
            return f"static_cast<uint32_t>({name}({u()}))"
        if kind == "arr":
            return f"{r.choice(self.visible('arr'))}[{u()} & 3u]"
        if kind == "pair":
            p = r.choice(self.visible("pair"))
            return r.choice([f"{p}.a", f"{p}.b", f"{p}.sum()",
                             f"({p} + Pair({u()}, {u()})).b"])
        if kind == "vec":
            return f"toWord({r.choice(self.visible('vec'))}[{r.randrange(4)}])"
        if kind == "wide":
            self.used.add("wide")
            return r.choice([
                f"static_cast<uint32_t>((static_cast<uint64_t>({u()}) * {u()}) >> 17)",
                f"static_cast<uint32_t>(static_cast<int64_t>(static_cast<int32_t>({u()})) >> 5)",
                f"static_cast<uint32_t>(static_cast<uint8_t>({u()} + {u()}))",
                f"static_cast<uint32_t>(static_cast<int16_t>({u()}))",
                f"static_cast<uint32_t>(static_cast<int8_t>({u()}))",
            ])
        if kind == "half":
            self.used.add("half")
            return (f"bitsOf(static_cast<float>(static_cast<poot::f16>("
                    f"toFloat({u()})) {r.choice(['+', '-', '*'])} "
                    f"static_cast<poot::f16>(toFloat({u()} & 0xffu))))")
        raise AssertionError(kind)

    def boolean(self, d=0):
        r = self.rng
        options = ["cmp", "cmp", "fcmp"]
        if d < 3:
            options += ["and", "or", "not"]
        if self.visible("b"):
            options.append("var")
        kind = r.choice(options)
        if kind == "cmp":
            op = r.choice(["<", "<=", ">", ">=", "==", "!="])
            if r.random() < 0.3:
                return (f"(static_cast<int32_t>({self.uint(d + 1)}) {op} "
                        f"static_cast<int32_t>({self.uint(d + 1)}))")
            return f"({self.uint(d + 1)} {op} {self.uint(d + 1)})"
        if kind == "fcmp":
            op = r.choice(["<", "<=", ">", ">=", "==", "!="])
            return f"({self.real(d + 1)} {op} {self.real(d + 1)})"
        if kind == "and":
            return f"({self.boolean(d + 1)} && {self.boolean(d + 1)})"
        if kind == "or":
            return f"({self.boolean(d + 1)} || {self.boolean(d + 1)})"
        if kind == "not":
            return f"!{self.boolean(d + 1)}"
        return r.choice(self.visible("b"))

    def real(self, d=0):
        r = self.rng
        options = ["const", "from"]
        if self.visible("f"):
            options += ["var"] * 3
        if d < 3:
            options += ["bin"] * 3 + ["minmax", "cond", "math", "div"]
            if self.visible("point"):
                options += ["point"] * 2
            if self.visible("vec"):
                options += ["vec"] * 2
        kind = r.choice(options)
        f = lambda: self.real(d + 1)
        if kind == "const":
            return f"{r.randrange(-4096, 4096) / 64.0}f"
        if kind == "from":
            return f"toFloat({self.uint(d + 1)})"
        if kind == "var":
            return r.choice(self.visible("f"))
        if kind == "bin":
            return f"tame({f()} {r.choice(['+', '-', '*'])} {f()})"
        if kind == "minmax":
            return f"std::{r.choice(['min', 'max'])}({f()}, {f()})"
        if kind == "cond":
            return f"({self.boolean(d + 1)} ? {f()} : {f()})"
        if kind == "math":
            return r.choice([f"std::abs({f()})", f"std::floor({f()})",
                             f"std::trunc({f()})", f"std::ceil({f()})"])
        if kind == "div":  # exact; other quotients may be off by 2.5 ulp
            return f"tame({f()} / {r.choice(['2.0f', '8.0f', '-64.0f'])})"
        if kind == "point":
            p = r.choice(self.visible("point"))
            return r.choice([f"{p}.x", f"{p}.y", f"{p}.moved({f()}).x"])
        return f"tame({r.choice(self.visible('vec'))}[{r.randrange(4)}])"

    # Statements.
    def assign(self):
        r = self.rng
        kind = r.choice(["u", "u", "u", "f", "pair", "arr", "vec", "point",
                         "b", "ref"])
        if kind == "u":
            names = [v for v in self.visible("u") if v not in self.readonly]
            if names:
                op = r.choice(["=", "+=", "-=", "^=", "*=", "|=", "&="])
                return self.emit(f"{r.choice(names)} {op} {self.uint()};")
        if kind == "f" and self.visible("f"):
            return self.emit(f"{r.choice(self.visible('f'))} = "
                             f"tame({self.real()});")
        if kind == "b" and self.visible("b"):
            return self.emit(f"{r.choice(self.visible('b'))} = "
                             f"{self.boolean()};")
        if kind == "pair" and self.visible("pair"):
            p = r.choice(self.visible("pair"))
            return self.emit(r.choice([
                f"{p}.turn();", f"{p}.a = {self.uint()};",
                f"{p} = {p} + Pair({self.uint()}, {self.uint()});",
                f"{p} = pick({self.boolean()}, {p}, Pair());"]))
        if kind == "arr" and self.visible("arr"):
            a = r.choice(self.visible("arr"))
            return self.emit(r.choice([
                f"{a}[{self.uint()} & 3u] = {self.uint()};",
                f"{a}[{r.randrange(4)}] += {self.uint()};",
                f"std::swap({a}[{self.uint()} & 3u], {a}[1]);"]))
        if kind == "vec" and self.visible("vec"):
            v = r.choice(self.visible("vec"))
            return self.emit(r.choice([
                f"{v} = {v}.yzwx;", f"{v}[{r.randrange(4)}] = {self.real()};",
                f"{v} = {v} + {self.real()};",
                f"{v} = {v} * 0.5f; {v}.x = tame({v}.x); {v}.y = tame({v}.y);"
                f" {v}.z = tame({v}.z); {v}.w = tame({v}.w);"]))
        if kind == "point" and self.visible("point"):
            p = r.choice(self.visible("point"))
            return self.emit(r.choice([
                f"{p} = {p}.moved({self.real()});",
                f"{p}.y = {self.real()};", f"{p}.tag += 1;"]))
        if kind == "ref" and self.visible("arr"):
            name = self.fresh("ref")
            self.emit(f"uint32_t &{name} = {r.choice(self.visible('arr'))}"
                      f"[{self.uint()} & 3u];")
            return self.emit(f"{name} ^= {self.uint()};")
        self.local()

    def local(self):
        r = self.rng
        kind = r.choice(["u", "u", "f", "f", "pair", "arr", "vec", "point", "b",
                         "bind", "lambda"])
        if kind == "u":
            name, value = self.fresh("u"), self.uint()
            self.emit(f"uint32_t {name} = {value};")
            self.declare("u", name)
        elif kind == "f":
            name, value = self.fresh("f"), self.real()
            self.emit(f"float {name} = tame({value});")
            self.declare("f", name)
        elif kind == "b":
            name, value = self.fresh("b"), self.boolean()
            self.emit(f"bool {name} = {value};")
            self.declare("b", name)
        elif kind == "pair":
            name, value = self.fresh("p"), f"({self.uint()}, {self.uint()})"
            self.emit(f"Pair {name}{r.choice(['', value])};")
            self.declare("pair", name)
        elif kind == "arr":
            name = self.fresh("a")
            values = ", ".join(self.uint(2) for _ in range(4))
            form = r.choice(["uint32_t {0}[4] = {{{1}}};",
                             "std::array<uint32_t, 4> {0} = {{{1}}};"])
            self.emit(form.format(name, values))
            self.declare("arr", name)
        elif kind == "vec":
            name = self.fresh("v")
            values = ", ".join(self.real(2) for _ in range(4))
            self.emit(f"vec<float, 4> {name} = {{{values}}};")
            self.declare("vec", name)
        elif kind == "point":
            name, value = self.fresh("q"), self.real(1)
            self.emit(f"Point {name};")
            self.emit(f"{name}.x = {value};")
            self.declare("point", name)
        elif kind == "bind":
            a, b = self.fresh("u"), self.fresh("u")
            self.emit(f"auto [{a}, {b}] = Pair({self.uint()}, {self.uint()});")
            self.declare("u", a)
            self.declare("u", b)
            self.readonly |= {a, b}
        else:
            name = self.fresh("fn")
            result = self.fresh("u")
            value = self.uint(1)
            capture = r.choice(["&", "="])
            self.emit(f"auto {name} = [{capture}](uint32_t x) {{ "
                      f"if (x > 9u) return x ^ {value}; return x + {self.uint(2)}; }};")
            self.emit(f"uint32_t {result} = {name}({self.uint(1)}) - "
                      f"{name}({self.uint(2)});")
            self.declare("u", result)

    def statements(self, count):
        for _ in range(count):
            self.statement()

    def diverge(self, body):
        """Runs BODY where not all work-items may be."""
        saved, self.uniform = self.uniform, False
        body()
        self.uniform = saved

    def statement(self):
        r = self.rng
        options = ["assign"] * 4 + ["local"] * 3
        if self.depth < 6:
            options += ["if", "if", "for", "while", "switch", "forever", "do",
                        "range"]
        if self.loop_depth:
            options += ["leave"]
        if not self.uniform and self.depth > 2 and self.may_return:
            options += ["return"]
        if self.uniform and self.shared and self.loop_depth == 0:
            options += ["exchange"] * 2
        if self.uniform and self.has("subgroup") and self.loop_depth == 0:
            options += ["subgroup"] * 2
        options += ["atomic"]
        getattr(self, "do_" + r.choice(options))()

    def do_assign(self):
        self.assign()

    def do_local(self):
        self.local()

    def do_if(self):
        condition = self.boolean()
        def body():
            self.block(f"if ({condition}) {{",
                       lambda: self.statements(self.rng.randrange(1, 4)),
                       "} else {" if other else "}")
            if other:
                self.depth += 1
                self.scopes.append({})
                self.statements(self.rng.randrange(1, 3))
                self.scopes.pop()
                self.depth -= 1
                self.emit("}")
        other = self.rng.random() < 0.5
        self.diverge(body)

    def loop(self, head, prefix=None, tail="}"):
        def body():
            self.loop_depth += 1
            saved, self.switch_depth = self.switch_depth, 0
            def inner():
                self.emit("if (fuel == 0u)")
                self.emit("  break;")
                self.emit("--fuel;")
                if prefix:
                    prefix()
                self.statements(self.rng.randrange(1, 4))
            self.block(head, inner, tail)
            self.switch_depth = saved
            self.loop_depth -= 1
        self.diverge(body)

    def do_for(self):
        name = self.fresh("i")
        bound = self.rng.choice([f"{self.rng.randrange(1, 7)}u",
                                 f"({self.uint(2)} & 7u)"])
        hint = self.rng.choice([None, None, "#pragma unroll",
                                "#pragma unroll 2", "#pragma nounroll"])
        if hint and bound.endswith("u"):
            self.lines.append(hint)
        self.readonly.add(name)
        self.loop(f"for (uint32_t {name} = 0; {name} < {bound}; ++{name}) {{",
                  lambda: self.declare("u", name))

    def do_while(self):
        self.loop(f"while ({self.boolean()}) {{")

    def do_do(self):
        self.loop("do {", None, f"}} while ({self.boolean()});")

    def do_forever(self):
        def exits():
            for _ in range(self.rng.randrange(1, 3)):
                self.emit(f"if ({self.boolean()})")
                self.emit("  break;")
        self.loop(self.rng.choice(["while (true) {", "for (;;) {"]), exits)

    def do_range(self):
        arrays = self.visible("arr")
        if not arrays:
            return self.local()
        name = self.fresh("e")
        self.readonly.add(name)
        self.loop(f"for (uint32_t {name} : {self.rng.choice(arrays)}) {{",
                  lambda: self.declare("u", name))

    def do_switch(self):
        r = self.rng
        def body():
            self.switch_depth += 1
            self.emit(f"switch ({self.uint(1)} % 5u) {{")
            for case in r.sample(range(5), r.randrange(2, 5)):
                label = f"case {case}: {{"
                self.block(label,
                           lambda: self.statements(r.randrange(1, 3)),
                           r.choice(["} break;", "} break;", "}\n  [[fallthrough]];"]))
            self.block("default: {", lambda: self.statements(1))
            self.emit("}")
            self.switch_depth -= 1
        self.diverge(body)

    def do_leave(self):
        word = "continue" if self.switch_depth else self.rng.choice(
            ["break", "continue"])
        self.emit(f"if ({self.boolean()})")
        self.emit(f"  {word};")

    def do_return(self):
        self.emit(f"if ({self.boolean()}) {{")
        self.emit(f"  out[gid * {OUT_WORDS}u + 7u] = {self.uint(1)};")
        self.emit("  return;")
        self.emit("}")

    def do_exchange(self):
        """Own element, barrier, another one's element, barrier."""
        r = self.rng
        kind, array = r.choice(self.shared)
        name = self.fresh("u" if kind == "u" else "f")
        value = self.uint(1) if kind == "u" else f"tame({self.real(1)})"
        self.emit(f"{array}[lid] = {value};")
        self.emit("barrier();")
        at = r.choice([f"(lid + {r.randrange(1, WORKGROUP)}u) % {WORKGROUP}u",
                       f"{self.uint(1)} % {WORKGROUP}u", f"{WORKGROUP - 1}u - lid"])
        kind_name = "uint32_t" if kind == "u" else "float"
        self.emit(f"{kind_name} {name} = {array}[{at}];")
        self.emit("barrier();")
        self.declare(kind, name)

    def do_subgroup(self):
        r = self.rng
        self.used.add("subgroup")
        name = self.fresh("u")
        value = self.uint(1)
        self.emit(f"uint32_t {name} = " + r.choice([
            f"subgroup_add({value});", f"subgroup_min({value});",
            f"subgroup_max({value});", f"subgroup_inclusive_add({value});",
            f"subgroup_exclusive_add({value});",
            f"subgroup_shuffle_xor({value}, {r.choice([1, 2, 3])}u);",
            f"subgroup_shuffle({value}, (lane_id() + 1u) % 4u);",
            f"subgroup_broadcast({value}, {r.randrange(4)}u);",
            f"static_cast<uint32_t>(subgroup_any({self.boolean(1)}));",
            f"static_cast<uint32_t>(subgroup_all({self.boolean(1)}));"]))
        self.declare("u", name)

    def do_atomic(self):
        # One kind of operation a word, so that they commute.
        kind = self.rng.randrange(5)
        name = ["atomic_add", "atomic_min", "atomic_max", "atomic_bit_xor",
                "atomic_bit_or"][kind]
        self.emit(f"{name}(out[{ITEMS * OUT_WORDS + kind}], "
                  f"static_cast<uint32_t>({self.uint(1)}));")

    def text(self):
        r = self.rng
        # A lane that has left is one that others can't read.
        self.may_return = (r.random() < 0.5 and
                           not self.has("subgroup"))
        body_kind = r.choice(["plain", "plain", "shared"])
        self.emit("const uint32_t gid = global_id(), lid = local_id();")
        self.emit(f"uint32_t fuel = {r.randrange(20, 60)}u;")
        if body_kind == "shared":
            self.shared = []
            for kind, type_name in (("u", "uint32_t"), ("f", "float")):
                name = self.fresh("shared")
                self.emit(f"workgroup<{type_name}, {WORKGROUP}> {name};")
                self.shared.append((kind, name))
            # Nobody may leave before the last barrier.
            self.may_return = False
        for kind in ("u", "f"):
            name = self.fresh(kind)
            self.emit(f"uint32_t {name} = in[gid % {IN_WORDS}u];" if kind == "u"
                      else f"float {name} = toFloat(in[(gid + 5u) % {IN_WORDS}u]);")
            self.declare(kind, name)
        self.statements(r.randrange(5, 12))
        for i in range(7):
            value = (self.uint(1) if i % 2 == 0 else f"toWord({self.real(1)})")
            self.emit(f"out[gid * {OUT_WORDS}u + {i}u] = {value};")
        self.emit(f"out[gid * {OUT_WORDS}u + 7u] = fuel;")
        head = (f"POOT_KERNEL POOT_WORKGROUP_SIZE({WORKGROUP}, 1, 1)\n"
                f"void {self.name}(buffer<const uint32_t> in, "
                f"buffer<uint32_t> out, uint32_t n) {{")
        return "\n".join([head] + self.lines + ["}"])


MAIN = """
#ifndef POOT_IMPORT
#include "poot/host.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

/// Launches every kernel and writes its output, one after the other.
///   kernels SUBGROUP_SIZE OUTPUT
int main(int argc, char **argv) {{
  if (argc != 3)
    return 2;
  poot::host::options options;
  options.subgroup_size = static_cast<uint32_t>(std::atoi(argv[1]));
  std::FILE *file = std::fopen(argv[2], "wb");
  if (!file)
    return 2;
  std::vector<uint32_t> in = {{{inputs}}};
  auto run = [&](const char *name, auto kernel) {{
    std::vector<uint32_t> out({out_words}u, 0);
    poot::host::result result = poot::host::launch(
        {{{groups}, 1, 1}}, {{{workgroup}, 1, 1}},
        [&] {{
          kernel(poot::buffer<const uint32_t>(in.data(), in.size()),
                 poot::buffer<uint32_t>(out.data(), out.size()), {n}u);
        }},
        options);
    if (!result) {{
      std::fprintf(stderr, "%s: %s\\n", name, result.error.c_str());
      std::exit(1);
    }}
    std::fwrite(out.data(), 4, out.size(), file);
  }};
{runs}
  return std::fclose(file) == 0 ? 0 : 1;
}}
#endif
"""


def generate(seed, count, features):
    rng = random.Random(seed)
    parts = [PRELUDE.format(seed=seed, table=", ".join(
        f"{rng.getrandbits(32)}u" for _ in range(16)))]
    inputs = [rng.getrandbits(32) for _ in range(IN_WORDS)]
    kernels = []
    for i in range(count):
        # A seed of its own, so that a kernel doesn't depend on how many
        # others stand before it.
        kernel_rng = random.Random(seed * 1000003 + i)
        chosen = [f for f in features if kernel_rng.random() < 0.4]
        kernel = Kernel(kernel_rng, f"k{i}", chosen)
        parts.append(kernel.text())
        kernels.append({"name": kernel.name, "features": sorted(kernel.used)})
    runs = "\n".join(f'  run("{k["name"]}", {k["name"]});' for k in kernels)
    out_words = ITEMS * OUT_WORDS + SHARED_OUT
    parts.append(MAIN.format(inputs=", ".join(f"{v}u" for v in inputs),
                             out_words=out_words, groups=GROUPS,
                             workgroup=WORKGROUP, n=IN_WORDS, runs=runs))
    manifest = {"seed": seed, "workgroup_size": WORKGROUP, "grid": GROUPS,
                "in": inputs, "out_words": out_words, "metadata": [IN_WORDS],
                "kernels": kernels}
    return "\n\n".join(parts) + "\n", manifest


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=25)
    parser.add_argument("--features", default="half,wide,subgroup",
                        help="comma-separated; empty for none")
    parser.add_argument("-o", dest="output", required=True)
    parser.add_argument("--manifest")
    args = parser.parse_args()
    features = [f for f in args.features.split(",") if f]
    text, manifest = generate(args.seed, args.count, features)
    with open(args.output, "w") as file:
        file.write(text)
    if args.manifest:
        with open(args.manifest, "w") as file:
            json.dump(manifest, file, indent=1)


if __name__ == "__main__":
    main()
