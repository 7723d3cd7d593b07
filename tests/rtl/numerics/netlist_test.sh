#!/bin/bash
# Copyright 2026 The OpenUBL Authors
# SPDX-License-Identifier: Apache-2.0
#
# The tests of rtl/numerics once more, on what yosys makes of the modules (word-level netlist,
# hierarchy flattened): a synthesis tool reads the sources as the simulator does.
# usage: netlist_test.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
root=$1 build=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/ubl_netlist.XXXXXX")
trap 'rm -rf "$work"' EXIT
include=$(verilator --getenv VERILATOR_ROOT)/include
cxx=(g++ -std=c++17 -O1 -DVL_TIME_CONTEXT "-I$root/tests/include" "-I$root/sw/numerics/include"
  "-I$root/rtl/spec/generated/cpp" "-isystem$include" "-isystem$include/vltstd")

netlist() { # top, class, sources...
  local top=$1 class=$2
  shift 2
  yosys -q -p "read_verilog -sv -I$root/rtl/common $root/rtl/spec/generated/sv/ubl_pkg.sv $*;
    prep -flatten -top $top; check -assert; write_verilog -noattr $work/$top.v" >"$work/$top.log" 2>&1 ||
    { cat "$work/$top.log"; return 1; }
  # Without that switch, Verilator 5.006 gets two bits of the gate-level ubl_crc32_pair wrong.
  verilator --cc -O1 -fno-const-bit-op-tree --no-timing -Wno-fatal -Wno-lint --prefix "$class" \
    --top-module "$top" --Mdir "$work/$class" -CFLAGS -DVL_TIME_CONTEXT "$work/$top.v" >"$work/$top.log" 2>&1 ||
    { cat "$work/$top.log"; return 1; }
  make -s -C "$work/$class" -f "$class.mk" OPT_FAST=-O1 OPT_SLOW=-O0 >"$work/$top.log" 2>&1 ||
    { cat "$work/$top.log"; return 1; }
  cxx+=("-I$work/$class")
}

netlist ubl_reduce Vubl_reduce "$root/rtl/numerics/ubl_reduce.sv" "$root/rtl/numerics/ubl_fp32_add.sv"
netlist ubl_crc32_window Vubl_crc32_window_syn "$root/rtl/numerics/ubl_crc32_window.sv"
netlist ubl_crc32_pair Vubl_crc32_pair_syn "$root/rtl/numerics/ubl_crc32_pair.sv"

common=("$root/tests/main.cpp" "$build/libubl_verilated.a" -lgtest -lgmock -lpthread -latomic)
"${cxx[@]}" -o "$work/reduce" "$root/tests/rtl/numerics/reduce_test.cpp" \
  "$root"/sw/numerics/src/*.cpp "$work"/Vubl_reduce/*__ALL.a "${common[@]}"
"${cxx[@]}" -o "$work/crc32" "-I$build/verilated/ubl_crc32_window" \
  "-I$build/verilated/ubl_crc32_pair" "$root/tests/rtl/numerics/crc32_test.cpp" \
  "$work"/Vubl_crc32_*_syn/*__ALL.a "$build"/verilated/libubl_crc32_{window,pair}.a "${common[@]}" -lz
"$work/reduce"
"$work/crc32"
