// SPDX-License-Identifier: Apache-2.0
#include "model/extract.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/printable.h"
#include "model/bare.h"
#include "model/element.h"
#include "model/fence.h"
#include "model/json_code.h"
#include "model/thoughts.h"
#include "model/tidy.h"
#include "model/unwrap.h"

static bool has_tag(const struct model_language *l, const char *tag, size_t n) {
  for (int i = 0; l->tags[i]; i++)
    if (strlen(l->tags[i]) == n && strncasecmp(l->tags[i], tag, n) == 0)
      return true;
  return false;
}

// --- whether a block is whole

static bool is_whole(const struct model_language *l, const struct fence_block *b, enum model_finish finish) {
  if (b->closed)
    return true;
  if (finish == MODEL_FINISH_LENGTH)
    return false;
  // The last fence was forgotten, or what came was cut: brackets say which, where the language has them.
  return l->braces ? bare_open_brackets(b->text, b->len) == 0 : finish == MODEL_FINISH_STOP;
}

// --- choosing

enum { SCORE_TAG = 1, SCORE_ENTRY = 4, SCORE_WHOLE = 2 };

// What calls the kernel, to show how, is no kernel, and what says "// ... as before" is not all of one.
static int score_of_entry(enum bare_entry e) {
  static const int scores[] = {
      [BARE_NONE] = 0, [BARE_NAMED] = SCORE_ENTRY, [BARE_ELIDED] = SCORE_ENTRY + 1, [BARE_DEFINED] = 2 * SCORE_ENTRY};
  return scores[e];
}

struct choice {
  struct fence_block block;
  int score;
  bool whole, entry, foreign; // foreign: clearly of another language
  bool patch;                 // a block before was one
};

static bool is_foreign(const struct model_language *l, const struct model_language *const *others,
                       const struct fence_block *b) {
  if (bare_has_entry(l, b->text, b->len))
    return false;
  for (int i = 0; others && others[i]; i++) {
    bool tagged = b->tag_len > 0 && has_tag(others[i], b->tag, b->tag_len) && !has_tag(l, b->tag, b->tag_len);
    if (tagged || bare_has_entry(others[i], b->text, b->len))
      return true;
  }
  return false;
}

// Tags of blocks that are no program: shell commands, output, a plan's JSON.
static bool is_no_program(const struct fence_block *b) {
  static const char *const tags[] = {"bash", "sh", "shell", "console", "text", "txt", "output", NULL};
  const struct model_language none = {.tags = tags};
  return b->tag_len > 0 && has_tag(&none, b->tag, b->tag_len);
}

// JSON holds a program in another dress, whatever names are in it.
static bool is_no_source(const struct fence_block *b) {
  static const char *const tags[] = {"json", NULL};
  const struct model_language none = {.tags = tags};
  return b->tag_len > 0 && has_tag(&none, b->tag, b->tag_len);
}

// Changes to a file are no file.
static bool is_patch(const struct model_language *l, const struct fence_block *b) {
  static const char *const tags[] = {"diff", "patch", NULL};
  const struct model_language none = {.tags = tags};
  return unwrap_is_changes(l, b->text, b->len, b->tag_len > 0 && has_tag(&none, b->tag, b->tag_len));
}

static void consider(const struct model_language *l, const struct model_language *const *others,
                     const struct fence_block *b, enum model_finish finish, struct choice *best, bool *any) {
  enum bare_entry entry = bare_entry(l, b->text, b->len);
  struct choice c = {.block = *b, .whole = is_whole(l, b, finish), .entry = entry != BARE_NONE};
  c.foreign = is_foreign(l, others, b);
  bool patch = is_patch(l, b);
  c.patch = best->patch = best->patch || patch;
  if ((is_no_program(b) && !c.entry) || is_no_source(b) || patch || b->len == 0)
    return;
  c.score = (has_tag(l, b->tag, b->tag_len) ? SCORE_TAG : 0) + score_of_entry(entry) + (c.whole ? SCORE_WHOLE : 0) -
            (c.foreign ? 8 : 0);
  if (!*any || c.score >= best->score)
    *best = c;
  *any = true;
}

