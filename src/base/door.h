// SPDX-License-Identifier: Apache-2.0
// Functions of a library that is loaded late, under their own names: each finds its like there. A file that includes
// this defines `library`, a struct late_library. `failure`: what they return where there is no library.
#ifndef BASE_DOOR_H
#define BASE_DOOR_H

#include "base/late_library.h"

#define DOOR(result, name, parameters, arguments, failure)                                                             \
  result name parameters {                                                                                             \
    result(*function) parameters;                                                                                      \
    *(void **)&function = late_library_function(&library, #name);                                                      \
    return function ? function arguments : failure;                                                                    \
  }
#define DOOR_VOID(name, parameters, arguments)                                                                         \
  void name parameters {                                                                                               \
    void(*function) parameters;                                                                                        \
    *(void **)&function = late_library_function(&library, #name);                                                      \
    if (function)                                                                                                      \
      function arguments;                                                                                              \
  }

#endif
