// SPDX-License-Identifier: Apache-2.0
// The judge as a service: an HTTP interface (docs/serving.md) to the queue in the store (store/queue.h), and the
// processes that judge what is queued.
//
// The server judges nothing itself. Workers are child processes, one for each unit (a GPU, a slot on the CPU): what
// crashes one ends neither the server nor the other workers.
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include <jansson.h>
#include <stddef.h>

#include "store/queue.h"

enum {
  SERVE_MOST_UNITS = 32,
  SERVE_MOST_HOSTS = 16,
  SERVE_MOST_BODY = 4 << 20,   // bytes of a request
  SERVE_MOST_SOURCE = 1 << 20, // bytes of one candidate
  SERVE_MOST_WAIT_S = 60,      // of a long poll
};

// What a worker works with: one process for each.
struct serve_unit {
  char device[32]; // "cuda"
  char name[32];   // "cuda:1"; CPU slots share one name, and with it the processor
  int index;
  // It shares the device with workers of the same name: each builds while another's candidate is tested, and they take
  // turns on the device.
  bool ahead;
};

// One candidate as submitted. Strings are borrowed.
struct serve_candidate {
  const char *task, *workload, *device; // device: NULL is the usual one of the file's ending
  const char *name;
  const char *source;
  size_t source_bytes;
  const json_t *settings; // checked (request.h)
};

// What the judge says of a candidate before it is queued.
struct serve_admission {
  char task[QUEUE_NAME], workload[QUEUE_NAME]; // one name for each, however they were written
  char device[32], toolchain[320], settings_hash[65];
  char kind[320]; // which hardware the device is: times elsewhere mean something else
  bool timed;
};

// Called by any thread. ASSAY_ERR_USAGE, _INVALID, _UNSUPPORTED, _NOT_FOUND, _SYNTAX: the submission is wrong; others:
// the machine failed.
typedef enum assay_status serve_admit(void *arg, const struct serve_candidate *c, struct serve_admission *out,
                                      struct assay_error *err);
// One line of JSON, without its end. Called by any thread.
typedef void serve_log(void *arg, const char *line);

struct serve_options {
  const char *address;                 // "127.0.0.1", "::1"
  int port;                            // 0: any; serve_port() says which
  const char *hosts[SERVE_MOST_HOSTS]; // names that clients may use in addition to loopback's; NULL after the last
  int n_hosts;
  const char *store;      // its file
  const char *token_file; // NULL: read only
  const char *site;       // a folder of pages (site.h) to serve; NULL: none
  // The program that makes these pages again whenever there are new verdicts, with its arguments; NULL: nobody does.
  const char *const *renew;
  const char *version;  // of the judge: part of what a verdict is identified by
  int64_t most_waiting; // jobs
  int rate;             // submissions a minute and token
  int connections, connections_per_address;
  int timeout_s;    // of an idle connection, and of a request that does not come to its end
  int64_t limit_ns; // of one judgement
  int most_faults;  // of the machine, before a job is given up
  const struct serve_unit *units;
  int n_units;
  // A worker's program and its arguments; the name of its unit, its device and index follow. NULL after the last.
  const char *const *worker;
  serve_admit *admit;
  void *admit_arg;
  serve_log *log;
  void *log_arg;
};

struct server;

// Takes the store for itself, recovers what a dead server left, starts workers and listens. ASSAY_ERR_BUSY: another
// server has this store; ASSAY_ERR_USAGE: the token file or an address is wrong; ASSAY_ERR_ENVIRONMENT: the port is
// taken. Options are borrowed until the end. SIGPIPE must be ignored by the caller.
enum assay_status serve_start(const struct serve_options *o, struct server **out, struct assay_error *err);
int serve_port(const struct server *s);
// Ends in good order: no new connections, no new claims, what is on a device is finished, followers hear of it. Waits
// for workers at most `limit_ns`; jobs of those that need longer wait again for the next server.
void serve_stop(struct server *s, int64_t limit_ns);

#endif