// A page of Markdown as a block, with the code in a block of its own. Where the outer fence is as long as the inner
// one, the inner one's end has ended both.
static bool consider_inner(const struct model_language *l, const struct model_language *const *others,
                           const struct fence_block *b, enum model_finish finish, struct choice *best, bool *any) {
  struct fence_block inner;
  size_t at = 0;
  bool found = false;
  while (!has_tag(l, b->tag, b->tag_len) && fence_next(b->text, b->len, &at, &inner)) {
    if (!has_tag(l, inner.tag, inner.tag_len))
      continue;
    inner.closed = inner.closed || b->closed;
    consider(l, others, &inner, finish, best, any);
    found = true;
  }
  return found;
}

static void put_block(const struct fence_block *b, struct buf *out) {
  fence_lines(b, out);
  if (!out->failed && tidy_is_escaped(buf_str(out), out->len))
    tidy_unescape(out);
}

// "I cannot help with that", but not "I'm sorry for the confusion" or "I can't see a faster loop".
static bool sounds_like_refusal(const char *text, size_t n) {
  enum { BEGINNING = 400, NEAR = 60 };
  static const char *const whole[] = {"i'm sorry, but", "i\xe2\x80\x99m sorry, but", "i am sorry, but",
                                      "i must decline"};
  static const char *const not_able[] = {"i can't",      "i cannot",     "i can\xe2\x80\x99t",    "i won't",
                                         "i will not",   "i'm unable",   "i\xe2\x80\x99m unable", "i am unable",
                                         "i'm not able", "i am not able"};
  static const char *const to_do[] = {"help",  "assist",   "provide", "comply",   "fulfil",
                                      "write", "generate", "create",  "continue", "do that"};
  size_t first = n < BEGINNING ? n : BEGINNING;
  for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
    if (bare_find(text, first, 0, whole[i]) < first)
      return true;
  for (size_t i = 0; i < sizeof not_able / sizeof *not_able; i++) {
    size_t at = bare_find(text, first, 0, not_able[i]), end = at + NEAR < n ? at + NEAR : n;
    for (size_t k = 0; at < first && k < sizeof to_do / sizeof *to_do; k++)
      if (bare_find(text, end, at, to_do[k]) < end)
        return true;
  }
  return false;
}

static void say(struct model_extract *out, enum model_extraction what, const char *detail) {
  out->what = what;
  snprintf(out->detail, sizeof out->detail, "%s", detail);
}

// The file that the block or the text is, or holds in another dress.
static enum unwrapped take_code(const struct model_language *l, const struct fence_block *b, const char *detail,
                                struct model_extract *out) {
  const char *how = detail;
  struct fence_block own = *b;
  if (!b->closed && l->braces) // sentences may follow where the last fence was forgotten
    own.len = bare_end(b->text, b->len);
  put_block(&own, &out->code);
  enum unwrapped dress = unwrap_code(l, &out->code, &how);
  if (dress == UNWRAP_UNCLEAR)
    buf_clear(&out->code);
  say(out, dress == UNWRAP_UNCLEAR ? MODEL_NO_CODE : MODEL_CODE, how);
  return dress;
}

// Code without a fence.
static bool take_bare(const struct model_language *l, const struct buf *text, struct model_extract *out) {
  const struct fence_block all = {.text = buf_str(text), .len = text->len, .closed = true};
  size_t begin, len;
  enum unwrapped dress = take_code(l, &all, "without a fence", out);
  if (dress == UNWRAP_UNCLEAR || (dress == UNWRAP_TAKEN && bare_looks_like_code(l, buf_str(&out->code), out->code.len)))
    return true; // the whole, or it is said why there is none
  bool found = bare_code(l, buf_str(&out->code), out->code.len, &begin, &len);
  if (found) {
    struct buf whole = out->code;
    const char *t = buf_str(&whole) + begin;
    const struct fence_block b = {.text = t, .len = len, .indent = strspn(t, " \t")};
    out->code = (struct buf){0};
    put_block(&b, &out->code);
    out->code.failed = out->code.failed || whole.failed;
    buf_release(&whole);
  } else {
    buf_clear(&out->code);
  }
  return found;
}

