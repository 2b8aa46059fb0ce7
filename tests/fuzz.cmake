# Fuzz targets: every tests/fuzz/fuzz_NAME.c defines LLVMFuzzerTestOneInput and has a corpus in
# tests/fuzz/corpus/NAME. Always: the test corpus_NAME replays the corpus. With -DASSAY_FUZZ=ON and clang as the
# compiler: the program fuzz_NAME is a libFuzzer with all modules instrumented, e.g.
#   cmake -B build-fuzz -G Ninja -DASSAY_FUZZ=ON -DCMAKE_C_COMPILER=clang-14 && ninja -C build-fuzz fuzzers
#   build-fuzz/fuzz_onnx_text -max_total_time=60 tests/fuzz/corpus/onnx_text
# A target may name the modules it needs in a first line `// modules: base store`; without one it gets assay_cli, that
# is, all of them. Link options come from a line `// link: ...` as in unit tests.
file(GLOB fuzz_targets CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/fuzz_*.c)
if(ASSAY_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "ASSAY_FUZZ needs clang: add -DCMAKE_C_COMPILER=clang-14")
  endif()
  add_custom_target(fuzzers)
  # Through assay_flags every module is instrumented, however early it was declared.
  target_compile_options(assay_flags INTERFACE -fsanitize=fuzzer-no-link,address,undefined
    -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(assay_flags INTERFACE -fsanitize=address,undefined)
endif()

foreach(source ${fuzz_targets})
  get_filename_component(name ${source} NAME_WE)
  string(REGEX REPLACE "^fuzz_" "" short ${name})
  set(libraries assay_cli)
  set(options)
  file(STRINGS ${source} head LIMIT_COUNT 3 REGEX "^// (modules|link): ")
  foreach(line ${head})
    if(line MATCHES "^// modules: (.*)$")
      separate_arguments(modules UNIX_COMMAND "${CMAKE_MATCH_1}")
      list(TRANSFORM modules PREPEND assay_ OUTPUT_VARIABLE libraries)
    elseif(line MATCHES "^// link: (.*)$")
      separate_arguments(options UNIX_COMMAND "${CMAKE_MATCH_1}")
    endif()
  endforeach()

  add_executable(corpus_${short} ${source} ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/replay_main.c)
  target_link_libraries(corpus_${short} PRIVATE ${libraries} assay_base)
  target_link_options(corpus_${short} PRIVATE ${options})
  add_test(NAME corpus_${short} COMMAND corpus_${short} ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/${short})
  set_tests_properties(corpus_${short} PROPERTIES TIMEOUT 300)

  if(ASSAY_FUZZ)
    add_executable(${name} ${source})
    target_link_libraries(${name} PRIVATE ${libraries})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer ${options})
    add_dependencies(fuzzers ${name})
  endif()
endforeach()
