// SPDX-License-Identifier: Apache-2.0
// modules: toolchain/record
// Recordings of host code: whatever is in the log, the reader makes a plan or refuses it. Inputs are the entries of
// a log, without its header.
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "toolchain/record/difference.h"
#include "toolchain/record/read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// As lifted.c does with two recordings.
static void settle(const uint8_t *log, size_t n, const struct record_context *context, struct plan *plan) {
  struct plan second = {0};
  struct plan_report report = {0};
  char text[256];
  enum assay_status status = record_read(log, n, context, &second, &report, NULL);
  if (status == ASSAY_OK) {
    assert(report.outcome == PLAN_MADE);
    if (!plan_points_outside(plan, &second, text, sizeof text) && !plan_difference(plan, &second, text, sizeof text))
      for (int i = 0; i < plan->n_steps; i++)
        for (int k = 0; k < plan->steps[i].n_arguments; k++)
          for (int j = 0; j < plan->steps[i].arguments[k].n_pointers; j++)
            assert(plan->steps[i].arguments[k].pointers[j].doubt == PLAN_NO_DOUBT);
    plan_release(&second);
  }
  plan_report_release(&report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const struct tensor_type tensor = {DTYPE_FLOAT, {1, {1000}}};
  static const char *const inputs[] = {"x"}, *const outputs[] = {"y"};
  const struct plan_subject subject = {.task = "t",
                                       .workload = "w",
                                       .n_inputs = 1,
                                       .n_outputs = 1,
                                       .input_names = inputs,
                                       .output_names = outputs,
                                       .inputs = &tensor,
                                       .outputs = &tensor};
  struct arena arena = {0};
  struct record_device device;
  struct record_request *request;
  struct record_header head = {.magic = RECORD_MAGIC, .used = size, .stage = RECORD_RETURNED};
  struct plan plan;
  struct plan_report report = {0};
  size_t n;
  uint8_t *log = base_alloc(sizeof head + size);
  if (log && record_device_of_target("sm_90a", &device, NULL) == ASSAY_OK &&
      record_request_make(&subject, &device, &arena, &request, &n, NULL) == ASSAY_OK) {
    memcpy(log, &head, sizeof head);
    if (size)
      memcpy(log + sizeof head, data, size);
    enum record_reading reading = size / 8 % 2 ? RECORD_ONE_OF_TWO : RECORD_ALONE;
    const struct record_context context = {.reading = reading,
                                           .request = request,
                                           .subject = &subject,
                                           .target = "sm_90a",
                                           .toolchain = "nvcc",
                                           .source_name = "a.cu"};
    enum assay_status status = record_read(log, sizeof head + size, &context, &plan, &report, NULL);
    // What was made is a plan that the check can look at, and one of two with itself has no doubts left.
    if (status == ASSAY_OK && report.outcome == PLAN_MADE && reading == RECORD_ONE_OF_TWO)
      settle(log, sizeof head + size, &context, &plan);
    if (status == ASSAY_OK && report.outcome == PLAN_MADE) {
      struct plan_limits limits;
      plan_limits_of_target("sm_90a", &limits);
      (void)plan_check(&plan, &limits, NULL, NULL);
      plan_release(&plan);
    }
    assert(status != ASSAY_OK || report.outcome == PLAN_MADE || report.detail[0]);
    plan_report_release(&report);
  }
  arena_release(&arena);
  base_free(log);
  return 0;
}
