// SPDX-License-Identifier: Apache-2.0
// The comment lines by which a candidate's file says what it is:
//
//   // assay: task kernelbench/1/23
//   // assay: expect pass
//   // assay: twin NO_MAX expect wrong_class|wrong_value -- no max-subtraction
//   // assay: twin INT_INDEX at full expect out_of_bounds|unwritten -- 32-bit indices; small tensors do not show it
//   # assay: twin ON_HOST on cpu expect pass -- a GPU's tensors are not there
//   # assay: twin ON_HOST on cuda expect raised
//
// `expect` and `twin` are for test corpora: what the judge must say of the file as it is, and of the file compiled
// with the macro NO_MAX.
#ifndef JUDGE_DIRECTIVES_H
#define JUDGE_DIRECTIVES_H

#include "base/arena.h"
#include "plan/device.h"

struct twin {
  const char *define;               // NULL: the file as it is
  const char *workload;             // the only one at which it shows; NULL: any
  const struct plan_device *device; // the only one on which it is judged; NULL: any
  const char *expect;               // reason codes separated by '|'; NULL: not said
  const char *note;
};

struct directives {
  const char *task; // NULL: not said
  int n_twins;      // the file itself is twins[0]
  struct twin *twins;
  const char *malformed; // the first line that is not understood: which, and how to write it; NULL: none
};

// Reads the directives of a source text into the arena. A line that is not understood counts for nothing.
enum assay_status directives_read(const char *source, size_t n, struct arena *arena, struct directives *out,
                                  struct assay_error *err);

#endif
