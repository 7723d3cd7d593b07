# Copyright 2026 The OpenUBL Authors
# SPDX-License-Identifier: Apache-2.0
#
# Packages of the system. Targets for others to link:
#   SystemC::systemc, CLI11::CLI11, nlohmann_json::nlohmann_json, fmt::fmt, spdlog::spdlog,
#   yaml-cpp, Threads::Threads
# and ubl_use_systemc_pch(<target>): SystemC and the common standard headers, precompiled once.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(yaml-cpp REQUIRED)

# Debian's SystemC has no CMake package file.
find_path(UBL_SYSTEMC_INCLUDE systemc REQUIRED)
find_library(UBL_SYSTEMC_LIBRARY systemc REQUIRED)
if(NOT TARGET SystemC::systemc)
  add_library(SystemC::systemc UNKNOWN IMPORTED GLOBAL)
  set_target_properties(SystemC::systemc PROPERTIES
    IMPORTED_LOCATION "${UBL_SYSTEMC_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${UBL_SYSTEMC_INCLUDE}"
    INTERFACE_LINK_LIBRARIES Threads::Threads)
endif()

function(ubl_use_systemc_pch target)
  if(NOT TARGET ubl_systemc_pch)
    # The owner lives in the top build folder, whoever asks first.
    file(WRITE "${CMAKE_BINARY_DIR}/pch/ubl_systemc_pch.cpp.in" "\n")
    configure_file("${CMAKE_BINARY_DIR}/pch/ubl_systemc_pch.cpp.in"
      "${CMAKE_BINARY_DIR}/pch/ubl_systemc_pch.cpp" COPYONLY)
    add_library(ubl_systemc_pch OBJECT "${CMAKE_BINARY_DIR}/pch/ubl_systemc_pch.cpp")
    target_link_libraries(ubl_systemc_pch PRIVATE SystemC::systemc)
    target_precompile_headers(ubl_systemc_pch PRIVATE
      <algorithm> <array> <cstddef> <cstdint> <cstring> <deque> <functional> <map> <memory>
      <optional> <stdexcept> <string> <string_view> <unordered_map> <utility> <vector> <systemc>)
  endif()
  target_precompile_headers(${target} REUSE_FROM ubl_systemc_pch)
  target_link_libraries(${target} PRIVATE SystemC::systemc)
endfunction()
