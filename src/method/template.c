// SPDX-License-Identifier: Apache-2.0
#include "method/template.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/utf8.h"

enum { MOST_BYTES = 1 << 20, MOST_DEPTH = 8 };

struct rendering {
  const struct rendering *outer; // that takes it in; NULL: none
  const char *folder, *name, *text;
  const struct template_value *values;
  int n_values, depth;
  struct buf *out;
  struct assay_error *err;
};

static int line_of(const struct rendering *r, const char *at) {
  int line = 1;
  for (const char *c = r->text; c < at; c++)
    line += *c == '\n';
  return line;
}

static enum assay_status syntax(const struct rendering *r, const char *at, const char *what, const char *name, int n) {
  return error_set(r->err, ASSAY_ERR_SYNTAX, "%s/%s.txt, line %d: %s {{%.*s}}", r->folder, r->name, line_of(r, at),
                   what, n, name);
}

// The names of the values, for a message.
static enum assay_status unknown_name(const struct rendering *r, const char *at, const char *name, int n) {
  struct buf known = {0};
  for (int i = 0; i < r->n_values; i++)
    buf_printf(&known, "%s%s", i ? ", " : "", r->values[i].name);
  error_set(r->err, ASSAY_ERR_SYNTAX, "%s/%s.txt, line %d: there is no value {{%.*s}}; there are: %s", r->folder,
            r->name, line_of(r, at), n, name, buf_str(&known));
  buf_release(&known);
  return ASSAY_ERR_SYNTAX;
}

static const struct template_value *value_of(const struct rendering *r, const char *name, int n) {
  for (int i = 0; i < r->n_values; i++)
    if (strncmp(r->values[i].name, name, (size_t)n) == 0 && r->values[i].name[n] == '\0')
      return &r->values[i];
  return NULL;
}

struct mark {
  const char *begin, *end, *name; // of {{...}}; the name without its sign and spaces
  int n;
  char sign; // one of #^/>!, or 0
};

static bool next_mark(const char *at, struct mark *m) {
  const char *open = strstr(at, "{{"), *close = open ? strstr(open, "}}") : NULL;
  if (!close)
    return false;
  m->begin = open;
  m->end = close + 2;
  m->name = open + 2;
  m->sign = strchr("#^/>!", *m->name) && *m->name ? *m->name++ : '\0';
  while (m->name < close && isspace((unsigned char)*m->name))
    m->name++;
  m->n = (int)(close - m->name);
  while (m->n > 0 && isspace((unsigned char)m->name[m->n - 1]))
    m->n--;
  return true;
}

// A mark alone in its line takes the line with it.
static void take_line(const struct rendering *r, struct mark *m) {
  const char *begin = m->begin, *end = m->end;
  while (begin > r->text && (begin[-1] == ' ' || begin[-1] == '\t'))
    begin--;
  while (*end == ' ' || *end == '\t' || *end == '\r')
    end++;
  if (m->sign && (begin == r->text || begin[-1] == '\n') && (*end == '\n' || *end == '\0')) {
    m->begin = begin;
    m->end = end + (*end == '\n');
  }
}

static enum assay_status render_file(struct rendering *r);

static enum assay_status render_part(struct rendering *r, const char *name, int n) {
  char file[128];
  const struct template_value *v = n > 0 && *name == '*' ? value_of(r, name + 1, n - 1) : NULL;
  if (n > 0 && *name == '*' && (!v || !v->value))
    return unknown_name(r, name, name + 1, n - 1);
  snprintf(file, sizeof file, "%.*s", v ? (int)strlen(v->value) : n, v ? v->value : name);
  struct rendering part = *r;
  part.name = file;
  part.outer = r;
  part.depth++;
  return render_file(&part);
}

