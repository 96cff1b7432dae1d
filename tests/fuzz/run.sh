#!/usr/bin/env bash
# run.sh SECONDS|build [TARGET…]: builds the fuzz targets (all, or those named) and runs each for SECONDS, two at a time.
# A line for each target; a target with a finding fails and its input stays in build/fuzz/findings/. The corpora
# grow in build/fuzz/corpus/ from run to run; inputs in tests/fuzz/regressions/<target>/ are always part of
# them.
set -euo pipefail
cd "$(dirname "$0")/../.."

usage() {
  echo "usage: tests/fuzz/run.sh SECONDS|build [TARGET…]" >&2
  exit 2
}
[ $# -ge 1 ] || usage
seconds=$1
shift
[[ $seconds =~ ^([1-9][0-9]*|build)$ ]] || usage

mapfile -t known < <(sed -n 's/^fuzz_target(\([a-z0-9_]*\) .*/\1/p' tests/fuzz/CMakeLists.txt)
targets=("$@")
[ $# -gt 0 ] || targets=("${known[@]}")
for target in "${targets[@]}"; do
  if [[ " ${known[*]} " != *" $target "* ]]; then
    echo "run.sh: no target '$target'; there are: ${known[*]}" >&2
    exit 2
  fi
done

if ! command -v clang++ >/dev/null ||
  ! echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' |
    clang++ -x c++ -fsanitize=fuzzer,address,undefined - -o /dev/null 2>/dev/null; then
  echo "run.sh: clang with its sanitizers is missing: install the packages clang and libclang-rt-dev" >&2
  exit 2
fi

out=build/fuzz
CC=clang CXX=clang++ conf/scripts/configure.sh "$out" -DLINEWARD_FUZZ=ON -DLINEWARD_WERROR=OFF \
  "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g1 -DNDEBUG"  # builds a minute sooner than -O2, and runs nearly as fast
if ! ninja -C "$out" "${targets[@]/#/fuzz_}" >"$out/build.log" 2>&1; then
  tail -n 40 "$out/build.log" >&2
  echo "run.sh: the fuzz targets do not build (whole log: $out/build.log)" >&2
  exit 2
fi

[ "$seconds" != build ] || exit 0

# seed TARGET PREFIX FILE…: the files behind the bytes that the target reads its choices from. Long files teach little.
seed() {
  local target=$1 prefix=$2 file name
  shift 2
  mkdir -p "$out/corpus/$target"
  for file in "$@"; do
    if [ ! -f "$file" ] || [ "$(stat -c %s "$file")" -gt 16384 ]; then continue; fi
    name=$out/corpus/$target/seed-$(basename "$(dirname "$file")")-$(basename "$file")
    [ -e "$name" ] || { printf '%b' "$prefix" && cat "$file"; } >"$name"
  done
}

seed_corpus() {
  local target=$1 data=tests/data file
  mkdir -p "$out/messages"
  split -l 1 -a 3 tests/fuzz/messages.seeds "$out/messages/"
  local json=("$out"/messages/* "$data"/jsontestsuite/*/*.json "$data"/mcp-bodies/*.json)
  local http=("$data"/http11probe/*.http "$data"/smuggler-te/*.http "$data"/llhttp/*.http)
  case $target in
    http_request) seed "$target" '\0\5' "${http[@]}" ;;
    chunked_body)
      mkdir -p "$out/bodies"
      for file in "${http[@]}"; do
        [ -e "$out/bodies/$(basename "$file")" ] || sed '1,/^\r*$/d' "$file" >"$out/bodies/$(basename "$file")"
      done
      find "$out/bodies" -size 0 -delete
      seed "$target" '\0\5' "$out"/bodies/*
      ;;
    sse) seed "$target" '\0\5' "$data"/sse-streams/*.sse ;;
    json_scan | message) seed "$target" '' "${json[@]}" "$data"/stdio-lines/* ;;
    splice) seed "$target" '\001\001' "${json[@]}" ;;
    rewrite | bridge) seed "$target" '\001' "${json[@]}" "$data"/stdio-lines/* ;;
    stdio_lines) seed "$target" '\0\5' "$data"/stdio-lines/* "$data"/mcp-bodies/*.json ;;
    config)
      seed "$target" '\0' conf/*.yaml
      seed "$target" '\001' conf/*.json
      ;;
    schema_walk)
      mkdir -p "$out/corpus/$target"
      printf '%s\n%s' '{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"},"o":{"properties":{"n":{"type":"integer","x-mcp-header":"N"}}}}}' \
        '{"a":"one","o":{"n":7}}' >"$out/corpus/$target/seed-params"
      printf '%s' '{"anyOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"$id":"own","$ref":"#"}}}' >"$out/corpus/$target/seed-references"
      ;;
    uri_forms)
      mkdir -p "$out/corpus/$target"
      for text in 'file:///a/b' 'file://localhost/a%2Fb?x#y' 'http://Example.com:80/a' 'http://127.0.0.1/x' 'memo:a/b' 'https://u@h/%41'; do
        printf '\002%s' "$text" >"$out/corpus/$target/seed-$(printf '%s' "$text" | cksum | cut -d' ' -f1)"
      done
      ;;
    exchange)
      mkdir -p "$out/corpus/$target"
      while IFS=: read -r number line; do
        printf '%b' "$line" >"$out/corpus/$target/seed-$number"
      done < <(grep -n '^[^#]' tests/fuzz/exchange.seeds)
      ;;
    *) mkdir -p "$out/corpus/$target" ;;
  esac
  if [ -d "tests/fuzz/regressions/$target" ]; then
    cp "tests/fuzz/regressions/$target"/* "$out/corpus/$target/"
  fi
}

declare -A dictionary=([http_request]=http [chunked_body]=http [sse]=sse [header_value]=header_value
  [json_scan]=json [message]=json [splice]=json [rewrite]=json [bridge]=json [stdio_lines]=json [schema_walk]=schema [uri_forms]=uri)

# If one byte stands for much work, short inputs find more.
declare -A longest=([sse]=4096 [exchange]=1024)

stat_of() { sed -n "s/^stat::$2: *//p" "$out/log/$1" | tail -n 1; }

run_target() {
  local target=$1 status=0 options=()
  local log=$out/log/$target
  [ -z "${dictionary[$target]:-}" ] || options+=("-dict=tests/fuzz/${dictionary[$target]}.dict")
  "$out/tests/fuzz/fuzz_$target" "$out/corpus/$target" "${options[@]}" -max_total_time="$seconds" -max_len="${longest[$target]:-16384}" \
    -rss_limit_mb=2048 -timeout=20 -print_final_stats=1 -artifact_prefix="$out/findings/$target-" >"$log" 2>&1 ||
    status=$?
  local executed rate
  executed=$(stat_of "$target" number_of_executed_units)
  rate=$(stat_of "$target" average_exec_per_sec)
  if [ "$status" -eq 0 ]; then
    printf '%-14s ok      %10s executions %8s/s  no finding\n' "$target" "$executed" "$rate"
    return 0
  fi
  printf '%-14s FAILED  %10s executions %8s/s  %s\n' "$target" "${executed:-?}" "${rate:-?}" \
    "$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)"
  grep -m 3 -E 'internal error|ERROR: |runtime error' "$log" | sed 's/^/    /' || true
  echo "    log: $log"
  return 1
}

mkdir -p "$out/log" "$out/findings"
symbolizer=$(command -v llvm-symbolizer llvm-symbolizer-14 | head -n 1 || true)
[ -z "$symbolizer" ] || export ASAN_SYMBOLIZER_PATH=$symbolizer
export UBSAN_OPTIONS=print_stacktrace=1

failed=0
running=0
finish_one() {
  wait -n || failed=$((failed + 1))
  running=$((running - 1))
}
for target in "${targets[@]}"; do
  seed_corpus "$target"
  [ "$running" -lt 2 ] || finish_one
  run_target "$target" &
  running=$((running + 1))
done
while [ "$running" -gt 0 ]; do finish_one; done

echo "$((${#targets[@]} - failed)) passed, $failed failed"
[ "$failed" -eq 0 ]
