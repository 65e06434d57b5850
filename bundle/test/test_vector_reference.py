#!/usr/bin/env python3
"""Prints values of the test vectors' generator, worked out from the formula in
test_vector.h independently of test_vector.cpp, as the lines of
TestVector.GeneratorIsFrozen. Needs numpy for its f16."""

import math
import struct

import numpy

MASK = (1 << 64) - 1


def mix(x):
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & MASK
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def random(seed, i):
    return mix((mix(seed) + (i + 1) * 0x9E3779B97F4A7C15) & MASK)


def uniform(seed, i, low, high):
    # Python's doubles are IEEE 754 and never fused.
    return low + (high - low) * ((random(seed, i) >> 11) * 2.0**-53)


def expect(call, data):
    print(f"  EXPECT_EQ({call},")
    print("            (std::vector<uint8_t>{"
          + ", ".join(f"0x{byte:02x}" for byte in data) + "}));")


for seed, i in [(0, 0), (1, 0), (1, 1), (MASK, 1 << 40)]:
    print(f"  EXPECT_EQ(testRandom({seed}u, {i}u), {random(seed, i):#x}u);")
values = [uniform(5, i, -3.0, 0.7) for i in range(3)]
expect('filled("f32", fb::Fill::Uniform, -3, 0.7, 12, 5)',
       struct.pack("<3f", *values))
expect('filled("f16", fb::Fill::Uniform, -3, 0.7, 6, 5)',
       numpy.array(values, numpy.float32).astype(numpy.float16).tobytes())
expect('filled("f64", fb::Fill::Uniform, -3, 0.7, 8, 5)',
       struct.pack("<d", values[0]))
expect('filled("i16", fb::Fill::UniformInt, -300, 800, 6, 5)',
       struct.pack("<3h", *(-300 + random(5, i) % 1101 for i in range(3))))
data = bytearray(random(9, i // 8) >> 8 * (i % 8) & 255 for i in range(36))
expect('filled("", fb::Fill::Bytes, 0, 0, 11, 9)', data[:11])
for block in range(2):
    scale = uniform(MASK ^ 9, block, 0.25, 0.5)
    data[18 * block:18 * block + 2] = numpy.float16(
        numpy.float32(scale)).tobytes()
expect('filled("q4_0", fb::Fill::Bytes, 0.25, 0.5, 36, 9)', data)

numbers, step = 12, 1 + random(8, 1) % 12
while math.gcd(step, numbers) != 1:
    step += 1
expect('filled("i16", fb::Fill::Permutation, -1, 10, 24, 8)',
       struct.pack("<12h", *(-1 + (random(8, 0) + i * step) % numbers
                             for i in range(12))))
planar = bytearray()
for block in range(2):
    scale, codes = data[18 * block:18 * block + 2], data[18 * block + 2:][:16]
    codes = [code & 15 for code in codes] + [code >> 4 for code in codes]
    planar += bytes(codes[i] | codes[i + 1] << 4 for i in range(0, 32, 2))
    planar += scale + bytes(14)
expect('filled("q4_0", fb::Fill::Bytes, 0.25, 0.5, 64, 9, 32)', planar)
