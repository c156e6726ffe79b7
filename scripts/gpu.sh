#!/usr/bin/env bash
# All that needs a GPU, in one run: every GPU test, the four tools of compute-sanitizer, the benchmarks,
# PyTorch beside them, and the hashes of the exact mode's bytes.
#   scripts/gpu.sh [OPTION...] FOLDER      results go to FOLDER, at most 8 files; the log of each step goes there too
#     --prebuilt DIR     run the programs in DIR instead of building; may be given more than once
#     --pack DIR         build the programs into DIR, for --prebuilt elsewhere, and run nothing (needs no FOLDER)
#     --only LIST        of tests,benchmarks,peers,sanitizer: comma-separated; by default all, in this order
#     --commit HASH      what the programs were built from, where git cannot say
#     --small            every benchmark for a moment, to see whether it runs
# No step stops the ones after it. Exit status 0 means: nothing failed. Needs no network; root or not.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

say() { printf '== %s\n' "$*"; }

prebuilt=()
pack=
only=tests,benchmarks,peers,sanitizer
commit=
small=0
output=
while [ $# -gt 0 ]; do
  case $1 in
    --prebuilt) prebuilt+=("$(realpath "$2")"); shift ;;
    --pack) pack=$2; shift ;;
    --only) only=$2; shift ;;
    --commit) commit=$2; shift ;;
    --small) small=1 ;;
    -*) say "no such option: $1"; exit 2 ;;
    *) output=$1 ;;
  esac
  shift
done
wants() { [[ ,$only, == *",$1,"* ]]; }
[ -n "$output$pack" ] || { sed -n '2,12s/^# \{0,1\}//p' "$0"; exit 2; }

# The number of programs side by side; the benchmarks run alone. Tests that ask for most of the memory may not
# meet.
jobs=$(nproc)
[ "$jobs" -le 16 ] || jobs=16
test_jobs=3

if [ -z "$commit" ]; then
  for folder in ${prebuilt[@]+"${prebuilt[@]}"}; do
    [ -z "$commit" ] && [ -f "$folder/commit.txt" ] && commit=$(cat "$folder/commit.txt")
  done
fi
if [ -z "$commit" ]; then
  commit=$(git rev-parse HEAD 2>/dev/null || echo unknown)
  if [ -n "$(git status --porcelain --untracked-files=no 2>/dev/null)" ]; then commit+=-modified; fi
fi

# The targets of a build folder that match a pattern.
targets_of() { ninja -C "$1" -t targets all | sed -n "s/^\($2\): .*/\1/p" | sort -u; }

# build_preset PRESET PATTERN [CMAKE ARGUMENT...]: the programs of a preset that need a GPU.
build_preset() {
  local preset=$1 pattern=$2
  shift 2
  cmake --preset "$preset" -B "build/gpu/$preset" "$@" || return
  # shellcheck disable=SC2046 # target names have no spaces
  cmake --build "build/gpu/$preset" -j "$jobs" -- -k 0 $(targets_of "build/gpu/$preset" "$pattern")
}
build_all() {
  local status=0
  # One architecture is enough for this machine, or for the one that the pack is for.
  local architectures=-DCMAKE_CUDA_ARCHITECTURES=${GESSO_ARCHITECTURES:-90}
  build_preset device '\(test\.[^:/]*\.cu\|test\.[^:/]*\.device\|example\.[^:/]*\)' "$architectures" \
    -DGESSO_BUILD_BENCHMARKS=OFF || status=1
  build_preset bench 'bench\.[^:/]*\.cu' "$architectures" || status=1
  return "$status"
}
# programs KIND (test, bench or example): paths, one a line.
programs() {
  local folders=("${prebuilt[@]}")
  [ "${#folders[@]}" -gt 0 ] || folders=(build/gpu)
  local names=(-name "$1.*.cu")
  if [ "$1" = test ]; then names+=(-o -name 'test.*.device'); fi
  if [ "$1" = example ]; then
    names=(-false)
    local source
    for source in examples/*.cu; do names+=(-o -name "example.$(basename "$source" .cu)"); done
  fi
  find "${folders[@]}" -type f -perm -u+x \( "${names[@]}" \) | sort
}

if [ -n "$pack" ]; then
  mkdir -p "$pack"
  build_all
  status=$?
  for kind in test bench example; do
    while IFS= read -r program; do cp "$program" "$pack/"; done < <(programs "$kind")
  done
  strip --strip-unneeded "$pack"/test.* "$pack"/bench.* 2>/dev/null
  # Google Benchmark is a shared library here and may be another version there.
  library=$(ldd "$pack"/bench.*.cu 2>/dev/null | sed -n 's/.*=> \(.*libbenchmark[^ ]*\) .*/\1/p' | head -n 1)
  [ -z "$library" ] || cp -L "$library" "$pack/"
  echo "$commit" >"$pack/commit.txt"
  say "packed: $(find "$pack" -type f | wc -l) files, $(du -sm "$pack" | cut -f1) MiB, from $commit"
  exit "$status"
fi

mkdir -p "$output" || exit
output=$(realpath "$output")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for folder in ${prebuilt[@]+"${prebuilt[@]}"}; do
  LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  # A copy may have lost the mark, or the folder may be read-only.
  chmod u+x "$folder"/test.* "$folder"/bench.* "$folder"/example.* 2>/dev/null
done
export LD_LIBRARY_PATH=${LD_LIBRARY_PATH-}
export GESSO_REQUIRE_GPU=1
[ "$small" = 0 ] || export GESSO_SMALL=1

log=$output/log.txt
: >"$log"
: >"$work/steps"
gpu=$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null | head -n 1)

