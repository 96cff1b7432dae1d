#!/usr/bin/env bash
# deb.sh [DIR] (LINEWARD_DEB_BUILT=1: what is in DIR/packages): the Debian package, used as its user would. Steps: lintian, installed in an otherwise empty fresh Debian, started by a
# systemd of its own, reloaded, activated by a socket, upgraded under load, removed and purged. As root; network for Debian's mirror. DIR (build/deb) has the build. Needs lintian,
# debootstrap, dpkg-dev, node, and what tests/e2e has from npm.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/packages/chroot.sh
dir=${1:-build/deb}
for tool in lintian debootstrap dpkg-shlibdeps node; do
  command -v "$tool" >/dev/null || { echo "$tool is missing: apt-get install lintian debootstrap dpkg-dev nodejs" >&2; exit 69; }
done
[ "$(id -u)" = 0 ] || { echo "deb.sh boots a system of its own and has to be run as root" >&2; exit 77; }
passed=0
work=$(mktemp -d)
booted=
group=
leave() {
  local code=$?
  [ -z "$booted" ] || kill -9 "$booted" 2>/dev/null || true
  if [ -n "$group" ]; then
    # Its processes end with the first one, a moment later.
    for _ in $(seq 100); do
      find "$group" -depth -type d -exec rmdir {} + 2>/dev/null && break
      sleep 0.1
    done
  fi
  rm -rf --one-file-system "$work"
  [ $code = 0 ] || printf '\nfailed after %s checks\n' "$passed"
  exit $code
}
trap leave EXIT
ok() {
  passed=$((passed + 1))
  echo "ok $passed - $*"
}
die() {
  echo "not ok - $*" >&2
  inside journalctl -u 'lineward*' --no-pager -n 40 >&2 2>/dev/null || true
  exit 1
}

