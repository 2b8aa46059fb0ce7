# ONNX's own operator tests against the reader, the table and the oracle. The last argument is the number of models
# that are covered today: it may grow, never shrink.
set(ASSAY_ONNX_TESTDATA /usr/share/libonnx-testdata/data/node CACHE PATH "operator tests of libonnx-testdata")
add_executable(conformance conformance/conformance.c conformance/check.c conformance/tally.c)
target_link_libraries(conformance PRIVATE assay_oracle assay_onnx)
add_test(NAME conformance COMMAND conformance ${ASSAY_ONNX_TESTDATA} 810)
set_tests_properties(conformance PROPERTIES TIMEOUT 600)
# The same of the newest package onnx, where Python has one (torch.sh): the models that it makes.
if(NOT ASSAY_SANITIZE)
  add_test(NAME conformance_newest COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/conformance/newest.sh $<TARGET_FILE:conformance>
    ${CMAKE_SOURCE_DIR})
  set_tests_properties(conformance_newest PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77)
endif()
