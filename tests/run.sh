#!/usr/bin/env bash
# run.sh all | unit [T] | wire [T] | threads | e2e | conformance | transports: builds with sanitizers, runs the suites, and closes with one line.
# TEST_MINUTES=N (.ci/run): of `all` the last suites are left out, by name, where they would not be over by then.
set -uo pipefail
cd "$(dirname "$0")/.."
what=${1:-all}
jobs=$(nproc)
waiting=$((jobs * 2))  # for suites with tests that wait more than they compute
idling=$((jobs * 3))   # and for those that mostly wait
export CCACHE_DEPEND=1  # a first build takes no second look at each file
asan=build/asan
passed=0
failed=0
skipped=0
known=0
broken=()
left_out=()
unsteady=()  # failed, and passed when they were run once more, alone
unsteady_bound=3
rerun_bound=20  # more failures than that at once are no unsteadiness

# With the time since the start, so that one sees what takes long.
say() { printf '\n== %s (%d:%02d)\n' "$*" $((SECONDS / 60)) $((SECONDS % 60)); }

# add NAME PASSED FAILED [SKIPPED]
add() {
  passed=$((passed + $2))
  failed=$((failed + $3))
  skipped=$((skipped + ${4:-0}))
  [ "$3" = 0 ] || broken+=("$1")
}

# A few failures may be unsteadiness; many are not, and what a sanitizer reports once is there.
worth_rerun() {  # FAILED LOG
  [ "$1" != 0 ] && [ "$1" -le $rerun_bound ] && ! grep -qE 'ERROR: (Address|Leak)Sanitizer|WARNING: ThreadSanitizer|runtime error:' "$2"
}

# unsteady SUITE NAME…: a test that failed and passed alone counts as passed, and is named at the end.
unsteady() {
  local suite=$1 name
  shift
  for name; do
    printf 'passed when run once more: %s\n' "$name"
    unsteady+=("$name ($suite)")
  done
}

# fits SECONDS NAME TARGET: is there time for a suite that takes so long where the first build takes 400 s? The build says
# how fast this machine is. The suites behind the first that does not fit are asked as well: a shorter one may.
build_took=400
fits() {
  [ -n "${TEST_MINUTES:-}" ] && [ $((SECONDS + $1 * build_took / 400)) -gt $((TEST_MINUTES * 60)) ] || return 0
  left_out+=("$2 ($3)")
  return 1
}

