// SPDX-License-Identifier: Apache-2.0
#include "sandbox/group.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// The process group of a process; 0 when it is gone. Its name stands in brackets and may hold anything.
static pid_t group_of(int proc, const char *pid) {
  char path[64], text[512];
  snprintf(path, sizeof path, "%.20s/stat", pid);
  int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (fd >= 0)
    close(fd);
  text[n > 0 ? n : 0] = '\0';
  const char *end = strrchr(text, ')');
  int group = 0;
  return end && sscanf(end + 1, " %*c %*d %d", &group) == 1 ? group : 0;
}

void group_each(pid_t group, group_body *each, void *arg) {
  DIR *proc = opendir("/proc");
  for (struct dirent *e; proc && (e = readdir(proc));)
    if (isdigit((unsigned char)e->d_name[0]) && group_of(dirfd(proc), e->d_name) == group)
      each(arg, dirfd(proc), e->d_name);
  if (proc)
    closedir(proc);
}
