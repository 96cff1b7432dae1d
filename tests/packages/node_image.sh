#!/usr/bin/env bash
# node_image.sh: conf/containers/node.Dockerfile, built by buildah and run as its first lines say; and python.Dockerfile, built. Their base
# images cannot be fetched without a registry: a Debian with Node 22 and npm stands under both names, from build/debian-root.tar (deb.sh) and
# tests/e2e. There is no uv in it: what uvx brings is not tried. As root; a network for npm.
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v buildah >/dev/null || { echo "buildah is missing: apt-get install buildah" >&2; exit 69; }
[ -e build/debian-root.tar ] || { echo "there is no build/debian-root.tar: run deb.sh first" >&2; exit 69; }
work=$(mktemp -d)
container=
finish() {
  [ -z "$container" ] || kill "$container" 2>/dev/null || true
  wait 2>/dev/null || true
  bud umount --all >/dev/null 2>&1 || true
  chmod -R u+w "$work" && rm -rf "$work"
}
trap finish EXIT
die() { echo "not ok - $*"; tail -20 "$work/log" "$work/said" 2>/dev/null; exit 1; }
ok() { echo "ok - $*"; }
bud() { buildah --storage-driver vfs --root "$work/store" --runroot "$work/state" "$@"; }
until_true() { for _ in $(seq 600); do "$@" && return 0; sleep 0.2; done; return 1; }

base=$(bud from scratch)
root=$(bud mount "$base")
tar -C "$root" -xf build/debian-root.tar
install -m 755 "$(tests/e2e/node.sh --path)" "$root/usr/local/bin/node"
npm=$(dirname "$(dirname "$(realpath "$(command -v npm)")")")
mkdir -p "$root/usr/local/lib/node_modules"
cp -r "$npm" "$root/usr/local/lib/node_modules/npm"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
ln -s ../lib/node_modules/npm/bin/npx-cli.js "$root/usr/local/bin/npx"
bud umount "$base" >/dev/null
bud commit -q "$base" docker.io/library/node:22-bookworm-slim >"$work/log" 2>&1 || die "no base"
bud build --isolation chroot --pull-never --build-arg TARGETARCH="$(dpkg --print-architecture)" \
  -f conf/containers/node.Dockerfile -t lineward:node build/dist >"$work/log" 2>&1 || die "the Dockerfile is not built"
ok "built: $(bud inspect --type image --format '{{.OCIv1.Config.User}} {{.OCIv1.Config.Entrypoint}} {{.OCIv1.Config.StopSignal}}' lineward:node)"
bud tag node:22-bookworm-slim ghcr.io/astral-sh/uv:python3.13-bookworm-slim
bud build --isolation chroot --pull-never --build-arg TARGETARCH="$(dpkg --print-architecture)" \
  -f conf/containers/python.Dockerfile -t lineward:python build/dist >"$work/log" 2>&1 || die "the Dockerfile for Python is not built"
two=$(bud from --pull-never lineward:python)
version=$(bud run --isolation chroot "$two" -- /bin/sh -c 'id -u; "$0" --version; "$0" validate >/dev/null && echo valid' /usr/local/bin/lineward | tr '\n' ' ')
[[ $version =~ ^65532\ lineward\ .*valid ]] || die "the image for Python says: $version"
ok "the one for Python is built: user $version"

port=$((20000 + RANDOM % 10000))
settings=(-e LINEWARD_LISTEN_ADDRESS="127.0.0.1:$port" -e LINEWARD_OPS_ADDRESS="127.0.0.1:$((port + 1))")
registry=$(npm config get registry)
[ -z "$registry" ] || settings+=(-e NPM_CONFIG_REGISTRY="$registry")
# The authorities that this machine's own npm trusts.
[ -z "${NODE_EXTRA_CA_CERTS:-}" ] || settings+=(-e NODE_EXTRA_CA_CERTS=/etc/ssl/npm.pem -v "$NODE_EXTRA_CA_CERTS:/etc/ssl/npm.pem:ro")
one=$(bud from --pull-never lineward:node)
bud run --isolation chroot "${settings[@]}" "$one" -- /usr/local/bin/lineward run -- npx -y @modelcontextprotocol/server-everything >"$work/said" 2>&1 &
container=$!
ready() { curl -sf -o /dev/null "http://127.0.0.1:$((port + 1))/readyz"; }
until_true ready || die "never ready"
lineward=build/dist/bin/lineward-linux-$(dpkg --print-architecture)
"$lineward" call echo message=hello --url "http://127.0.0.1:$port/mcp" | grep -q hello || die "the server that npx brought does not answer"
ok "a server that npx has brought answers"
main=$(pgrep -f "^/usr/local/bin/lineward run -- npx" | head -1)
[ "$(stat -c %u "/proc/$main")" = 65532 ] || die "it runs as user $(stat -c %u "/proc/$main")"
chroot "/proc/$main/root" /usr/bin/env LINEWARD_OPS_ADDRESS="127.0.0.1:$((port + 1))" /usr/local/bin/lineward healthcheck || die "not healthy"
ok "as user 65532, and healthy"
kill -TERM "$main"
wait "$container" || die "SIGTERM ended it with $?"
container=
alone() { ! ps -u 65532 -o stat= | grep -qv '^Z'; }
until_true alone || die "left: $(pgrep -u 65532 -a)"
ok "SIGTERM ends it with 0, and nothing is left"
