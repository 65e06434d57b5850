#!/usr/bin/env bash
# Installs what a fresh Debian 12 machine needs to build and test poot. Does
# nothing when everything is there, so that make can call it every time.
set -euo pipefail

packages=(
  # compiler and build
  clang-22 lld-22 llvm-22-dev libmlir-22-dev mlir-22-tools llvm-22-tools
  libclang-rt-22-dev libclang-22-dev clang-format-22 clangd-22
  cmake ninja-build make ccache mold git
  # libraries
  libflatbuffers-dev flatbuffers-compiler libcli11-dev libpcre2-dev
  libutf8proc-dev nlohmann-json3-dev libxxhash-dev libvulkan-dev
  # tests: frameworks, validators, two CPU Vulkan drivers, validation layers
  libgtest-dev librapidcheck-dev spirv-tools
  mesa-vulkan-drivers vulkan-validationlayers chromium-common
  python3 python3-venv
)

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
    missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "installing ${#missing[@]} packages: ${missing[*]}"
  sudo=; [ "$(id -u)" = 0 ] || sudo=sudo
  $sudo apt-get update -qq
  $sudo env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

# The Python side of the tests, at the versions they were written against.
top=$(cd "$(dirname "$0")/.." && pwd)
venv=$top/build/venv
if ! cmp -s "$top/test/requirements.txt" "$venv/requirements.txt"; then
  echo "preparing the Python environment of the tests"
  python3 -m venv "$venv"
  "$venv/bin/pip" install -q --disable-pip-version-check -r "$top/test/requirements.txt"
  cp "$top/test/requirements.txt" "$venv/requirements.txt"
fi
