// SPDX-License-Identifier: Apache-2.0
#include "tune/space.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/remark.h"
#include "base/rng.h"
#include "toolchain/directive/directive.h"
#include "tune/python.h"

// A directive of the tuner's: its verb's line or lines (a backslash at the end goes on in the next comment).
struct line {
  const char *end;         // of the last of its lines
  const char *rest, *stop; // after the verb, in the file; of several lines after tune_space_read's join, a copy
  int lines;
  bool python;
};

static const char *skip_blanks(const char *p, const char *stop) {
  while (p < stop && (*p == ' ' || *p == '\t'))
    p++;
  return p;
}

static const char *line_end(const char *p, const char *end) {
  const char *stop = memchr(p, '\n', (size_t)(end - p));
  return stop ? stop : end;
}

// Takes the lines that the one at l goes on in; what they say, without marks of comments, if there is where to.
static void take_lines(struct line *l, const char *end, struct buf *text) {
  const char *rest = l->rest, *goes_on;
  while ((goes_on = remark_goes_on(rest, l->end)) && l->end < end) {
    const char *next = l->end + 1, *stop = line_end(next, end), *more = remark_rest(next, stop, l->python);
    if (!more)
      break;
    if (text)
      buf_append(text, rest, (size_t)(goes_on - rest));
    rest = more;
    l->end = stop;
    l->lines++;
  }
  if (text)
    buf_append(text, rest, (size_t)(l->end - rest));
}

static bool is_line_of(const char *start, const char *end, const char *verb, struct line *out) {
  size_t m = strlen(verb);
  bool python;
  const char *stop = line_end(start, end), *v = remark_text(start, stop, &python);
  v = v ? skip_blanks(v, stop) : stop;
  if ((size_t)(stop - v) <= m || memcmp(v, verb, m) != 0 || (v[m] != ' ' && v[m] != '\t'))
    return false;
  *out = (struct line){.end = stop, .rest = skip_blanks(v + m, stop), .stop = stop, .lines = 1, .python = python};
  take_lines(out, end, NULL);
  return true;
}

// The text of a directive of several lines as one.
static enum assay_status join(struct line *l, const char *end, struct arena *arena, struct assay_error *err) {
  struct buf text = {0};
  if (l->lines == 1)
    return ASSAY_OK;
  l->end = l->stop;
  l->lines = 1;
  take_lines(l, end, &text);
  const char *copy = text.failed ? NULL : arena_strndup(arena, buf_str(&text), text.len);
  l->rest = copy;
  l->stop = copy ? copy + text.len : NULL;
  buf_release(&text);
  return copy ? ASSAY_OK : error_nomem(err, "a tuner's lines");
}

static size_t word_length(const char *p, const char *stop) {
  size_t n = 0;
  while (p + n < stop && (isalnum((unsigned char)p[n]) || p[n] == '_' || p[n] == '.' || p[n] == '-'))
    n++;
  return n;
}

// A word, or a text in quotes, which may have commas; 0: neither.
static size_t value_length(const char *p, const char *stop) {
  if (p == stop || (*p != '"' && *p != '\''))
    return word_length(p, stop);
  for (const char *q = p + 1; q < stop && *q != '\\'; q++)
    if (*q == *p)
      return (size_t)(q + 1 - p);
  return 0;
}

static bool is_name(const char *p, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!isalnum((unsigned char)p[i]) && p[i] != '_')
      return false;
  return n > 0 && !isdigit((unsigned char)p[0]);
}

static enum assay_status bad_line(struct assay_error *err, const char *file, int line, const char *what) {
  return error_set(err, ASSAY_ERR_SYNTAX, "%s:%d: %s: write `// assay: tune NAME 64,128,256`", file, line, what);
}

