// SPDX-License-Identifier: Apache-2.0
#include "sandbox/quota.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/group.h"

#define MEMORY_TEXT "its processes had " // quota_is_memory

// Deeper folders and more files than any build makes count as too many bytes: nobody is kept busy counting.
enum { MAX_DEPTH = 32, MAX_FILES = 100000 };
static const int64_t TOO_MANY = INT64_MAX / 2;

struct counter {
  int64_t bytes;
  int files;
};

static bool is_own_name(const char *name) {
  return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

// Adds what is in the folder and closes its descriptor. Links are not followed; what vanishes meanwhile counts nothing.
static void add_folder(int fd, int depth, struct counter *c) {
  DIR *dir = fdopendir(fd);
  if (!dir) {
    close(fd);
    return;
  }
  for (struct dirent *e; c->bytes < TOO_MANY && (e = readdir(dir));) {
    struct stat st;
    if (!is_own_name(e->d_name) || fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    c->bytes += (int64_t)st.st_blocks * 512;
    if (++c->files > MAX_FILES || (S_ISDIR(st.st_mode) && depth == MAX_DEPTH)) {
      c->bytes = TOO_MANY;
    } else if (S_ISDIR(st.st_mode)) {
      int sub = openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      if (sub >= 0)
        add_folder(sub, depth + 1, c);
    }
  }
  closedir(dir);
}

// Adds files that a process has open and that have no name any more. (Two descriptors of one file count twice.)
static void add_removed(int proc, const char *pid, struct counter *c) {
  char path[64];
  snprintf(path, sizeof path, "%.20s/fd", pid);
  int fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *dir = fd < 0 ? NULL : fdopendir(fd);
  if (!dir) {
    if (fd >= 0)
      close(fd);
    return;
  }
  for (struct dirent *e; (e = readdir(dir));) {
    struct stat st;
    if (is_own_name(e->d_name) && fstatat(fd, e->d_name, &st, 0) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 0)
      c->bytes += (int64_t)st.st_blocks * 512;
  }
  closedir(dir);
}

// The sum of the numbers in kB after these names ("\nName:"), in bytes, in a file of a process's folder. -1: it cannot
// be read, or does not have the first of them.
static int64_t add_numbers(int proc, const char *pid, const char *file, const char *const *names) {
  char path[64], text[8192];
  snprintf(path, sizeof path, "%.20s/%s", pid, file);
  int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (fd >= 0)
    close(fd);
  text[n > 0 ? n : 0] = '\0';
  int64_t kib = 0;
  for (int i = 0; names[i]; i++) {
    const char *at = strstr(text, names[i]);
    if (!at && i == 0)
      return -1;
    kib += at ? strtoll(at + strlen(names[i]), NULL, 10) : 0;
  }
  return kib * 1024;
}

// A process's memory, pages of files aside, which the system takes back by itself. Pages that several have count for
// each; with `shared_out` they are shared out among those, which takes the kernel longer to find.
static int64_t memory_of(int proc, const char *pid, bool shared_out) {
  static const char *const all[] = {"\nRssAnon:", "\nRssShmem:", "\nVmSwap:", NULL};
  static const char *const shares[] = {"\nPss_Anon:", "\nPss_Shmem:", "\nSwapPss:", NULL};
  int64_t bytes = shared_out ? add_numbers(proc, pid, "smaps_rollup", shares) : -1;
  if (bytes < 0)
    bytes = add_numbers(proc, pid, "status", all);
  return bytes > 0 ? bytes : 0; // one that has ended has none
}

struct members {
  const struct sandbox_quota *quota;
  struct counter *counter;
  int n;
  int64_t memory_bytes;
};

static void add_member(void *arg, int proc, const char *pid) {
  struct members *m = arg;
  m->n++;
  if (m->quota->folder_bytes)
    add_removed(proc, pid, m->counter);
  if (m->quota->memory_bytes)
    m->memory_bytes += memory_of(proc, pid, false);
}

static void add_share(void *arg, int proc, const char *pid) {
  *(int64_t *)arg += memory_of(proc, pid, true);
}

bool quota_exceeded(const struct sandbox_quota *q, const char *folder, pid_t group, char *text) {
  struct counter c = {0};
  struct members members = {.quota = q, .counter = &c};
  int fd = q->folder_bytes ? open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
  if (fd >= 0)
    add_folder(fd, 0, &c);
  group_each(group, add_member, &members);
  int64_t memory_bytes = 0;
  if (members.memory_bytes > q->memory_bytes)
    group_each(group, add_share, &memory_bytes);
  text[0] = '\0';
  if (q->folder_bytes && c.bytes > q->folder_bytes)
    snprintf(text, QUOTA_TEXT_BYTES, "it wrote more than the %lld MiB that are allowed in all",
             (long long)(q->folder_bytes >> 20));
  else if (q->processes && members.n > q->processes)
    snprintf(text, QUOTA_TEXT_BYTES, "it had more than the %d processes that are allowed at a time", q->processes);
  else if (memory_bytes > q->memory_bytes)
    snprintf(text, QUOTA_TEXT_BYTES, MEMORY_TEXT "%lld MiB of memory together, where %lld MiB are allowed",
             (long long)(memory_bytes >> 20) + 1, (long long)(q->memory_bytes >> 20)); // never the same
  return text[0] != '\0';
}

bool quota_is_memory(const char *text) {
  return strncmp(text, MEMORY_TEXT, strlen(MEMORY_TEXT)) == 0;
}
