// SPDX-License-Identifier: Apache-2.0
// A plan for people: modules, buffers, and every step as one line that reads like CUDA.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "plan/names.h"

enum { SHOWN_BYTES = 16 }; // of an argument that is neither a pointer nor a number

static void put_name(struct buf *out, const char *name) {
  char shown[PLAN_SHOWN_BYTES];
  buf_puts(out, plan_shown(name, shown));
}

// "partial+512"
static void put_address(struct buf *out, const struct plan *p, int buffer, int64_t offset) {
  put_name(out, p->buffers[buffer].name);
  if (offset)
    buf_printf(out, "+%" PRId64, offset);
}

// Nothing says what a scalar is. Small integers are far more common than floats that look like them (denormals), and
// floats of a sensible size look like huge integers: 1.0f is 1065353216.
static void put_number(struct buf *out, const uint8_t *bytes, uint32_t size) {
  if (size == 8) {
    int64_t i;
    double d;
    memcpy(&i, bytes, 8);
    memcpy(&d, bytes, 8);
    bool integer = (i > -((int64_t)1 << 48) && i < (int64_t)1 << 48) || !(fabs(d) > 1e-30 && fabs(d) < 1e30);
    integer ? buf_printf(out, "%" PRId64, i) : buf_printf(out, "%.17g", d);
  } else if (size == 4) {
    int32_t i;
    float f;
    memcpy(&i, bytes, 4);
    memcpy(&f, bytes, 4);
    bool integer = (i > -(1 << 24) && i < 1 << 24) || !(fabsf(f) > 1e-12f && fabsf(f) < 1e12f);
    integer ? buf_printf(out, "%" PRId32, i) : buf_printf(out, "%.9gf", (double)f);
  } else if (size == 2) {
    int16_t i;
    memcpy(&i, bytes, 2);
    buf_printf(out, "%d", i);
  } else {
    buf_printf(out, "%d", (int8_t)bytes[0]);
  }
}

static void put_hex(struct buf *out, const uint8_t *bytes, uint32_t n) {
  for (uint32_t i = 0; i < n && i < SHOWN_BYTES; i++)
    buf_printf(out, "%02x", bytes[i]);
  if (n > SHOWN_BYTES)
    buf_printf(out, "... (%" PRIu32 " bytes)", n);
}

// A struct: its pointers, and the bytes between them. The plan may not have been checked.
static void put_struct(struct buf *out, const struct plan *p, const struct plan_argument *a) {
  uint32_t at = 0;
  buf_puts(out, "{");
  for (int i = 0; i <= a->n_pointers; i++) {
    uint32_t next = i < a->n_pointers && a->pointers[i].at < a->size ? a->pointers[i].at : a->size;
    if (next > at) {
      buf_puts(out, at ? ", " : "");
      put_hex(out, a->bytes + at, next - at);
    }
    if (i == a->n_pointers)
      break;
    buf_puts(out, next ? ", " : "");
    put_address(out, p, a->pointers[i].buffer, a->pointers[i].offset);
    at = next + 8;
  }
  buf_puts(out, "}");
}

static void put_map(struct buf *out, const struct plan *p, const struct plan_tensor_map *m) {
  buf_puts(out, "map(");
  put_address(out, p, m->buffer, m->offset);
  for (uint32_t i = 0; i < m->rank; i++)
    buf_printf(out, "%s%" PRIu64, i ? " x " : ", ", m->dims[m->rank - 1 - i]);
  for (uint32_t i = 0; i < m->rank; i++)
    buf_printf(out, "%s%" PRIu32, i ? " x " : ", box ", m->box[m->rank - 1 - i]);
  buf_puts(out, ")");
}

