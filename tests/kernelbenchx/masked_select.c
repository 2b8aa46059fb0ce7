// Numbers that a mask names, one after another, zeros after them, and their count.
// assay: task kernelbenchx/Index/masked_select
// assay: expect pass
// assay: twin TAIL expect unwritten -- nothing after the last one
// assay: twin IN_PLACE expect wrong_value -- they stay where they were
// assay: twin LESS expect wrong_value -- counts the others
// assay: twin BLOCKS expect wrong_value|unwritten -- forgets at every 1024th number how many there were
#include <assay/candidate.h>

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  const uint8_t *mask = args->inputs[1].data;
  float *y = args->outputs[0].data;
  int64_t *count = args->outputs[1].data, n = assay_count(&args->inputs[0]), at = 0;
#ifdef IN_PLACE
  for (int64_t i = 0; i < n; i++)
    at += mask[i], y[i] = mask[i] ? x[i] : 0;
#else
  for (int64_t i = 0; i < n; i++) {
#ifdef BLOCKS
    if (i == 1024)
      at = 512;
#endif
    if (mask[i])
      y[at++] = x[i];
  }
#ifndef TAIL
  for (int64_t i = at; i < n; i++)
    y[i] = 0;
#endif
#endif
#ifdef LESS
  *count = n - at;
#else
  *count = at;
#endif
}
