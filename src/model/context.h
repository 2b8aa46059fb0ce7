// SPDX-License-Identifier: Apache-2.0
// Whether a server reads all of a prompt. Some (Ollama) cut what is longer than their context without a word: what they
// count is then less than was sent.
#ifndef MODEL_CONTEXT_H
#define MODEL_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What a model's prompts were counted as; zeroed at first.
struct context_seen {
  double least;       // bytes of a token, of the prompt that had fewest
  int64_t tokens;     // the largest count
  size_t bytes;       // of that prompt
  int64_t n_cut;      // prompts that were cut
  int64_t cut_tokens; // of the last of them
  size_t cut_bytes;
};
// Takes note of a prompt, and says whether it was cut: more than 8 bytes would be a token (vocabularies of today have 3
// to 4 of code), or 1.8 times as many as in a shorter prompt; as many tokens were counted as of another prompt of
// another size; or a multiple of 1,024, as contexts are, and fewer than a third of the bytes.
bool context_note(struct context_seen *seen, size_t bytes, int64_t tokens);

#endif
