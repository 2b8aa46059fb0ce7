#include "judge/python.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "toolchain/program.h"

bool judge_is_python(const char *candidate) {
  size_t n = strlen(candidate);
  return n > 3 && strcmp(candidate + n - 3, ".py") == 0;
}

enum assay_status judge_find_python(const struct assay_judge_options *o, struct arena *a, struct python_place *out,
                                    struct assay_error *err) {
  const struct python_options p = {
      .interpreter = o->python, .path_env = o->path_env, .script = o->worker_script, .worker = o->worker_library};
  return python_find(&p, a, out, err);
}

// The line "NAME: ARGUMENTS" of the file beside the task's; *out stays NULL where there is none.
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
  size_t length = strlen(t->name);
  for (const char *line = text; !status && line && *line && !*out;) {
    size_t end = strcspn(line, "\n");
    if (end > length && strncmp(line, t->name, length) == 0 && line[length] == ':') {
      *out = arena_strndup(a, line + length + 1, end - length - 1);
      status = *out ? ASSAY_OK : error_nomem(err, "a module's arguments");
    }
    line += end + (line[end] == '\n');
  }
  base_free(text);
  return status;
}

static enum assay_status make_sheet(const struct task *t, const struct workload *w, struct buf *out,
                                    struct assay_error *err) {
  struct arena arena = {0};
  const struct graph *g = &t->model.flat;
  struct plan_symbol *symbols = arena_calloc(&arena, (size_t)w->n + 1, sizeof *symbols);
  const char **inputs = arena_calloc(&arena, (size_t)t->n_inputs + 1, sizeof *inputs);
  const char **outputs = arena_calloc(&arena, (size_t)g->n_outputs + 1, sizeof *outputs);
  bool *statics = arena_calloc(&arena, (size_t)t->n_inputs + 1, sizeof *statics);
  struct plan_subject s = {.task = t->name,
                           .n_symbols = w->n,
                           .n_inputs = t->n_inputs,
                           .n_outputs = g->n_outputs,
                           .symbols = symbols,
                           .input_names = inputs,
                           .output_names = outputs,
                           .statics = statics};
  enum assay_status status = symbols && inputs && outputs && statics ? ASSAY_OK : error_nomem(err, "a worker's sheet");
  for (int i = 0; i < w->n && !status; i++)
    symbols[i] = (struct plan_symbol){w->bindings[i].symbol, w->bindings[i].value};
  for (int i = 0; i < t->n_inputs && !status; i++) {
    inputs[i] = t->inputs[i].name;
    statics[i] = t->inputs[i].distribution.is_static;
  }
  for (int i = 0; i < g->n_outputs && !status; i++)
    outputs[i] = g->values[g->outputs[i]].name;
  if (!status)
    status = judge_init_arguments(t, &arena, &s.init_arguments, err);
  if (!status)
    status = python_sheet(&s, out, err);
  arena_release(&arena);
  return status;
}

enum assay_status judge_python_tell(struct runner *r, const struct task *t, const struct workload *w,
                                    struct assay_error *err) {
  struct buf sheet = {0};
  enum assay_status status = make_sheet(t, w, &sheet, err);
  if (!status)
    status = runner_set_sheet(r, buf_str(&sheet), err);
  buf_release(&sheet);
  return status;
}
