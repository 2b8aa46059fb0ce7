// SPDX-License-Identifier: Apache-2.0
// Readers and submitters on a running `assay serve`, all in this process, on one thread.
//   bench_serve_load PORT TOKEN [--readers N] [--submitters N] [--seconds N] [--pause MS]
// A reader asks for a job, a verdict, the list of jobs, the first page and the numbers in turn, over one connection
// that stays open. A submitter submits a kernel that is new, over another. Each waits for its answer before it asks
// again, and then --pause milliseconds. Prints requests per second, quantiles of the time to the answer's end, and
// errors: anything but 200 and 202, and connections that broke.
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

enum { MOST = 2048, MOST_REQUEST = 2048, MOST_ANSWER = 1 << 18, MOST_TIMES = 1 << 22 };

struct client {
  int fd;
  bool submits, waits;
  long number;
  size_t used;
  int64_t start_ns, due_ns;
  char answer[MOST_ANSWER];
};

struct times {
  double *ms;
  long n, errors, total;
};

struct load {
  int port, epoll, readers, submitters;
  double seconds;
  int64_t pause_ns;
  const char *token;
  char job[128];
  long submitted;
  struct client *clients;
  struct times times[2]; // readers', submitters'
};

static int connect_to(const struct load *l) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
  const struct sockaddr_in to = {
      .sin_family = AF_INET, .sin_port = htons((uint16_t)l->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof to) != 0) {
    perror("connect");
    exit(1);
  }
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  fcntl(fd, F_SETFL, O_NONBLOCK);
  return fd;
}

