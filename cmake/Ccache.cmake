# Copyright 2026 The OpenUBL Authors
# SPDX-License-Identifier: Apache-2.0
#
# ccache for our code and (through scripts/verilate) for Verilated code.

find_program(UBL_CCACHE ccache)
if(UBL_CCACHE)
  # Without this sloppiness ccache gives up on every file that uses a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${UBL_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${UBL_CCACHE})
endif()