write_summary() {
  {
    printf '{\n "commit": "%s",\n "gpu": "%s",\n "date": "%s",\n "steps": [\n' \
      "$commit" "${gpu:-none}" "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
    sed '$!s/$/,/' "$work/steps"
    printf ' ]\n}\n'
  } >"$output/summary.json"
}
# record NAME STATUS SECONDS: one line of the log and of the summary. 0 is good, 77 skipped, 124 ran out of
# time.
record() {
  printf '  {"step": "%s", "status": %d, "seconds": %d}\n' "$1" "$2" "$3" >>"$work/steps"
  printf '%-60s status %3d, %4d s\n' "$1" "$2" "$3" | tee -a "$log"
  write_summary
}
# step NAME LIMIT FILE COMMAND...: runs a command under a time limit; its output goes to FILE.
step() {
  local name=$1 limit=$2 file=$3 begin status
  shift 3
  begin=$(date +%s)
  timeout --kill-after=10 "$limit" "$@" >"$file" 2>&1 </dev/null
  status=$?
  # Under its name only when it is whole: another step may be looking.
  echo "$status $(($(date +%s) - begin)) $name" >"$file.part"
  mv "$file.part" "$file.status"
  return 0
}
# collect FILE LOG: what a step said goes to a log, at most 200 KB, and its status to the summary.
collect() {
  local status seconds name
  read -r status seconds name <"$1.status"
  record "$name" "$status" "$seconds"
  {
    printf '\n==== %s: status %d, %d s\n' "$name" "$status" "$seconds"
    head -c 100000 "$1"
    if [ "$(stat -c %s "$1")" -gt 200000 ]; then printf '\n[...]\n'; tail -c 100000 "$1"; fi
  } >>"$2"
}
# Steps side by side: start_step LOG ROOM NAME LIMIT COMMAND... waits until fewer than ROOM run. What has
# ended is collected at once, so that a run that is cut off leaves what it had.
pending=()
reap() {
  local file still=()
  for file in ${pending[@]+"${pending[@]}"}; do
    if [ -f "$file.status" ]; then collect "$file" "$1"; else still+=("$file"); fi
  done
  pending=(${still[@]+"${still[@]}"})
}
step_count=0
start_step() {
  local log_of_steps=$1 room=$2 file
  shift 2
  while [ "$(jobs -rp | wc -l)" -ge "$room" ]; do
    wait -n
    reap "$log_of_steps"
  done
  file=$work/step.$((step_count += 1))
  pending+=("$file")
  step "$1" "$2" "$file" "${@:3}" &
}
finish_steps() {
  while [ "$(jobs -rp | wc -l)" -gt 0 ]; do
    wait -n
    reap "$1"
  done
  wait
  reap "$1"
}

