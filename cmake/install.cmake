# SPDX-License-Identifier: Apache-2.0
# What `make install` installs. The program finds its own files from its place, PREFIX/bin (src/cli/paths.c), so that PREFIX
# may be moved.
include(GNUInstallDirs)

# Manual pages and completions, from what --help is made of.
find_program(ASSAY_PYTHON3 python3)
if(ASSAY_PYTHON3 AND NOT ASSAY_SANITIZE)
  set(manual ${CMAKE_BINARY_DIR}/manual)
  add_custom_command(OUTPUT ${manual}/bash/assay
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${manual}
    COMMAND ${ASSAY_PYTHON3} -B ${CMAKE_SOURCE_DIR}/tools/manual.py $<TARGET_FILE:assay>
            ${CMAKE_SOURCE_DIR}/tools/importer/assay-import ${manual}
    DEPENDS assay ${CMAKE_SOURCE_DIR}/tools/manual.py ${CMAKE_SOURCE_DIR}/tools/importer/assay-import)
  add_custom_target(manual ALL DEPENDS ${manual}/bash/assay)
  add_dependencies(programs manual)
  install(DIRECTORY ${manual}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${manual}/bash/assay DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${manual}/zsh/_assay DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${manual}/fish/assay.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
else()
  message(STATUS "without manual pages and completions: they need python3 and a build without sanitizers")
endif()

set(own libexec/assay)
list(REMOVE_ITEM programs assay)
install(TARGETS assay DESTINATION bin)
install(TARGETS ${programs} DESTINATION ${own})
install(FILES src/runner/worker.py src/runner/worker_weights.py src/runner/worker_call.py src/runner/worker_error.py
  DESTINATION ${own})
install(DIRECTORY tasks prompts DESTINATION share/assay)
# What the makers triton and helion of `assay compare --with` take.
install(DIRECTORY kernels/fusedops/triton kernels/fusedops/helion DESTINATION share/assay/kernels/fusedops
  FILES_MATCHING PATTERN "*.py" PATTERN "__pycache__" EXCLUDE)
install(FILES prices.txt docs/assay.schema.json DESTINATION share/assay)
# Headers of libassay and of kernels; judge.h and paths.h are of this house, and change.
install(FILES include/assay/assay.h include/assay/export.h include/assay/status.h include/assay/verdict.h
  include/assay/candidate.h include/assay/cuda.h DESTINATION include/assay)
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The importer is Python; bin/assay-import leads to it.
install(PROGRAMS tools/importer/assay-import DESTINATION ${own}/importer)
install(DIRECTORY tools/importer/importing DESTINATION ${own}/importer FILES_MATCHING PATTERN "*.py"
  PATTERN "__pycache__" EXCLUDE)
file(CREATE_LINK ../libexec/assay/importer/assay-import ${CMAKE_BINARY_DIR}/generated/assay-import SYMBOLIC)
install(FILES ${CMAKE_BINARY_DIR}/generated/assay-import DESTINATION bin)

# What was installed, for `make uninstall` (tools/install/uninstall): last, and with itself.
install(CODE [[
  set(list "${CMAKE_INSTALL_PREFIX}/share/assay/installed.txt")
  set(files ${CMAKE_INSTALL_MANIFEST_FILES} ${list})
  list(JOIN files "\n" files)
  file(WRITE "$ENV{DESTDIR}${list}" "${files}\n")
]])