// Whether C and the directive language read the value as the same whole number, as a real one, or at all as a number.
static bool is_integer(const char *text) {
  char *end;
  bool hex = strncmp(text + (*text == '-'), "0x", 2) == 0;
  errno = 0;
  strtoll(text, &end, hex ? 16 : 10);
  return *text && *end == '\0' && !errno;
}

static bool is_real(const char *text) {
  char *end;
  double x = text[strspn(text, "-.0123456789eE")] ? NAN : strtod(text, &end);
  return isfinite(x) && *end == '\0' && strpbrk(text, ".eE") && isdigit((unsigned char)text[strspn(text, "-")]);
}

enum { NUMBER_BYTES = 64 };

// A real number, which gets the digit behind its point that launch lines want.
static bool is_whole_real(char *text) {
  size_t n = strlen(text);
  if (!is_real(text))
    return false;
  if (text[n - 1] != '.')
    return true;
  if (n + 1 < NUMBER_BYTES)
    memcpy(text + n, "0", 2);
  return n + 1 < NUMBER_BYTES;
}

// A value as launch lines write the number: without C's suffixes (64u, 1.5f), and with a small x in 0X10. false: it is
// none.
static bool number_of(const char *text, char out[NUMBER_BYTES]) {
  size_t n = strlen(text), bare = n;
  if (n == 0 || n >= NUMBER_BYTES)
    return false;
  memcpy(out, text, n + 1);
  char *hex = strncmp(out + (*out == '-'), "0X", 2) == 0 ? strchr(out, 'X') : NULL;
  if (hex)
    *hex = 'x';
  if (is_integer(out) || is_whole_real(out))
    return true;
  while (bare > 1 && n - bare < 3 && strchr("uUlL", out[bare - 1]))
    bare--;
  out[bare] = '\0';
  if (bare < n && is_integer(out))
    return true;
  out[bare] = text[bare];
  out[n - 1] = '\0';
  return strchr("fFlL", text[n - 1]) && is_whole_real(out);
}

static bool is_number(const char *text) {
  char number[NUMBER_BYTES];
  return number_of(text, number);
}

// 010, which is eight to C and ten to launch lines.
static bool is_octal(const char *text) {
  char number[NUMBER_BYTES];
  text += *text == '-';
  return text[0] == '0' && isdigit((unsigned char)text[1]) && number_of(text, number) && is_integer(number);
}

static enum assay_status read_values(const struct line *l, const char *p, const char *file, struct arena *arena,
                                     struct tune_parameter *out, struct assay_error *err) {
  for (;;) {
    p = skip_blanks(p, l->stop);
    size_t n = value_length(p, l->stop);
    if (n == 0 && (p == l->stop || *p == ',' || *p == '\r'))
      return bad_line(err, file, out->line, "a value is missing");
    if (n == 0)
      return bad_line(err, file, out->line, "a value is a number, a word, or a text in quotes without backslashes");
    if (out->n == TUNE_MOST_VALUES)
      return error_set(err, ASSAY_ERR_LIMIT, "%s:%d: %s has more than %d values", file, out->line, out->name,
                       TUNE_MOST_VALUES);
    char *value = arena_strndup(arena, p, n);
    if (!value)
      return error_nomem(err, "a tuner's parameters");
    if (strstr(value, "..") && isdigit((unsigned char)*value))
      return bad_line(err, file, out->line, "there are no ranges: a parameter has the values that are listed");
    if (is_octal(value))
      return bad_line(err, file, out->line, "a number with a leading zero is octal to C, and decimal to launch lines");
    for (int i = 0; i < out->n; i++)
      if (strcmp(out->values[i], value) == 0)
        return bad_line(err, file, out->line, "a value is there twice");
    out->values[out->n++] = value;
    p = skip_blanks(p + n, l->stop);
    if (p < l->stop && *p == '\r')
      p++;
    if (p == l->stop)
      return ASSAY_OK;
    if (*p++ != ',')
      return bad_line(err, file, out->line, "there are to be commas between values, and nothing after the last one");
  }
}