finish() {
  if [ ${#unsteady[@]} != 0 ]; then
    printf '\n'
    printf 'unsteady: %s\n' "${unsteady[@]}"
    [ ${#unsteady[@]} -le $unsteady_bound ] || add "more than $unsteady_bound unsteady tests" 0 1
  fi
  [ ${#left_out[@]} = 0 ] || printf 'left out, since TEST_MINUTES=%s would be over: %s\n' "$TEST_MINUTES" "$(printf '%s; ' "${left_out[@]}" | sed 's/; $//')"
  [ ${#broken[@]} = 0 ] || printf '\nfailed: %s\n' "${broken[*]}"
  local tail=
  [ "$skipped" = 0 ] || tail=", $skipped skipped"
  [ "$known" = 0 ] || tail="$tail, $known known to fail (tests/e2e/matrix/known.mjs)"
  printf '\n%d passed, %d failed%s\n' "$passed" "$failed" "$tail"
  [ "$failed" = 0 ] && [ "$passed" -gt 0 ]
  exit $?
}

# A warning is an error with the compilers of Debian 12, which CI has: a newer one warns of more.
werror() {  # COMPILER
  case $("$1" -dumpversion 2>/dev/null) in 12 | 12.* | 14.0.*) echo -DLINEWARD_WERROR=ON ;; *) echo -DLINEWARD_WERROR=OFF ;; esac
}

# Clang makes sanitized code in half of GCC's time. GCC has its turn with what users get: the build that is not sanitized.
build_asan() {  # [TARGET…]
  say "build with AddressSanitizer and UndefinedBehaviorSanitizer"
  CC=clang CXX=clang++ conf/scripts/configure.sh $asan -DCMAKE_BUILD_TYPE=Debug -DLINEWARD_TESTS=ON -DLINEWARD_SANITIZE=address,undefined "$(werror clang++)" &&
    cmake --build $asan -j "$jobs" ${1:+--target "$@"} || {
    add build 0 1
    finish
  }
  build_took=$SECONDS
}

ctest_suite() {  # NAME CTEST-ARGS…
  local name=$1 log
  shift
  say "$name"
  log=$(mktemp)
  ctest --test-dir $asan -j "$idling" --output-on-failure --no-tests=error "$@" 2>&1 | grep -vE '^ *Start +[0-9]+:|Passed +[0-9.]+ sec' | tee "$log"
  local total bad again=()
  total=$(sed -nE 's/.*tests passed, ([0-9]+) tests failed out of ([0-9]+)/\2 \1/p' "$log")
  if [ -z "$total" ]; then
    add "$name" 0 1
    rm -f "$log"
    return
  fi
  bad=${total#* }
  total=${total% *}
  if worth_rerun "$bad" "$log"; then
    say "$name: once more, alone"
    ctest --test-dir $asan -j 1 --rerun-failed --output-on-failure 2>&1 | grep -vE '^ *Start +[0-9]+:' | tee "$log"
    readarray -t again < <(sed -nE 's/^ *[0-9]+\/[0-9]+ +Test +#[0-9]+: (.*[^ .]) \.* +Passed +[0-9.]+ sec.*/\1/p' "$log")
    unsteady "$name" "${again[@]}"
    bad=$((bad - ${#again[@]}))
  fi
  rm -f "$log"
  add "$name" $((total - bad)) "$bad"
}

npm_peers() {
  [ -x tests/e2e/node_modules/.bin/conformance ] && [ tests/e2e/node_modules/.package-lock.json -nt tests/e2e/package-lock.json ] && return 0
  say "test peers from npm (tests/e2e/package-lock.json)"
  (cd tests/e2e && npm ci --no-audit --no-fund --loglevel=error) || {
    add "npm ci" 0 1
    finish
  }
}

node_run() {  # LOG LIST ARGS…: LIST gets the failed tests (tests/e2e/lib/failed-reporter.mjs)
  local log=$1 list=$2
  shift 2
  LINEWARD=$PWD/$asan/lineward tests/e2e/node.sh --test --test-reporter=spec --test-reporter-destination=stdout \
    --test-reporter=./tests/e2e/lib/failed-reporter.mjs --test-reporter-destination="$list" "$@" 2>&1 | tee "$log" |
    grep -E '✖|not ok|Error|expected|actual|^ℹ (pass|fail)' | head -200
}

node_passed() { sed -nE 's/^ℹ pass ([0-9]+)/\1/p' "$1" | tail -1; }
node_failed() { awk '/^ℹ (fail|cancelled) / {n += $3} END {print n + 0}' "$1"; }

node_suite() {  # NAME FILES…
  local name=$1 log list once count file test pattern files
  shift
  say "$name"
  log=$(mktemp)
  list=$(mktemp)
  once=$(mktemp)
  node_run "$log" "$list" --test-concurrency="$waiting" "$@"
  local pass fail
  pass=$(node_passed "$log")
  fail=$(node_failed "$log")
  if [ -z "$pass" ]; then
    add "$name" 0 1
  else
    if worth_rerun "$fail" "$log"; then
      say "$name: once more, alone"
      while IFS=$'\x1f' read -r count file test; do
        # If only a helper's file is known, the files that have the name in them, else all.
        files=("$file")
        [ -n "$file" ] || readarray -t files < <(grep -lF -e "$test" "$@")
        [ ${#files[@]} != 0 ] || files=("$@")
        pattern=()
        [ -z "$test" ] || pattern=(--test-name-pattern="/^$(printf '%s' "$test" | sed 's/[][\/.*^$+?(){}|]/\\&/g')\$/")
        node_run "$log" "$once" --test-concurrency=1 "${pattern[@]}" "${files[@]}" </dev/null
        if [ "$(node_passed "$log")" -gt 0 ] 2>/dev/null && [ "$(node_failed "$log")" = 0 ]; then
          unsteady "$name" "${test:-$file}"
          pass=$((pass + count))
          fail=$((fail - count))
        fi
      done < <(tr '\t' '\037' <"$list")  # read would take two tabs for one
    fi
    add "$name" "$pass" "$fail"
  fi
  rm -f "$log" "$list" "$once"
}

# A program of many cells, which closes with "NAME total: N passed, M failed[, K known … | , K not run …]" and says "✗ …"
# of each that failed. Failed cells run once more, alone: NAME_failed LOG lists them, each behind the number of failures
# that it stands for, and NAME_alone CELL runs one. The third number is left to the caller, in cells_known.
cells_suite() {  # NAME TITLE PROGRAM [ARGS…]
  local name=$1 title=$2 log sums cell bad
  shift 2
  say "$name: $title"
  cells_known=0
  log=$(mktemp)
  cells "$@" 2>&1 | tee "$log"
  sums=$(sed -nE "s/^$name total: ([0-9]+) passed, ([0-9]+) failed(, ([0-9]+) (known|not run))?.*/\1 \2 \4/p" "$log" | tail -1)
  if [ -z "$sums" ]; then add "$name" 0 1; else
    read -r -a sums <<<"$sums"
    if worth_rerun "${sums[1]}" "$log"; then
      say "$name: once more, alone"
      while read -r bad cell; do
        "${name}_alone" "$cell" </dev/null || continue
        unsteady "$name" "$cell"
        sums[0]=$((sums[0] + bad))
        sums[1]=$((sums[1] - bad))
      done < <("${name}_failed" "$log")
    fi
    add "$name" "${sums[0]}" "${sums[1]}"
    cells_known=${sums[2]:-0}
  fi
  rm -f "$log"
}
cells() { LINEWARD=$PWD/$asan/lineward tests/e2e/node.sh "$@"; }

matrix_failed() { sed -nE 's/^✗ ([^:]+: SDK .*)$/1 \1/p' "$1"; }
matrix_alone() { cells tests/e2e/matrix.mjs --feature "${1%%: *}" --only "${1#*: }"; }
matrix_suite() {
  cells_suite matrix "clients and servers of both SDK lines" tests/e2e/matrix.mjs
  known=$((known + cells_known))
}

# A request that passed a rule once is no unsteadiness: only requests that were not reached in time
# run again.
policies_failed() {
  grep -qE '^✗ .*(a rule forbids|one bucket|no secret)' "$1" || sed -nE 's/^✗ ([^ :]+): .*$/\1/p' "$1" | sort | uniq -c
}
policies_alone() { cells tests/e2e/policies.mjs --only "$1"; }
policies_suite() {
  cells_suite policies "rules, spellings, methods, roads and eras, with SDK servers as judges" tests/e2e/policies.mjs
}

roads_failed() { sed -nE 's/^✗ ([^ ]+)$/1 \1/p' "$1" | sort -u; }
roads_alone() { cells tests/e2e/roads.mjs --only "$1"; }
roads_suite() { cells_suite roads "every promise on every road" tests/e2e/roads.mjs; }

# ThreadSanitizer, with two workers wherever a script does not say otherwise, and in the same run the lines that unit and
# wire tests reach. The quick form does without these lines and without the modules that know no threads; its wire tests are
# those of HTTP, sessions, replicas, many servers and workers.
threads_build() {  # DIR [quick]
  local more=(-DLINEWARD_COVERAGE=ON "$(werror c++)")
  [ "${2:-}" != quick ] || {
    more=("-DLINEWARD_UNIT_MODULES=foundation/base;foundation/net;foundation/process;proxy/core;plugins/auth;plugins/rate_limit;plugins/tools;proxy/client/http;proxy/client/session;proxy/client/endpoint;proxy/upstream/http;proxy/upstream/stdio;proxy/upstream/shared;proxy/upstream/layers;proxy/cluster;proxy/aggregate;proxy/exchange;operate/admin" -DLINEWARD_WERROR=OFF)
    local -x CC=clang CXX=clang++  # in two thirds of the time
  }
  conf/scripts/configure.sh "$1" -DCMAKE_BUILD_TYPE=Debug -DLINEWARD_TESTS=ON -DLINEWARD_SANITIZE=thread "${more[@]}" &&
    cmake --build "$1" -j "$jobs"
}

threads_suite() {  # [quick]
  local asan=build/tsan which='^unit/|^wire/'
  [ "${1:-}" != quick ] || asan=build/tsan-quick which='^unit/|^wire/(00|10|50|55|60|65|68)_'
  say "build with ThreadSanitizer"
  threads_build $asan "$@" || {
    add "build with ThreadSanitizer" 0 1
    return
  }
  find $asan -name '*.gcda' -delete
  # The test left out compares what a child wrote, and a sanitized child that cannot be started writes more.
  LINEWARD_WORKERS=2 TSAN_OPTIONS="suppressions=$PWD/tests/tsan.supp" ctest_suite "unit, wire under ThreadSanitizer" -R "$which" -E 'cannot be run is told|selftest'
  [ "${1:-}" = quick ] || tests/coverage.sh $asan
}

# The first suites often wait, so the programs of the last ones are built beside them, with idle processor time. A
# session of its own would get half of it, idle or not, if the kernel shares by sessions. A failure here is
# repeated, and reported, at the suite that needs the program.
ahead=
build_ahead() {
  mkdir -p build
  rm -f build/ahead.threads
  setsid chrt --idle 0 bash -c '{ echo 19 >/proc/self/autogroup; } 2>/dev/null; exec tests/run.sh ahead' >build/ahead.log 2>&1 &
  ahead=$!
  trap 'kill -- -"$ahead" 2>/dev/null' EXIT
}
ahead_has_threads() {
  say "what is built beside: the one with ThreadSanitizer is waited for"
  while [ ! -e build/ahead.threads ] && kill -0 "$ahead" 2>/dev/null; do sleep 1; done
}
ahead_is_done() {
  say "what is built beside: waited for"
  wait "$ahead"
  trap - EXIT
}
# A program that cannot be used in time is not built any further: that takes processor time from the suites that run.
ahead_fits() {  # SECONDS of the suites until then, and of its own
  [ -z "${TEST_MINUTES:-}" ] || [ $((SECONDS + $1 * build_took / 400)) -le $((TEST_MINUTES * 60)) ]
}
ahead_is_gone=
ahead_is_not_wanted() {
  ahead_is_gone=yes
  kill -- -"$ahead" 2>/dev/null
  trap - EXIT
}

# Each core's program counts as one test. A fresh seed that fails is a defect, told and made smaller. It is named for a
# later look, and fails the run if there are more of them than of unsteady tests.
worlds_suite() {  # SECONDS
  say "simulated worlds from fresh seeds, $1 s on each core"
  local log sums
  log=$(mktemp)
  tests/sim/run.sh "$1" "$PWD/$asan/tests/sim/sim" 2>&1 | tee "$log"
  sums=$(awk '/ worlds from seed .* failed;/ { if (/, 0 failed;/) ++passed; else ++failed } END { print passed + 0, failed + 0 }' "$log")
  if [ "$sums" = "0 0" ] || grep -qE 'Sanitizer|ended the process' "$log"; then
    add "worlds" 0 1
  else
    while read -r seed; do unsteady+=("seed $seed (worlds)"); done < <(sed -nE 's/^seed ([0-9]+) FAILED.*/\1/p' "$log" | sort -u)
    add "worlds" $((${sums% *} + ${sums#* })) 0
  fi
  rm -f "$log"
}

fuzz_suite() {  # SECONDS
  say "fuzz, $1 s a target"
  local log line
  log=$(mktemp)
  tests/fuzz/run.sh "$1" 2>&1 | tee "$log"
  line=$(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$log" | tail -1)
  rm -f "$log"
  if [ -z "$line" ]; then add fuzz 0 1; else add fuzz ${line% *} ${line#* }; fi
}

faults_failed() { sed -nE 's/^✗ row ([0-9]+): .*$/1 \1/p' "$1"; }
faults_alone() { cells tests/faults/run.mjs --quick --rows "$1"; }
faults_suite() {
  cells_suite faults "fault experiments, quick form" tests/faults/run.mjs --quick
  skipped=$((skipped + cells_known))  # and those that cannot be run
}

# Instructions are repeatable on a busy machine too; what they were is in benchmarks/instructions.json.
instructions_suite() {
  say "instructions per call (make bench-check)"
  if CI=1 JOBS=$jobs benchmarks/check.sh; then add instructions 1 0; else add instructions 0 1; fi
}

# With the sanitized binary: what it adds to each step grows with nothing, and what grows is seen as well.
growth_failed() { sed -nE 's/^✗ (.*)$/1 \1/p' "$1"; }
growth_alone() { cells tests/growth/growth.mjs --exactly "$1"; }
growth_suite() {
  cells_suite growth "work with every dimension of every input" tests/growth/growth.mjs --repeats 2
  skipped=$((skipped + cells_known))
}

conformance_suite() {
  say "conformance"
  local log
  log=$(mktemp)
  LINEWARD=${1:-$PWD/$asan/lineward} tests/e2e/node.sh tests/e2e/conformance.mjs ${2:-} 2>&1 | tee "$log"
  local cells
  cells=$(sed -nE 's/.*conformance total: ([0-9]+) passed, ([0-9]+) failed.*/\1 \2/p' "$log" | tail -1)
  rm -f "$log"
  if [ -z "$cells" ]; then add conformance 0 1; else add conformance ${cells% *} ${cells#* }; fi
  say "conformance, Lineward as the client"
  log=$(mktemp)
  LINEWARD=${1:-$PWD/$asan/lineward} tests/e2e/node.sh tests/e2e/client-suite.mjs 2>&1 | tee "$log"
  cells=$(sed -nE 's/.*client suite total: ([0-9]+) passed, ([0-9]+) failed.*/\1 \2/p' "$log" | tail -1)
  rm -f "$log"
  if [ -z "$cells" ]; then add "client suite" 0 1; else add "client suite" ${cells% *} ${cells#* }; fi
}

# The same cases with two threads; `all` runs those where it matters most.
two_workers() {  # FILES…
  LINEWARD_WORKERS=2 node_suite "e2e with two workers" "$@"
}

# one_unit MODULE | MODULE/FILE: the tests of a module, or of one file of it, from its own program.
one_unit() {
  local module=${1#tests/unit/} file= tests
  module=${module%/}
  module=${module%_test.cc}
  if [ ! -d "tests/unit/$module" ]; then
    file=$(basename "$module")
    module=$(dirname "$module")
    [ -e "tests/unit/$module/${file}_test.cc" ] || {
      echo "there is no tests/unit/$1 and no tests/unit/$1_test.cc" >&2
      exit 2
    }
  fi
  tests=unit_${module//\//_}
  build_asan "$tests"
  say "$1"
  if "$asan/tests/$tests" ${file:+--filenames-as-tags "[#${file}_test]"}; then add "$1" 1 0; else add "$1" 0 1; fi
}

# one_wire FOLDER/NAME | FOLDER
one_wire() {
  local name=${1#tests/wire/}
  name=${name%.wire}
  build_asan lineward wire-runner
  ctest_suite "$1" -R "^(wire/)?${name%/}(/|\$)"
}

# The scripts that are not run over a transport, as one regular expression.
not_over() {
  local lists=(tests/wire/not_over_tls.txt)
  [ "$1" = tls ] || lists+=(tests/wire/not_over_http2.txt)
  grep -hv '^#' "${lists[@]}" | paste -sd'|'
}

case $what in
  unit) if [ -n "${2:-}" ]; then one_unit "$2"; else build_asan; ctest_suite unit -L unit; fi ;;
  wire) if [ -n "${2:-}" ]; then one_wire "$2"; else build_asan; ctest_suite wire -L 'wire|crosses'; fi ;;
  threads) threads_suite ;;
  ahead) threads_build build/tsan-quick quick; touch build/ahead.threads; tests/fuzz/run.sh build; exit ;;
  e2e)
    build_asan
    npm_peers
    node_suite e2e tests/e2e/*/*.test.mjs
    two_workers tests/e2e/cases/*.test.mjs
    matrix_suite
    roads_suite
    policies_suite
    ;;
  transports)
    build_asan
    npm_peers
    for transport in ${TRANSPORT:-tls h2}; do
      export LINEWARD_TRANSPORT=$transport
      WIRE_TRANSPORT=$transport ctest_suite "wire over $transport" -R '^wire/[0-9]' -E "$(not_over $transport)"
      node_suite "e2e over $transport" tests/e2e/cases/*.test.mjs
      conformance_suite
      matrix_suite
      roads_suite
    done
    ;;
  conformance) npm_peers; conformance_suite "$PWD/build/lineward" --beside ;;
  all)
    build_asan
    npm_peers
    build_ahead
    ctest_suite "unit, wire, crosses, lint, simulated worlds"
    worlds_suite "${SIM_SECONDS:-30}"
    ahead_fits 1400 || ahead_is_not_wanted
    node_suite e2e tests/e2e/*/*.test.mjs
    conformance_suite
    ! fits 260 roads "make e2e" || roads_suite
    ! fits 120 policies "make e2e" || policies_suite
    ! fits 70 matrix "make e2e" || matrix_suite
    if [ -n "$ahead_is_gone" ]; then
      left_out+=("unit and wire under ThreadSanitizer (make threads)" "fuzz (make fuzz)")
    elif fits 450 "unit and wire under ThreadSanitizer" "make threads"; then
      ahead_has_threads
      threads_suite quick
      if fits 100 fuzz "make fuzz"; then
        ahead_is_done
        fuzz_suite "${FUZZ_SECONDS:-10}"
      else
        ahead_is_not_wanted
      fi
    else
      ahead_is_not_wanted
      left_out+=("fuzz (make fuzz)")  # is built behind it
    fi
    ! fits 240 faults "make faults QUICK=1" || faults_suite
    if fits 200 "e2e with two workers" "make e2e"; then
      two_workers tests/e2e/cases/{legacy,legacy-on-modern,many-servers,modern,modern-subscriptions,operator,ops,reload,reload-http}.test.mjs
    fi
    ! fits 260 growth "make growth" || growth_suite
    ! fits 480 "instructions per call" "make bench-check" || instructions_suite
    ;;
  *) echo "usage: tests/run.sh all | unit | wire | threads | e2e | conformance" >&2; exit 2 ;;
esac
finish