if [ "${#prebuilt[@]}" = 0 ]; then
  say "building"
  begin=$(date +%s)
  build_all >"$work/build.txt" 2>&1
  status=$?
  tail -c 100000 "$work/build.txt" >"$output/build.txt"
  record build "$status" "$(($(date +%s) - begin))"
fi
mapfile -t tests < <(programs test)
mapfile -t examples < <(programs example)
mapfile -t benches < <(programs bench)

if wants tests; then
  say "tests"
  for program in ${tests[@]+"${tests[@]}"} ${examples[@]+"${examples[@]}"}; do
    variables=()
    if [[ $program == *exact_bytes*.device ]]; then
      variables=(GESSO_EXPECTED_BYTES="$PWD/tests/exact_bytes/expected.txt")
    fi
    if [[ $program == *exact_bytes.device ]]; then
      variables+=(GESSO_HASHES_JSON="$output/exact_bytes.json")
    fi
    start_step "$output/tests.txt" "$test_jobs" "test: $(basename "$program")" 200 \
      env ${variables[@]+"${variables[@]}"} "$program"
  done
  finish_steps "$output/tests.txt"
  [ "${#tests[@]}" -gt 0 ] || record "test: no programs found" 1 0
fi

if wants benchmarks; then
  say "benchmarks"
  merged=()
  for program in ${benches[@]+"${benches[@]}"}; do
    name=$(basename "$program")
    step "benchmark: $name" 150 "$work/$name" "$program" --benchmark_context=commit="$commit" \
      --benchmark_out="$work/$name.json" --benchmark_out_format=json --benchmark_counters_tabular=false
    # The program ends well even where a case could not run.
    if [ -f "$work/$name.json" ] && grep -q '"error_occurred": true' "$work/$name.json"; then
      sed -i '1s/^0 /1 /' "$work/$name.status"
    fi
    collect "$work/$name" "$output/tests.txt"
    if [ -s "$work/$name.json" ]; then merged+=("$work/$name.json"); fi
    if [ "${#merged[@]}" -gt 0 ]; then
      python3 scripts/benchmark_tables.py --merge "$output/benchmarks.json" "${merged[@]}" ||
        record "benchmark: JSON of $name" 1 0
    fi
  done
  [ "${#benches[@]}" -gt 0 ] || record "benchmark: no programs found" 1 0
fi

if wants peers; then
  say "peers"
  options=(--commit "$commit")
  [ "$small" = 0 ] || options+=(--small)
  step "peer: PyTorch's fused AdamW" 150 "$work/torch" \
    python3 bench/peers/torch_adamw.py "$output/peers.json" "${options[@]}"
  collect "$work/torch" "$output/tests.txt"
fi

if wants sanitizer; then
  say "sanitizer"
  sanitizer=$(command -v compute-sanitizer || echo "${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer")
  if [ ! -x "$sanitizer" ]; then
    record "sanitizer: no compute-sanitizer" 1 0
  else
    for tool in memcheck racecheck initcheck synccheck; do
      checked=(${tests[@]+"${tests[@]}"} ${examples[@]+"${examples[@]}"})
      # The benchmarks' own kernels are few: one tool is enough for them.
      if [ "$tool" = memcheck ]; then checked+=(${benches[@]+"${benches[@]}"}); fi
      for program in "${checked[@]}"; do
        # Small sizes, odd shapes included.
        start_step "$output/sanitizer.txt" "$jobs" "$tool: $(basename "$program")" 240 \
          env GESSO_SMALL=1 "$sanitizer" --tool "$tool" --error-exitcode 99 --print-limit 10 "$program"
      done
    done
    finish_steps "$output/sanitizer.txt"
  fi
fi

failed=$(grep -vc '"status": \(0\|77\),' "$work/steps")
say "commit $commit, GPU ${gpu:-none}"
printf '%d steps, %d failed\n' "$(wc -l <"$work/steps")" "$failed"
grep -v '"status": \(0\|77\),' "$work/steps" | sed 's/^ */   /'
[ "$failed" = 0 ]
