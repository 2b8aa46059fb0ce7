// assay make TASK|SUITE --method M --endpoint E: kernels from language models, with the judge in the loop.
#include <argp.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "cli/argv.h"
#include "cli/make.h"
#include "method/feedback.h"
#include "method/template.h"
#include "store/step.h"
#include "task/task.h"

enum {
  KEY_METHOD = 6000,
  KEY_MODEL,
  KEY_ENDPOINT,
  KEY_FORM,
  KEY_ATTEMPTS,
  KEY_TURNS,
  KEY_FEEDBACK,
  KEY_TEMPERATURE,
  KEY_MAX_TOKENS,
  KEY_PROMPTS,
  KEY_RUN,
  KEY_OUT,
  KEY_PARALLEL,
  KEY_REPLY_TIMEOUT,
  KEY_CALLS,
  KEY_TOKENS,
  KEY_SECONDS,
  KEY_DRY_RUN,
  KEY_REPLAY,
  KEY_FEED_BEST,
  KEY_METHOD_SEED,
  KEY_NO_FINAL,
  KEY_USD,
  KEY_API,
  KEY_KEY_ENV,
  KEY_KEY_FILE,
  KEY_NO_STREAM,
  KEY_FIELD,
  KEY_CPU,
  KEY_GPU,
  KEY_ENOUGH,
  KEY_PATIENCE,
  KEY_PRICES,
};

static long long take_number(const struct argp_state *state, const char *name, const char *arg, long long low,
                             long long high) {
  char *end;
  long long n = strtoll(arg, &end, 10);
  if (*end || end == arg || n < low || n > high)
    argp_error(state, "--%s takes a number from %lld to %lld, not '%s'", name, low, high, arg);
  return n;
}

static double take_temperature(const struct argp_state *state, const char *arg) {
  char *end;
  double x = strtod(arg, &end);
  if (*end || end == arg || !(x >= 0 && x <= 2))
    argp_error(state, "--temperature takes a number from 0 to 2, not '%s'", arg);
  return x;
}

// Above 0.
static double take_amount(const struct argp_state *state, const char *name, const char *what, const char *arg,
                          double most) {
  char *end;
  double x = strtod(arg, &end);
  if (*end || end == arg || !(x > 0 && x <= most))
    argp_error(state, "--%s takes %s above 0, not '%s'", name, what, arg);
  return x;
}

static int64_t take_seconds(const struct argp_state *state, const char *name, const char *arg) {
  return (int64_t)(take_amount(state, name, "seconds", arg, 1e9) * 1e9);
}

// "reasoning_effort=high", "top_k=40", "stop=[\"END\"]": JSON, or else a text. What Assay itself decides is not given
// so.
static void take_field(const struct argp_state *state, struct make_endpoint *e, const char *arg) {
  static const char *const own[] = {"model", "messages", "input", "system", "instructions", "stream", "n"};
  const char *equals = strchr(arg, '=');
  char name[128];
  if (!equals || equals == arg || (size_t)(equals - arg) >= sizeof name)
    argp_error(state, "--field takes NAME=VALUE, not '%s'", arg);
  snprintf(name, sizeof name, "%.*s", (int)(equals - arg), arg);
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (strcmp(name, own[i]) == 0)
      argp_error(state, "--field %s: Assay itself decides it", name);
  json_t *value = json_loads(equals + 1, JSON_DECODE_ANY, NULL);
  value = value ? value : json_string(equals + 1);
  e->given = e->given ? e->given : json_object();
  if (json_object_set_new(e->given, name, value) != 0)
    argp_error(state, "--field %s: the value is not UTF-8", name);
}

