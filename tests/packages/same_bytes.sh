#!/usr/bin/env bash
# same_bytes.sh [ARCH]: a second static build, from a copy of the sources in another folder with another name and other times, is byte for
# byte the one in build/static. It builds everything again but the libraries.
set -euo pipefail
cd "$(dirname "$0")/../.."
arch=${1:-amd64}
copy=$(mktemp -d)/a-folder-of-another-name
trap 'rm -rf "$(dirname "$copy")"' EXIT
git clone -q --no-hardlinks . "$copy"
mkdir -p "$copy/build"
cp -r build/static-deps "$copy/build/"
(cd "$copy" && conf/scripts/static.sh "$arch" "$(dirname "$copy")/out" >/dev/null)
for file in lineward lineward.debug NOTICE; do
  cmp "build/static/$arch/$file" "$(dirname "$copy")/out/$file"
done
echo "$(sha256sum <"build/static/$arch/lineward" | cut -c1-16)… twice"
