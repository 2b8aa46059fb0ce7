// SPDX-License-Identifier: Apache-2.0
#include "sandbox/starved.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limit.h"
#include "base/parallel.h"
#include "sandbox/group.h"

void starved_init(struct starved *s, pid_t group, int64_t start_ns) {
  s->group = group;
  s->looked_ns = start_ns;
  s->total_ns = 0;
  s->last = 0;
  s->looks[0].n = 0;
}

// The first two numbers of a thread's schedstat: what it ran, and what it was ready to run and had no processor.
static void note_thread(struct starved_look *look, int tasks, const char *id) {
  char path[64], text[128];
  long long run = 0, waited = 0;
  snprintf(path, sizeof path, "%.20s/schedstat", id);
  int fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (fd >= 0)
    close(fd);
  text[n > 0 ? n : 0] = '\0';
  if (look->n == STARVED_THREADS || sscanf(text, "%lld %lld", &run, &waited) != 2)
    return;
  look->ids[look->n] = (pid_t)strtol(id, NULL, 10);
  look->run_ns[look->n] = run;
  look->waited_ns[look->n++] = waited;
}

static void note_process(void *arg, int proc, const char *pid) {
  char path[64];
  snprintf(path, sizeof path, "%.20s/task", pid);
  int fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *tasks = fd < 0 ? NULL : fdopendir(fd);
  for (struct dirent *e; tasks && (e = readdir(tasks));)
    if (e->d_name[0] != '.')
      note_thread(arg, dirfd(tasks), e->d_name);
  if (tasks)
    closedir(tasks);
  else if (fd >= 0)
    close(fd);
}

// What thread i did since the look before; one that is new did all of it.
static void since(const struct starved_look *before, const struct starved_look *now, int i, int64_t *waited_ns,
                  int64_t *run_ns) {
  *waited_ns = now->waited_ns[i];
  *run_ns = now->run_ns[i];
  for (int k = 0; k < before->n; k++)
    if (before->ids[k] == now->ids[i]) {
      *waited_ns -= before->waited_ns[k];
      *run_ns -= before->run_ns[k];
    }
}

void starved_note(struct starved *s, int64_t now_ns) {
  const struct starved_look *before = &s->looks[s->last];
  struct starved_look *now = &s->looks[1 - s->last];
  int64_t most_ns = 0, cpu_ns = 0;
  now->n = 0;
  group_each(s->group, note_process, now);
  for (int i = 0; i < now->n; i++) {
    int64_t waited_ns, run_ns;
    since(before, now, i, &waited_ns, &run_ns);
    most_ns = waited_ns > most_ns ? waited_ns : most_ns;
    cpu_ns += run_ns > 0 ? run_ns : 0;
  }
  s->total_ns += limit_starved_ns(most_ns, now_ns - s->looked_ns, cpu_ns, parallel_cpus());
  s->looked_ns = now_ns;
  s->last = 1 - s->last;
}
