// SPDX-License-Identifier: Apache-2.0
// Landlock (Linux 5.13 and later): which files a child may touch, enforced by the kernel without any privilege.
// By raw system calls: the C library has no wrappers, and Debian 12's header stops at version 2 of the interface.
#include "sandbox/isolate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// https://docs.kernel.org/userspace-api/landlock.html; bit n exists from the version in the comment on.
enum {
  FS_EXECUTE = 1 << 0,
  FS_WRITE_FILE = 1 << 1,
  FS_READ_FILE = 1 << 2,
  FS_READ_DIR = 1 << 3,
  FS_ALL_V1 = (1 << 13) - 1, // and: removing, making of every kind of entry
  FS_REFER = 1 << 13,        // 2: linking and renaming across folders
  FS_TRUNCATE = 1 << 14,     // 3
  FS_IOCTL_DEV = 1 << 15,    // 5
  NET_TCP = 3,               // 4: bind and connect
  SCOPE_ALL = 3,             // 6: abstract unix sockets and signals to processes outside
  FOR_FILES = FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV,
};

struct ruleset_attr {
  uint64_t handled_fs, handled_net, scoped;
};
struct __attribute__((packed)) path_attr {
  uint64_t allowed;
  int32_t parent_fd;
};
enum { CREATE_VERSION = 1, RULE_PATH_BENEATH = 1 };

int landlock_abi(void) {
  long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);
  return abi > 0 ? (int)abi : 0;
}

static struct ruleset_attr everything(int abi) {
  struct ruleset_attr a = {.handled_fs = FS_ALL_V1};
  if (abi >= 2)
    a.handled_fs |= FS_REFER;
  if (abi >= 3)
    a.handled_fs |= FS_TRUNCATE;
  if (abi >= 4)
    a.handled_net = NET_TCP;
  if (abi >= 5)
    a.handled_fs |= FS_IOCTL_DEV;
  if (abi >= 6)
    a.scoped = SCOPE_ALL;
  return a;
}

// Allows `rights` at and beneath path. A path that does not exist needs no right.
static int allow(int ruleset, const char *path, uint64_t rights) {
  struct stat st;
  int result = -1;
  int fd = open(path, O_PATH | O_CLOEXEC);
  if (fd < 0)
    return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : -1;
  if (fstat(fd, &st) == 0) {
    struct path_attr a = {.allowed = S_ISDIR(st.st_mode) ? rights : rights & FOR_FILES, .parent_fd = fd};
    result = a.allowed ? (int)syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &a, 0) : 0;
  }
  int e = errno;
  close(fd);
  errno = e;
  return result;
}

static int allow_policy(int ruleset, const struct sandbox_policy *p, const char *program, uint64_t handled) {
  const uint64_t see = FS_READ_FILE | FS_READ_DIR, run = see | FS_EXECUTE;
  // The dynamic loader's own files, then what a compiler needs besides /usr.
  static const char *const runner_runs[] = {"/usr/lib", "/usr/lib64", "/lib", "/lib64", NULL};
  static const char *const builder_runs[] = {"/usr", "/lib", "/lib64", "/bin", NULL};
  static const char *const loader_reads[] = {"/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/ld.so.conf",
                                             "/etc/ld.so.conf.d", NULL};
  static const char *const builder_reads[] = {"/etc/alternatives", "/dev/urandom", NULL};
  bool builder = p->role != SANDBOX_RUNNER; // a device's driver may have to run the linker
  const uint64_t drive = see | FS_WRITE_FILE | (FS_IOCTL_DEV & handled);
  const struct {
    const char *const *paths;
    uint64_t rights;
  } sets[] = {
      {builder ? builder_runs : runner_runs, run},
      {loader_reads, see},
      {builder ? builder_reads : NULL, see},
      {p->read_paths, builder ? run : see}, // a compiler may live outside /usr
      {p->device_paths, drive},
  };
  int bad = 0;
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
    for (const char *const *path = sets[i].paths; path && *path; path++)
      bad |= allow(ruleset, *path, sets[i].rights);
  bad |= allow(ruleset, program, run & FOR_FILES);
  // What the builder writes there it may not execute: nothing that a candidate brings along is ever run in a builder.
  // The runner maps the candidate's library from its folder, for which reading is enough.
  bad |= allow(ruleset, p->folder, builder ? handled & ~(uint64_t)FS_EXECUTE : see);
  // Libraries open it as they are loaded: dill does, which PyTorch imports where it is installed. It keeps nothing.
  bad |= allow(ruleset, "/dev/null", FS_READ_FILE | FS_WRITE_FILE | (FS_TRUNCATE & handled));
  return bad;
}

int landlock_allow_self(int ruleset) {
  const uint64_t handled = everything(landlock_abi()).handled_fs;
  return allow(ruleset, "/proc/self", (FS_READ_FILE | FS_READ_DIR | FS_WRITE_FILE | FS_TRUNCATE) & handled);
}

enum assay_status landlock_make(const struct sandbox_policy *p, const char *program, int *fd, struct assay_error *err) {
  *fd = -1;
  int abi = landlock_abi();
  if (!abi)
    return ASSAY_OK;
  struct ruleset_attr a = everything(abi);
  int ruleset = (int)syscall(SYS_landlock_create_ruleset, &a, sizeof a, 0);
  if (ruleset < 0 || allow_policy(ruleset, p, program, a.handled_fs) != 0) {
    int e = errno;
    if (ruleset >= 0)
      close(ruleset);
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot make the Landlock rules for a child in %s: %s", p->folder,
                     strerror(e));
  }
  *fd = ruleset;
  return ASSAY_OK;
}

enum assay_status sandbox_lock_files(const char *const *read_paths, struct assay_error *err) {
  int abi = landlock_abi(), bad = 0;
  if (!abi)
    return ASSAY_OK;
  struct ruleset_attr a = everything(abi);
  int ruleset = (int)syscall(SYS_landlock_create_ruleset, &a, sizeof a, 0);
  for (const char *const *path = read_paths; ruleset >= 0 && path && *path; path++)
    bad |= allow(ruleset, *path, FS_READ_FILE | FS_READ_DIR);
  if (ruleset < 0 || bad != 0 || syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
    bad = errno;
  if (ruleset >= 0)
    close(ruleset);
  return bad ? error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot enforce Landlock: %s", strerror(bad)) : ASSAY_OK;
}
