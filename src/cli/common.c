// SPDX-License-Identifier: Apache-2.0
// What all commands share: the options for tasks, store and JSON, parsing, and opening the store.
#include <argp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/choice.h"
#include "cli/argv.h"
#include "cli/cells.h"
#include "cli/judging.h"

enum { KEY_STORE = 500, KEY_TASKS, KEY_JSON, KEY_COLOR, KEY_PROGRESS };

#define TASKS                                                                                                          \
  { "tasks", KEY_TASKS, "DIR", 0, "folder of the suites (default: found next to the program)", 0 }
#define STORE                                                                                                          \
  { "store", KEY_STORE, "FILE", 0, "the store (default: $ASSAY_STORE or ~/.local/share/assay/assay.sqlite)", 0 }
#define JSON                                                                                                           \
  { "json", KEY_JSON, 0, 0, "print JSON", 0 }
#define COLOR CLI_COLOR_OPTION(KEY_COLOR)
#define PROGRESS                                                                                                       \
  {                                                                                                                    \
    "progress", KEY_PROGRESS, "FORM", 0,                                                                               \
        "on stderr: auto (default: a bar on a terminal, lines where $CI is set), bar, lines or none", 0                \
  }

// A command has those that do something in it.
static const struct argp_option all[] = {TASKS, STORE, JSON, COLOR, PROGRESS, {0}};
static const struct argp_option of_tasks[] = {TASKS, JSON, COLOR, {0}};
static const struct argp_option of_store[] = {STORE, JSON, COLOR, {0}};
static const struct argp_option of_both[] = {TASKS, STORE, JSON, COLOR, {0}};
static const struct argp_option of_server[] = {TASKS, STORE, COLOR, {0}};
static const struct argp_option of_plan[] = {TASKS, COLOR, {0}};
static const struct argp_option color_alone[] = {COLOR, {0}};

static const char *const forms[] = {[CLI_PROGRESS_AUTO] = "auto",
                                    [CLI_PROGRESS_BAR] = "bar",
                                    [CLI_PROGRESS_LINES] = "lines",
                                    [CLI_PROGRESS_NONE] = "none",
                                    NULL};

int cli_take_choice(const struct argp_state *state, const char *what, const char *const *names, const char *arg) {
  struct assay_error err = {0};
  int i = choice_of(what, names, arg, &err);
  if (i < 0)
    argp_error(state, "%s", err.message);
  return i < 0 ? 0 : i;
}

int cli_take_whole(const struct argp_state *state, const char *name, int least, int most, const char *arg) {
  char *end;
  long n = strtol(arg, &end, 10);
  if (end == arg || *end || n < least || n > most)
    argp_error(state, "--%s takes a whole number from %d to %d, not '%s'", name, least, most, arg);
  return (int)n;
}

enum cli_color cli_take_color(const struct argp_state *state, const char *arg) {
  static const char *const colors[] = {
      [CLI_COLOR_AUTO] = "auto", [CLI_COLOR_ALWAYS] = "always", [CLI_COLOR_NEVER] = "never", NULL};
  enum cli_color when = (enum cli_color)cli_take_choice(state, "--color takes", colors, arg);
  cells_color(when);
  return when;
}

static error_t parse(int key, char *arg, struct argp_state *state) {
  struct cli_judging *j = state->input;
  switch (key) {
  case ARGP_KEY_INIT:
    cli_argv_errors(state);
    return 0;
  case KEY_STORE:
    snprintf(j->paths.store, sizeof j->paths.store, "%s", arg);
    j->store_named = true;
    return 0;
  case KEY_TASKS:
    j->tasks = arg;
    snprintf(j->paths.tasks, sizeof j->paths.tasks, "%s", arg);
    return 0;
  case KEY_JSON:
    j->json = true;
    return 0;
  case KEY_COLOR:
    j->color = cli_take_color(state, arg);
    return 0;
  case KEY_PROGRESS:
    j->progress = (enum cli_progress)cli_take_choice(state, "--progress takes", forms, arg);
    cli_progress_in(j->progress);
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

const struct argp cli_common_argp = {.options = all, .parser = parse};
#define CHILD(name, rows)                                                                                              \
  static const struct argp name##_argp = {.options = (rows), .parser = parse};                                         \
  const struct argp_child name##_child[] = {{&name##_argp, 0, NULL, 0}, {0}}
CHILD(cli_tasks, of_tasks);
CHILD(cli_store, of_store);
CHILD(cli_both, of_both);
CHILD(cli_server, of_server);
CHILD(cli_plan, of_plan);
CHILD(cli_color, color_alone);
const struct argp_child cli_common_child[] = {{&cli_common_argp, 0, NULL, 0}, {0}};
const struct argp_child cli_judge_child[] = {{&cli_judge_argp, 0, NULL, 0}, {0}};

void cli_take_argument(const struct argp_state *state, const char *what, const char *arg, const char **out) {
  if (*out)
    argp_error(state, "one %s only, not '%s' and '%s'", what, *out, arg);
  *out = arg;
}

error_t cli_parse_words(int key, char *arg, struct argp_state *state) {
  struct cli_words *w = state->input;
  if (key == ARGP_KEY_INIT)
    state->child_inputs[0] = &w->judging;
  else if (key == CLI_KEY_COMPACT)
    w->compact = true;
  else if (key == CLI_KEY_YES)
    w->yes = true;
  else if (key == ARGP_KEY_ARG && w->n == CLI_MOST_WORDS)
    argp_error(state, "at most %d names", CLI_MOST_WORDS);
  else if (key == ARGP_KEY_ARG)
    w->items[w->n++] = arg;
  else
    return ARGP_ERR_UNKNOWN;
  return 0;
}

void cli_say_no_runs(const char *store) {
  cells_printf(stdout, "no run is in %s yet: `assay bench SUITE --from DIR` makes one\n", store);
}

bool cli_confirm(bool yes, const char *question) {
  char answer[16] = "";
  if (yes || !isatty(STDIN_FILENO))
    return yes;
  fprintf(stderr, "assay: %s [y/N] ", question);
  return fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

enum assay_status cli_begin(const struct argp *argp, int argc, char **argv, void *arguments, struct cli_judging *j,
                            struct assay_error *err) {
  enum assay_status status = cli_judging_init(j, err);
  if (status)
    return status;
  cli_argv_check(argp, argc, argv);
  argp_parse(argp, argc, argv, 0, NULL, arguments);
  return ASSAY_OK;
}

struct store *cli_store_open(const struct cli_judging *j) {
  struct store *s = NULL;
  struct assay_error err = {0};
  if (j->no_store || store_open(j->paths.store, &s, &err) == ASSAY_OK)
    return s;
  fprintf(stderr, "assay: %s\nassay: verdicts will not be stored (use --no-store if that is intended)\n", err.message);
  return NULL;
}

struct store *cli_store_read(const struct cli_judging *j) {
  struct store *s = NULL;
  struct assay_error err = {0};
  if (j->no_store || store_open_existing(j->paths.store, &s, &err) == ASSAY_OK)
    return s;
  if (err.status != ASSAY_ERR_NOT_FOUND || j->store_named)
    fprintf(stderr, "assay: %s\nassay: so there are no floors\n", err.message);
  return NULL;
}
