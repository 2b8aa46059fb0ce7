# A writer of the store killed at random moments: nothing acknowledged is lost, nothing is half-written.
add_executable(store_kill ${CMAKE_CURRENT_SOURCE_DIR}/store_kill/store_kill.c)
target_link_libraries(store_kill PRIVATE assay_store)
add_test(NAME store_kill COMMAND store_kill)
set_tests_properties(store_kill PROPERTIES TIMEOUT 300)
