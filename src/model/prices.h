// SPDX-License-Identifier: Apache-2.0
// What tokens cost: a table that is dated and a user's to change (prices.txt says how it is written). A model that is
// not in it costs an unknown amount, never nothing.
#ifndef MODEL_PRICES_H
#define MODEL_PRICES_H

#include "base/arena.h"
#include "model/model.h"

struct price {
  const char *model;                           // "m", of which "m-2026-04-23" is a version; "m*": all that begin so
  int from;                                    // a day, 20260821
  double input, cached, output, written;       // US dollars a million tokens
  double long_tokens, long_input, long_output; // from so many tokens of input on, times these; 0 tokens: never
};

struct model_prices {
  struct arena arena;
  struct price *rows;
  size_t n;
  char hash[65]; // of the file
};

// ASSAY_ERR_SYNTAX with the line, ASSAY_ERR_NOT_FOUND, ASSAY_ERR_IO.
enum assay_status model_prices_read(const char *path, struct model_prices *out, struct assay_error *err);
void model_prices_release(struct model_prices *p);

// The row for a model on a day; NULL: there is none.
const struct price *model_price_of(const struct model_prices *p, const char *model, int64_t wall_ns);

// Of one reply, in US dollars; NaN without a row or without counts. A server that does not say what came from its cache
// is taken to have read nothing from it.
double model_price(const struct price *row, const struct model_usage *u);

#endif
