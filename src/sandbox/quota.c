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

struct members {
  const struct sandbox_quota *quota;
  struct counter *counter;
  int n;
};

static void add_member(void *arg, int proc, const char *pid) {
  struct members *m = arg;
  m->n++;
  if (m->quota->folder_bytes)
    add_removed(proc, pid, m->counter);
}

bool quota_exceeded(const struct sandbox_quota *q, const char *folder, pid_t group, char *text) {
  struct counter c = {0};
  struct members members = {.quota = q, .counter = &c};
  int fd = q->folder_bytes ? open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
  if (fd >= 0)
    add_folder(fd, 0, &c);
  group_each(group, add_member, &members);
  text[0] = '\0';
  if (q->folder_bytes && c.bytes > q->folder_bytes)
    snprintf(text, QUOTA_TEXT_BYTES, "it wrote more than the %lld MiB that are allowed in all",
             (long long)(q->folder_bytes >> 20));
  else if (q->processes && members.n > q->processes)
    snprintf(text, QUOTA_TEXT_BYTES, "it had more than the %d processes that are allowed at a time", q->processes);
  return text[0] != '\0';
}
