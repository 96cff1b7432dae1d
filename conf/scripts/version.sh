#!/usr/bin/env bash
# version.sh: the version, which stands in CMakeLists.txt and nowhere else.
sed -nE 's/^project\(lineward VERSION ([0-9.]+).*/\1/p' "$(dirname "$0")/../../CMakeLists.txt"
