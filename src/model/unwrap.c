// SPDX-License-Identifier: Apache-2.0
#include "model/unwrap.h"

#include <ctype.h>
#include <string.h>

#include "model/bare.h"

// --- lines

struct line {
  const char *text;
  size_t len; // without its end
};

// The line at *at, which moves behind it; false: there is none.
static bool next_line(const char *text, size_t n, size_t *at, struct line *out) {
  if (*at >= n)
    return false;
  const char *end = memchr(text + *at, '\n', n - *at);
  size_t stop = end ? (size_t)(end - text) : n;
  *out = (struct line){text + *at, stop - *at};
  *at = end ? stop + 1 : n;
  return true;
}

static bool starts(const struct line *l, const char *word) {
  size_t k = strlen(word);
  return l->len >= k && memcmp(l->text, word, k) == 0;
}

static bool is_empty(const struct line *l) {
  for (size_t i = 0; i < l->len; i++)
    if (!isspace((unsigned char)l->text[i]))
      return false;
  return true;
}

static void put_line(struct buf *out, const char *text, size_t n) {
  if (n > 0)
    buf_append(out, text, n);
  buf_puts(out, "\n");
}

// --- a listing: "12: ", " 12 | ", "12<tab>", "12. ", "L12: ", "12  " before every line, each number one more

struct numbered {
  long number;
  size_t text; // where the line's own text begins, behind the mark that follows the number
  size_t mark; // of these bytes; 0: spaces only
  char kind;
};

// `kind` of the lines before; '\0': this is the first.
static bool read_number(const struct line *l, char kind, struct numbered *out) {
  static const char *const marks[] = {":", "|", ".", ")", "\t", "\xe2\x86\x92", "\xe2\x94\x82"};
  enum { MOST_DIGITS = 7 };
  size_t i = 0, digits = 0;
  *out = (struct numbered){0};
  while (i < l->len && l->text[i] == ' ')
    i++;
  i += i < l->len && l->text[i] == 'L';
  for (; i < l->len && isdigit((unsigned char)l->text[i]) && digits < MOST_DIGITS; i++, digits++)
    out->number = out->number * 10 + (l->text[i] - '0');
  size_t mark = i;
  while (mark < l->len && l->text[mark] == ' ')
    mark++;
  out->text = i;
  out->kind = ' ';
  // Behind spaces alone the line's own text may begin like a mark.
  for (size_t k = 0; k < sizeof marks / sizeof *marks && digits && kind != ' '; k++) {
    size_t len = strlen(marks[k]);
    if (l->len - mark >= len && memcmp(l->text + mark, marks[k], len) == 0) {
      out->kind = (char)('0' + (int)k);
      out->mark = len;
      out->text = mark + len;
      break;
    }
  }
  return digits > 0;
}

static size_t spaces_at(const struct line *l, size_t at) {
  size_t n = 0;
  while (at + n < l->len && l->text[at + n] == ' ')
    n++;
  return n;
}

// How many spaces belong to the numbers, not to the lines. False: it is no listing.
static bool is_listing(const char *text, size_t n, size_t *spaces, char *kind) {
  struct line l;
  long last = -1, skipped = 0;
  int lines = 0;
  *spaces = SIZE_MAX;
  for (size_t at = 0; next_line(text, n, &at, &l);) {
    struct numbered x;
    if (is_empty(&l)) {
      skipped++;
      continue;
    }
    if (!read_number(&l, lines > 0 ? *kind : '\0', &x))
      return false;
    bool follows = last < 0 || x.number == last + 1 || x.number == last + 1 + skipped;
    bool bare = x.text == l.len; // a line without text: its mark may be left out
    if (!follows || (lines > 0 && x.kind != *kind && !(bare && x.mark == 0)))
      return false;
    if (lines == 0)
      *kind = x.kind;
    last = x.number;
    skipped = 0;
    lines++;
    size_t own = spaces_at(&l, x.text);
    if (x.text + own < l.len && own < *spaces)
      *spaces = own;
  }
  if (*kind != ' ' && *spaces > 1)
    *spaces = 1;
  return lines > 1 && *spaces != SIZE_MAX && (*kind != ' ' || *spaces > 0);
}

