"""Plain numpy quantizers for Q4_K and Q6_K, which the Python gguf package can
decode but not encode.

Takes float32 arrays whose last extent is a multiple of 256 and returns the
block bytes of GGUF, one row of bytes for each row. Scales are found by a small
search for the least squared error around the usual range-based start; the
point is a faithful and short encoder, not the best one.
"""

import numpy as np

BLOCK = 256


def _nearest_f16(x):
    return x.astype(np.float16).astype(np.float32)


def _divide(a, b):
    """a / b, and 0 where b is 0."""
    return np.divide(a, b, out=np.zeros_like(a), where=b != 0)


def _fit_min_max(x):
    """Scale and minimum of 32 values for x ~ scale * q - minimum, q in 0..15.

    x: (n, 32). Returns two (n,) arrays, both >= 0, as Q4_K needs: the range is
    widened to hold 0. Tries a few slightly narrower ranges and solves each for
    the best scale and minimum by least squares.
    """
    low = np.minimum(x.min(axis=1), 0)
    high = np.maximum(x.max(axis=1), 0)
    best_scale = (high - low) / 15
    best_minimum = -low
    best_error = np.full(len(x), np.inf, np.float32)
    for shrink in np.linspace(1.0, 0.7, 13, dtype=np.float32):
        start = (high - low) * shrink / 15
        offset = low * shrink
        q = np.clip(np.rint(_divide(x - offset[:, None], start[:, None]
                                    + np.zeros_like(x))), 0, 15)
        # Least squares for x = scale * q - minimum over the 32 values.
        q_mean, x_mean = q.mean(axis=1), x.mean(axis=1)
        covariance = (q * x).mean(axis=1) - q_mean * x_mean
        variance = (q * q).mean(axis=1) - q_mean * q_mean
        scale = _divide(covariance, variance)
        minimum = scale * q_mean - x_mean
        # A negative minimum is not representable: fit through 0 instead.
        through_zero = _divide((q * x).sum(axis=1), (q * q).sum(axis=1))
        scale = np.where(minimum < 0, through_zero, scale)
        minimum = np.maximum(minimum, 0)
        error = ((scale[:, None] * q - minimum[:, None] - x) ** 2).sum(axis=1)
        better = (error < best_error) & (scale > 0)
        best_error = np.where(better, error, best_error)
        best_scale = np.where(better, scale, best_scale)
        best_minimum = np.where(better, minimum, best_minimum)
    return best_scale, best_minimum


def quantize_q4_k(weights):
    """Q4_K: f16 d, f16 dmin, 8 pairs of 6-bit scale and minimum, 4-bit quants.

    Value: d * scale[j] * q - dmin * minimum[j] in sub-block j of 32.
    """
    rows, columns = weights.shape
    x = weights.astype(np.float32).reshape(-1, 8, 32)
    n = len(x)
    scale, minimum = _fit_min_max(x.reshape(-1, 32))
    scale, minimum = scale.reshape(n, 8), minimum.reshape(n, 8)

    d = _nearest_f16(scale.max(axis=1) / 63)
    dmin = _nearest_f16(minimum.max(axis=1) / 63)
    spread = np.zeros((n, 8), np.float32)
    s = np.clip(np.rint(_divide(scale, d[:, None] + spread)), 0, 63)
    m = np.clip(np.rint(_divide(minimum, dmin[:, None] + spread)), 0, 63)
    step = (d[:, None] * s)[:, :, None] + np.zeros_like(x)
    q = np.clip(np.rint(_divide(x + (dmin[:, None] * m)[:, :, None], step)),
                0, 15).astype(np.uint8)
    s, m = s.astype(np.uint8), m.astype(np.uint8)

    out = np.zeros((n, 144), np.uint8)
    out[:, 0:2] = d.astype('<f2').view(np.uint8).reshape(n, 2)
    out[:, 2:4] = dmin.astype('<f2').view(np.uint8).reshape(n, 2)
    # 12 bytes: the low four scales and minima whole in bytes 0-7, of the high
    # four the low nibbles in bytes 8-11 and the top two bits in bits 6-7 of
    # bytes 0-7.
    out[:, 4:8] = s[:, 0:4] | ((s[:, 4:8] >> 4) << 6)
    out[:, 8:12] = m[:, 0:4] | ((m[:, 4:8] >> 4) << 6)
    out[:, 12:16] = (s[:, 4:8] & 15) | ((m[:, 4:8] & 15) << 4)
    # Each 32 bytes hold 64 values: low nibbles first, then high nibbles.
    pairs = q.reshape(n, 4, 2, 32)
    out[:, 16:144] = (pairs[:, :, 0] | (pairs[:, :, 1] << 4)).reshape(n, 128)
    return out.reshape(rows, columns // BLOCK * 144)


def _fit_symmetric(x):
    """Scale of 16 values for x ~ scale * q, q in -32..31. x: (n, 16)."""
    index = np.abs(x).argmax(axis=1)
    # Signed, so that the largest value can land on -32, the wider side.
    extreme = np.take_along_axis(x, index[:, None], axis=1)[:, 0]
    best_scale = np.zeros(len(x), np.float32)
    best_error = np.full(len(x), np.inf, np.float32)
    for reach in np.arange(-33.0, -30.0, 0.25, dtype=np.float32):
        start = extreme / reach
        q = np.clip(np.rint(_divide(x, start[:, None] + np.zeros_like(x))),
                    -32, 31)
        scale = _divide((q * x).sum(axis=1), (q * q).sum(axis=1))
        error = ((scale[:, None] * q - x) ** 2).sum(axis=1)
        better = error < best_error
        best_error = np.where(better, error, best_error)
        best_scale = np.where(better, scale, best_scale)
    return best_scale


def quantize_q6_k(weights):
    """Q6_K: 6-bit quants in two planes, 16 signed 8-bit scales, f16 d.

    Value: d * scale[j] * (q - 32) in sub-block j of 16.
    """
    rows, columns = weights.shape
    x = weights.astype(np.float32).reshape(-1, 16, 16)
    n = len(x)
    scale = _fit_symmetric(x.reshape(-1, 16)).reshape(n, 16)

    index = np.abs(scale).argmax(axis=1)
    extreme = np.take_along_axis(scale, index[:, None], axis=1)[:, 0]
    d = _nearest_f16(extreme / -128)
    spread = np.zeros((n, 16), np.float32)
    s = np.clip(np.rint(_divide(scale, d[:, None] + spread)), -128, 127)
    step = (d[:, None] * s)[:, :, None] + np.zeros_like(x)
    q = (np.clip(np.rint(_divide(x, step)), -32, 31) + 32).astype(np.uint8)

    out = np.zeros((n, 210), np.uint8)
    # Each half of 128 values is four runs of 32: byte i of ql holds the low
    # nibbles of runs 0 and 2 (then 1 and 3), byte i of qh two bits of each run.
    halves = q.reshape(n, 2, 4, 32)
    low, high = halves & 15, halves >> 4
    out[:, 0:128] = (low[:, :, 0:2] | (low[:, :, 2:4] << 4)).reshape(n, 128)
    out[:, 128:192] = (high[:, :, 0] | (high[:, :, 1] << 2) |
                       (high[:, :, 2] << 4) | (high[:, :, 3] << 6)
                       ).reshape(n, 64)
    out[:, 192:208] = s.astype(np.int8).view(np.uint8)
    out[:, 208:210] = d.astype('<f2').view(np.uint8).reshape(n, 2)
    return out.reshape(rows, columns // BLOCK * 210)
