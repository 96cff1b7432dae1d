#!/usr/bin/env bash
# Installs the missing packages to build; with "test", to run unit tests and wire scripts; with "test-all", every suite.
# Debian packages only; as root directly, else with sudo, else it prints the line to run.
set -euo pipefail
cd "$(dirname "$0")/../.."

packages=()
for kind in "$@"; do
  case $kind in
    build) packages+=(g++ cmake ninja-build pkg-config libuv1-dev libfmt-dev libcli11-dev libtomlplusplus-dev libssl-dev zlib1g-dev libnghttp2-dev
                      libfyaml-dev libre2-dev libhiredis-dev nlohmann-json3-dev) ;;
    static) packages+=(git dpkg-dev) ;;
    deb) packages+=(dpkg-dev file) ;;
    arm64) packages+=(g++-aarch64-linux-gnu qemu-user-static) ;;
    dist) packages+=(umoci nodejs) ;;
    dist-test) packages+=(umoci buildah lintian debootstrap dpkg-dev) ;;
    proxies) packages+=(nginx-light haproxy caddy apache2 squid nghttp2-proxy) ;;
    bench-check) packages+=(valgrind nodejs) ;;
    distros | interop) packages+=(debootstrap git) ;;
    wire) packages+=(catch2 libsimdjson-dev curl procps git) ;;
    test) packages+=(catch2 libsimdjson-dev curl procps git ccache clang libclang-rt-dev llvm lld) ;;
    test-all) packages+=(catch2 libsimdjson-dev curl procps git ccache clang libclang-rt-dev llvm lld libtcmalloc-minimal4 prometheus
                         redis-server haproxy gcovr chromium valgrind) ;;
  esac
done
case " $* " in *" test-all "* | *" dist "* | *" dist-test "*) command -v npm >/dev/null || packages+=(npm) ;; esac
case " $* " in *" test-all "*) command -v kubectl >/dev/null || packages+=(kubernetes-client) ;; esac

installed() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'install ok installed'; }
missing=()
for package in "${packages[@]}"; do
  installed "$package" || installed "${package}t64" || missing+=("$package")  # Debian 13 has libraries by such names
done
# llhttp: a library package on Debian 13; on Debian 12 three C files inside node-llhttp.
llhttp_is_there() {
  pkg-config --exists 'libllhttp >= 9' 2>/dev/null || [ -e /usr/share/llhttp/llhttp.c ] || [ -e build/deps/usr/share/llhttp/llhttp.c ]
}
wants_llhttp=
case " $* " in *" build "*) llhttp_is_there || wants_llhttp=1 ;; esac

if [ "$(id -u)" = 0 ]; then as=(); elif command -v sudo >/dev/null; then as=(sudo); else as=(no); fi
# Is there such a package? A machine that has just been installed has no lists yet; "no" after an update is an answer.
offered() { [ -n "$(apt-cache show "$1" 2>/dev/null)" ]; }
if [ ${#missing[@]} -gt 0 ] || { [ -n "$wants_llhttp" ] && ! offered libllhttp-dev && ! offered node-llhttp; }; then
  [ "${as[*]}" = no ] || "${as[@]}" apt-get update -qq
fi
if [ -n "$wants_llhttp" ] && offered libllhttp-dev; then
  missing+=(libllhttp-dev)
fi

if [ ${#missing[@]} -gt 0 ]; then
  if [ "${as[*]}" = no ]; then
    echo "These Debian packages are missing. Install them, then run make again:" >&2
    echo "  apt-get install ${missing[*]}" >&2
    exit 1
  fi
  echo "installing: ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  "${as[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

# Debian 12's sources of llhttp are unpacked, not installed, since the package would bring Node with it.
if [ -n "$wants_llhttp" ] && ! llhttp_is_there; then
  mkdir -p build/deps
  fetch() { (cd build/deps && apt-get download -qq node-llhttp); }
  fetch 2>/dev/null || { [ "$(id -u)" != 0 ] || apt-get update -qq; fetch; }
  dpkg-deb -x build/deps/node-llhttp_*.deb build/deps
fi
