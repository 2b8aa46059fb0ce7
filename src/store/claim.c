// SPDX-License-Identifier: Apache-2.0
// Claims: who is judging what. A claim names a process by boot id, pid and start time, so that one left behind by a
// process that was killed, or from before the machine was started again, no longer holds.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/db.h"

enum { BOOT_BYTES = 64 };

struct holder {
  char boot[BOOT_BYTES];
  int64_t pid, start; // start: clock ticks since boot
};

// The first bytes of a small file of /proc, as a string; false when it cannot be read.
static bool read_small(const char *path, char *text, size_t size) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return false;
  ssize_t n = read(fd, text, size - 1);
  close(fd);
  text[n > 0 ? n : 0] = '\0';
  return n > 0;
}

// The start time of a process (proc(5), stat, field 22); 0 for a zombie, -1 when there is none to read. The second
// field is a name in parentheses that may hold anything, so the fields are counted from its end.
static int64_t process_start(int64_t pid) {
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
  if (!read_small(path, text, sizeof text))
    return -1;
  const char *at = strrchr(text, ')');
  if (!at || at[1] == '\0')
    return -1;
  if (at[2] == 'Z' || at[2] == 'X')
    return 0;
  for (int field = 2; field < 22; field++) {
    at = strchr(at + 1, ' ');
    if (!at)
      return -1;
  }
  return strtoll(at + 1, NULL, 10);
}

static void holder_self(struct holder *h) {
  memset(h, 0, sizeof *h);
  if (read_small("/proc/sys/kernel/random/boot_id", h->boot, sizeof h->boot))
    h->boot[strcspn(h->boot, "\n")] = '\0';
  h->pid = getpid();
  h->start = process_start(h->pid);
}

static bool holder_lives(const struct holder *h, const struct holder *self) {
  if (strcmp(h->boot, self->boot) != 0 || h->pid <= 0 || h->pid > INT32_MAX)
    return false;
  int64_t start = process_start(h->pid);
  if (start == -1) // hidden from us, or gone
    return kill((pid_t)h->pid, 0) == 0 || errno == EPERM;
  return start == h->start;
}

// Of a row that begins with boot, pid, start.
static struct holder take_holder(sqlite3_stmt *st) {
  struct holder h = {.pid = sqlite3_column_int64(st, 1), .start = sqlite3_column_int64(st, 2)};
  snprintf(h.boot, sizeof h.boot, "%s", db_text_at(st, 0));
  return h;
}

// The holder of the key's claim; *found is false when nobody has one.
static enum assay_status claim_holder(struct store *s, const struct store_verdict *key, struct holder *h, bool *found,
                                      struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  int next, code = SQLITE_OK;
  enum assay_status status =
      db_prepare_key(s,
                     "SELECT boot, pid, start FROM claim WHERE run = ? AND task = ? AND form = ? AND workload = ? AND "
                     "device = ? AND candidate_hash = ? AND settings_hash = ?",
                     key, &st, &next, err);
  if (!status) {
    code = sqlite3_step(st);
    status = db_check(s, code, "read a claim", err);
  }
  *found = code == SQLITE_ROW;
  if (*found)
    *h = take_holder(st);
  sqlite3_finalize(st);
  return status;
}

static enum assay_status write_claim(struct store *s, const struct store_verdict *key, const struct holder *self,
                                     struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  int at;
  enum assay_status status =
      db_prepare_key(s,
                     "INSERT OR REPLACE INTO claim (run, task, form, workload, device, candidate_hash, settings_hash, "
                     "boot, pid, start, at_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                     key, &st, &at, err);
  if (!status) {
    db_bind_text(st, at++, self->boot); // short: cannot fail
    sqlite3_bind_int64(st, at++, self->pid);
    sqlite3_bind_int64(st, at++, self->start);
    sqlite3_bind_int64(st, at++, clock_wall_ns());
    status = db_check(s, sqlite3_step(st), "write a claim", err);
  }
  sqlite3_finalize(st);
  return status;
}

enum assay_status claim_of_run(struct store *s, const char *run, int64_t *pid, struct assay_error *err) {
  sqlite3_stmt *st = NULL;
  struct holder self;
  int code = SQLITE_ROW;
  *pid = 0;
  holder_self(&self);
  enum assay_status status = db_prepare(s, "SELECT DISTINCT boot, pid, start FROM claim WHERE run = ?", &st, err);
  if (!status)
    status = db_check(s, db_bind_text(st, 1, run), "use a run's name", err);
  while (!status && *pid == 0 && code == SQLITE_ROW) {
    code = sqlite3_step(st);
    status = db_check(s, code, "read claims", err);
    if (status || code != SQLITE_ROW)
      break;
    struct holder h = take_holder(st);
    *pid = holder_lives(&h, &self) ? h.pid : 0;
  }
  sqlite3_finalize(st);
  return status;
}

enum assay_status store_unclaim(struct store *s, const struct store_verdict *key, struct assay_error *err) {
  struct holder self;
  sqlite3_stmt *st = NULL;
  int at;
  holder_self(&self);
  enum assay_status status =
      db_prepare_key(s,
                     "DELETE FROM claim WHERE run = ? AND task = ? AND form = ? AND workload = ? AND device = ? AND "
                     "candidate_hash = ? AND settings_hash = ? AND boot = ? AND pid = ? AND start = ?",
                     key, &st, &at, err);
  if (!status) {
    db_bind_text(st, at++, self.boot); // short: cannot fail
    sqlite3_bind_int64(st, at++, self.pid);
    sqlite3_bind_int64(st, at++, self.start);
    status = db_check(s, sqlite3_step(st), "release a claim", err);
  }
  sqlite3_finalize(st);
  return status;
}

enum assay_status store_claim(struct store *s, const struct store_verdict *key, bool *claimed,
                              struct assay_error *err) {
  struct holder self, holder = {0};
  bool finished = false, held = false, mine = false;
  holder_self(&self);
  enum assay_status status = db_begin(s, err);
  if (status)
    return status;
  status = store_has(s, key, &finished, err);
  if (!status && !finished)
    status = claim_holder(s, key, &holder, &held, err);
  if (!status && !finished) {
    bool own = held && holder.pid == self.pid && holder.start == self.start && strcmp(holder.boot, self.boot) == 0;
    mine = own || !held || !holder_lives(&holder, &self);
    if (mine && !own)
      status = write_claim(s, key, &self, err);
  }
  status = db_end(s, status, err);
  if (!status)
    *claimed = mine;
  return status;
}