static enum unwrapped take_listing(const struct model_language *l, const struct buf *code, struct buf *out,
                                   const char **how) {
  const char *text = buf_str(code);
  size_t spaces;
  char kind = ' ';
  (void)l;
  if (!is_listing(text, code->len, &spaces, &kind))
    return UNWRAP_NOTHING;
  struct line line;
  for (size_t at = 0; next_line(text, code->len, &at, &line);) {
    struct numbered x;
    size_t from = read_number(&line, kind, &x) ? x.text : 0, own = spaces_at(&line, from);
    from += own < spaces ? own : spaces;
    put_line(out, line.text + from, line.len - from);
  }
  *how = "without the numbers of its lines";
  return UNWRAP_TAKEN;
}

// --- a notebook's magic line: %%writefile kernel.cu

static enum unwrapped take_magic(const struct model_language *l, const struct buf *code, struct buf *out,
                                 const char **how) {
  const char *text = buf_str(code);
  struct line line = {text, 0};
  size_t at = 0;
  (void)l;
  while (next_line(text, code->len, &at, &line) && is_empty(&line))
    ;
  if (!starts(&line, "%%") || at >= code->len)
    return UNWRAP_NOTHING;
  buf_append(out, text + at, code->len - at);
  *how = "from a notebook's cell";
  return UNWRAP_TAKEN;
}

// --- a shell's here-document: cat > kernel.cu <<'EOF'

struct here {
  struct line word;
  bool tabs;   // "<<-": tabs before its lines do not count
  bool quoted; // the shell takes it as it is
};

static bool is_shell_line(const struct line *l, size_t before) {
  static const char *const begins[] = {"cat ", "cat<", "tee ", "sudo tee "};
  static const char *const within[] = {"&& cat ", "; cat ", "| tee ", "&& tee "};
  size_t i = 0;
  while (i < before && strchr(" \t$%>", l->text[i])) // a prompt
    i++;
  const struct line rest = {l->text + i, l->len - i};
  for (size_t k = 0; k < sizeof begins / sizeof *begins; k++)
    if (starts(&rest, begins[k]))
      return true;
  for (size_t k = 0; k < sizeof within / sizeof *within; k++)
    if (memmem(l->text, before, within[k], strlen(within[k])))
      return true;
  return false;
}

static bool begins_here(const struct line *l, struct here *out) {
  const char *arrows = l->len ? memmem(l->text, l->len, "<<", 2) : NULL;
  if (!arrows || !is_shell_line(l, (size_t)(arrows - l->text)))
    return false;
  size_t i = (size_t)(arrows - l->text) + 2;
  *out = (struct here){.tabs = i < l->len && l->text[i] == '-'};
  i += out->tabs;
  i += spaces_at(l, i);
  out->quoted = i < l->len && strchr("'\"\\", l->text[i]);
  i += out->quoted;
  out->word.text = l->text + i;
  while (i < l->len && (isalnum((unsigned char)l->text[i]) || l->text[i] == '_'))
    i++;
  out->word.len = (size_t)(l->text + i - out->word.text);
  return out->word.len > 0;
}

// What the shell makes of a line in a document whose word is not quoted; false: what it would put there is not known.
static bool expand(const struct line *l, struct buf *out) {
  for (size_t i = 0; i < l->len; i++) {
    char c = l->text[i], next = i + 1 < l->len ? l->text[i + 1] : '\n';
    if (c == '`' || (c == '$' && (isalnum((unsigned char)next) || strchr("_({?#@*!-$", next))))
      return false;
    if (c == '\\' && next == '\n')
      return true; // the next line goes on in this one
    i += c == '\\' && strchr("\\$`", next);
    buf_append(out, &l->text[i], 1);
  }
  buf_puts(out, "\n");
  return true;
}

// The document that begins at *at, which moves behind its end.
static bool put_document(const struct here *h, const char *text, size_t n, size_t *at, struct buf *out) {
  struct line l;
  bool known = true;
  while (next_line(text, n, at, &l)) {
    while (h->tabs && l.len && l.text[0] == '\t')
      l = (struct line){l.text + 1, l.len - 1};
    if (l.len == h->word.len && memcmp(l.text, h->word.text, l.len) == 0)
      break;
    if (h->quoted)
      put_line(out, l.text, l.len);
    else
      known = expand(&l, out) && known;
  }
  return known;
}

