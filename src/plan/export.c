// SPDX-License-Identifier: Apache-2.0
// A plan as a C program. What is the same in every program is one text (export_driver.h); after it come the plan's
// buffers, and one function a step, which people can read and change.
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "plan/names.h"

extern const char code_export_driver[];

// Names come from outside. In a string everything unusual is an octal escape; in a comment, backslashes and question
// marks (which may continue a line, the latter as trigraphs) are replaced, and control characters are never there.
static void put_string(struct buf *out, const char *s) {
  buf_puts(out, "\"");
  for (; *s; s++)
    buf_printf(out, isalnum((unsigned char)*s) || strchr(" _.,:=+-/()<>[]$", *s) ? "%c" : "\\%03o", (unsigned char)*s);
  buf_puts(out, "\"");
}

static void put_comment(struct buf *out, const char *s) {
  char shown[PLAN_SHOWN_BYTES];
  plan_shown(s, shown);
  for (char *p = shown; *p; p++)
    if (*p == '\\' || *p == '?')
      *p = '_';
  buf_puts(out, shown);
}

static const char *ending(const struct plan_module *m) {
  return m->code == PLAN_CUBIN ? "cubin" : "ptx";
}

static void put_head(struct buf *out, const struct plan *p, const char *name) {
  buf_puts(out, "// ");
  put_comment(out, p->task);
  buf_puts(out, ", ");
  put_comment(out, p->workload);
  buf_printf(out,
             ": a launch plan as a program. Its files are in the same folder.\n"
             "//   cc -std=c17 -O2 %s.c -lcuda -o %s && ./%s\n\n",
             name, name, name);
  buf_puts(out, code_export_driver);
  buf_puts(out,
           "\n// --- the plan "
           "--------------------------------------------------------------------------------------------------------"
           "\n");
}

static void put_tables(struct buf *out, const struct plan *p, const char *name) {
  static const char *const roles[] = {
      [PLAN_INPUT] = "INPUT", [PLAN_OUTPUT] = "OUTPUT", [PLAN_SCRATCH] = "SCRATCH", [PLAN_CONSTANT] = "CONSTANT"};
  buf_printf(out, "static struct module modules[] = {\n");
  for (int i = 0; i < p->n_modules; i++)
    buf_printf(out, "    {\"%s.%d.%s\", NULL},\n", name, i, ending(&p->modules[i]));
  buf_puts(out, "    {NULL, NULL},\n};\n\nstatic struct buffer buffers[] = {\n");
  for (int i = 0; i < p->n_buffers; i++) {
    const struct plan_buffer *b = &p->buffers[i];
    buf_puts(out, "    {");
    put_string(out, b->name);
    buf_printf(out, ", %s, %d, %" PRId32 ", %" PRIu64 ", %" PRIu32 ", ", roles[b->role], b->index, b->tensor.dtype,
               b->bytes, b->alignment < 256 ? 256 : b->alignment);
    if (b->role == PLAN_CONSTANT)
      buf_printf(out, "\"%s.constant%d\", 0, 0},\n", name, i);
    else
      buf_printf(out, "NULL, 0, %d},\n", b->zeroed);
  }
  buf_puts(out, "    {NULL, SCRATCH, 0, 0, 0, 0, NULL, 0, 0},\n};\n\n");
}

static void put_address(struct buf *out, int buffer, int64_t offset) {
  buf_printf(out, "buffers[%d].address", buffer);
  if (offset)
    buf_printf(out, " + %" PRId64, offset);
}

static void put_u32s(struct buf *out, const uint32_t *v, uint32_t n) {
  buf_puts(out, "{");
  for (uint32_t i = 0; i < n; i++)
    buf_printf(out, "%s%" PRIu32, i ? ", " : "", v[i]);
  buf_puts(out, "}");
}

static void put_u64s(struct buf *out, const uint64_t *v, uint32_t n) {
  buf_puts(out, "{");
  for (uint32_t i = 0; i < n; i++)
    buf_printf(out, "%s%" PRIu64 "u", i ? ", " : "", v[i]);
  buf_puts(out, n ? "}" : "0}");
}

