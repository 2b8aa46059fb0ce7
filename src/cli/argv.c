// SPDX-License-Identifier: Apache-2.0
#include "cli/argv.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/nearest.h"
#include "base/printable.h"
#include "cli/cli.h"

// A word that begins with "--", without its argument, and what was found of it.
struct word {
  const char *name;
  size_t n;
  int found; // options that it may stand for: abbreviations are fine
  bool takes;
  struct nearest near;
};

static void look(const struct argp *argp, struct word *w) {
  for (const struct argp_option *o = argp->options; o && (o->name || o->key || o->doc); o++) {
    if (!o->name)
      continue;
    if (strncmp(o->name, w->name, w->n) == 0) {
      w->found++;
      w->takes = o->arg && !(o->flags & OPTION_ARG_OPTIONAL);
    }
    nearest_offer(&w->near, o->name);
  }
  for (const struct argp_child *c = argp->children; c && c->argp; c++)
    look(c->argp, w);
}

static void look_for_help(struct word *w) { // which argp has by itself
  static const char *const names[] = {"help", "usage", "program-name", "HANG"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    w->found += strncmp(names[i], w->name, w->n) == 0;
  nearest_offer(&w->near, names[0]);
}

// Whether the option that a word names takes the next word.
static bool check(const struct argp *argp, const char *program, const char *text) {
  char name[64], shown[80];
  size_t n = strcspn(text + 2, "=");
  snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), text + 2);
  struct word w = {.name = name, .n = strlen(name), .near = {.word = name}};
  look(argp, &w);
  look_for_help(&w);
  if (w.found)
    return w.takes && text[2 + n] != '=';
  fprintf(stderr, "%s: there is no option --%s%s%s%s; `%s --help` lists them\n", program,
          printable_line(name, shown, sizeof shown), w.near.name ? "; did you mean --" : "",
          w.near.name ? w.near.name : "", w.near.name ? "?" : "", program);
  exit(CLI_USAGE);
}

static _Noreturn void is_a_file(const char *program, const char *word) {
  char shown[256];
  fprintf(stderr, "%s: a file whose name begins with a hyphen is given as ./%s\n", program,
          printable_line(word, shown, sizeof shown));
  exit(CLI_USAGE);
}

static ssize_t write_printable(void *cookie, const char *text, size_t n) {
  char *copy = base_strndup(text, n);
  (void)cookie;
  if (copy) {
    printable(copy);
    fputs(copy, stderr);
  }
  base_free(copy);
  return (ssize_t)n;
}

void cli_argv_errors(struct argp_state *state) {
  if (state->err_stream != stderr)
    return;
  FILE *to = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_printable});
  if (!to)
    return;
  setvbuf(to, NULL, _IOLBF, BUFSIZ);
  state->err_stream = to; // until the process ends, which is when argp has written to it
}

void cli_argv_check(const struct argp *argp, int argc, char **argv) {
  static char help[] = "--help";
  if (argc == 2 && strcmp(argv[1], CLI_DESCRIBE) == 0) {
    cli_describe(argv[0], argp);
    exit(CLI_PASS);
  }
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--") == 0)
      return;
    if (strcmp(argv[i], "-h") == 0)
      argv[i] = help;
    if (strcmp(argv[i], "-V") == 0) {
      puts("assay " ASSAY_VERSION);
      exit(CLI_PASS);
    }
    if (argv[i][0] == '-' && argv[i][1] && access(argv[i], F_OK) == 0)
      is_a_file(argv[0], argv[i]);
    if (strncmp(argv[i], "--", 2) == 0)
      i += check(argp, argv[0], argv[i]);
  }
}
