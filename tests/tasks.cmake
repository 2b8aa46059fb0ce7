# The task files, read by ONNX's own Python package and compared with the census of the published suite, those of level 2
# also operator by operator with a trace of it; and the same files compared with what their authoring scripts write.
set(ASSAY_ONNX_PYTHON "" CACHE STRING "A Python interpreter that has the package onnx (empty: find or make one)")
set(task_tests ${CMAKE_CURRENT_LIST_DIR}/tasks)
set(with_onnx ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1 "ASSAY_ONNX_PYTHON=${ASSAY_ONNX_PYTHON}"
    ${task_tests}/onnx_python.sh ${CMAKE_BINARY_DIR}/onnx-venv)
set(level1 ${CMAKE_SOURCE_DIR}/tasks/kernelbench/level1)
set(level3 ${CMAKE_SOURCE_DIR}/tasks/kernelbench/level3)
set(level2 ${CMAKE_SOURCE_DIR}/tasks/kernelbench/level2)
add_test(NAME tasks_census COMMAND ${with_onnx} ${task_tests}/check_tasks.py 1 ${level1} ${task_tests}/level1_census.csv)
add_test(NAME tasks_census_2 COMMAND ${with_onnx} ${task_tests}/check_tasks.py 2 ${level2} ${task_tests}/level2_census.csv)
add_test(NAME tasks_census_3
  COMMAND ${with_onnx} ${task_tests}/check_tasks.py 3 ${level3} ${task_tests}/level3_census.csv)
add_test(NAME tasks_operators_2
  COMMAND ${with_onnx} ${task_tests}/check_operators.py ${level2} ${task_tests}/level2_operators.csv)
# The first of them makes the environment.
set_tests_properties(tasks_census tasks_census_2 tasks_census_3 tasks_operators_2 PROPERTIES TIMEOUT 600 RESOURCE_LOCK onnx-venv)
find_program(ASSAY_PYTHON3 python3)
foreach(level 1 2 3)
  add_test(NAME tasks_authored_${level} COMMAND ${ASSAY_PYTHON3} -B ${CMAKE_SOURCE_DIR}/tools/make_level${level}.py --check)
endforeach()
add_test(NAME tasks_originals COMMAND ${ASSAY_PYTHON3} -B ${task_tests}/check_originals.py
  ${CMAKE_SOURCE_DIR}/tools ${task_tests}/originals.csv)

# For tools/compare_originals.py: another program's answers beside the oracle's.
add_executable(answers ${task_tests}/answers.c)
target_link_libraries(answers PRIVATE assay_cli)
