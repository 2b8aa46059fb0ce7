// SPDX-License-Identifier: Apache-2.0
// assay serve: the judge as a service.
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/build_id.h"
#include "base/file.h"
#include "cli/interrupt.h"
#include "cli/serving.h"
#include "serve/token.h"

enum {
  KEY_ADDRESS = 3000,
  KEY_PORT,
  KEY_HOST,
  KEY_TOKENS,
  KEY_ADD_TOKEN,
  KEY_RUN,
  KEY_SITE,
  KEY_DEVICES,
  KEY_SLOTS,
  KEY_QUEUE,
  KEY_RATE,
  KEY_CONNECTIONS,
  KEY_PER_ADDRESS,
  KEY_TIMEOUT,
  KEY_LIMIT,
  KEY_DRAIN,
  KEY_WORKER,
  KEY_LIVE,
  KEY_BUILDERS,
};
static const int64_t SECOND = 1000000000;

static const struct argp_option options[] = {
    {"address", KEY_ADDRESS, "ADDRESS", 0, "listen there (default 127.0.0.1: this machine alone)", 0},
    {"port", KEY_PORT, "N", 0, "listen on this port (default 8023; 0: any that is free)", 0},
    {"host", KEY_HOST, "NAME", 0, "a name that clients know this server by, besides localhost; may be repeated", 0},
    {"token-file", KEY_TOKENS, "FILE", 0, "who may submit and cancel (default: nobody, the server is read only)", 0},
    {"add-token", KEY_ADD_TOKEN, "NAME", 0, "make a token for NAME, print it, add its hash to --token-file, and end",
     0},
    {"run", KEY_RUN, "NAME", 0, "the run that verdicts go to (default: serve)", 0},
    {"site", KEY_SITE, "DIR", 0, "also serve the pages that `assay report --html DIR` made", 0},
    {"live", KEY_LIVE, 0, 0,
     "make the pages of --site DIR, and make them again as verdicts come: when nothing is being judged, or half a "
     "minute later",
     0},
    {"devices", KEY_DEVICES, "LIST", 0,
     "what to judge on, separated by commas: cpu, cuda:0, cuda:1, opencl:0 (default cpu, with an NVIDIA driver cuda:0 "
     "too)",
     0},
    {"cpu-slots", KEY_SLOTS, "N", 0,
     "how many jobs without times may be judged on the CPU at once (default 1); one with times is alone there", 0},
    {"builders", KEY_BUILDERS, "N", 0,
     "how many candidates a device other than the CPU has at once: one is tested there, alone, and the others are "
     "built "
     "meanwhile (default 2 on a GPU, 1 elsewhere)",
     0},
    {"queue", KEY_QUEUE, "N", 0, "at most so many jobs wait (default 1000)", 0},
    {"rate", KEY_RATE, "N", 0, "at most so many submissions a minute of one token (default 120)", 0},
    {"connections", KEY_CONNECTIONS, "N", 0, "at most so many at once (default 512)", 0},
    {"connections-per-address", KEY_PER_ADDRESS, "N", 0, "of these, of one client's address (default 64)", 0},
    {"timeout", KEY_TIMEOUT, "SECONDS", 0, "for a request to arrive, and for an idle connection (default 15)", 0},
    {"limit", KEY_LIMIT, "SECONDS", 0, "for one judgement (default 900)", 0},
    {"drain", KEY_DRAIN, "SECONDS", 0, "at the end, wait so long for what is being judged (default 60)", 0},
    {"worker", KEY_WORKER, 0, OPTION_HIDDEN, "judge what is queued: started by the server itself", 0},
    {0},
};

static long number(const struct argp_state *state, const char *name, const char *arg, long low, long high) {
  char *end;
  long n = strtol(arg, &end, 10);
  if (end == arg || *end || n < low || n > high)
    argp_error(state, "--%s takes a whole number from %ld to %ld, not '%s'", name, low, high, arg);
  return n;
}

static void take_number(const struct argp_state *state, struct serving *a, int key, const char *arg) {
  struct serve_options *o = &a->options;
  switch (key) {
  case KEY_PORT:
    o->port = (int)number(state, "port", arg, 0, 65535);
    break;
  case KEY_SLOTS:
    a->cpu_slots = (int)number(state, "cpu-slots", arg, 1, SERVE_MOST_UNITS);
    break;
  case KEY_BUILDERS:
    a->builders = (int)number(state, "builders", arg, 1, 8);
    break;
  case KEY_QUEUE:
    o->most_waiting = number(state, "queue", arg, 1, 1000000);
    break;
  case KEY_RATE:
    o->rate = (int)number(state, "rate", arg, 1, 1000000);
    break;
  case KEY_CONNECTIONS:
    o->connections = (int)number(state, "connections", arg, 4, 100000);
    break;
  case KEY_PER_ADDRESS:
    o->connections_per_address = (int)number(state, "connections-per-address", arg, 1, 100000);
    break;
  case KEY_TIMEOUT:
    o->timeout_s = (int)number(state, "timeout", arg, 1, 3600);
    break;
  case KEY_LIMIT:
    o->limit_ns = number(state, "limit", arg, 1, 86400) * SECOND;
    break;
  default:
    a->drain_ns = number(state, "drain", arg, 0, 86400) * SECOND;
  }
}

