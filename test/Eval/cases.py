"""Small programs that between them use every op of the graph dialect, with
seeded inputs and expected outputs computed by numpy.

A case is one entry function. `all_cases` yields them; `module` joins cases into
one .mlir module. References follow docs/graph-semantics.md and are independent
of poot: floats in the widest type numpy has, integers exact. i1 never crosses
an entry's border, so i1 operands enter and leave as i8, or i32 where `Builder`
is told so. bf16 arrays are f32 arrays of bf16 values.
"""

import dataclasses
import math
import pathlib
import struct
import zlib

import numpy as np

Wide = np.longdouble
assert np.finfo(Wide).nmant >= 63, "references need 80-bit floats"

FLOATS = ["f16", "bf16", "f32", "f64"]
INTS = ["i8", "i16", "i32", "i64"]
NUMBERS = INTS + FLOATS
ALL = ["i1"] + NUMBERS

# How a type's values are held in numpy.
NUMPY = {"i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32,
         "i64": np.int64, "f16": np.float16, "bf16": np.float32,
         "f32": np.float32, "f64": np.float64}
# Significant bits, and the exponent of the least normal number.
FORMAT = {"f16": (11, -14), "bf16": (8, -126), "f32": (24, -126),
          "f64": (53, -1022)}
LARGEST = {"f16": 65504.0, "bf16": 3.3895313892515355e38,
           "f32": 3.4028234663852886e38, "f64": 1.7976931348623157e308}


def width(kind):
    return int(kind.lstrip("ibf"))


def ulp(values, kind):
    """The distance of neighbouring numbers of KIND at VALUES."""
    bits, least = FORMAT[kind]
    _, exponent = np.frexp(np.asarray(values, Wide))
    return np.ldexp(Wide(1), np.maximum(exponent - 1, least) - (bits - 1))


def round_to(values, kind):
    """VALUES rounded once to KIND, ties to even, as numpy holds it."""
    values = np.asarray(values, Wide)
    with np.errstate(all="ignore"):
        unit = ulp(values, kind)
        rounded = np.rint(values / unit) * unit
        rounded = np.where(np.isfinite(values), rounded, values)
        rounded = np.where(np.abs(rounded) > LARGEST[kind],
                           np.copysign(Wide(np.inf), values), rounded)
        # A zero keeps its sign.
        rounded = np.where(np.isnan(values), values,
                           np.copysign(rounded, values))
        return rounded.astype(NUMPY[kind])


@dataclasses.dataclass
class Rule:
    """How near an output must come to its reference.

    exact     equal, NaN where the reference is NaN; `signed_zero` says whether
              the signs of zeros count
    ulp       within `ulps` units in the last place of the reference
    bound     within `bound`, an array of absolute errors; a device, which may
              compute what the semantics leave open in another way, and has the
              exp and rsqrt of Vulkan, within `bound` and `device` together
    `family` names the function for tables of device tolerances.
    """
    name: str
    family: str
    signed_zero: bool = True
    ulps: float = 0
    bound: np.ndarray = None
    device: np.ndarray = 0


def exact(signed_zero=True):
    return Rule("exact", "exact", signed_zero=signed_zero)


@dataclasses.dataclass
class Output:
    name: str
    kind: str
    reference: np.ndarray
    rule: Rule


@dataclasses.dataclass
class Case:
    name: str        # of the function
    op: str          # what the table calls it: "unary exp"
    kind: str        # element type(s)
    symbols: list    # declarations in the module
    text: str        # the function
    inputs: dict     # slot name -> array
    outputs: list
    accumulate: str  # "f32" or "f64"
    group: str = ""  # the function of this file that made it
    view: str = ""   # what the operands are views by


def tensor(shape, kind):
    return f"tensor<{''.join(f'{extent}x' for extent in shape)}{kind}>"


class Builder:
    """Writes one function."""

    border = "i8"  # the type in which i1 enters and leaves
    view = ""      # how slots become operands, of builders from now on

    def __init__(self, op, kind, accumulate="f32"):
        self.op, self.kind, self.accumulate = op, kind, accumulate
        self.view = Builder.view
        self.lines, self.arguments, self.outputs = [], [], []
        self.inputs, self.symbols, self.results = {}, [], []
        self.count = 0

    def value(self, text):
        self.count += 1
        self.lines.append(f"  %{self.count} = {text}")
        return f"%{self.count}"

    def slot(self, array, kind):
        """A value that holds ARRAY: a slot, a view of one, or a splat."""
        shape = array.shape
        if self.view == "transposed" and len(shape) > 1:
            order = [len(shape) - 1, *range(len(shape) - 1)]
            text = f"graph.transpose {{}} {order}"
            array = array.transpose([*range(1, len(shape)), 0])
        elif self.view == "sliced" and shape:
            text = (f"graph.slice {{}} offsets {[1] * len(shape)} strides "
                    f"{[2] + [1] * (len(shape) - 1)}")
            wider = np.zeros([2 * shape[0] + 1] + [n + 3 for n in shape[1:]],
                             array.dtype)
            inner = tuple(slice(1, n + 1) for n in shape[1:])
            wider[(slice(1, None, 2), *inner)] = array
            array = wider
        elif (self.view == "constant" and kind in FORMAT
              and (array == array.flat[0]).all()):
            return self.value(f"graph.constant dense<"
                              f"{literal(array.flat[:1], kind)[0]}> : "
                              f"{tensor(shape, kind)}")
        elif self.view == "broadcast" and shape and (array == array[:1]).all():
            text = f"graph.broadcast {{}} dims {list(range(len(shape)))}"
            array = array[:1]
        else:
            return self.plain_slot(array, kind)
        value = text.format(self.plain_slot(array, kind))
        return self.value(f"{value} : {tensor(array.shape, kind)} -> "
                          f"{tensor(shape, kind)}")

    def plain_slot(self, array, kind):
        name = f"x{len(self.inputs)}"
        border = self.border if kind == "i1" else kind
        self.inputs[name] = np.ascontiguousarray(array).astype(NUMPY[border])
        self.inputs[name] = self.inputs[name].reshape(array.shape)
        type = tensor(array.shape, border)
        self.arguments.append(f'%{name}: {type} {{graph.name = "{name}"}}')
        if kind != "i1":
            return f"%{name}"
        return self.value(f"graph.cast %{name} : {type} -> "
                          f"{tensor(array.shape, 'i1')}")

    def output(self, value, kind, reference, rule=None):
        reference = np.asarray(reference)
        shape = reference.shape
        if kind == "i1":
            value = self.value(f"graph.cast {value} : {tensor(shape, 'i1')} -> "
                               f"{tensor(shape, self.border)}")
            kind = self.border
            reference = reference.astype(NUMPY[kind])
        name = f"y{len(self.outputs)}"
        self.outputs.append(Output(name, kind, reference, rule or exact()))
        self.results.append((value, tensor(shape, kind)))

    def case(self, number):
        word = "".join(c if c.isalnum() else "_" for c in
                       f"{self.op}_{self.kind}{self.view and '_' + self.view}")
        name = f"{word}_{number}"
        types = ", ".join(f'{type} {{graph.name = "{output.name}"}}'
                          for (_, type), output in
                          zip(self.results, self.outputs))
        text = "\n".join(
            [f"func.func @{name}({', '.join(self.arguments)}) -> ({types}) {{"]
            + self.lines
            + [f"  return {', '.join(value for value, _ in self.results)} : "
               f"{', '.join(type for _, type in self.results)}", "}"])
        return Case(name, self.op, self.kind, self.symbols, text, self.inputs,
                    self.outputs, self.accumulate, view=self.view)


