// SPDX-License-Identifier: Apache-2.0
// A verdict on its way into the store.
#ifndef JUDGE_RECORD_H
#define JUDGE_RECORD_H

#include "assay/judge.h"
#include "base/hash.h"
#include "store/store.h"

// The key under which a judgement is looked up before it is made: everything of store_verdict that store_has and
// store_claim read. Strings are borrowed from the arguments.
void record_key(const char *run, const struct assay_judge_options *o, const char *task_name, const char *candidate,
                const char *candidate_hash, const char *settings_hash, struct store_verdict *out);

// The same of a file, whose text is read: *hashes has what the key borrows besides.
struct record_hashes {
  char settings[65], candidate[HASH_HEX_BYTES];
};
enum assay_status record_key_of_file(const char *run, const struct assay_judge_options *o, const char *task_name,
                                     const char *candidate, struct record_hashes *hashes, struct store_verdict *out,
                                     struct assay_error *err);

// The columns that come of judging: toolchain, reason, error, times, seed. Strings are borrowed from the verdict.
void record_fill(const struct assay_verdict *v, struct store_verdict *out);

// The whole row of a verdict, with its evidence. Strings of it are borrowed from the arguments, and its own. Released
// in any case.
struct record_row {
  struct store_verdict verdict;
  char *evidence, *machine;
};
enum assay_status record_row_make(const struct store_verdict *key, const struct assay_verdict *v, const char *command,
                                  struct record_row *out, struct assay_error *err);
void record_row_release(struct record_row *row);

// Stores the verdict with all its evidence under the key.
enum assay_status record_put(struct store *s, const struct store_verdict *key, const struct assay_verdict *v,
                             const char *command, struct assay_error *err);

#endif
