#!/usr/bin/env bash
# From a model file to generated text: what `make demo` shows after the build.
# Fetches SmolLM2-135M-Instruct, or takes examples/tiny.gguf when it can't be
# had, compiles it to a Vulkan bundle and lets the bundle answer a question.
set -euo pipefail
cd "$(dirname "$0")/.."

question=${1:-What is the capital of France?}
if ! model=$(scripts/fetch_smollm2.sh); then
  echo "demo: SmolLM2 is not available; using examples/tiny.gguf, which knows" \
    "words but no facts"
  model=examples/tiny.gguf
fi

bundle=build/$(basename "${model%.gguf}").poot
echo "demo: compiling $(basename "$model")"
build/bin/poot-compile "$model" --target vulkan --target vulkan:cpu -o "$bundle"
echo "demo: $question"
build/bin/poot-llm "$bundle" --weights "$model" --prompt "$question" \
  -n 48 --greedy
