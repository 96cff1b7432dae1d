#!/usr/bin/env bash
# Installs what is missing to build (and, with "test", to test). Debian packages only; as root directly, else with
# sudo, else it prints the line to run.
set -euo pipefail
cd "$(dirname "$0")/../.."

packages=()
for kind in "$@"; do
  case $kind in
    build) packages+=(g++ cmake ninja-build pkg-config libuv1-dev libfmt-dev libspdlog-dev libcli11-dev libssl-dev zlib1g-dev
                      libfyaml-dev libre2-dev libhiredis-dev nlohmann-json3-dev prometheus-cpp-dev) ;;
    static) packages+=(git dpkg-dev) ;;
    arm64) packages+=(g++-aarch64-linux-gnu qemu-user-static) ;;
    dist) packages+=(umoci nodejs) ;;
    dist-test) packages+=(umoci buildah lintian debootstrap dpkg-dev) ;;
    test) packages+=(catch2 libsimdjson-dev libtcmalloc-minimal4 curl procps git ccache clang libclang-rt-14-dev llvm lld prometheus redis-server haproxy
                   gcovr chromium) ;;
  esac
done
case " $* " in *" test "* | *" dist "* | *" dist-test "*) command -v npm >/dev/null || packages+=(npm) ;; esac
case " $* " in *" test "*) command -v kubectl >/dev/null || packages+=(kubernetes-client) ;; esac

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done

if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" = 0 ]; then as=(); elif command -v sudo >/dev/null; then as=(sudo); else
    echo "These Debian packages are missing. Install them, then run make again:" >&2
    echo "  apt-get install ${missing[*]}" >&2
    exit 1
  fi
  echo "installing: ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  "${as[@]}" apt-get update -qq
  "${as[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

# llhttp: a library package on Debian 13; on Debian 12 three C files inside node-llhttp. Those are unpacked, not
# installed, since the package would bring Node with it.
if ! pkg-config --exists 'libllhttp >= 9' && [ ! -e /usr/share/llhttp/llhttp.c ] && [ ! -e build/deps/usr/share/llhttp/llhttp.c ]; then
  mkdir -p build/deps
  fetch() { (cd build/deps && apt-get download -qq node-llhttp); }
  fetch 2>/dev/null || { [ "$(id -u)" != 0 ] || apt-get update -qq; fetch; }
  dpkg-deb -x build/deps/node-llhttp_*.deb build/deps
fi
