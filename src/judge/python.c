#include "judge/python.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

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

enum assay_status judge_python_sheet(const struct task *t, const struct workload *w, struct buf *out,
                                     struct assay_error *err) {
  const struct graph *g = &t->model.flat;
  json_t *symbols = json_object(), *inputs = json_array(), *outputs = json_array();
  for (int i = 0; i < w->n; i++)
    json_object_set_new(symbols, w->bindings[i].symbol, json_integer(w->bindings[i].value));
  for (int i = 0; i < t->n_inputs; i++)
    json_array_append_new(
        inputs, json_pack("{s:s, s:b}", "name", t->inputs[i].name, "static", t->inputs[i].distribution.is_static));
  for (int i = 0; i < g->n_outputs; i++)
    json_array_append_new(outputs, json_string(g->values[g->outputs[i]].name));
  json_t *sheet =
      json_pack("{s:s, s:o, s:o, s:o}", "task", t->name, "symbols", symbols, "inputs", inputs, "outputs", outputs);
  char *text = sheet ? json_dumps(sheet, JSON_COMPACT) : NULL;
  json_decref(sheet);
  if (!text)
    return error_nomem(err, "a worker's sheet");
  buf_puts(out, text);
  free(text);
  return buf_status(out, err);
}
