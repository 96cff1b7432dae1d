#!/usr/bin/env bash
# interop.sh [TEXT…]: the official SDKs of Python, Ruby, Perl and Rust, as Debian sid packages them, as clients and servers of Lineward
# on every road (README.md). TEXT: only the cells with it in "client server road". As root; network for the machine's own mirror.
#   DISTROS=DIR   where the Debians of `make distros` stand (build/distros)
#   JOBS=N        compilers, and cells, at once
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/packages/chroot.sh
dir=${DISTROS:-$PWD/build/distros}
root=$dir/sid
export JOBS=${JOBS:-$(nproc)}
chroot_needs

# Lineward itself, built there by README's command.
STEPS=build DISTROS=$dir tests/packages/distros.sh sid

say "the SDKs"
chroot_install "$root" python3-mcp python3-uvicorn python3-starlette ruby-mcp ruby-faraday ruby-event-stream-parser ruby-rackup puma libmcp-perl
# rmcp and what it needs are the crates that Debian packages: no other registry is asked.
rust=yes
chroot_install "$root" cargo librust-rmcp-dev || rust=no
[ $rust = no ] || chroot_run "$root" '
  mkdir -p /root/interop/cargo && cd /root/lineward/tests/interop/peers/rust &&
  printf "[source.crates-io]\nreplace-with = \"debian\"\n[source.debian]\ndirectory = \"/usr/share/cargo/registry\"\n" >/root/interop/cargo/config.toml &&
  rm -rf /root/interop/peers && cp -r . /root/interop/peers && cd /root/interop/peers &&
  CARGO_HOME=/root/interop/cargo CARGO_TARGET_DIR=/root/interop/rust cargo build --quiet --offline -j '"$JOBS" ||
  echo "interop.sh: the Rust peers cannot be built; their cells are left out" >&2

say "every client with every server on every road"
words=
[ $# = 0 ] || words=$(printf '%q ' "$@")
# shellcheck disable=SC2016
chroot_run "$root" 'cd /root/lineward/tests/interop && JOBS='"$JOBS"' unshare --net bash -c '\''ip link set lo up && exec python3 interop.py "$@"'\'' interop /root/lineward/build/lineward '"$words"
