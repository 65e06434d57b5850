#!/usr/bin/env python3
"""Random patterns before and after the passes that find composites.

    random_rewrites.py --bin build/bin --seed 1 --count 400

Each function is a softmax, norm, rotation, product with stored weights or
attention, written in primitives with operands, masks, casts and unit dimensions
as they come; half of them have one thing changed, so that they mean something
else. Many extents are equal, so that a dimension taken for another shows in
numbers and not in types. Whatever the passes make of it, the oracle must compute
what it computed before; and of the unchanged ones every kind must be recognized.
"""

import argparse
import collections
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import cases  # noqa: E402

TOLERANCE = {"f32": 2e-5, "f16": 4e-3, "bf16": 3e-2}
FOUND = {"softmax": "graph.softmax", "norm": "_norm ", "rope": "graph.rope",
         "product": "graph.packed_contraction", "attention": "graph.attention"}


class Pattern:
    """Writes one function. `twist` is whether something is changed, at the
    first place that asks for it."""

    def __init__(self, number, rng, twist):
        self.rng, self.twist, self.twisted = rng, twist, False
        self.kind = rng.choice(list(FOUND))
        self.name = f"{self.kind}_{number}"
        self.lines, self.arguments, self.inputs = [], [], {}
        self.results, self.symbols, self.consts = [], [], {}
        self.random = np.random.default_rng(number)

    def change(self, chance=0.4):
        """Whether to change something here."""
        if self.twist and not self.twisted and self.rng.random() < chance:
            self.twisted = True
            return True
        return False

    def coin(self):
        return self.rng.random() < 0.5

    # Values are (name, shape, kind).

    def type(self, value):
        return cases.tensor(value[1], value[2])

    def emit(self, text, shape, kind):
        value = (f"%{len(self.lines)}", tuple(shape), kind)
        self.lines.append(f"  {value[0]} = graph.{text}")
        return value

    def slot(self, shape, kind, array=None):
        name = f"x{len(self.inputs)}"
        if array is None:
            array = self.random.uniform(-2, 2, shape)
            array = cases.round_to(array, kind)
        self.inputs[name] = array.astype(cases.NUMPY[kind])
        value = (f"%{name}", tuple(shape), kind)
        self.arguments.append(f'%{name}: {self.type(value)} '
                              f'{{graph.name = "{name}"}}')
        return value

    def output(self, value):
        self.results.append(value)

    def cast(self, value, kind):
        if value[2] == kind:
            return value
        return self.emit(f"cast {value[0]} : {self.type(value)} -> "
                         f"{cases.tensor(value[1], kind)}", value[1], kind)

    def unary(self, name, value):
        return self.emit(f"unary {name} {value[0]} : {self.type(value)}",
                         *value[1:])

    def binary(self, name, a, b, commutes=False):
        if commutes and self.coin():
            a, b = b, a
        return self.emit(f"binary {name} {a[0]}, {b[0]} : {self.type(a)}",
                         *a[1:])

    def splat(self, number, shape, kind="f32"):
        return self.emit(f"constant dense<{number}> : "
                         f"{cases.tensor(shape, kind)}", shape, kind)

    def broadcast(self, value, dims, shape):
        return self.emit(f"broadcast {value[0]} dims {list(dims)} : "
                         f"{self.type(value)} -> "
                         f"{cases.tensor(shape, value[2])}", shape, value[2])

    def reshape(self, value, shape):
        if value[1] == tuple(shape):
            return value
        return self.emit(f"reshape {value[0]} : {self.type(value)} -> "
                         f"{cases.tensor(shape, value[2])}", shape, value[2])

    def transpose(self, value, order):
        shape = [value[1][i] for i in order]
        return self.emit(f"transpose {value[0]} {list(order)} : "
                         f"{self.type(value)} -> "
                         f"{cases.tensor(shape, value[2])}", shape, value[2])

    def slice(self, value, dim, begin, extent):
        offsets = [begin if i == dim else 0 for i in range(len(value[1]))]
        shape = [extent if i == dim else e for i, e in enumerate(value[1])]
        return self.emit(f"slice {value[0]} offsets {offsets} strides "
                         f"{[1] * len(shape)} : {self.type(value)} -> "
                         f"{cases.tensor(shape, value[2])}", shape, value[2])

    def concat(self, a, b, dim):
        shape = list(a[1])
        shape[dim] += b[1][dim]
        return self.emit(f"concat {a[0]}, {b[0]} dim {dim} : {self.type(a)}, "
                         f"{self.type(b)} -> {cases.tensor(shape, a[2])}",
                         shape, a[2])

    def matmul(self, a, b, kind):
        shape = a[1][:-1] + b[1][-1:]
        return self.emit(f"matmul {a[0]}, {b[0]} : {self.type(a)}, "
                         f"{self.type(b)} -> {cases.tensor(shape, kind)}",
                         shape, kind)

    def gather(self, data, indices):
        shape = indices[1] + data[1][1:]
        return self.emit(f"gather {data[0]}, {indices[0]} dim 0 : "
                         f"{self.type(data)}, {self.type(indices)} -> "
                         f"{cases.tensor(shape, data[2])}", shape, data[2])

    def rows(self, kind, value, finish=lambda rows: rows):
        """A reduction over rows, and FINISH of it, repeated."""
        shape = value[1]
        last = len(shape) - 1
        dim = last
        if last > 0 and shape[last] == shape[last - 1] and self.change(0.3):
            dim = last - 1
        rows = shape[:dim] + shape[dim + 1:]
        reduced = self.emit(f"reduce {kind} {value[0]} dims [{dim}] : "
                            f"{self.type(value)} -> "
                            f"{cases.tensor(rows, value[2])}", rows, value[2])
        if self.change(0.1):
            self.output(reduced)
        if self.coin():
            reduced = finish(reduced)
            finish = lambda rows: rows
        if self.coin():
            reduced = finish(self.reshape(reduced, rows + (1,)))
            return self.broadcast(reduced, range(last + 1), shape)
        reduced = finish(reduced)
        dims = list(range(last))
        if last > 0 and shape[last] == shape[last - 1] and self.change(0.3):
            dims[-1] = last
        return self.broadcast(reduced, dims, shape)

    def shape(self, least=1, most=4):
        square = self.rng.choice([2, 4, 6])
        return tuple(self.rng.choice([1, 2, 3, square, square])
                     for _ in range(self.rng.randint(least, most) - 1)
                     ) + (self.rng.choice([square, 8]),)

    def softmax(self, x=None):
        if x is None:
            kind = self.rng.choice(["f32", "f16", "bf16"])
            x = self.slot(self.shape(), kind)
        wide = self.cast(x, "f32")
        other = self.unary("neg", wide) if self.change(0.1) else wide
        shifted = self.binary("sub", wide, self.rows("max", other))
        powers = self.unary("exp2" if self.change(0.1) else "exp", shifted)
        y = self.binary("div", powers, self.rows("sum", powers))
        if self.change(0.1):
            self.output(powers)
        return self.cast(y, x[2]) if self.coin() else y

    def mean(self, x):
        count = x[1][-1] * (2 if self.change(0.1) else 1)
        def finish(rows):
            if self.coin():
                return self.binary("mul", rows, self.splat(
                    f"{np.float32(1 / count):.9e}", rows[1]), True)
            return self.binary("div", rows,
                               self.splat(f"{float(count):e}", rows[1]))
        return finish

    def norm(self):
        kind = self.rng.choice(["f32", "f16", "bf16"])
        x = self.slot(self.shape(), kind)
        wide = self.cast(x, "f32")
        if self.coin():
            wide = self.binary("sub", wide,
                               self.rows("sum", wide, self.mean(wide)))
        square = self.binary("mul", wide,
                             self.unary("abs", wide) if self.change(0.1)
                             else wide)
        def root(rows):
            rows = self.mean(wide)(rows)
            rows = self.binary("add", rows, self.splat("1.0e-5", rows[1]), True)
            return self.unary("rsqrt", rows)
        y = self.binary("mul", wide, self.rows("sum", square, root), True)
        if self.change(0.1):
            self.output(y)
        for name in ("mul", "add"):
            if self.coin():
                length = y[1][-1]
                dims = [len(y[1]) - 1]
                if len(y[1]) > 1 and y[1][-2] == length and self.change(0.3):
                    dims = [len(y[1]) - 2]
                part = self.cast(self.slot((length,),
                                           self.rng.choice(["f32", "f16"])),
                                 "f32")
                y = self.binary(name, y, self.broadcast(part, dims, y[1]), True)
        return self.cast(y, kind) if self.coin() else y

    def rope(self):
        kind = self.rng.choice(["f32", "f16", "bf16"])
        rotated = self.rng.choice([2, 4, 6])
        heads = self.rng.choice([1, 2, rotated])
        outer = tuple(self.rng.choice([1, 2, rotated, heads])
                      for _ in range(self.rng.randint(0, 2)))
        rest = self.rng.choice([0, 0, 2])
        shape = outer + (heads, rotated)
        last = len(shape) - 1
        x = self.slot(outer + (heads, rotated + rest), kind)
        begin = 1 if rest and self.change(0.2) else 0
        part = self.slice(x, last, begin, rotated) if rest else x
        part = self.cast(part, "f32")
        if self.coin():
            first = 0 if self.change(0.2) else rotated // 2
            halves = [self.slice(part, last, first, rotated // 2),
                      self.slice(part, last, 0, rotated // 2)]
            if self.change(0.2):
                halves.reverse()
            swapped = self.concat(*halves, last)
        else:
            pairs = self.reshape(part, outer + (heads, rotated // 2, 2))
            both = [self.slice(pairs, last + 1, i, 1) for i in (1, 0)]
            if self.change(0.2):
                both.reverse()
            swapped = self.reshape(self.concat(*both, last + 1), shape)
        def angles():
            value = self.slot(outer + (rotated,), "f32")
            dims = list(range(last - 1)) + [last]
            if heads == rotated and self.change(0.3):
                dims[-1] = last - 1
            return self.broadcast(value, dims, shape)
        a = self.binary("mul", part, angles(), True)
        b = self.binary("mul", swapped, angles(), True)
        if self.change(0.1):
            self.output(a)
        y = self.binary("sub" if self.change(0.1) else "add", a, b, True)
        y = self.cast(y, kind)
        if not rest:
            return y
        return self.concat(y, self.slice(x, last, rotated, rest), last)

    def const(self, shape, kind):
        name = f"{self.name}.w{len(self.consts)}"
        self.consts[name] = f"random:{self.rng.randint(1, 99)}"
        type = cases.tensor(shape, kind)
        self.symbols.append(f"graph.const @{name} : {type}")
        return self.emit(f"get @{name} : {type}", shape, kind)

    def product(self):
        n, k = self.rng.choice([(4, 4), (3, 5), (1, 4), (6, 2)])
        w = self.cast(self.const((n, k), self.rng.choice(["f16", "bf16"])),
                      "f32")
        if self.change(0.1):
            self.output(self.unary("neg", w))
        y = None
        for _ in range(self.rng.randint(1, 2)):
            rows, begin = w, 0
            if n > 1 and self.rng.random() < 0.3:
                rows = self.slice(w, 0, 1, n - 1)
            turned = rows if n == k and rows is w and self.change(
                0.3) else self.transpose(rows, [1, 0])
            batch = tuple(self.rng.choice([1, 2])
                          for _ in range(self.rng.randint(0, 2)))
            if batch:
                rank = len(batch)
                turned = self.broadcast(turned, [rank, rank + 1],
                                        batch + turned[1])
            x = self.slot(batch + (self.rng.choice([1, 3]), k), "f32")
            y = self.matmul(x, turned, "f32")
            self.output(y)
        if self.coin():
            self.output(self.gather(w, self.slot(
                (2,), "i32", self.random.integers(0, n, 2))))
        self.results.remove(y)
        return y

    def attention(self):
        kind, cache = self.rng.choice(
            [("f32", "f32"), ("f32", "f16"), ("f16", "f16"), ("f16", "f32")])
        rows = self.rng.choice([1, 2])
        kv_heads, group = self.rng.choice([(1, 1), (2, 1), (2, 2), (1, 3)])
        tokens = self.rng.choice([1, 4])
        capacity = self.rng.choice([4, 5])
        width = self.rng.choice([4, 5])
        grouped = group > 1 or self.coin()
        batch = (rows, kv_heads, group) if grouped else (rows, kv_heads)
        scores_shape = batch + (tokens, capacity)
        last = len(scores_shape) - 1
        paged = self.coin()
        slots = None
        if paged:
            slots = self.slot((rows, capacity), "i32", self.random.integers(
                0, 9, (rows, capacity)))

        def read(order, extents):
            state = self.slot((9 if paged else rows * capacity, kv_heads,
                               width), cache)
            view = (self.gather(state, slots) if paged else
                    self.reshape(state, (rows, capacity, kv_heads, width)))
            if self.coin():
                view = self.cast(view, kind)
            if capacity == width and self.change(0.2):
                order = order[:2] + [order[3], order[2]]
            view = self.transpose(view, order)
            view = self.cast(view, kind)
            if grouped:
                view = self.broadcast(view, [0, 1, 3, 4], batch + extents)
            return view

        query = self.slot(batch + (tokens, width), kind)
        scores = self.matmul(query, read([0, 2, 3, 1], (width, capacity)),
                             "f32")
        if self.change(0.1):
            self.output(scores)
        if self.coin():
            scores = self.binary("mul", scores,
                                 self.splat("0.5", scores_shape), True)
        elif self.coin():
            scores = self.binary("div", scores,
                                 self.splat("3.0", scores_shape))

        positions = self.slot((rows, tokens), "i32", self.random.integers(
            -1, capacity + 1, (rows, tokens)))
        own = positions if self.change(0.2) else self.binary(
            "max", positions, self.splat("0", (rows, tokens), "i32"), True)
        bias = self.coin()
        mask = (rows, tokens, capacity) if bias else scores_shape
        row, token, position = (0, 1, 2) if bias else (0, last - 1, last)
        along = token if tokens == capacity and self.change(0.2) else position
        key = self.emit(f"iota dim 0 : {cases.tensor((capacity,), 'i32')}",
                        (capacity,), "i32")
        key = self.broadcast(key, [along], mask)
        own = self.broadcast(own, [row, token], mask)
        predicate, inverted = self.rng.choice([("le", False), ("gt", True)])
        if self.change(0.2):
            predicate = {"le": "lt", "gt": "ge"}[predicate]
        a, b = key, own
        if self.coin():
            a, b = own, key
            predicate = {"le": "ge", "gt": "lt", "lt": "gt", "ge": "le"}[
                predicate]
        condition = self.emit(f"compare {predicate} {a[0]}, {b[0]} : "
                              f"{self.type(a)}", mask, "i1")
        shown = self.splat("0.0", mask) if bias else scores
        hidden = self.splat("-20.0" if self.change(0.2) else "-1.0e30", mask)
        if inverted:
            shown, hidden = hidden, shown
        masked = self.emit(f"select {condition[0]}, {shown[0]}, {hidden[0]} : "
                           f"{cases.tensor(mask, 'f32')}", mask, "f32")
        if bias:
            masked = self.binary("add", scores, self.broadcast(
                masked, [0, last - 1, last], scores_shape), True)
        weights = self.cast(self.softmax(masked), kind)
        return self.matmul(weights, read([0, 2, 1, 3], (capacity, width)), kind)

    def build(self):
        y = getattr(self, self.kind)()
        self.output(y)
        self.outputs = [f"y{i}" for i in range(len(self.results))]
        types = ", ".join(f'{self.type(v)} {{graph.name = "y{i}"}}'
                          for i, v in enumerate(self.results))
        return "\n".join(
            self.symbols
            + [f"func.func @{self.name}({', '.join(self.arguments)}) -> "
               f"({types}) {{"] + self.lines
            + [f"  return {', '.join(v[0] for v in self.results)} : "
               f"{', '.join(map(self.type, self.results))}", "}"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--keep", type=pathlib.Path,
                        help="leave all files in this folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        return run(options, folder)


def run(options, folder):
    patterns = []
    for seed in range(options.seed, options.seed + options.count):
        rng = random.Random(seed)
        patterns.append(Pattern(seed, rng, twist=rng.random() < 0.5))
    text = "".join(pattern.build() for pattern in patterns)
    (folder / "before.mlir").write_text(text)
    result = subprocess.run(
        [options.bin / "poot-opt", folder / "before.mlir", "--graph-verify",
         "--poot-graph-composites", "--graph-verify", "-o",
         folder / "after.mlir"])
    if result.returncode != 0:
        return 1
    runs = {"before": [], "after": []}
    for pattern in patterns:
        inputs = {}
        for name, array in pattern.inputs.items():
            inputs[name] = f"{pattern.name}.{name}.npy"
            np.save(folder / inputs[name], array)
        for who, found in runs.items():
            found.append({"file": f"{who}.mlir", "function": pattern.name,
                          "inputs": inputs, "consts": pattern.consts,
                          "outputs": {y: f"{pattern.name}.{y}.{who}.npy"
                                      for y in pattern.outputs}})
    for who, found in runs.items():
        (folder / f"{who}.json").write_text(json.dumps({"runs": found}))
        subprocess.run([options.bin / "poot-eval",
                        f"--manifest={folder / who}.json"], check=True)

    after = {}
    for function in (folder / "after.mlir").read_text().split("func.func @")[1:]:
        after[function.split("(")[0]] = function
    failures = 0
    found, plain = collections.Counter(), collections.Counter()
    for pattern in patterns:
        if not pattern.twisted:
            plain[pattern.kind] += 1
            found[pattern.kind] += FOUND[pattern.kind] in after[pattern.name]
        for y, value in zip(pattern.outputs, pattern.results):
            a, b = (np.load(folder / f"{pattern.name}.{y}.{who}.npy")
                    .astype(np.float64) for who in ("before", "after"))
            tolerance = max(TOLERANCE[v[2]] for v in pattern.results) \
                if value[2] != "f32" else TOLERANCE["f32"]
            # Weights of f16 and bf16 round on the way.
            if any(f"x{kind}>" in line for kind in ("f16", "bf16")
                   for line in pattern.lines):
                tolerance = max(tolerance, TOLERANCE["f16"])
            if not np.allclose(a, b, rtol=tolerance, atol=tolerance,
                               equal_nan=True):
                failures += 1
                print(f"{pattern.name}: {y} differs by up to "
                      f"{np.nanmax(np.abs(a - b))}", file=sys.stderr)
    for kind, count in sorted(plain.items()):
        print(f"{kind}: {found[kind]} of {count} unchanged ones recognized")
        if found[kind] < count * 0.9:
            failures += 1
            print(f"{kind}: too few are recognized", file=sys.stderr)
    print(f"{len(patterns)} patterns, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
