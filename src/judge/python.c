// SPDX-License-Identifier: Apache-2.0
#include "judge/python.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "task/drawing.h"
#include "toolchain/program.h"

// What follows "NAME: " or, in the published form, "NAME as published: ", where the file says that.
static const char *arguments_of(const struct task *t, const char *line, size_t n, bool published) {
  static const char form[] = " as published";
  const size_t length = strlen(t->name), more = published ? strlen(form) : 0;
  return n > length + more && strncmp(line, t->name, length) == 0 && strncmp(line + length, form, more) == 0 &&
                 line[length + more] == ':'
             ? line + length + more + 1
             : NULL;
}

// Of the file next to the task's; *out stays NULL where it has no such line.
enum assay_status judge_init_arguments(const struct task *t, struct arena *a, const char **out,
                                       struct assay_error *err) {
  enum { MOST = 1 << 20 };
  const char *slash = t->path ? strrchr(t->path, '/') : NULL;
  char *path = arena_printf(a, "%.*sinit_arguments.txt", slash ? (int)(slash + 1 - t->path) : 0, slash ? t->path : "");
  char *text = NULL;
  size_t n = 0;
  *out = NULL;
  if (!path)
    return error_nomem(err, "a module's arguments");
  if (access(path, R_OK) != 0)
    return ASSAY_OK;
  enum assay_status status = file_read(path, MOST, &text, &n, err);
  for (int published = t->as_published; published >= 0 && !*out; published--)
    for (const char *line = text; !status && line && *line && !*out;) {
      const size_t end = strcspn(line, "\n");
      const char *found = arguments_of(t, line, end, published);
      if (found) {
        *out = arena_strndup(a, found, (size_t)(line + end - found));
        status = *out ? ASSAY_OK : error_nomem(err, "a module's arguments");
      }
      line += end + (line[end] == '\n');
    }
  base_free(text);
  return status;
}

// Probes leave what is fixed, and what no float is, as the task declares it; where a function has a domain, what is
// declared lies in it. A matrix is one that can be factored.
static struct plan_draw draw_of(const struct task *t, const struct workload *w, const struct array *inputs, int i) {
  const struct distribution *d = &t->inputs[i].distribution;
  const struct draw_request r = task_draw_request(t, w, inputs, i, PROBE_DECLARED, 0);
  if (!d->fixed && !d->fold && !d->regular && !d->definite && dtype_is_float(r.type.dtype))
    return (struct plan_draw){0};
  return (struct plan_draw){.kind = distribution_kind_name(d->kind),
                            .a = r.a,
                            .b = r.b,
                            .scale_lo = d->scaled ? d->scale_lo : 1,
                            .scale_hi = d->scaled ? d->scale_hi : 1,
                            .softmax = d->softmax,
                            .symmetric = d->symmetric,
                            .triu = d->triu,
                            .tril = d->tril,
                            .regular = d->regular,
                            .definite = d->definite};
}

enum assay_status judge_describe(const struct task *t, const struct workload *w, struct arena *a,
                                 struct plan_subject *out, struct assay_error *err) {
  const struct graph *g = &t->model.flat;
  struct plan_symbol *symbols = arena_calloc(a, (size_t)w->n + 1, sizeof *symbols);
  const char **in_names = arena_calloc(a, (size_t)t->n_inputs + 1, sizeof *in_names);
  const char **out_names = arena_calloc(a, (size_t)g->n_outputs + 1, sizeof *out_names);
  bool *statics = arena_calloc(a, (size_t)t->n_inputs + 1, sizeof *statics);
  struct plan_draw *draws = arena_calloc(a, (size_t)t->n_inputs + 1, sizeof *draws);
  struct array *inputs = arena_calloc(a, (size_t)t->n_inputs + 1, sizeof *inputs);
  if (!symbols || !in_names || !out_names || !statics || !draws || !inputs)
    return error_nomem(err, "a plan's subject");
  enum assay_status status = task_input_shapes(t, w, inputs, err);
  for (int i = 0; i < w->n && !status; i++)
    symbols[i] = (struct plan_symbol){w->bindings[i].symbol, w->bindings[i].value};
  for (int i = 0; i < t->n_inputs && !status; i++) {
    in_names[i] = t->inputs[i].name;
    statics[i] = t->inputs[i].distribution.is_static;
    draws[i] = draw_of(t, w, inputs, i);
  }
  for (int i = 0; i < g->n_outputs && !status; i++)
    out_names[i] = g->values[g->outputs[i]].name;
  *out = (struct plan_subject){.task = t->name,
                               .workload = w->name,
                               .n_symbols = w->n,
                               .n_inputs = t->n_inputs,
                               .n_outputs = g->n_outputs,
                               .symbols = symbols,
                               .input_names = in_names,
                               .output_names = out_names,
                               .statics = statics,
                               .draws = draws};
  return status ? status : judge_init_arguments(t, a, &out->init_arguments, err);
}

static enum assay_status make_workload(const struct task *t, const struct workload *w, struct buf *out,
                                       struct assay_error *err) {
  struct arena arena = {0};
  struct plan_subject s;
  enum assay_status status = judge_describe(t, w, &arena, &s, err);
  if (!status)
    status = python_workload(&s, out, err);
  arena_release(&arena);
  return status;
}

enum assay_status judge_python_tell(struct runner *r, const struct task *t, const struct workload *w,
                                    struct assay_error *err) {
  struct buf workload = {0};
  enum assay_status status = make_workload(t, w, &workload, err);
  if (!status)
    status = runner_set_workload(r, buf_str(&workload), err);
  buf_release(&workload);
  return status;
}
