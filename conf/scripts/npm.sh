#!/usr/bin/env bash
# npm.sh DIR ARCH=BINARY…: the npm packages as tarballs in DIR. BINARY is a static one (conf/scripts/static.sh) with its NOTICE beside
# it, ARCH is amd64 or arm64. All have the version of CMakeLists.txt, and the same bytes whenever they are packed.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$(realpath -m "$1")
shift
version=$(conf/scripts/version.sh)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"

pack() { (cd "$1" && npm pack --silent --pack-destination "$out"); }

cp -r conf/npm/lineward "$work/lineward"
cp LICENSE "$work/lineward/"
chmod 755 "$work/lineward/lineward.js"
sed -i "s/\"0\.0\.0\"/\"$version\"/" "$work/lineward/package.json"
pack "$work/lineward"
for one; do
  case $one in
    amd64=*) cpu=x64 ;;
    arm64=*) cpu=arm64 ;;
    *)
      echo "npm.sh: '$one' is not amd64=FILE or arm64=FILE" >&2
      exit 2
      ;;
  esac
  binary=${one#*=}
  folder=$work/linux-$cpu
  cp -r conf/npm/platform "$folder"
  sed -i "s/CPU/$cpu/g; s/\"0\.0\.0\"/\"$version\"/" "$folder"/package.json "$folder"/README.md
  install -m 755 "$binary" "$folder/lineward"
  cp LICENSE "$(dirname "$binary")/NOTICE" "$folder/"
  pack "$folder"
done
