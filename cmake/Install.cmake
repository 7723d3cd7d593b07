# Copyright 2026 The OpenUBL Authors
# SPDX-License-Identifier: Apache-2.0
#
#   ubl_public_library(<target> NAME <name> INCLUDES <folders>)
#
# A library for others: openubl::<name>, here and after find_package(openubl). The headers of the
# folders are its interface, in the tree and installed.
#
# Components: `program` (ublsim, what it reads, the report generator) and `development` (headers,
# libraries, package file). cmake --install <build> [--prefix <folder>] [--component <component>]

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(UBL_INSTALL_DATA "${CMAKE_INSTALL_DATADIR}/openubl")
set(UBL_INSTALL_PACKAGE "${CMAKE_INSTALL_LIBDIR}/cmake/openubl")

function(ubl_public_library target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "NAME" "INCLUDES")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_NAME)
    message(FATAL_ERROR "ubl_public_library(target NAME INCLUDES): ${ARGV}")
  endif()
  set(scope PUBLIC)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    set(scope INTERFACE)
  endif()
  foreach(folder IN LISTS arg_INCLUDES)
    get_filename_component(folder "${folder}" ABSOLUTE)
    target_include_directories(${target} ${scope} "$<BUILD_INTERFACE:${folder}>")
    install(DIRECTORY "${folder}/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development
      FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
  endforeach()
  target_include_directories(${target} ${scope} "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${arg_NAME})
  add_library(openubl::${arg_NAME} ALIAS ${target})
  install(TARGETS ${target} EXPORT openublTargets
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)
endfunction()
