// SPDX-License-Identifier: Apache-2.0
// A word that has to be one of a list of names.
#ifndef BASE_CHOICE_H
#define BASE_CHOICE_H

#include "assay/status.h"

// The index of `word` in `names`, which NULL ends. -1: it is none of them, and ASSAY_ERR_USAGE says
// "WHAT a, b or c, not 'word'; did you mean b?", where WHAT is what takes or is one of them: "--rule takes".
int choice_of(const char *what, const char *const *names, const char *word, struct assay_error *err);

#endif
