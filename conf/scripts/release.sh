#!/usr/bin/env bash
# release.sh DIR: the binary to install, DIR/lineward. It is built twice: the first one is put under load and
# notes what is called how often, the second is laid out by that (profile-guided; GCC). Done again only when
# the sources have changed.
set -euo pipefail
export CCACHE_DISABLE=1  # it does not distinguish profiles
cd "$(dirname "$0")/../.."
dir=$PWD/${1:-build/release}
training=$dir/training
profile=$dir/profile
jobs=${JOBS:-$(nproc)}

compiler=${CXX:-g++}
if ! $compiler --version | head -1 | grep -qiE 'g\+\+|gcc'; then
  echo "make release needs GCC, and CXX is '$compiler'. \`make build\` takes any compiler." >&2
  exit 69
fi

stamp=$({ $compiler --version; cat CMakeLists.txt conf/scripts/release.sh; find gateway plugins benchmarks -name '*.cc' -o -name '*.h' | LC_ALL=C sort | xargs cat; } | sha256sum)
if [ "$(cat "$dir/trained" 2>/dev/null)" != "$stamp" ]; then
  echo "== a first build, to learn from" >&2
  rm -rf "$profile" "$dir/trained"
  conf/scripts/configure.sh "$training" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DLINEWARD_WERROR=OFF -DLINEWARD_PROFILE=write -DLINEWARD_PROFILE_DIR="$profile"
  cmake --build "$training" -j "$jobs" --target lineward bench-load bench-fanout bench-hop-origin bench-echo-server

  echo "== what it does under load" >&2
  work=$(mktemp -d)
  pids=()
  trap 'kill "${pids[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT
  programs=$training/benchmarks
  # The load programs' own calls stay out of the profile.
  helper() { GCOV_PREFIX=$work/unused "$@"; }
  answers() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
  # start PORT PROGRAM…: in the background, until it answers there.
  start() {
    local port=$1
    shift
    "$@" 2>"$work/stderr" &
    pids+=($!)
    for _ in $(seq 300); do
      answers "$port" && return
      kill -0 "${pids[-1]}" 2>/dev/null || break
      sleep 0.1
    done
    echo "${1##*/} did not start:" >&2
    tail -5 "$work/stderr" >&2
    exit 70
  }
  stop() {
    kill "${pids[-1]}"
    wait "${pids[-1]}" || true
    unset 'pids[-1]'
  }
  # gateway PORT [OPTIONS]: Lineward in front of the servers in $servers, with further options as JSON members.
  gateway() {
    printf '{"listen":{"address":"127.0.0.1:%s"},"ops":{"address":"off"},%s"mcpServers":{%s}}' "$1" "${2:+$2,}" "$servers" >"$work/lineward.json"
    start "$1" "$training/lineward" run --config "$work/lineward.json"
  }
  calls() { helper "$programs/bench-load" --port "$gateway_port" --pid "${pids[-1]}" --seconds 120 "$@" >"$work/result"; }
  origin_port=$((20000 + RANDOM % 10000))
  gateway_port=$((origin_port + 1))

  # The scenarios of benchmarks/instructions.mjs.
  origins=0
  origin() {  # TOOLS: one server more in $servers
    local port=$((origin_port + 2 + origins))
    GCOV_PREFIX=$work/unused start "$port" "$programs/bench-hop-origin" "$port" "$1"
    servers+="${servers:+,}\"s$origins\":{\"url\":\"http://127.0.0.1:$port/mcp\",\"protocolEra\":\"modern\"}"
    origins=$((origins + 1))
  }
  servers=
  origin 200
  gateway "$gateway_port"
  calls --marker none --era modern --clients 64 --calls 40000
  calls --marker none --era modern --clients 1 --calls 5000
  calls --marker none --era modern --clients 8 --calls 500 --tools 200
  for payload in "string" "dense" "events --progress 1000"; do
    # shellcheck disable=SC2086
    calls --marker none --era modern --clients 4 --calls 400 --names $payload
  done
  stop
  gateway "$gateway_port" '"workers":2'
  calls --marker none --era modern --clients 32 --calls 10000
  stop
  key=trained-trained-trained-trained
  printf 'trained sha256:%s\n' "$(printf %s "$key" | sha256sum | cut -d' ' -f1)" >"$work/keys"
  chmod 600 "$work/keys"
  gateway "$gateway_port" "$(printf '"auth":{"apiKey":{"file":"%s"}},"rateLimit":{"requests":1000000,"per":"1s","burst":1000000},"toolFilter":{"allow":["*"],"deny":["delete_*"]},"accessLog":{"path":"%s"}' "$work/keys" "$work/access.log")"
  calls --marker none --era modern --clients 32 --calls 10000 --header "X-API-Key: $key"
  stop
  for tools in 200 200 200 200; do origin $tools; done
  gateway "$gateway_port"
  calls --marker none --era modern --clients 8 --calls 200 --tools 1000
  calls --marker none --era modern --clients 32 --calls 10000 --names s0__echo
  stop
  for _ in $(seq "$origins"); do stop; done
  echo='{"command":"%s","env":{"GCOV_PREFIX":"%s"%s}%s}'
  # shellcheck disable=SC2059
  servers="\"echo\":$(printf "$echo" "$programs/bench-echo-server" "$work/unused" "" "")"
  for era in modern legacy; do
    gateway "$gateway_port"
    calls --marker none --era $era --clients 16 --calls 10000
    stop
  done
  # shellcheck disable=SC2059
  servers="\"echo\":$(printf "$echo" "$programs/bench-echo-server" "$work/unused" ',"BENCH_LISTENS":"1"' ',"protocolEra":"modern"')"
  gateway "$gateway_port"
  helper "$programs/bench-fanout" --port "$gateway_port" --pid "${pids[-1]}" --marker none --seconds 120 --streams 100 --rounds 200 >"$work/result"
  stop
  [ -n "$(find "$profile" -name '*.gcda' -print -quit)" ] || { echo "nothing was learnt: no *.gcda in $profile" >&2; exit 70; }
  mkdir -p "$dir"
  echo "$stamp" >"$dir/trained"
fi

echo "== the build that was learnt for" >&2
conf/scripts/configure.sh "$dir" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DLINEWARD_WERROR=OFF -DLINEWARD_PROFILE=use -DLINEWARD_PROFILE_DIR="$profile"
cmake --build "$dir" -j "$jobs"
