// SPDX-License-Identifier: Apache-2.0
// Within src/site: the parts of a kernel's page.
#ifndef SITE_KERNEL_H
#define SITE_KERNEL_H

#include <jansson.h>

#include "report/skim.h"
#include "site/pages.h"

// What is published of a check: X(ID, its name). In the order in which evidence has them.
#define KERNEL_CHECK_MEMBERS(X)                                                                                        \
  X(ALLCLOSE_LOOSE, "allclose_1e-2_bad")                                                                               \
  X(ALLCLOSE, "allclose_bad")                                                                                          \
  X(ELEMENTS, "elements")                                                                                              \
  X(GATE, "gate")                                                                                                      \
  X(GATE_LIMIT, "gate_limit")                                                                                          \
  X(GATE_Z, "gate_z")                                                                                                  \
  X(HINT, "hint")                                                                                                      \
  X(MAX_ABS, "max_abs_error")                                                                                          \
  X(MAX_REL, "max_rel_error")                                                                                          \
  X(OUTPUT, "output")                                                                                                  \
  X(PROBE, "probe")                                                                                                    \
  X(REASON, "reason")                                                                                                  \
  X(TIMED, "timed")                                                                                                    \
  X(SHAPE, "workload")                                                                                                 \
  X(WORST, "worst")                                                                                                    \
  X(WRONG, "wrong")                                                                                                    \
  X(LIMIT, "z_limit")                                                                                                  \
  X(MAX_Z, "z_max")                                                                                                    \
  X(RMS_Z, "z_rms")
enum kernel_check_member {
#define KERNEL_CHECK_ID(id, name) CHECK_##id,
  KERNEL_CHECK_MEMBERS(KERNEL_CHECK_ID)
#undef KERNEL_CHECK_ID
      CHECK_N_MEMBERS
};

// A check as the page shows it: one output of one call. Texts are fit to be published.
struct kernel_check {
  const char *shape, *probe; // probe: "timed calls" of those
  const char *reason;        // why it failed; NULL: it did not
  const char *worst;         // the worst elements, several lines; ""
  double z, limit;           // the largest error and what is allowed; NaN: none
};

// One verdict with its source and, once kernel_with() has read it, its evidence. A reader of the site holds the one
// that it used last: a verdict's page and both files of its data are made of one reading.
struct kernel {
  struct site *site;
  const struct site_row *row;
  struct store_verdict v;     // as stored, without samples; strings are in the arena
  bool is_read;               // v, evidence and machine are there
  json_t *evidence, *machine; // as far as pages show it; NULL: none, or no JSON
  struct kernel_check *checks;
  int n_checks;       // -1: they were not kept
  struct buf rows;    // the checks as published JSON, "[...],[...]"
  struct arena arena; // of texts that are published
  char *source;       // NULL: not known
  size_t source_bytes;
};

// The verdict of a row with its source; held by the site until it is asked for another. ASSAY_ERR_NOMEM.
enum assay_status kernel_hold(struct site *site, const struct site_row *row, struct kernel **out,
                              struct assay_error *err);
void kernel_let_go(struct site *site);

typedef enum assay_status kernel_use(struct kernel *k, void *arg, struct assay_error *err);
// Calls `use` with the verdict of a row and its evidence.
enum assay_status kernel_with(struct site *site, const struct site_row *row, kernel_use *use, void *arg,
                              struct assay_error *err);

// Reads the checks of the evidence. ASSAY_ERR_NOMEM.
enum assay_status kernel_read_checks(struct kernel *k, struct assay_error *err);

// A text of the evidence, fit to be published; "" where there is none.
const char *kernel_text(struct kernel *k, const char *key);
const char *kernel_text_in(struct kernel *k, const json_t *object, const char *key); // of a part of it
// A seed of 0 that the evidence does not name was not kept.
bool kernel_has_seed(const struct kernel *k);
double kernel_number(const json_t *object, const char *key); // NaN: none

// Sections of the page; each writes a sentence where it has nothing.
void kernel_put_checks(struct html *w, struct kernel *k);
void kernel_put_samples(struct html *w, struct kernel *k);
void kernel_put_source(struct html *w, struct kernel *k);
void kernel_put_origins(struct html *w, struct kernel *k);
void kernel_put_plan(struct html *w, struct kernel *k);
void kernel_put_build(struct html *w, struct kernel *k);
void kernel_put_evidence(struct html *w, struct kernel *k);

// The verdict as published JSON: listed fields, seeds as texts, paths cut, null for what is missing.
void kernel_json(struct kernel *k, struct buf *out);
// Adds a check to its rows. `raw`: CHECK_N_MEMBERS members as the evidence has them.
void kernel_json_check(struct kernel *k, const struct skim_raw *raw);

#endif
