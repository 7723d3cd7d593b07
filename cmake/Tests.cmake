# Copyright 2026 The OpenUBL Authors
# SPDX-License-Identifier: Apache-2.0
#
#   ubl_test(NAME <test> SOURCES <files> [LIBS <targets>] LEVEL quick|full|nightly
#            [TIMEOUT <seconds>] [ARGS <arguments>])
# One GoogleTest program = one ctest entry: starting a process per case would cost more than the
# cases. The program is <build>/tests/<test>; `quick` ones belong to the default build, the others
# to the targets tests_full and tests_nightly.
#
#   ubl_script_test(NAME <test> COMMAND <command...> LEVEL <level> [TIMEOUT <seconds>])
# Any other command whose exit status is the verdict.
#
#   ubl_netlist_test(TEST <test> [PART <module>[,<name>=<value>...]] [ARGS <arguments of scripts/netlist>]
#                    [TIMEOUT <seconds>])
# The program <test> of ubl_test() once more, against netlists of its Verilated models: ctest entry
# netlist_<test>, level full. With PART only that module inside the models is a netlist: ctest entry
# netlist_<test>_<module>.

find_package(GTest QUIET)
option(UBL_TESTS "Build the tests" ${GTest_FOUND})
set(UBL_LEVELS quick full nightly)
set(UBL_TIMEOUT_quick 120)
if(UBL_SANITIZE OR UBL_COVERAGE)
  set(UBL_TIMEOUT_quick 900)
endif()
set(UBL_TIMEOUT_full 1200)
set(UBL_TIMEOUT_nightly 7200)
foreach(level IN LISTS UBL_LEVELS)
  add_custom_target(tests_${level})
endforeach()

if(UBL_TESTS)
  if(NOT GTest_FOUND)
    message(FATAL_ERROR "UBL_TESTS needs GoogleTest: scripts/setup --for test")
  endif()
  enable_testing()
  # Objects, not an archive: SystemC's library has a main() too, and ours must win.
  add_library(ubl_test_main OBJECT EXCLUDE_FROM_ALL "${CMAKE_SOURCE_DIR}/tests/main.cpp")
  target_include_directories(ubl_test_main PUBLIC "${CMAKE_SOURCE_DIR}/tests/include")
  target_link_libraries(ubl_test_main PUBLIC GTest::gmock GTest::gtest)
else()
  message(STATUS "Tests are not built (UBL_TESTS=OFF)")
endif()

function(ubl_set_test_level name level timeout)
  if(NOT level IN_LIST UBL_LEVELS)
    message(FATAL_ERROR "${name}: LEVEL must be one of ${UBL_LEVELS}, not '${level}'")
  endif()
  if(NOT timeout)
    set(timeout ${UBL_TIMEOUT_${level}})
  endif()
  set_tests_properties(${name} PROPERTIES LABELS ${level} TIMEOUT ${timeout})
endfunction()

function(ubl_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;LEVEL;TIMEOUT" "SOURCES;LIBS;ARGS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_NAME OR NOT arg_SOURCES)
    message(FATAL_ERROR "ubl_test(NAME SOURCES LEVEL [LIBS TIMEOUT ARGS]): ${ARGV}")
  endif()
  if(NOT UBL_TESTS)
    return()
  endif()
  add_executable(${arg_NAME} ${arg_SOURCES})
  set_target_properties(${arg_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  target_link_libraries(${arg_NAME} PRIVATE ubl_test_main ${arg_LIBS})
  add_test(NAME ${arg_NAME} COMMAND ${arg_NAME} ${arg_ARGS})
  ubl_set_test_level(${arg_NAME} "${arg_LEVEL}" "${arg_TIMEOUT}")
  if(NOT arg_LEVEL STREQUAL "quick")
    set_target_properties(${arg_NAME} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  add_dependencies(tests_${arg_LEVEL} ${arg_NAME})
endfunction()

function(ubl_script_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;LEVEL;TIMEOUT" "COMMAND")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_NAME OR NOT arg_COMMAND)
    message(FATAL_ERROR "ubl_script_test(NAME COMMAND LEVEL [TIMEOUT]): ${ARGV}")
  endif()
  if(NOT UBL_TESTS)
    return()
  endif()
  add_test(NAME ${arg_NAME} COMMAND ${arg_COMMAND})
  ubl_set_test_level(${arg_NAME} "${arg_LEVEL}" "${arg_TIMEOUT}")
endfunction()

function(ubl_netlist_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TEST;PART;TIMEOUT" "ARGS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_TEST)
    message(FATAL_ERROR "ubl_netlist_test(TEST [PART ARGS TIMEOUT]): ${ARGV}")
  endif()
  set(name netlist_${arg_TEST})
  if(arg_PART)
    string(REGEX REPLACE ",.*" "" module "${arg_PART}")
    string(APPEND name _${module})
    list(APPEND arg_ARGS --part "${arg_PART}")
  endif()
  ubl_script_test(NAME ${name} LEVEL full TIMEOUT ${arg_TIMEOUT}
    COMMAND "${CMAKE_SOURCE_DIR}/scripts/netlist" --build "${CMAKE_BINARY_DIR}" ${arg_ARGS} ${arg_TEST})
endfunction()
