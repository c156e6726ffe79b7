#!/usr/bin/env bash
# Builds everything that this machine can build and runs all the tests.
#   scripts/test.sh [CTEST ARGUMENT...]      for example: scripts/test.sh -L host -R encoding
# The last line is `N passed, N failed, N skipped`. Exit status 0 means: nothing failed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
# shellcheck source=scripts/setup.sh
source scripts/setup.sh

install_missing required "${compiler_packages[@]}" "${test_packages[@]}"
install_missing optional "${optional_test_packages[@]}" "${demo_packages[@]}"
check_cmake
detect_cuda
build=build/$preset
jobs=$(nproc)
log=$build/ctest.log

say "configuring and building: preset $preset, $jobs jobs"
mkdir -p "$build"
build_failed=0
if cmake --preset "$preset" >"$build/configure.log" 2>&1; then
  # -k 0: one file that does not compile must not keep the other tests from running.
  cmake --build --preset "$preset" -j "$jobs" -- -k 0 || build_failed=1
else
  cat "$build/configure.log"
  build_failed=1
fi
add_left_out_of_build "$build"

say "running the tests"
ctest --preset "$preset" -j "$jobs" "$@" 2>&1 | tee "$log"
ctest_status=${PIPESTATUS[0]}

# ctest's own summary. A test whose program is missing counts among its failed ones; a skipped one among its passed.
total=$(sed -n 's/.* tests failed out of \([0-9]*\)$/\1/p' "$log")
failed=$(sed -n 's/.* \([0-9]*\) tests failed out of .*/\1/p' "$log")
skipped=$(grep -c '\*\*\*Skipped' "$log")
if [ -z "$total" ]; then
  say "ctest gave no summary"
  total=1 failed=1 skipped=0
elif [ "$failed" = 0 ] && { [ "$ctest_status" != 0 ] || [ "$build_failed" = 1 ]; }; then
  # Something broke that no test stands for: an example's or a benchmark's build, or ctest itself.
  say "no test failed, but the build or ctest did: counted as one failed test"
  total=$((total + 1)) failed=1
fi
passed=$((total - failed - skipped))
[ "$build_failed" = 0 ] || say "the build failed, see above"

report_left_out
[ "$skipped" = 0 ] || say "skipped: $skipped tests need a GPU"
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" = 0 ]
