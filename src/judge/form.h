// SPDX-License-Identifier: Apache-2.0
// The forms of candidates: a file's ending and the device that it runs on, one row each. What judges a candidate,
// where, and what its time is held against follow from the row; nothing else looks at endings and names of devices.
#ifndef JUDGE_FORM_H
#define JUDGE_FORM_H

#include "assay/judge.h"
#include "plan/device.h"
#include "toolchain/program.h"

struct subject_ops;

struct form {
  const char *ending, *language; // ".cu", "CUDA C++"
  const struct plan_device *device;
  const struct subject_ops *subject; // what judges it (judge/subject.h)
  const char *toolchain;             // what builds it where no row of TOOLCHAINS does; NULL: one of them
  bool python; // a Python module: needs an interpreter with PyTorch, and runs as a process where it has no plan
};

// The largest source that is judged. A larger one fails, and counts by the hash of its first so many bytes.
enum { FORM_MOST_BYTES = 4 << 20 };

// The form of a file by its ending: the one for `device` where there is one, else the usual one (*out is for another
// device then). NULL as the device: the usual one, which is for a GPU where `gpu` says that this machine has one.
// ASSAY_ERR_USAGE names the forms that there are.
enum assay_status form_of(const char *path, const struct plan_device *device, bool gpu, const struct form **out,
                          struct assay_error *err);

// The i-th row, NULL after the last.
const struct form *form_at(int i);

// ".c (cpu), .cu (cuda), .py (cuda, cpu), ..."; `device`: only those for it, NULL: all. Returns text.
const char *form_names(const struct plan_device *device, char *text, size_t size);

// How a candidate is put to the test: X(ID, NAME).
#define FORM_MODES(X) X(PLAN, "plan") X(PROCESS, "process")
#define FORM_MODE_ID(id, name) FORM_##id,
enum form_mode { FORM_ANY_MODE, FORM_MODES(FORM_MODE_ID) };
#undef FORM_MODE_ID
// NULL: FORM_ANY_MODE. ASSAY_ERR_USAGE names the modes.
enum assay_status form_mode_parse(const char *name, enum form_mode *out, struct assay_error *err);

// What the strings of the options mean. ASSAY_ERR_USAGE when one is not known, or the candidate's file is not for the
// device.
struct form_choice {
  const struct form *form;
  const struct toolchain *toolchain; // NULL: by the source
  enum form_mode mode;
};
enum assay_status form_choose(const struct assay_judge_options *o, struct form_choice *out, struct assay_error *err);

// What judges it: the form's subject, or that of a process where this is asked for and the form can run as one.
const struct subject_ops *form_subject(const struct form_choice *c);

#endif
