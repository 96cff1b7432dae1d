#!/usr/bin/env bash
# run.sh [--seconds N] [--quick] [--few] [--again] [--touched] [--table] [--list] [--worlds] [MODULE | MODULE/NAME]…
# Plants each bug of tests/mutants alone, builds, and looks which suite finds it (README.md). The suites are: the last finder
# (found.txt), simulated worlds, the module's own unit tests, the likeliest wire scripts, the others, all other unit tests; the
# first failure ends it. While some are judged the next is built. Everything happens in build/mutants, in a copy of this tree.
#   --seconds N   begins no further bug after N seconds; the next run goes on from there
#   --again       judges what has been judged already too
#   --touched     a verdict stands as long as the files that the patch touches are as they were, whatever the others are
#   --quick       of the wire scripts the likeliest alone, and no other unit tests: what these do not find stays open
#   --few         without the unit tests of other modules, which take long to link: what only they find survives
#   --table       only the table of what is known
#   --keep        writes what found each bug into found.txt, for the next who judges
#   --list        the bugs that would be judged
#   --worlds      nothing but simulated worlds, for 60 seconds each from one seed on (MUTANT_SEED), of worlds.txt or of those
#                 that are named: in which world each is found, after how many and how long, as a table
# JOBS (default: cores) for building and wire scripts; for each bug MUTANT_WORLDS (3000) simulated worlds from MUTANT_SEED
# (700000) on, and MUTANT_SCRIPTS (60) wire scripts that are likely.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
export LC_ALL=C CCACHE_DEPEND=1
root=$PWD
home=$root/build/mutants
tree=$home/tree
build=$tree/build/fast  # two folders below the sources as every build is, so that a compiler cache finds what they have made
clean=$home/clean       # what was built without any bug
work=$home              # where the bug that is judged has its notes
results=$home/results.tsv
jobs=${JOBS:-$(nproc)}
worlds=${MUTANT_WORLDS:-3000}
likely=${MUTANT_SCRIPTS:-60}
seed=${MUTANT_SEED:-700000}

