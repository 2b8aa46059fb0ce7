// SPDX-License-Identifier: Apache-2.0
// The store: every verdict with its evidence, in one SQLite file (WAL). Several processes may write at once; a process
// killed at any moment leaves either a whole verdict or none.
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "assay/verdict.h"
#include "base/error.h"

struct store;

enum { STORE_SCHEMA_VERSION = 7 };

// Opens or makes the file (and its folder). ASSAY_ERR_CORRUPT for a file that is no store or fails its check,
// ASSAY_ERR_UNSUPPORTED for a newer schema, ASSAY_ERR_IO when the disk says no; the message says what to do.
enum assay_status store_open(const char *path, struct store **out, struct assay_error *err);
// The same for a file that is there: for who reads alone, and whose mistyped path shall not become a store.
// ASSAY_ERR_NOT_FOUND: there is none, and none was made. Where its folder cannot be written (a read-only file system)
// it is read as a file that nobody changes meanwhile.
enum assay_status store_open_existing(const char *path, struct store **out, struct assay_error *err);
void store_close(struct store *s); // NULL is fine
// A second handle of the same file, for another thread.
enum assay_status store_open_again(const struct store *s, struct store **out, struct assay_error *err);

// One judgement, as stored. Strings are borrowed on the way in and live until the next call on the store on the way
// out. Times in nanoseconds; NaN where there is none.
struct store_verdict {
  int64_t id;                          // 0 when new
  const char *run;                     // name of the run, "" for a single judgement
  const char *task, *task_hash, *form; // form: "default" or "published"
  const char *workload, *device, *candidate, *candidate_hash, *toolchain;
  const char *settings_hash; // of everything that could change the verdict
  enum assay_reason reason;
  const char *detail;          // one line
  double error_z, error_limit; // worst error in units of the scale, and what was allowed
  double time_ns, time_low_ns, time_high_ns, hot_ns, floor_ns;
  bool unstable, suspicious;
  int n_samples;
  const double *samples_ns; // raw samples of the cold times
  uint64_t seed;
  int64_t at_ns;        // wall clock
  const char *machine;  // JSON: processor, kernel, limits in force, compiler, clock and throttle state
  const char *command;  // that repeats it
  const char *evidence; // JSON: facts of every check; of a shared verdict (store_share) that of the first
};

// Whether its time is faster than can be. What has no time is not suspicious; older stores say so of times of 0.
bool store_is_suspicious(const struct store_verdict *v);

// Inserts in one transaction and sets *id. Retries while another process holds the lock.
enum assay_status store_put(struct store *s, const struct store_verdict *v, int64_t *id, struct assay_error *err);

// Inserts what `next` gives until it sets *more to false, in one transaction, all or none; *n: how many. Its verdict is
// borrowed until its next call. ASSAY_ERR_USAGE: the store had a run of that name before. A failure of `next` ends it.
typedef enum assay_status store_supply(void *arg, struct store_verdict *v, bool *more, struct assay_error *err);
enum assay_status store_put_all(struct store *s, store_supply *next, void *arg, int64_t *n, struct assay_error *err);

// Is there a finished verdict of this run for (task, form, workload, device, candidate_hash, settings_hash)? One whose
// reason is JUDGE_FAILED does not count: the machine failed, and the work is still to be done.
enum assay_status store_has(struct store *s, const struct store_verdict *key, bool *found, struct assay_error *err);

// From here on, and for this handle, finished verdicts that are in the store now do not count as finished: all (NULL),
// those of one reason ("timeout"), or passes without a time (STORE_UNTIMED). What is stored from now on does.
#define STORE_UNTIMED "untimed"
enum assay_status store_judge_again(struct store *s, const char *reason, struct assay_error *err);

// Claims the right to judge that key in this run, so that two processes do not both do it: false when another live
// process holds it or it is finished. A claim of a process that died (checked by boot id, pid and its start time) is
// void. store_put of the same key releases it.
enum assay_status store_claim(struct store *s, const struct store_verdict *key, bool *claimed, struct assay_error *err);

// Releases a claim of this process without a verdict; fine where there is none.
enum assay_status store_unclaim(struct store *s, const struct store_verdict *key, struct assay_error *err);

// Calls visit for each verdict of the run (NULL: all), oldest first; stops when it returns false.
typedef bool store_visit(void *arg, const struct store_verdict *v);
enum assay_status store_each(struct store *s, const char *run, store_visit *visit, void *arg, struct assay_error *err);

