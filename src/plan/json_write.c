// SPDX-License-Identifier: Apache-2.0
// A plan as JSON. Written by hand rather than through a JSON library: the text is the same for the same plan on every
// machine, has one module, buffer or step a line (people compare plans with diff), and big modules are not copied.
// Members at their defaults are left out.
#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "base/utf8.h"
#include "plan/base64.h"
#include "plan/names.h"

static bool is_utf8(const char *s, size_t n) {
  while (n) {
    size_t length = utf8_length(s, n);
    if (length == 0 || *s == '\0')
      return false;
    s += length;
    n -= length;
  }
  return true;
}

static void put_string(struct buf *out, const char *s, size_t n) {
  buf_puts(out, "\"");
  for (size_t i = 0, begin = 0; i <= n; i++) {
    bool special = i < n && ((unsigned char)s[i] < 0x20 || s[i] == '"' || s[i] == '\\' || s[i] == 0x7f);
    if (i < n && !special)
      continue;
    buf_append(out, s + begin, i - begin);
    begin = i + 1;
    if (special)
      buf_printf(out, s[i] == '"' || s[i] == '\\' ? "\\%c" : s[i] == '\n' ? "\\n" : "\\u%04x", s[i]);
  }
  buf_puts(out, "\"");
}

// Every string of a plan has to be text: what is not cannot be written.
struct writer {
  struct buf *out;
  struct buf *packed; // where bytes of modules and constants go, or NULL: into the text
  struct assay_error *err;
  enum assay_status status;
};

static void put_text(struct writer *w, const char *key, const char *s) {
  char shown[PLAN_SHOWN_BYTES];
  s = s ? s : "";
  if (!is_utf8(s, strlen(s)) && !w->status)
    w->status = error_set(w->err, ASSAY_ERR_INVALID, "the plan cannot be written: its %s \"%s\" is not UTF-8", key,
                          plan_shown(s, shown));
  buf_printf(w->out, "\"%s\": ", key);
  put_string(w->out, s, strlen(s));
}

static void put_bytes(struct writer *w, const char *key, const uint8_t *bytes, size_t n) {
  buf_printf(w->out, "\"%s\": \"", key);
  base64_encode(w->out, bytes, n);
  buf_puts(w->out, "\"");
}

static void put_large(struct writer *w, const uint8_t *bytes, size_t n) {
  if (!w->packed) {
    put_bytes(w, "base64", bytes, n);
    return;
  }
  buf_printf(w->out, "\"packed\": [%zu, %zu]", w->packed->len, n);
  if (n)
    buf_append(w->packed, bytes, n);
}

static void put_u32s(struct writer *w, const char *key, const uint32_t *v, int n) {
  buf_printf(w->out, "\"%s\": [", key);
  for (int i = 0; i < n; i++)
    buf_printf(w->out, "%s%" PRIu32, i ? ", " : "", v[i]);
  buf_puts(w->out, "]");
}

static void put_u64s(struct writer *w, const char *key, const uint64_t *v, int n) {
  buf_printf(w->out, "\"%s\": [", key);
  for (int i = 0; i < n; i++)
    buf_printf(w->out, "%s%" PRIu64, i ? ", " : "", v[i]);
  buf_puts(w->out, "]");
}

static void put_module(struct writer *w, const struct plan_module *m) {
  buf_puts(w->out, "{");
  put_text(w, "name", m->name);
  buf_printf(w->out, ", \"code\": \"%s\", ", plan_code_names[m->code]);
  if (plan_code_is_text(m->code)) {
    put_text(w, "options", m->options);
    buf_puts(w->out, ", ");
  }
  if (plan_code_is_text(m->code) && is_utf8((const char *)m->bytes, m->size)) {
    buf_puts(w->out, "\"text\": ");
    put_string(w->out, (const char *)m->bytes, m->size);
  } else {
    put_large(w, m->bytes, m->size);
  }
  buf_puts(w->out, "}");
}

