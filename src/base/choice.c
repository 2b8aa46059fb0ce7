// SPDX-License-Identifier: Apache-2.0
#include "base/choice.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/nearest.h"

int choice_of(const char *what, const char *const *names, const char *word, struct assay_error *err) {
  char known[512] = "", meant[80];
  struct nearest near = {.word = word};
  for (int i = 0; names[i]; i++) {
    size_t used = strlen(known);
    if (strcmp(names[i], word) == 0)
      return i;
    nearest_offer(&near, names[i]);
    snprintf(known + used, sizeof known - used, "%s%s", !i ? "" : names[i + 1] ? ", " : " or ", names[i]);
  }
  error_set(err, ASSAY_ERR_USAGE, "%s %s, not '%.60s'%s", what, known, word, nearest_text(&near, meant, sizeof meant));
  return -1;
}