static void put_argument(struct buf *out, const struct plan *p, const struct plan_argument *a) {
  if (a->kind == PLAN_TENSOR_MAP)
    put_map(out, p, a->map);
  else if (a->kind == PLAN_LOCAL_MEMORY)
    buf_printf(out, "local[%" PRIu32 "]", a->size);
  else if (a->n_pointers == 1 && a->size == 8)
    put_address(out, p, a->pointers[0].buffer, a->pointers[0].offset);
  else if (a->n_pointers == 0 && (a->size == 1 || a->size == 2 || a->size == 4 || a->size == 8))
    put_number(out, a->bytes, a->size);
  else
    put_struct(out, p, a);
}

// "4096", or "64 x 32": what follows the last dimension that is not 1 is left out.
static void put_extent(struct buf *out, const uint32_t v[3]) {
  int n = v[2] != 1 ? 3 : v[1] != 1 ? 2 : 1;
  for (int i = 0; i < n; i++)
    buf_printf(out, "%s%" PRIu32, i ? "x" : "", v[i]);
}

static void put_launch(struct buf *out, const struct plan *p, const struct plan_step *s) {
  put_name(out, s->label && *s->label ? s->label : s->kernel);
  buf_puts(out, "<<<");
  put_extent(out, s->grid);
  buf_puts(out, ", ");
  put_extent(out, s->block);
  if (s->shared_bytes)
    buf_printf(out, ", %" PRIu32, s->shared_bytes);
  buf_puts(out, ">>>(");
  for (int i = 0; i < s->n_arguments; i++) {
    buf_puts(out, i ? ", " : "");
    put_argument(out, p, &s->arguments[i]);
    if (s->arguments[i].unsettled)
      buf_printf(out, " ~%" PRIu32, s->arguments[i].unsettled);
  }
  buf_puts(out, ")");
  if (s->cluster[0]) {
    buf_puts(out, " cluster ");
    put_extent(out, s->cluster);
  }
  buf_puts(out, s->cooperative ? " cooperative" : "");
  buf_puts(out, s->programmatic ? " programmatic" : "");
  if (s->carveout >= 0)
    buf_printf(out, " carveout %" PRId32 "%%", s->carveout);
}

static void put_step(struct buf *out, const struct plan *p, const struct plan_step *s) {
  switch (s->kind) {
  case PLAN_LAUNCH:
    put_launch(out, p, s);
    break;
  case PLAN_FILL:
    buf_puts(out, "fill(");
    put_address(out, p, s->to.buffer, s->to.offset);
    buf_printf(out, ", 0x%0*" PRIx32 ", %" PRIu64 " bytes)", (int)s->width * 2, s->value, s->bytes);
    break;
  case PLAN_COPY:
    buf_puts(out, "copy(");
    put_address(out, p, s->to.buffer, s->to.offset);
    buf_puts(out, ", ");
    put_address(out, p, s->from.buffer, s->from.offset);
    buf_printf(out, ", %" PRIu64 " bytes)", s->bytes);
    break;
  case PLAN_SET_SYMBOL:
    buf_puts(out, "set_symbol(");
    put_name(out, s->symbol);
    if (s->to.offset)
      buf_printf(out, "+%" PRId64, s->to.offset);
    buf_printf(out, " of module %d, ", s->module);
    put_address(out, p, s->from.buffer, s->from.offset);
    buf_printf(out, ", %" PRIu64 " bytes)", s->bytes);
    break;
  }
}

static enum assay_status put_module(struct buf *out, const struct plan_module *m, struct assay_error *err) {
  put_name(out, m->name);
  buf_printf(out, ": %s, %zu bytes", plan_code_names[m->code], m->size);
  if (m->options && *m->options) {
    buf_puts(out, ", options ");
    put_name(out, m->options);
  }
  buf_puts(out, "\n");
  if (m->code != PLAN_CUBIN)
    return ASSAY_OK;
  struct arena arena = {0};
  struct cubin_info info;
  struct assay_error why = {0};
  enum assay_status status = cubin_read(m->bytes, m->size, &arena, &info, &why);
  if (status)
    buf_printf(out, "      (%s)\n", why.message);
  for (int i = 0; !status && i < info.n_kernels; i++) {
    const struct cubin_kernel *k = &info.kernels[i];
    buf_puts(out, "      ");
    put_name(out, k->name);
    buf_printf(out, ": sm_%" PRIu32 "%s, %" PRIu32 " registers, %" PRIu32 " bytes of shared memory", info.architecture,
               info.arch_specific ? "a" : "", k->registers, k->static_shared_bytes);
    if (k->n_parameters >= 0)
      buf_printf(out, ", %d parameter%s", k->n_parameters, k->n_parameters == 1 ? "" : "s");
    buf_puts(out, "\n");
  }
  arena_release(&arena);
  return status == ASSAY_ERR_NOMEM ? error_set(err, status, "%s", why.message) : ASSAY_OK;
}

