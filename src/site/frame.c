// SPDX-License-Identifier: Apache-2.0
#include "site/frame.h"

#include <string.h>

// As the server sends it, without what <meta> may not say.
static const char policy[] = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
                             "connect-src 'self'; base-uri 'none'; form-action 'self'";

struct address frame_kernel(const struct site_row *row) {
  return (struct address){.place = ADDRESS_KERNEL, .name = row->key};
}

struct address frame_task(const struct site_task *task) {
  return (struct address){.place = ADDRESS_TASK, .name = task->name};
}

struct address frame_level(const struct site_level *level) {
  return (struct address){.place = ADDRESS_LEVEL, .name = level->title};
}

struct address frame_run(const struct site_run *run) {
  return (struct address){.place = ADDRESS_METHOD, .name = run->title};
}

struct address frame_sweep(const struct site_sweep *sweep) {
  return (struct address){.place = ADDRESS_SWEEP, .name = sweep->title};
}

struct address frame_pair(const struct site *site, const struct site_pair *pair) {
  return (struct address){.place = ADDRESS_PAIR, .name = site->runs[pair->a].title, .other = site->runs[pair->b].title};
}

struct address frame_device(const struct site_device *device) {
  return (struct address){.place = ADDRESS_DEVICE, .name = device->name};
}

struct address frame_data(const struct address *page, enum address_format format) {
  struct address data = *page;
  data.format = format;
  return data;
}

static void put_meta(struct html *w, enum html_attribute key, const char *name, const char *content) {
  html_open(w, EL_META);
  html_attr(w, key, name);
  html_attr(w, AT_CONTENT, content);
}

static void put_script(struct html *w, const struct address *at) {
  html_open(w, EL_SCRIPT);
  html_address(w, AT_SRC, at);
  html_attr(w, AT_DEFER, "");
  html_close(w, EL_SCRIPT);
}

static void put_head(struct html *w, const struct site *site, const struct frame *f) {
  html_open(w, EL_HEAD);
  html_open(w, EL_META);
  html_attr(w, AT_CHARSET, "utf-8");
  put_meta(w, AT_HTTP_EQUIV, "Content-Security-Policy", policy);
  put_meta(w, AT_NAME, "viewport", "width=device-width, initial-scale=1");
  put_meta(w, AT_NAME, "description", f->description);
  put_meta(w, AT_NAME, "referrer", "no-referrer");
  html_open(w, EL_TITLE);
  html_printf(w, "%s - Assay", f->title);
  html_close(w, EL_TITLE);
  html_open(w, EL_LINK);
  html_attr(w, AT_REL, "stylesheet");
  html_address(w, AT_HREF, &(struct address){.place = ADDRESS_ASSET, .name = site->style});
  if (f->search)
    put_script(w, &(struct address){.place = ADDRESS_SEARCH, .format = ADDRESS_AS_JS});
  put_script(w, &(struct address){.place = ADDRESS_ASSET, .name = site->script});
  html_close(w, EL_HEAD);
}

static void put_bar(struct html *w, const struct frame *f) {
  static const struct {
    enum address_place place;
    const char *text;
  } links[] = {{ADDRESS_INDEX, "Overview"},
               {ADDRESS_SEARCH, "Search"},
               {ADDRESS_CHEATS, "Cheats"},
               {ADDRESS_READ, "How to read"}};
  html_open(w, EL_HEADER);
  html_attr(w, AT_CLASS, "top");
  html_open(w, EL_DIV);
  html_attr(w, AT_CLASS, "bar");
  html_open(w, EL_A);
  html_attr(w, AT_CLASS, "home");
  html_address(w, AT_HREF, &(struct address){.place = ADDRESS_INDEX});
  html_text(w, "Assay");
  html_close(w, EL_A);
  html_open(w, EL_NAV);
  html_attr(w, AT_ARIA_LABEL, "site");
  for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
    html_open(w, EL_A);
    html_address(w, AT_HREF, &(struct address){.place = links[i].place});
    if (f->at->place == links[i].place)
      html_attr(w, AT_ARIA_CURRENT, "page");
    html_text(w, links[i].text);
    html_close(w, EL_A);
  }
  html_close(w, EL_NAV);
  html_close(w, EL_DIV);
  html_close(w, EL_HEADER);
}

static void put_crumbs(struct html *w, const struct frame *f) {
  if (f->at->place == ADDRESS_INDEX)
    return;
  html_open(w, EL_NAV);
  html_attr(w, AT_CLASS, "crumbs");
  html_attr(w, AT_ARIA_LABEL, "you are here");
  html_open(w, EL_OL);
  html_open(w, EL_LI);
  html_link(w, &(struct address){.place = ADDRESS_INDEX}, "Overview");
  html_close(w, EL_LI);
  for (int i = 0; i < f->n_crumbs; i++) {
    html_open(w, EL_LI);
    html_link(w, &f->crumbs[i].at, f->crumbs[i].text);
    html_close(w, EL_LI);
  }
  html_open(w, EL_LI);
  html_attr(w, AT_ARIA_CURRENT, "page");
  html_element(w, EL_BDI, NULL, f->title);
  html_close(w, EL_LI);
  html_close(w, EL_OL);
  html_close(w, EL_NAV);
}

