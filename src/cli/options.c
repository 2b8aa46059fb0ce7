// SPDX-License-Identifier: Apache-2.0
// The options of a judgement. One row an option: how it is parsed and how the command that repeats the judgement prints
// it both come from the row, so an option cannot be missing from that command.
#include <argp.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/choice.h"
#include "cli/judging.h"
#include "judge/form.h"
#include "task/task.h"
#include "toolchain/program.h"

// What an option is in C: the type of its field, and how it is written.
enum kind {
  OPTION_ON,     // bool, set by an option without argument
  OPTION_OFF,    // bool, cleared by one
  OPTION_TEXT,   // const char *, any text
  OPTION_NAME,   // const char *, a name that `known` knows
  OPTION_INDEX,  // enum, the index of one of `choices`
  OPTION_INT,    // int
  OPTION_INT64,  // int64_t, `unit` times the number
  OPTION_UINT64, // uint64_t
  OPTION_SIZE,   // size_t, `unit` times the number
  OPTION_LIST,   // struct cli_list, `high` texts at most
};

// When the repeat command has it. An option whose row says nothing is there whenever it is not as by default.
enum repeat { REPEAT_CHANGED, REPEAT_ALWAYS, REPEAT_NEVER };

struct option_row {
  const char *name;
  enum kind kind;
  enum repeat repeat;
  size_t field; // its offset in struct cli_judging
  long long low, high, unit;
  const char *const *choices;                                           // of OPTION_INDEX; NULL-terminated
  enum assay_status (*known)(const char *arg, struct assay_error *err); // whether a text is one that it takes; or NULL
  void (*then)(struct cli_judging *j);                                  // what else follows from it; or NULL
};

static const char *const rules[] = {[ASSAY_RULE_CONTRACT] = "contract", [ASSAY_RULE_ALLCLOSE] = "allclose", NULL};

static const char *const shapes[] = {[ASSAY_SHAPES_GENERAL] = "general", [ASSAY_SHAPES_JUDGED] = "judged", NULL};

static enum assay_status known_device(const char *name, struct assay_error *err) {
  const struct plan_device *ignored;
  return plan_device_parse(name, &ignored, err);
}

static enum assay_status known_toolchain(const char *name, struct assay_error *err) {
  const struct toolchain *ignored;
  return toolchain_parse(name, &ignored, err);
}

static enum assay_status known_mode(const char *name, struct assay_error *err) {
  enum form_mode ignored;
  return form_mode_parse(name, &ignored, err);
}

enum assay_status cli_contract_check(const char *name, struct assay_error *err) {
  int i = choice_of("a contract that is not a task's own is", task_other_contracts, name, err);
  return i < 0 ? err->status : ASSAY_OK;
}

static enum assay_status known_baseline(const char *name, struct assay_error *err) {
  return cli_baseline_check(name, true, err);
}

// Fewer samples than the least that the stopping rule asks for: these are all, and half as many with warm caches.
static void fit_samples(struct cli_judging *j) {
  struct assay_judge_options *o = &j->options, usual;
  assay_judge_defaults(&usual);
  o->min_samples = usual.min_samples < o->max_samples ? usual.min_samples : o->max_samples;
  o->hot_samples = usual.hot_samples < o->max_samples / 2 ? usual.hot_samples : o->max_samples / 2;
}

#define OF_JUDGING(name) .field = offsetof(struct cli_judging, name)
#define OF_OPTIONS(name) .field = offsetof(struct cli_judging, options.name)
#define FROM_TO(least, most) .low = (least), .high = (most)

