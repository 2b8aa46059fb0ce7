# The oracle's device code on a host against the CPU's oracle, over a whole task: where a tile of the CPU's windows ends
# inside a row's padding (tests/unit/test_ops_conv.c has every such place), slices of a batch of one, integers.
function(oracle_check name workload)
  add_test(NAME oracle_check_${name} COMMAND bench_oracle_device --host --check --root ${CMAKE_SOURCE_DIR}/tasks
    --workload ${workload} ${ARGN})
endfunction()
oracle_check(tile "N=2, CI=2, CO=4, H=58, W=83" kernelbench/1/65)
oracle_check(small small kernelbench/1/37 kernelbench/1/51 kernelbench/1/68)