static enum unwrapped take_document(const struct model_language *l, const struct buf *code, struct buf *out,
                                    const char **how) {
  const char *text = buf_str(code);
  enum unwrapped found = UNWRAP_NOTHING;
  enum bare_entry best = BARE_NAMED;
  struct line line;
  size_t first = 0;
  for (size_t at = 0; next_line(text, code->len, &at, &line);) {
    struct here h;
    struct buf document = {0};
    size_t begin = at;
    if (!begins_here(&line, &h) || (found == UNWRAP_NOTHING && bare_has_entry(l, text + first, begin - first)))
      continue;
    bool known = put_document(&h, text, code->len, &at, &document);
    enum bare_entry entry = bare_entry(l, text + begin, at - begin);
    if (entry >= best) { // the last counts, as of blocks
      best = entry;
      found = known ? UNWRAP_TAKEN : UNWRAP_UNCLEAR;
      buf_clear(out);
      if (document.len)
        buf_append(out, document.data, document.len);
      out->failed = out->failed || document.failed;
    }
    first = at;
    buf_release(&document);
  }
  *how = found == UNWRAP_UNCLEAR ? "a shell would change the text of that here-document: the file itself is asked for"
                                 : "from a here-document";
  return found;
}

// --- a patch that adds a file

static bool begins_patch(const struct line *l) {
  static const char *const begins[] = {"diff --git ",     "--- a/",         "--- /dev/null",
                                       "*** Begin Patch", "<<<<<<< SEARCH", "@@ -"};
  for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
    if (starts(l, begins[i]))
      return true;
  return false;
}

bool unwrap_has_patch(const char *text, size_t n) {
  struct line l;
  for (size_t at = 0; next_line(text, n, &at, &l);)
    if (begins_patch(&l))
      return true;
  return false;
}

// The lines of the last file with the entry point that a patch adds.
static bool put_added(const struct model_language *l, const char *text, size_t n, struct buf *out) {
  struct buf file = {0};
  struct line line;
  bool adds = false, found = false;
  enum bare_entry best = BARE_NAMED;
  int empty = 0; // lines without a "+", of the file if more of it follows
  for (size_t at = 0; at <= n;) {
    bool more = next_line(text, n, &at, &line);
    bool body = more && adds && starts(&line, "+") && !starts(&line, "+++ ");
    if (body) {
      for (; empty > 0; empty--)
        buf_puts(&file, "\n");
      put_line(&file, line.text + 1, line.len - 1);
    } else if (more && adds && file.len && line.len == 0)
      empty++;
    else if (more && adds && (starts(&line, "+++ ") || starts(&line, "@@") || starts(&line, "\\ ")))
      continue;
    else {
      enum bare_entry entry = file.len ? bare_entry(l, file.data, file.len) : BARE_NONE;
      if (entry >= best) {
        best = entry;
        buf_clear(out);
        buf_append(out, file.data, file.len);
        found = true;
      }
      buf_clear(&file);
      empty = 0;
      adds = more && (starts(&line, "--- /dev/null") || starts(&line, "*** Add File:"));
    }
    if (!more)
      break;
  }
  out->failed = out->failed || file.failed;
  buf_release(&file);
  return found;
}

// A file whose every line is an added one, without a head that says so. How many bytes stand before each: 1, with a
// space 2; 0: it is none.
static size_t width_of_pluses(const char *text, size_t n) {
  struct line l;
  size_t width = 2;
  int lines = 0;
  for (size_t at = 0; next_line(text, n, &at, &l);) {
    if (l.len == 0)
      continue;
    if (!starts(&l, "+") || starts(&l, "+++"))
      return 0;
    width = l.len > 1 && l.text[1] != ' ' ? 1 : width;
    lines++;
  }
  return lines > 1 ? width : 0;
}

static bool put_pluses(const struct model_language *l, const char *text, size_t n, struct buf *out) {
  size_t width = width_of_pluses(text, n);
  struct line line;
  for (size_t at = 0; width > 0 && next_line(text, n, &at, &line);) {
    size_t skip = line.len < width ? line.len : width;
    put_line(out, line.text + skip, line.len - skip);
  }
  return width > 0 && out->len && bare_has_entry(l, out->data, out->len);
}

static enum unwrapped take_added(const struct model_language *l, const struct buf *code, struct buf *out,
                                 const char **how) {
  if (!put_pluses(l, buf_str(code), code->len, out) &&
      (!unwrap_has_patch(buf_str(code), code->len) || !put_added(l, buf_str(code), code->len, out)))
    return UNWRAP_NOTHING;
  *how = "from a patch that adds it";
  return UNWRAP_TAKEN;
}

bool unwrap_adds_file(const struct model_language *l, const char *text, size_t n) {
  struct buf file = {0};
  bool adds = put_pluses(l, text, n, &file);
  buf_clear(&file);
  adds = adds || put_added(l, text, n, &file);
  buf_release(&file);
  return adds;
}

