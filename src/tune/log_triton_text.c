// SPDX-License-Identifier: Apache-2.0
// What TRITON_PRINT_AUTOTUNING prints: of each tuning its function, how long it took and what it chose.
//
//   Triton autotuning for function matmul_kernel,
//   with key as (4096, 4352, 4224),
//   finished after 12.34s,
//   best config selected: BLOCK_M: 128, BLOCK_N: 256, num_warps: 8, num_ctas: 1, num_stages: 3;
//
// Before Triton 3.4 it is one line, without the key: "... for function F finished after 12.34s; best config selected:
// ...;".
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tune/log.h"

static bool is(const char *text, size_t n) {
  (void)n;
  return strstr(text, "Triton autotuning for function ") != NULL;
}

static enum assay_status read_log(struct tune_log_reader *r, const char *text, size_t n, struct assay_error *err) {
  const char *p = text, *end = text + n, *at;
  char line[4096], function[256] = "";
  double seconds = NAN, before_s = 0;
  enum assay_status status = ASSAY_OK;
  while (!status && tune_log_line(&p, end, line, sizeof line)) {
    if ((at = strstr(line, "autotuning for function "))) {
      snprintf(function, sizeof function, "%.200s", at + strlen("autotuning for function "));
      function[strcspn(function, ", ")] = '\0';
    }
    if ((at = strstr(line, "finished after ")))
      seconds = strtod(at + strlen("finished after "), NULL);
    if (!(at = strstr(line, "best config selected: ")) || !(seconds >= 0 && seconds < 1e7))
      continue;
    struct store_trial t = tune_log_trial(r, "triton");
    char chosen[2048];
    snprintf(chosen, sizeof chosen, "%.2000s", at + strlen("best config selected: "));
    chosen[strcspn(chosen, ";")] = '\0';
    t.status = STORE_TRIAL_SUMMARY;
    t.configuration = chosen;
    t.detail = function;
    t.start_ns = (int64_t)(before_s * 1e9);
    t.bench_ns = (int64_t)(seconds * 1e9);
    before_s += seconds;
    seconds = NAN;
    status = tune_log_emit(r, &t, err);
  }
  return status;
}

const struct tune_log_format tune_log_triton_text = {.name = "triton_text", .is = is, .read = read_log};
