# shellcheck shell=bash disable=SC2034 # sourced; the lists of packages are for the scripts
# Sourced by test.sh and demo.sh: finds out what the machine has, and installs what is missing where it may.
# Both scripts work without it where everything is installed already; nothing else is changed on the machine.

say() { printf '== %s\n' "$*"; }

# A package is taken as present when its command or file is there, however it came.
# missing_of PACKAGE:PROBE...: prints the packages that are missing.
missing_of() {
  local word probe
  for word in "$@"; do
    probe=${word#*:}
    case $probe in
      /*) [ -e "$probe" ] || echo "${word%%:*}" ;;
      *) command -v "$probe" >/dev/null || echo "${word%%:*}" ;;
    esac
  done
}

# Runs a command as root, if that can be had; sudo may ask for a password only where somebody can type it.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
    sudo "$@"
  else
    return 1
  fi
}

# install_missing required|optional PACKAGE:PROBE...
# Stops when a required package is missing and cannot be installed; says what an optional one costs and goes on.
install_missing() {
  local kind=$1 missing
  shift
  missing=$(missing_of "$@" | xargs)
  [ -n "$missing" ] || return 0
  if command -v apt-get >/dev/null; then
    say "installing: $missing"
    # shellcheck disable=SC2086 # a list of words
    as_root env DEBIAN_FRONTEND=noninteractive sh -c 'apt-get update -qq; apt-get install -y -qq --no-install-recommends "$@" >/dev/null' sh $missing || true
    missing=$(missing_of "$@" | xargs)
    [ -n "$missing" ] || return 0
  fi
  if [ "$kind" = required ]; then
    say "cannot go on without these packages: $missing"
    say "as root:  apt-get install $missing"
    exit 1
  fi
  left_out+=("what needs these packages, which could not be installed: $missing")
}

# What a run did not cover; printed at its end by report_left_out.
left_out=()

compiler_packages=(g++:g++ cmake:cmake ninja-build:ninja)
test_packages=(doctest-dev:/usr/include/doctest/doctest.h)
optional_test_packages=(libbenchmark-dev:/usr/include/benchmark/benchmark.h clang:clang++ python3:python3)
demo_packages=(libeigen3-dev:/usr/include/eigen3/Eigen/Core libcli11-dev:/usr/include/CLI/CLI.hpp
               nlohmann-json3-dev:/usr/include/nlohmann/json.hpp)

# Sets preset (host or device) by whether there is a CUDA toolkit, and says what the machine cannot do.
detect_cuda() {
  preset=host
  local nvcc
  nvcc=$(command -v nvcc || echo "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc")
  if [ -x "$nvcc" ]; then
    preset=device
    export CUDACXX=${CUDACXX:-$nvcc}
  else
    left_out+=("everything that needs a CUDA toolkit (no nvcc): kernels, header tests with nvcc and NVRTC")
  fi
  # Where a GPU is installed, a test that does not find it has failed, and must not count as skipped.
  if nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then
    export GESSO_REQUIRE_GPU=1
  elif [ "$preset" = device ]; then
    left_out+=("running the kernels (no GPU): they were compiled only")
  fi
}

# The presets with workflows need 3.25.
check_cmake() {
  local version
  version=$(cmake --version | sed -n '1s/[^0-9]*//p')
  if [ "$(printf '%s\n' 3.25 "$version" | sort -V | head -n 1)" != 3.25 ]; then
    say "CMake $version is too old, 3.25 is needed (Debian 12, Ubuntu 24.04)"
    exit 1
  fi
}

# add_left_out_of_build FOLDER: what CMake found missing while configuring.
add_left_out_of_build() {
  local line
  [ -s "$1/left_out.txt" ] || return 0
  while IFS= read -r line || [ -n "$line" ]; do left_out+=("$line"); done <"$1/left_out.txt"
}

report_left_out() {
  local what
  for what in "${left_out[@]}"; do say "left out: $what"; done
}