// After --worker: the unit, its device, its index.
static error_t take_word(const struct argp_state *state, struct serving *a, const char *arg, int n) {
  if (n > 3)
    return ARGP_ERR_UNKNOWN;
  if (n == 0)
    a->worker = arg;
  else if (n == 1)
    a->worker_device = arg;
  else if (n == 2)
    a->worker_index = (int)number(state, "worker", arg, 0, 63);
  else
    a->worker_ahead = true;
  return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state) {
  struct serving *a = state->input;
  struct serve_options *o = &a->options;
  if ((key >= KEY_SLOTS && key <= KEY_DRAIN) || key == KEY_BUILDERS) {
    take_number(state, a, key, arg);
    return 0;
  }
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = &a->judging;
    return 0;
  case KEY_PORT:
    take_number(state, a, key, arg);
    return 0;
  case KEY_ADDRESS:
    o->address = arg;
    return 0;
  case KEY_HOST:
    if (o->n_hosts == SERVE_MOST_HOSTS)
      argp_error(state, "at most %d --host", SERVE_MOST_HOSTS);
    o->hosts[o->n_hosts++] = arg;
    return 0;
  case KEY_TOKENS:
    o->token_file = arg;
    return 0;
  case KEY_ADD_TOKEN:
    a->add_token = arg;
    return 0;
  case KEY_RUN:
    a->run = arg;
    return 0;
  case KEY_SITE:
    o->site = arg;
    return 0;
  case KEY_DEVICES:
    a->devices = arg;
    return 0;
  case KEY_LIVE:
    a->live = true;
    return 0;
  case KEY_WORKER:
    a->worker = "";
    return 0;
  case ARGP_KEY_END:
    if (a->live && !o->site)
      argp_error(state, "--live makes the pages of a folder: --site DIR --live");
    if (a->judging.tasks && access(a->judging.tasks, R_OK | X_OK) != 0)
      argp_error(state, "--tasks %s: %s", a->judging.tasks, strerror(errno));
    return 0;
  case ARGP_KEY_ARG:
    if (!a->worker)
      argp_error(state, "serve takes options only, not '%s'", arg);
    return take_word(state, a, arg, (int)state->arg_num);
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .children = cli_server_child,
    .doc = "Serves the queue and the verdicts of a store over HTTP, and judges what is submitted. Without --token-file "
           "nobody can submit; only this machine can connect unless --address says otherwise. SIGTERM or Ctrl-C ends "
           "it in good order; what was accepted is never lost.\vdocs/serving.md explains the interface, the limits and "
           "how to put a proxy with TLS in front of it.",
};

// "cuda:1"; a device without a number is its first.
static enum assay_status add_unit(struct serving *a, const char *text, size_t n, struct assay_error *err) {
  char name[32];
  const struct plan_device *device;
  size_t colon = n;
  if (n == 0 || n >= sizeof name - 4)
    return error_set(err, ASSAY_ERR_USAGE, "--devices: '%.*s' is no device", (int)n, text);
  memcpy(name, text, n);
  name[n] = '\0';
  colon = strcspn(name, ":");
  int index = name[colon] ? atoi(name + colon + 1) : 0;
  if (name[colon] && (strspn(name + colon + 1, "0123456789") != n - colon - 1 || colon + 1 == n || index > 63))
    return error_set(err, ASSAY_ERR_USAGE, "--devices: '%s' is no device; write cuda:1 for the second GPU", name);
  name[colon] = '\0';
  enum assay_status status = plan_device_parse(name, &device, err);
  int copies = 1;
  if (!status && device == &plan_device_cpu)
    copies = a->cpu_slots;
  else if (!status)
    copies = a->builders ? a->builders : device->gpu ? 2 : 1;
  for (int i = 0; i < copies && !status; i++) {
    struct serve_unit *u = &a->units[a->options.n_units];
    if (a->options.n_units == SERVE_MOST_UNITS)
      return error_set(err, ASSAY_ERR_USAGE, "at most %d workers", SERVE_MOST_UNITS);
    snprintf(u->device, sizeof u->device, "%s", device->name);
    snprintf(u->name, sizeof u->name, "%.20s:%d", device->name, index);
    u->index = index;
    u->ahead = device != &plan_device_cpu && copies > 1;
    a->options.n_units++;
  }
  return status;
}

