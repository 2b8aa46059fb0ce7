// SPDX-License-Identifier: Apache-2.0
// The names of a run of assay make, and the settings that it is begun with and keeps.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "cli/make.h"
#include "method/template.h"
#include "store/step.h"

enum assay_status make_name_run(struct make *m, struct assay_error *err) {
  struct buf b = {0};
  if (m->run)
    buf_puts(&b, m->run);
  else {
    buf_printf(&b, "%s", m->engine.settings.method->name);
    for (int i = 0; i < m->n_arguments; i++)
      buf_printf(&b, " %s", m->arguments[i]);
    for (int i = 0; i < m->n_names; i++)
      buf_printf(&b, " %s", m->model_names[i]);
    for (int i = 0; i < m->n_endpoints && m->n_names == 0; i++)
      buf_printf(&b, " %s", m->endpoints[i].url);
    if (m->judging.options.contract)
      buf_printf(&b, ", %s", m->judging.options.contract);
  }
  m->engine.run = arena_strdup(&m->arena, buf_str(&b));
  m->final_run = arena_printf(&m->arena, "%s, final", buf_str(&b));
  buf_release(&b);
  return m->engine.run && m->final_run ? ASSAY_OK : error_nomem(err, "a run's name");
}

// --out, or a folder next to the store that is named after the run.
enum assay_status make_folder(struct make *m, struct assay_error *err) {
  const char *slash = strrchr(m->judging.paths.store, '/');
  char name[128], hash[HASH_HEX_BYTES];
  size_t used = 0;
  for (const char *c = m->engine.run; *c && used < 80; c++)
    name[used++] = strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-", *c) ? *c : '_';
  hash_sha256_hex(m->engine.run, strlen(m->engine.run), hash);
  snprintf(name + used, sizeof name - used, "-%.8s", hash);
  if (name[0] == '.')
    name[0] = '_';
  int above = slash ? (int)(slash - m->judging.paths.store) : 1;
  m->engine.folder =
      m->out ? m->out : arena_printf(&m->arena, "%.*s/made/%s", above, slash ? m->judging.paths.store : ".", name);
  return m->engine.folder ? file_make_folders(m->engine.folder, err) : error_nomem(err, "a folder's name");
}

// All that decides what is asked and what is said of it.
static char *settings_text(const struct make *m, const char *prompts_hash) {
  const struct engine_options *e = &m->engine;
  const struct assay_judge_options *o = &m->judging.options;
  json_t *models = json_array();
  for (int i = 0; i < e->settings.n_models; i++)
    json_array_append_new(
        models, json_string(e->models[i].name[0] ? e->models[i].name : m->endpoints[e->models[i].endpoint].url));
  json_t *j = json_pack("{s:s, s:o, s:s, s:i, s:i, s:i, s:o, s:I, s:s, s:s, s:s, s:b, s:s, s:b, s:I, s:s*}", "method",
                        e->settings.method->name, "models", models, "form", e->form->name, "attempts",
                        e->settings.samples, "turns", e->settings.turns, "feedback", (int)e->rungs, "temperature",
                        isnan(e->settings.temperature) ? json_null() : json_real(e->settings.temperature), "max_tokens",
                        (json_int_t)e->max_tokens, "prompts", prompts_hash, "workload", o->workload, "device",
                        o->device, "published", o->as_published, "prices", m->prices.hash, "feed_best",
                        e->settings.feed_best, "method_seed", (json_int_t)e->settings.seed, "contract", o->contract);
  if (j && m->hold_out)
    json_object_set_new(j, "hold_out", json_true());
  json_t *fields = json_array();
  for (int i = 0; i < m->n_given; i++)
    json_array_append_new(fields, m->more[i].given ? json_incref(m->more[i].given) : json_null());
  bool any = false;
  for (int i = 0; i < m->n_endpoints; i++)
    any = any || m->more[i].given;
  if (j && any)
    json_object_set(j, "fields", fields);
  json_decref(fields);
  char *text = j ? json_dumps(j, JSON_SORT_KEYS) : NULL;
  json_decref(j);
  return text;
}

// The first setting that differs, as "turns was 3 and is 5".
static enum assay_status compare_settings(const struct make *m, const char *then, const char *now,
                                          struct assay_error *err) {
  json_t *a = json_loads(then, 0, NULL), *b = json_loads(now, 0, NULL);
  enum assay_status status = ASSAY_OK;
  json_t *all = json_copy(a); // the names of both
  json_object_update(all, b);
  for (void *at = json_object_iter(all); at; at = json_object_iter_next(all, at)) {
    const char *name = json_object_iter_key(at);
    const json_t *before = json_object_get(a, name), *after = json_object_get(b, name);
    if (status || strcmp(name, "prices") == 0 || (before && after && json_equal(before, after)))
      continue;
    char *was = json_dumps(before, JSON_ENCODE_ANY), *is = json_dumps(after, JSON_ENCODE_ANY);
    status = error_set(err, ASSAY_ERR_USAGE,
                       "run \"%s\" was begun with other settings: %s was %s and is %s; give the same ones to go on, or "
                       "--run NAME for another run",
                       m->engine.run, name, was ? was : "not set", is ? is : "not set");
    free(was);
    free(is);
  }
  json_decref(all);
  json_decref(a);
  json_decref(b);
  return status;
}

// A run keeps what it was begun with: verdicts with hold-outs and without are not alike. Without a last judgement of
// the winners nothing is held out, for nobody would ask it.
static void decide_hold_out(struct make *m, const char *before) {
  json_t *j = before ? json_loads(before, 0, NULL) : NULL;
  m->hold_out = before ? json_is_true(json_object_get(j, "hold_out")) : m->engine.finals && m->judging.options.probes;
  json_decref(j);
}

enum assay_status make_keep_settings(struct make *m, struct assay_error *err) {
  char hash[HASH_HEX_BYTES], *before = NULL;
  struct buf all = {0};
  enum assay_status status = template_gather(m->engine.prompts, &all, err);
  if (!status)
    status = asking_check_texts(&m->engine, err);
  hash_sha256_hex(buf_str(&all), all.len, hash);
  buf_release(&all);
  if (status)
    return status;
  status = store_get_making(m->store, m->engine.run, &before, err);
  decide_hold_out(m, before);
  char *text = settings_text(m, hash);
  if (!status && !text)
    status = error_nomem(err, "a run's settings");
  struct store_cost spent = {0};
  if (!status)
    status = store_sum_steps(m->store, m->engine.run, &spent, err);
  if (!status) // nothing was asked with other settings
    status = before && spent.calls > 0 ? compare_settings(m, before, text, err)
                                       : store_set_making(m->store, m->engine.run, text, err);
  base_free(before);
  free(text);
  return status;
}
