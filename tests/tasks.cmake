# The task files, read by ONNX's own Python package and compared with the census of the published suite; and the same
# files compared with what their authoring script writes.
set(ASSAY_ONNX_PYTHON "" CACHE STRING "A Python interpreter that has the package onnx (empty: find or make one)")
add_test(NAME tasks_census
  COMMAND ${CMAKE_COMMAND} -E env "ASSAY_ONNX_PYTHON=${ASSAY_ONNX_PYTHON}"
          ${CMAKE_CURRENT_LIST_DIR}/tasks/onnx_python.sh ${CMAKE_BINARY_DIR}/onnx-venv
          ${CMAKE_CURRENT_LIST_DIR}/tasks/check_tasks.py ${CMAKE_SOURCE_DIR}/tasks/kernelbench/level1
          ${CMAKE_CURRENT_LIST_DIR}/tasks/level1_census.csv)
set_tests_properties(tasks_census PROPERTIES TIMEOUT 600)
find_program(ASSAY_PYTHON3 python3)
add_test(NAME tasks_authored COMMAND ${ASSAY_PYTHON3} ${CMAKE_SOURCE_DIR}/tools/make_level1.py --check)
