#!/usr/bin/env bash
# Installs the runtime to a fresh prefix, builds an outside project against it,
# and looks at what the library needs and weighs.
#   install_test.sh CMAKE BUILD_FOLDER SOURCE_FOLDER C_COMPILER CXX_COMPILER
set -euo pipefail
cmake=$1 build=$2 source=$3 cc=$4 cxx=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cmake" --install "$build" --prefix "$work/prefix" --component runtime >/dev/null
"$cmake" -S "$source/test/install" -B "$work/outside" -G Ninja \
  -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" \
  -DPOOT_EXAMPLE="$source/examples/run_bundle.c" >/dev/null
"$cmake" --build "$work/outside" >/dev/null
"$work/outside/outside-cpp"
"$work/outside/outside-c"

library=$(find "$work/prefix" -name 'libpoot-runtime.so' | head -1)
needed=$(ldd "$library")
if grep -iE 'llvm|mlir|clang|vulkan' <<<"$needed"; then
  echo "libpoot-runtime.so must need none of these" >&2
  exit 1
fi
strip -o "$work/stripped.so" "$library"
size=$(stat -c %s "$work/stripped.so")
echo "libpoot-runtime.so, stripped: $size bytes"
if [ "$size" -gt 1048576 ]; then
  echo "that is more than 1 MiB" >&2
  exit 1
fi
others=$(nm -D --defined-only "$library" | awk '$3 !~ /^poot_/ { print $3 }')
if [ -n "$others" ]; then
  echo "libpoot-runtime.so exports more than the C API: $others" >&2
  exit 1
fi

# The interpreter's library is found beside it, and asked for nothing else.
interpreter=$(find "$work/prefix" -name 'libpoot-interp.so.*' | head -1)
if [ -z "$interpreter" ]; then
  echo "libpoot-interp.so isn't installed" >&2
  exit 1
fi
others=$(nm -D --defined-only "$interpreter" | awk '$3 != "poot_interp" { print $3 }')
if [ -n "$others" ]; then
  echo "libpoot-interp.so exports more than its entry: $others" >&2
  exit 1
fi
