# The kernels become plans in both of their forms, without a GPU (tests/kernels/main.c).
add_executable(kernels_cuda kernels/main.c kernels/same_plan.c)
target_link_libraries(kernels_cuda PRIVATE assay_cli)
target_compile_definitions(kernels_cuda PRIVATE ASSAY_SOURCE_DIR="${CMAKE_SOURCE_DIR}" ASSAY_BINARY_DIR="${CMAKE_BINARY_DIR}")
add_test(NAME kernels_cuda COMMAND kernels_cuda ${CMAKE_SOURCE_DIR}/kernels/cuda ${CMAKE_SOURCE_DIR}/tests/cheats/cuda)
set_tests_properties(kernels_cuda PROPERTIES TIMEOUT 1800 RUN_SERIAL ON SKIP_RETURN_CODE 77)
# ... and a difference between the two is seen.
add_test(NAME kernels_cuda_differ COMMAND kernels_cuda ${CMAKE_SOURCE_DIR}/tests/kernels/disagree)
set_tests_properties(kernels_cuda_differ PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 SKIP_REGULAR_EXPRESSION "left out:"
  PASS_REGULAR_EXPRESSION "3 of 3 files, 42 plans, 21 made both ways, 15 problems")
