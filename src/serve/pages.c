// SPDX-License-Identifier: Apache-2.0
// What is neither a job nor a verdict: the first page, health, metrics, the description of the interface.
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "serve/server.h"

extern const char code_openapi[]; // openapi.json

enum { MOST_SHOWN = 100 };

enum MHD_Result pages_health(struct call *c) {
  return reply_bytes(c, 200, "text/plain; charset=utf-8", "ok\n", 3);
}

enum MHD_Result pages_ready(struct call *c) {
  if (c->server->draining)
    return reply_problem(c, &(struct problem){.code = 503, .detail = "the server is ending", .retry_s = 5});
  return reply_bytes(c, 200, "text/plain; charset=utf-8", "ready\n", 6);
}

enum MHD_Result pages_openapi(struct call *c) {
  return reply_bytes(c, 200, "application/json", code_openapi, strlen(code_openapi));
}

// Each device once.
static int count_devices(struct server *s, struct metrics_device *out, struct assay_error *err) {
  int n = 0;
  enum assay_status status = ASSAY_OK;
  pthread_mutex_lock(&s->read_lock);
  for (int i = 0; i < s->o->n_units && !status; i++) {
    int k = 0;
    while (k < n && strcmp(out[k].name, s->o->units[i].device) != 0)
      k++;
    if (k < n)
      continue;
    out[n].name = s->o->units[i].device;
    status = queue_count(s->reader, out[n].name, &out[n].count, err);
    n++;
  }
  pthread_mutex_unlock(&s->read_lock);
  return status ? -1 : n;
}

enum MHD_Result pages_metrics(struct call *c) {
  struct metrics_device devices[SERVE_MOST_UNITS];
  struct assay_error err = {0};
  struct buf text = {0};
  int n = count_devices(c->server, devices, &err);
  if (n < 0)
    return reply_failure(c, &err);
  metrics_print(&c->server->metrics, c->server->o, devices, n, clock_wall_ns(), &text);
  enum MHD_Result result =
      text.failed ? reply_json(c, 500, NULL)
                  : reply_bytes(c, 200, "text/plain; version=0.0.4; charset=utf-8", buf_str(&text), text.len);
  buf_release(&text);
  return result;
}

// Text of a client between tags. The queue's names are checked when they come in; this does not rely on it.
static void put_text(struct buf *out, const char *text) {
  for (const char *p = text; *p; p++)
    switch (*p) {
    case '&':
      buf_puts(out, "&amp;");
      break;
    case '<':
      buf_puts(out, "&lt;");
      break;
    case '>':
      buf_puts(out, "&gt;");
      break;
    case '"':
      buf_puts(out, "&quot;");
      break;
    default:
      buf_append(out, p, 1);
    }
}

static bool put_row(void *arg, const struct queue_job *job) {
  struct buf *out = arg;
  buf_printf(out, "<tr><td><a href=\"/v1/%s/%s\">%s</a></td><td>", job->state == QUEUE_DONE ? "verdicts" : "jobs",
             job->identity, queue_state_name(job->state));
  put_text(out, job->task);
  buf_puts(out, "</td><td>");
  put_text(out, job->name);
  buf_puts(out, "</td><td>");
  put_text(out, job->workload);
  buf_puts(out, "</td><td>");
  put_text(out, job->device);
  buf_puts(out, "</td></tr>\n");
  return true;
}

enum MHD_Result pages_queue(struct call *c) {
  struct assay_error err = {0};
  struct buf page = {0};
  buf_puts(&page, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Assay: jobs</title></head>\n"
                  "<body><h1>Jobs</h1>\n<p>The newest first. <a href=\"/v1/openapi.json\">The interface</a>, "
                  "<a href=\"/metrics\">numbers</a>.</p>\n<table><thead><tr><th scope=\"col\">state</th>"
                  "<th scope=\"col\">task</th><th scope=\"col\">candidate</th><th scope=\"col\">workload</th>"
                  "<th scope=\"col\">device</th></tr></thead>\n<tbody>\n");
  pthread_mutex_lock(&c->server->read_lock);
  enum assay_status status = queue_each(c->server->reader, MOST_SHOWN, put_row, &page, &err);
  pthread_mutex_unlock(&c->server->read_lock);
  buf_puts(&page, "</tbody></table>\n</body></html>\n");
  enum MHD_Result result = status        ? reply_failure(c, &err)
                           : page.failed ? reply_json(c, 500, NULL)
                                         : reply_bytes(c, 200, "text/html; charset=utf-8", page.data, page.len);
  buf_release(&page);
  return result;
}

// Where there is no site, the first page is the queue's.
enum MHD_Result pages_index(struct call *c) {
  return pages_queue(c);
}

enum MHD_Result pages_site(struct call *c) {
  struct assay_error err = {0};
  char *data = NULL;
  size_t n = 0;
  const char *type = site_type(c->server->site, c->target, c->start_ns);
  if (!type || site_read(c->server->site, c->target, &data, &n, &err) != ASSAY_OK)
    return type ? reply_failure(c, &err)
                : reply_problem(c, &(struct problem){.code = 404, .detail = "the page is gone"});
  enum MHD_Result result = reply_bytes(c, 200, type, data, n);
  base_free(data);
  return result;
}