// X(key, name, argument, help, the rest of its row), in the order of the repeat command.
#define OPTIONS(X)                                                                                                     \
  X(WORKLOAD, "workload", "NAME|DIMS",                                                                                 \
    "small (default), full, or sizes such as \"M=64, N=3\"; judge and bench also take several: each (the task's "      \
    "sweep), or a pattern such as 'size*'",                                                                            \
    .kind = OPTION_TEXT, .repeat = REPEAT_ALWAYS, OF_OPTIONS(workload))                                                \
  X(SEED, "seed", "N", "draw the checked calls' inputs with this seed (default: a fresh one)", .kind = OPTION_UINT64,  \
    .repeat = REPEAT_ALWAYS, OF_OPTIONS(seed), FROM_TO(1, INT64_MAX))                                                  \
  X(SECRET, "secret", "N",                                                                                             \
    "repeat a judgement, with its seed and this secret: the shapes that it drew, the timed calls' inputs, which of "   \
    "them were verified (default: always a fresh one)",                                                                \
    .kind = OPTION_UINT64, .repeat = REPEAT_ALWAYS, OF_OPTIONS(secret), FROM_TO(1, INT64_MAX))                         \
  X(THREADS, "threads", "N", "CPU threads for the kernel and the oracle (default: all CPUs)", .kind = OPTION_INT,      \
    .repeat = REPEAT_ALWAYS, OF_OPTIONS(threads), FROM_TO(1, ASSAY_MOST_THREADS))                                      \
  X(DEVICE, "device", "NAME", "only candidates for: cpu (.c, .py), cuda (.cu, .py, .library) or opencl (.cl)",         \
    .kind = OPTION_NAME, OF_JUDGING(device), .known = known_device)                                                    \
  X(TOOLCHAIN, "toolchain", "NAME",                                                                                    \
    "for .cu: nvrtc (launch lines) or nvcc (host code); default: by what the file contains", .kind = OPTION_NAME,      \
    OF_OPTIONS(toolchain), .known = known_toolchain)                                                                   \
  X(DEVICE_INDEX, "device-index", "N", "which GPU, or which OpenCL device (default 0)", .kind = OPTION_INT,            \
    OF_OPTIONS(device_index), FROM_TO(0, 63))                                                                          \
  X(MODE, "mode", "NAME",                                                                                              \
    "for .py on cuda: plan (recorded, then replayed by trusted code) or process (runs as it is); default: a plan if "  \
    "there can be one, else a process",                                                                                \
    .kind = OPTION_NAME, OF_OPTIONS(mode), .known = known_mode)                                                        \
  X(COMPILER, "compiler", "NAME", "gcc (default), clang or a path; nvcc for CUDA with host code", .kind = OPTION_TEXT, \
    OF_OPTIONS(compiler))                                                                                              \
  X(PUBLISHED, "as-published", NULL, "judge the task as the suite published it, not its repaired form",                \
    .kind = OPTION_ON, OF_OPTIONS(as_published))                                                                       \
  X(WEIGHTS, "weights", "FILE.safetensors",                                                                            \
    "the task's weights, by name, in the place of drawn ones, with the workload whose shapes they have; an index of "  \
    "several files, or their folder",                                                                                  \
    .kind = OPTION_TEXT, OF_OPTIONS(weights))                                                                          \
  X(CONTRACT, "contract", "NAME",                                                                                      \
    "judge tasks of fp32 under the contract tf32, in which factors of products may be rounded to TF32 (as PyTorch "    \
    "does "                                                                                                            \
    "in convolutions); tables and scores keep such verdicts apart",                                                    \
    .kind = OPTION_NAME, OF_OPTIONS(contract), .known = cli_contract_check)                                            \
  X(RULE, "rule", "NAME", "the rule that decides: contract (default) or allclose; both are always computed",           \
    .kind = OPTION_INDEX, OF_OPTIONS(rule), .choices = rules)                                                          \
  X(SHAPES, "shapes", "NAME",                                                                                          \
    "where it must be right: general (default: wherever it is asked) or judged (at --workload alone; the verdict "     \
    "says what happens elsewhere, and scores keep it apart)",                                                          \
    .kind = OPTION_INDEX, OF_OPTIONS(shapes), .choices = shapes)                                                       \
  X(NO_PROBES, "no-probes", NULL, "no ragged shapes and no probes", .kind = OPTION_OFF, OF_OPTIONS(probes))            \
  X(HOLD_OUT, "hold-out", "N",                                                                                         \
    "leave one probe and one kind of drawn shape to a later judgement; which ones follows from N",                     \
    .kind = OPTION_UINT64, OF_OPTIONS(hold_out), FROM_TO(1, INT64_MAX))                                                \
  X(NO_TIMING, "no-timing", NULL, "only check, take no times", .kind = OPTION_OFF, OF_OPTIONS(timing))                 \
  X(CHECKS, "checks", "N", "checked draws at the judged sizes (default 3): one as the task declares, then probes",     \
    .kind = OPTION_INT, OF_OPTIONS(declared_checks), FROM_TO(1, 30))                                                   \
  X(SAMPLES, "samples", "N", "at most this many timed calls (default 200); with warm caches half as many, at most 15", \
    .kind = OPTION_INT, OF_OPTIONS(max_samples), FROM_TO(10, 100000), .then = fit_samples)                             \
  X(VERIFIED, "verified", "N",                                                                                         \
    "timed calls whose results are checked too, chosen in secret (default 10, the minimum)", .kind = OPTION_INT,       \
    OF_OPTIONS(verified_calls), FROM_TO(10, 1000))                                                                     \
  X(TIMEOUT, "timeout", "SECONDS", "for one call of the kernel (default 10)", .kind = OPTION_INT64,                    \
    OF_OPTIONS(call_timeout_ns), FROM_TO(1, 86400), .unit = 1000000000)                                                \
  X(BUDGET, "budget", "SECONDS",                                                                                       \
    "for all that a candidate takes: building, recording, loading and calling it (default 900)", .kind = OPTION_INT64, \
    OF_OPTIONS(budget_ns), FROM_TO(1, 864000), .unit = 1000000000)                                                     \
  X(MEMORY, "memory", "MIB", "for the kernel in addition to its buffers (default 1024)", .kind = OPTION_SIZE,          \
    OF_OPTIONS(runner_memory_bytes), FROM_TO(16, 1 << 24), .unit = 1 << 20)                                            \
  X(DEFINE, "define", "MACRO[=VALUE]", "define a macro for the compiler (also -DMACRO); may be repeated",              \
    .kind = OPTION_LIST, OF_JUDGING(defines), .high = CLI_MOST_DEFINES)                                                \
  X(BASELINE, "baseline", "NAME|FILE",                                                                                 \
    "compare the candidate's time with this one's, calls of both in turn: torch.eager, torch.eager.benchmark, "        \
    "torch.compile, torch.compile.max-autotune, library, or another candidate's file; may be repeated",                \
    .kind = OPTION_LIST, OF_JUDGING(baselines), .high = CLI_MOST_BASELINES, .known = known_baseline)

