"""compare_logits.py must accept what is right and refuse what is wrong."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

SCRIPT = pathlib.Path(__file__).with_name('compare_logits.py')
POSITIONS, VOCABULARY, TOLERANCE = 5, 300, 0.01


class CompareLogits(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.result = os.path.join(folder.name, 'result.npy')
        self.expected = os.path.join(folder.name, 'expected.npz')
        rng = np.random.default_rng(0)
        logits = rng.standard_normal((POSITIONS, VOCABULARY))
        logits[:, 7] = 9.0
        logits[:, 8] = 8.0
        self.logits = logits.astype(np.float32)
        order = np.argsort(-self.logits, axis=1, kind='stable')[:, :64]
        sample = np.sort(rng.choice(VOCABULARY, 64, replace=False))
        np.savez(self.expected, top_ids=order,
                 top_logits=np.take_along_axis(self.logits, order, 1),
                 logsumexp=np.log(np.exp(self.logits).sum(axis=1)),
                 sample_ids=sample, sample_logits=self.logits[:, sample])
        # An entry that only the logsumexp sees.
        self.unlisted = next(i for i in range(VOCABULARY)
                             if i not in sample and i not in order[2])

    def compare(self, logits, tolerance=TOLERANCE):
        np.save(self.result, logits)
        return subprocess.run(
            [sys.executable, SCRIPT, self.result, self.expected,
             '--tolerance', str(tolerance)], capture_output=True, text=True)

    def test_equal(self):
        done = self.compare(self.logits)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('5 of 5 equal', done.stdout)

    def test_within_tolerance(self):
        self.assertEqual(self.compare(self.logits + 0.009).returncode, 0)

    def test_beyond_tolerance(self):
        self.assertEqual(self.compare(self.logits + 0.011).returncode, 1)

    def test_one_wrong_logit(self):
        self.logits[3, 8] += 0.02
        done = self.compare(self.logits)
        self.assertEqual(done.returncode, 1)
        self.assertIn('TOO LARGE', done.stdout)

    def test_wrong_logit_that_is_not_listed(self):
        self.logits[2, self.unlisted] = 8.5
        self.assertEqual(self.compare(self.logits).returncode, 1)

    def test_wrong_token(self):
        self.logits[4, [7, 8]] = self.logits[4, [8, 7]]
        done = self.compare(self.logits)
        self.assertEqual(done.returncode, 1)
        self.assertIn('position 4: token 8, expected 7', done.stdout)

    def test_undecided_token_may_differ(self):
        # The margin is 1: below twice this tolerance at position 1 alone
        # nothing may be demanded, and elsewhere it still is.
        self.logits[:, 7] = 10.0
        with np.load(self.expected) as stored:
            data = dict(stored)
        data['top_logits'] = data['top_logits'].copy()
        data['top_logits'][:, 0] = 10.0
        data['top_logits'][1, 0] = 8.0
        data['logsumexp'] = np.log(np.exp(self.logits).sum(axis=1))
        data['sample_logits'] = self.logits[:, data['sample_ids']]
        swapped = self.logits.copy()
        swapped[1, [7, 8]] = 8.0, 8.3
        data['logsumexp'][1] = np.log(np.exp(swapped[1]).sum())
        data['sample_logits'][1] = swapped[1, data['sample_ids']]
        np.savez(self.expected, **data)
        done = self.compare(swapped, 0.4)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn('4 of 4 equal', done.stdout)

    def test_not_a_number(self):
        self.logits[0, 0] = np.nan
        self.assertEqual(self.compare(self.logits).returncode, 1)

    def test_wrong_shape(self):
        done = self.compare(self.logits[1:])
        self.assertEqual(done.returncode, 2)
        self.assertIn('shape (4, 300)', done.stderr)
        self.assertEqual(self.compare(self.logits[:, :50]).returncode, 2)

    def test_tolerance_that_decides_nothing(self):
        self.assertEqual(self.compare(self.logits, 100).returncode, 2)

    def test_unreadable_file(self):
        self.compare(self.logits)
        with open(self.result, 'wb') as file:
            file.write(b'nothing')
        done = subprocess.run(
            [sys.executable, SCRIPT, self.result, self.expected,
             '--tolerance', '1'], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertNotIn('Traceback', done.stderr)


if __name__ == '__main__':
    unittest.main()
