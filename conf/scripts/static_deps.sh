#!/usr/bin/env bash
# static_deps.sh ARCH (amd64, arm64): what a static build is linked from, in build/static-deps/ARCH. Debian 12's -dev
# packages are unpacked, not installed; libraries without an archive there are built from Debian's sources. apt checks both
# against the signed lists of the machine's own mirror. It has its own folders for them: the system's stay as they are.
set -euo pipefail
cd "$(dirname "$0")/../.."
arch=$1
here=$PWD/build/static-deps
to=$here/$arch

of_arch=(libuv1-dev libnghttp2-dev libssl-dev zlib1g-dev libfyaml-dev libre2-dev libhiredis-dev libfmt-dev)
of_all=(nlohmann-json3-dev libcli11-dev libtomlplusplus-dev node-llhttp catch2)
for_tests=(libsimdjson-dev)
# The C and C++ libraries themselves, since a cross compiler's own are older; and packages that hold the licences of others.
of_libc=(libc6-dev libstdc++-12-dev libgcc-12-dev)
licences=(libre2-9 gcc-12-base)
sources=(fmtlib simdjson)
[ "$arch" = amd64 ] || [ "$arch" = arm64 ] || { echo "static_deps.sh: there is amd64 and arm64, not '$arch'" >&2; exit 2; }

stamp=$(sha256sum conf/scripts/static_deps.sh conf/static/CMakeLists.txt conf/static/arm64.cmake | sha256sum)
[ "$(cat "$to/stamp" 2>/dev/null)" != "$stamp" ] || exit 0

echo "== $arch: the libraries of a static build" >&2
apt=$here/apt
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/parts" "$to"
rm -rf "$to/root" "$to/libc" "$to/built" "$to/build" "$to/sources" "$to/debs"
mkdir -p "$to/root" "$to/libc" "$to/debs" "$to/sources"
# The system's own sources with Debian's suites, for source packages too.
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
  [ -e "$file" ] && grep -q debian "$file" || continue
  case $file in
    *.sources) sed 's/^Types:.*/Types: deb deb-src/' "$file" >"$apt/parts/$(basename "$file")" ;;
    *) sed -nE 's/^deb(-src)? (.*)/deb \2\ndeb-src \2/p' "$file" | sort -u >"$apt/parts/$(basename "$file")" ;;
  esac
done
cat >"$apt/apt.conf" <<TXT
Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "$apt/parts";
Dir::State::Lists "$apt/lists";
Dir::Cache "$apt/cache";
APT::Architectures { "$(dpkg --print-architecture)"; "$arch"; };
APT::Sandbox::User "root";
TXT
export APT_CONFIG=$apt/apt.conf
apt-get update -qq

packages=("${of_all[@]}")
for package in "${of_arch[@]}" "${of_libc[@]}" "${for_tests[@]}" "${licences[@]}"; do packages+=("$package:$arch"); done
(cd "$to/debs" && apt-get download -qq "${packages[@]}")
for deb in "$to"/debs/*.deb; do
  case " ${of_libc[*]} gcc-12-base " in
    *" $(dpkg-deb -f "$deb" Package) "*) dpkg-deb -x "$deb" "$to/libc" ;;
    *) dpkg-deb -x "$deb" "$to/root" ;;
  esac
done
for source in "${sources[@]}"; do
  (mkdir "$to/debs/$source" && cd "$to/debs/$source" && apt-get source -qq --download-only "$source" >/dev/null)
  # apt has checked them; dpkg-source would want the maintainer's own key.
  dpkg-source --no-check -x "$to/debs/$source/"*.dsc "$to/sources/$source" >/dev/null
done
# The packages that get linked in, for NOTICE and the SBOM: package, version, source package.
for deb in "$to"/debs/*.deb; do
  case " catch2 ${for_tests[*]} ${licences[*]} " in *" $(dpkg-deb -f "$deb" Package) "*) continue ;; esac
  dpkg-deb -W --showformat='${Package}\t${Version}\t${source:Package}\n' "$deb"
done | LC_ALL=C sort >"$to/packages.tsv"

toolchain=()
[ "$arch" = "$(dpkg --print-architecture)" ] || toolchain=(-DCMAKE_TOOLCHAIN_FILE="$PWD/conf/static/$arch.cmake")
cmake -S conf/static -B "$to/build" -G Ninja -DSOURCES="$to/sources" -DCMAKE_INSTALL_PREFIX="$to/built" "${toolchain[@]}" >/dev/null
cmake --build "$to/build" -j "${JOBS:-$(nproc)}" >&2
cmake --install "$to/build" >/dev/null
echo "$stamp" >"$to/stamp"