static error_t parse(int key, char *arg, struct argp_state *state) {
  struct make *m = state->input;
  struct engine_options *e = &m->engine;
  int endpoint = m->n_endpoints > 0 ? m->n_endpoints - 1 : 0; // that the option is about
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = &m->judging;
    return 0;
  case KEY_METHOD:
    m->method = arg;
    return 0;
  case KEY_MODEL:
    if (m->n_names == MAKE_MOST_MODELS)
      argp_error(state, "at most %d --model", MAKE_MOST_MODELS);
    m->model_names[m->n_names++] = arg;
    return 0;
  case KEY_ENDPOINT:
    if (m->n_endpoints == MAKE_MOST_MODELS)
      argp_error(state, "at most %d --endpoint", MAKE_MOST_MODELS);
    m->endpoints[m->n_endpoints++].url = arg;
    return 0;
  case KEY_FORM:
    m->form = arg;
    return 0;
  case KEY_ATTEMPTS:
    e->settings.samples = (int)take_number(state, "attempts", arg, 1, 100000);
    return 0;
  case KEY_TURNS:
    e->settings.turns = (int)take_number(state, "turns", arg, 1, 100000);
    return 0;
  case KEY_FEEDBACK:
    m->feedback = arg;
    return 0;
  case KEY_TEMPERATURE:
    e->settings.temperature = take_temperature(state, arg);
    return 0;
  case KEY_MAX_TOKENS:
    e->max_tokens = take_number(state, "max-tokens", arg, 1, 1 << 24);
    return 0;
  case KEY_PROMPTS:
    snprintf(m->prompts, sizeof m->prompts, "%s", arg);
    return 0;
  case KEY_RUN:
    m->run = arg;
    return 0;
  case KEY_OUT:
    m->out = arg;
    return 0;
  case KEY_PARALLEL:
    m->parallel = (int)take_number(state, "parallel", arg, 1, 256);
    return 0;
  case KEY_REPLY_TIMEOUT:
    m->client.whole_ns = take_number(state, "reply-timeout", arg, 1, 86400) * 1000000000;
    return 0;
  case KEY_CALLS:
    e->budget.calls = take_number(state, "budget-calls", arg, 1, INT64_MAX);
    return 0;
  case KEY_TOKENS:
    e->budget.tokens = take_number(state, "budget-tokens", arg, 1, INT64_MAX);
    return 0;
  case KEY_SECONDS:
    e->budget.wall_ns = take_number(state, "budget-seconds", arg, 1, 1 << 30) * 1000000000;
    return 0;
  case KEY_DRY_RUN:
    m->dry_run = true;
    return 0;
  case KEY_REPLAY:
    m->replay = true;
    return 0;
  case KEY_FEED_BEST:
    e->settings.feed_best = true;
    return 0;
  case KEY_METHOD_SEED:
    e->settings.seed = (uint64_t)take_number(state, "method-seed", arg, 0, INT64_MAX);
    return 0;
  case KEY_NO_FINAL:
    e->finals = false;
    return 0;
  case KEY_USD:
    e->budget.usd = take_amount(state, "budget-usd", "an amount of dollars", arg, 1e9);
    return 0;
  case KEY_CPU:
    e->budget.cpu_ns = take_seconds(state, "budget-cpu-seconds", arg);
    return 0;
  case KEY_GPU:
    e->budget.gpu_ns = take_seconds(state, "budget-gpu-seconds", arg);
    return 0;
  case KEY_ENOUGH:
    e->enough.part_of_floor = take_amount(state, "enough", "a part of the floor, up to 1 and", arg, 1);
    return 0;
  case KEY_PATIENCE:
    e->enough.patience = take_number(state, "patience", arg, 1, 1 << 30);
    return 0;
  case KEY_API:
    m->endpoints[endpoint].api = arg;
    return 0;
  case KEY_KEY_ENV:
    m->more[endpoint].key_variable = arg;
    return 0;
  case KEY_KEY_FILE:
    m->more[endpoint].key_file = arg;
    return 0;
  case KEY_NO_STREAM:
    m->endpoints[endpoint].no_stream = true;
    return 0;
  case KEY_FIELD:
    take_field(state, &m->more[endpoint], arg);
    return 0;
  case KEY_PRICES:
    snprintf(m->prices_path, sizeof m->prices_path, "%s", arg);
    return 0;
  case ARGP_KEY_ARG:
    if (m->n_arguments == MAKE_MOST_TASKS)
      argp_error(state, "at most %d tasks or suites", MAKE_MOST_TASKS);
    m->arguments[m->n_arguments++] = arg;
    return 0;
  case ARGP_KEY_END:
    if (m->n_arguments == 0 || m->n_endpoints == 0)
      argp_error(state, "name a task and an endpoint: assay make kernelbench/1/19 --endpoint 'exec:COMMAND'");
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option options[] = {
    {"method", KEY_METHOD, "NAME", 0, "greedy, sample (default), refine, reflect, evolve or swarm (docs/making.md)", 0},
    {"endpoint", KEY_ENDPOINT, "URL", 0,
     "the model: exec:COMMAND gives the prompt to a program's standard input and takes its output; may be repeated, "
     "one "
     "for each --model",
     0},
    {"api", KEY_API, "NAME", 0,
     "what the server speaks: chat (OpenAI's Chat Completions; default), messages (Anthropic) or responses; of the "
     "--endpoint before it, as are the next four",
     0},
    {"key-env", KEY_KEY_ENV, "VARIABLE", 0,
     "the environment variable with the key (default OPENAI_API_KEY and ANTHROPIC_API_KEY, for their hosts alone)", 0},
    {"key-file", KEY_KEY_FILE, "FILE", 0, "the file with the key, which only its owner may read", 0},
    {"no-stream", KEY_NO_STREAM, 0, 0, "take replies whole", 0},
    {"field", KEY_FIELD, "NAME=VALUE", 0,
     "one more field of every request, in JSON or as a text: top_k=40, reasoning_effort=high; may be repeated", 0},
    {"model", KEY_MODEL, "NAME", 0, "the model's name at its endpoint; may be repeated", 0},
    {"form", KEY_FORM, "NAME", 0,
     "what is asked for: c, cuda, cuda-host, opencl, triton, pytorch (default: by --device, or what this machine has)",
     0},
    {"attempts", KEY_ATTEMPTS, "N", 0,
     "requests (sample, default 10), trajectories (refine, reflect, swarm), or islands (evolve, default 3)", 0},
    {"turns", KEY_TURNS, "N", 0, "kernels of a trajectory (default 10; evolve 20, swarm 5)", 0},
    {"feedback", KEY_FEEDBACK, "LEVEL", 0,
     "what later turns are told: code (nothing), execution, performance (default), or a list of compile, plan, fault, "
     "values, probe, cheat, time, rates, resources",
     0},
    {"feed-best", KEY_FEED_BEST, 0, 0, "swarm: the turns that are left improve the best kernel of all", 0},
    {"method-seed", KEY_METHOD_SEED, "N", 0, "of a method's choices, and of the model where it takes one (default 0)",
     0},
    {"no-final", KEY_NO_FINAL, 0, 0, "do not judge and time the winners afresh at the end", 0},
    {"dry-run", KEY_DRY_RUN, 0, 0, "print the first prompts and what the run may cost, and ask nothing", 0},
    {"replay", KEY_REPLAY, 0, 0,
     "do a stored run again from its replies and verdicts, and compare every step byte for byte; asks and judges "
     "nothing",
     0},
    {"temperature", KEY_TEMPERATURE, "X", 0, "for the model (default: the server's own)", 0},
    {"max-tokens", KEY_MAX_TOKENS, "N", 0, "of a reply (default 16384)", 0},
    {"prompts", KEY_PROMPTS, "DIR", 0, "folder of the prompts' texts (default: found next to the program)", 0},
    {"run", KEY_RUN, "NAME", 0, "name of the run in the store (default: METHOD TASK MODEL)", 0},
    {"out", KEY_OUT, "DIR", 0, "folder for the kernels (default: made/RUN next to the store)", 0},
    {"parallel", KEY_PARALLEL, "N", 0, "requests at once (default 1 for programs, 4 else)", 0},
    {"reply-timeout", KEY_REPLY_TIMEOUT, "SECONDS", 0, "for one reply (default 600)", 0},
    {"budget-calls", KEY_CALLS, "N", 0, "ask no more than this, over the whole run", 0},
    {"budget-tokens", KEY_TOKENS, "N", 0, "likewise, of prompts and replies", 0},
    {"budget-usd", KEY_USD, "X", 0, "likewise, in dollars by the table of prices", 0},
    {"prices", KEY_PRICES, "FILE", 0, "the table of prices (default: found next to the program)", 0},
    {"budget-seconds", KEY_SECONDS, "N", 0, "ask nothing more after so long", 0},
    {"budget-cpu-seconds", KEY_CPU, "X", 0, "likewise, of processor time for building and judging, over the whole run",
     0},
    {"budget-gpu-seconds", KEY_GPU, "X", 0, "likewise, of time on the GPU", 0},
    {"enough", KEY_ENOUGH, "PART", 0,
     "ask nothing more for a task whose fastest correct kernel reaches this part of the floor: 0.9", 0},
    {"patience", KEY_PATIENCE, "N", 0,
     "ask nothing more for a task after N requests in a row without the first correct kernel or one 2 % faster", 0},
    {0},
};
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .children = cli_judge_child,
    .args_doc = "TASK|SUITE...",
    .doc = "Has language models write kernels, and judges them.\vEvery prompt, reply and verdict is in the store. Run "
           "the same command again to go on after Ctrl-C or an error: what is paid for is not asked again.",
};

