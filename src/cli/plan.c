// SPDX-License-Identifier: Apache-2.0
// assay plan ACTION: launch plans as files. show, check and export are here; save and replay have files of their own.
#include <argp.h>
#include <string.h>

#include "base/buf.h"
#include "base/nearest.h"
#include "base/printable.h"
#include "cli/argv.h"
#include "cli/judging.h"
#include "plan/plan.h"

enum { KEY_JSON = 6000, KEY_TARGET, KEY_TO, KEY_NAME, KEY_COLOR };

struct arguments {
  const char *file, *target, *folder, *name;
  bool json;
};

static error_t parse(int key, char *arg, struct argp_state *state) {
  struct arguments *a = state->input;
  switch (key) {
  case ARGP_KEY_INIT:
    cli_argv_errors(state);
    return 0;
  case KEY_JSON:
    a->json = true;
    return 0;
  case KEY_TARGET:
    a->target = arg;
    return 0;
  case KEY_COLOR:
    cli_take_color(state, arg);
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

// A wrong plan is an answer, not a failure of the machine.
static int answer(enum assay_status status, const struct assay_error *err) {
  bool of_plan = status == ASSAY_ERR_INVALID || status == ASSAY_ERR_SYNTAX || status == ASSAY_ERR_LIMIT;
  int code = status ? cli_fail(err) : CLI_PASS;
  return of_plan ? CLI_FAIL : code;
}

static enum assay_status check(const struct plan *p, const char *target, struct assay_error *err) {
  struct plan_limits limits = {0};
  if (target || p->device->dialect == PLAN_CUDA_LAUNCHES)
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
    CLI_COLOR_OPTION(KEY_COLOR),
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
    {"target", KEY_TARGET, "sm_NN", 0, "the GPU it is to run on (default: the plan's own target)", 0},
    CLI_COLOR_OPTION(KEY_COLOR),
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
    return error_set(err, ASSAY_ERR_USAGE, "say where to: --to DIR, the folder for the program and its files");
  enum assay_status status = check(p, NULL, err);
  if (status)
    return error_prefix(err, status, "%s: ", a->file);
  const char *chosen = a->name ? a->name : name;
  status = plan_export(p, a->folder, chosen, err);
  if (!status)
    printf("%s/%s.c; README.md next to it says how to build and run it\n", a->folder, chosen);
  return status;
}

static const struct argp_option export_options[] = {
    {"to", KEY_TO, "DIR", 0, "folder for the program and its files; made if missing", 0},
    {"name", KEY_NAME, "NAME", 0, "their name (default: as FILE)", 0},
    CLI_COLOR_OPTION(KEY_COLOR),
    {0},
};

// ---------------------------------------------------------------------------------------------------------------------

static const struct action {
  const char *name;
  int (*main)(int argc, char **argv); // has its own file and options; or NULL, and then:
  enum assay_status (*run)(const struct arguments *a, const struct plan *p, struct assay_error *err);
  const struct argp_option *options;
  const char *text;
} actions[] = {
    {.name = "show",
     .run = show,
     .options = show_options,
     .text = "Shows a launch plan: modules and kernels, buffers, and one line for every step."},
    {.name = "check",
     .run = check_file,
     .options = check_options,
     .text = "Checks all of a launch plan that can be checked without a device."},
    {.name = "export",
     .run = export_file,
     .options = export_options,
     .text = "Writes a launch plan as a C program with its modules; the program needs only libcuda."},
    {.name = "save",
     .main = cli_plan_save,
     .text = "Makes the plan of a candidate for a workload: assay plan save TASK FILE."},
    {.name = "replay", .main = cli_plan_replay, .text = "Runs a plan on its device and prints its time."},
};

static void usage(FILE *to) {
  fprintf(to, "Usage: assay plan ACTION FILE [OPTION...]\n\nLaunch plans: the device work of a candidate, as data "
              "(docs/plans.md).\n\n");
  for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
    fprintf(to, "  %-8s %s\n", actions[i].name, actions[i].text);
  fprintf(to,
          "\n`assay plan ACTION --help` explains an action. Exit codes: 0 fine, 1 the plan is wrong, 2 wrong usage,\n"
          "3 something is wrong with the machine or a file.\n");
}

static void describe(const char *program) {
  struct cli_word words[sizeof actions / sizeof *actions];
  for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
    words[i] = (struct cli_word){actions[i].name, actions[i].text};
  cli_describe_words(program, "ACTION FILE [OPTION...]", "Launch plans: the device work of a candidate, as data.",
                     "actions", words, sizeof words / sizeof *words);
}

static int run(const struct action *action, int argc, char **argv) {
  const struct argp argp = {.options = action->options, .parser = parse, .args_doc = "FILE", .doc = action->text};
  struct arguments a = {0};
  struct assay_error err = {0};
  struct plan p;
  cli_argv_check(&argp, argc, argv);
  argp_parse(&argp, argc, argv, 0, NULL, &a);
  enum assay_status status = plan_read(a.file, &p, &err);
  if (!status) {
    status = action->run(&a, &p, &err);
    plan_release(&p);
  }
  return answer(status, &err);
}

int cli_plan(int argc, char **argv) {
  char name[64], shown[80], meant[64];
  if (argc < 2) {
    usage(stderr);
    return CLI_USAGE;
  }
  struct nearest near = {.word = argv[1]};
  if (strcmp(argv[1], CLI_DESCRIBE) == 0) {
    describe(argv[0]);
    return CLI_PASS;
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
    usage(stdout);
    return CLI_PASS;
  }
  for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
    nearest_offer(&near, actions[i].name);
    if (strcmp(argv[1], actions[i].name) != 0)
      continue;
    snprintf(name, sizeof name, "assay plan %s", actions[i].name);
    argv[1] = name;
    return actions[i].main ? actions[i].main(argc - 1, argv + 1) : run(&actions[i], argc - 1, argv + 1);
  }
  fprintf(stderr, "assay: there is no action %s%s; `assay plan --help` lists them\n",
          printable_line(argv[1], shown, sizeof shown), nearest_text(&near, meant, sizeof meant));
  return CLI_USAGE;
}
