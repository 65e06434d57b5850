#!/usr/bin/env bash
# Compiles a model for a target, runs texts through the bundle, and compares with what
# test/reference/ expects: teacher-forced logits within 0.01, and the greedy
# answer to a question. The expected values come from another implementation.
#
# usage: reference_test.sh BIN PYTHON SCRATCH TARGET MODEL.gguf PREFIX QUESTION
#          TEXT...
# QUESTION and TEXTs name files of test/reference/. Exits with 77, which ctest
# reads as "skipped", when the model is missing.
set -euo pipefail

bin=$1 python=$2 scratch=$3 target=$4 model=$5 prefix=$6 question=$7
shift 7
reference=$(cd "$(dirname "$0")/../../../test/reference" && pwd)

if [ ! -f "$model" ]; then
  echo "skipped: $model is missing; scripts/fetch_smollm2.sh gets SmolLM2"
  exit 77
fi
rm -rf "$scratch"
mkdir -p "$scratch"

"$bin/poot-compile" "$model" --target "$target" --capacity 256 \
  -o "$scratch/m.poot"

for text in "$@"; do
  "$python" - "$reference/expected/$prefix-$text.npz" "$scratch/ids.npy" <<'PYTHON'
import sys, numpy
numpy.save(sys.argv[2], numpy.load(sys.argv[1])["tokens"])
PYTHON
  "$bin/poot-llm" "$scratch/m.poot" --weights "$model" \
    --tokens "$scratch/ids.npy" -n 0 --logits "$scratch/logits.npy"
  "$python" "$reference/compare_logits.py" "$scratch/logits.npy" \
    "$reference/expected/$prefix-$text.npz" --tolerance 0.01
done

# The expected answer goes on after an end token; what comes before must be the
# same. Its margins are far above what two right implementations differ by.
"$bin/poot-llm" "$scratch/m.poot" --weights "$model" --raw --prompt - -n 24 \
  --greedy <"$reference/texts/$question.txt" >"$scratch/answer.txt"
"$python" - "$reference/expected/$prefix-$question-greedy.json" \
  "$scratch/answer.txt" <<'PYTHON'
import json, sys
expected = json.load(open(sys.argv[1]))
answer = open(sys.argv[2]).read().rstrip("\n")
print("answer:", answer)
assert len(answer) >= 20, "too short to mean anything"
assert min(expected["margins"][:24]) > 0.001, "the expected text is no test"
assert expected["text"].startswith(answer), "expected: " + expected["text"]
PYTHON