// Without any block of code; patch: but for changes to one.
static void without_block(const struct buf *text, enum model_finish finish, const struct model_language *l,
                          bool unfinished, bool patch, struct model_extract *out) {
  const char *t = buf_str(text);
  struct fence_block element;
  patch = patch || (unwrap_has_patch(t, text->len) && !unwrap_adds_file(l, t, text->len));
  if (json_take_code(l, t, text->len, &out->code))
    say(out, MODEL_CODE, "from JSON");
  else if (element_with_code(l, t, text->len, &element))
    take_code(l, &element, "from between tags", out);
  else if (patch)
    say(out, MODEL_NO_CODE, "the reply is a patch, and no whole file");
  else if (finish != MODEL_FINISH_LENGTH && take_bare(l, text, out))
    return;
  else if (finish == MODEL_FINISH_REFUSED || sounds_like_refusal(t, text->len))
    say(out, MODEL_REFUSED, "the model refused");
  else if (finish == MODEL_FINISH_LENGTH || unfinished)
    say(out, MODEL_CUT_OFF,
        unfinished ? "it was still thinking when its tokens ended" : "its tokens ended before code");
  else
    say(out, MODEL_NO_CODE, text->len ? "there is no code in the reply" : "the reply is empty");
}

// The best of all blocks; false: there is none.
static bool find_block(const struct buf *text, enum model_finish finish, const struct model_language *language,
                       const struct model_language *const *others, int *n_blocks, struct choice *best) {
  struct fence_block b;
  size_t at = 0;
  bool any = false;
  while (!text->failed && text->data && fence_next(text->data, text->len, &at, &b)) {
    ++*n_blocks;
    if (!consider_inner(language, others, &b, finish, best, &any))
      consider(language, others, &b, finish, best, &any);
  }
  return any;
}

// A file whose first fence was forgotten, so that its last one seems to begin a block: what is before it, if that is
// one.
static void take_before_fence(const struct buf *text, const struct model_language *l, struct choice *best) {
  struct fence_block first;
  size_t at = 0, begin, len;
  if (!fence_next(text->data, text->len, &at, &first) || first.tag_len > 0)
    return;
  size_t n = (size_t)(first.text - text->data);
  if (bare_entry(l, text->data, n) < BARE_ELIDED || !bare_code(l, text->data, n, &begin, &len))
    return;
  *best = (struct choice){.block = {.tag = text->data, .text = text->data + begin, .len = len, .closed = true},
                          .whole = true,
                          .entry = true};
}

// <code class="language-c">...</code>, <pre>...</pre>: what web pages and some chats have in the place of fences.
static bool find_element(const struct buf *text, enum model_finish finish, const struct model_language *l,
                         const struct model_language *const *others, int *n_blocks, struct choice *best) {
  const char *t = buf_str(text), *name = bare_find(t, text->len, 0, "<code") < text->len ? "<code" : "<pre";
  const char *end_name = name[1] == 'c' ? "</code>" : "</pre>";
  bool any = false;
  for (size_t at = 0; (at = bare_find(t, text->len, at, name)) < text->len;) {
    const char *close = memchr(t + at, '>', text->len - at);
    size_t begin = close ? (size_t)(close + 1 - t) : text->len, end = bare_find(t, text->len, begin, end_name);
    size_t tag = bare_find(t, begin, at, "language-") + strlen("language-");
    struct fence_block b = {.text = t + begin, .len = end - begin, .closed = end < text->len};
    if (tag < begin) {
      b.tag = t + tag;
      b.tag_len = strcspn(b.tag, "\"' >");
    }
    if (bare_has_entry(l, b.text, b.len)) {
      ++*n_blocks;
      consider(l, others, &b, finish, best, &any);
    }
    at = end;
  }
  return any;
}

