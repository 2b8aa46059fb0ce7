// SPDX-License-Identifier: Apache-2.0
// Kills a process that writes to the store, at random moments, again and again. After each kill the file is whole,
// every verdict that was acknowledged is there with all its parts, and at most one more is (stored, but killed before
// it could say so).
//
//   store_kill [ROUNDS [SEED]]
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/clock.h"
#include "base/rng.h"
#include "store/store.h"

enum { ROUNDS = 60, SAMPLES = 300, MAX_DELAY_US = 40000 };

// Verdict `number` is a function of its number, so that the reader can check every part.
static struct store_verdict verdict_of(uint64_t number, char *hash, double *samples) {
  snprintf(hash, 32, "%" PRIu64, number);
  for (int i = 0; i < SAMPLES; i++)
    samples[i] = (double)(rng_mix64(number) >> 11) + i;
  return (struct store_verdict){.run = "kill",
                                .task = "t",
                                .form = "default",
                                .workload = "small",
                                .device = "cpu",
                                .candidate_hash = hash,
                                .settings_hash = "s",
                                .seed = number,
                                .n_samples = SAMPLES,
                                .samples_ns = samples};
}

static void child(const char *path, int report, uint64_t first) {
  char hash[32];
  double samples[SAMPLES];
  struct store *s;
  struct assay_error err = {0};
  if (store_open(path, &s, &err) != ASSAY_OK) {
    fprintf(stderr, "child: %s\n", err.message);
    _exit(1);
  }
  for (uint64_t number = first;; number++) {
    struct store_verdict v = verdict_of(number, hash, samples);
    int64_t id;
    bool claimed;
    if (store_claim(s, &v, &claimed, &err) != ASSAY_OK || !claimed || store_put(s, &v, &id, &err) != ASSAY_OK) {
      fprintf(stderr, "child: %s\n", claimed ? err.message : "the claim of a dead process still binds");
      _exit(1);
    }
    if (write(report, &number, sizeof number) != (ssize_t)sizeof number)
      _exit(1);
  }
}

struct tally {
  uint64_t next;
  bool wrong;
};

static bool check(void *arg, const struct store_verdict *v) {
  struct tally *t = arg;
  char hash[32];
  double samples[SAMPLES];
  struct store_verdict w = verdict_of(t->next++, hash, samples);
  t->wrong |= v->seed != w.seed || strcmp(v->candidate_hash, hash) != 0 || v->n_samples != SAMPLES ||
              memcmp(v->samples_ns, samples, sizeof samples) != 0;
  return !t->wrong;
}

static bool integrity_ok(const char *path) {
  sqlite3 *db;
  sqlite3_stmt *st = NULL;
  bool ok = sqlite3_open(path, &db) == SQLITE_OK &&
            sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &st, NULL) == SQLITE_OK &&
            sqlite3_step(st) == SQLITE_ROW && strcmp((const char *)sqlite3_column_text(st, 0), "ok") == 0;
  sqlite3_finalize(st);
  sqlite3_close(db);
  return ok;
}

// One child's life. Returns the number of verdicts it acknowledged.
static uint64_t round_of_killing(const char *path, uint64_t first, useconds_t delay_us) {
  int fds[2];
  uint64_t number, acknowledged = 0;
  if (pipe(fds) != 0)
    exit(3);
  pid_t pid = fork();
  if (pid < 0)
    exit(3);
  if (pid == 0) {
    close(fds[0]);
    child(path, fds[1], first);
  }
  close(fds[1]);
  usleep(delay_us);
  kill(pid, SIGKILL);
  while (read(fds[0], &number, sizeof number) == (ssize_t)sizeof number)
    acknowledged++;
  int status;
  waitpid(pid, &status, 0);
  close(fds[0]);
  if (!WIFSIGNALED(status)) {
    printf("store_kill: the writer failed by itself\n");
    exit(1);
  }
  return acknowledged;
}

int main(int argc, char **argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS, extra = 0;
  uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)clock_wall_ns(), stored = 0;
  char folder[] = "/tmp/store_kill.XXXXXX", path[64], command[64];
  if (!mkdtemp(folder))
    return 3;
  snprintf(path, sizeof path, "%s/store.db", folder);
  for (int i = 0; i < rounds; i++) {
    struct tally t = {0};
    struct store *s;
    struct assay_error err = {0};
    uint64_t expected =
        stored + round_of_killing(path, stored, (useconds_t)(rng_derive(seed, (uint64_t)i) % MAX_DELAY_US));
    enum assay_status status = store_open(path, &s, &err);
    if (!status) {
      status = store_each(s, NULL, check, &t, &err);
      store_close(s);
    }
    if (status || t.wrong || t.next < expected || t.next > expected + 1 || !integrity_ok(path)) {
      printf("store_kill: seed %" PRIu64 ", round %d: %s; %" PRIu64 " verdicts acknowledged, %" PRIu64
             " stored%s; the file is kept: %s\n",
             seed, i, status ? err.message : "opened", expected, t.next, t.wrong ? ", one of them wrong" : "", path);
      return 1;
    }
    extra += t.next > expected;
    stored = t.next;
  }
  printf("store_kill: %d kills, %" PRIu64 " verdicts, %d stored without their acknowledgement; all whole\n", rounds,
         stored, extra);
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command) == 0 && stored > 0 ? 0 : 1;
}
