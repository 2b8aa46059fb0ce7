// SPDX-License-Identifier: Apache-2.0
// modules: plan
// Plans as JSON: whatever the bytes, parsing gives a plan or an error with a message. A plan that was parsed can be
// checked, shown and written, and what was written reads as the same plan.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"

enum { MAX_BYTES = 1 << 18 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_and_read(const struct plan *p, struct buf *text) {
  struct assay_error err = {0};
  struct buf again = {0};
  struct plan q;
  if (plan_print_json(p, text, &err) || plan_parse(text->data, text->len, &q, &err) ||
      plan_print_json(&q, &again, &err))
    abort(); // what was read can be written, and what was written can be read
  if (text->len != again.len || memcmp(text->data, again.data, again.len) != 0)
    abort();
  buf_release(&again);
  plan_release(&q);
}

// The same answer for both, and an error message where the plan is refused.
static void check(const struct plan *p, const struct plan_limits *limits) {
  static const struct tensor_type t = {DTYPE_FLOAT, {2, {4, 8}}};
  static const struct plan_expectation e = {1, 1, &t, &t};
  struct assay_error err = {0};
  enum assay_status plain = plan_check(p, limits, NULL, &err);
  if ((plain != ASSAY_OK) != (err.message[0] != '\0'))
    abort();
  if (plan_check(p, limits, &e, &err) == ASSAY_OK && plain)
    abort();
}

// As one process passes it to another: a length, a text, and bytes after it.
static void unpack(const uint8_t *data, size_t size) {
  struct assay_error err = {0};
  struct plan p, q;
  struct buf packed = {0}, again = {0};
  if (plan_unpack(data, size, &p, &err)) {
    if (err.message[0] == '\0')
      abort();
    return;
  }
  if (plan_pack(&p, &packed, &err) || plan_unpack(packed.data, packed.len, &q, &err) || plan_pack(&q, &again, &err))
    abort();
  if (packed.len != again.len || memcmp(packed.data, again.data, again.len) != 0)
    abort();
  plan_release(&p);
  plan_release(&q);
  buf_release(&packed);
  buf_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct plan p;
  struct plan_limits limits;
  struct assay_error err = {0};
  struct buf text = {0}, page = {0};
  if (size > MAX_BYTES)
    return 0;
  unpack(data, size);
  if (plan_parse((const char *)data, size, &p, &err)) {
    if (err.message[0] == '\0')
      abort();
    return 0;
  }
  plan_limits_of_target("sm_90a", &limits);
  check(&p, NULL);
  check(&p, &limits);
  write_and_read(&p, &text);
  if (plan_print(&p, &page, &err))
    abort();
  for (size_t i = 0; i < page.len; i++)
    if ((unsigned char)page.data[i] < 0x20 && page.data[i] != '\n')
      abort(); // a terminal would obey it
  buf_release(&page);
  buf_release(&text);
  plan_release(&p);
  return 0;
}
