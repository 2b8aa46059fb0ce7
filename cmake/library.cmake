# SPDX-License-Identifier: Apache-2.0
# libassay: all that judging needs, in one library each. src/api/symbols.txt is what it exports; everything else of it is
# hidden, also in the static one, which is therefore a single object.
set(ASSAY_SOVERSION 0)
file(STRINGS src/api/symbols.txt exported)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS src/api/symbols.txt)
list(JOIN exported "; " symbols)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/libassay.map CONTENT "ASSAY_0 { global: @symbols@; local: *; };\n" @ONLY)
set_source_files_properties(src/base/error.c src/base/verdict.c PROPERTIES COMPILE_OPTIONS -fvisibility=default)
set(library_parts "")
foreach(part api judge store stats runner toolchain toolchain_builder toolchain_directive toolchain_record sandbox task
    compare oracle_cuda oracle onnx ops graph device plan compute base)
  list(APPEND library_parts $<TARGET_OBJECTS:assay_${part}>)
endforeach()
list(APPEND library_parts $<TARGET_OBJECTS:onnx_schema>)
set(library_needs PkgConfig::JANSSON PkgConfig::SQLITE PkgConfig::PROTOBUFC PkgConfig::OPENBLAS PkgConfig::SECCOMP
  PkgConfig::NETTLE Threads::Threads m ${CMAKE_DL_LIBS})
add_library(libassay SHARED ${library_parts})
set_target_properties(libassay PROPERTIES OUTPUT_NAME assay VERSION ${PROJECT_VERSION} SOVERSION ${ASSAY_SOVERSION}
  LINKER_LANGUAGE C LINK_DEPENDS "${CMAKE_SOURCE_DIR}/src/api/symbols.txt" EXPORT_NAME assay)
target_link_options(libassay PRIVATE -Wl,-z,defs -Wl,--version-script=${CMAKE_BINARY_DIR}/generated/libassay.map)
target_link_libraries(libassay PRIVATE ${library_needs})
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/libassay.a
  COMMAND ${CMAKE_LINKER} -r -o generated/libassay.o ${library_parts}
  COMMAND ${CMAKE_OBJCOPY} --keep-global-symbols=${CMAKE_SOURCE_DIR}/src/api/symbols.txt generated/libassay.o
  COMMAND ${CMAKE_COMMAND} -E rm -f libassay.a
  COMMAND ${CMAKE_AR} rcs libassay.a generated/libassay.o
  DEPENDS ${library_parts} src/api/symbols.txt
  WORKING_DIRECTORY ${CMAKE_BINARY_DIR} COMMAND_EXPAND_LISTS)
add_custom_target(libassay_static ALL DEPENDS ${CMAKE_BINARY_DIR}/libassay.a)

include(GNUInstallDirs)
install(TARGETS libassay DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${CMAKE_BINARY_DIR}/libassay.a DESTINATION ${CMAKE_INSTALL_LIBDIR})
set(ASSAY_PRIVATE_LIBRARIES "-ljansson -lsqlite3 -lprotobuf-c -lopenblas -lseccomp -lnettle -lpthread -lm -ldl")
file(RELATIVE_PATH ASSAY_UP "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" ASSAY_UP "${ASSAY_UP}")
configure_file(cmake/assay.pc.in ${CMAKE_BINARY_DIR}/generated/assay.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/generated/assay.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
include(CMakePackageConfigHelpers)
configure_package_config_file(cmake/assayConfig.cmake.in ${CMAKE_BINARY_DIR}/generated/assayConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/assay PATH_VARS CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/generated/assayConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/generated/assayConfig.cmake ${CMAKE_BINARY_DIR}/generated/assayConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/assay)