// --- tasks

static bool has_task(const struct make *m, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(m->tasks[i].name, name) == 0)
      return true;
  return false;
}

// One that a suite and a name have both given is made once.
static enum assay_status add_task(struct make *m, const char *path, size_t *n, size_t *capacity,
                                  struct assay_error *err) {
  struct task t;
  enum assay_status status = task_read(path, m->judging.options.as_published, &t, err);
  if (status)
    return status;
  if (has_task(m, *n, t.name)) {
    task_release(&t);
    return ASSAY_OK;
  }
  if (*n == *capacity) {
    struct engine_task *more = arena_grow(&m->arena, m->tasks, *n, capacity, sizeof *more);
    m->tasks = more ? more : m->tasks;
    status = more ? ASSAY_OK : error_nomem(err, "a list of tasks");
  }
  if (!status) {
    struct engine_task *e = &m->tasks[(*n)++];
    *e = (struct engine_task){arena_strdup(&m->arena, t.name), arena_strdup(&m->arena, path)};
    status = e->name && e->path ? ASSAY_OK : error_nomem(err, "a list of tasks");
  }
  task_release(&t);
  return status;
}

static enum assay_status list_tasks(struct make *m, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  size_t n = 0, capacity = 0;
  for (int i = 0; i < m->n_arguments && !status; i++) {
    char **paths = NULL, *path = NULL;
    int count = 0;
    if (access(m->arguments[i], F_OK) == 0) {
      status = task_find(m->judging.paths.tasks, m->arguments[i], &path, err);
      status = status ? status : add_task(m, path, &n, &capacity, err);
      base_free(path);
      continue;
    }
    status = task_list(m->judging.paths.tasks, m->arguments[i], &paths, &count, err);
    for (int k = 0; k < count && !status; k++)
      status = add_task(m, paths[k], &n, &capacity, err);
    if (paths)
      task_list_release(paths, count);
  }
  m->engine.tasks = m->tasks;
  m->engine.n_tasks = (int)n;
  return status;
}

