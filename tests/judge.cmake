# The program as a user runs it.
#   cases    every honest kernel of tests/cases passes, every wrong twin is rejected for the expected reason
#   cheats   the same for hostile candidates; the host must be unharmed
#   opencl   kernels and twins for OpenCL devices, on a processor (PoCL): checked only, for their times rank nothing
#   python   modules in PyTorch and what cheats are made of in Python, on the CPU; left out where no Python has PyTorch
#   worker_device  what worker.py does with a GPU's buffers, on ordinary memory, and when a recording fails; likewise
#   worker_names  that the libraries beside worker.py have what it calls
#   baselines  PyTorch as a baseline and as a candidate, on the CPU; likewise
#   kernelbench_analysis  KernelBench's script reads our results; left out where KERNELBENCH names no checkout
#   resume   `bench` killed at random moments and by two at once: nothing lost, nothing twice
#   cli      exit codes, help, JSON, messages
# The first three keep two processors busy by themselves, and alone are as quick as together; the others do not.
set(own_files "ASSAY_TASKS=${CMAKE_SOURCE_DIR}/tasks;ASSAY_INCLUDE=${CMAKE_SOURCE_DIR}/include")
foreach(corpus cases cheats)
  add_test(NAME ${corpus} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/corpus.sh $<TARGET_FILE:assay>
    ${CMAKE_CURRENT_SOURCE_DIR}/${corpus} ${CMAKE_BINARY_DIR}/test-${corpus}.sqlite)
  set_tests_properties(${corpus} PROPERTIES TIMEOUT 1500 RUN_SERIAL ON ENVIRONMENT "${own_files}")
endforeach()
add_test(NAME opencl COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/corpus.sh $<TARGET_FILE:assay>
  ${CMAKE_CURRENT_SOURCE_DIR}/opencl ${CMAKE_BINARY_DIR}/test-opencl.sqlite --no-timing)
set_tests_properties(opencl PROPERTIES TIMEOUT 1500 RUN_SERIAL ON ENVIRONMENT "${own_files}")
if(NOT ASSAY_SANITIZE) # a sanitizer's library would have to be the first in Python
  add_test(NAME python COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/python.sh $<TARGET_FILE:assay>
    ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_BINARY_DIR}/test-python.sqlite)
  set_tests_properties(python PROPERTIES TIMEOUT 1500 RUN_SERIAL ON SKIP_RETURN_CODE 77 ENVIRONMENT "${own_files}")
  add_test(NAME baselines COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/baselines.sh $<TARGET_FILE:assay>
    ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_BINARY_DIR}/test-baselines.sqlite)
  set_tests_properties(baselines PROPERTIES TIMEOUT 900 RUN_SERIAL ON SKIP_RETURN_CODE 77 ENVIRONMENT "${own_files}")
  add_test(NAME worker_device COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/worker_device.sh ${CMAKE_CURRENT_SOURCE_DIR}
    ${CMAKE_BINARY_DIR}/worker.py)
  set_tests_properties(worker_device PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77)
  add_test(NAME worker_names COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/worker_names.py ${CMAKE_BINARY_DIR}/worker.py)
endif()
add_test(NAME kernelbench_analysis COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/kernelbench_analysis.sh $<TARGET_FILE:assay>
  ${CMAKE_SOURCE_DIR})
set_tests_properties(kernelbench_analysis PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 ENVIRONMENT "${own_files}")
foreach(script resume cli)
  add_test(NAME ${script} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/${script}.sh $<TARGET_FILE:assay> ${CMAKE_SOURCE_DIR}
    ${CMAKE_BINARY_DIR})
  set_tests_properties(${script} PROPERTIES TIMEOUT 900 ENVIRONMENT "${own_files}")
endforeach()
