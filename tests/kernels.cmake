# The kernels become plans in both of their forms, without a GPU (tests/kernels/main.c).
add_executable(kernels_cuda kernels/main.c kernels/same_plan.c)
target_link_libraries(kernels_cuda PRIVATE assay_cli)
target_compile_definitions(kernels_cuda PRIVATE ASSAY_SOURCE_DIR="${CMAKE_SOURCE_DIR}" ASSAY_BINARY_DIR="${CMAKE_BINARY_DIR}")
add_test(NAME kernels_cuda COMMAND kernels_cuda ${CMAKE_SOURCE_DIR}/kernels/cuda ${CMAKE_SOURCE_DIR}/tests/cheats/cuda)
set_tests_properties(kernels_cuda PROPERTIES TIMEOUT 1800 RUN_SERIAL ON SKIP_RETURN_CODE 77)