// A thought that was never ended, by a model that had come to its end: its last whole block is the answer.
static bool find_in_thought(const struct buf *clean, size_t from, enum model_finish finish,
                            const struct model_language *l, const struct model_language *const *others, int *n_blocks,
                            struct choice *best) {
  const struct buf thought = {.data = clean->data + from, .len = clean->len - from};
  struct choice c = {0};
  int n = 0;
  if (finish == MODEL_FINISH_LENGTH || !find_block(&thought, finish, l, others, &n, &c) || !c.whole || !c.entry)
    return false;
  *best = c;
  *n_blocks += n;
  return true;
}

enum assay_status model_extract(const char *reply, size_t n, enum model_finish finish,
                                const struct model_language *language, const struct model_language *const *others,
                                struct model_extract *out, struct assay_error *err) {
  struct buf clean = {0}, text = {0}, unquoted = {0};
  struct choice best = {0};
  size_t unfinished;
  memset(out, 0, sizeof *out);
  tidy_text(reply, n, &clean);
  thoughts_leave_out(buf_str(&clean), clean.len, &text, &unfinished);
  bool any = find_block(&text, finish, language, others, &out->n_blocks, &best);
  if (any && !best.entry)
    take_before_fence(&text, language, &best);
  if (!any && text.data && bare_unquote(text.data, text.len, &unquoted))
    any = find_block(&unquoted, finish, language, others, &out->n_blocks, &best);
  if (!any && text.data)
    any = find_element(&text, finish, language, others, &out->n_blocks, &best);
  if (!any && unfinished < clean.len)
    any = find_in_thought(&clean, unfinished, finish, language, others, &out->n_blocks, &best);
  if (!any)
    without_block(&text, finish, language, unfinished < clean.len, best.patch, out);
  else if (best.foreign)
    snprintf(out->detail, sizeof out->detail, "the code is %.*s, which was not asked for",
             best.block.tag_len ? (int)(best.block.tag_len < 20 ? best.block.tag_len : 20) : 17,
             best.block.tag_len ? best.block.tag : "in another form");
  else if (!best.whole) {
    say(out, MODEL_CUT_OFF, "the last code block has no end");
    out->begun = true;
  } else
    take_code(language, &best.block, "", out);
  if (any && best.foreign)
    out->what = MODEL_WRONG_LANGUAGE;
  if (out->what == MODEL_CODE && out->code.len == 0)
    say(out, MODEL_NO_CODE, "the code block is empty");
  if (out->code.len > MODEL_MOST_CODE_BYTES) {
    buf_clear(&out->code);
    say(out, MODEL_NO_CODE, "the code is longer than 4 MiB");
  }
  enum assay_status status = clean.failed || text.failed || unquoted.failed ? error_nomem(err, "a model's reply")
                                                                            : buf_status(&out->code, err);
  buf_release(&clean);
  buf_release(&text);
  buf_release(&unquoted);
  if (status)
    model_extract_release(out);
  return status;
}

void model_extract_release(struct model_extract *x) {
  buf_release(&x->code);
}

enum assay_status model_prose(const char *reply, size_t n, struct buf *out, struct assay_error *err) {
  struct buf clean = {0}, text = {0};
  size_t unfinished;
  tidy_text(reply, n, &clean);
  thoughts_leave_out(buf_str(&clean), clean.len, &text, &unfinished);
  size_t from = 0, len = text.len;
  while (from < len && isspace((unsigned char)text.data[from]))
    from++;
  while (len > from && isspace((unsigned char)text.data[len - 1]))
    len--;
  if (len - from > MODEL_MOST_PROSE_BYTES)
    len = from + MODEL_MOST_PROSE_BYTES;
  if (text.data)
    text.data[len] = '\0';
  if (text.data)
    printable(text.data + from);
  for (const char *at = text.data ? text.data + from : ""; *at; at++)
    buf_append(out, strncmp(at, "```", 3) == 0 || strncmp(at, "~~~", 3) == 0 ? "'" : at, 1);
  enum assay_status status = clean.failed || text.failed ? error_nomem(err, "a model's reply") : buf_status(out, err);
  buf_release(&clean);
  buf_release(&text);
  return status;
}
