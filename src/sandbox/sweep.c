// SPDX-License-Identifier: Apache-2.0
// What a killed process left under the temporary folder, removed by a later one.
//
// A lock held on each folder would say the same with less, but the folders are known by their paths alone, and a lock
// needs a descriptor that is kept. So the name says who made it, and the system is asked whether that process lives.
// Every doubt leaves the folder where it is: removing one that is in use would break somebody's judgement.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "sandbox/folder.h"
#include "sandbox/sandbox.h"

struct maker {
  unsigned long long space; // inode of the PID namespace
  unsigned long long start; // in clock ticks since the machine was started
  unsigned pid;
};

// What /proc/PID/stat says of a process. False: nothing can be read.
struct process {
  unsigned long long start;
  long threads;
  char state;
};

static bool read_process(unsigned pid, struct process *p) {
  char path[32], text[1024];
  snprintf(path, sizeof path, "/proc/%u/stat", pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (fd >= 0)
    close(fd);
  if (n <= 0)
    return false;
  text[n] = '\0';
  const char *after = strrchr(text, ')'); // the program's name before it may have blanks and brackets
  return after && sscanf(after + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld %*d %llu",
                         &p->state, &p->threads, &p->start) == 3;
}

static unsigned long long own_space(void) {
  struct stat st;
  return stat("/proc/self/ns/pid", &st) == 0 ? (unsigned long long)st.st_ino : 0;
}

bool folder_maker_name(char out[static SANDBOX_MAKER_BYTES]) {
  struct process self = {0};
  unsigned long long space = own_space();
  unsigned pid = (unsigned)getpid();
  bool known = space != 0 && read_process(pid, &self);
  snprintf(out, SANDBOX_MAKER_BYTES, "assay-%llx-%x-%llx-", known ? space : 0, known ? pid : 0, known ? self.start : 0);
  return known;
}

void sandbox_maker(char out[static SANDBOX_MAKER_BYTES]) {
  if (!folder_maker_name(out))
    out[0] = '\0';
}

// Ours to judge: the pattern of a folder, made in this PID namespace.
static bool read_maker(const char *name, unsigned long long space, struct maker *m) {
  int end = 0;
  return sscanf(name, "assay-%llx-%x-%llx-%n", &m->space, &m->pid, &m->start, &end) == 3 && end > 0 &&
         strlen(name + end) == 6 && m->space == space && m->pid > 0 && m->pid <= INT_MAX;
}

// A process that has ended and is not collected yet is a zombie of one thread; the first thread of one that goes on
// may be a zombie, too.
static bool has_ended(const struct maker *m) {
  struct process p = {0};
  if (kill((pid_t)m->pid, 0) != 0 && errno == ESRCH)
    return true;
  if (!read_process(m->pid, &p))
    return false;
  return p.start != m->start || ((p.state == 'Z' || p.state == 'X') && p.threads <= 1);
}

// One machine alone has processes that write there: another's numbers would mean nothing here.
static bool is_of_this_machine(int fd) {
  static const unsigned local[] = {TMPFS_MAGIC,           EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
                                   OVERLAYFS_SUPER_MAGIC, F2FS_SUPER_MAGIC, RAMFS_MAGIC,     0x2fc12fc1 /* ZFS */};
  struct statfs fs;
  if (fstatfs(fd, &fs) != 0)
    return false;
  for (size_t i = 0; i < sizeof local / sizeof *local; i++)
    if ((unsigned)fs.f_type == local[i])
      return true;
  return false;
}

// A folder of this user's, and no link to one.
static void remove_own(int fd, const char *parent, const char *name) {
  struct stat st;
  char path[8192];
  if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
      snprintf(path, sizeof path, "%s/%s", parent, name) < (int)sizeof path)
    sandbox_folder_remove(path);
}

void sandbox_folders_sweep(const char *parent) {
  struct maker m = {0};
  unsigned long long space = own_space();
  DIR *dir = space ? opendir(parent) : NULL;
  if (!dir)
    return;
  if (is_of_this_machine(dirfd(dir)))
    for (struct dirent *e; (e = readdir(dir));)
      if (read_maker(e->d_name, space, &m) && has_ended(&m))
        remove_own(dirfd(dir), parent, e->d_name);
  closedir(dir);
}

void sandbox_folders_remove_of(const char *parent, const char *maker) {
  size_t n = strlen(maker);
  DIR *dir = n > 0 ? opendir(parent) : NULL;
  if (!dir)
    return;
  for (struct dirent *e; (e = readdir(dir));)
    if (strncmp(e->d_name, maker, n) == 0)
      remove_own(dirfd(dir), parent, e->d_name);
  closedir(dir);
}