void frame_begin(struct html *w, struct buf *out, const struct site *site, const struct frame *f) {
  html_page(w, out, f->at);
  html_open(w, EL_HTML);
  html_attr(w, AT_LANG, "en");
  put_head(w, site, f);
  html_open(w, EL_BODY);
  html_open(w, EL_A);
  html_attr(w, AT_CLASS, "skip");
  html_address(w, AT_HREF, &(struct address){.place = ADDRESS_SELF, .fragment = "main"});
  html_text(w, "skip to the content");
  html_close(w, EL_A);
  put_bar(w, f);
  put_crumbs(w, f);
  html_open(w, EL_MAIN);
  html_attr(w, AT_ID, "main");
  html_open(w, EL_H1);
  html_element(w, EL_BDI, NULL, f->title);
  html_close(w, EL_H1);
}

void frame_end(struct html *w, const struct frame *f) {
  char file[ADDRESS_BYTES];
  const struct address csv = frame_data(f->at, ADDRESS_AS_CSV), json = frame_data(f->at, ADDRESS_AS_JSON);
  html_close(w, EL_MAIN);
  html_open(w, EL_FOOTER);
  html_open(w, EL_P);
  html_printf(w, "Assay " ASSAY_VERSION ", page %s", address_file(f->at, file));
  if (f->csv || f->json)
    html_text(w, ". This page's data: ");
  if (f->csv)
    html_link(w, &csv, "CSV");
  if (f->csv && f->json)
    html_text(w, ", ");
  if (f->json)
    html_link(w, &json, "JSON");
  html_close(w, EL_P);
  html_close(w, EL_FOOTER);
  html_close(w, EL_BODY);
  html_close(w, EL_HTML);
}

// A paragraph; what stands between two backticks is code.
static void put_paragraph(struct html *w, const char *class, const char *text) {
  html_open(w, EL_P);
  html_attr(w, AT_CLASS, class);
  for (const char *end; *text; text = end + 1) {
    const size_t n = strcspn(text, "`");
    end = text[n] ? strchr(text + n + 1, '`') : NULL;
    if (!end) { // no pair: as it is
      html_text(w, text);
      break;
    }
    html_bytes(w, text, n);
    html_open(w, EL_CODE);
    html_bytes(w, text + n + 1, (size_t)(end - (text + n + 1)));
    html_close(w, EL_CODE);
  }
  html_close(w, EL_P);
}

void frame_note(struct html *w, const char *text) {
  put_paragraph(w, "note", text);
}

void frame_empty(struct html *w, const char *text) {
  put_paragraph(w, "empty", text);
}

void frame_name(struct html *w, const char *text) {
  enum { ENDING = 4 };
  const size_t length = strlen(text);
  size_t at = 0;
  for (size_t n; at + (n = strcspn(text + at, "_/.")) < length; at += n + 1) {
    html_bytes(w, text + at, n + 1);
    const char *rest = text + at + n + 1;
    if (at + n + 1 + ENDING <= length && (text[at + n] != '.' || strcspn(rest, "_/. ") >= ENDING))
      html_open(w, EL_WBR);
  }
  html_text(w, text + at);
}

void frame_heading(struct html *w, const char *id, const char *text) {
  html_open(w, EL_H2);
  html_attr(w, AT_ID, id);
  frame_name(w, text);
  html_close(w, EL_H2);
}

const char *frame_device_text(const char *device, char *text, size_t size) {
  const char *name = strchr(device, ' ');
  const char *from = name ? name + 1 : device, *comma = strchr(from, ',');
  snprintf(text, size, "%.*s", comma ? (int)(comma - from) : (int)strlen(from), from);
  return text;
}

const char *frame_setting_text(const struct score_setting *s, char *text, size_t size) {
  const char *name = strchr(s->device, ' '),
             *device = name ? name + 1 : s->device; // with its driver: it separates, too
  bool published = strcmp(s->form, "published") == 0, other_rule = s->rule[0] && strcmp(s->rule, "contract") != 0;
  snprintf(text, size, "%s, workload %s%s%s%s%s%s", device, s->workload, published ? ", as published" : "",
           s->contract[0] ? ", contract " : "", s->contract, other_rule ? ", rule " : "", other_rule ? s->rule : "");
  return text;
}

const char *frame_count(int n, const char *one, char text[FRAME_COUNT]) {
  snprintf(text, FRAME_COUNT, "%d %s%s", n, one, n == 1 ? "" : "s");
  return text;
}