static void put_buffer(struct buf *out, const struct plan_buffer *b) {
  buf_printf(out, "%-8s ", plan_role_names[b->role]);
  put_name(out, b->name);
  if (b->role == PLAN_INPUT || b->role == PLAN_OUTPUT) {
    char text[TENSOR_TYPE_TEXT_BYTES];
    buf_printf(out, " (%d): %s", b->index, tensor_type_text(&b->tensor, text));
  }
  buf_printf(out, ", %" PRIu64 " bytes", b->bytes);
  if (b->alignment > 1)
    buf_printf(out, ", aligned to %" PRIu32, b->alignment);
  if (b->zeroed)
    buf_puts(out, ", zeros at first");
  buf_puts(out, "\n");
}

// "sm90_xmma_gemm_f32f32_tf32f32_f32_...", "cutlass_80_tensorop_s1688gemm_...": 16 x 8 x 8 is the instruction of TF32.
static bool says_tf32(const char *name) {
  return name && (strstr(name, "tf32") || strstr(name, "TF32") || strstr(name, "tensorop_s1688g") ||
                  strstr(name, "tensorop_s1688f"));
}

const char *plan_tf32_kernel(const struct plan *p) {
  for (int i = 0; i < p->n_steps; i++) {
    const struct plan_step *s = &p->steps[i];
    const char *names[] = {s->label, s->kernel};
    for (int k = 0; k < 2 && s->kind == PLAN_LAUNCH; k++)
      if (says_tf32(names[k]))
        return names[k];
  }
  return NULL;
}

int plan_unsettled(const struct plan *p) {
  int n = 0;
  for (int i = 0; i < p->n_steps; i++)
    for (int k = 0; p->steps[i].kind == PLAN_LAUNCH && k < p->steps[i].n_arguments; k++)
      n += p->steps[i].arguments[k].unsettled > 0;
  return n;
}

enum assay_status plan_print(const struct plan *p, struct buf *out, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  put_name(out, p->task);
  buf_puts(out, "  ");
  put_name(out, p->workload);
  buf_puts(out, "\nfor ");
  put_name(out, p->device->name);
  buf_puts(out, p->target && *p->target ? " " : "");
  put_name(out, p->target);
  buf_puts(out, ", made by ");
  put_name(out, p->toolchain);
  buf_puts(out, "\n\nmodules\n");
  for (int i = 0; i < p->n_modules && !status; i++) {
    buf_printf(out, "%3d  ", i);
    status = put_module(out, &p->modules[i], err);
  }
  buf_puts(out, "\nbuffers\n");
  for (int i = 0; i < p->n_buffers; i++) {
    buf_printf(out, "%3d  ", i);
    put_buffer(out, &p->buffers[i]);
  }
  buf_puts(out, "\nsteps\n");
  for (int i = 0; i < p->n_steps; i++) {
    buf_printf(out, "%3d  ", i);
    put_step(out, p, &p->steps[i]);
    buf_puts(out, i < p->n_prepare ? "  [prepares]\n" : "\n");
  }
  if (plan_unsettled(p))
    buf_printf(
        out,
        "\n%d argument%s marked ~N: N bytes were others in a second recording. They are taken for gaps, and are 0\n",
        plan_unsettled(p), plan_unsettled(p) == 1 ? " is" : "s are");
  return status ? status : buf_status(out, err);
}
