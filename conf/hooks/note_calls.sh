#!/bin/sh
# A hook for Lineward: writes a line to a file for each call that ended. Ends want no answer, so any language that can
# append to a file will do.
while IFS= read -r line; do
  printf '%s\n' "$line" >>"$1"
done
