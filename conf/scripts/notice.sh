#!/usr/bin/env bash
# notice.sh ARCH: the licences of all that is linked into a static binary, out of Debian's copyright files
# (conf/scripts/static_deps.sh has unpacked them), and the texts that those only name.
set -euo pipefail
cd "$(dirname "$0")/../.."
deps=build/static-deps/$1

cat <<TXT
Lineward has the Apache License 2.0 (LICENSE). This file names what is linked into its static binary, all of it from Debian 12, with
the licences of each. The GNU C library (LGPL 2.1) is among it: whoever wants another version of it in the binary builds one with
\`make static\` from Lineward's sources; Debian has the sources of everything named here.

TXT
copyrights=()
while IFS=$'\t' read -r package version source; do
  file=
  for root in "$deps/root" "$deps/libc"; do
    doc=$root/usr/share/doc/$package
    if [ -e "$doc/copyright" ]; then file=$doc/copyright; fi
  done
  [ -n "$file" ] || { echo "notice.sh: no copyright file of $package" >&2; exit 70; }
  copyrights+=("$file")
  printf -- '-------- %s %s (source package %s)\n\n' "$package" "$version" "$source"
  cat "$file"
  echo
done <"$deps/packages.tsv"
for name in $(grep -hoE '/usr/share/common-licenses/[A-Za-z]+(-[0-9.]*[0-9])?' "${copyrights[@]}" | LC_ALL=C sort -u); do
  [ -f "$name" ] || continue
  printf -- '-------- %s\n\n' "$(basename "$name")"
  cat "$name"
  echo
done