// --- what the options mean

// Model i is asked at endpoint i, or all at the only one; without names each endpoint is a model of its own.
static enum assay_status pair_models(struct make *m, struct assay_error *err) {
  int n = m->n_names ? m->n_names : m->n_endpoints;
  if (m->n_names && m->n_endpoints > 1 && m->n_endpoints != m->n_names)
    return error_set(err, ASSAY_ERR_USAGE, "%d --model and %d --endpoint: give one endpoint, or one for each model",
                     m->n_names, m->n_endpoints);
  m->n_given = m->n_endpoints;
  for (; m->n_endpoints < n; m->n_endpoints++) { // what a server refuses, and its limits, are of one model
    m->endpoints[m->n_endpoints] = m->endpoints[0];
    m->more[m->n_endpoints] = m->more[0];
    json_incref(m->more[0].given);
  }
  for (int i = 0; i < n; i++) {
    const char *name = m->n_names ? m->model_names[i] : n > 1 ? m->endpoints[i].url : "";
    if (!m->n_names && strncmp(m->endpoints[i].url, "exec:", 5) != 0)
      return error_set(err, ASSAY_ERR_USAGE, "%s serves models by name: say which one with --model",
                       m->endpoints[i].url);
    m->models[i] = (struct engine_model){.name = name, .endpoint = i};
  }
  m->engine.models = m->models;
  m->engine.settings.n_models = n;
  return ASSAY_OK;
}

