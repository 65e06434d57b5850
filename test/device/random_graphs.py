#!/usr/bin/env python3
"""Random graphs on Vulkan drivers and the interpreter against the oracle.

    random_graphs.py --bin build/bin --seed 1 --count 60

Each graph chains ops through views (transpose, reshape, slice, broadcast,
concat), carries a state over three steps, and returns views, slots and equal
values as they come. All floats are small whole numbers, so sums are exact in any
order and every result must be equal, bit for bit. Fails when a graph doesn't
compile, run or agree; --seed and --count make a soak of it.
"""

import argparse
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import device_ops  # noqa: E402

STEPS = 3
# Whole numbers up to here are exact in f32.
EXACT = 2 ** 24


class Graph:
    """Writes one random entry function. A value is (name, kind, shape, bound):
    |f32| is at most bound."""

    def __init__(self, number, rng):
        self.name, self.rng = f"graph{number}", rng
        self.lines, self.values, self.count = [], [], 0
        self.arguments, self.inputs = [], {}

    def type(self, kind, shape):
        return f"tensor<{''.join(f'{extent}x' for extent in shape)}{kind}>"

    def of(self, value):
        return self.type(value[1], value[2])

    def emit(self, text, kind, shape, bound=0):
        name = f"%{self.count}"
        self.count += 1
        self.lines.append(f"  {name} = graph.{text}")
        value = (name, kind, tuple(shape), bound)
        self.values.append(value)
        return value

    def shape(self):
        return tuple(self.rng.choice([1, 2, 3, 4, 5, 8])
                     for _ in range(self.rng.randint(0, 4)))

    def array(self, kind, shape):
        numbers = [self.rng.randint(-9, 9) for _ in range(math.prod(shape))]
        return np.array(numbers, {"f32": np.float32, "i32": np.int32}[kind]
                        ).reshape(shape)

    def slot(self):
        name, kind = f"x{len(self.inputs)}", self.rng.choice(["f32", "i32"])
        shape = self.shape()
        self.inputs[name] = self.array(kind, shape)
        self.arguments.append(f'%{name}: {self.type(kind, shape)} '
                              f'{{graph.name = "{name}"}}')
        self.values.append((f"%{name}", kind, shape, 9))

    def constant(self, kind, shape):
        def nested(array):
            if array.ndim:
                return "[" + ", ".join(map(nested, array)) + "]"
            if kind == "i1":
                return "true" if array > 0 else "false"
            return f"{int(array)}" + (".0" if kind == "f32" else "")
        array = self.array("i32", shape)
        splat = self.rng.random() < 0.4
        body = nested(array.flat[0] if splat else array)
        return self.emit(f"constant dense<{body}> : {self.type(kind, shape)}",
                         kind, shape, 9)

    def pick(self, *kinds):
        found = [v for v in self.values if not kinds or v[1] in kinds]
        # Recent values more often, so that chains are long.
        return self.rng.choice(found[-6:] if self.rng.random() < 0.6 else found)

    def like(self, value):
        """Another value of the same type."""
        found = [v for v in self.values if v[1:3] == value[1:3]]
        if self.rng.random() < 0.6 and len(found) > 1:
            return self.rng.choice(found)
        if value[2] and self.rng.random() < 0.5:
            dims = sorted(self.rng.sample(range(len(value[2])),
                                          self.rng.randint(0, len(value[2]))))
            shape = tuple(self.rng.choice([1, value[2][d]]) for d in dims)
            return self.broadcast(self.constant(value[1], shape), dims,
                                  value[2])
        return self.constant(value[1], value[2])

    def broadcast(self, value, dims, shape):
        return self.emit(f"broadcast {value[0]} dims {list(dims)} : "
                         f"{self.of(value)} -> {self.type(value[1], shape)}",
                         value[1], shape, value[3])

    # One method an op; each may do nothing where it doesn't fit.

    def unary(self):
        v = self.pick("f32", "i32")
        kind = self.rng.choice(["neg", "abs", "sign"])
        self.emit(f"unary {kind} {v[0]} : {self.of(v)}", v[1], v[2], v[3])

    def binary(self):
        a = self.pick()
        b = self.like(a)
        kinds = {"i1": ["and", "or", "xor"],
                 "f32": ["add", "sub", "mul", "max", "min"],
                 "i32": ["add", "sub", "mul", "max", "min", "and", "xor"]}
        kind = self.rng.choice(kinds[a[1]])
        bound = {"add": a[3] + b[3], "sub": a[3] + b[3],
                 "mul": a[3] * b[3]}.get(kind, max(a[3], b[3]))
        if a[1] == "f32" and bound > EXACT:
            return
        self.emit(f"binary {kind} {a[0]}, {b[0]} : {self.of(a)}", a[1], a[2],
                  bound)

    def compare(self):
        a = self.pick()
        b = self.like(a)
        kind = self.rng.choice(["eq", "ne", "lt", "le", "gt", "ge"])
        self.emit(f"compare {kind} {a[0]}, {b[0]} : {self.of(a)}", "i1", a[2])

    def select(self):
        a = self.pick()
        b = self.like(a)
        c = self.like((None, "i1", a[2], 0))
        self.emit(f"select {c[0]}, {a[0]}, {b[0]} : {self.of(a)}", a[1], a[2],
                  max(a[3], b[3]))

    def cast(self):
        v = self.pick()
        kind = self.rng.choice(["f32", "i32", "i1"])
        if (v[1], kind) == ("i32", "f32"):
            return  # not exact beyond 2^24
        bound = 1 if v[1] == "i1" else v[3]
        self.emit(f"cast {v[0]} : {self.of(v)} -> {self.type(kind, v[2])}",
                  kind, v[2], bound)

    def transpose(self):
        v = self.pick()
        order = list(range(len(v[2])))
        self.rng.shuffle(order)
        shape = [v[2][d] for d in order]
        self.emit(f"transpose {v[0]} {order} : {self.of(v)} -> "
                  f"{self.type(v[1], shape)}", v[1], shape, v[3])

    def reshape(self):
        v = self.pick()
        # Split into prime factors, shuffle units in, and join at random.
        factors = []
        for extent in v[2]:
            for prime in (2, 3, 5):
                while extent % prime == 0:
                    factors.append(prime)
                    extent //= prime
            if extent > 1:
                factors.append(extent)
        shape = []
        for factor in factors:
            if shape and self.rng.random() < 0.5:
                shape[-1] *= factor
            else:
                shape.append(factor)
        while len(shape) < 5 and self.rng.random() < 0.3:
            shape.insert(self.rng.randint(0, len(shape)), 1)
        if len(shape) > 8:
            return
        self.emit(f"reshape {v[0]} : {self.of(v)} -> {self.type(v[1], shape)}",
                  v[1], shape, v[3])

    def slice(self):
        v = self.pick()
        offsets, strides, shape = [], [], []
        for extent in v[2]:
            offset = self.rng.randint(0, extent - 1)
            stride = self.rng.randint(1, 3)
            offsets.append(offset)
            strides.append(stride)
            shape.append(self.rng.randint(1, (extent - 1 - offset) // stride
                                          + 1))
        self.emit(f"slice {v[0]} offsets {offsets} strides {strides} : "
                  f"{self.of(v)} -> {self.type(v[1], shape)}", v[1], shape,
                  v[3])

    def widen(self):
        v = self.pick()
        rank = self.rng.randint(len(v[2]), min(len(v[2]) + 2, 6))
        dims = sorted(self.rng.sample(range(rank), len(v[2])))
        shape = [self.rng.choice([1, 2, 3]) for _ in range(rank)]
        for d, extent in zip(dims, v[2]):
            shape[d] = extent if extent > 1 else self.rng.choice([1, 3])
        if math.prod(shape) <= 4096:
            self.broadcast(v, dims, shape)

    def concat(self):
        v = self.pick()
        if not v[2]:
            return
        parts = [v] + [self.like(v) for _ in range(self.rng.randint(0, 2))]
        dim = self.rng.randrange(len(v[2]))
        shape = list(v[2])
        shape[dim] *= len(parts)
        if math.prod(shape) > 4096:
            return
        self.emit(f"concat {', '.join(p[0] for p in parts)} dim {dim} : "
                  f"{', '.join(self.of(p) for p in parts)} -> "
                  f"{self.type(v[1], shape)}", v[1], shape,
                  max(p[3] for p in parts))

    def indices(self, shape, limit, distinct=False):
        count = math.prod(shape)
        numbers = (self.rng.sample(range(limit), count) if distinct else
                   [self.rng.randrange(limit) for _ in range(count)])
        array = np.array(numbers).reshape(shape)
        text = np.array2string(array, separator=", ", threshold=10 ** 6)
        return self.emit(f"constant dense<{' '.join(text.split())}> : "
                         f"{self.type('i32', shape)}", "i32", shape, limit)

    def gather(self):
        v = self.pick()
        if not v[2]:
            return
        dim = self.rng.randrange(len(v[2]))
        where = tuple(self.rng.randint(1, 3)
                      for _ in range(self.rng.randint(0, 2)))
        i = self.indices(where, v[2][dim])
        shape = v[2][:dim] + where + v[2][dim + 1:]
        if len(shape) <= 8 and math.prod(shape) <= 4096:
            self.emit(f"gather {v[0]}, {i[0]} dim {dim} : {self.of(v)}, "
                      f"{self.of(i)} -> {self.type(v[1], shape)}", v[1], shape,
                      v[3])

    def scatter(self, v=None):
        isState = v is not None
        v = v or self.pick()
        if not v[2]:
            return None
        where = (self.rng.randint(1, v[2][0]),)
        i = self.indices(where, v[2][0], distinct=True)
        rows = where + v[2][1:]
        # What a state is updated with must not be its old value.
        u = (self.constant(v[1], rows) if isState
             else self.like((None, v[1], rows, 0)))
        return self.emit(f"scatter {v[0]}, {i[0]}, {u[0]} : {self.of(v)}, "
                         f"{self.of(i)}, {self.of(u)}", v[1], v[2],
                         max(v[3], u[3]))

    def dims(self, v):
        return sorted(self.rng.sample(range(len(v[2])),
                                      self.rng.randint(1, len(v[2]))))

    def reduce(self):
        v = self.pick("f32", "i32")
        if not v[2]:
            return
        dims, kind = self.dims(v), self.rng.choice(["sum", "max", "min"])
        bound = v[3] * (math.prod(v[2][d] for d in dims)
                        if kind == "sum" else 1)
        if v[1] == "f32" and bound > EXACT:
            return
        shape = [e for d, e in enumerate(v[2]) if d not in dims]
        self.emit(f"reduce {kind} {v[0]} dims {dims} : {self.of(v)} -> "
                  f"{self.type(v[1], shape)}", v[1], shape, bound)

    def scan(self):
        v = self.pick("f32", "i32")
        if not v[2]:
            return
        dim = self.rng.randrange(len(v[2]))
        exclusive = self.rng.random() < 0.5
        if v[3] * v[2][dim] > EXACT and v[1] == "f32":
            return
        self.emit(f"scan sum {v[0]} dim {dim}"
                  f"{' exclusive' if exclusive else ''} : {self.of(v)}", v[1],
                  v[2], v[3] * v[2][dim])

    def matmul(self):
        v = self.pick("f32", "i32")
        if len(v[2]) < 2:
            return
        *batch, m, k = v[2]
        n = self.rng.choice([1, 3, 4])
        w = self.like((None, v[1], tuple(batch) + (k, n), 9))
        if self.rng.random() < 0.5:
            t = self.like((None, v[1], tuple(batch) + (n, k), 9))
            order = list(range(len(batch))) + [len(batch) + 1, len(batch)]
            w = self.emit(f"transpose {t[0]} {order} : {self.of(t)} -> "
                          f"{self.of(w)}", w[1], w[2], t[3])
        bound = v[3] * w[3] * k
        if v[1] == "f32" and bound > EXACT:
            return
        shape = tuple(batch) + (m, n)
        self.emit(f"matmul {v[0]}, {w[0]} : {self.of(v)}, {self.of(w)} -> "
                  f"{self.type(v[1], shape)}", v[1], shape, bound)

    def top_k(self):
        v = self.pick("f32", "i32")
        if not v[2]:
            return
        k = self.rng.randint(1, v[2][-1])
        shape = v[2][:-1] + (k,)
        name = f"%{self.count}"
        self.count += 1
        self.lines.append(f"  {name}:2 = graph.arg_top_k {v[0]} k {k} : "
                          f"{self.of(v)} -> {self.type(v[1], shape)}, "
                          f"{self.type('i32', shape)}")
        self.values += [(f"{name}#0", v[1], shape, v[3]),
                        (f"{name}#1", "i32", shape, 64)]

    OPS = [unary, binary, binary, compare, select, cast, transpose, transpose,
           reshape, reshape, slice, slice, widen, concat, gather, scatter,
           reduce, scan, matmul, top_k]

    def build(self):
        """The module's text."""
        for _ in range(self.rng.randint(1, 3)):
            self.slot()
        # A state, i32 so that steps can't leave the exact range.
        shape = self.shape() or (4,)
        symbol = f"@{self.name}_state"
        old = self.emit(f"get {symbol} : {self.type('i32', shape)}", "i32",
                        shape)
        for _ in range(self.rng.randint(4, 16)):
            self.rng.choice(self.OPS)(self)
        outputs = [self.pick() for _ in range(self.rng.randint(1, 3))]
        outputs = [v if v[1] != "i1" else self.emit(
            f"cast {v[0]} : {self.of(v)} -> {self.type('i32', v[2])}", "i32",
            v[2]) for v in outputs]
        # Updates that read the old value come before the one that overwrites.
        number = self.emit(f"reduce sum {old[0]} dims {list(range(len(shape)))}"
                           f" : {self.of(old)} -> tensor<i32>", "i32", ())
        if self.rng.random() < 0.5:
            one = self.broadcast(number, [], shape)
            new = self.emit(f"binary add {one[0]}, {self.like(one)[0]} : "
                            f"{self.of(one)}", "i32", shape)
        else:
            # Nothing may read the old value, or a view of it, afterwards, and
            # outputs are read last.
            outputs = [self.copied(v) for v in outputs]
            new = self.scatter(old)
            if self.rng.random() < 0.5:
                new = self.scatter(new)
        outputs = [self.copied(v) for v in outputs]
        self.lines.append(f"  graph.set {symbol}, {new[0]} : {self.of(new)}")
        outputs += [number, new][:self.rng.randint(1, 2)]
        types = ", ".join(f'{self.of(v)} {{graph.name = "y{i}"}}'
                          for i, v in enumerate(outputs))
        self.outputs = [f"y{i}" for i in range(len(outputs))]
        return "\n".join(
            [f"graph.state {symbol} : {self.type('i32', shape)}",
             f"func.func @{self.name}({', '.join(self.arguments)}) -> "
             f"({types}) {{"] + self.lines
            + [f"  return {', '.join(v[0] for v in outputs)} : "
               f"{', '.join(self.of(v) for v in outputs)}", "}"]) + "\n"

    def copied(self, value):
        """The value, or what no longer depends on the state's buffer."""
        if value[1] != "i32":
            return value
        return self.emit(f"binary add {value[0]}, "
                         f"{self.constant('i32', value[2])[0]} : "
                         f"{self.of(value)}", "i32", value[2])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--driver", default="lavapipe",
                        choices=list(device_ops.DRIVERS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--keep", type=pathlib.Path,
                        help="leave all files in this folder")
    options = parser.parse_args()
    driver = device_ops.DRIVERS[options.driver]
    if driver.environment() is None:
        print(f"{options.driver} isn't installed", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        return run(options, folder, driver)


def run(options, folder, driver):
    failures = 0
    # Graphs of a bundle share its start; a failing one is in few others.
    for start in range(options.seed, options.seed + options.count, 20):
        graphs = [Graph(seed, random.Random(seed)) for seed in
                  range(start, min(start + 20, options.seed + options.count))]
        (folder / "graphs.mlir").write_text("".join(g.build() for g in graphs))
        oracle, device = [], []
        for graph in graphs:
            inputs = {}
            for name, array in graph.inputs.items():
                inputs[name] = f"{graph.name}.{name}.npy"
                np.save(folder / inputs[name], array)
            def run_of(who):
                return {"inputs": inputs, "steps": STEPS,
                        "outputs": {y: f"{graph.name}.{y}.{who}.npy"
                                    for y in graph.outputs}}
            oracle.append({"file": "graphs.mlir", "function": graph.name,
                           **run_of("oracle")})
            device.append({"entry": graph.name, **run_of("device")})
        for name, runs in (("oracle", oracle), ("device", device)):
            (folder / f"{name}.json").write_text(json.dumps({"runs": runs}))
        try:
            device_ops.tool([options.bin / "poot-eval",
                             f"--manifest={folder / 'oracle.json'}"])
            device_ops.tool([options.bin / "poot-compile",
                             folder / "graphs.mlir", "-o",
                             folder / "graphs.poot", "--no-test-vectors",
                             "--target=" + driver.target])
            device_ops.tool([options.bin / "poot-run", folder / "graphs.poot",
                             "--manifest", folder / "device.json"]
                            + driver.flags, driver.environment())
        except device_ops.Failure as failure:
            print(failure, file=sys.stderr)
            failures += len(graphs)
            continue
        for graph in graphs:
            for y in graph.outputs:
                expected = np.load(folder / f"{graph.name}.{y}.oracle.npy")
                got = np.load(folder / f"{graph.name}.{y}.device.npy")
                if not np.array_equal(expected, got):
                    failures += 1
                    print(f"{graph.name}: {y} differs (--seed "
                          f"{graph.name[5:]} --count 1)", file=sys.stderr)
    print(f"{options.driver}: {options.count} graphs, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