static enum assay_status read_parameter(const struct line *l, int number, const char *file, struct arena *arena,
                                        struct tune_space *s, struct assay_error *err) {
  size_t n = word_length(l->rest, l->stop);
  if (!is_name(l->rest, n))
    return bad_line(err, file, number, "the name is missing");
  if (s->n == TUNE_MOST_PARAMETERS)
    return error_set(err, ASSAY_ERR_LIMIT, "%s:%d: more than %d parameters", file, number, TUNE_MOST_PARAMETERS);
  struct tune_parameter *p = &s->parameters[s->n];
  *p = (struct tune_parameter){.name = arena_strndup(arena, l->rest, n), .line = number, .python = l->python};
  if (!p->name)
    return error_nomem(err, "a tuner's parameters");
  for (int i = 0; i < s->n; i++)
    if (strcmp(s->parameters[i].name, p->name) == 0)
      return error_set(err, ASSAY_ERR_SYNTAX, "%s:%d: %s is declared in line %d already", file, number, p->name,
                       s->parameters[i].line);
  enum assay_status status = read_values(l, l->rest + n, file, arena, p, err);
  if (status)
    return status;
  s->n++;
  s->size *= p->n;
  return s->size <= TUNE_MOST_CONFIGURATIONS
             ? ASSAY_OK
             : error_set(err, ASSAY_ERR_LIMIT,
                         "%s:%d: more than %d configurations, counted before constraints: leave values out", file,
                         number, TUNE_MOST_CONFIGURATIONS);
}

static enum assay_status read_constraint(const struct line *l, int number, const char *file, struct arena *arena,
                                         struct tune_space *s, struct assay_error *err) {
  const char *stop = l->stop;
  while (stop > l->rest && isspace((unsigned char)stop[-1]))
    stop--;
  if (s->n_constraints == TUNE_MOST_CONSTRAINTS)
    return error_set(err, ASSAY_ERR_LIMIT, "%s:%d: more than %d constraints", file, number, TUNE_MOST_CONSTRAINTS);
  char *text = arena_strndup(arena, l->rest, (size_t)(stop - l->rest));
  if (!text)
    return error_nomem(err, "a tuner's constraints");
  s->constraint_lines[s->n_constraints] = number;
  s->constraints[s->n_constraints++] = text;
  return ASSAY_OK;
}

// "#if..." is 1, "#endif" -1, any other line 0.
static int depth_of(const char *p, const char *stop) {
  p = skip_blanks(p, stop);
  if (p == stop || *p != '#')
    return 0;
  p = skip_blanks(p + 1, stop);
  return stop - p >= 2 && memcmp(p, "if", 2) == 0 ? 1 : stop - p >= 5 && memcmp(p, "endif", 5) == 0 ? -1 : 0;
}

