// SPDX-License-Identifier: Apache-2.0
// The forms of kernels that a model can be asked for: one row each. What is asked for, where code is found in a reply,
// and which file it becomes follow from the row. The text of the prompt is prompts/form_NAME.txt.
#ifndef METHOD_FORM_H
#define METHOD_FORM_H

#include "model/extract.h"

struct answer_form {
  const char *name, *ending, *device, *what; // "c", ".c", "cpu", "C for the CPU"
  const char *tag;                           // of a block of it in prompts
  const char *prompt;                        // name of its text
  struct model_language language;
  bool hash_comments; // as in Python
};

// The i-th row, NULL after the last; and the one of a name, ASSAY_ERR_USAGE with the names that there are.
const struct answer_form *answer_form_at(int i);
enum assay_status answer_form_by_name(const char *name, const struct answer_form **out, struct assay_error *err);

// The usual form for a device; ASSAY_ERR_USAGE.
enum assay_status answer_form_of_device(const char *device, const struct answer_form **out, struct assay_error *err);

// The languages of forms with other endings, for model_extract(); `out` has room for ANSWER_MOST_FORMS, NULL included.
enum { ANSWER_MOST_FORMS = 8 };
void answer_form_others(const struct answer_form *f, const struct model_language **out);

#endif