static void put_buffer(struct writer *w, const struct plan_buffer *b) {
  buf_puts(w->out, "{");
  put_text(w, "name", b->name);
  buf_printf(w->out, ", \"role\": \"%s\"", plan_role_names[b->role]);
  if (b->role == PLAN_INPUT || b->role == PLAN_OUTPUT) {
    const struct shape *shape = &b->tensor.shape;
    if (dtype_bytes(b->tensor.dtype) == 0 && !w->status)
      w->status = error_set(w->err, ASSAY_ERR_INVALID, "the plan cannot be written: element type %d is not known",
                            (int)b->tensor.dtype);
    buf_printf(w->out, ", \"index\": %d, \"dtype\": \"%s\", \"dims\": [", b->index, dtype_name(b->tensor.dtype));
    for (int i = 0; i < shape->rank && i < SHAPE_MAX_RANK; i++)
      buf_printf(w->out, "%s%" PRId64, i ? ", " : "", shape->dims[i]);
    buf_puts(w->out, "]");
  }
  buf_printf(w->out, ", \"bytes\": %" PRIu64 ", \"alignment\": %" PRIu32, b->bytes, b->alignment);
  if (b->zeroed)
    buf_puts(w->out, ", \"zeroed\": true");
  if (b->role == PLAN_CONSTANT) {
    buf_puts(w->out, ", ");
    put_large(w, b->data, b->data ? b->bytes : 0);
  }
  buf_puts(w->out, "}");
}

static void put_map(struct writer *w, const struct plan_tensor_map *m) {
  int rank = m->rank <= 5 ? (int)m->rank : 5;
  buf_printf(w->out,
             "{\"tensor_map\": {\"buffer\": %d, \"offset\": %" PRId64 ", \"data_type\": %" PRIu32 ", \"rank\": %" PRIu32
             ", ",
             m->buffer, m->offset, m->data_type, m->rank);
  put_u64s(w, "dims", m->dims, rank);
  buf_puts(w->out, ", ");
  put_u64s(w, "strides", m->strides, rank ? rank - 1 : 0);
  buf_puts(w->out, ", ");
  put_u32s(w, "box", m->box, rank);
  buf_puts(w->out, ", ");
  put_u32s(w, "element_strides", m->element_strides, rank);
  buf_printf(w->out,
             ", \"interleave\": %" PRIu32 ", \"swizzle\": %" PRIu32 ", \"l2_promotion\": %" PRIu32
             ", \"oob_fill\": %" PRIu32 "}}",
             m->interleave, m->swizzle, m->l2_promotion, m->oob_fill);
}

static void put_argument(struct writer *w, const struct plan_argument *a) {
  if (a->kind == PLAN_TENSOR_MAP) {
    put_map(w, a->map);
    return;
  }
  if (a->kind == PLAN_LOCAL_MEMORY) {
    buf_printf(w->out, "{\"local_memory\": %" PRIu32 "}", a->size);
    return;
  }
  buf_puts(w->out, "{");
  put_bytes(w, "bytes", a->bytes, a->size);
  for (int i = 0; i < a->n_pointers; i++)
    buf_printf(w->out, "%s{\"at\": %" PRIu32 ", \"buffer\": %d, \"offset\": %" PRId64 "}%s",
               i ? ", " : ", \"pointers\": [", a->pointers[i].at, a->pointers[i].buffer, a->pointers[i].offset,
               i + 1 < a->n_pointers ? "" : "]");
  if (a->unsettled)
    buf_printf(w->out, ", \"unsettled\": %" PRIu32, a->unsettled);
  buf_puts(w->out, "}");
}

static void put_launch(struct writer *w, const struct plan_step *s) {
  buf_printf(w->out, ", \"module\": %d, ", s->module);
  put_text(w, "kernel", s->kernel);
  buf_puts(w->out, ", ");
  if (s->label) {
    put_text(w, "label", s->label);
    buf_puts(w->out, ", ");
  }
  put_u32s(w, "grid", s->grid, 3);
  buf_puts(w->out, ", ");
  put_u32s(w, "block", s->block, 3);
  if (s->cluster[0] || s->cluster[1] || s->cluster[2]) {
    buf_puts(w->out, ", ");
    put_u32s(w, "cluster", s->cluster, 3);
  }
  if (s->shared_bytes)
    buf_printf(w->out, ", \"shared_bytes\": %" PRIu32, s->shared_bytes);
  if (s->cooperative)
    buf_puts(w->out, ", \"cooperative\": true");
  if (s->programmatic)
    buf_puts(w->out, ", \"programmatic\": true");
  if (s->carveout != -1)
    buf_printf(w->out, ", \"carveout\": %" PRId32, s->carveout);
  buf_puts(w->out, ", \"arguments\": [");
  for (int i = 0; i < s->n_arguments; i++) {
    buf_puts(w->out, i ? ", " : "");
    put_argument(w, &s->arguments[i]);
  }
  buf_puts(w->out, "]");
}