static enum assay_status choose_form(struct make *m, struct assay_error *err) {
  const char *device = m->judging.device ? m->judging.device : cli_has_nvidia() ? "cuda" : "cpu";
  enum assay_status status = m->form ? answer_form_by_name(m->form, &m->engine.form, err)
                                     : answer_form_of_device(device, &m->engine.form, err);
  const struct form *form;
  if (!status)
    status = cli_form_of(m->engine.form->ending, m->judging.device, &form, err);
  if (status)
    return status;
  if (m->judging.device && strcmp(form->device->name, m->judging.device) != 0)
    return error_set(err, ASSAY_ERR_USAGE, "kernels in the form %s are for %s, not for the device %s",
                     m->engine.form->name, form->device->name, m->judging.device);
  m->judging.options.device = form->device->name;
  m->judging.options.peaks = cli_device(&m->judging, form->device)->peaks;
  return ASSAY_OK;
}

static enum assay_status name_run(struct make *m, struct assay_error *err) {
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
static enum assay_status make_folder(struct make *m, struct assay_error *err) {
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

static enum assay_status keep_settings(struct make *m, struct assay_error *err) {
  char hash[HASH_HEX_BYTES], *before = NULL;
  struct buf all = {0};
  enum assay_status status = template_gather(m->engine.prompts, &all, err);
  if (status)
    return status;
  hash_sha256_hex(buf_str(&all), all.len, hash);
  buf_release(&all);
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

// --field, as the client takes it.
static enum assay_status write_fields(struct make *m, struct assay_error *err) {
  for (int i = 0; i < m->n_endpoints; i++) {
    if (!m->more[i].given)
      continue;
    if (strncmp(m->endpoints[i].url, "exec:", 5) == 0)
      return error_set(err, ASSAY_ERR_USAGE, "--field is for servers: a program takes its settings in its command");
    m->endpoints[i].fields = m->more[i].fields = json_dumps(m->more[i].given, JSON_SORT_KEYS);
    if (!m->more[i].fields)
      return error_nomem(err, "the fields of requests");
  }
  return ASSAY_OK;
}

static void fill_defaults(struct make *m) {
  struct engine_options *e = &m->engine;
  const struct method *method = e->settings.method;
  bool programs = true;
  for (int i = 0; i < m->n_endpoints; i++)
    programs = programs && strncmp(m->endpoints[i].url, "exec:", 5) == 0;
  e->settings.samples = e->settings.samples ? e->settings.samples : method->samples;
  e->settings.turns = e->settings.turns ? e->settings.turns : method->turns;
  m->client.parallel = m->parallel ? m->parallel : programs ? 1 : 4;
  // A program may need the processors that a kernel is timed on: it does not run then, unless --parallel asks for it.
  e->ahead = programs ? m->client.parallel : 2 * m->client.parallel;
  e->prompts = m->prompts;
  e->store = m->store;
  e->judging = &m->judging.options;
  e->judge = make_judge;
  e->progress = make_show;
  e->judge_arg = e->progress_arg = m;
  e->stop = &m->interrupt.stop;
}

static enum assay_status prepare(struct make *m, struct assay_error *err) {
  struct engine_options *e = &m->engine;
  enum assay_status status = method_by_name(m->method ? m->method : "sample", &e->settings.method, err);
  if (!status)
    status = feedback_parse(m->feedback ? m->feedback : "performance", &e->rungs, err);
  if (!status)
    status = pair_models(m, err);
  if (!status)
    status = write_fields(m, err);
  if (!status)
    status = make_find_keys(m, err);
  if (!status)
    status = make_find_prices(m, err);
  for (int i = 0; i < m->n_endpoints && !status; i++)
    status = model_endpoint_check(&m->endpoints[i], err);
  if (!status)
    status = choose_form(m, err);
  if (!status)
    status = list_tasks(m, err);
  if (!status)
    status = name_run(m, err);
  if (!status)
    fill_defaults(m);
  if (!status && e->settings.method != &method_sample && e->settings.samples > METHOD_MOST_ROUND)
    status = error_set(err, ASSAY_ERR_USAGE, "at most %d trajectories of a task: --attempts %d is too many",
                       METHOD_MOST_ROUND, e->settings.samples);
  return status;
}

static int run(struct make *m, struct assay_error *err) {
  struct engine_summary summary = {0};
  m->client.endpoints = m->endpoints;
  m->client.n_endpoints = m->n_endpoints;
  m->client.environment = environ;
  enum assay_status status = make_check_device(m, err);
  if (!status)
    status = make_folder(m, err);
  if (!status)
    status = keep_settings(m, err);
  if (!status)
    status = cli_interrupt_watch(&m->interrupt, err);
  make_recall_refused(m);
  if (!status)
    status = model_client_open(&m->client, &m->engine.client, err);
  if (status)
    return cli_fail(err);
  status = engine_run(&m->engine, &summary, err);
  make_live_end(m);
  int code = make_print(m, &summary);
  if (m->interrupt.stop && code != CLI_ENVIRONMENT)
    code = CLI_INTERRUPTED;
  if (status)
    code = cli_fail(err);
  engine_summary_release(&summary);
  make_keep_refused(m);
  model_client_close(m->engine.client);
  return code;
}

static enum assay_status replay(struct make *m, struct assay_error *err) {
  int64_t steps = 0;
  enum assay_status status = keep_settings(m, err);
  if (!status)
    status = engine_replay(&m->engine, &steps, err);
  if (!status)
    printf("run \"%s\": %lld steps came out as they are stored\n", m->engine.run, (long long)steps);
  return status;
}

int cli_make(int argc, char **argv) {
  static struct make m; // large
  struct assay_error err = {0};
  model_client_defaults(&m.client);
  m.engine.settings.temperature = NAN;
  m.engine.max_tokens = 16384;
  m.engine.finals = true;
  m.interrupt.finishing = "what is under way";
  struct cli_judging *j = &m.judging;
  if (cli_judging_init(j, &err) != ASSAY_OK)
    return cli_fail(&err);
  snprintf(m.prompts, sizeof m.prompts, "%s", j->paths.prompts);
  snprintf(m.prices_path, sizeof m.prices_path, "%s", j->paths.prices);
  cli_argv_check(&argp, argc, argv);
  argp_parse(&argp, argc, argv, 0, NULL, &m);
  if (store_open(j->paths.store, &m.store, &err) != ASSAY_OK)
    return cli_fail(&err);
  cli_judging_finish(j, m.store);
  enum assay_status status = prepare(&m, &err);
  int code = CLI_PASS;
  if (!status && (m.dry_run || m.replay))
    status = m.dry_run ? make_dry_run(&m, &err) : replay(&m, &err);
  else if (!status)
    code = run(&m, &err);
  code = status ? cli_fail(&err) : code;
  make_forget_keys(&m);
  model_prices_release(&m.prices);
  cli_judging_close(j);
  store_close(m.store);
  arena_release(&m.arena);
  return code;
}
