# bench/beside: candidates that KernelBench's harness and Assay judge side by side on a GPU. Here what needs none.
#   beside         the files, and the script with a harness and a judge that are not the real ones
#   beside_torch   the plain PyTorch ones judged on the CPU; left out where no Python has PyTorch
find_program(ASSAY_PYTHON3 python3)
add_test(NAME beside COMMAND ${ASSAY_PYTHON3} -B ${CMAKE_CURRENT_SOURCE_DIR}/beside/check_beside.py)
set_tests_properties(beside PROPERTIES TIMEOUT 600)
if(NOT ASSAY_SANITIZE) # a sanitizer's library would have to be the first in Python
  add_test(NAME beside_torch COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/beside/cpu.sh $<TARGET_FILE:assay> ${CMAKE_SOURCE_DIR}
    ${CMAKE_BINARY_DIR}/test-beside.sqlite)
  set_tests_properties(beside_torch PROPERTIES TIMEOUT 1500 RUN_SERIAL ON SKIP_RETURN_CODE 77
    ENVIRONMENT "ASSAY_TASKS=${CMAKE_SOURCE_DIR}/tasks;ASSAY_INCLUDE=${CMAKE_SOURCE_DIR}/include")
endif()
