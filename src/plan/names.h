// SPDX-License-Identifier: Apache-2.0
// Names of the enumerators of a plan, and text that plans bring along.
#ifndef PLAN_NAMES_H
#define PLAN_NAMES_H

#include <stdbool.h>

#include "plan/plan.h"

// Names by enumerator, NULL at the end; an enumerator is in range when it is below the count.
extern const char *const plan_role_names[], *const plan_code_names[], *const plan_step_names[];
int plan_name_index(const char *const *names, const char *name); // -1: not among them

static inline bool plan_code_is_text(enum plan_code code) {
  return code == PLAN_PTX || code == PLAN_OPENCL_C;
}

// A name from a plan as it may stand in a message or on a terminal: control characters, what misleads
// (base/printable.h) and bytes that are not UTF-8 become '?', what is longer than the place ends in "...". Returns
// `text`.
enum { PLAN_SHOWN_BYTES = 80 };
const char *plan_shown(const char *name, char text[PLAN_SHOWN_BYTES]);

#endif