// Of commands that do without a store: what others make of it is what they are for.
#define OPTION_OF_STORE(X)                                                                                             \
  X(NO_STORE, "no-store", NULL, "do not store the verdict", .kind = OPTION_ON, .repeat = REPEAT_NEVER,                 \
    OF_JUDGING(no_store))

enum { FIRST_KEY = 1000, SHORT_DEFINE = 'D' };

enum {
#define OPTION_KEY(key, ...) INDEX_##key,
  OPTIONS(OPTION_KEY) OPTION_OF_STORE(OPTION_KEY)
#undef OPTION_KEY
      N_OPTIONS
};

static const struct option_row rows[] = {
#define OPTION_ROW(key, its_name, argument, help, ...) [INDEX_##key] = {.name = (its_name), __VA_ARGS__},
    OPTIONS(OPTION_ROW) OPTION_OF_STORE(OPTION_ROW)
#undef OPTION_ROW
};

static const struct argp_option options[] = {
#define OPTION_ARGP(key, name, argument, help, ...) {name, FIRST_KEY + INDEX_##key, argument, 0, help, 0},
    OPTIONS(OPTION_ARGP){NULL, SHORT_DEFINE, "MACRO[=VALUE]", 0, "--define, as compilers and our tables write it", 0},
    {0},
};

static const struct argp_option option_of_store[] = {
    OPTION_OF_STORE(OPTION_ARGP){0},
#undef OPTION_ARGP
};

// --- parsing

static error_t take_number(const struct argp_state *state, const struct option_row *row, const char *arg, void *field) {
  char *end;
  errno = 0;
  long long n = strtoll(arg, &end, 10);
  if (errno || end == arg || *end || n < row->low || n > row->high) {
    argp_error(state, "--%s takes a whole number from %lld to %lld, not '%s'", row->name, row->low, row->high, arg);
    return EINVAL;
  }
  n *= row->unit ? row->unit : 1;
  if (row->kind == OPTION_INT)
    *(int *)field = (int)n;
  else if (row->kind == OPTION_INT64)
    *(int64_t *)field = n;
  else if (row->kind == OPTION_UINT64)
    *(uint64_t *)field = (uint64_t)n;
  else
    *(size_t *)field = (size_t)n;
  return 0;
}

