// SPDX-License-Identifier: Apache-2.0
#include "cli/config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/nearest.h"

enum { MOST_BYTES = 1 << 16 };
static const char name[] = "assay.conf";

struct key {
  const char *name;
  char *value;
  bool project;
};
#define KEY_ROW(key, of_project) {#key, c->key, of_project},
#define COUNT_KEY(key, of_project) +1
enum { KEYS = 0 CLI_CONFIG_KEYS(COUNT_KEY) };

struct place {
  const char *path;
  int line;
  bool project;
};

static char *trim(char *text) {
  text += strspn(text, " \t\r");
  for (size_t n = strlen(text); n > 0 && strchr(" \t\r", text[n - 1]);)
    text[--n] = '\0';
  return text;
}

// A path that is no absolute one, nor a mere name of a program, is meant from the file's folder.
static void set(const struct key *k, const struct place *p, const char *value) {
  const char *slash = strrchr(p->path, '/'), *home = getenv("HOME");
  if (value[0] == '~' && value[1] == '/' && home)
    snprintf(k->value, 4096, "%s%s", home, value + 1);
  else if (value[0] == '/' || (!k->project && !strchr(value, '/')))
    snprintf(k->value, 4096, "%s", value);
  else
    snprintf(k->value, 4096, "%.*s/%s", (int)(slash - p->path), p->path, value);
}

static enum assay_status take_line(struct cli_config *c, char *line, const struct place *p, struct assay_error *err) {
  const struct key keys[KEYS] = {CLI_CONFIG_KEYS(KEY_ROW)};
  char meant[64], *text = trim(line), *equals = strchr(text, '=');
  if (!*text || *text == '#')
    return ASSAY_OK;
  if (!equals)
    return error_set(err, ASSAY_ERR_SYNTAX, "%s:%d: write `key = path`, or a comment that begins with #", p->path,
                     p->line);
  *equals = '\0';
  text = trim(text);
  struct nearest near = {.word = text};
  for (int i = 0; i < KEYS; i++) {
    nearest_offer(&near, keys[i].name);
    if (strcmp(keys[i].name, text) != 0)
      continue;
    if (p->project && !keys[i].project)
      return error_set(err, ASSAY_ERR_SYNTAX,
                       "%s:%d: a project's file may not set %s, which names what is run: set it in "
                       "~/.config/assay/assay.conf",
                       p->path, p->line, text);
    set(&keys[i], p, trim(equals + 1));
    return ASSAY_OK;
  }
  return error_set(err, ASSAY_ERR_SYNTAX, "%s:%d: there is no setting %.60s%s (docs/environment.md lists them)",
                   p->path, p->line, text, nearest_text(&near, meant, sizeof meant));
}

static enum assay_status read_file(struct cli_config *c, const char *path, bool project, struct assay_error *err) {
  char *text = NULL, *line, *rest;
  size_t n = 0;
  struct place p = {.path = path, .project = project};
  if (access(path, F_OK) != 0)
    return ASSAY_OK;
  enum assay_status status = file_read(path, MOST_BYTES, &text, &n, err);
  for (rest = text; !status && (line = strsep(&rest, "\n"));) {
    p.line++;
    status = take_line(c, line, &p, err);
  }
  base_free(text);
  return status;
}

enum assay_status cli_config_read(struct cli_config *out, struct assay_error *err) {
  const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
  char path[8192], folder[4096];
  bool absolute = config && config[0] == '/';
  memset(out, 0, sizeof *out);
  enum assay_status status = ASSAY_OK;
  snprintf(path, sizeof path, "%s%s/assay/%s", absolute ? config : home ? home : "", absolute ? "" : "/.config", name);
  if (absolute || (home && home[0] == '/'))
    status = read_file(out, path, false, err);
  if (status || !getcwd(folder, sizeof folder))
    return status;
  for (;;) {
    char *slash = strrchr(folder, '/');
    snprintf(path, sizeof path, "%s/%s", slash == folder && !folder[1] ? "" : folder, name);
    if (access(path, F_OK) == 0)
      return read_file(out, path, true, err);
    if (!slash || !folder[1])
      return ASSAY_OK;
    slash[slash == folder] = '\0';
  }
}
