// SPDX-License-Identifier: Apache-2.0
// modules: task
// Task files: whatever the bytes, reading ends in a task or in an error that names the file. Of a task that was read,
// the workloads are costed, and one set of inputs is drawn where it is small.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "task/task.h"

enum { MAX_BYTES = 1 << 16, MAX_ELEMENTS = 1 << 14 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void draw_inputs(const struct task *t, const struct workload *w) {
  struct assay_error err = {0};
  struct array *shapes = base_calloc((size_t)t->n_inputs + 1, sizeof *shapes);
  void **buffers = base_calloc((size_t)t->n_inputs + 1, sizeof *buffers);
  if (!shapes || !buffers || task_input_shapes(t, w, shapes, &err) != ASSAY_OK)
    goto out;
  for (int i = 0; i < t->n_inputs; i++) {
    int64_t n = shape_count(&shapes[i].shape);
    if (n > MAX_ELEMENTS || !(buffers[i] = base_alloc((size_t)n * dtype_bytes(shapes[i].dtype))))
      goto out;
  }
  for (int p = 0; p < PROBE_COUNT; p++)
    if (t->probes >> p & 1 && task_make_inputs(t, w, (enum probe)p, 1, 1, buffers, &err) != ASSAY_OK)
      abort(); // shapes were fine a moment ago
out:
  for (int i = 0; i < t->n_inputs && buffers; i++)
    base_free(buffers[i]);
  base_free(buffers);
  base_free(shapes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > MAX_BYTES)
    return 0;
  for (int published = 0; published < 2; published++) {
    struct task t;
    struct assay_error err = {0};
    char *text = malloc(size + 1);
    if (!text)
      return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    enum assay_status status = task_parse(text, size, "fuzzed.onnxtxt", published, &t, &err);
    free(text); // the task must not point into it
    if (status != ASSAY_OK) {
      if (!strstr(err.message, "fuzzed.onnxtxt") && status != ASSAY_ERR_NOMEM)
        abort();
      continue;
    }
    for (int i = 0; i < t.n_workloads; i++) {
      struct task_cost cost;
      if (task_cost(&t, &t.workloads[i], &cost, &err) == ASSAY_OK)
        draw_inputs(&t, &t.workloads[i]);
    }
    task_release(&t);
  }
  return 0;
}