static error_t take_choice(const struct argp_state *state, const struct option_row *row, const char *arg, void *field) {
  char what[64];
  snprintf(what, sizeof what, "--%s takes", row->name);
  struct assay_error err = {0};
  int found = choice_of(what, row->choices, arg, &err);
  if (found < 0) {
    argp_error(state, "%s", err.message);
    return EINVAL;
  }
  *(int *)field = found;
  return 0;
}

static error_t take_item(const struct argp_state *state, const struct option_row *row, const char *arg, void *field) {
  struct cli_list *list = field;
  if (list->n == row->high) {
    argp_error(state, "at most %lld --%s", row->high, row->name);
    return EINVAL;
  }
  list->items[list->n++] = arg;
  return 0;
}

static error_t take(const struct argp_state *state, const struct option_row *row, const char *arg, void *field) {
  switch (row->kind) {
  case OPTION_ON:
  case OPTION_OFF:
    *(bool *)field = row->kind == OPTION_ON;
    return 0;
  case OPTION_TEXT:
  case OPTION_NAME:
    *(const char **)field = arg;
    return 0;
  case OPTION_INDEX:
    return take_choice(state, row, arg, field);
  case OPTION_LIST:
    return take_item(state, row, arg, field);
  default:
    return take_number(state, row, arg, field);
  }
}

static error_t parse_judging(int key, char *arg, struct argp_state *state) {
  struct cli_judging *j = state->input;
  if (key == ARGP_KEY_INIT)
    state->child_inputs[0] = j;
  if (key == ARGP_KEY_END && j->baselines.n > 0 && !j->options.timing)
    argp_error(state, "--baseline compares times, and with --no-timing there are none: one of them");
  if (key == SHORT_DEFINE)
    key = FIRST_KEY + INDEX_DEFINE;
  if (key < FIRST_KEY || key >= FIRST_KEY + N_OPTIONS)
    return key == ARGP_KEY_INIT ? 0 : ARGP_ERR_UNKNOWN;
  const struct option_row *row = &rows[key - FIRST_KEY];
  struct assay_error err = {0};
  if (row->known && row->known(arg, &err) != ASSAY_OK) {
    argp_error(state, "--%s: %s", row->name, err.message);
    return EINVAL;
  }
  error_t error = take(state, row, arg, (char *)j + row->field);
  if (!error && row->then)
    row->then(j);
  return error;
}

static error_t parse_no_store(int key, char *arg, struct argp_state *state) {
  return key == FIRST_KEY + INDEX_NO_STORE ? parse_judging(key, arg, state) : ARGP_ERR_UNKNOWN;
}

static bool is_among(const char *word, const char *const *names) {
  while (*names && strcmp(*names, word) != 0)
    names++;
  return *names != NULL;
}

// The options whose being among `names` is `wanted`.
static const struct argp_child *choose(const char *const *names, bool wanted, const struct argp_child *common) {
  static struct argp_option some[N_OPTIONS + 2];
  static struct argp argp = {.options = some, .parser = parse_judging};
  static const struct argp_child child[] = {{&argp, 0, NULL, 0}, {0}};
  struct argp_option *next = some;
  for (const struct argp_option *o = options; o->name || o->key; o++)
    if (is_among(o->name ? o->name : rows[INDEX_DEFINE].name, names) == wanted)
      *next++ = *o;
  argp.children = common;
  return child;
}

const struct argp_child *cli_judge_some(const char *const *names, const struct argp_child *common) {
  return choose(names, true, common);
}

const struct argp_child *cli_judge_but(const char *const *names) {
  return choose(names, false, cli_common_child);
}

const struct argp cli_judge_argp = {.options = options, .parser = parse_judging, .children = cli_common_child};
const struct argp cli_no_store_argp = {.options = option_of_store, .parser = parse_no_store};

// --- the command that repeats

// Text as one word of a shell, and on one line: a name may have a line's end in it.
static void put_quoted(struct buf *b, const char *text) {
  buf_puts(b, "'");
  for (const char *c = text; *c; c++)
    if (*c == '\'')
      buf_puts(b, "'\\''");
    else if ((unsigned char)*c < 0x20 || *c == 0x7f)
      buf_printf(b, "'$'\\%03o''", (unsigned)(unsigned char)*c);
    else
      buf_append(b, c, 1);
  buf_puts(b, "'");
}

