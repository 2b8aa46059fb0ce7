# Includes run one way only (see CMakeLists.txt and tests/layers.sh).
add_test(NAME layers COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/layers.sh ${CMAKE_SOURCE_DIR})
