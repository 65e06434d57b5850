#!/usr/bin/env python3
"""Compares logits that poot computed with expected ones.

Takes RESULT.npy, float32 (n, vocabulary), row i being the logits after the
first i + 1 tokens, and EXPECTED.npz of make_logits.py for the same tokens.
Compares all that the file holds: the largest 64 logits of each position, a
sample of 64 vocabulary entries, and the logsumexp over the whole vocabulary.
The most likely token must be the expected one wherever the expected margin
over the second exceeds twice the tolerance; below that two right
implementations may differ.

Exits with 0 when everything holds, 1 when it does not, 2 when the files cannot
be compared.
"""

import argparse
import sys

import numpy as np


def fail(message):
    print(f'compare_logits: error: {message}', file=sys.stderr)
    sys.exit(2)


def load(path):
    try:
        return np.load(path)
    except (OSError, ValueError) as error:
        fail(f'{path}: {error}')


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('result', metavar='RESULT.npy')
    parser.add_argument('expected', metavar='EXPECTED.npz')
    parser.add_argument('--tolerance', type=float, required=True,
                        help='largest allowed absolute difference of a logit')
    options = parser.parse_args()
    if not options.tolerance > 0:
        fail(f'--tolerance must be positive, not {options.tolerance}')

    result = load(options.result)
    expected = load(options.expected)
    if not isinstance(result, np.ndarray):
        fail(f'{options.result} is not a single array')
    if isinstance(expected, np.ndarray) or 'top_ids' not in expected:
        fail(f'{options.expected} was not written by make_logits.py')
    top_ids, sample_ids = expected['top_ids'], expected['sample_ids']
    positions = len(top_ids)
    if result.ndim != 2 or len(result) != positions:
        fail(f'{options.result} has shape {result.shape}, '
             f'{options.expected} has {positions} positions')
    if result.shape[1] <= max(top_ids.max(), sample_ids.max()):
        fail(f'{options.result} has only {result.shape[1]} logits a position')

    result = result.astype(np.float64)
    largest = result.max(axis=1)
    logsumexp = largest + np.log(
        np.exp(result - largest[:, None]).sum(axis=1))
    differences = {
        'top 64': np.take_along_axis(result, top_ids.astype(np.int64), 1) -
        expected['top_logits'],
        'sample of 64': result[:, sample_ids] - expected['sample_logits'],
        'logsumexp': logsumexp - expected['logsumexp'],
    }
    good = True
    for name, difference in differences.items():
        difference = np.abs(difference)
        # Written so that NaN counts as a violation.
        within = bool((difference <= options.tolerance).all())
        good = good and within
        print(f'{name:13} largest difference {difference.max():.3e}  '
              f'mean {difference.mean():.3e}  '
              f'{"ok" if within else "TOO LARGE"}')

    top = expected['top_logits']
    decided = top[:, 0] - top[:, 1] > 2 * options.tolerance
    equal = result.argmax(axis=1) == top_ids[:, 0]
    wrong = np.flatnonzero(decided & ~equal)
    print(f'tokens        {int((decided & equal).sum())} of '
          f'{int(decided.sum())} equal where the margin exceeds '
          f'{2 * options.tolerance:g}; {int(equal.sum())} of {positions} '
          'in all')
    for position in wrong[:10]:
        print(f'  position {position}: token {result[position].argmax()}, '
              f'expected {top_ids[position, 0]} '
              f'(margin {top[position, 0] - top[position, 1]:.4f})')
    if not decided.any():
        fail(f'the tolerance {options.tolerance:g} leaves no position whose '
             'token is decided')
    sys.exit(0 if good and not len(wrong) else 1)


if __name__ == '__main__':
    main()