def module(cases):
    """One module with the functions of CASES."""
    symbols = sorted({symbol for case in cases for symbol in case.symbols})
    return "\n".join(symbols + [case.text for case in cases]) + "\n"


# --- Inputs -------------------------------------------------------------------

class Inputs:
    """Random arrays. SUBNORMALS says whether floats include subnormal numbers,
    which a device may take as zero."""

    def __init__(self, seed, subnormals):
        self.rng = np.random.default_rng(seed)
        self.subnormals = subnormals
        self.repeats = False  # all of a matrix or batch is like its first part
        self.splats = False   # half of the arrays are one number

    def floats(self, shape, kind, low=-4.0, high=4.0, edges=True):
        """Random numbers, magnitudes 2^low to 2^high, with edge values."""
        size = math.prod(shape)
        values = (np.exp2(self.rng.uniform(low, high, size))
                  * self.rng.choice([-1.0, 1.0], size))
        bits, least = FORMAT[kind]
        special = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5,
                   math.nan, math.inf, -math.inf, LARGEST[kind],
                   -LARGEST[kind], 2.0 ** least]
        if self.subnormals:
            special += [2.0 ** (least - bits + 1), -(2.0 ** (least - 1))]
        if edges and size >= 2 * len(special):
            places = self.rng.permutation(size)[:len(special)]
            values[places] = special
        values = values.reshape(shape)
        if self.repeats and len(shape) > 1:
            values[:] = values[:1]
        if self.splats and self.rng.random() < 0.5:
            values[...] = values.flat[0]
        return round_to(values, kind)

    def ints(self, shape, kind, low=None, high=None):
        """Random integers of all magnitudes, with edge values, or uniform in
        [low, high)."""
        size = math.prod(shape)
        if low is not None:
            return self.rng.integers(low, high, shape).astype(NUMPY[kind])
        if kind == "i1":
            return self.rng.integers(0, 2, shape).astype(np.bool_)
        bits = width(kind)
        values = self.rng.integers(-2 ** (bits - 1), 2 ** (bits - 1), size,
                                   dtype=np.int64)
        values >>= self.rng.integers(0, bits, size)
        special = [-2 ** (bits - 1), 2 ** (bits - 1) - 1, 0, 1, -1]
        if size >= 2 * len(special):
            values[self.rng.permutation(size)[:len(special)]] = special
        return values.astype(NUMPY[kind]).reshape(shape)

    def any(self, shape, kind):
        if kind in FORMAT:
            return self.floats(shape, kind)
        return self.ints(shape, kind)


def compute(array, kind):
    """The values in the type that the op computes in."""
    return array.astype(np.float32) if kind in ("f16", "bf16") else array


# --- Element-wise -------------------------------------------------------------

SHAPES = [(), (61,), (2, 3, 1, 11)]

# Correctly rounded but for the error of the function in f64 (for f64, that of
# the C library) and, for f16 and bf16, the step through f32.
TRANSCENDENTAL_ULPS = {"f16": 0.501, "bf16": 0.501, "f32": 0.501, "f64": 2.0}

TRANSCENDENTAL = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log,
    "log2": np.log2, "log1p": np.log1p, "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin, "cos": np.cos, "tanh": np.tanh,
    "erf": lambda x: np.vectorize(math.erf, otypes=[Wide])(x),
}
ROUNDED = {"sqrt": np.sqrt, "floor": np.floor, "ceil": np.ceil,
           "round_even": np.rint, "trunc": np.trunc}


def sign(x):
    return np.where(x > 0, 1, np.where(x < 0, -1, x)).astype(x.dtype)


def unary(inputs):
    def build(name, kind, x, reference, rule):
        b = Builder(f"unary {name}", kind)
        y = b.value(f"graph.unary {name} {b.slot(x, kind)} : "
                    f"{tensor(x.shape, kind)}")
        b.output(y, kind, reference, rule)
        return b

    for shape in SHAPES:
        for kind in FLOATS:
            for name, function in TRANSCENDENTAL.items():
                x = inputs.floats(shape, kind, low=-12, high=5)
                if name in ("log", "log2", "rsqrt"):
                    x = np.where(inputs.rng.random(shape) < 0.8, np.abs(x), x)
                x = x.astype(NUMPY[kind])
                rule = Rule("ulp", name, ulps=TRANSCENDENTAL_ULPS[kind])
                yield build(name, kind, x, function(x.astype(Wide)), rule)
            for name, function in ROUNDED.items():
                x = inputs.floats(shape, kind)
                if name == "sqrt":
                    x = np.abs(x)
                reference = round_to(function(compute(x, kind)), kind)
                yield build(name, kind, x, reference, exact())
        for kind in NUMBERS:
            for name, function in [("neg", np.negative), ("abs", np.abs),
                                   ("sign", sign)]:
                x = inputs.any(shape, kind)
                yield build(name, kind, x, function(x), exact())
        for kind in ["i1"] + INTS:
            x = inputs.ints(shape, kind)
            yield build("not", kind, x, ~x, exact())


def truncated_division(a, b):
    quotient = np.array([abs(int(x)) // abs(int(y))
                         * (1 if (x < 0) == (y < 0) else -1)
                         for x, y in zip(a.flat, b.flat)], dtype=object)
    remainder = np.array([int(x) - int(y) * int(q) for x, y, q in
                          zip(a.flat, b.flat, quotient)], dtype=object)
    return quotient.reshape(a.shape), remainder.reshape(a.shape)


def wrap(values, kind):
    """Python integers as KIND, high bits dropped."""
    bits = width(kind)
    half = 2 ** (bits - 1)
    return np.array([(int(v) + half) % 2 ** bits - half
                     for v in np.asarray(values, object).flat],
                    dtype=NUMPY[kind]).reshape(np.shape(values))


