// SPDX-License-Identifier: Apache-2.0
// The code in a model's reply. A reply is a stranger's text: it may hold no code, ten blocks, half a block, another
// language, JSON, thoughts, anything.
#ifndef MODEL_EXTRACT_H
#define MODEL_EXTRACT_H

#include "model/model.h"

// What came of a reply: X(ID, name as stored).
#define MODEL_EXTRACTIONS(X)                                                                                           \
  X(CODE, "code")                                                                                                      \
  X(NO_CODE, "no_code")                                                                                                \
  X(CUT_OFF, "cut_off") /* it ended before the code did */                                                             \
  X(REFUSED, "refused")                                                                                                \
  X(WRONG_LANGUAGE, "wrong_language")

enum model_extraction {
#define MODEL_EXTRACTION_ID(id, name) MODEL_##id,
  MODEL_EXTRACTIONS(MODEL_EXTRACTION_ID)
#undef MODEL_EXTRACTION_ID
};

// The form of code that was asked for. Lists end with NULL.
struct model_language {
  const char *const *tags;    // of a fence: "c", "cpp"
  const char *const *entries; // any of these is in a whole candidate: "assay_kernel"
  bool braces;                // brackets balance in a whole candidate
};

struct model_extract {
  enum model_extraction what;
  struct buf code; // with CODE
  int n_blocks;    // fenced blocks outside of thoughts
  bool begun;      // with CUT_OFF: the code had begun, and the rest of it can be asked for
  char detail[160];
};

enum { MODEL_MOST_CODE_BYTES = 4 << 20 };

// Thoughts (thoughts.h) are left out, and what is not seen (tidy.h). Blocks are fenced as in CommonMark (fence.h). Of
// the blocks, those with the right tag, the entry point and an end count most; of equals the last, as models correct
// themselves. Without a fence, elements of HTML count, then a thought that was never ended, then the whole text where
// it has the entry point; JSON with a member "code" is looked into. A patch is no code. `others`: of the languages
// that were not asked for, ends with NULL; a block that is clearly one of theirs is WRONG_LANGUAGE. ASSAY_ERR_NOMEM.
enum assay_status model_extract(const char *reply, size_t n, enum model_finish finish,
                                const struct model_language *language, const struct model_language *const *others,
                                struct model_extract *out, struct assay_error *err);
void model_extract_release(struct model_extract *x);

// A reply in prose: without its thoughts, at most MODEL_MOST_PROSE_BYTES, and with no line that could be a fence.
// ASSAY_ERR_NOMEM.
enum { MODEL_MOST_PROSE_BYTES = 4000 };
enum assay_status model_prose(const char *reply, size_t n, struct buf *out, struct assay_error *err);

// SHA-256 of the code without comments and with all white space as one space: equal for what differs in layout alone.
// Preprocessor lines keep their ends. `hash_comments`: comments begin with # (Python), where indentation counts.
enum assay_status model_code_hash(const char *code, size_t n, bool hash_comments, char hex[65],
                                  struct assay_error *err);

#endif