// One argument as a variable aI.
static void put_argument(struct buf *out, const struct plan_argument *a, int step, int index) {
  if (a->kind == PLAN_TENSOR_MAP) {
    buf_printf(out, "  CUtensorMap *a%d = &map_%d_%d;\n", index, step, index);
    return;
  }
  if (a->size == 8 && a->n_pointers == 1) {
    buf_printf(out, "  CUdeviceptr a%d = ", index);
    put_address(out, a->pointers[0].buffer, a->pointers[0].offset);
    buf_puts(out, ";\n");
    return;
  }
  buf_printf(out, "  _Alignas(16) unsigned char a%d[%" PRIu32 "] = {", index, a->size);
  for (uint32_t i = 0; i < a->size; i++)
    buf_printf(out, "%s%s%u", i ? "," : "", i == 0 ? "" : i % 32 ? " " : "\n      ", a->bytes[i]);
  buf_puts(out, "};\n");
  for (int i = 0; i < a->n_pointers; i++) {
    buf_printf(out, "  put_pointer(a%d + %" PRIu32 ", ", index, a->pointers[i].at);
    put_address(out, a->pointers[i].buffer, a->pointers[i].offset);
    buf_puts(out, ");\n");
  }
}

// How the variable is handed over: the address of the argument's bytes.
static const char *address_of(const struct plan_argument *a) {
  return a->kind == PLAN_BYTES && a->size == 8 && a->n_pointers == 1 ? "&" : "";
}

static void put_launch(struct buf *out, const struct plan_step *s, int step) {
  for (int i = 0; i < s->n_arguments; i++)
    put_argument(out, &s->arguments[i], step, i);
  buf_puts(out, "  void *arguments[] = {");
  for (int i = 0; i < s->n_arguments; i++)
    buf_printf(out, "%sa%d, ", address_of(&s->arguments[i]), i);
  buf_puts(out, "NULL};\n  static const struct launch l = {");
  put_u32s(out, s->grid, 3);
  buf_puts(out, ", ");
  put_u32s(out, s->block, 3);
  buf_puts(out, ", ");
  put_u32s(out, s->cluster, 3);
  buf_printf(out, ", %" PRIu32 ", %d, %d, %" PRId32 "};\n", s->shared_bytes, s->cooperative, s->programmatic,
             s->carveout);
  buf_printf(out, "  launch(kernel_%d, &l, arguments, stream);\n", step);
}

static void put_copy(struct buf *out, const struct plan_step *s) {
  buf_puts(out, "  CHECK(cuMemcpyDtoDAsync_v2(");
  put_address(out, s->to.buffer, s->to.offset);
  buf_puts(out, ", ");
  put_address(out, s->from.buffer, s->from.offset);
  buf_printf(out, ", %" PRIu64 ", stream));\n", s->bytes);
}

static void put_step_body(struct buf *out, const struct plan_step *s, int step) {
  switch (s->kind) {
  case PLAN_LAUNCH:
    put_launch(out, s, step);
    break;
  case PLAN_FILL:
    buf_puts(out, "  fill(");
    put_address(out, s->to.buffer, s->to.offset);
    buf_printf(out, ", %" PRIu32 "u, %" PRIu32 ", %" PRIu64 ", stream);\n", s->value, s->width, s->bytes);
    break;
  case PLAN_COPY:
    put_copy(out, s);
    break;
  case PLAN_SET_SYMBOL:
    buf_printf(out, "  CHECK(cuMemcpyDtoDAsync_v2(symbol_%d + %" PRId64 ", ", step, s->to.offset);
    put_address(out, s->from.buffer, s->from.offset);
    buf_printf(out, ", %" PRIu64 ", stream));\n", s->bytes);
    break;
  }
}

