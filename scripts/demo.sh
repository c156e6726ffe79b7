#!/usr/bin/env bash
# Trains a small language model with compressed optimizer states beside uncompressed ones, and compares them.
#   scripts/demo.sh [--quick] [TEXT FILE] [ARGUMENT OF gesso_demo...]
# Without a text file the demo uses its own. Results go to build/demo.
set -euo pipefail
text=()
arguments=()
# The text file may lie relative to where the script was called. A word after any other option is that option's value.
if [ "${1-}" = --quick ]; then
  arguments+=(--quick)
  shift
fi
if [ -n "${1-}" ] && [ "${1#-}" = "$1" ]; then
  [ -f "$1" ] || { echo "no such text file: $1"; exit 1; }
  text=(--text "$(realpath "$1")")
  shift
fi
arguments+=("$@")
cd "$(dirname "$0")/.." || exit
# shellcheck source=scripts/setup.sh
source scripts/setup.sh

install_missing required "${compiler_packages[@]}" "${demo_packages[@]}"
check_cmake
detect_cuda
build=build/$preset
output=build/demo
mkdir -p "$build" "$output"

say "building the demo: preset $preset"
# The demo must not ask for what only the tests need; test.sh turns them on again.
options=()
[ -z "$(missing_of "${test_packages[@]}")" ] || options=(-DGESSO_BUILD_TESTS=OFF)
if ! cmake --preset "$preset" ${options[@]+"${options[@]}"} >"$build/configure.log" 2>&1; then
  cat "$build/configure.log"
  exit 1
fi
cmake --build --preset "$preset" -j "$(nproc)" --target gesso_demo

say "running the demo"
program=$(find "$build" -name gesso_demo -type f -perm -u+x | head -n 1)
"$program" --output "$output" ${text[@]+"${text[@]}"} ${arguments[@]+"${arguments[@]}"}

# The figures need matplotlib; the numbers are in build/demo either way. python3 on the PATH need not be the
# distribution's, which is the one that the package is for.
plot=examples/training/plot_losses.py
find_python() {
  local candidate
  for candidate in python3 /usr/bin/python3; do
    if "$candidate" -c 'import matplotlib' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
}
if [ -f "$plot" ]; then
  python=$(find_python)
  if [ -z "$python" ]; then
    install_missing optional python3-matplotlib:/usr/lib/python3/dist-packages/matplotlib
    python=$(find_python)
  fi
  if [ -n "$python" ]; then
    "$python" "$plot" "$output"
  else
    left_out+=("the demo's figures (package python3-matplotlib)")
  fi
fi
report_left_out
say "results: $output"