limit=''
again=''
touched=''
few=''
quick=''
mode=judge
wanted=()
while [ $# -gt 0 ]; do
  case $1 in
    --seconds) limit=$2; shift ;;
    --again) again=1 ;;
    --touched) touched=1 ;;
    --few) few=1 ;;
    --quick) quick=1 ;;
    --table) mode=table ;;
    --keep) mode=keep ;;
    --list) mode=list ;;
    --worlds) mode=worlds ;;
    -*) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0" >&2; exit 2 ;;
    *) one=${1#tests/mutants/}; one=${one%.patch}; wanted+=("${one%/}") ;;
  esac
  shift
done

say() { printf '%s\n' "$*"; }
fail() { printf '%s\n' "$*" >&2; exit 2; }

# ---- which bugs there are ----

all() { (cd tests/mutants && find . -name '*.patch' | sed 's|^\./||; s|\.patch$||' | sort); }

chosen() {
  [ ${#wanted[@]} != 0 ] || { all; return; }
  local want
  for want in "${wanted[@]}"; do
    all | grep -E "^$want(/[^/]*)?\$" || fail "there is no bug and no module $want in tests/mutants"
  done | sort -u
}

files_of() { sed -nE 's|^\+\+\+ b/([^[:space:]]+).*|\1|p' "tests/mutants/$1.patch"; }

# ---- what a verdict was about ----

sum() { sha256sum | cut -c1-16; }
patch_sum() { sum <"tests/mutants/$1.patch"; }
sum_of() {  # FOLDER…: of the copy
  (cd "$tree" && find "$@" -type f -print0 | sort -z | xargs -0 sha256sum) | sum
}
touched_sum() {  # MUTANT: of the files here, since in the copy there may be another bug in them
  local file
  files_of "$1" | while read -r file; do sha256sum <"$file"; done | sum
}

# A line for each verdict, the last counts: bug, verdict, suite, test, seconds, and the sums of patch, sources, tests and
# touched files. A caught bug stays caught whatever tests are added; a survivor is tried again by new ones. An open bug has
# been judged by the likeliest wire scripts (1), or by all of them (2), and not by other unit tests.
known() {  # MUTANT: whether its verdict still stands, for as much as is to be tried now
  [ -z "$again" ] && [ -e "$results" ] || return 1
  awk -F'\t' -v name="$1" -v patch="$(patch_sum "$1")" -v sources="$sources" -v tests="$tests" \
    -v files="$(touched_sum "$1")" -v touched="$touched" -v needed="${2:-$(depth)}" '
    $1 == name {
      split($8, tried, ".")
      stands = $6 == patch && (touched ? $9 == files : $7 == sources) &&
        ($2 == "caught" || (($2 == "survived" || $2 == "open") && tried[1] == tests && tried[2] + 0 >= needed))
    }
    END { exit !stands }' "$results"
}
depth() { if [ -n "$quick" ]; then echo 1; elif [ -n "$few" ]; then echo 2; else echo 3; fi; }

record() {  # MUTANT VERDICT SUITE TEST SECONDS [DEPTH]
  printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "${3:--}" "${4:--}" "$5" "$(patch_sum "$1")" "$sources" \
    "$tests.${6:-3}" "$(touched_sum "$1")" >>"$results"
  say "$2: $1${3:+ ($3: $4)} in $5 s"
}

# ---- the copy ----

sources_of_tree() {
  if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git ls-files -co --exclude-standard
  else
    find . \( -name node_modules -o -path './build*' -o -name .git \) -prune -o -type f -print | sed 's|^\./||'
  fi | grep -v '^tests/mutants/' | while read -r file; do [ -f "$file" ] && printf '%s\n' "$file"; done | sort
}

# Unchanged files keep their time, so that they are not built again; leftovers of a cut run are put right.
copy() {
  local file
  mkdir -p "$tree/build"
  ln -sfn "$root/build/deps" "$tree/build/deps"
  sources_of_tree >"$home/files"
  while read -r file; do
    cmp -s "$file" "$tree/$file" && continue
    mkdir -p "$tree/$(dirname "$file")"
    cp "$file" "$tree/$file"
  done <"$home/files"
  (cd "$tree" && find . -path ./build -prune -o -type f -print | sed 's|^\./||' | sort) | comm -13 "$home/files" - |
    while read -r file; do rm -f "$tree/$file"; done
  sources=$(sum_of gateway plugins)
  tests=$(sum_of tests/unit tests/wire tests/sim)
  around=$sources.$(sum_of tests/wire tests/sim)  # what the baseline of worlds and scripts is about
}

plant() {  # MUTANT
  local file
  uproot
  for file in $(files_of "$1"); do
    mkdir -p "$home/saved/$(dirname "$file")"
    cp "$tree/$file" "$home/saved/$file" || return 1
  done
  patch -d "$tree" -p1 -s -f -F0 --no-backup-if-mismatch -r - <"tests/mutants/$1.patch" >"$home/patch.log" 2>&1
}

uproot() {  # the files get the time of now: what was built of them is old
  local file
  [ -d "$home/saved" ] || return 0
  (cd "$home/saved" && find . -type f) | while read -r file; do cp "$home/saved/$file" "$tree/$file"; done
  rm -rf "$home/saved"
}

build() {  # TARGET…
  cmake --build "$build" -j "$jobs" --target "$@" >"$home/build.log" 2>&1
}

# ---- the suites ----

units() { (cd tests/unit && find . -name '*_test.cc' -printf '%h\n' | sed 's|^\./||' | sort -u); }
target_of() { printf 'unit_%s' "${1//\//_}"; }

# A bug may make its test hang, and this machine may be slow: ten times what it took without.
slowest() {  # NAME
  awk -F'\t' -v name="$1" '$1 == name { took = $2 } END { print 30 + 10 * took }' "$home/baseline.times" 2>/dev/null || echo 300
}

unit_once() {  # MODULE [FOLDER OF THE PROGRAM]: fails with the test's name in $found
  local log only=() steady=$home/steady/${1//\//_} failed=''
  log=$(mktemp "$home/unit.XXXXXX")
  [ ! -s "$steady" ] || only=(-f "$steady")
  (cd "$build/tests" && timeout -k 5 "$(slowest "unit $1")" "${2:-.}/$(target_of "$1")" -a -r xml "${only[@]}" >"$log" 2>/dev/null) || failed=1
  found=$(awk '
    /<TestCase name="/ { name = $0; sub(/.*<TestCase name="/, "", name); sub(/".*/, "", name) }
    /<OverallResult success="false"/ { exit }
    END { print name }' "$log" | sed 's/&quot;/"/g; s/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g')
  rm -f "$log"
  [ -z "$failed" ]
}

unit() {  # MODULE FOLDER: a failure counts when it comes twice, and not without the bug
  unit_once "$1" "$2" && return 0
  local first=$found
  unit_once "$1" "$2" && { say "  unsteady: unit/$1: $first"; return 0; }
  [ "$first" = "$found" ] || say "  first unit/$1: $first, then: $found"
  first=$found
  unit_once "$1" "$clean" || { say "  unsteady without a bug: unit/$1: $found"; return 0; }
  found=$first
  return 1
}

worlds() {  # PROGRAM: what fails is in $found. The same worlds each time, bounded by the processor's time and not by ours.
  local log=$work/sim.log
  (
    ulimit -t "$(slowest sim)" 2>/dev/null
    "$1" --briefly --from "$seed" --worlds "$worlds" && "$1" --briefly --seeds tests/sim/seeds.txt
  ) >"$log" 2>&1 && return 0
  found=$(grep -m1 -E 'FAILED|ended the process' "$log" | cut -c1-150 | tr '\t' ' ')
  found=${found:-more processor time than $(slowest sim) s}
  return 1
}

one_script() {  # GATEWAY SCRIPT
  timeout -k 5 90 "$build/tests/wire/wire-runner" --gateway "$1" "$tree/tests/wire/$2.wire" >"$3" 2>&1
}

# For xargs: 255 makes it begin no others.
one_of_many() {
  local log
  log=$(mktemp "$work/wire/XXXXXX")
  if one_script "$gateway" "$1" "$log"; then
    printf '%s\n' "$1" >>"$work/wire/passed"
    rm -f "$log"
  else
    printf '%s\n' "$1" >>"$work/wire/failed"
    exit 255
  fi
}

scripts() { (cd "$tree/tests/wire" && find [0-9]* -name '*.wire' | sed 's|\.wire$||' | sort); }

# The likeliest come first: their name and title share most words with the bug's name and promise, and their folder is
# near to its module.
likely_first() {  # MUTANT, or -
  local near promise=
  case ${1%/*} in
    operate/* | config* | proxy/metrics) near='70|30|75' ;;
    proxy/aggregate) near='65|68' ;;
    foundation/base) near='70|50|55' ;;
    proxy/upstream/bridge) near='40|50|45' ;;
    proxy/client/http | protocol/http | foundation/net) near='10|20|70|60' ;;
    proxy/client/endpoint) near='10|20|50|70' ;;
    proxy/client/session) near='50|20' ;;
    proxy/client/stdio) near='35' ;;
    proxy/client/replica) near='55' ;;
    proxy/cluster | runtime) near='68|65|80' ;;
    proxy/core | proxy/exchange | foundation/json | protocol/mcp) near='45|20|40|50|70' ;;
    proxy/upstream/http_client) near='60|75' ;;
    proxy/upstream/layers) near='50|60|65' ;;
    plugin* | proxy/plugin*) near='75' ;;
    foundation/process | proxy/upstream/stdio) near='30|45|70' ;;
    proxy/upstream/http) near='60|50|45' ;;
    *) near='40|30|60' ;;
  esac
  [ "$1" = - ] || promise=$(head -1 "tests/mutants/$1.patch")
  scripts | while read -r name; do printf '%s %s\n' "$name" "$(head -1 "$tree/tests/wire/$name.wire")"; done |
    awk -v near="^($near)_" -v about="${1##*/} ${promise#Breaks: }" '
      function words(text, set,   list, count, i) {
        delete set
        count = split(tolower(text), list, /[^a-z0-9]+/)
        for (i = 1; i <= count; ++i) if (length(list[i]) > 3) set[substr(list[i], 1, 5)] = 1
      }
      {
        words($0, its)
        for (word in its) ++scripts_with[word]
        line[NR] = $0
      }
      END {  # a rare word says more
        words(about, wanted)
        for (i = 1; i <= NR; ++i) {
          words(line[i], its)
          score = line[i] ~ near ? 1 : 0
          for (word in its) if (word in wanted) score += log(NR / scripts_with[word])
          split(line[i], part, " ")
          printf "%.3f %s\n", score, part[1]
        }
      }' | sort -k1,1nr -k2 | cut -d' ' -f2
}

# Several at once; the first that fails, alone too, and not without the bug, is in $found.
wire() {  # GATEWAY MUTANT [LIST]; what was not run yet then is in wire.rest
  local left name
  export gateway=$1 work build tree
  export -f one_of_many one_script
  left=$work/wire.left
  if [ -n "${3:-}" ]; then mv "$3" "$left"; else likely_first "$2" | grep -vxFf "$home/unsteady.wire" >"$left"; fi
  while [ -s "$left" ]; do
    rm -rf "$work/wire"
    mkdir -p "$work/wire"
    # shellcheck disable=SC2016
    xargs -P "$jobs" -n 1 bash -c 'one_of_many "$0"' <"$left" >/dev/null 2>&1 && return 0
    [ -e "$work/wire/failed" ] || fail "the wire scripts were cut off"
    while read -r name; do
      if ! one_script "$1" "$name" "$work/wire.log"; then
        if [ "$1" = "$clean/lineward" ] || one_script "$clean/lineward" "$name" "$work/wire.clean.log"; then
          found=$name
          { cat "$work/wire/passed"; printf '%s\n' "$name"; } 2>/dev/null | grep -vxFf - "$left" >"$work/wire.rest"
          return 1
        fi
      fi
      say "  unsteady: wire/$name"
    done < <(sort -u "$work/wire/failed")
    sort -u "$work/wire/"{passed,failed} 2>/dev/null | grep -vxFf - "$left" >"$left.next"
    mv "$left.next" "$left"
  done
}

# ---- the tree without a bug ----

# A test that fails without any bug finds none: it is left out, and named. A bug changes one file: headers are compiled
# once, and sources one by one.
configure() {
  (cd "$tree" && conf/scripts/configure.sh "$build" -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-O1 -DLINEWARD_TESTS=ON \
    -DLINEWARD_PCH=ON -DLINEWARD_UNITY=OFF -DLINEWARD_WERROR=OFF -DLINEWARD_REVISION=mutants) || fail "cannot be configured"
}

baseline() {
  local begun rest=''
  [ "$(cat "$home/baseline" 2>/dev/null)" != "$around" ] || return 0
  say "the tree without a bug: it is built, worlds and wire scripts are run once"
  rm -rf "$home/baseline" "$home/baseline.times" "$home/units" "$home/steady" "$clean"
  mkdir -p "$home/units" "$home/steady" "$clean"
  : >"$home/unsteady.wire"
  configure
  build lineward wire-runner sim || { tail -40 "$home/build.log"; fail "this tree does not compile"; }
  cp "$build/lineward" "$build/tests/sim/sim" "$clean/"
  begun=$SECONDS
  worlds "$clean/sim" || fail "a simulated world fails without a bug: $found"
  took sim "$begun"
  begun=$SECONDS
  until wire "$clean/lineward" - "$rest"; do
    say "fails without a bug, left out: wire/$found"
    printf '%s\n' "$found" >>"$home/unsteady.wire"
    rest=$work/wire.rest
  done
  took wire "$begun"
  printf '%s\n' "$around" >"$home/baseline"
}

took() {  # NAME BEGUN
  printf '%s\t%d\n' "$1" $((SECONDS - $2)) >>"$home/baseline.times"
  say "  $1: $((SECONDS - $2)) s"
}

# The same for the unit tests of one module, when a bug of it is the first to be judged.
baseline_of_unit() {  # MODULE
  local begun steady=$home/steady/${1//\//_} target about
  target=$(target_of "$1")
  about=$(sum_of "tests/unit/$1")
  [ "$(cat "$home/units/$target" 2>/dev/null)" != "$about" ] || return 0
  rm -f "$steady"
  build "$target" || { tail -40 "$home/build.log"; fail "this tree does not compile"; }
  cp "$build/tests/$target" "$clean/"
  begun=$SECONDS
  until unit_once "$1"; do
    say "fails without a bug, left out: unit/$1: $found"
    # Catch2 takes a comma for the end of a name.
    [ -s "$steady" ] || (cd "$build/tests" && ./"$target" --list-test-names-only | sed 's/[\\,]/\\&/g') >"$steady"
    # shellcheck disable=SC2001
    grep -vxF -- "$(sed 's/[\\,]/\\&/g' <<<"$found")" "$steady" >"$steady.next"
    ! cmp -s "$steady" "$steady.next" || fail "unit/$1 fails, and not in a test that has a name"
    mv "$steady.next" "$steady"
  done
  took "unit $1" "$begun"
  printf '%s\n' "$about" >"$home/units/$target"
}

# ---- one bug ----

# The last finder runs first: SUITE TEST, or nothing.
hint() { awk -v name="$1" '$1 == name { $1 = ""; print substr($0, 2) }' tests/mutants/found.txt 2>/dev/null; }

# Builds what is needed to judge a bug into a folder, while another is being judged.
prepare() {  # MUTANT FOLDER
  local name=$1 folder=$2 module=${1%/*} programs=(lineward sim) units=() unit suite other
  [ ! -d "tests/unit/$module" ] || units+=("$module")
  read -r suite other <<<"$(hint "$name")"
  [ "$suite" != others ] || [ ! -d "tests/unit/${other%%:*}" ] || units+=("${other%%:*}")
  for unit in "${units[@]}"; do
    baseline_of_unit "$unit"
    programs+=("$(target_of "$unit")")
  done
  plant "$name" || { record "$name" error "" "does not apply" 0; return 1; }
  build "${programs[@]}" || { record "$name" error "" "does not compile" 0; return 1; }
  rm -rf "$folder"
  mkdir -p "$folder"
  cp "$build/lineward" "$build/tests/sim/sim" "$folder/"
  for unit in "${units[@]}"; do cp "$build/tests/$(target_of "$unit")" "$folder/"; done
}

judge() {  # MUTANT FOLDER
  local name=$1 folder=$2 module=${1%/*} begun=$SECONDS found='' suite test work=$2
  verdict() { record "$name" "$1" "${2:-}" "${3:-}" $((SECONDS - begun)) "${4:-}"; }
  read -r suite test <<<"$(hint "$name")"
  case $suite in
    wire)
      if [ -e "tests/wire/$test.wire" ] && ! one_script "$folder/lineward" "$test" "$work/wire.log" &&
        ! one_script "$folder/lineward" "$test" "$work/wire.log" && one_script "$clean/lineward" "$test" "$work/wire.log"; then
        verdict caught wire "$test"
        return
      fi ;;
    others)
      if [ -e "$folder/$(target_of "${test%%:*}")" ] && ! unit "${test%%:*}" "$folder"; then
        verdict caught others "${test%%:*}: $found"
        return
      fi ;;
  esac
  if [ "$suite" = unit ] && ! unit "$module" "$folder"; then
    verdict caught unit "$found"
    return
  fi
  worlds "$folder/sim" || { verdict caught sim "$found"; return; }
  if [ "$suite" != unit ] && [ -d "tests/unit/$module" ]; then
    unit "$module" "$folder" || { verdict caught unit "$found"; return; }
  fi
  likely_first "$name" | grep -vxFf "$home/unsteady.wire" >"$work/wire.all"
  head -"$likely" "$work/wire.all" >"$work/wire.likely"
  wire "$folder/lineward" "$name" "$work/wire.likely" || { verdict caught wire "$found"; return; }
  [ -z "$quick" ] || { verdict open "" "" 1; return; }
  tail -n +$((likely + 1)) "$work/wire.all" >"$work/wire.others"
  wire "$folder/lineward" "$name" "$work/wire.others" || { verdict caught wire "$found"; return; }
  if [ -n "$few" ]; then verdict survived "" "" 2; else verdict open "" "" 2; fi
}

# For bugs that no other suite finds: the unit tests of all other modules, which take long to link.
judge_by_others() {  # MUTANT
  local name=$1 module=${1%/*} begun=$SECONDS found='' other
  for other in $(units); do baseline_of_unit "$other"; done
  plant "$name" || return
  for other in $(units); do
    [ "$other" != "$module" ] || continue
    build "$(target_of "$other")" || { record "$name" error "" "does not compile" 0; return; }
    unit "$other" . || { record "$name" caught others "$other: $found" $((SECONDS - begun)); return; }
  done
  record "$name" survived "" "" $((SECONDS - begun))
}

# ---- by fresh worlds alone ----

world_row() {  # PROMISE FOUND-BY SEED WORLDS SECONDS
  printf '| %s | %s | %s | %s | %s |\n' "$@"
}

by_worlds() {  # MUTANT
  local log=$home/worlds.log promise line at begun
  promise=$(head -1 "tests/mutants/$1.patch")
  promise="\`$1\`: ${promise#Breaks: }"
  if ! plant "$1" || ! build sim; then
    world_row "$promise" "does not apply or compile" - - -
    return
  fi
  begun=$EPOCHREALTIME
  timeout -k 5 180 "$build/tests/sim/sim" --briefly --from "$seed" --seconds 60 >"$log" 2>&1
  line=$(grep -m1 -E 'FAILED|ended the process' "$log")
  [ -n "$line" ] || { world_row "$promise" "**not found**" - "$(awk '/worlds from/ { print $1 }' "$log")" 60; return; }
  at=$(sed -E 's/^seed ([0-9]+).*/\1/' <<<"$line")
  world_row "$promise" "$(sed -E 's/^seed [0-9]+ (FAILED: )?//; s/ \(.*//' <<<"$line")" "$at" $((at - seed + 1)) \
    "$(awk -v from="$begun" -v to="$EPOCHREALTIME" 'BEGIN { printf "%.1f", to - from }')"
}

# ---- the table ----

table() {
  [ -e "$results" ] || { say "nothing has been judged"; return 1; }
  all | awk -F'\t' -v results="$results" -v reasons="$root/tests/mutants/survivors.txt" '
    function row(name, n) {
      judged = n["caught"] + n["survived"] + n["open"]  # what is open counts as not found yet
      printf "%-22s %7d %6d %5d %5d %7d %9d %7d %7d  %s\n", name, n["all"], n["unit"], n["sim"], n["wire"], n["others"], n["survived"],
             n["open"], n["error"], judged ? sprintf("%5.1f %%", 100 * n["caught"] / judged) : "    –"
    }
    BEGIN {
      while ((getline line < results) > 0) {
        split(line, field, "\t")
        if (field[2] == "open" && verdict[field[1]] == "survived") continue
        verdict[field[1]] = field[2]; suite[field[1]] = field[3]; test[field[1]] = field[4]
      }
      while ((getline line < reasons) > 0)
        if (line !~ /^(#|$)/) { name = line; sub(/ .*/, "", name); sub(/^[^ ]+ +/, "", line); reason[name] = line }
      printf "%-22s %7s %6s %5s %5s %7s %9s %7s %7s  %s\n", "module", "bugs", "unit", "sim", "wire", "others", "survived", "open", "errors", "score"
    }
    {
      name = $1; module = name; sub(/\/[^\/]*$/, "", module)
      if (!(module in seen)) { seen[module] = 1; order[++modules] = module }
      count[module, "all"]++
      if (name in verdict) {
        count[module, verdict[name]]++
        if (verdict[name] == "caught") count[module, suite[name]]++
        if (verdict[name] == "survived") {
          if (!(name in reason)) { unnamed++; reason[name] = "no test finds it, and survivors.txt gives no reason" }
          survivors = survivors sprintf("survived: %s: %s\n", name, reason[name])
        }
        if (verdict[name] == "error") { errors++; survivors = survivors sprintf("error: %s %s\n", name, test[name]) }
      } else waiting++
    }
    END {
      kinds = split("all,unit,sim,wire,others,survived,open,error,caught", kind, ",")
      for (i = 1; i <= modules; ++i) {
        for (k = 1; k <= kinds; ++k) { n[kind[k]] = count[order[i], kind[k]] + 0; total[kind[k]] += n[kind[k]] }
        row(order[i], n)
      }
      row("all", total)
      printf "\n%s", survivors
      if (waiting) printf "not judged yet: %d\n", waiting
      exit errors || unnamed ? 1 : 0
    }'
}

case $mode in
  table) table; exit ;;
  keep)
    [ -e "$results" ] || fail "nothing has been judged"
    {
      echo "# What found each bug when it was last judged, and is asked first (run.sh --keep): MODULE/NAME SUITE TEST"
      { sed '/^#/d' tests/mutants/found.txt 2>/dev/null; awk -F'\t' '$2 == "caught" { print $1, $3, $4 }' "$results"; } |
        awk '{ line[$1] = $0 } END { for (name in line) print line[name] }' | sort | while read -r name rest; do
        [ ! -e "tests/mutants/$name.patch" ] || printf '%s %s\n' "$name" "$rest"
      done
    } >"$home/found.txt"
    mv "$home/found.txt" tests/mutants/found.txt
    exit ;;
esac
command -v patch >/dev/null || fail "patch is missing: apt-get install patch"
mkdir -p "$home"
exec 9>"$home/lock"
flock -n 9 || fail "another run is under way in $home"
copy
if [ $mode = list ]; then
  for name in $(chosen); do known "$name" || say "$name"; done
  exit
fi
trap uproot EXIT
trap 'exit 130' INT TERM
if [ $mode = worlds ]; then
  [ ${#wanted[@]} != 0 ] || mapfile -t wanted < <(grep -vE '^(#|$)' tests/mutants/worlds.txt)
  rm -f "$home/baseline"  # what is built here was not run without a bug
  configure >"$home/build.log" 2>&1
  world_row bug "found by" seed worlds seconds
  world_row --- --- --- --- ---
  while read -r name; do
    [ -z "$limit" ] || [ "$SECONDS" -lt "$limit" ] || { say "the time is over"; break; }
    by_worlds "$name"
    uproot
  done < <(chosen)
  exit
fi
# Bugs of one file run in a row: it is not built without a bug in between. Headers come last, since half of the tree is built for
# each.
mapfile -t names < <(chosen | while read -r name; do
  files=$(files_of "$name")
  printf '%d %s %s\n' "$(grep -c '\.h$' <<<"$files")" "${files%%$'\n'*}" "$name"
done | sort | cut -d' ' -f3)
[ ${#names[@]} != 0 ] || exit 2
baseline
# Several are judged while one more is built: a test that a bug makes hang takes time, and no processor.
slots=$((jobs + 3))
judging=()
free_slot() {  # into $slot
  while :; do
    for ((slot = 0; slot < slots; ++slot)); do
      if [ -z "${judging[slot]:-}" ] || ! kill -0 "${judging[slot]}" 2>/dev/null; then return; fi
    done
    wait -n
  done
}
for name in "${names[@]}"; do
  known "$name" "$([ -n "$quick" ] && echo 1 || echo 2)" && continue
  [ -z "$limit" ] || [ "$SECONDS" -lt "$limit" ] || { say "the time is over"; break; }
  free_slot
  prepared=''
  prepare "$name" "$home/slot.$slot" && prepared=1
  uproot  # what it changed is built anew together with the next
  [ -n "$prepared" ] || continue
  judge "$name" "$home/slot.$slot" &
  judging[slot]=$!
done
wait
for name in "${names[@]}"; do
  if [ -n "$quick$few" ] || ! known "$name" 2 || known "$name" 3; then continue; fi  # what is open, and may be tried
  [ -z "$limit" ] || [ "$SECONDS" -lt "$limit" ] || { say "the time is over"; break; }
  judge_by_others "$name"
  uproot
done
say
table
