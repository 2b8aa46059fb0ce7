// SPDX-License-Identifier: Apache-2.0
#include "judge/load.h"

#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

// Of the machine's processors, taken by others. At three quarters a kernel with as many threads gets half of what it
// asks for, or less.
static const double TOO_MUCH = 0.75, FELT = 0.25;

// The load average counts what waits, too, and our own part of it. It is that of a minute.
static const double TOO_MUCH_AVERAGE = 2;

static double seconds(struct timeval t) {
  return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

// Of a process that runs, by its stat file: proc(5), fields 14 and 15. 0 when it is gone, NaN when it is hidden from
// us.
static double process_s(const char *proc, long pid, double tick_s) {
  char path[4096], text[1024];
  unsigned long user = 0, system = 0;
  snprintf(path, sizeof path, "%s/%ld/stat", proc, pid);
  FILE *f = fopen(path, "re");
  if (!f)
    return kill((pid_t)pid, 0) == 0 ? NAN : 0;
  const char *end = fgets(text, sizeof text, f) ? strrchr(text, ')') : NULL; // a name may hold anything
  fclose(f);
  if (!end || sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
    return NAN;
  return (double)(user + system) * tick_s;
}

// Of the children that each thread of this process has, while they run. NaN where that cannot be known: then others
// would be blamed for what is ours.
static double children_s(const char *proc, double tick_s) {
  char folder[4096], path[4096 + 300];
  double all = 0;
  bool any = false;
  long pid;
  snprintf(folder, sizeof folder, "%s/self/task", proc);
  DIR *dir = opendir(folder);
  for (struct dirent *e; dir && (e = readdir(dir));) {
    snprintf(path, sizeof path, "%s/%s/children", folder, e->d_name);
    FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "re");
    if (!f)
      continue;
    any = true;
    while (fscanf(f, "%ld", &pid) == 1)
      all += process_s(proc, pid, tick_s);
    fclose(f);
  }
  if (dir)
    closedir(dir);
  return any ? all : NAN;
}

static double own_s(const char *proc, double tick_s) {
  struct rusage self = {0}, ended = {0};
  getrusage(RUSAGE_SELF, &self);
  getrusage(RUSAGE_CHILDREN, &ended);
  return seconds(self.ru_utime) + seconds(self.ru_stime) + seconds(ended.ru_utime) + seconds(ended.ru_stime) +
         children_s(proc, tick_s);
}

// Lines "cpu3 user nice system idle iowait irq softirq steal ..." of /proc/stat. `mine`: those that this process may
// use; NULL: all.
static void add_cpus(FILE *f, const cpu_set_t *mine, double tick_s, struct load_look *out) {
  char line[512];
  rewind(f);
  while (fgets(line, sizeof line, f)) {
    int number;
    unsigned long long t[8] = {0};
    int n = sscanf(line, "cpu%d %llu %llu %llu %llu %llu %llu %llu %llu", &number, &t[0], &t[1], &t[2], &t[3], &t[4],
                   &t[5], &t[6], &t[7]);
    bool one = strncmp(line, "cpu", 3) == 0 && isdigit((unsigned char)line[3]); // not "cpu", all of them
    if (!one || n < 5 || (mine && (number < 0 || number >= CPU_SETSIZE || !CPU_ISSET((size_t)number, mine))))
      continue;
    double busy = (double)(t[0] + t[1] + t[2] + t[5] + t[6]) * tick_s, stolen = (double)t[7] * tick_s;
    out->cpus++;
    out->busy_s += busy;
    out->stolen_s += stolen;
    out->total_s += busy + stolen + (double)(t[3] + t[4]) * tick_s;
  }
}

int64_t load_oom_kills(const char *proc) {
  char path[4096], line[256];
  long long kills = -1;
  snprintf(path, sizeof path, "%s/vmstat", proc ? proc : "/proc");
  FILE *f = fopen(path, "re");
  while (f && kills < 0 && fgets(line, sizeof line, f))
    if (sscanf(line, "oom_kill %lld", &kills) != 1)
      kills = -1;
  if (f)
    fclose(f);
  return kills;
}

void load_look(const char *proc, struct load_look *out) {
  char path[4096];
  cpu_set_t mine;
  double tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK);
  proc = proc ? proc : "/proc";
  *out = (struct load_look){.at_ns = clock_monotonic_ns(), .average = NAN};
  snprintf(path, sizeof path, "%s/stat", proc);
  FILE *f = fopen(path, "re");
  if (f && sched_getaffinity(0, sizeof mine, &mine) == 0)
    add_cpus(f, &mine, tick_s, out);
  if (f && out->cpus == 0)
    add_cpus(f, NULL, tick_s, out);
  if (f)
    fclose(f);
  snprintf(path, sizeof path, "%s/loadavg", proc);
  f = fopen(path, "re");
  if (f && fscanf(f, "%lf", &out->average) != 1)
    out->average = NAN;
  if (f)
    fclose(f);
  out->own_s = own_s(proc, tick_s);
  out->known = out->cpus > 0;
}

struct assay_load load_between(const struct load_look *before, const struct load_look *after) {
  struct assay_load l = {.average = NAN, .others = NAN, .stolen = NAN};
  double passed_s = (double)(after->at_ns - before->at_ns) * 1e-9;
  if (!before->known || !after->known || before->cpus != after->cpus)
    return l;
  l.known = true;
  l.cpus = after->cpus;
  l.average = after->average;
  double own_s = after->own_s - before->own_s;
  if (!(after->total_s > before->total_s) || !(passed_s > 0) || isnan(own_s))
    return l;
  l.others = fmax(0, after->busy_s - before->busy_s - own_s) / passed_s;
  l.stolen = fmax(0, after->stolen_s - before->stolen_s) / passed_s;
  return l;
}

static bool takes(const struct assay_load *l, double part) {
  return l->known && l->others + l->stolen >= part * l->cpus;
}

bool load_is_too_much(const struct assay_load *l) {
  if (l->known && isnan(l->others))
    return l->average >= TOO_MUCH_AVERAGE * l->cpus;
  return takes(l, TOO_MUCH);
}

bool load_is_felt(const struct assay_load *l) {
  return load_is_too_much(l) || takes(l, FELT);
}

bool load_shows_in(const struct assay_verdict *v) {
  return v->times_rank_nothing || strcmp(v->mode, "process") == 0;
}

const char *load_text(const struct assay_load *l, char *text, size_t size) {
  char stolen[64] = "", average[32] = "unknown";
  if (l->stolen > 0.05 * l->cpus)
    snprintf(stolen, sizeof stolen, ", %.0f %% of the time stolen,", 100 * l->stolen / l->cpus);
  if (!isnan(l->average))
    snprintf(average, sizeof average, "%.3g", l->average);
  snprintf(text, size, "load %s%s on %d CPU%s", average, stolen, l->cpus, l->cpus == 1 ? "" : "s");
  return text;
}