static bool is_word_char(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

// Whether the line is "#define NAME".
static bool defines_macro(const char *p, const char *stop, const char *name) {
  size_t n = strlen(name);
  const char *at = skip_blanks(p, stop);
  at = at < stop && *at == '#' ? skip_blanks(at + 1, stop) : stop;
  at = stop - at > 7 && memcmp(at, "define", 6) == 0 ? skip_blanks(at + 6, stop) : stop;
  return (size_t)(stop - at) >= n && memcmp(at, name, n) == 0 && (at + n == stop || !is_word_char(at[n]));
}

// Whether "assay:" at `at` follows a comment's mark or begins the line. Quoted it is what somebody writes about it.
static bool is_marked(const char *p, const char *at) {
  bool marked = false;
  const char *mark = at;
  for (; mark > p && memchr(" \t/*#", mark[-1], 5); mark--)
    marked |= mark[-1] != ' ' && mark[-1] != '\t';
  return (marked || mark == p) && (mark == p || !memchr("`'\"", mark[-1], 3));
}

static bool starts_any_case(const char *p, const char *stop, const char *with) {
  return (size_t)(stop - p) >= strlen(with) && strncasecmp(p, with, strlen(with)) == 0;
}

// Whether there is something in it that a constraint is made of.
static bool compares(const char *p, const char *stop) {
  while (p < stop && !memchr("<>=!%&|", *p, 7))
    p++;
  return p < stop;
}

// A name and values, or what is likely to be meant for these: "B 4,8", "B: 4 8", "(B, fast, slow)", "B fast".
static bool names_values(const char *p, const char *stop) {
  while (p < stop && memchr(" \t:(=", *p, 5))
    p++;
  size_t n = word_length(p, stop);
  if (!is_name(p, n))
    return false;
  for (p += n; p < stop && memchr(" \t:,(=[{", *p, 8);)
    p++;
  n = value_length(p, stop);
  if (n == 0)
    return false;
  const char *after = skip_blanks(p + n, stop);
  return memchr("-.0123456789\"'", *p, 14) || after == stop || memchr(",;*)\r", *after, 5);
}

// "tune B 4,8", "Tunes B 4", "constraint A < 2": one of the verbs, and what it is to be about. "tuned by hand", "tune
// this by hand" are sentences.
static bool is_nearly(const char *verb, const char *stop) {
  static const char *const verbs[] = {"tune", "tunes", "constraint", "constraints"};
  const char *rest = verb;
  while (rest < stop && isalpha((unsigned char)*rest))
    rest++;
  bool any = false;
  for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
    any |= (size_t)(rest - verb) == strlen(verbs[i]) && starts_any_case(verb, stop, verbs[i]);
  return any && (tolower((unsigned char)*verb) == 'c' ? compares(rest, stop) : names_values(rest, stop));
}

// Whether a line looks like one of the tuner's and is none: behind code, in /* */, "Assay: Tune", "assay: constraints".
static bool is_near_miss(const char *p, const char *stop) {
  static const char word[] = "assay:";
  for (const char *at = p; at < stop; at++) {
    if (!starts_any_case(at, stop, word) || !is_marked(p, at))
      continue;
    if (is_nearly(skip_blanks(at + sizeof word - 1, stop), stop))
      return true;
  }
  return false;
}

static enum assay_status fixed(const char *file, int line, const struct tune_parameter *p, struct assay_error *err) {
  return error_set(err, ASSAY_ERR_SYNTAX, "%s:%d: %s has this value whatever the tuner chooses: %s", file, line,
                   p->name,
                   p->python ? "put the line above the one that declares it" : "put `#ifndef` and `#endif` around it");
}

// Refuses a definition of the file's own below the parameter's line that always holds: all configurations would be one.
static enum assay_status check_definition(const char *file, int line, const char *p, const char *stop,
                                          const struct tune_space *s, struct assay_error *err) {
  for (int i = 0; i < s->n; i++)
    if (!s->parameters[i].python && defines_macro(p, stop, s->parameters[i].name))
      return fixed(file, line, &s->parameters[i], err);
  return ASSAY_OK;
}

// The same of the statements of Python at p, which is no line within one; *next: where the line after them begins.
static enum assay_status check_statements(const char *file, int line, const char *p, const char *end,
                                          const struct tune_space *s, const char **next, struct assay_error *err) {
  bool always = p < end && *p != ' ' && *p != '\t' && !python_is_compound(p, end);
  for (;;) {
    const char *stop = python_statement_end(p, end);
    for (int i = 0; i < s->n && always; i++)
      if (s->parameters[i].python && python_assigns(p, stop, s->parameters[i].name))
        return fixed(file, line, &s->parameters[i], err);
    if (stop == end || *stop == '\n') {
      *next = stop == end ? end : stop + 1;
      return ASSAY_OK;
    }
    for (; p < stop; p++)
      line += *p == '\n';
    p = skip_blanks(stop + 1, end);
  }
}

// What a line that is none of the tuner's must not be. `python`: the parameters above are Python's.
static enum assay_status check_other(const char *file, int line, const char *p, const char *stop, bool python,
                                     struct assay_error *err) {
  static const char future[] = "from __future__ ";
  if (is_near_miss(p, stop))
    return error_set(
        err, ASSAY_ERR_SYNTAX,
        "%s:%d: this looks like a line for the tuner, and is none: write `// assay: tune NAME 64,128,256` or "
        "`// assay: constraint E` as a line of its own",
        file, line);
  if (python && (size_t)(stop - p) >= sizeof future && memcmp(p, future, sizeof future - 1) == 0)
    return error_set(err, ASSAY_ERR_SYNTAX,
                     "%s:%d: this line has to stand above the parameters: Python lets no assignment come before it",
                     file, line);
  return ASSAY_OK;
}

// A parameter's line becomes a `let` of its name, and there can be one alone.
static enum assay_status check_lets(const char *file, const char *source, const char *end, const struct tune_space *s,
                                    struct assay_error *err) {
  struct line l;
  int number = 1;
  for (const char *p = source; p < end; p = line_end(p, end) + 1, number++) {
    if (!is_line_of(p, end, "let", &l) || l.python)
      continue;
    size_t n = word_length(l.rest, l.stop);
    for (int i = 0; i < s->n; i++)
      if (strlen(s->parameters[i].name) == n && memcmp(s->parameters[i].name, l.rest, n) == 0)
        return error_set(err, ASSAY_ERR_SYNTAX,
                         "%s:%d: %s is a parameter (line %d), whose value the tuner writes: leave this line out", file,
                         number, s->parameters[i].name, s->parameters[i].line);
  }
  return ASSAY_OK;
}

static const char *past_mark(const char *p, const char *end) {
  return end - p >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0 ? p + 3 : p;
}

enum assay_status tune_space_read(const char *file, const char *source, size_t n, struct arena *arena,
                                  struct tune_space *out, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  const char *end = source + n;
  struct line l = {0};
  int number = 1, depth = 0;
  const char *statement = past_mark(source, end); // the next of Python's
  *out = (struct tune_space){.size = 1};
  for (const char *p = past_mark(source, end); p < end && !status;) {
    const char *stop = line_end(p, end);
    if (p >= statement)
      status = check_statements(file, number, p, end, out, &statement, err);
    bool tune = is_line_of(p, end, "tune", &l), constraint = !tune && is_line_of(p, end, "constraint", &l);
    int lines = tune || constraint ? l.lines : 1;
    if (tune || constraint) {
      stop = l.end;
      if (!status)
        status = join(&l, end, arena, err);
      if (!status && tune && l.python && (*p == ' ' || *p == '\t'))
        status = error_set(err, ASSAY_ERR_SYNTAX,
                           "%s:%d: a parameter becomes a global variable: its line has to begin at the margin", file,
                           number);
      if (!status)
        status = tune ? read_parameter(&l, number, file, arena, out, err)
                      : read_constraint(&l, number, file, arena, out, err);
    } else if (!status) {
      status = check_other(file, number, p, stop, out->n > 0 && l.python, err);
      if (!status && depth <= 0)
        status = check_definition(file, number, p, stop, out, err);
    }
    depth += l.python || lines > 1 ? 0 : depth_of(p, stop);
    number += lines;
    p = stop + 1;
  }
  if (!status && out->n == 0)
    status = error_set(err, ASSAY_ERR_USAGE,
                       "%s declares nothing to tune: add lines such as `// assay: tune TILE 16,32,64` (docs/tuning.md)",
                       file);
  return status ? status : check_lets(file, source, end, out, err);
}

void tune_space_pick(const struct tune_space *s, int64_t number, const char *values[TUNE_MOST_PARAMETERS]) {
  for (int i = s->n - 1; i >= 0; i--) {
    values[i] = s->parameters[i].values[number % s->parameters[i].n];
    number /= s->parameters[i].n;
  }
}

void tune_space_name(const struct tune_space *s, const char *const *values, struct buf *out) {
  for (int i = 0; i < s->n; i++)
    buf_printf(out, "%s%s=%s", i ? "," : "", s->parameters[i].name, values[i]);
}

// The values as names, then `line` for each constraint.
static void put_lines(const struct tune_space *s, const char *const *values, const char *line, struct buf *out) {
  char number[NUMBER_BYTES];
  for (int i = 0; i < s->n; i++)
    if (number_of(values[i], number))
      buf_printf(out, "// assay: let %s = %s\n", s->parameters[i].name, number);
  for (int i = 0; i < s->n_constraints; i++) {
    buf_printf(out, line, s->constraints[i]);
    buf_puts(out, "\n");
  }
}

// Evaluates such lines by the directive language itself.
static enum assay_status evaluate(const struct buf *lines, const struct plan_symbol *symbols, int n_symbols,
                                  struct assay_error *err) {
  struct plan plan = {.device = &plan_device_cpu};
  struct directive_set set;
  const struct plan_subject subject = {.task = "", .workload = "", .n_symbols = n_symbols, .symbols = symbols};
  arena_init(&plan.arena, DIRECTIVE_ARENA_BYTES);
  enum assay_status status = directive_parse("constraints", buf_str(lines), lines->len, &plan.arena, &set, err);
  if (!status)
    status = directive_plan(&set, NULL, &subject, &plan, err);
  arena_release(&plan.arena);
  return status;
}

// Whether the expression has the name in it.
static bool names(const char *expression, const char *name) {
  size_t n = strlen(name);
  for (const char *p = expression; (p = strstr(p, name)); p += n) {
    bool begins = p == expression || (!isalnum((unsigned char)p[-1]) && p[-1] != '_' && p[-1] != '.');
    if (begins && !isalnum((unsigned char)p[n]) && p[n] != '_')
      return true;
  }
  return false;
}

// A constraint over a parameter that has a word among its values would hold for none of these, whatever it says.
static enum assay_status check_words(const struct tune_space *s, int constraint, const char *file,
                                     struct assay_error *err) {
  for (int i = 0; i < s->n; i++)
    for (int k = 0; k < s->parameters[i].n && names(s->constraints[constraint], s->parameters[i].name); k++)
      if (!is_number(s->parameters[i].values[k]))
        return error_set(err, ASSAY_ERR_INVALID,
                         "%s:%d: the constraint `%.80s` is over %s, whose value %.40s is no number: constraints know "
                         "numbers alone",
                         file, s->constraint_lines[constraint], s->constraints[constraint], s->parameters[i].name,
                         s->parameters[i].values[k]);
  return ASSAY_OK;
}

// What the directive language says, without a place in lines that nobody has written and the advice to write `let`.
static const char *said_of(struct assay_error *why) {
  const char *at = strstr(why->message, ": ");
  char *advice = strstr(why->message, "; `// assay: let");
  if (advice)
    *advice = '\0';
  return strncmp(why->message, "constraints:", 12) == 0 && at ? at + 2 : why->message;
}

// Whether the constraints mean something at all: with the first values.
static enum assay_status check_constraints(const struct tune_space *s, const char *file,
                                           const struct plan_symbol *symbols, int n_symbols, struct assay_error *err) {
  const char *values[TUNE_MOST_PARAMETERS];
  tune_space_pick(s, 0, values);
  for (int i = 0; i < s->n_constraints; i++) {
    struct tune_space one = *s;
    struct buf lines = {0};
    struct assay_error why = {0};
    enum assay_status status = check_words(s, i, file, err);
    if (status)
      return status;
    one.n_constraints = 1;
    one.constraints[0] = s->constraints[i];
    put_lines(&one, values, "// assay: let constraint_ = %s", &lines);
    status = buf_status(&lines, err);
    if (!status && evaluate(&lines, symbols, n_symbols, &why) != ASSAY_OK)
      status = error_set(err, why.status, "%s:%d: the constraint `%.80s`: %.200s", file, s->constraint_lines[i],
                         s->constraints[i], said_of(&why));
    buf_release(&lines);
    if (status)
      return status;
  }
  return ASSAY_OK;
}

static bool is_allowed(const struct tune_space *s, int64_t number, const struct plan_symbol *symbols, int n_symbols) {
  const char *values[TUNE_MOST_PARAMETERS];
  struct buf lines = {0};
  struct assay_error ignored = {0};
  if (s->n_constraints == 0)
    return true;
  tune_space_pick(s, number, values);
  put_lines(s, values, "// assay: require %s -- not here", &lines);
  bool allowed = !lines.failed && evaluate(&lines, symbols, n_symbols, &ignored) == ASSAY_OK;
  buf_release(&lines);
  return allowed;
}

// A launch line would take the dimension for the parameter, or the other way round.
static enum assay_status check_names(const struct tune_space *s, const struct tune_order *o, struct assay_error *err) {
  for (int i = 0; i < s->n; i++)
    for (int k = 0; k < o->n_symbols; k++)
      if (strcmp(s->parameters[i].name, o->symbols[k].name) == 0)
        return error_set(err, ASSAY_ERR_INVALID,
                         "%s:%d: %s is a dimension of the task: give the parameter another name", o->file,
                         s->parameters[i].line, s->parameters[i].name);
  return ASSAY_OK;
}

enum assay_status tune_space_order(const struct tune_space *s, const struct tune_order *o, struct arena *arena,
                                   int64_t **numbers, int64_t *count, struct assay_error *err) {
  enum assay_status status = check_names(s, o, err);
  if (!status)
    status = check_constraints(s, o->file, o->symbols, o->n_symbols, err);
  int64_t n = 0, *list = status ? NULL : arena_calloc(arena, (size_t)s->size, sizeof *list);
  if (status)
    return status;
  if (!list)
    return error_nomem(err, "a tuner's configurations");
  for (int64_t i = 0; i < s->size; i++)
    if (is_allowed(s, i, o->symbols, o->n_symbols))
      list[n++] = i;
  if (n == 0)
    return error_set(err, ASSAY_ERR_USAGE, "%s: the constraints allow none of the %lld configurations", o->file,
                     (long long)s->size);
  // Fisher and Yates, in Durstenfeld's form; the author's own choice stays first.
  int64_t first = list[0] == 0;
  for (int64_t i = n - 1; i > first; i--) {
    int64_t k = first + (int64_t)(rng_derive(o->seed, (uint64_t)i) % (uint64_t)(i - first + 1)), kept = list[i];
    list[i] = list[k];
    list[k] = kept;
  }
  *numbers = list;
  *count = n;
  return ASSAY_OK;
}

// A parameter's line as its value; whether that takes two lines.
static bool put_value(const char *name, const char *value, bool python, struct buf *out) {
  char number[NUMBER_BYTES];
  bool directive = !python && number_of(value, number);
  if (python)
    buf_printf(out, "%s = %s", name, value);
  else if (directive)
    buf_printf(out, "// assay: let %s = %s\n#define %s %s", name, number, name, value);
  else
    buf_printf(out, "#define %s %s", name, value);
  return directive;
}

// Whether a line is the preprocessor's, of this word, and about NAME (NULL: about anything).
static bool has_directive(const char *source, const char *end, const char *word, const char *name) {
  for (const char *p = source; p < end; p = line_end(p, end) + 1) {
    const char *stop = line_end(p, end), *at = skip_blanks(p, stop);
    at = at < stop && *at == '#' ? skip_blanks(at + 1, stop) : stop;
    if ((size_t)(stop - at) < strlen(word) || memcmp(at, word, strlen(word)) != 0)
      continue;
    at = skip_blanks(at + strlen(word), stop);
    size_t n = name ? strlen(name) : 0;
    if (!name || ((size_t)(stop - at) >= n && memcmp(at, name, n) == 0 && (at + n == stop || !is_word_char(at[n]))))
      return true;
  }
  return false;
}

static bool has_word(const char *p, const char *stop, const char *word) {
  const size_t n = strlen(word);
  for (const char *at = p; (size_t)(stop - at) >= n; at++)
    if (memcmp(at, word, n) == 0 && (at == p || !is_word_char(at[-1])) && (at + n == stop || !is_word_char(at[n])))
      return true;
  return false;
}

// Whether the file itself defines the name anew below the parameter's line, under a condition that does not ask for the
// name: another architecture's value, say, which is then meant.
static bool redefines(const char *source, const char *end, const struct tune_parameter *parameter) {
  int number = 1, depth = 0, asked = 0; // asked: at which depth a condition names it
  for (const char *p = source; p < end; p = line_end(p, end) + 1, number++) {
    const char *stop = line_end(p, end);
    const int change = depth_of(p, stop);
    asked = change < 0 && depth == asked ? 0 : asked;
    depth += change;
    if (change > 0 && !asked && has_word(p, stop, parameter->name))
      asked = depth;
    if (number > parameter->line && !asked && defines_macro(p, stop, parameter->name))
      return true;
  }
  return false;
}

// A header that is included below may have a macro of a parameter's name, and a system's replaces it without a word:
// all configurations would be one. Whole numbers can be asked what they are at the file's end; a file that undefines
// the name itself, or defines it anew under a condition, knows what it does.
static void put_guard(const struct tune_space *s, const char *source, const char *end, const char *const *values,
                      struct buf *out) {
  char number[NUMBER_BYTES];
  bool any = false;
  if (!has_directive(source, end, "include", NULL))
    return;
  for (int i = 0; i < s->n; i++) {
    const char *name = s->parameters[i].name;
    if (s->parameters[i].python || !number_of(values[i], number) || !is_integer(number) ||
        has_directive(source, end, "undef", name) || redefines(source, end, &s->parameters[i]))
      continue;
    if (!any && out->len && out->data[out->len - 1] != '\n')
      buf_puts(out, "\n");
    buf_printf(out, "%s%s != %s", any ? " || " : "#if ", name, values[i]);
    any = true;
  }
  if (any)
    buf_puts(out, "\n#error \"a parameter of the tuner's has another value here: a header or another line defines its "
                  "name\"\n#endif\n");
}

void tune_space_source(const struct tune_space *s, const char *source, size_t n, const char *const *values,
                       struct buf *out) {
  const char *end = source + n;
  struct line l;
  int at = 0, number = 0;
  bool longer = false; // there are more lines than in the source: the compiler has to know which one comes
  for (const char *p = past_mark(source, end); p < end;) {
    const char *stop = line_end(p, end);
    int lines = 1;
    number++;
    if (at < s->n && is_line_of(p, end, "tune", &l)) {
      longer |= put_value(s->parameters[at].name, values[at], l.python, out);
      at++;
      lines = l.lines;
    } else {
      if (longer)
        buf_printf(out, "#line %d\n", number);
      longer = false;
      if (is_line_of(p, end, "constraint", &l)) { // stays a comment, but none that is read again
        buf_printf(out, "%s held: %.*s", l.python ? "#" : "//", (int)(l.stop - l.rest), l.rest);
        lines = l.lines;
      } else {
        buf_append(out, p, (size_t)(stop - p));
      }
    }
    for (; lines > 1; lines--, number++) {
      buf_puts(out, l.python ? "\n#" : "\n//");
      stop = line_end(stop + 1, end);
    }
    if (stop < end)
      buf_puts(out, "\n");
    p = stop + 1;
  }
  put_guard(s, source, end, values, out);
}
