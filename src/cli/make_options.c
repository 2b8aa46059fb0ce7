// SPDX-License-Identifier: Apache-2.0
// The command line of assay make.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/make.h"

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
  KEY_SERVER_WAIT,
  KEY_CALLS,
  KEY_TOKENS,
  KEY_SECONDS,
  KEY_DRY_RUN,
  KEY_REPLAY,
  KEY_FEED_BEST,
  KEY_METHOD_SEED,
  KEY_NO_FINAL,
  KEY_ASK_AGAIN,
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
  errno = 0;
  long long n = strtoll(arg, &end, 10);
  if (errno || *end || end == arg || n < low || n > high)
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
  case KEY_SERVER_WAIT:
    m->client.wait_ns = take_number(state, "server-wait", arg, 0, 86400) * 1000000000;
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
  case KEY_ASK_AGAIN:
    e->ask_again = true;
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
    {"ask-again", KEY_ASK_AGAIN, 0, 0,
     "ask again for what was given up in a task's last round, as its server had failed each time", 0},
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
    {"parallel", KEY_PARALLEL, "N", 0, "requests at once (default 1 for programs, else 4, or one for each model)", 0},
    {"reply-timeout", KEY_REPLY_TIMEOUT, "SECONDS", 0, "for one reply (default 600)", 0},
    {"server-wait", KEY_SERVER_WAIT, "SECONDS", 0,
     "how long a request waits in all for a server that is busy or still loads its model (default 300)", 0},
    {"budget-calls", KEY_CALLS, "N", 0, "ask no more than this, over the whole run", 0},
    {"budget-tokens", KEY_TOKENS, "N", 0, "likewise, of prompts and replies", 0},
    {"budget-usd", KEY_USD, "X", 0, "likewise, in dollars by the table of prices", 0},
    {"prices", KEY_PRICES, "FILE", 0, "the table of prices (default: found next to the program)", 0},
    {"budget-seconds", KEY_SECONDS, "N", 0, "ask nothing more where it would not be judged after so long", 0},
    {"budget-cpu-seconds", KEY_CPU, "X", 0, "likewise, of processor time for building and judging, over the whole run",
     0},
    {"budget-gpu-seconds", KEY_GPU, "X", 0, "likewise, of time on the GPU", 0},
    {"enough", KEY_ENOUGH, "PART", 0,
     "ask nothing more for a task whose fastest correct kernel reaches this part of the floor: 0.9", 0},
    {"patience", KEY_PATIENCE, "N", 0,
     "ask nothing more for a task after N requests in a row without the first correct kernel or one 2 % faster", 0},
    {0},
};
const struct argp make_argp = {
    .options = options,
    .parser = parse,
    .children = cli_judge_child,
    .args_doc = "TASK|SUITE...",
    .doc = "Has language models write kernels, and judges them.\vEvery prompt, reply and verdict is in the store. Run "
           "the same command again to go on after Ctrl-C or an error: what is paid for is not asked again.",
};