static void put_step(struct buf *out, const struct plan_step *s, int step) {
  if (s->kind == PLAN_LAUNCH) {
    buf_printf(out, "static CUfunction kernel_%d; // ", step);
    put_comment(out, s->label && *s->label ? s->label : s->kernel);
    buf_puts(out, "\n");
    for (int i = 0; i < s->n_arguments; i++)
      if (s->arguments[i].kind == PLAN_TENSOR_MAP)
        buf_printf(out, "static CUtensorMap map_%d_%d;\n", step, i);
  } else if (s->kind == PLAN_SET_SYMBOL) {
    buf_printf(out, "static CUdeviceptr symbol_%d; // ", step);
    put_comment(out, s->symbol);
    buf_puts(out, "\n");
  }
  buf_printf(out, "static void step_%d(CUstream stream) {\n", step);
  put_step_body(out, s, step);
  buf_puts(out, "}\n\n");
}

static void put_map(struct buf *out, const struct plan_tensor_map *m, int step, int index) {
  buf_puts(out, "  {\n    static const uint64_t dims[] = ");
  put_u64s(out, m->dims, m->rank);
  buf_puts(out, ", strides[] = ");
  put_u64s(out, m->strides, m->rank - 1);
  buf_puts(out, ";\n    static const unsigned box[] = ");
  put_u32s(out, m->box, m->rank);
  buf_puts(out, ", element_strides[] = ");
  put_u32s(out, m->element_strides, m->rank);
  buf_printf(out, ";\n    CHECK(cuTensorMapEncodeTiled(&map_%d_%d, %" PRIu32 ", %" PRIu32 ", (void *)(uintptr_t)(",
             step, index, m->data_type, m->rank);
  put_address(out, m->buffer, m->offset);
  buf_printf(out,
             "), dims, strides,\n                                 box, element_strides, %" PRIu32 ", %" PRIu32
             ", %" PRIu32 ", %" PRIu32 "));\n  }\n",
             m->interleave, m->swizzle, m->l2_promotion, m->oob_fill);
}

// What the steps need: kernels, symbols, tensor maps.
static void put_load(struct buf *out, const struct plan *p) {
  buf_puts(out, "static void load(void) {\n");
  for (int i = 0; i < p->n_steps; i++) {
    const struct plan_step *s = &p->steps[i];
    if (s->kind == PLAN_LAUNCH) {
      buf_printf(out, "  kernel_%d = get_kernel(&modules[%d], ", i, s->module);
      put_string(out, s->kernel);
      buf_printf(out, ", %" PRIu32 ", %" PRIu64 ");\n", s->shared_bytes,
                 (uint64_t)s->cluster[0] * s->cluster[1] * s->cluster[2]);
      for (int k = 0; k < s->n_arguments; k++)
        if (s->arguments[k].kind == PLAN_TENSOR_MAP)
          put_map(out, s->arguments[k].map, i, k);
    } else if (s->kind == PLAN_SET_SYMBOL) {
      buf_printf(out, "  symbol_%d = get_symbol(&modules[%d], ", i, s->module);
      put_string(out, s->symbol);
      buf_printf(out, ", %" PRIu64 ");\n", s->bytes + (uint64_t)s->to.offset);
    }
  }
  buf_puts(out, "}\n\n");
}

static void put_program(struct buf *out, const struct plan *p, const char *name) {
  put_head(out, p, name);
  put_tables(out, p, name);
  for (int i = 0; i < p->n_steps; i++)
    put_step(out, &p->steps[i], i);
  put_load(out, p);
  buf_puts(out, "static void (*const steps[])(CUstream) = {");
  for (int i = 0; i < p->n_steps; i++)
    buf_printf(out, "%sstep_%d, ", i % 8 ? "" : "\n    ", i);
  buf_printf(out,
             "NULL};\n\nint main(int argc, char **argv) {\n"
             "  const struct program p = {%d, %d, %d, %d, modules, buffers, load, steps};\n"
             "  return run_program(&p, argc, argv);\n}\n",
             p->n_modules, p->n_buffers, p->n_steps, p->n_prepare);
}