static int make_request(struct load *l, struct client *c, char *text) {
  char path[160], body[1024];
  static const char *const others[] = {"/v1/jobs", "/", "/metrics"};
  if (!c->submits) {
    long k = c->number++ % 9;
    snprintf(path, sizeof path,
             k < 3   ? "/v1/jobs/%s"
             : k < 6 ? "/v1/verdicts/%s"
                     : "%s",
             k < 6 ? l->job : others[k - 6]);
    return snprintf(text, MOST_REQUEST, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
  }
  int n = snprintf(body, sizeof body,
                   "{\"task\":\"kernelbench/1/19\",\"settings\":{\"timing\":false,\"probes\":false,\"checks\":1},"
                   "\"candidates\":[{\"name\":\"relu.c\",\"source\":\"#include <assay/candidate.h>\\nvoid "
                   "assay_kernel(const struct assay_args *a) {\\n  const float *x = a->inputs[0].data;\\n  float *y = "
                   "a->outputs[0].data;\\n  for (int64_t i = 0; i < assay_count(&a->inputs[0]); i++)\\n    y[i] = x[i] "
                   "< 0 ? 0 : x[i]; // %lld.%ld\\n}\\n\"}]}",
                   (long long)(l->job[0] ? clock_wall_ns() : 0), l->submitted++);
  return snprintf(text, MOST_REQUEST,
                  "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: "
                  "application/json\r\nContent-Length: %d\r\n\r\n%s",
                  l->token, n, body);
}

static void ask(struct load *l, struct client *c) {
  char text[MOST_REQUEST];
  int n = make_request(l, c, text);
  c->start_ns = clock_monotonic_ns();
  c->used = 0;
  c->waits = true;
  if (write(c->fd, text, (size_t)n) != n)
    c->answer[0] = '\0'; // the connection is gone; reading finds that
}

// The length of an answer that is whole; 0: more has to come.
static size_t whole(const struct client *c) {
  const char *end = memmem(c->answer, c->used, "\r\n\r\n", 4);
  const char *length = memmem(c->answer, c->used, "Content-Length: ", 16);
  if (!end || !length)
    return 0;
  size_t n = (size_t)(end + 4 - c->answer) + strtoul(length + 16, NULL, 10);
  return c->used >= n ? n : 0;
}

static void note(struct load *l, struct client *c, bool right) {
  struct times *t = &l->times[c->submits];
  int64_t now = clock_monotonic_ns();
  if (t->n < MOST_TIMES)
    t->ms[t->n++] = (double)(now - c->start_ns) / 1e6;
  t->total++;
  t->errors += !right;
  c->waits = false;
  c->due_ns = now + l->pause_ns;
}

static void hear(struct load *l, struct client *c) {
  ssize_t n = read(c->fd, c->answer + c->used, sizeof c->answer - 1 - c->used);
  if (n < 0 && errno == EAGAIN)
    return;
  if (n <= 0 || c->used + (size_t)n == sizeof c->answer - 1) {
    note(l, c, false);
    close(c->fd);
    c->fd = connect_to(l);
    epoll_ctl(l->epoll, EPOLL_CTL_ADD, c->fd, &(struct epoll_event){.events = EPOLLIN, .data.ptr = c});
    return;
  }
  c->used += (size_t)n;
  c->answer[c->used] = '\0';
  if (c->waits && whole(c) > 0)
    note(l, c, strncmp(c->answer, "HTTP/1.1 200", 12) == 0 || strncmp(c->answer, "HTTP/1.1 202", 12) == 0);
}

// Clients whose pause is over ask; returns for how many milliseconds there is nothing to do.
static int ask_due(struct load *l, int n) {
  int64_t now = clock_monotonic_ns(), next = now + 50000000;
  for (int i = 0; i < n; i++) {
    struct client *c = &l->clients[i];
    if (c->waits)
      continue;
    if (c->due_ns <= now)
      ask(l, c);
    else if (c->due_ns < next)
      next = c->due_ns;
  }
  return (int)((next - now) / 1000000);
}

static void drive(struct load *l) {
  int n = l->readers + l->submitters;
  l->epoll = epoll_create1(EPOLL_CLOEXEC);
  int64_t start = clock_monotonic_ns(), end = start + (int64_t)(l->seconds * 1e9);
  for (int i = 0; i < n; i++) {
    struct client *c = &l->clients[i];
    *c = (struct client){.fd = connect_to(l), .submits = i >= l->readers, .number = i};
    c->due_ns = start + l->pause_ns * i / n; // not all at once
    epoll_ctl(l->epoll, EPOLL_CTL_ADD, c->fd, &(struct epoll_event){.events = EPOLLIN, .data.ptr = c});
  }
  while (clock_monotonic_ns() < end) {
    struct epoll_event events[256];
    int k = epoll_wait(l->epoll, events, 256, ask_due(l, n));
    for (int i = 0; i < k; i++)
      hear(l, events[i].data.ptr);
  }
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void print(const char *what, int clients, struct times *t, double seconds) {
  qsort(t->ms, (size_t)t->n, sizeof *t->ms, by_size);
  printf("%d %s: %.0f requests/s, p50 %.2f ms, p99 %.2f ms, worst %.1f ms, %ld of %ld errors\n", clients, what,
         (double)t->total / seconds, t->n ? t->ms[t->n / 2] : 0, t->n ? t->ms[t->n * 99 / 100] : 0,
         t->n ? t->ms[t->n - 1] : 0, t->errors, t->total);
}

// A job to read, the same in every run: it is waited for.
static void make_job(struct load *l) {
  struct client *c = &l->clients[0];
  *c = (struct client){.fd = connect_to(l), .submits = true};
  fcntl(c->fd, F_SETFL, 0);
  ask(l, c);
  for (int i = 0; i < 2; i++) {
    while (whole(c) == 0) {
      ssize_t n = read(c->fd, c->answer + c->used, sizeof c->answer - 1 - c->used);
      if (n <= 0) {
        fprintf(stderr, "no answer to a submission: %s\n", c->answer);
        exit(1);
      }
      c->used += (size_t)n;
      c->answer[c->used] = '\0';
    }
    const char *id = strstr(c->answer, "\"id\": \"");
    if (!id) {
      fprintf(stderr, "%s\n", c->answer);
      exit(1);
    }
    snprintf(l->job, sizeof l->job, "%.64s", id + 7);
    if (i == 1 && !strstr(c->answer, "\"state\": \"done\"")) {
      fprintf(stderr, "the first job is not judged within a minute\n");
      exit(1);
    }
    char text[256];
    int n = snprintf(text, sizeof text, "GET /v1/jobs/%s?wait=60 HTTP/1.1\r\nHost: localhost\r\n\r\n", l->job);
    c->used = 0;
    if (i == 0 && write(c->fd, text, (size_t)n) != n)
      exit(1);
  }
  close(c->fd);
}

int main(int argc, char **argv) {
  static struct load l = {.readers = 200, .submitters = 50, .seconds = 10};
  for (int i = 3; i + 1 < argc; i += 2) {
    double value = atof(argv[i + 1]);
    if (strcmp(argv[i], "--readers") == 0)
      l.readers = (int)value;
    else if (strcmp(argv[i], "--submitters") == 0)
      l.submitters = (int)value;
    else if (strcmp(argv[i], "--seconds") == 0)
      l.seconds = value;
    else if (strcmp(argv[i], "--pause") == 0)
      l.pause_ns = (int64_t)(value * 1e6);
  }
  if (argc < 3 || l.readers + l.submitters > MOST || l.readers + l.submitters < 1) {
    fprintf(stderr, "usage: bench_serve_load PORT TOKEN [--readers N] [--submitters N] [--seconds N] [--pause MS]\n");
    return 2;
  }
  l.port = atoi(argv[1]);
  l.token = argv[2];
  l.clients = calloc(MOST, sizeof *l.clients);
  for (int i = 0; i < 2; i++)
    l.times[i].ms = calloc(MOST_TIMES, sizeof(double));
  if (!l.clients || !l.times[0].ms || !l.times[1].ms)
    return 1;
  make_job(&l);
  drive(&l);
  print("readers", l.readers, &l.times[0], l.seconds);
  print("submitters", l.submitters, &l.times[1], l.seconds);
  return 0;
}
