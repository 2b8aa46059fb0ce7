// assay plan show|check|export: launch plans as files.
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cli/cli.h"
#include "plan/plan.h"

enum { KEY_JSON = 6000, KEY_TARGET, KEY_TO, KEY_NAME };

struct arguments {
  const char *file, *target, *folder, *name;
  bool json;
};

static error_t parse(int key, char *arg, struct argp_state *state) {
  struct arguments *a = state->input;
  switch (key) {
  case KEY_JSON:
    a->json = true;
    return 0;
  case KEY_TARGET:
    a->target = arg;
    return 0;
  case KEY_TO:
    a->folder = arg;
    return 0;
  case KEY_NAME:
    a->name = arg;
    return 0;
  case ARGP_KEY_ARG:
    cli_take_argument(state, "FILE", arg, &a->file);
    return 0;
  case ARGP_KEY_NO_ARGS:
    argp_usage(state);
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

// A plan that is wrong is an answer, not a failure of the machine.
static int answer(enum assay_status status, const struct assay_error *err) {
  bool of_plan = status == ASSAY_ERR_INVALID || status == ASSAY_ERR_SYNTAX || status == ASSAY_ERR_LIMIT;
  int code = status ? cli_fail(err) : CLI_PASS;
  return of_plan ? CLI_FAIL : code;
}

static enum assay_status check(const struct plan *p, const char *target, struct assay_error *err) {
  struct plan_limits limits = {0};
  if (target || strcmp(p->device, "cuda") == 0)
    plan_limits_of_target(target ? target : p->target, &limits);
  return plan_check(p, &limits, NULL, err);
}

// --- show ------------------------------------------------------------------------------------------------------------

static enum assay_status show(const struct arguments *a, const struct plan *p, struct assay_error *err) {
  struct buf page = {0};
  enum assay_status status = a->json ? plan_print_json(p, &page, err) : plan_print(p, &page, err);
  if (!status)
    fputs(buf_str(&page), stdout);
  buf_release(&page);
  return status;
}

static const struct argp_option show_options[] = {
    {"json", KEY_JSON, 0, 0, "print the plan as JSON, as plans are stored", 0},
    {0},
};

// --- check -----------------------------------------------------------------------------------------------------------

static enum assay_status check_file(const struct arguments *a, const struct plan *p, struct assay_error *err) {
  if (a->target && strncmp(a->target, "sm_", 3) != 0)
    return error_set(err, ASSAY_ERR_USAGE, "--target %s: say sm_90 or the like", a->target);
  enum assay_status status = check(p, a->target, err);
  if (status)
    return error_prefix(err, status, "%s: ", a->file);
  printf("%s: ok: %d module%s, %d buffer%s, %d step%s\n", a->file, p->n_modules, p->n_modules == 1 ? "" : "s",
         p->n_buffers, p->n_buffers == 1 ? "" : "s", p->n_steps, p->n_steps == 1 ? "" : "s");
  return ASSAY_OK;
}

static const struct argp_option check_options[] = {
    {"target", KEY_TARGET, "sm_NN", 0, "the device it is to run on (default: the plan's own target)", 0},
    {0},
};

// --- export ----------------------------------------------------------------------------------------------------------

// "softmax" of "plans/softmax.plan.json".
static void default_name(const char *file, char name[64]) {
  const char *slash = strrchr(file, '/');
  snprintf(name, 64, "%s", slash ? slash + 1 : file);
  name[strcspn(name, ".")] = '\0';
}

static enum assay_status export_file(const struct arguments *a, const struct plan *p, struct assay_error *err) {
  char name[64];
  default_name(a->file, name);
  if (!a->folder)
    return error_set(err, ASSAY_ERR_USAGE, "where to? add --to DIR, the folder for the program and its files");
  enum assay_status status = check(p, NULL, err);
  if (status)
    return error_prefix(err, status, "%s: ", a->file);
  const char *chosen = a->name ? a->name : name;
  status = plan_export(p, a->folder, chosen, err);
  if (!status)
    printf("%s/%s.c; README.md beside it says how to build and run it\n", a->folder, chosen);
  return status;
}

static const struct argp_option export_options[] = {
    {"to", KEY_TO, "DIR", 0, "the folder for the program and its files; made when it is missing", 0},
    {"name", KEY_NAME, "NAME", 0, "what they are called (default: as FILE)", 0},
    {0},
};

// ---------------------------------------------------------------------------------------------------------------------

static const struct action {
  const char *name;
  enum assay_status (*run)(const struct arguments *a, const struct plan *p, struct assay_error *err);
  const struct argp_option *options;
  const char *text;
} actions[] = {
    {"show", show, show_options, "Shows a launch plan: modules and kernels, buffers, and every step as one line."},
    {"check", check_file, check_options, "Checks everything about a launch plan that needs no device."},
    {"export", export_file, export_options,
     "Writes a launch plan as a C program with its modules, which needs libcuda and nothing else."},
};

static void usage(FILE *to) {
  fprintf(to, "Usage: assay plan ACTION FILE [OPTION...]\n\nLaunch plans: the device work of a candidate, as data "
              "(docs/plans.md).\n\n");
  for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
    fprintf(to, "  %-8s %s\n", actions[i].name, actions[i].text);
  fprintf(to, "  %-8s %s\n  %-8s %s\n", "save", "Makes the plan of a candidate for a workload: save TASK FILE.",
          "replay", "Carries a plan out on its device and prints its time.");
  fprintf(to,
          "\n`assay plan ACTION --help` explains an action. Exit codes: 0 fine, 1 the plan is wrong, 2 wrong usage,\n"
          "3 the machine or a file is not as needed.\n");
}

static int run(const struct action *action, int argc, char **argv) {
  const struct argp argp = {.options = action->options, .parser = parse, .args_doc = "FILE", .doc = action->text};
  struct arguments a = {0};
  struct assay_error err = {0};
  struct plan p;
  char name[64];
  snprintf(name, sizeof name, "assay plan %s", action->name);
  argv[0] = name;
  argp_parse(&argp, argc, argv, 0, NULL, &a);
  enum assay_status status = plan_read(a.file, &p, &err);
  if (!status) {
    status = action->run(&a, &p, &err);
    plan_release(&p);
  }
  return answer(status, &err);
}

int cli_plan(int argc, char **argv) {
  if (argc < 2) {
    usage(stderr);
    return CLI_USAGE;
  }
  if (strcmp(argv[1], "--help") == 0) {
    usage(stdout);
    return CLI_PASS;
  }
  if (strcmp(argv[1], "save") == 0 || strcmp(argv[1], "replay") == 0) {
    bool save = argv[1][0] == 's';
    argv[1] = save ? "assay plan save" : "assay plan replay";
    return save ? cli_plan_save(argc - 1, argv + 1) : cli_plan_replay(argc - 1, argv + 1);
  }
  for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
    if (strcmp(argv[1], actions[i].name) == 0)
      return run(&actions[i], argc - 1, argv + 1);
  fprintf(stderr, "assay: there is no action %s; `assay plan --help` lists them\n", argv[1]);
  return CLI_USAGE;
}