// Renders from *at to the end, or to the end of the section; *at is moved there. `show`: false passes over it.
static enum assay_status render(struct rendering *r, const char **at, const struct mark *section, bool show) {
  struct mark m;
  enum assay_status status = ASSAY_OK;
  while (!status && next_mark(*at, &m)) {
    take_line(r, &m);
    if (show)
      buf_append(r->out, *at, (size_t)(m.begin - *at));
    *at = m.end;
    if (m.sign == '!')
      continue;
    if (m.sign == '/') {
      if (!section || section->n != m.n || strncmp(section->name, m.name, (size_t)m.n) != 0)
        return syntax(r, m.begin, "nothing was opened for", m.name, m.n);
      return ASSAY_OK;
    }
    if (m.sign == '>') {
      status = show ? render_part(r, m.name, m.n) : ASSAY_OK;
      continue;
    }
    const struct template_value *v = value_of(r, m.name, m.n);
    if (!v)
      return unknown_name(r, m.begin, m.name, m.n);
    bool filled = v->value && v->value[0];
    if (m.sign == '\0' && show)
      buf_puts(r->out, v->value ? v->value : "");
    else if (m.sign != '\0')
      status = render(r, at, &m, show && filled == (m.sign == '#'));
  }
  if (status)
    return status;
  if (section)
    return syntax(r, section->name, "nothing closes", section->name, section->n);
  if (show)
    buf_puts(r->out, *at);
  *at += strlen(*at);
  return ASSAY_OK;
}

static enum assay_status render_file(struct rendering *r) {
  char path[4096], *text = NULL;
  size_t n;
  bool again = false;
  for (const struct rendering *o = r->outer; o; o = o->outer)
    again = again || strcmp(o->name, r->name) == 0;
  if (again || r->depth > MOST_DEPTH)
    return error_set(r->err, ASSAY_ERR_SYNTAX, again ? "%s/%s.txt takes itself in" : "%s/%s.txt stands too deep",
                     r->folder, r->name);
  snprintf(path, sizeof path, "%s/%s.txt", r->folder, r->name);
  enum assay_status status = file_read(path, MOST_BYTES, &text, &n, r->err);
  if (status)
    return error_prefix(r->err, status, "a prompt: ");
  const char *at = r->text = text;
  for (size_t i = 0, length; i < n && !status; i += length)
    if ((length = utf8_length(text + i, n - i)) == 0)
      status = error_set(r->err, ASSAY_ERR_SYNTAX, "%s, line %d: the text is not UTF-8, as which prompts are sent",
                         path, line_of(r, text + i));
  if (!status)
    status = render(r, &at, NULL, true);
  base_free(text);
  return status;
}

enum assay_status template_render(const char *folder, const char *name, const struct template_value *values,
                                  int n_values, struct buf *out, struct assay_error *err) {
  struct rendering r = {.folder = folder, .name = name, .values = values, .n_values = n_values, .out = out, .err = err};
  enum assay_status status = render_file(&r);
  return status ? status : buf_status(out, err);
}

bool template_exists(const char *folder, const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.txt", folder, name);
  return access(path, F_OK) == 0;
}

static int is_text(const struct dirent *e) {
  const char *dot = strrchr(e->d_name, '.');
  return dot && strcmp(dot, ".txt") == 0 && e->d_name[0] != '.';
}

enum assay_status template_gather(const char *folder, struct buf *out, struct assay_error *err) {
  struct dirent **entries = NULL;
  int n = scandir(folder, &entries, is_text, alphasort);
  if (n <= 0)
    return error_set(err, ASSAY_ERR_NOT_FOUND, "the folder of prompts, %s: %s; --prompts names another one", folder,
                     n < 0 ? strerror(errno) : "there is no .txt file in it");
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < n; i++) {
    char path[4096], *text = NULL;
    size_t len = 0;
    snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
    if (!status)
      status = file_read(path, MOST_BYTES, &text, &len, err);
    buf_printf(out, "%s\n", entries[i]->d_name);
    if (text)
      buf_append(out, text, len);
    base_free(text);
    free(entries[i]);
  }
  free(entries);
  return status ? status : buf_status(out, err);
}
