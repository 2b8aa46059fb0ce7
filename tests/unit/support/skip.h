// SPDX-License-Identifier: Apache-2.0
// A part of a test that a machine cannot run is left out, and its output says why: tools/gates/skipped.py lists it.
#ifndef TESTS_UNIT_SKIP_H
#define TESTS_UNIT_SKIP_H

#define SKIP_BECAUSE(...)                                                                                              \
  do {                                                                                                                 \
    print_message("left out: " __VA_ARGS__);                                                                           \
    print_message("\n");                                                                                               \
    skip();                                                                                                            \
  } while (0)

#endif
