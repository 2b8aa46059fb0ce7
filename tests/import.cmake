# tools/assay-import: models of ONNX's test data against the outputs stored with them, and PyTorch modules against
# themselves in double precision. The second needs PyTorch and is skipped without it.
set(import_tests ${CMAKE_CURRENT_LIST_DIR}/import)
set(import_environment PYTHONDONTWRITEBYTECODE=1 ASSAY_TASKS=${CMAKE_SOURCE_DIR}/tasks
    ASSAY_STORE=${CMAKE_BINARY_DIR}/import_tests.sqlite)
add_test(NAME import_models
  COMMAND ${CMAKE_COMMAND} -E env ${import_environment} "ASSAY_ONNX_PYTHON=${ASSAY_ONNX_PYTHON}"
  ${CMAKE_CURRENT_LIST_DIR}/tasks/onnx_python.sh ${CMAKE_BINARY_DIR}/onnx-venv ${import_tests}/check_models.py
  $<TARGET_FILE:assay> ${ASSAY_ONNX_TESTDATA}/..)
set_tests_properties(import_models PROPERTIES TIMEOUT 900 RESOURCE_LOCK onnx-venv)
foreach(what modules pieces)
  add_test(NAME import_${what} COMMAND ${CMAKE_COMMAND} -E env ${import_environment} ${import_tests}/torch_python.sh
    ${import_tests}/check_${what}.py $<TARGET_FILE:assay> ${import_tests}/modules ${import_tests}/refused)
  set_tests_properties(import_${what} PROPERTIES TIMEOUT 3600 SKIP_RETURN_CODE 77)
endforeach()