# ---- the packages, of two versions ----
version=$(sed -nE 's/^project\(lineward VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
[ -n "${LINEWARD_DEB_BUILT:-}" ] || conf/scripts/deb.sh "$dir" >/dev/null
package=$(echo "$PWD/$dir"/packages/lineward_"$version"_*.deb)
# The next version: the same program, and a configuration that its packager has changed.
dpkg-deb -R "$package" "$work/next"
sed -i "s/^Version: .*/&+2/" "$work/next/DEBIAN/control"
echo '# The packager has added this line.' >>"$work/next/etc/lineward/lineward.yaml"
next=$work/next.deb
dpkg-deb --root-owner-group -Zgzip -b "$work/next" "$next" >/dev/null
symbols=$(ls "$PWD/$dir"/packages/lineward-dbgsym_*deb)
ok "$(basename "$package") ($(stat -c %s "$package") bytes), $(basename "$symbols") ($(stat -c %s "$symbols") bytes)"

lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs "$package" || die lintian
ok "lintian has no error and no warning"

dpkg-deb -x "$symbols" "$work/symbols"
dpkg-deb -x "$package" "$work/files"
id=$(readelf -n "$work/files/usr/bin/lineward" | sed -nE 's/.*Build ID: //p')
[ -e "$work/symbols/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug" ] || die "no symbols of build id $id"
readelf -S "$work/files/usr/bin/lineward" | grep -q '\.debug_info' && die "the binary has its debug information still"
ok "the debug symbols are those of the binary"

# ---- a Debian with nothing else ----
base=build/debian-root.tar
if [ ! -e $base ]; then
  debootstrap --variant=minbase --include=systemd,systemd-sysv,procps,ca-certificates,curl,man-db bookworm "$work/base" "$(chroot_mirror)" >"$work/log" 2>&1 ||
    die "debootstrap: $(tail -3 "$work/log")"
  mkdir -p build
  tar -C "$work/base" -cf $base .
  rm -rf "$work/base"
fi
root=$work/root
mkdir "$root"
tar -C "$root" -xf $base
cp -L /etc/resolv.conf "$root/etc/" 2>/dev/null || true
cp "$package" "$root/root/lineward.deb"
cp "$next" "$root/root/next.deb"
cp "$dir/demo-server" "$root/usr/local/bin/" 2>/dev/null || { cmake --build "$dir" --target demo-server >/dev/null && cp "$dir/demo-server" "$root/usr/local/bin/"; }
# Node as the servers have it: this machine's own, and one real server.
cp "$(readlink -f "$(command -v node)")" "$root/usr/local/bin/node"
mkdir -p "$root/opt/mcp/node_modules"
cp -a tests/e2e/node_modules/. "$root/opt/mcp/node_modules/"

proxies=$(env | grep -iE '^(https?|no)_proxy=' || true)
apt_inside() { chroot "$root" env $proxies DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }

# ---- systemd, as process 1 of namespaces ----
cgroup=$(mount | awk '$5 == "cgroup2" {print $3; exit}')
[ -n "$cgroup" ] || die "there is no cgroup2 here"
group=$cgroup/lineward-deb-$$
mkdir "$group"
(
  echo "$BASHPID" >"$group/cgroup.procs"
  exec unshare --mount --pid --uts --ipc --cgroup --fork --kill-child tests/packages/boot.sh "$root"
) </dev/null >"$work/boot" 2>&1 &
booted=$!
first=
inside() { nsenter -t "$first" -m -p -u -i -C -- env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb $proxies DEBIAN_FRONTEND=noninteractive "$@"; }
for _ in $(seq 300); do
  first=$(pgrep -P "$booted" || true)
  [ -n "$first" ] && [ "$(inside systemctl is-system-running 2>/dev/null)" = running ] && break
  sleep 0.1
done
[ "$(inside systemctl is-system-running)" = running ] || die "systemd did not come up: $(cat "$work/boot")"
ok "systemd $(inside systemctl --version | awk 'NR==1{print $2}') runs"

until_so() {  # SECONDS COMMAND…: it becomes true
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.1
  done
}
active() { [ "$(inside systemctl is-active "$1")" = active ]; }

# ---- installed ----
apt_update() { inside apt-get update -qq; }
apt_update >"$work/apt" 2>&1 || die "apt-get update: $(cat "$work/apt")"
inside apt-get install -y -qq --no-install-recommends /root/lineward.deb >"$work/apt" 2>&1 || die "apt-get install: $(tail -5 "$work/apt")"
active lineward.service || die "not started by its installation"
[ "$(inside systemctl is-enabled lineward.service)" = enabled ] || die "not enabled"
inside systemctl show -p StatusText lineward.service | grep -q 'serving at 127.0.0.1:8000' || die "systemd was not told"
ok "installed: started, enabled, $(inside systemctl show -p StatusText --value lineward.service)"
inside lineward version | grep -q "^lineward $version" || die version
inside lineward validate /etc/lineward/lineward.yaml >/dev/null || die "its own configuration"
inside sh -c 'zcat /usr/share/man/man1/lineward.1.gz | grep -q "copy.*self" && test -s /usr/share/bash-completion/completions/lineward && zcat /usr/share/man/man5/lineward.yaml.5.gz | grep -q maxDuration' || die pages
ok "pages and completions are there"
score=$(inside systemd-analyze security lineward.service --no-pager | sed -nE 's/.*exposure level.*: ([0-9.]+).*/\1/p')
awk "BEGIN {exit !($score <= 2.0)}" || die "systemd-analyze security: $score"
inside systemd-analyze verify lineward.service lineward@x.service lineward.socket 2>&1 | grep -v '^$' | grep lineward && die "systemd-analyze verify"
ok "systemd-analyze: verified, security $score"

# ---- servers within the sandbox ----
mkdir -p "$root/etc/lineward/credentials" "$root/etc/systemd/system/lineward.service.d"
install -m 600 /dev/null "$root/etc/lineward/credentials/word"
echo of-the-unit >"$root/etc/lineward/credentials/word"
# A kernel without access lists on tmpfs cannot give a credential to any user but root.
cat >"$root/etc/systemd/system/probe.service" <<'UNIT'
[Service]
Type=oneshot
DynamicUser=yes
LoadCredential=word:/etc/lineward/credentials/word
ExecStart=/bin/sh -c 'cat "$CREDENTIALS_DIRECTORY/word"'
UNIT
inside systemctl daemon-reload
word=of-the-unit
credential='${file:$CREDENTIALS_DIRECTORY/word}'
if inside systemctl start probe.service 2>/dev/null; then
  printf '[Service]\nLoadCredential=word:/etc/lineward/credentials/word\n' >"$root/etc/systemd/system/lineward.service.d/credential.conf"
else
  echo "# skipped - credentials: this kernel gives them to no user but root"
  credential=$word
fi
rm "$root/etc/systemd/system/probe.service"
configure() {  # MORE
  cat >"$root/etc/lineward/lineward.yaml" <<YAML
listen: { address: "127.0.0.1:8000" }
mcpServers:
  demo: { command: /usr/local/bin/demo-server }
  everything: { command: node, args: [/opt/mcp/node_modules/@modelcontextprotocol/server-everything/dist/index.js] }
$1
YAML
}
configure '  secret: { command: /usr/local/bin/demo-server, env: { WORD: "'"$credential"'" } }'
inside systemctl daemon-reload
inside systemctl restart lineward.service || die "restart"
inside lineward call everything__echo message=hello --url http://127.0.0.1:8000/mcp | grep -q 'Echo: hello' || die "node does not run in the sandbox"
ok "a node server answers within the sandbox"
pid=$(inside systemctl show -p MainPID --value lineward.service)
inside sh -c "cat /proc/$pid/status | grep -qE '^NoNewPrivs:.1' && ! grep -q '^Uid:.0' /proc/$pid/status" || die "it runs as root"
inside sh -c 'for p in $(pgrep -f demo-server); do tr "\0" "\n" </proc/$p/environ | grep -q WORD='"$word"' && exit 0; done; exit 1' || die "the word did not reach its server"
inside sh -c 'for p in $(pgrep -f "demo-server|server-everything"); do tr "\0" "\n" </proc/$p/environ | grep -qE "^(NOTIFY_SOCKET|LISTEN_|WATCHDOG_|CREDENTIALS_)" && exit 1; done; exit 0' || die "a server got a variable of systemd"
ok "what is a server's reaches it; systemd's variables reach none"
inside lineward status >/dev/null || die "root's commands do not find it"
ok "root's commands find it"

# ---- reload ----
configure '  second: { command: /usr/local/bin/demo-server }'
inside systemctl reload lineward.service || die reload
inside lineward servers | grep -q second || die "the reload did nothing"
configure '  broken: { comand: x }'
if inside systemctl reload lineward.service 2>/dev/null; then die "a bad file reloads"; fi
active lineward.service || die "a bad file stopped it"
inside lineward servers | grep -q second || die "a bad file changed it"
configure ''
inside systemctl reload lineward.service
ok "reload: a good file is taken, a bad one fails and changes nothing"

# ---- watchdog ----
inside systemctl show -p WatchdogUSec lineward.service | grep -q 30s || die watchdog
inside kill -STOP "$pid"
inside kill -CONT "$pid"
printf '[Service]\nWatchdogSec=1s\n' >"$root/etc/systemd/system/lineward.service.d/watchdog.conf"
inside systemctl daemon-reload
inside systemctl restart lineward.service
pid=$(inside systemctl show -p MainPID --value lineward.service)
inside kill -STOP "$pid"
restarted() { local now; now=$(inside systemctl show -p MainPID --value lineward.service); [ "$now" != 0 ] && [ "$now" != "$pid" ] && active lineward.service; }
until_so 30 restarted || die "nobody missed it"
rm "$root/etc/systemd/system/lineward.service.d/watchdog.conf"
inside systemctl daemon-reload
inside systemctl restart lineward.service
ok "the watchdog misses one that hangs, and starts another"

# ---- upgraded under load ----
cat >"$root/root/load.sh" <<'LOAD'
#!/bin/sh
# Calls one after the other until the file is gone; what failed is told.
good=0; bad=0
while [ -e /root/loading ]; do
  if lineward call demo__echo message=x --url http://127.0.0.1:8000/mcp >/dev/null 2>/root/why; then good=$((good + 1)); else bad=$((bad + 1)); cat /root/why >>/root/whys; fi
done
echo "$good $bad"
LOAD
chmod +x "$root/root/load.sh"
: >"$root/root/loading"
inside /root/load.sh >"$work/load" &
load=$!
sleep 2
echo '# mine' >>"$root/etc/lineward/lineward.yaml"
before=$(inside systemctl show -p MainPID --value lineward.service)
inside apt-get install -y -qq --no-install-recommends -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold /root/next.deb >"$work/apt" 2>&1 || die "upgrade: $(tail -5 "$work/apt")"
active lineward.service || die "not running after the upgrade"
[ "$(inside systemctl show -p MainPID --value lineward.service)" != "$before" ] || die "the old one still runs"
inside dpkg-query -W -f '${Version}' lineward | grep -q '+2' || die "not upgraded"
grep -q '^# mine' "$root/etc/lineward/lineward.yaml" || die "the configuration was overwritten"
sleep 2
rm "$root/root/loading"
wait $load
read -r good bad <"$work/load"
[ "$good" -gt 2 ] || die "no load"
ok "upgraded under load: $good calls answered, $bad met the moment without a listener"

# ---- socket activation, and an upgrade that loses nothing ----
inside systemctl stop lineward.service
inside systemctl start lineward.socket
active lineward.service && die "started before its first client"
inside lineward call demo__echo message=x --url http://127.0.0.1:8000/mcp >/dev/null || die "the socket starts nothing"
active lineward.service || die "not started by the socket"
: >"$root/root/loading"
rm -f "$root/root/whys"
inside /root/load.sh >"$work/load" &
load=$!
for _ in 1 2 3; do
  sleep 1
  inside systemctl restart lineward.service
done
sleep 1
rm "$root/root/loading"
wait $load
read -r good bad <"$work/load"
[ "$bad" = 0 ] && [ "$good" -gt 2 ] || die "three restarts with a socket: $good calls answered, $bad lost: $(sort "$root/root/whys" | uniq -c | head -5)"
ok "socket activation: started by its first client; three restarts under load, $good calls answered, none lost"
sed -i 's/127.0.0.1:8000/127.0.0.1:8111/' "$root/etc/lineward/lineward.yaml"
inside systemctl restart lineward.service 2>/dev/null && die "a socket that nobody names is taken"
inside journalctl -u lineward.service --no-pager -n 20 | grep -q 'names no such address' || die "no reason is told"
inside systemctl stop lineward.socket
inside systemctl reset-failed lineward.service
inside systemctl start lineward.service
ok "a socket that the configuration does not name is refused; without it the same file works"

# ---- an instance ----
sed 's/8111/8222/' "$root/etc/lineward/lineward.yaml" >"$root/etc/lineward/team.yaml"
echo 'ops: off' >>"$root/etc/lineward/team.yaml"
inside systemctl start lineward@team.service || die instance
inside lineward status --admin unix:/run/lineward-team/admin.sock >/dev/null || die "the instance's own socket"
inside lineward status --admin unix:/run/lineward/admin.sock >/dev/null || die "the other's socket"
ok "an instance runs beside it"

# ---- removed, purged ----
inside apt-get remove -y -qq lineward >"$work/apt" 2>&1 || die "remove: $(tail -5 "$work/apt")"
active lineward.service && die "still running"
active lineward@team.service && die "the instance is still running"
[ -e "$root/etc/lineward/lineward.yaml" ] || die "the configuration is gone"
inside pgrep -f 'demo-server|server-everything' >/dev/null && die "servers are left"
ok "removed: stopped, servers too; the configuration stays"
rm -rf "$root/etc/lineward/credentials" "$root/etc/lineward/team.yaml" "$root/etc/systemd/system/lineward.service.d"
inside apt-get purge -y -qq lineward >"$work/apt" 2>&1 || die "purge: $(tail -5 "$work/apt")"
left=$(find "$root"/{etc,usr,lib,var/lib,var/cache,var/log} -xdev -name '*lineward*' -not -path '*/dpkg/*' -not -path '*/apt/*' -not -path '*/journal/*' -not -path '*/cache/man/*' 2>/dev/null || true)
[ -z "$left" ] || die "left behind: $left"
[ -z "$(inside systemctl list-unit-files --no-legend 'lineward*')" ] || die "units are left"
ok "purged: nothing is left"
printf '\ndeb: %s passed, 0 failed\n' "$passed"
