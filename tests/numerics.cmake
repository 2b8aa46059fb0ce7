# The tables of docs/numerics.md are those of the measurements beside them.
find_program(ASSAY_PYTHON3 python3)
add_test(NAME figures_page COMMAND ${ASSAY_PYTHON3} ${CMAKE_SOURCE_DIR}/bench/gpu/figures_page.py --check)
add_test(NAME numerics_page COMMAND ${ASSAY_PYTHON3} ${CMAKE_SOURCE_DIR}/bench/gpu/numerics_page.py --check)