def binary(inputs):
    def build(name, kind, x, y, reference, rule=None):
        b = Builder(f"binary {name}", kind)
        left, right = b.slot(x, kind), b.slot(y, kind)
        z = b.value(f"graph.binary {name} {left}, {right} : "
                    f"{tensor(x.shape, kind)}")
        b.output(z, kind, reference, rule)
        return b

    arithmetic = {"add": np.add, "sub": np.subtract, "mul": np.multiply,
                  "div": np.divide, "rem": np.fmod, "max": np.maximum,
                  "min": np.minimum}
    for shape in SHAPES:
        for kind in FLOATS:
            for name, function in arithmetic.items():
                x, y = inputs.floats(shape, kind), inputs.floats(shape, kind)
                reference = round_to(function(compute(x, kind),
                                              compute(y, kind)), kind)
                yield build(name, kind, x, y, reference,
                            exact(signed_zero=name not in ("max", "min")))
            x = inputs.floats(shape, kind)
            y = inputs.floats(shape, kind, low=-2, high=3)
            x = np.where(inputs.rng.random(shape) < 0.7, np.abs(x), x)
            x = x.astype(NUMPY[kind])
            yield build("pow", kind, x, y,
                        np.power(x.astype(Wide), y.astype(Wide)),
                        Rule("ulp", "pow", ulps=TRANSCENDENTAL_ULPS[kind]))
        for kind in INTS:
            x, y = inputs.ints(shape, kind), inputs.ints(shape, kind)
            for name in ("add", "sub", "mul", "max", "min"):
                yield build(name, kind, x, y, np.asarray(
                    arithmetic[name](x, y)).astype(NUMPY[kind]))
            y = np.where(y == 0, NUMPY[kind](-1), y).astype(NUMPY[kind])
            quotient, remainder = truncated_division(x, y)
            yield build("div", kind, x, y, wrap(quotient, kind))
            yield build("rem", kind, x, y, wrap(remainder, kind))
            bits = width(kind)
            y = inputs.ints(shape, kind, 0, bits)
            wide = x.astype(object)
            yield build("shl", kind, x, y,
                        wrap(wide * 2 ** y.astype(object), kind))
            yield build("shr_s", kind, x, y,
                        wrap(wide // 2 ** y.astype(object), kind))
            yield build("shr_u", kind, x, y,
                        wrap(wide % 2 ** bits // 2 ** y.astype(object), kind))
        for kind in ["i1"] + INTS:
            x, y = inputs.ints(shape, kind), inputs.ints(shape, kind)
            for name, function in [("and", np.bitwise_and),
                                   ("or", np.bitwise_or),
                                   ("xor", np.bitwise_xor)]:
                yield build(name, kind, x, y, function(x, y))


def compare_and_select(inputs):
    predicates = {"eq": np.equal, "ne": np.not_equal, "lt": np.less,
                  "le": np.less_equal, "gt": np.greater,
                  "ge": np.greater_equal}
    for kind in ALL:
        for shape in [(), (61,), (3, 1, 17)]:
            x, y = inputs.any(shape, kind), inputs.any(shape, kind)
            # Half of them equal.
            y = np.where(inputs.rng.random(shape) < 0.5, x, y)
            y = y.astype(NUMPY[kind])
            for name, function in predicates.items():
                b = Builder(f"compare {name}", kind)
                left, right = b.slot(x, kind), b.slot(y, kind)
                z = b.value(f"graph.compare {name} {left}, {right} : "
                            f"{tensor(shape, kind)}")
                b.output(z, "i1", function(x, y))
                yield b
            b = Builder("select", kind)
            condition = inputs.ints(shape, "i1")
            c = b.slot(condition, "i1")
            left, right = b.slot(x, kind), b.slot(y, kind)
            z = b.value(f"graph.select {c}, {left}, {right} : "
                        f"{tensor(shape, kind)}")
            b.output(z, kind, np.where(condition, x, y).astype(NUMPY[kind]))
            yield b


def converted(x, source, target):
    """X of SOURCE as TARGET, by G-cast-2 to G-cast-4."""
    if target == "i1":
        return x != 0
    if source == "i1":
        return x.astype(NUMPY[target])
    if target in FORMAT:
        return round_to(x.astype(Wide), target)
    if source in FORMAT:
        bits = width(target)
        low, high = -2 ** (bits - 1), 2 ** (bits - 1) - 1
        def one(v):
            if math.isnan(v):
                return 0
            return low if v <= low else high if v >= high else int(v)
        return np.array([one(float(v)) for v in x.flat],
                        NUMPY[target]).reshape(x.shape)
    return wrap(x, target)


def cast(inputs):
    for source in ALL:
        for target in ALL:
            for shape in [(), (7, 11)]:
                x = inputs.any(shape, source)
                if source in FORMAT and target in INTS:
                    # Around and beyond the integer's range.
                    x = inputs.floats(shape, source, low=-2,
                                      high=min(width(target) + 2, 2 ** (
                                          4 if source == "f16" else 6)))
                b = Builder("cast", f"{source}->{target}")
                y = b.value(f"graph.cast {b.slot(x, source)} : "
                            f"{tensor(shape, source)} -> "
                            f"{tensor(shape, target)}")
                b.output(y, target, converted(x, source, target))
                yield b


def literal(values, kind):
    """The elements of VALUES as a dense literal's body; hex for floats."""
    if kind in FORMAT:
        bits = width(kind)
        raw = values.view({2: np.uint16, 4: np.uint32, 8: np.uint64}[
            values.dtype.itemsize])
        if kind == "bf16":
            raw = raw >> 16
        return [f"0x{int(v):0{bits // 4}X}" for v in raw.flat]
    if kind == "i1":
        return ["true" if v else "false" for v in values.flat]
    return [str(int(v)) for v in values.flat]


def constant_and_iota(inputs):
    def nested(elements, shape):
        if not shape:
            return elements[0]
        step = len(elements) // shape[0]
        return "[" + ", ".join(
            nested(elements[i * step:(i + 1) * step], shape[1:])
            for i in range(shape[0])) + "]"

    for kind in ALL:
        for shape in [(), (5,), (2, 3, 4)]:
            x = inputs.any(shape, kind)
            b = Builder("constant", kind)
            y = b.value(f"graph.constant dense<"
                        f"{nested(literal(x, kind), shape)}> : "
                        f"{tensor(shape, kind)}")
            b.output(y, kind, x)
            yield b
        x = inputs.any((), kind)
        b = Builder("constant splat", kind)
        y = b.value(f"graph.constant dense<{literal(x, kind)[0]}> : "
                    f"{tensor((3, 5), kind)}")
        b.output(y, kind, np.full((3, 5), x))
        yield b
    for kind in INTS:
        for shape, dim in [((9,), 0), ((3, 5), 0), ((3, 5), 1),
                           ((2, 1, 7), 1), ((2, 4, 3, 2), 2)]:
            b = Builder("iota", kind)
            y = b.value(f"graph.iota dim {dim} : {tensor(shape, kind)}")
            line = np.arange(shape[dim]).reshape(
                [-1 if i == dim else 1 for i in range(len(shape))])
            b.output(y, kind, np.broadcast_to(line, shape).astype(NUMPY[kind]))
            yield b


# --- Moves --------------------------------------------------------------------

def moves(inputs):
    def build(op, kind, arrays, text, reference):
        """TEXT has {0}, {1}… for the operands and {t0}, {t1}… for their types,
        {r} for the result's."""
        b = Builder(op, kind)
        operands = [b.slot(a, k) for a, k in arrays]
        types = {f"t{i}": tensor(a.shape, k)
                 for i, (a, k) in enumerate(arrays)}
        y = b.value(text.format(*operands, r=tensor(reference.shape, kind),
                                **types))
        b.output(y, kind, reference)
        return b

    for kind in ALL:
        for shape, dims, result in [((), [], (3, 2)), ((3,), [1], (2, 3)),
                                    ((3, 1), [0, 1], (3, 4)),
                                    ((2, 1, 5), [0, 1, 3], (2, 4, 3, 5)),
                                    ((2, 3), [0, 1], (2, 3))]:
            x = inputs.any(shape, kind)
            aligned = x.reshape([shape[dims.index(i)] if i in dims else 1
                                 for i in range(len(result))])
            yield build("broadcast", kind, [(x, kind)],
                        f"graph.broadcast {{0}} dims {dims} : {{t0}} -> {{r}}",
                        np.broadcast_to(aligned, result))
        for shape, result in [((), (1, 1)), ((6,), (2, 3)), ((2, 3, 4), (4, 6)),
                              ((1,), ()), ((5, 1, 3), (3, 5))]:
            x = inputs.any(shape, kind)
            yield build("reshape", kind, [(x, kind)],
                        "graph.reshape {0} : {t0} -> {r}", x.reshape(result))
        for shape, order in [((), []), ((3, 5), [1, 0]), ((2, 3, 4), [2, 0, 1]),
                             ((2, 1, 3, 5), [0, 3, 2, 1])]:
            x = inputs.any(shape, kind)
            yield build("transpose", kind, [(x, kind)],
                        f"graph.transpose {{0}} {order} : {{t0}} -> {{r}}",
                        x.transpose(order))
        for shape, slices in [((7,), [slice(2, 7, 2)]),
                              ((5, 6), [slice(1, 4, 1), slice(0, 6, 5)]),
                              ((3, 4, 5), [slice(2, 3, 1), slice(1, 4, 2),
                                           slice(0, 5, 1)])]:
            x = inputs.any(shape, kind)
            yield build("slice", kind, [(x, kind)],
                        f"graph.slice {{0}} offsets {[s.start for s in slices]}"
                        f" strides {[s.step for s in slices]} : {{t0}} -> {{r}}",
                        x[tuple(slices)])
        for shapes, dim in [([(3,), (1,), (4,)], 0), ([(2, 3), (5, 3)], 0),
                            ([(2, 3), (2, 1)], 1), ([(2, 3, 4)], 1),
                            ([(2, 2, 3), (2, 4, 3), (2, 1, 3)], 1)]:
            arrays = [inputs.any(shape, kind) for shape in shapes]
            names = ", ".join(f"{{{i}}}" for i in range(len(arrays)))
            types = ", ".join(f"{{t{i}}}" for i in range(len(arrays)))
            yield build("concat", kind, [(a, kind) for a in arrays],
                        f"graph.concat {names} dim {dim} : {types} -> {{r}}",
                        np.concatenate(arrays, dim))
        for shape, index_shape, dim in [((5,), (3,), 0), ((5,), (), 0),
                                        ((4, 3), (2, 3), 0), ((4, 3), (5,), 1),
                                        ((2, 6, 3), (2, 2), 1)]:
            x = inputs.any(shape, kind)
            indices = inputs.ints(index_shape, "i32", 0, shape[dim])
            yield build("gather", kind, [(x, kind), (indices, "i32")],
                        f"graph.gather {{0}}, {{1}} dim {dim} : {{t0}}, {{t1}} "
                        f"-> {{r}}", np.take(x, indices, dim))
        for shape, index_shape in [((6,), (3,)), ((5, 3), (4,)),
                                   ((7, 2, 3), (2, 2)), ((3, 2), ())]:
            x = inputs.any(shape, kind)
            count = math.prod(index_shape)
            indices = inputs.rng.permutation(shape[0])[:count]
            # The first of several rows is dropped.
            if count > 1:
                indices[0] = -1
            indices = indices.reshape(index_shape).astype(np.int32)
            updates = inputs.any(index_shape + shape[1:], kind)
            reference = x.copy()
            for index, row in zip(indices.flat,
                                  updates.reshape((count,) + shape[1:])):
                if index >= 0:
                    reference[index] = row
            b = build("scatter", kind,
                      [(x, kind), (indices, "i32"), (updates, kind)],
                      "graph.scatter {0}, {1}, {2} : {t0}, {t1}, {t2}",
                      reference)
            yield b


# --- Sums ---------------------------------------------------------------------

def accumulated(reference, magnitude, terms, kind, accumulate, family,
                result_kind=None):
    """The rule for sums of TERMS summands whose magnitudes add up to MAGNITUDE:
    one rounding of the accumulator a term, and one of the result."""
    unit = Wide(2) ** -(53 if "f64" in (kind, accumulate) else 24)
    bound = (terms * unit * np.asarray(magnitude, Wide)
             + 0.501 * ulp(reference, result_kind or kind))
    return Rule("bound", family, bound=bound)


def along(x, dims):
    """X with DIMS moved behind the others and joined."""
    rest = [i for i in range(x.ndim) if i not in dims]
    moved = x.transpose(rest + list(dims))
    return moved.reshape([x.shape[i] for i in rest] + [-1])


def reduce(inputs):
    shapes = [((37,), [0]), ((3, 50), [1]), ((50, 3), [0]),
              ((2, 3, 4), [0, 2]), ((3, 1, 5, 7), [1, 2]), ((4, 5), [0, 1])]
    for kind in NUMBERS:
        for shape, dims in shapes:
            for name in ("sum", "prod", "max", "min"):
                modes = ["f32"]
                if name in ("sum", "prod") and kind in ("f16", "bf16", "f32"):
                    modes.append("f64")
                for mode in modes:
                    yield reduction(inputs, name, kind, shape, dims, mode)


def reduction(inputs, name, kind, shape, dims, mode):
    b = Builder(f"reduce {name}", kind, mode)
    rule = None
    if kind in FORMAT and name in ("sum", "prod"):
        x = inputs.floats(shape, kind, *((-4, 4) if name == "sum"
                                         else (-0.3, 0.3)), edges=False)
        lines = along(x, dims).astype(Wide)
        function = np.sum if name == "sum" else np.prod
        reference = np.asarray(function(lines, -1))
        magnitude = function(np.abs(lines), -1)
        rule = accumulated(reference, magnitude, lines.shape[-1], kind, mode,
                           f"reduce {name}")
    else:
        x = inputs.any(shape, kind)
        if kind in FORMAT:
            # NaN reaches every line; keep some lines free of it.
            x = np.where(np.isnan(x) & (inputs.rng.random(shape) < 0.5),
                         1, x).astype(NUMPY[kind])
            rule = exact(signed_zero=False)
        lines = along(x, dims)
        function = {"sum": np.sum, "prod": np.prod, "max": np.max,
                    "min": np.min}[name]
        extra = {"dtype": NUMPY[kind]} if name in ("sum", "prod") else {}
        reference = np.asarray(function(lines, -1, **extra))
    y = b.value(f"graph.reduce {name} {b.slot(x, kind)} dims {dims} : "
                f"{tensor(shape, kind)} -> {tensor(reference.shape, kind)}")
    b.output(y, kind, reference, rule)
    return b


def scan(inputs):
    for kind in NUMBERS:
        for shape, dim in [((23,), 0), ((3, 17), 1), ((17, 3), 0),
                           ((2, 5, 3), 1)]:
            for name in ("sum", "prod", "max", "min"):
                for exclusive in (False, True):
                    yield scan_case(inputs, name, kind, shape, dim, exclusive)


def scan_case(inputs, name, kind, shape, dim, exclusive):
    b = Builder(f"scan {name}", kind)
    isFloat, isSum = kind in FORMAT, name in ("sum", "prod")
    if isFloat and isSum:
        x = inputs.floats(shape, kind, *((-4, 4) if name == "sum"
                                         else (-0.3, 0.3)), edges=False)
    else:
        x = inputs.any(shape, kind)
    if isFloat:
        low, high = -np.inf, np.inf
    else:
        low, high = np.iinfo(x.dtype).min, np.iinfo(x.dtype).max
    neutral = {"sum": 0, "prod": 1, "max": low, "min": high}[name]

    def run(values, dtype):
        function = {"sum": np.add, "prod": np.multiply, "max": np.maximum,
                    "min": np.minimum}[name]
        values = values.astype(dtype)
        if exclusive:
            first = np.full_like(np.take(values, [0], dim), neutral)
            rest = np.take(values, range(shape[dim] - 1), dim)
            values = np.concatenate([first, rest], dim)
        return function.accumulate(values, dim, dtype=dtype)

    rule = exact(signed_zero=isSum)
    if isFloat and isSum:
        reference = run(x, Wide)
        rule = accumulated(reference, run(np.abs(x), Wide), shape[dim], kind,
                           "f32", f"scan {name}")
    else:
        reference = run(x, x.dtype)
    mark = " exclusive" if exclusive else ""
    y = b.value(f"graph.scan {name} {b.slot(x, kind)} dim {dim}{mark} : "
                f"{tensor(shape, kind)}")
    b.output(y, kind, reference, rule)
    return b


def arg_top_k(inputs):
    for kind in NUMBERS:
        for shape, k in [((40,), 1), ((40,), 40), ((3, 29), 5),
                         ((2, 1, 31), 7), ((4, 1), 1)]:
            x = inputs.any(shape, kind)
            # Ties.
            repeat = inputs.rng.integers(0, shape[-1], shape)
            x = np.where(inputs.rng.random(shape) < 0.3,
                         np.take_along_axis(x, repeat, -1), x)
            def rank(row):
                order = sorted(range(len(row)), key=lambda i: (
                    (0, 0) if row[i] != row[i] else (1, -Wide(row[i])), i))
                return order[:k]
            rows = x.reshape(-1, shape[-1])
            indices = np.array([rank(row) for row in rows], np.int32)
            indices = indices.reshape(shape[:-1] + (k,))
            b = Builder("arg_top_k", kind)
            result = shape[:-1] + (k,)
            b.count += 1
            b.lines.append(
                f"  %1:2 = graph.arg_top_k {b.slot(x, kind)} k {k} : "
                f"{tensor(shape, kind)} -> {tensor(result, kind)}, "
                f"{tensor(result, 'i32')}")
            b.output("%1#0", kind, np.take_along_axis(x, indices, -1))
            b.output("%1#1", "i32", indices)
            yield b


# --- Contractions -------------------------------------------------------------

def contraction_results(kind):
    return {"f16": ["f16", "f32"], "bf16": ["bf16", "f32"],
            "i8": ["i8", "i32"]}.get(kind, [kind])


def matmul(inputs):
    shapes = [((), 1, 1, 1), ((), 3, 5, 7), ((2,), 1, 33, 19), ((2, 3), 4, 9, 2),
              ((), 2, 100, 300)]
    for kind in NUMBERS:
        for result in contraction_results(kind):
            for batch, m, k, n in shapes:
                for transposed in (False, True):
                    modes = ["f32", "f64"] if kind == "f32" else ["f32"]
                    for mode in modes:
                        yield matmul_case(inputs, kind, result, batch, m, k, n,
                                          transposed, mode)


def factor(inputs, shape, kind):
    if kind in FORMAT:
        return inputs.floats(shape, kind, edges=False)
    return inputs.ints(shape, kind)


def product(x, y, kind, result, mode, family, multiply):
    """Reference and rule of a contraction of X and Y over K = X.shape[-1]."""
    if kind in FORMAT:
        reference = multiply(x.astype(Wide), y.astype(Wide))
        magnitude = multiply(np.abs(x).astype(Wide), np.abs(y).astype(Wide))
        return reference, accumulated(reference, magnitude, x.shape[-1] + 1,
                                      kind, mode, family, result)
    wide = np.int32 if kind == "i8" else NUMPY[kind]
    reference = multiply(x.astype(wide), y.astype(wide))
    return reference.astype(NUMPY[result]), exact()


def matmul_case(inputs, kind, result, batch, m, k, n, transposed, mode):
    x = factor(inputs, batch + (m, k), kind)
    y = factor(inputs, batch + (k, n), kind)
    b = Builder("matmul", f"{kind}->{result}", mode)
    left = b.slot(x, kind)
    if transposed:
        # As the weights of a linear layer: [N, K], read across.
        stored = np.swapaxes(y, -1, -2)
        order = list(range(len(batch))) + [len(batch) + 1, len(batch)]
        right = b.value(f"graph.transpose {b.slot(stored, kind)} {order} : "
                        f"{tensor(stored.shape, kind)} -> "
                        f"{tensor(y.shape, kind)}")
    else:
        right = b.slot(y, kind)
    reference, rule = product(x, y, kind, result, mode, "matmul", np.matmul)
    z = b.value(f"graph.matmul {left}, {right} : {tensor(x.shape, kind)}, "
                f"{tensor(y.shape, kind)} -> {tensor(reference.shape, result)}")
    b.output(z, result, reference, rule)
    return b


def indexed_matmul(inputs):
    for kind in NUMBERS:
        for result in contraction_results(kind):
            for rows, experts, k, n in [((), 2, 3, 4), ((5,), 3, 17, 6),
                                        ((2, 3), 4, 33, 5)]:
                x = factor(inputs, rows + (k,), kind)
                w = factor(inputs, (experts, k, n), kind)
                indices = inputs.ints(rows, "i32", 0, experts)
                b = Builder("indexed_matmul", f"{kind}->{result}")
                operands = [b.slot(x, kind), b.slot(w, kind),
                            b.slot(indices, "i32")]
                def multiply(x, w):
                    return np.matmul(x[..., None, :], w[indices])[..., 0, :]
                reference, rule = product(x, w, kind, result, "f32",
                                          "indexed_matmul", multiply)
                z = b.value(
                    f"graph.indexed_matmul {', '.join(operands)} : "
                    f"{tensor(x.shape, kind)}, {tensor(w.shape, kind)}, "
                    f"{tensor(indices.shape, 'i32')} -> "
                    f"{tensor(reference.shape, result)}")
                b.output(z, result, reference, rule)
                yield b


# --- Packed weights -----------------------------------------------------------

# Name: GGUF type, elements of a block, bytes of a block, blocks a row.
PACKED = {"q4_0": (2, 32, 18, 5), "q4_1": (3, 32, 20, 5),
          "q5_0": (6, 32, 22, 5), "q5_1": (7, 32, 24, 5),
          "q8_0": (8, 32, 34, 5), "q2_k": (10, 256, 84, 2),
          "q3_k": (11, 256, 110, 2), "q4_k": (12, 256, 144, 2),
          "q5_k": (13, 256, 176, 2), "q6_k": (14, 256, 210, 2),
          "iq4_nl": (20, 32, 18, 5), "mxfp4": (39, 32, 17, 5)}


def golden(folder, name):
    """The golden blocks of weights/test and their values as a matrix."""
    _, elements, size, blocks = PACKED[name]
    packed = (pathlib.Path(folder) / f"{name}.packed").read_bytes()
    values = np.fromfile(pathlib.Path(folder) / f"{name}.f32", np.float32)
    assert len(packed) // size * elements == values.size
    return packed, values.reshape(-1, blocks * elements)


# Enough columns for kernels that work on tiles.
TALL = 37
# Matrices of a few rows.
STACK = (3, 5)


def good_rows(folder, name, count):
    """COUNT rows: those golden ones whose products stay in range, again and
    again."""
    packed, values = golden(folder, name)
    size = len(packed) // len(values)
    good = np.nonzero(np.all(np.abs(values) < 1e30, axis=1))[0]
    rows = np.resize(good, count)
    return b"".join(packed[size * row:][:size] for row in rows), values[rows]


def tall(folder, name):
    return good_rows(folder, name, TALL)


def stack(folder, name):
    packed, values = good_rows(folder, name, math.prod(STACK))
    return packed, values.reshape(*STACK, -1)


def write_golden_gguf(folder, path):
    """A GGUF file with the tensors `golden.NAME`, `tall.NAME` and `stack.NAME`,
    for every packed type."""
    infos, data = b"", b""
    for name, (number, *_) in PACKED.items():
        packed, values = golden(folder, name)
        rows, columns = values.shape
        for word, shape, stored in (
                (f"golden.{name}", (rows, columns), packed),
                (f"tall.{name}", (TALL, columns), tall(folder, name)[0]),
                (f"stack.{name}", (*STACK, columns), stack(folder, name)[0])):
            infos += struct.pack("<Q", len(word)) + word.encode()
            infos += struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape[::-1],
                                 number, len(data))
            data += stored + bytes(-len(stored) % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, 3 * len(PACKED), 0) + infos
    pathlib.Path(path).write_bytes(head + bytes(-len(head) % 32) + data)


def packed(folder):
    """Needs the weights of `write_golden_gguf`."""
    for name in PACKED:
        _, values = golden(folder, name)
        rows, columns = values.shape
        symbol = f"golden.{name}"
        def type(count):
            return f"!graph.packed<{name}, gguf, {count}x{columns}>"

        def build(op, result, text, count, reference):
            b = Builder(op, f"{name}->{result}")
            b.symbols.append(f"graph.const @{symbol} : {type(rows)}")
            w = b.value(f"graph.get @{symbol} : {type(rows)}")
            if text:
                w = b.value(text.format(w))
            y = b.value(f"graph.packed_dequant {w} : {type(count)} -> "
                        f"{tensor((count, columns), result)}")
            b.output(y, result, round_to(reference, result))
            return b

        for result in ("f32", "f16", "bf16"):
            yield build("packed_dequant", result, None, rows, values)
        yield build("slice packed", "f32",
                    f"graph.slice {{0}} offsets [1, 0] strides [1, 1] : "
                    f"{type(rows)} -> {type(rows - 2)}", rows - 2,
                    values[1:rows - 1])
        yield build("concat packed", "f32",
                    f"graph.concat {{0}}, {{0}} dim 0 : {type(rows)}, "
                    f"{type(rows)} -> {type(2 * rows)}", 2 * rows,
                    np.concatenate([values, values]))


# --- Composites ---------------------------------------------------------------

def stored_weight(b, symbol, name, shape, layout):
    """The const SYMBOL of a packed type in LAYOUT, and its type."""
    def type(layout):
        return f"!graph.packed<{name}, {layout}, {'x'.join(map(str, shape))}>"
    b.symbols.append(f"graph.const @{symbol} : {type('gguf')}")
    w = b.value(f"graph.get @{symbol} : {type('gguf')}")
    if layout == "planar":
        w = b.value(f"graph.repack {w} : {type('gguf')} -> {type('planar')}")
    return w, type


def stored_product(x, w, kind, result, multiply):
    """Reference and rule of a product with stored weights, which are rounded to
    the type of X, KIND; a device may leave that out (G-packed_contraction-3)."""
    rounded = round_to(w, kind)
    reference, rule = product(x, rounded, kind, result, "f32",
                              "packed_contraction", multiply)
    slack = multiply(np.abs(x).astype(Wide),
                     np.abs(w.astype(Wide) - rounded.astype(Wide)))
    rule.device = slack + ulp(np.abs(reference) + slack, result) / 2
    return reference, rule


def stored_contractions(inputs, folder):
    """packed_contraction and packed_row_gather, in both layouts. Needs the
    weights of `write_golden_gguf`."""
    for name in PACKED:
        _, values = golden(folder, name)
        rows, columns = values.shape
        for layout, kind, result, chosen in (
                ("gguf", "f32", "f32", (5,)), ("planar", "f32", "f32", (2, 3)),
                ("gguf", "f16", "f32", (1,)), ("planar", "bf16", "bf16", ())):
            tag = f"{kind}*{name}.{layout}->{result}"
            # A weight is rounded to x's type.
            weights = round_to(values, kind)
            # The longest run of rows whose products stay in range.
            good = np.all(np.abs(weights) < 1e30, axis=1)
            runs = [(first, last) for first in range(rows)
                    for last in range(first + 1, rows + 1)
                    if good[first:last].all()]
            if runs:
                first, last = max(runs, key=lambda run: run[1] - run[0])
                b = Builder("packed_contraction", tag)
                w, type = stored_weight(b, f"golden.{name}", name,
                                        (rows, columns), layout)
                part = type(layout)
                if last - first != rows:
                    part = part.replace(f"{rows}x{columns}",
                                        f"{last - first}x{columns}")
                    w = b.value(f"graph.slice {w} offsets [{first}, 0] strides "
                                f"[1, 1] : {type(layout)} -> {part}")
                x = factor(inputs, (2, 3, columns), kind)
                yield contraction(b, x, w, values[first:last], kind, part,
                                  result)

            _, matrices = stack(folder, name)
            if np.isfinite(round_to(matrices, kind)).all():
                b = Builder("packed_contraction experts", tag)
                w, type = stored_weight(b, f"stack.{name}", name,
                                        matrices.shape, layout)
                x = factor(inputs, (*chosen, columns), kind)
                indices = inputs.ints(chosen, "i32", 0, len(matrices))
                reference, rule = stored_product(
                    x, matrices, kind, result,
                    lambda x, w: np.einsum("...k,...nk->...n", x, w[indices]))
                y = b.value(
                    f"graph.packed_contraction {b.slot(x, kind)}, {w} experts "
                    f"{b.slot(indices, 'i32')} : {tensor(x.shape, kind)}, "
                    f"{type(layout)}, {tensor(chosen, 'i32')} -> "
                    f"{tensor(reference.shape, result)}")
                b.output(y, result, reference, rule)
                yield b

            if kind == "f32":
                _, wide = tall(folder, name)
                b = Builder("packed_contraction", tag)
                w, type = stored_weight(b, f"tall.{name}", name, wide.shape,
                                        layout)
                x = factor(inputs, (3, 7, columns), kind)
                yield contraction(b, x, w, wide, kind, type(layout), result)

            b = Builder("packed_row_gather", f"{name}.{layout}->{kind}")
            w, type = stored_weight(b, f"golden.{name}", name, (rows, columns),
                                    layout)
            indices = inputs.ints(chosen, "i32", 0, rows)
            y = b.value(f"graph.packed_row_gather {w}, "
                        f"{b.slot(indices, 'i32')} : {type(layout)}, "
                        f"{tensor(chosen, 'i32')} -> "
                        f"{tensor((*chosen, columns), kind)}")
            b.output(y, kind, round_to(values, kind)[indices])
            yield b

    # Weights of another float type.
    for stored, kind, result in (("f16", "f32", "f32"), ("bf16", "f32", "f32"),
                                 ("f32", "f16", "f32"), ("f16", "f16", "f16"),
                                 ("f16", "bf16", "bf16"),
                                 ("f32", "f32", "f32")):
        for shape, columns in (((37,), 9), ((4, 37), 9), ((1, 64), 33),
                               ((2, 3, 64), 33), ((5, 7, 48), 35)):
            yield float_contraction(inputs, kind, stored, result, shape,
                                    columns)


def contraction(b, x, w, values, kind, type, result):
    """X times the weights W of TYPE, which are VALUES."""
    reference, rule = stored_product(x, values, kind, result,
                                     lambda x, w: np.matmul(x, w.T))
    y = b.value(f"graph.packed_contraction {b.slot(x, kind)}, {w} : "
                f"{tensor(x.shape, kind)}, {type} -> "
                f"{tensor(reference.shape, result)}")
    b.output(y, result, reference, rule)
    return b


def float_contraction(inputs, kind, stored, result, shape, columns):
    x = factor(inputs, shape, kind)
    w = factor(inputs, (columns, shape[-1]), stored)
    b = Builder("packed_contraction", f"{kind}*{stored}->{result}")
    return contraction(b, x, b.slot(w, stored), w, kind,
                       tensor(w.shape, stored), result)


UNIT = Wide(2) ** -24  # of f32, in which composites compute


def row_bound(reference, slack, kind, family, more=0):
    """Within SLACK of f32 roundings, MORE on a device, then rounded to KIND."""
    def bound(slack):
        return np.asarray(slack + 0.501 * ulp(np.abs(reference) + slack, kind),
                          Wide)
    return Rule("bound", family, bound=bound(slack),
                device=bound(slack + more) - bound(slack))


def device_exp(shifted, weights):
    """How far quotients WEIGHTS of exponentials of SHIFTED numbers and their sum
    may be off on a device beside the errors of an exact exp: Vulkan allows 3 +
    2|x| ulp, of each exponential and so of the sum."""
    relative = np.where(weights > 0, 2 * UNIT * (3 + 2 * np.abs(shifted)), 0)
    return weights * (relative + (weights * relative).sum(-1, keepdims=True))


def softmax_of(x):
    """The softmax of wide numbers along the innermost dimension, how far an f32
    one may be off, and how much farther a device."""
    shifted = x - x.max(-1, keepdims=True)
    powers = np.exp(shifted)
    y = powers / powers.sum(-1, keepdims=True)
    # Relative: the difference is rounded, whose error exp takes to its result;
    # exp, one addition a term, the quotient.
    return (y, y * UNIT * (np.abs(shifted) + x.shape[-1] + 4) + Wide(2) ** -149,
            device_exp(shifted, y))


def softmax(inputs):
    for kind in ("f32", "f16", "bf16"):
        for shape in ((1,), (7,), (3, 64), (2, 5, 33), (4, 1000)):
            x = inputs.floats(shape, kind, edges=False)
            if shape == (3, 64):
                x[1, :] = -1000.0   # all equal
                x[2, 5:] = -math.inf
                x[0, 3] = 300.0     # far above the others
            yield softmax_case(x, kind)


def softmax_case(x, kind):
    b = Builder("softmax", kind)
    reference, slack, more = softmax_of(x.astype(Wide))
    slack = np.where(np.isnan(slack), Wide(0), slack)
    y = b.value(f"graph.softmax {b.slot(x, kind)} : {tensor(x.shape, kind)}")
    b.output(y, kind, reference,
             row_bound(reference, slack, kind, "softmax", more))
    return b


def norms(inputs):
    for kind in ("f32", "f16", "bf16"):
        for shape in ((5,), (3, 64), (2, 3, 33), (2, 576)):
            for op in ("rms_norm", "layer_norm"):
                for parts in ((), ("scale",), ("scale", "bias"), ("bias",)):
                    if op == "rms_norm" and "bias" in parts:
                        continue
                    yield norm_case(inputs, op, kind, shape, parts)


def norm_case(inputs, op, kind, shape, parts):
    x = inputs.floats(shape, kind, edges=False)
    if op == "layer_norm":
        x = round_to(x.astype(Wide) + 3, kind)
    n, epsilon = shape[-1], np.float32(1e-5)
    per_kind = {"scale": "f32", "bias": kind}
    arrays = {part: inputs.floats((n,), per_kind[part], edges=False)
              for part in parts}
    wide = x.astype(Wide)
    error = np.zeros(shape, Wide)
    if op == "layer_norm":
        mean = wide.mean(-1, keepdims=True)
        error = error + UNIT * (n + 3) * np.abs(wide).mean(-1, keepdims=True) \
            + UNIT * np.abs(wide - mean)
        wide = wide - mean
    variance = (wide * wide).mean(-1, keepdims=True)
    root = 1 / np.sqrt(variance + Wide(epsilon))
    y = wide * root
    # The variance's relative error, half of which the root has, from centring
    # and from the sum.
    relative = UNIT * (n + 6) / 2 + (
        (np.abs(wide) * error).mean(-1, keepdims=True)
        / np.maximum(variance, Wide(epsilon)))
    error = error * root + np.abs(y) * (relative + 4 * UNIT)
    # Vulkan's rsqrt is within 2 ulp, its division within 2.5.
    more = np.abs(y) * 6 * UNIT
    text = f"graph.{op} {{}}"
    b = Builder(op, kind)
    operand, types = b.slot(x, kind), []
    if "scale" in parts:
        scale = arrays["scale"].astype(Wide)
        y, error = y * scale, error * np.abs(scale) + UNIT * np.abs(y * scale)
        more = more * np.abs(scale)
    if "bias" in parts:
        y = y + arrays["bias"].astype(Wide)
        error = error + UNIT * np.abs(y)
    for part in parts:
        text += f" {part} {b.slot(arrays[part], per_kind[part])}"
        types.append((", " if op == "rms_norm" else f" {part} ")
                     + tensor((n,), per_kind[part]))
    text += f" epsilon {float(epsilon):.9g} : {tensor(shape, kind)}"
    value = b.value(text.format(operand) + "".join(types))
    b.output(value, kind, y, row_bound(y, error, kind, op, more))
    return b


def rope(inputs):
    for kind, angle_kind in (("f32", "f32"), ("f16", "f32"), ("bf16", "bf16")):
        for pairs in ("halves", "adjacent"):
            for outer, heads, width, rotated in (
                    ((), 1, 2, 2), ((2, 3), 4, 8, 8), ((2,), 3, 10, 6),
                    ((3,), 2, 5, 4), ((1, 1), 9, 64, 64)):
                yield rope_case(inputs, kind, angle_kind, pairs, outer, heads,
                                width, rotated)


def rope_case(inputs, kind, angle_kind, pairs, outer, heads, width, rotated):
    shape = outer + (heads, width)
    x = inputs.floats(shape, kind, edges=False)
    angles = inputs.floats(outer + (rotated,), "f32", -3, 1.5,
                           edges=False).astype(Wide)
    cos = round_to(np.cos(angles), angle_kind)
    sin = round_to(np.sin(angles), angle_kind)
    index = np.arange(rotated)
    partner = (index ^ 1 if pairs == "adjacent"
               else (index + rotated // 2) % rotated)
    part = x[..., :rotated].astype(Wide)
    a = part * cos[..., None, :].astype(Wide)
    c = part[..., partner] * sin[..., None, :].astype(Wide)
    reference = x.astype(Wide)
    reference[..., :rotated] = a + c
    slack = np.zeros(shape, Wide)
    slack[..., :rotated] = 2 * UNIT * (np.abs(a) + np.abs(c))
    b = Builder("rope", kind)
    values = [b.slot(x, kind), b.slot(cos, angle_kind), b.slot(sin, angle_kind)]
    y = b.value(f"graph.rope {pairs} {', '.join(values)} : "
                f"{tensor(shape, kind)}, {tensor(cos.shape, angle_kind)}")
    b.output(y, kind, reference, row_bound(reference, slack, kind, "rope"))
    return b


def attention(inputs):
    for kind, cache in (("f32", "f32"), ("f32", "f16"), ("f16", "f16"),
                        ("bf16", "f32")):
        for rows, tokens, heads, kv_heads, width, value_width, capacity in (
                (1, 1, 1, 1, 4, 4, 1), (1, 1, 9, 3, 8, 8, 17),
                (2, 3, 4, 2, 6, 5, 12), (2, 5, 2, 2, 16, 16, 33),
                (1, 7, 3, 1, 4, 2, 64), (2, 3, 4, 2, 12, 20, 19),
                (1, 11, 6, 2, 64, 32, 300)):
            for paged in (False, True):
                yield random_attention(inputs, kind, cache, rows, tokens, heads,
                                       kv_heads, width, value_width, capacity,
                                       paged)


def random_attention(inputs, kind, cache, rows, tokens, heads, kv_heads, width,
                     value_width, capacity, paged):
    q = inputs.floats((rows, tokens, heads, width), kind, -2, 1, edges=False)
    slots = rows * capacity + (5 if paged else 0)
    k = inputs.floats((slots, kv_heads, width), cache, -2, 1, edges=False)
    v = inputs.floats((slots, kv_heads, value_width), cache, edges=False)
    # Padding is -1, and counts as 0; the last may lie beyond.
    pos = inputs.ints((rows, tokens), "i32", -1, capacity + 1)
    table = np.arange(rows * capacity).reshape(rows, capacity)
    if paged:
        table = inputs.rng.permutation(slots)[
            :rows * capacity].reshape(rows, capacity)
    scale = np.float32(1 / math.sqrt(width))
    return attention_case(q, k, v, pos, table.astype(np.int32), scale, kind,
                          cache, paged)


def attention_case(q, k, v, pos, table, scale, kind, cache, paged):
    rows, tokens, heads, width = q.shape
    group = heads // k.shape[1]
    # Cached numbers are converted to the query's type.
    def lines(cached):
        return cached.astype(Wide)[table].repeat(group, 2)
    keys, values = lines(round_to(k, kind)), lines(round_to(v, kind))
    wide = q.astype(Wide)
    scores = np.einsum("rthd,rchd->rthc", wide, keys) * Wide(scale)
    magnitude = np.einsum("rthd,rchd->rthc", np.abs(wide), np.abs(keys))
    visible = (np.arange(table.shape[1])[None, None, None, :]
               <= np.maximum(pos, 0)[:, :, None, None])
    masked = np.where(visible, scores, -np.inf)
    weights, slack, more = softmax_of(masked)
    slack = np.where(visible, slack, 0)
    # exp takes the scores' errors to relative ones of the weights, and so does
    # the sum.
    score_error = np.where(
        visible, UNIT * ((width + 2) * magnitude * Wide(scale)), 0)
    slack = slack + weights * 2 * score_error.max(-1, keepdims=True)
    # Weights may be rounded to the query's type.
    if kind != "f32":
        slack = slack + ulp(weights, kind) / 2 * visible
    reference = np.einsum("rthc,rchv->rthv", weights, values)
    size = np.einsum("rthc,rchv->rthv", weights, np.abs(values))
    error = (np.einsum("rthc,rchv->rthv", slack, np.abs(values))
             + UNIT * (table.shape[1] + 2) * size)
    # A device may take keys and values as they are (G-attention-4).
    key_error = np.where(visible, np.einsum(
        "rthd,rchd->rthc", np.abs(wide), np.abs(lines(k) - keys)), 0)
    more = more + weights * 2 * Wide(scale) * key_error.max(-1, keepdims=True)
    more = (np.einsum("rthc,rchv->rthv", more, np.abs(values))
            + np.einsum("rthc,rchv->rthv", weights, np.abs(lines(v) - values)))
    b = Builder("attention", f"{kind}*{cache}")
    operands = [b.slot(q, kind), b.slot(k, cache), b.slot(v, cache),
                b.slot(pos, "i32")]
    types = [tensor(q.shape, kind), tensor(k.shape, cache),
             tensor(v.shape, cache), tensor(pos.shape, "i32")]
    slots = ""
    if paged:
        slots = f" slots {b.slot(table, 'i32')}"
        types.append(tensor(table.shape, "i32"))
    y = b.value(f"graph.attention {', '.join(operands)}{slots} scale "
                f"{float(scale):.9g} : {', '.join(types)} -> "
                f"{tensor(reference.shape, kind)}")
    b.output(y, kind, reference,
             row_bound(reference, error, kind, "attention", more))
    return b


def views(inputs):
    """Composites whose operands are views of slots, or constants."""
    for view in ("transposed", "sliced", "broadcast", "constant"):
        Builder.view = view
        inputs.repeats, inputs.splats = view == "broadcast", view == "constant"
        try:
            made = list(composites_of_views(inputs))
        finally:
            Builder.view, inputs.repeats, inputs.splats = "", False, False
        yield from made


def composites_of_views(inputs):
    for kind in ("f32", "f16"):
        for shape in ((3, 40), (2, 5, 7)):
            yield softmax_case(inputs.floats(shape, kind, edges=False), kind)
            yield norm_case(inputs, "rms_norm", kind, shape, ("scale",))
            yield norm_case(inputs, "layer_norm", kind, shape,
                            ("scale", "bias"))
        for pairs in ("halves", "adjacent"):
            yield rope_case(inputs, kind, "f32", pairs, (2, 3), 2, 12, 8)
        for stored in ("f32", "f16"):
            for shape, columns in (((3, 64), 9), ((2, 5, 36), 33)):
                yield float_contraction(inputs, kind, stored, "f32", shape,
                                        columns)
        for paged in (False, True):
            yield random_attention(inputs, kind, "f32", 2, 3, 4, 2, 8, 12, 20,
                                   paged)


COMPOSITES = [softmax, norms, rope, attention, views]


# --- Random words -------------------------------------------------------------

def philox4x32(key, counter):
    """Philox4x32-10 by the constants of Salmon et al., SC 2011."""
    key, counter = list(key), list(counter)
    for _ in range(10):
        high0, low0 = divmod(0xD2511F53 * counter[0], 2 ** 32)
        high1, low1 = divmod(0xCD9E8D57 * counter[2], 2 ** 32)
        counter = [high1 ^ counter[1] ^ key[0], low1,
                   high0 ^ counter[3] ^ key[1], low0]
        key = [(key[0] + 0x9E3779B9) % 2 ** 32,
               (key[1] + 0xBB67AE85) % 2 ** 32]
    return counter


# The known answers that Random123 publishes (kat_vectors): counter, key, words.
PHILOX_ANSWERS = [
    ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([2 ** 32 - 1] * 4, [2 ** 32 - 1] * 2,
     [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    ([0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
     [0xA4093822, 0x299F31D0],
     [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]),
]
for counter, key, words in PHILOX_ANSWERS:
    assert philox4x32(key, counter) == words


def random_bits(inputs):
    for shape in [(), (4,), (7,), (3, 5), (2, 1, 9), (1030,)]:
        for seed in [np.zeros(4, np.int32), inputs.ints((4,), "i32")]:
            count = math.prod(shape)
            key = [int(v) % 2 ** 32 for v in seed]
            words = [word for i in range((count + 3) // 4) for word in
                     philox4x32(key[:2], [i, 0, key[2], key[3]])]
            b = Builder("random_bits", "i32")
            y = b.value(f"graph.random_bits {b.slot(seed, 'i32')} : "
                        f"{tensor((4,), 'i32')} -> {tensor(shape, 'i32')}")
            b.output(y, "i32", np.array(words[:count], np.uint32).view(
                np.int32).reshape(shape))
            yield b


GROUPS = [unary, binary, compare_and_select, cast, constant_and_iota, moves,
          reduce, scan, arg_top_k, matmul, indexed_matmul, random_bits]


def all_cases(golden_folder, subnormals=lambda group: True, composites=False):
    """Every case, always the same. Those of packed weights need the file that
    `write_golden_gguf` makes of GOLDEN_FOLDER as weights. SUBNORMALS says for
    each group whether its inputs include subnormal numbers; COMPOSITES, whether
    the ops that only passes make have cases too."""
    with np.errstate(all="ignore"):
        for group in GROUPS + (COMPOSITES if composites else []):
            # A group's inputs don't depend on the other groups.
            inputs = Inputs(zlib.crc32(group.__name__.encode()),
                            subnormals(group))
            for number, builder in enumerate(group(inputs)):
                yield dataclasses.replace(builder.case(number),
                                          group=group.__name__)
        for number, builder in enumerate(packed(golden_folder)):
            yield dataclasses.replace(builder.case(number), group="packed")
        if composites:
            inputs = Inputs(zlib.crc32(b"stored_contractions"), False)
            for number, builder in enumerate(
                    stored_contractions(inputs, golden_folder)):
                yield dataclasses.replace(builder.case(number),
                                          group="stored_contractions")