static enum assay_status find_units(struct serving *a, struct assay_error *err) {
  const char *list = a->devices ? a->devices : cli_has_nvidia() ? "cpu,cuda:0" : "cpu";
  enum assay_status status = ASSAY_OK;
  for (const char *p = list; !status && p; p = strchr(p, ',')) {
    p += *p == ',';
    status = add_unit(a, p, strcspn(p, ","), err);
  }
  a->options.units = a->units;
  return status;
}

static void print_log(void *arg, const char *line) {
  (void)arg;
  fprintf(stderr, "%s\n", line);
}

static int add_token(const struct serving *a) {
  char token[TOKEN_BYTES];
  struct assay_error err = {0};
  if (!a->options.token_file) {
    fprintf(stderr, "assay: say in which file: --token-file FILE --add-token %s\n", a->add_token);
    return CLI_USAGE;
  }
  if (tokens_add(a->options.token_file, a->add_token, token, &err) != ASSAY_OK)
    return cli_fail(&err);
  printf("%s\n", token);
  return CLI_PASS;
}

// Serves until a signal comes.
static int serve(struct serving *a) {
  struct cli_interrupt interrupt = {.finishing = "what is being judged"};
  struct server *server = NULL;
  struct assay_error err = {0};
  signal(SIGPIPE, SIG_IGN);
  enum assay_status status = cli_interrupt_watch(&interrupt, &err);
  if (!status)
    status = serve_start(&a->options, &server, &err);
  if (status)
    return cli_fail(&err);
  bool v6 = strchr(a->options.address, ':') != NULL;
  printf("assay: serving %s on http://%s%s%s:%d/%s\n", a->judging.paths.store, v6 ? "[" : "", a->options.address,
         v6 ? "]" : "", serve_port(server), a->options.token_file ? "" : ", read only");
  fflush(stdout);
  while (!interrupt.stop)
    usleep(50000);
  serve_stop(server, a->drain_ns);
  return CLI_PASS;
}

// A worker is this program with the same options. Defaults that a user may change are passed on.
static int start(struct serving *a, struct store *store) {
  char limit[32];
  snprintf(limit, sizeof limit, "%lld", (long long)(a->options.limit_ns / SECOND));
  const char *worker[12] = {a->judging.paths.program,
                            "serve",
                            "--worker",
                            "--store",
                            a->judging.paths.store,
                            "--run",
                            a->run,
                            "--limit",
                            limit};
  if (a->judging.tasks) { // else they are found in the same way
    worker[9] = "--tasks";
    worker[10] = a->judging.tasks;
  }
  const char *renew[13] = {a->judging.paths.program,
                           "report",
                           "--store",
                           a->judging.paths.store,
                           "--html",
                           a->options.site,
                           "--progress",
                           "none",
                           "--threads",
                           "1"};
  if (a->judging.tasks) {
    renew[10] = "--tasks";
    renew[11] = a->judging.tasks;
  }
  struct serve_options *o = &a->options;
  o->renew = a->live ? renew : NULL;
  o->worker = worker;
  o->version = build_id;
  o->store = a->judging.paths.store;
  o->admit = serving_admit;
  o->admit_arg = a;
  o->log = print_log;
  cli_judging_finish(&a->judging, store);
  store_close(store);
  struct assay_error err = {0};
  enum assay_status status = a->live ? file_make_folders(o->site, &err) : ASSAY_OK;
  if (!status)
    status = serving_find_machine(a, &err);
  return status ? cli_fail(&err) : serve(a);
}

int cli_serve(int argc, char **argv) {
  struct serving a = {.run = "serve", .cpu_slots = 1, .drain_ns = 60 * SECOND};
  struct assay_error err = {0};
  struct store *store = NULL;
  a.options = (struct serve_options){.address = "127.0.0.1",
                                     .port = 8023,
                                     .most_waiting = 1000,
                                     .rate = 120,
                                     .connections = 512,
                                     .connections_per_address = 64,
                                     .timeout_s = 15,
                                     .limit_ns = 900 * SECOND,
                                     .most_faults = 3};
  if (cli_begin(&argp, argc, argv, &a, &a.judging, &err) != ASSAY_OK)
    return cli_fail(&err);
  if (a.worker_device)
    return serving_work(&a);
  if (a.add_token)
    return add_token(&a);
  pthread_mutex_init(&a.lock, NULL);
  enum assay_status status = find_units(&a, &err);
  if (!status)
    status = store_open(a.judging.paths.store, &store, &err);
  int code = status ? cli_fail(&err) : start(&a, store);
  pthread_mutex_destroy(&a.lock);
  return code;
}
