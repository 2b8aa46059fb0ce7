// SPDX-License-Identifier: Apache-2.0
#include "model/context.h"

enum { LEAST_TOKENS = 512, UNIT = 1024 }; // of short prompts the server's own words are a large part

static bool is_cut(const struct context_seen *seen, size_t bytes, int64_t tokens) {
  double per_token = (double)bytes / (double)tokens;
  bool longer = bytes > seen->bytes + seen->bytes / 20, shorter = bytes + bytes / 20 < seen->bytes;
  if (per_token > 8 || (seen->least > 0 && longer && per_token > 1.8 * seen->least))
    return true;
  if (tokens < LEAST_TOKENS)
    return false;
  return (tokens == seen->tokens && (longer || shorter)) || (tokens % UNIT == 0 && per_token > 3);
}

bool context_note(struct context_seen *seen, size_t bytes, int64_t tokens) {
  if (tokens <= 0 || bytes == 0)
    return false;
  bool cut = is_cut(seen, bytes, tokens);
  double per_token = (double)bytes / (double)tokens;
  if (tokens >= LEAST_TOKENS && (seen->least <= 0 || per_token < seen->least))
    seen->least = per_token;
  if (tokens > seen->tokens) {
    seen->tokens = tokens;
    seen->bytes = bytes;
  }
  if (cut) {
    seen->n_cut++;
    seen->cut_tokens = tokens;
    seen->cut_bytes = bytes;
  }
  return cut;
}