bool unwrap_is_changes(const struct model_language *l, const char *text, size_t n, bool called) {
  size_t at = 0;
  struct line line = {text, 0};
  while (next_line(text, n, &at, &line) && is_empty(&line))
    ;
  return (called || begins_patch(&line)) && !unwrap_adds_file(l, text, n);
}

// --- what stands between two marks

// The text after `open` at *at up to `close`, with the entry point; *at moves behind it. False: there is none.
static bool between(const struct model_language *l, const struct buf *code, const char *const marks[2], size_t *at,
                    struct line *out) {
  const char *text = buf_str(code);
  while (*at < code->len) {
    const char *open = memmem(text + *at, code->len - *at, marks[0], strlen(marks[0]));
    if (!open)
      break;
    size_t begin = (size_t)(open - text) + strlen(marks[0]);
    const char *close = memmem(text + begin, code->len - begin, marks[1], strlen(marks[1]));
    if (!close)
      break;
    *out = (struct line){text + begin, (size_t)(close - text) - begin};
    *at = (size_t)(close - text) + strlen(marks[1]);
    if (bare_has_entry(l, out->text, out->len))
      return true;
  }
  return false;
}

static enum unwrapped take_cdata(const struct model_language *l, const struct buf *code, struct buf *out,
                                 const char **how) {
  static const char *const marks[2] = {"<![CDATA[", "]]>"};
  struct line data;
  bool found = false;
  enum bare_entry best = BARE_NAMED;
  for (size_t at = 0; between(l, code, marks, &at, &data); found = true) {
    enum bare_entry entry = bare_entry(l, data.text, data.len);
    if (entry < best)
      continue;
    best = entry;
    size_t skip = data.len && data.text[0] == '\n';
    buf_clear(out);
    buf_append(out, data.text + skip, data.len - skip);
  }
  *how = "from CDATA";
  return found ? UNWRAP_TAKEN : UNWRAP_NOTHING;
}

// A script with the file in a string of three quotation marks, where the language itself has none.
static enum unwrapped take_string(const struct model_language *l, const struct buf *code, struct buf *out,
                                  const char **how) {
  static const char *const quotes[][2] = {{"\"\"\"", "\"\"\""}, {"'''", "'''"}};
  const char *text = buf_str(code);
  for (size_t q = 0; l->braces && q < 2; q++) {
    struct line s;
    size_t at = 0;
    if (!between(l, code, quotes[q], &at, &s))
      continue;
    size_t before = (size_t)(s.text - text) - 3;
    if (bare_has_entry(l, text, before))
      continue;
    bool raw = before > 0 && (text[before - 1] == 'r' || text[before - 1] == 'R');
    bool format = before > 0 && (text[before - 1] == 'f' || text[before - 1] == 'F');
    size_t skip = starts(&s, "\\\n") ? 2 : starts(&s, "\n");
    for (int i = 0; l->tags[i] && before == 0; i++) { // it stands for a fence
      size_t k = strlen(l->tags[i]);
      if (starts(&s, l->tags[i]) && s.len > k && s.text[k] == '\n') {
        raw = true;
        skip = k + 1;
      }
    }
    if (format || (!raw && memchr(s.text + skip, '\\', s.len - skip))) {
      *how = "a script would change the text of that string: the file itself is asked for";
      return UNWRAP_UNCLEAR;
    }
    buf_append(out, s.text + skip, s.len - skip);
    *how = "from a string in a script";
    return UNWRAP_TAKEN;
  }
  return UNWRAP_NOTHING;
}

// --- all of them

enum unwrapped unwrap_code(const struct model_language *l, struct buf *code, const char **how) {
  static enum unwrapped (*const steps[])(const struct model_language *, const struct buf *, struct buf *,
                                         const char **) = {take_listing, take_magic, take_document,
                                                           take_added,   take_cdata, take_string};
  enum unwrapped result = UNWRAP_NOTHING;
  for (size_t i = 0; i < sizeof steps / sizeof *steps && !code->failed; i++) {
    struct buf inner = {0};
    const char *why = "";
    enum unwrapped what = steps[i](l, code, &inner, &why);
    if (what != UNWRAP_NOTHING)
      *how = why;
    if (what == UNWRAP_TAKEN) {
      bool failed = inner.failed;
      buf_release(code);
      *code = inner;
      code->failed = failed;
      result = what;
    } else {
      buf_release(&inner);
    }
    if (what == UNWRAP_UNCLEAR)
      return what;
  }
  return result;
}
