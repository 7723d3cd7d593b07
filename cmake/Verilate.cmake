# Copyright 2026 The OpenUBL Authors
# SPDX-License-Identifier: Apache-2.0
#
#   ubl_verilate(NAME <lib> TOP <module> SOURCES <files> [PREFIX <class>] [TRACE]
#                [PARAMS -GRadix=16 ...])
#
# makes up to two static libraries out of one RTL module, each only when something links it:
#   <lib>        class V<Top>       fast: no assertions, no initial values
#   <lib>_chk    class V<Top>Chk    assertions on, registers start at random values (zero with
#                                   randReset(0)); with TRACE able to write FST waves
# Use: target_link_libraries(x PRIVATE nic_port) and #include "Vnic_port.h". Class names differ, so
# a program may hold both. V<Top> is V + module name, or PREFIX; modules that are built with
# several parameter sets need a PREFIX each.
#
# SOURCES are relative to the calling folder. The contract package comes first, always; modules of
# rtl/common and rtl/numerics, and of the folders of the sources, are found by their file name.

find_program(UBL_VERILATOR verilator REQUIRED)
execute_process(COMMAND "${UBL_VERILATOR}" --getenv VERILATOR_ROOT
  OUTPUT_VARIABLE UBL_VERILATOR_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
set(UBL_VERILATOR_INCLUDE "${UBL_VERILATOR_ROOT}/include")
set(UBL_VERILATED_DIR "${CMAKE_BINARY_DIR}/verilated")

# The run-time library, compiled once for all models. Time comes from the model's context; the
# legacy global function would clash with SystemC's function of the same name (cmake/verilated).
add_library(ubl_verilated STATIC EXCLUDE_FROM_ALL
  "${UBL_VERILATOR_INCLUDE}/verilated.cpp" "${UBL_VERILATOR_INCLUDE}/verilated_threads.cpp")
target_include_directories(ubl_verilated SYSTEM PUBLIC
  "${CMAKE_SOURCE_DIR}/cmake/verilated"
  "${UBL_VERILATOR_INCLUDE}" "${UBL_VERILATOR_INCLUDE}/vltstd")
target_compile_definitions(ubl_verilated PUBLIC VL_TIME_CONTEXT
  PRIVATE VERILATOR=1 VM_COVERAGE=0 VM_SC=0 VM_TRACE=0 VM_TRACE_FST=0 VM_TRACE_VCD=0)
target_compile_options(ubl_verilated PRIVATE -w)
target_link_libraries(ubl_verilated PUBLIC Threads::Threads)

# FST writer, for models with TRACE only.
find_package(ZLIB REQUIRED)
add_library(ubl_verilated_fst STATIC EXCLUDE_FROM_ALL "${UBL_VERILATOR_INCLUDE}/verilated_fst_c.cpp")
target_compile_definitions(ubl_verilated_fst
  PRIVATE VERILATOR=1 VM_COVERAGE=0 VM_SC=0 VM_TRACE=1 VM_TRACE_FST=1 VM_TRACE_VCD=0)
target_compile_options(ubl_verilated_fst PRIVATE -w)
target_link_libraries(ubl_verilated_fst PUBLIC ubl_verilated ZLIB::ZLIB)

function(_ubl_verilate_variant lib mode prefix top sources params)
  set(obj "${UBL_VERILATED_DIR}/${lib}")
  set(archive "${UBL_VERILATED_DIR}/lib${lib}.a")
  add_custom_command(
    OUTPUT "${archive}"
    BYPRODUCTS "${obj}/${prefix}.h"
    COMMAND "${CMAKE_SOURCE_DIR}/scripts/verilate"
      --name ${lib} --mode ${mode} --prefix ${prefix} --top ${top} --obj "${obj}"
      --archive "${archive}" --depfile "${archive}.d" --verilator "${UBL_VERILATOR}"
      --cxx "${CMAKE_CXX_COMPILER}" --ccache "${UBL_CCACHE}" -- ${params} ${sources}
    DEPENDS "${CMAKE_SOURCE_DIR}/scripts/verilate" ${sources}
      "${CMAKE_SOURCE_DIR}/rtl/spec/generated/sv/ubl_pkg.sv"
    DEPFILE "${archive}.d"
    COMMENT "Verilating ${lib}"
    VERBATIM)
  add_custom_target(${lib}_archive DEPENDS "${archive}")

  # Include folders must exist when targets are generated.
  file(MAKE_DIRECTORY "${obj}")
  add_library(${lib} STATIC IMPORTED GLOBAL)
  add_dependencies(${lib} ${lib}_archive)
  set(runtime ubl_verilated)
  if(mode STREQUAL "chktrace")
    set(runtime ubl_verilated_fst)
  endif()
  set_target_properties(${lib} PROPERTIES
    IMPORTED_LOCATION "${archive}"
    INTERFACE_INCLUDE_DIRECTORIES "${obj}"
    INTERFACE_LINK_LIBRARIES ${runtime})
endfunction()

function(ubl_verilate)
  cmake_parse_arguments(PARSE_ARGV 0 arg "TRACE" "NAME;TOP;PREFIX" "SOURCES;PARAMS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_NAME OR NOT arg_TOP OR NOT arg_SOURCES)
    message(FATAL_ERROR "ubl_verilate(NAME TOP SOURCES [PREFIX PARAMS]): ${ARGV}")
  endif()
  if(NOT arg_PREFIX)
    set(arg_PREFIX "V${arg_TOP}")
  endif()
  # Two models of one class name in one program would silently share code.
  get_property(other GLOBAL PROPERTY UBL_PREFIX_${arg_PREFIX})
  if(other)
    message(FATAL_ERROR "${arg_NAME}: class ${arg_PREFIX} is ${other} already; give a PREFIX")
  endif()
  set_property(GLOBAL PROPERTY UBL_PREFIX_${arg_PREFIX} ${arg_NAME})
  set(sources "")
  foreach(source IN LISTS arg_SOURCES)
    get_filename_component(source "${source}" ABSOLUTE)
    if(NOT EXISTS "${source}")
      message(FATAL_ERROR "${arg_NAME}: no such file: ${source}")
    endif()
    list(APPEND sources "${source}")
  endforeach()
  _ubl_verilate_variant(${arg_NAME} fast ${arg_PREFIX} ${arg_TOP} "${sources}" "${arg_PARAMS}")
  set(mode chk)
  if(arg_TRACE)
    set(mode chktrace)
  endif()
  _ubl_verilate_variant(${arg_NAME}_chk ${mode} ${arg_PREFIX}Chk ${arg_TOP} "${sources}"
    "${arg_PARAMS}")
endfunction()
