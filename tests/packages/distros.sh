#!/usr/bin/env bash
# distros.sh [SUITE…]: the README's commands in a fresh Debian of each suite (bookworm, trixie, sid): `make build`, `make run` with the
# curl line that it prints, unit and wire tests, the Debian package built and installed, and the same tests with clang.
# As root; network for the mirror that the machine itself uses. HEAD is what is tried.
#   STEPS="build run tests deb clang"   the steps to run, in this order; a build folder is kept from run to run
#   DISTROS=DIR                         where the Debians stand (build/distros); DIR/cache keeps packages for all of them
#   JOBS=N                              compilers at once
#   FRESH=1                             makes each Debian anew
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/packages/chroot.sh
dir=${DISTROS:-$PWD/build/distros}
steps=${STEPS:-build run tests deb clang}
jobs=${JOBS:-$(nproc)}
suites=("$@")
[ $# -gt 0 ] || suites=(bookworm trixie sid)
chroot_needs || exit
[ -z "$(git status --porcelain --untracked-files=no)" ] || echo "distros.sh: changes that are not committed are left out" >&2

# Inside, in /root/lineward: each step is a function, which the chroot's own shell gets as text.
step_build() {
  make build JOBS="$JOBS" && build/lineward version
}

# The demo server answers the curl line that `make run` prints, and SIGTERM ends it.
step_run() {
  local out pid code
  out=$(mktemp)
  make run JOBS="$JOBS" >"$out" 2>&1 &
  pid=$!
  for _ in $(seq 18000); do  # `make run` may build first
    grep -q 'event=listen' "$out" && break
    kill -0 $pid 2>/dev/null || break
    sleep 0.1
  done
  (eval "timeout 60 $(sed -n 's/^  \(curl .*\)/\1/p' "$out" | sed 's/ -N / -sSN /')") >"$out.answer"
  code=$?
  cat "$out.answer"
  pkill -TERM -x lineward
  wait $pid
  [ $code = 0 ] && grep -q 'notifications/progress' "$out.answer" && grep -q '"result"' "$out.answer" && return
  cat "$out"
  return 1
}

tests_in() {  # DIR [cmake options]: the tests join what is built there already
  conf/scripts/deps.sh build wire || return 1
  mkdir -p "$1"
  conf/scripts/configure.sh "$@" -DLINEWARD_TESTS=ON &&
    cmake "$1" -DLINEWARD_TESTS=ON -DLINEWARD_TEST_OPTIONS=-O0 >/dev/null &&
    cmake --build "$1" -j "$JOBS" || return 1
  alone ctest --test-dir "$1" -j $((JOBS * 2)) --output-on-failure --no-tests=error -L 'unit|wire' >"$1/ctest.log" 2>&1 ||
    { echo "once more, alone:"; alone ctest --test-dir "$1" -j 1 --rerun-failed --output-on-failure >"$1/ctest-again.log" 2>&1; }
  local code=$?
  tail -n 12 "$1/ctest.log"
  [ ! -e "$1/ctest-again.log" ] || tail -n 40 "$1/ctest-again.log"
  return $code
}
step_tests() { tests_in build; }

step_clang() {
  command -v clang++ >/dev/null || apt-get install -y -qq --no-install-recommends clang >/dev/null || return 1
  CC=clang CXX=clang++ tests_in build/clang -DCMAKE_BUILD_TYPE=Debug
}

# From the objects of `make build`: `make deb` compiles the same with the same options.
step_deb() {
  conf/scripts/deps.sh build deb &&
    conf/scripts/deb.sh build -DCMAKE_INSTALL_PREFIX=/usr -DLINEWARD_TESTS=OFF || return 1
  apt-get install -y -qq --no-install-recommends ./build/packages/lineward_*.deb >/dev/null || return 1
  lineward version && lineward validate /etc/lineward/lineward.yaml >/dev/null || return 1
  dpkg-deb -f build/packages/lineward_*.deb Depends
  apt-get purge -y -qq lineward >/dev/null && [ ! -e /usr/bin/lineward ]  # the shell still knows where it was
}

# A network of its own: ports of the machine do not conflict. It has a loopback alone.
alone() { unshare --net bash -c 'ip link set lo up && exec "$@"' bash "$@"; }

source_into() {  # ROOT: HEAD, and only files that changed get another time
  if [ -d "$1/root/lineward/.git" ]; then
    git -C "$1/root/lineward" fetch -q "$PWD" HEAD && git -C "$1/root/lineward" reset -q --hard FETCH_HEAD
  else
    git clone -q --no-local --depth 1 "file://$PWD" "$1/root/lineward"
  fi
}

passed=0
failed=()
for suite in "${suites[@]}"; do
  root=$dir/$suite
  [ -z "${FRESH:-}" ] || rm -rf --one-file-system "$root"
  say "$suite"
  chroot_make "$suite" "$root" "$dir/cache" make git iproute2 ca-certificates curl && source_into "$root" || {
    failed+=("$suite: debootstrap")
    continue
  }
  for step in $steps; do
    started=$SECONDS
    say "$suite: $step"
    case $step in run) alone=alone ;; *) alone= ;; esac
    if chroot_run "$root" "set -o pipefail; cd /root/lineward; export JOBS=$jobs; $(declare -f alone tests_in "step_$step"); export -f step_$step; $alone ${alone:+bash -c }step_$step"; then
      passed=$((passed + 1))
      printf '== %s: %s passed (%d s)\n' "$suite" "$step" $((SECONDS - started))
    else
      failed+=("$suite: $step")
      printf '== %s: %s FAILED (%d s)\n' "$suite" "$step" $((SECONDS - started))
      [ "$step" != build ] || break
    fi
  done
done
[ ${#failed[@]} = 0 ] || printf 'failed: %s\n' "${failed[@]}"
printf '\n%d passed, %d failed\n' "$passed" "${#failed[@]}"
[ ${#failed[@]} = 0 ] && [ "$passed" -gt 0 ]
