# Copyright 2026 The OpenUBL Authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Shared by the scripts; expects $root.

jobs=${UBL_JOBS:-$(nproc)}

say() { printf '== %s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# usage FILE: the comment at the head of a script is its help
usage() { sed -n '4,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$1"; exit 0; }

# need PROGRAM...: says which are missing
need() {
  local program missing=0
  for program; do
    command -v "$program" >/dev/null || { echo "missing program: $program" >&2; missing=1; }
  done
  return $missing
}

# files GLOB...: files of the project (tracked or new), below $root; also works in an unpacked archive
files() {
  if git -C "$root" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git -C "$root" ls-files --cached --others --exclude-standard -- "$@" | while read -r file; do
      [ -f "$root/$file" ] && echo "$file"
    done | sort -u
  else
    local glob
    for glob; do
      (cd "$root" && find . -path ./build -prune -o -path "./$glob" -type f -print -o -name "$glob" -type f -print)
    done | sed 's|^\./||' | sort -u
  fi
}

# The yosys of the npm package, in the version that our netlists and proofs were tried with; Debian
# 12's reads part of the RTL only.
yosys_package=@yowasp/yosys
yosys_version=0.55.944
yosys_folder=$root/build/tools/node_modules/$yosys_package

# yosys_script any|new SCRIPT: the script names files of its own folder
yosys_script() {
  if [ "$1" = new ]; then
    [ -f "$yosys_folder/gen/bundle.js" ] || { echo "no yosys $yosys_version; run: scripts/setup --for full"; return 1; }
    node "$root/scripts/yosys.mjs" "$yosys_folder" "$2"
  else
    (cd "$(dirname "$2")" && yosys -q -s "$(basename "$2")")
  fi
}