static enum assay_status put_readme(struct buf *out, const struct plan *p, const char *name, struct assay_error *err) {
  buf_printf(out, "# %s\n\nThe kernels of a candidate for ", name);
  put_comment(out, p->task);
  buf_puts(out, " (");
  put_comment(out, p->workload);
  buf_printf(
      out,
      "), with a program that launches them.\nIt needs a C compiler, the NVIDIA driver, and the files next to "
      "it; no CUDA toolkit.\n\n"
      "    cc -std=c17 -O2 %s.c -lcuda -o %s\n"
      "    ./%s -h\n"
      "    ./%s -i 0=x.bin -o 0=y.bin\n\n"
      "Files of tensors hold their bytes, row by row, without a head. Inputs without a file get made-up data, the\n"
      "same in every run. The time printed is the median over runs, between events around all steps, with warm\n"
      "caches and with the host's gaps between the launches; Assay's own figures are measured more strictly.\n\n"
      "The plan:\n\n",
      name, name, name, name);
  struct buf page = {0};
  enum assay_status status = plan_print(p, &page, err);
  for (const char *line = buf_str(&page); !status && *line;) {
    size_t n = strcspn(line, "\n");
    buf_printf(out, "%s%.*s\n", n ? "    " : "", (int)n, line);
    line += n + (line[n] == '\n');
  }
  buf_release(&page);
  return status;
}

// --- files -----------------------------------------------------------------------------------------------------------

static enum assay_status write_beside(const char *folder, const char *name, const char *rest, const void *bytes,
                                      size_t n, struct assay_error *err) {
  struct buf path = {0};
  buf_printf(&path, "%s/%s%s", folder, name, rest);
  enum assay_status status = buf_status(&path, err);
  if (!status)
    status = file_write(path.data, bytes, n, err);
  buf_release(&path);
  return status;
}

static enum assay_status write_parts(const struct plan *p, const char *folder, const char *name,
                                     struct assay_error *err) {
  char rest[64];
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < p->n_modules && !status; i++) {
    snprintf(rest, sizeof rest, ".%d.%s", i, ending(&p->modules[i]));
    status = write_beside(folder, name, rest, p->modules[i].bytes, p->modules[i].size, err);
  }
  for (int i = 0; i < p->n_buffers && !status; i++)
    if (p->buffers[i].role == PLAN_CONSTANT) {
      snprintf(rest, sizeof rest, ".constant%d", i);
      status = write_beside(folder, name, rest, p->buffers[i].data, p->buffers[i].bytes, err);
    }
  return status;
}

static bool is_file_name(const char *name) {
  size_t n = strlen(name);
  return n > 0 && n <= 100 && name[0] != '.' && name[0] != '-' &&
         strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == n;
}

enum assay_status plan_export(const struct plan *p, const char *folder, const char *name, struct assay_error *err) {
  struct buf program = {0}, readme = {0};
  if (p->device->dialect != PLAN_CUDA_LAUNCHES)
    return error_set(err, ASSAY_ERR_UNSUPPORTED, "only plans for cuda can be exported; this one is for %s",
                     p->device->name);
  if (!is_file_name(name))
    return error_set(err, ASSAY_ERR_USAGE, "\"%s\" cannot name the files: use letters, digits, '_', '-' and '.'", name);
  if (mkdir(folder, 0777) != 0 && errno != EEXIST)
    return error_set(err, ASSAY_ERR_IO, "cannot make the folder %s: %s", folder, strerror(errno));
  put_program(&program, p, name);
  enum assay_status status = put_readme(&readme, p, name, err);
  if (!status)
    status = buf_status(&program, err);
  if (!status)
    status = buf_status(&readme, err);
  if (!status)
    status = write_parts(p, folder, name, err);
  if (!status)
    status = write_beside(folder, name, ".c", program.data, program.len, err);
  if (!status)
    status = write_beside(folder, "README.md", "", readme.data, readme.len, err);
  buf_release(&program);
  buf_release(&readme);
  return status;
}
