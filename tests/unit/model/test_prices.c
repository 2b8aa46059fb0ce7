// SPDX-License-Identifier: Apache-2.0
// The table of prices: which row counts, and what a reply costs.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "model/prices.h"

// Noon of a day.
static int64_t on(int64_t days_since_2026) {
  return ((int64_t)1767225600 + days_since_2026 * 86400 + 43200) * 1000000000;
}

static void shipped_table(void **state) {
  (void)state;
  struct model_prices p;
  struct assay_error err = {0};
  assert_int_equal(model_prices_read(ASSAY_SOURCE_DIR "/prices.txt", &p, &err), ASSAY_OK);
  const int64_t november = on(320);
  const struct model_usage u = {.input = 1000000, .cached = 500000, .written = -1, .output = 100000, .reasoning = -1};
  assert_true(fabs(model_price(model_price_of(&p, "gpt-5.5-2026-04", november), &u) - (2.5 + 0.25 + 3)) < 1e-9);
  // Beyond 272,000 tokens of input twice the price, and half as much again for output.
  assert_true(fabs(model_price(model_price_of(&p, "gpt-5.4", november), &u) - (2 * (1.25 + 0.125) + 1.5 * 1.5)) < 1e-9);
  assert_true(fabs(model_price_of(&p, "claude-sonnet-5", on(240))->input - 2) < 1e-9); // 29 August
  assert_true(fabs(model_price_of(&p, "claude-sonnet-5", on(243))->input - 3) < 1e-9); // 1 September
  assert_null(model_price_of(&p, "claude-sonnet-5", on(0)));
  assert_null(model_price_of(&p, "qwen3-coder", november));
  // A version is the model; a smaller or larger one is not.
  static const char *const versions[] = {"gpt-5.4-2026-03-05",          "claude-opus-5@20260801",
                                         "claude-opus-5-20260801",      "gemini-3.1-pro-preview",
                                         "gemini-3.1-pro-preview-0514", "claude-opus-5-latest"};
  static const char *const others[] = {"gpt-5.4-mini", "gpt-5.4-pro-2026-03-05", "gpt-4.1-nano",  "gpt-4.15",
                                       "gpt-5.5-",     "claude-opus-5-5",        "claude-opus-50"};
  for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
    assert_non_null(model_price_of(&p, versions[i], november));
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    assert_null(model_price_of(&p, others[i], november));
  assert_true(isnan(model_price(NULL, &u)));
  const struct model_usage unknown = MODEL_USAGE_UNKNOWN;
  assert_true(isnan(model_price(model_price_of(&p, "gpt-5.5", november), &unknown)));
  model_prices_release(&p);
}

static void tables_of_users(void **state) {
  (void)state;
  char path[] = "/tmp/assay-prices-XXXXXX";
  struct model_prices p;
  struct assay_error err = {0};
  int fd = mkstemp(path);
  close(fd);
  static const char good[] =
      "\xef\xbb\xbf# mine\nmine* 2026-01-01 1 - 2 - -\r\n\nmine-large* 2026-01-01 10 - 20 - 100:2:3 # "
      "note\nmine 2026-01-01 3 - 4 - -\nleap 2024-02-29 1 - 1e-1 - -\n";
  assert_int_equal(file_write(path, good, sizeof good - 1, &err), ASSAY_OK);
  assert_int_equal(model_prices_read(path, &p, &err), ASSAY_OK);
  assert_true(fabs(model_price_of(&p, "mine-large-2", on(100))->output - 20) < 1e-9);
  assert_true(fabs(model_price_of(&p, "mine-lar", on(100))->cached - 1) < 1e-9);
  assert_true(fabs(model_price_of(&p, "mine-20260101", on(100))->output - 4) < 1e-9);
  model_prices_release(&p);
  static const char *const bad[] = {"m 2026-01-01 1 1 1 1",    "m 2026-01 1 1 1 1 -",    "m 2026-01-01 - 1 1 1 -",
                                    "m 2026-01-01 1 1 -1 1 -", "m 2026-01-01 1 1 1 1 5", "m 2026-01-01 1 1 1 1 - x",
                                    "m 2026-13-01 1 1 1 1 -",  "m 2026-01-45 1 1 1 1 -", "m 2026-02-29 1 1 1 1 -",
                                    "m 2026-01-01 0x1 1 1 1 -"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(file_write(path, bad[i], strlen(bad[i]), &err), ASSAY_OK);
    assert_int_equal(model_prices_read(path, &p, &err), ASSAY_ERR_SYNTAX);
    assert_non_null(strstr(err.message, "line 1"));
  }
  static const char twice[] = "m 2026-01-01 1 - 2 - -\nm 2026-02-01 1 - 3 - -\nm 2026-01-01 1 - 3 - -\n";
  assert_int_equal(file_write(path, twice, sizeof twice - 1, &err), ASSAY_OK);
  assert_int_equal(model_prices_read(path, &p, &err), ASSAY_ERR_SYNTAX);
  assert_non_null(strstr(err.message, "line 3: m has a price from that date in an earlier line"));
  unlink(path);
  assert_int_equal(model_prices_read(path, &p, &err), ASSAY_ERR_NOT_FOUND);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(shipped_table), cmocka_unit_test(tables_of_users)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
