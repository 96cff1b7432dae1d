#!/usr/bin/env bash
# dist.sh [PART…]: what a release consists of, in build/dist (all parts, or those that are named), and SHA256SUMS of it. From a clean
# commit it gives the same bytes anywhere. `make dist-test` uses each of them as its user would.
set -euo pipefail
cd "$(dirname "$0")/../.."
dist=$PWD/build/dist
version=$(conf/scripts/version.sh)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
export dist version

# A line for each part: its name, and the command that makes it. They run in this order, with $dist, $version and
# SOURCE_DATE_EPOCH set; each writes its files into $dist.
parts='
source    make_source
binaries  make_binaries
npm       conf/scripts/npm.sh "$dist/npm" "amd64=build/static/amd64/lineward" "arm64=build/static/arm64/lineward"
image     make_image
sbom      make_sbom
deb       make_deb
chart     make_chart
'

make_source() {
  git rev-parse --short=12 HEAD >build/.revision
  git archive --format=tar --prefix="lineward-$version/" --add-file=build/.revision HEAD | gzip -9n >"$dist/lineward-$version.tar.gz"
}

make_binaries() {
  mkdir -p "$dist/bin" "$dist/debug"
  for arch in amd64 arm64; do
    conf/scripts/static.sh $arch
    install -m 755 build/static/$arch/lineward "$dist/bin/lineward-linux-$arch"
    install -m 644 build/static/$arch/NOTICE "$dist/bin/lineward-linux-$arch.NOTICE"
    install -m 644 build/static/$arch/lineward.debug "$dist/debug/lineward-linux-$arch.debug"
  done
}

# The layout, and what a Dockerfile's build wants to have around it.
make_image() {
  conf/scripts/image.mjs "$dist/image" amd64=build/static/amd64/lineward arm64=build/static/arm64/lineward
  tar --create --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -C "$dist/image" . >"$dist/lineward-$version.oci.tar"
  rm -rf "$dist/image"
  cp -r conf/containers/root "$dist/root"
}

make_sbom() {
  for arch in amd64 arm64; do
    conf/scripts/sbom.mjs $arch "build/static/$arch/lineward" >"$dist/bin/lineward-linux-$arch.cdx.json"
  done
}

# The package for this machine's architecture and Debian.
make_deb() {
  conf/scripts/deb.sh build/deb
  mkdir -p "$dist/deb"
  cp build/deb/packages/*.*deb "$dist/deb"
}

make_chart() {
  tar --create --gzip --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -C conf/kubernetes \
    --transform 's,^chart,lineward,' chart >"$dist/lineward-chart-$version.tgz"
}

[ -z "$(git status --porcelain)" ] || echo "dist.sh: this tree has changes that are not committed; the source tarball is without them" >&2
[ $# -gt 0 ] || rm -rf "$dist"
mkdir -p "$dist"
while read -r name command; do
  [ -n "$name" ] || continue
  [ $# = 0 ] || [[ " $* " == *" $name "* ]] || continue
  started=$SECONDS
  echo "== $name" >&2
  eval "$command"
  echo "== $name: $((SECONDS - started)) s" >&2
done <<<"$parts"
(cd "$dist" && find . -type f ! -name SHA256SUMS | LC_ALL=C sort | sed 's|^\./||' | xargs -d '\n' sha256sum >SHA256SUMS)
(cd "$dist" && xargs -d '\n' -n 1 du -ah --apparent-size < <(cut -c67- SHA256SUMS))