static long long number_of(const struct option_row *row, const void *field) {
  long long unit = row->unit ? row->unit : 1;
  switch (row->kind) {
  case OPTION_INT64:
    return *(const int64_t *)field / unit;
  case OPTION_UINT64:
    return (long long)*(const uint64_t *)field;
  case OPTION_SIZE:
    return (long long)(*(const size_t *)field / (size_t)unit);
  default:
    return *(const int *)field;
  }
}

static bool same_text(const char *a, const char *b) {
  return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_value(const struct option_row *row, const struct cli_judging *a, const struct cli_judging *b) {
  const void *x = (const char *)a + row->field, *y = (const char *)b + row->field;
  const struct cli_list *list = x, *other = y;
  switch (row->kind) {
  case OPTION_ON:
  case OPTION_OFF:
    return *(const bool *)x == *(const bool *)y;
  case OPTION_TEXT:
  case OPTION_NAME:
    return same_text(*(const char *const *)x, *(const char *const *)y);
  case OPTION_LIST:
    if (list->n != other->n)
      return false;
    for (int i = 0; i < list->n; i++)
      if (!same_text(list->items[i], other->items[i]))
        return false;
    return true;
  default:
    return number_of(row, x) == number_of(row, y);
  }
}

static void put_option(struct buf *b, const struct option_row *row, const void *field) {
  const struct cli_list *list = field;
  switch (row->kind) {
  case OPTION_ON:
  case OPTION_OFF:
    buf_printf(b, " --%s", row->name);
    break;
  case OPTION_TEXT:
    buf_printf(b, " --%s ", row->name);
    put_quoted(b, *(const char *const *)field);
    break;
  case OPTION_NAME:
    buf_printf(b, " --%s %s", row->name, *(const char *const *)field);
    break;
  case OPTION_INDEX:
    buf_printf(b, " --%s %s", row->name, row->choices[*(const int *)field]);
    break;
  case OPTION_LIST:
    for (int i = 0; i < list->n; i++) {
      buf_printf(b, " --%s ", row->name);
      put_quoted(b, list->items[i]);
    }
    break;
  default:
    buf_printf(b, " --%s %lld", row->name, number_of(row, field));
  }
}

const char *cli_judging_differ(const struct cli_judging *a, const struct cli_judging *b) {
  for (int i = 0; i < N_OPTIONS; i++)
    if (!same_value(&rows[i], a, b))
      return rows[i].name;
  return NULL;
}

// The compilers of a Python candidate's extensions are the environment's, so the command brings them.
static void put_settings(struct buf *b, const struct cli_judging *j, const char *candidate) {
  size_t n = strlen(candidate), ending = strlen(toolchain_python.ending);
  bool python = n > ending && strcmp(candidate + n - ending, toolchain_python.ending) == 0;
  for (int i = 0; python && j->paths.compiler_settings[i]; i++) {
    const char *setting = j->paths.compiler_settings[i], *value = strchr(setting, '=') + 1;
    buf_append(b, setting, (size_t)(value - setting));
    put_quoted(b, value);
    buf_puts(b, " ");
  }
}

char *cli_repeat_command(const struct cli_judging *j, const char *task, const char *candidate,
                         const struct assay_verdict *v) {
  struct cli_judging usual = {0}, now = *j;
  struct buf b = {0};
  assay_judge_defaults(&usual.options);
  now.options.seed = v->seed;
  now.options.secret = v->secret;
  put_settings(&b, j, candidate);
  buf_puts(&b, "assay judge ");
  put_quoted(&b, task);
  buf_puts(&b, " ");
  put_quoted(&b, candidate);
  if (j->tasks) { // a task's name may mean another one elsewhere
    buf_puts(&b, " --tasks ");
    put_quoted(&b, j->tasks);
  }
  for (int i = 0; i < N_OPTIONS; i++) {
    const struct option_row *row = &rows[i];
    if (row->repeat == REPEAT_ALWAYS || (row->repeat == REPEAT_CHANGED && !same_value(row, &now, &usual)))
      put_option(&b, row, (const char *)&now + row->field);
  }
  char *text = b.failed ? NULL : base_strndup(buf_str(&b), b.len);
  buf_release(&b);
  return text;
}