// The same for the verdicts that stand: of each task and candidate (its path as stored) of the run the newest, which
// supersedes those before, whatever has changed. JUDGE_FAILED says nothing of a candidate and supersedes nothing. Of
// one workload, or of all (NULL): then a verdict at one workload supersedes one at another. STORE_EACH_WORKLOAD: those
// that stand at each workload, as the sizes of a sweep do.
#define STORE_EACH_WORKLOAD "*"
enum assay_status store_each_standing(struct store *s, const char *run, const char *workload, store_visit *visit,
                                      void *arg, struct assay_error *err);

// Their ids, ascending; heap (base_free). For who reads them with several handles at once.
enum assay_status store_list_standing(struct store *s, const char *run, int64_t **ids, int *n, struct assay_error *err);

// The newest finished verdict with this key (as store_has has it); 0: there is none.
enum assay_status store_find(struct store *s, const struct store_verdict *key, int64_t *id, struct assay_error *err);

// The same verdict for another file of the same run and task that is the same kernel: a sample of its own. Copies the
// newest finished one of `key` and its candidate, unless `to` has one that is as new, or there is none; *id is that of
// `to`, 0: none. `hash` is that file's. The evidence is not copied: the new row refers to it.
enum assay_status store_share(struct store *s, const struct store_verdict *key, const char *to, const char *hash,
                              int64_t *id, struct assay_error *err);

// The verdict `from` in another run as well, under the name that the candidate has there; the evidence is copied, since
// either run may be deleted. *id is the copy's.
enum assay_status store_copy(struct store *s, int64_t from, const char *run, const char *candidate, int64_t *id,
                             struct assay_error *err);

// The least time that ranks of the key's task, form, workload and device, in any run: right wherever it was asked, not
// suspicious, of draws that nobody could know. NaN: there is none.
enum assay_status store_least_time(struct store *s, const struct store_verdict *key, double *ns,
                                   struct assay_error *err);

// Calls visit for the verdict of that id. ASSAY_ERR_NOT_FOUND.
enum assay_status store_get(struct store *s, int64_t id, store_visit *visit, void *arg, struct assay_error *err);

// A run, summed up. Strings live until the next call on the store.
struct store_run {
  const char *name;
  const char *workloads, *devices; // all that occur, separated by commas
  int64_t n_verdicts, n_standing;  // all, and those that stand
  int64_t n_passed, n_tasks;       // of those that stand
  int64_t first_ns, last_ns;       // wall clock
};

// Calls visit for each run in the order of their first verdicts; stops when it returns false. Single judgements (the
// name "") are no run.
typedef bool store_run_visit(void *arg, const struct store_run *r);
enum assay_status store_each_run(struct store *s, store_run_visit *visit, void *arg, struct assay_error *err);

// Whether there is a run of that name; else as store_no_run says it.
enum assay_status store_check_run(struct store *s, const char *run, struct assay_error *err);
// ASSAY_ERR_NOT_FOUND: there is no run of that name; which one may be meant.
enum assay_status store_no_run(struct store *s, const char *run, struct assay_error *err);
// What may be meant, as nearest_text() has it ("; did you mean NAME?"). Returns `text`.
const char *store_near_run(struct store *s, const char *run, char *text, size_t size);

// Gives the run's verdicts another name, and its steps (step.h); *n: how many verdicts. ASSAY_ERR_NOT_FOUND: there is
// no such run; ASSAY_ERR_INVALID: the name is empty or, without `merge`, another run's, or a run with steps is to go
// into another; ASSAY_ERR_BUSY: a process is judging it.
enum assay_status store_move_run(struct store *s, const char *run, const char *to, bool merge, int64_t *n,
                                 struct assay_error *err);
// Removes the run's verdicts and steps. The same statuses.
enum assay_status store_delete_run(struct store *s, const char *run, int64_t *n, struct assay_error *err);

// Small facts about machines (the calibrated floor): key to JSON text. Get: ASSAY_ERR_NOT_FOUND; heap string.
enum assay_status store_set_machine(struct store *s, const char *machine, const char *key, const char *value,
                                    struct assay_error *err);
enum assay_status store_get_machine(struct store *s, const char *machine, const char *key, char **value,
                                    struct assay_error *err);
// The same as set for who writes already (a supply of store_put_all).
enum assay_status store_put_machine(struct store *s, const char *machine, const char *key, const char *value,
                                    struct assay_error *err);
// Calls visit for that key of every machine, by machine; stops when it returns false.
typedef bool store_visit_machine(void *arg, const char *machine, const char *value);
enum assay_status store_each_machine(struct store *s, const char *key, store_visit_machine *visit, void *arg,
                                     struct assay_error *err);

#endif
