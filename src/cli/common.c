// What commands share: where tasks and store are, and the beginning.
#include <argp.h>

#include "cli/cli.h"

enum { KEY_STORE = 500, KEY_TASKS, KEY_JSON };

static const struct argp_option options[] = {
    {"tasks", KEY_TASKS, "DIR", 0, "folder of the suites (default: found beside the program)", 0},
    {"store", KEY_STORE, "FILE", 0, "the store (default: $ASSAY_STORE or ~/.local/share/assay/assay.sqlite)", 0},
    {"json", KEY_JSON, 0, 0, "print JSON", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state) {
  struct cli_judging *j = state->input;
  switch (key) {
  case KEY_STORE:
    snprintf(j->paths.store, sizeof j->paths.store, "%s", arg);
    return 0;
  case KEY_TASKS:
    snprintf(j->paths.tasks, sizeof j->paths.tasks, "%s", arg);
    return 0;
  case KEY_JSON:
    j->json = true;
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

const struct argp cli_common_argp = {.options = options, .parser = parse};
const struct argp_child cli_common_child[] = {{&cli_common_argp, 0, NULL, 0}, {0}};
const struct argp_child cli_judge_child[] = {{&cli_judge_argp, 0, NULL, 0}, {0}};

void cli_take_argument(const struct argp_state *state, const char *what, const char *arg, const char **out) {
  if (*out)
    argp_error(state, "one %s only", what);
  *out = arg;
}

enum assay_status cli_begin(const struct argp *argp, int argc, char **argv, void *arguments, struct cli_judging *j,
                            struct assay_error *err) {
  struct cli_paths paths;
  enum assay_status status = cli_paths_find(&paths, err);
  if (status)
    return status;
  cli_judging_init(j, &paths);
  argp_parse(argp, argc, argv, 0, NULL, arguments);
  return ASSAY_OK;
}