static void put_place(struct writer *w, const char *key, const struct plan_place *p) {
  buf_printf(w->out, ", \"%s\": {\"buffer\": %d, \"offset\": %" PRId64 "}", key, p->buffer, p->offset);
}

static void put_step(struct writer *w, const struct plan_step *s) {
  buf_printf(w->out, "{\"step\": \"%s\"", plan_step_names[s->kind]);
  switch (s->kind) {
  case PLAN_LAUNCH:
    put_launch(w, s);
    break;
  case PLAN_FILL:
    put_place(w, "to", &s->to);
    buf_printf(w->out, ", \"bytes\": %" PRIu64 ", \"value\": %" PRIu32 ", \"width\": %" PRIu32, s->bytes, s->value,
               s->width);
    break;
  case PLAN_COPY:
    put_place(w, "to", &s->to);
    put_place(w, "from", &s->from);
    buf_printf(w->out, ", \"bytes\": %" PRIu64, s->bytes);
    break;
  case PLAN_SET_SYMBOL:
    buf_printf(w->out, ", \"module\": %d, ", s->module);
    put_text(w, "symbol", s->symbol);
    buf_printf(w->out, ", \"offset\": %" PRId64, s->to.offset);
    put_place(w, "from", &s->from);
    buf_printf(w->out, ", \"bytes\": %" PRIu64, s->bytes);
    break;
  }
  buf_puts(w->out, "}");
}

// A list with one element a line.
static void put_list(struct writer *w, const char *key, int n) {
  buf_printf(w->out, ",\n  \"%s\": [%s", key, n ? "\n" : "");
}

static void put_line(struct writer *w, int i) {
  buf_puts(w->out, i ? ",\n    " : "    ");
}

static void put_end(struct writer *w, int n) {
  buf_puts(w->out, n ? "\n  ]" : "]");
}

static enum assay_status print(const struct plan *p, struct buf *out, struct buf *packed, struct assay_error *err) {
  struct writer w = {.out = out, .packed = packed, .err = err};
  const char *const keys[] = {"task", "workload", "device", "target", "toolchain"};
  const char *const texts[] = {p->task, p->workload, p->device->name, p->target, p->toolchain};
  buf_printf(out, "{\n  \"assay_plan\": %d", PLAN_FORMAT);
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    buf_puts(out, ",\n  ");
    put_text(&w, keys[i], texts[i]);
  }
  put_list(&w, "modules", p->n_modules);
  for (int i = 0; i < p->n_modules; i++) {
    put_line(&w, i);
    put_module(&w, &p->modules[i]);
  }
  put_end(&w, p->n_modules);
  put_list(&w, "buffers", p->n_buffers);
  for (int i = 0; i < p->n_buffers; i++) {
    put_line(&w, i);
    put_buffer(&w, &p->buffers[i]);
  }
  put_end(&w, p->n_buffers);
  buf_printf(out, ",\n  \"prepare_steps\": %d", p->n_prepare);
  put_list(&w, "steps", p->n_steps);
  for (int i = 0; i < p->n_steps; i++) {
    put_line(&w, i);
    put_step(&w, &p->steps[i]);
  }
  put_end(&w, p->n_steps);
  buf_puts(out, "\n}\n");
  return w.status ? w.status : buf_status(out, err);
}

enum assay_status plan_print_json(const struct plan *p, struct buf *out, struct assay_error *err) {
  return print(p, out, NULL, err);
}

enum assay_status plan_pack(const struct plan *p, struct buf *out, struct assay_error *err) {
  struct buf text = {0}, bytes = {0};
  enum assay_status status = print(p, &text, &bytes, err);
  if (!status)
    status = buf_status(&bytes, err);
  if (!status) {
    const uint64_t n = text.len;
    buf_append(out, &n, sizeof n);
    buf_append(out, text.data, text.len);
    if (bytes.len)
      buf_append(out, bytes.data, bytes.len);
    status = buf_status(out, err);
  }
  buf_release(&text);
  buf_release(&bytes);
  return status;
}

enum assay_status plan_write(const char *path, const struct plan *p, struct assay_error *err) {
  struct buf text = {0};
  enum assay_status status = plan_print_json(p, &text, err);
  if (!status)
    status = file_write(path, text.data, text.len, err);
  buf_release(&text);
  return status;
}
