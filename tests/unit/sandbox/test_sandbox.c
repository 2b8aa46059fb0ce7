// SPDX-License-Identifier: Apache-2.0
// The sandbox around a child: what it cannot reach, what ends it, and that nothing is left of it.
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "sandbox/sandbox.h"
#include "skip.h"

#define MS INT64_C(1000000)
enum { LOG = 1 << 16, ORDINARY_USER = 65534 };

// The folder with the probe, and what every test starts from.
struct fixture {
  char home[64], probe[96];
  struct sandbox_strength strength;
};

static int set_up(void **state) {
  struct fixture *f = calloc(1, sizeof *f);
  char command[512];
  strcpy(f->home, "/tmp/test-sandbox-XXXXXX");
  assert_non_null(mkdtemp(f->home));
  chmod(f->home, 0755);
  snprintf(f->probe, sizeof f->probe, "%s/probe", f->home);
  snprintf(command, sizeof command, "cc -std=gnu17 -D_GNU_SOURCE -O1 -o %s %s/tests/unit/sandbox/probe_sandbox.c",
           f->probe, ASSAY_SOURCE_DIR);
  assert_int_equal(system(command), 0);
  chmod(f->probe, 0755);
  sandbox_measure(&f->strength);
  print_message("this machine: %s\n", f->strength.text);
  *state = f;
  return 0;
}

static int tear_down(void **state) {
  struct fixture *f = *state;
  sandbox_folder_remove(f->home);
  free(f);
  return 0;
}

static char *const no_env[] = {NULL};

// One probe in a folder of its own, from start to end.
struct run {
  struct sandbox_policy policy;
  char *folder;
  struct buf log;
  struct sandbox_end end;
  enum assay_status status;
  struct assay_error err;
};

static void run_init(struct run *r, enum sandbox_role role) {
  memset(r, 0, sizeof *r);
  assert_int_equal(sandbox_folder_make("/tmp", &r->folder, &r->err), ASSAY_OK);
  r->policy = (struct sandbox_policy){.role = role,
                                      .folder = r->folder,
                                      .cpu_seconds = 20,
                                      .memory_bytes = (size_t)512 << 20,
                                      .file_bytes = 1 << 20,
                                      .processes = 100};
}

static void run_release(struct run *r) {
  char *folder = r->folder;
  sandbox_folder_remove(folder);
  assert_int_equal(access(folder, F_OK), -1);
  base_free(folder);
  buf_release(&r->log);
}

static void run_probe(const struct fixture *f, struct run *r, const char *what, const char *arg, int64_t timeout_ns) {
  char *argv[] = {(char *)f->probe, (char *)what, (char *)arg, NULL};
  struct sandbox_child c;
  r->status = sandbox_spawn(&r->policy, argv, no_env, NULL, 0, &c, &r->err);
  if (r->status == ASSAY_OK)
    r->status = sandbox_wait(&c, clock_monotonic_ns() + timeout_ns, &r->log, LOG, &r->end, &r->err);
  if (r->status != ASSAY_OK)
    print_message("%s: %s\n", what, r->err.message);
}

static void assert_says(const struct run *r, const char *line) {
  if (!strstr(buf_str(&r->log), line))
    fail_msg("expected \"%s\" in:\n%s", line, buf_str(&r->log));
}

static const enum sandbox_role roles[] = {SANDBOX_BUILDER, SANDBOX_RUNNER};

// ---- what a child starts with

static void test_starts_bare(void **state) {
  const struct fixture *f = *state;
  void (*before)(int) = signal(SIGPIPE, SIG_IGN);
  for (int i = 0; i < 2; i++) {
    struct run r;
    char expected[256];
    run_init(&r, roles[i]);
    run_probe(f, &r, "state", NULL, 5000 * MS);
    assert_true(r.end.exited && r.end.code == 0);
    assert_null(strstr(buf_str(&r.log), "env "));
    assert_says(&r, "fd 0\nfd 1\nfd 2\nlimit");
    assert_says(&r, "limit cpu 20\n");
    assert_says(&r, "limit fsize 1048576\n");
    assert_says(&r, "limit core 0\n");
    assert_says(&r, roles[i] == SANDBOX_BUILDER ? "limit nofile 256\n" : "limit nofile 64\n");
#if !defined(__SANITIZE_ADDRESS__)
    assert_says(&r, "limit as 536870912\n");
#endif
    if (f->strength.user_namespace)
      assert_says(&r, "limit nproc 100\n");
    snprintf(expected, sizeof expected, "cwd %s\n", r.folder);
    assert_says(&r, expected);
    assert_says(&r, "leader 1\nnnp 1\ndeath 9\nsigpipe 0\n");
    assert_true(r.end.cpu_ns > 0 && r.end.peak_bytes > 100000);
    run_release(&r);
  }
  signal(SIGPIPE, before);
}

static void test_passes_environment(void **state) {
  const struct fixture *f = *state;
  struct run r;
  char *argv[] = {(char *)f->probe, "state", NULL}, *env[] = {"ONLY=this", NULL};
  struct sandbox_child c;
  run_init(&r, SANDBOX_BUILDER);
  assert_int_equal(sandbox_spawn(&r.policy, argv, env, NULL, 0, &c, &r.err), ASSAY_OK);
  assert_int_equal(sandbox_wait(&c, clock_monotonic_ns() + 5000 * MS, &r.log, LOG, &r.end, &r.err), ASSAY_OK);
  assert_int_equal(strncmp(buf_str(&r.log), "env ONLY=this\nfd 0\n", 19), 0);
  run_release(&r);
}

// Descriptors arrive in order wherever they were, also where each sits in another's place.
static void test_passes_descriptors(void **state) {
  const struct fixture *f = *state;
  static const int orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}};
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
    struct run r;
    int pipes[3][2], fds[3];
    struct sandbox_child c;
    char *argv[] = {(char *)f->probe, "number", NULL};
    run_init(&r, i % 2 ? SANDBOX_RUNNER : SANDBOX_BUILDER);
    for (int k = 0; k < 3; k++)
      assert_int_equal(pipe2(pipes[k], O_CLOEXEC), 0);
    for (int k = 0; k < 3; k++)
      fds[k] = pipes[orders[i][k]][1];
    assert_int_equal(sandbox_spawn(&r.policy, argv, no_env, fds, 3, &c, &r.err), ASSAY_OK);
    assert_int_equal(sandbox_wait(&c, clock_monotonic_ns() + 5000 * MS, NULL, 0, &r.end, &r.err), ASSAY_OK);
    for (int k = 0; k < 3; k++) {
      char got[8] = {0};
      close(pipes[k][1]);
      assert_int_equal(read(pipes[k][0], got, sizeof got), 1);
      assert_int_equal(fds[got[0] - '3'], pipes[k][1]);
      close(pipes[k][0]);
    }
    run_release(&r);
  }
}

// ---- what it cannot reach

static void test_files(void **state) {
  const struct fixture *f = *state;
  static const char *const secret[] = {"/etc/shadow", "/etc/passwd", "/proc/self/environ", "/proc/1/cmdline"};
  char mine[128];
  if (!f->strength.landlock_abi)
    SKIP_BECAUSE("this kernel has no Landlock");
  for (int i = 0; i < 2; i++) {
    struct run r;
    run_init(&r, roles[i]);
    for (size_t k = 0; k < sizeof secret / sizeof *secret; k++) {
      buf_clear(&r.log);
      run_probe(f, &r, "open", secret[k], 5000 * MS);
      assert_string_equal(buf_str(&r.log), "read EACCES\nwrite EACCES\n");
    }
    // Next to its folder, and in a place that anybody may write to.
    snprintf(mine, sizeof mine, "%s/planted", f->home);
    buf_clear(&r.log);
    run_probe(f, &r, "open", mine, 5000 * MS);
    assert_says(&r, "write EACCES\n");
    assert_int_equal(access(mine, F_OK), -1);
    // Libraries can be read by both, written by none; its own folder is for the builder to write.
    buf_clear(&r.log);
    run_probe(f, &r, "open", "/etc/ld.so.cache", 5000 * MS);
    assert_string_equal(buf_str(&r.log), "read ok\nwrite EACCES\n");
    buf_clear(&r.log);
    run_probe(f, &r, "open", "mine", 5000 * MS);
    assert_says(&r, roles[i] == SANDBOX_BUILDER ? "write ok\n" : "write EACCES\n");
    run_release(&r);
  }
}

static void test_read_paths(void **state) {
  const struct fixture *f = *state;
  const char *const paths[] = {f->home, "/nowhere/at/all", NULL};
  char file[128];
  struct run r;
  if (!f->strength.landlock_abi)
    SKIP_BECAUSE("this kernel has no Landlock");
  snprintf(file, sizeof file, "%s/readable", f->home);
  close(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  for (int i = 0; i < 2; i++) {
    run_init(&r, roles[i]);
    run_probe(f, &r, "open", file, 5000 * MS);
    assert_string_equal(buf_str(&r.log), "read EACCES\nwrite EACCES\n");
    r.policy.read_paths = paths;
    buf_clear(&r.log);
    run_probe(f, &r, "open", file, 5000 * MS);
    assert_string_equal(buf_str(&r.log), "read ok\nwrite EACCES\n");
    run_release(&r);
  }
}

// A driver names its threads, by way of files in /proc; those of other processes are none of its business.
static void test_own_files(void **state) {
  const struct fixture *f = *state;
  const char *const paths[] = {"/proc", NULL};
  char other[64];
  struct run r;
  if (!f->strength.landlock_abi)
    SKIP_BECAUSE("this kernel has no Landlock");
  snprintf(other, sizeof other, "/proc/%d/comm", (int)getpid());
  run_init(&r, SANDBOX_DEVICE);
  r.policy.read_paths = paths;
  run_probe(f, &r, "open", "/proc/self/comm", 5000 * MS);
  assert_string_equal(buf_str(&r.log), "read ok\nwrite ok\n");
  buf_clear(&r.log);
  run_probe(f, &r, "open", other, 5000 * MS);
  assert_string_equal(buf_str(&r.log), "read ok\nwrite EACCES\n");
  run_release(&r);
}

// Libraries open it as they are loaded (dill, which PyTorch imports where it is installed).
static void test_null(void **state) {
  const struct fixture *f = *state;
  for (int i = 0; i < 2; i++) {
    struct run r;
    run_init(&r, roles[i]);
    run_probe(f, &r, "open", "/dev/null", 5000 * MS);
    assert_string_equal(buf_str(&r.log), "read ok\nwrite ok\n");
    run_release(&r);
  }
}

static void test_programs(void **state) {
  const struct fixture *f = *state;
  char copy[512];
  struct run r;
  if (!f->strength.landlock_abi)
    SKIP_BECAUSE("this kernel has no Landlock");
  run_init(&r, SANDBOX_RUNNER);
  run_probe(f, &r, "exec", "/usr/bin/id", 5000 * MS);
  assert_string_equal(buf_str(&r.log), "exec EACCES\n");
  run_release(&r);
  run_init(&r, SANDBOX_BUILDER);
  run_probe(f, &r, "exec", "/usr/bin/id", 5000 * MS);
  assert_says(&r, "uid=");
  // What lies in the builder's folder is data.
  snprintf(copy, sizeof copy, "cp /usr/bin/id %s/id", r.folder);
  assert_int_equal(system(copy), 0);
  buf_clear(&r.log);
  run_probe(f, &r, "exec", "./id", 5000 * MS);
  assert_string_equal(buf_str(&r.log), "exec EACCES\n");
  run_release(&r);
}

static void test_network(void **state) {
  const struct fixture *f = *state;
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof at;
  char port[16];
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(fd, 4) != 0)
    SKIP_BECAUSE("no socket can be opened here");
  assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
  snprintf(port, sizeof port, "%d", ntohs(at.sin_port));
  for (int i = 0; i < 2; i++) {
    struct run r;
    run_init(&r, roles[i]);
    run_probe(f, &r, "net", port, 5000 * MS);
    assert_null(strstr(buf_str(&r.log), "connect ok"));
    if (roles[i] == SANDBOX_BUILDER)
      assert_string_equal(buf_str(&r.log), "socket EPERM\n");
    else if (f->strength.network_namespace) // its own loopback is not even up
      assert_says(&r, "send ENETUNREACH\n");
    run_release(&r);
  }
  close(fd);
}

// What no compiler needs, one line for each call.
static void test_calls_of_a_build(void **state) {
  const struct fixture *f = *state;
  struct run r;
  if (!f->strength.seccomp)
    SKIP_BECAUSE("there is no seccomp here");
  run_init(&r, SANDBOX_BUILDER);
  run_probe(f, &r, "calls", NULL, 5000 * MS);
  assert_true(r.end.exited && r.end.code == 0);
  int lines = 0;
  for (const char *line = buf_str(&r.log); *line; lines++) {
    const char *end = strchr(line, '\n');
    assert_non_null(end);
    if (end - line < 6 || strncmp(end - 6, " EPERM", 6) != 0)
      fail_msg("%.*s", (int)(end - line), line);
    line = end + 1;
  }
  assert_int_equal(lines, 28);
  run_probe(f, &r, "entry", NULL, 5000 * MS);
  assert_true(!r.end.exited && (r.end.signal == SIGSYS || r.end.signal == SIGSEGV)); // there may be no such entry
  run_release(&r);
}

static void test_signals_outside(void **state) {
  const struct fixture *f = *state;
  char self[16];
  snprintf(self, sizeof self, "%d", (int)getpid());
  for (int i = 0; i < 2; i++) {
    struct run r;
    run_init(&r, roles[i]);
    void (*before)(int) = signal(SIGTERM, SIG_IGN); // the test shall survive its own failure
    run_probe(f, &r, "kill", self, 5000 * MS);
    signal(SIGTERM, before);
    if (f->strength.landlock_abi >= 6 || (f->strength.pid_namespace && roles[i] == SANDBOX_BUILDER))
      assert_null(strstr(buf_str(&r.log), "kill ok"));
    run_release(&r);
  }
}

// A judge that gets no namespaces: clone with any CLONE_NEW* flag fails here.
static void forbid_namespaces(void);

// Those that a process has or could take, all together; all bits where nobody can tell.
static unsigned long long capabilities(pid_t pid) {
  static const char *const sets[] = {"CapInh:", "CapPrm:", "CapEff:", "CapAmb:"};
  char path[64], line[256];
  unsigned long long all = 0;
  size_t seen = 0;
  snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
  FILE *in = fopen(path, "r");
  while (in && fgets(line, sizeof line, in))
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
      if (!strncmp(line, sets[i], strlen(sets[i]))) {
        all |= strtoull(line + strlen(sets[i]), NULL, 16);
        seen++;
      }
  if (in)
    fclose(in);
  return seen == sizeof sets / sizeof *sets ? all : ~0ull;
}

// Seen from outside: its namespaces are not ours, the kernel's out-of-memory killer prefers it, no capability is left.
static void test_seen_from_outside(void **state) {
  const struct fixture *f = *state;
  const struct {
    const char *name;
    bool have[2]; // builder, runner
  } spaces[] = {
      {"user", {f->strength.user_namespace, f->strength.user_namespace}},
      {"pid", {f->strength.pid_namespace, false}},
      {"net", {f->strength.network_namespace, f->strength.network_namespace}},
      {"ipc", {f->strength.ipc_namespace, f->strength.ipc_namespace}},
  };
  for (int i = 0; i < 2; i++) {
    struct run r;
    struct sandbox_child c;
    char path[96], ours[64], theirs[64], line[256];
    char *argv[] = {(char *)f->probe, "sleep", NULL};
    run_init(&r, roles[i]);
    assert_int_equal(sandbox_spawn(&r.policy, argv, no_env, NULL, 0, &c, &r.err), ASSAY_OK);
    for (size_t k = 0; k < sizeof spaces / sizeof *spaces; k++) {
      memset(ours, 0, sizeof ours);
      memset(theirs, 0, sizeof theirs);
      snprintf(path, sizeof path, "/proc/self/ns/%s", spaces[k].name);
      assert_true(readlink(path, ours, sizeof ours - 1) > 0);
      snprintf(path, sizeof path, "/proc/%d/ns/%s", (int)c.pid, spaces[k].name);
      if (readlink(path, theirs, sizeof theirs - 1) > 0) // an ordinary user may not look
        assert_int_equal(strcmp(ours, theirs) != 0, spaces[k].have[i]);
    }
    snprintf(path, sizeof path, "/proc/%d/oom_score_adj", (int)c.pid);
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    assert_non_null(fgets(line, sizeof line, in));
    fclose(in);
    assert_string_equal(line, "1000\n");
    assert_int_equal(capabilities(c.pid), 0);
    sandbox_kill(&c, &r.end);
    assert_int_equal(r.end.signal, SIGKILL);
    assert_false(r.end.exited || r.end.deadline);
    run_release(&r);
  }
  FILE *in = fopen("/proc/self/oom_score_adj", "r");
  int adj = -1;
  assert_int_equal(fscanf(in, "%d", &adj), 1);
  fclose(in);
  assert_int_not_equal(adj, 1000); // the child shared our memory for a moment, but not this
}

// Runs `body` in a child process of the test, as an ordinary user where the test is root; its return value counts.
static void in_child(bool namespaces, int (*body)(const struct fixture *), const struct fixture *f);

// A new user namespace takes all capabilities from a program that it executes, so what the sandbox itself takes shows
// where there is none: root's, in a container.
static void test_capabilities_of_root(void **state) {
  const struct fixture *f = *state;
  int end = 0;
  if (geteuid() != 0 || capabilities(getpid()) == 0)
    SKIP_BECAUSE("the test has no capabilities that a child could keep");
  pid_t judge = fork();
  assert_true(judge >= 0);
  if (judge == 0) {
    struct assay_error err = {0};
    char *argv[] = {(char *)f->probe, "sleep", NULL};
    forbid_namespaces();
    for (int i = 0; i < 2; i++) {
      struct sandbox_policy policy = {.role = roles[i], .folder = "/", .file_bytes = 1 << 20};
      struct sandbox_child c;
      if (sandbox_spawn(&policy, argv, no_env, NULL, 0, &c, &err) != ASSAY_OK)
        _exit(101);
      const unsigned long long kept = capabilities(c.pid);
      sandbox_kill(&c, NULL);
      if (kept != 0)
        _exit(102 + i);
    }
    _exit(0);
  }
  assert_int_equal(waitpid(judge, &end, 0), judge);
  assert_true(WIFEXITED(end));
  assert_int_equal(WEXITSTATUS(end), 0);
}

// Whether the kernel grants all of these here, to a child that asks for them itself.
static bool granted(int namespaces) {
  int end = 0;
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0)
    _exit(unshare(namespaces) == 0 ? 0 : 1);
  assert_int_equal(waitpid(pid, &end, 0), pid);
  return WIFEXITED(end) && WEXITSTATUS(end) == 0;
}

// What the sandbox says it has is compared with what there is elsewhere; here, that it has all that it could.
static void test_takes_what_is_granted(void **state) {
  const struct fixture *f = *state;
  const int all = CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC;
  const bool net = granted(CLONE_NEWUSER | all) || granted(all);
  const bool pid = net || granted(CLONE_NEWUSER | CLONE_NEWPID) || granted(CLONE_NEWPID);
  if (net)
    assert_true(f->strength.network_namespace && f->strength.ipc_namespace);
  if (pid)
    assert_true(f->strength.pid_namespace);
}

// An ordinary user's judge; root reads all memory anyway. Its files in /proc are its own until it hides: then they are
// root's, and another process of the same user can neither read its memory nor trace it.
static int hides(const struct fixture *f) {
  char path[64];
  int ready[2], end = 0;
  (void)f;
  if (pipe2(ready, O_CLOEXEC) != 0 || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0) // as after exec; setuid() took it
    return 101;
  pid_t judge = fork();
  if (judge == 0) {
    sandbox_hide_self();
    if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0 || write(ready[1], "", 1) != 1)
      _exit(102);
    pause();
  }
  char byte;
  close(ready[1]);
  if (judge < 0 || read(ready[0], &byte, 1) != 1)
    return 103;
  snprintf(path, sizeof path, "/proc/%d/mem", (int)judge);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  bool traced = ptrace(PTRACE_SEIZE, judge, NULL, NULL) == 0;
  kill(judge, SIGKILL);
  if (waitpid(judge, &end, 0) != judge || fd >= 0 || traced)
    return 104;
  return 0;
}

static void test_memory_of_a_hidden_judge(void **state) {
  in_child(true, hides, *state);
}

// An ordinary user's judge that hides itself: until exec its child cannot open its own files in /proc.
static void test_oom_score_under_a_hidden_judge(void **state) {
  const struct fixture *f = *state;
  pid_t judge = fork();
  assert_true(judge >= 0);
  if (judge == 0) {
    struct sandbox_policy policy = {.role = SANDBOX_RUNNER, .folder = "/", .file_bytes = 1 << 20};
    struct sandbox_child c;
    struct assay_error err = {0};
    char *argv[] = {(char *)f->probe, "sleep", NULL};
    char path[64], line[32] = "";
    if (geteuid() == 0 && (setgroups(0, NULL) != 0 || setgid(ORDINARY_USER) != 0 || setuid(ORDINARY_USER) != 0))
      _exit(2);
    if (access(f->probe, X_OK) != 0)
      _exit(3);
    sandbox_hide_self();
    if (sandbox_spawn(&policy, argv, no_env, NULL, 0, &c, &err) != ASSAY_OK)
      _exit(4);
    snprintf(path, sizeof path, "/proc/%d/oom_score_adj", (int)c.pid);
    FILE *in = fopen(path, "r");
    bool right = in && fgets(line, sizeof line, in) && strcmp(line, "1000\n") == 0;
    sandbox_kill(&c, NULL);
    _exit(right ? 0 : 1);
  }
  int end = 0;
  assert_int_equal(waitpid(judge, &end, 0), judge);
  assert_true(WIFEXITED(end));
  if (WEXITSTATUS(end) == 3)
    skip(); // the probe is where only root may enter
  assert_int_equal(WEXITSTATUS(end), 0);
}

// ---- what ends it

static void test_exit_codes_and_signals(void **state) {
  const struct fixture *f = *state;
  struct run r;
  run_init(&r, SANDBOX_RUNNER);
  run_probe(f, &r, "exit", "42", 5000 * MS);
  assert_true(r.end.exited && r.end.code == 42 && r.end.signal == 0 && !r.end.deadline);
  run_probe(f, &r, "abort", NULL, 5000 * MS);
  assert_true(!r.end.exited && r.end.signal == SIGABRT);
  run_probe(f, &r, "segv", NULL, 5000 * MS);
  assert_true(!r.end.exited && r.end.signal == SIGSEGV);
  run_release(&r);
  run_init(&r, SANDBOX_BUILDER);
  run_probe(f, &r, "segv", NULL, 5000 * MS);
  assert_true(!r.end.exited && r.end.signal == SIGSEGV);
  run_probe(f, &r, "abort", NULL, 5000 * MS); // process 1 ignores its own SIGABRT; the C library has a second way
  assert_true(!r.end.exited && (r.end.signal == SIGABRT || r.end.signal == SIGSEGV));
  run_release(&r);
}

// A host of the library may collect all children of its process, or have the kernel do so.
static void test_ends_that_nobody_knows(void **state) {
  const struct fixture *f = *state;
  struct run r;
  struct sandbox_child c;
  char *argv[] = {(char *)f->probe, "exit", "0", NULL};
  const unsigned before = sandbox_lost();
  run_init(&r, SANDBOX_RUNNER);
  assert_int_equal(sandbox_spawn(&r.policy, argv, no_env, NULL, 0, &c, &r.err), ASSAY_OK);
  assert_int_equal(waitpid(c.pid, NULL, 0), c.pid);
  assert_int_equal(sandbox_wait(&c, clock_monotonic_ns() + 5000 * MS, &r.log, LOG, &r.end, &r.err),
                   ASSAY_ERR_ENVIRONMENT);
  assert_non_null(strstr(r.err.message, "something else in this process waits for its children"));
  assert_true(r.end.lost);
  assert_int_equal(sandbox_lost(), before + 1);
  assert_int_equal(sandbox_spawn(&r.policy, argv, no_env, NULL, 0, &c, &r.err), ASSAY_OK);
  assert_int_equal(waitpid(c.pid, NULL, 0), c.pid);
  sandbox_kill(&c, &r.end);
  assert_true(r.end.lost);
  assert_int_equal(sandbox_lost(), before + 2);
  for (int i = 0; i < 2; i++) {
    const struct sigaction ways[] = {{.sa_handler = SIG_IGN}, {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT}};
    struct sigaction usual;
    sigaction(SIGCHLD, &ways[i], &usual);
    assert_int_equal(sandbox_spawn(&r.policy, argv, no_env, NULL, 0, &c, &r.err), ASSAY_ERR_ENVIRONMENT);
    assert_non_null(strstr(r.err.message, "this process ignores SIGCHLD"));
    sigaction(SIGCHLD, &usual, NULL);
  }
  run_probe(f, &r, "exit", "0", 5000 * MS);
  assert_true(r.status == ASSAY_OK && r.end.exited && !r.end.lost);
  run_release(&r);
}

static void test_deadline(void **state) {
  const struct fixture *f = *state;
  static const char *const what[] = {"sleep", "spin"};
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < 2; k++) {
      struct run r;
      run_init(&r, roles[i]);
      int64_t start = clock_monotonic_ns();
      run_probe(f, &r, what[k], NULL, 100 * MS);
      assert_true(r.end.deadline && r.end.signal == SIGKILL);
      assert_in_range(clock_monotonic_ns() - start, 100 * MS, 5000 * MS);
      run_release(&r);
    }
}

// Others on the processor that the child has, and a limit that is enough for a child of its own processor alone.
static void test_waiting_is_no_time_of_its_own(void **state) {
  const struct fixture *f = *state;
  enum { OTHERS = 4 };
  cpu_set_t all, one;
  pid_t others[OTHERS];
  struct run r;
  assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &all))
    cpu++;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  for (int i = 0; i < OTHERS; i++)
    if ((others[i] = fork()) == 0) {
      setsid(); // the kernel shares processors out by session first
      for (volatile unsigned k = 0;; k++)
        ;
    }
  run_init(&r, SANDBOX_BUILDER);
  int64_t start = clock_monotonic_ns();
  run_probe(f, &r, "work", "500", 1000 * MS);
  int64_t took = clock_monotonic_ns() - start;
  for (int i = 0; i < OTHERS; i++) {
    kill(others[i], SIGKILL);
    waitpid(others[i], NULL, 0);
  }
  sched_setaffinity(0, sizeof all, &all);
  print_message("0.5 s of work took %.1f s, %.1f s of them without a processor\n", (double)took * 1e-9,
                (double)r.end.starved_ns * 1e-9);
  assert_false(r.end.deadline);
  assert_says(&r, "work ok");
  assert_true(took > 1100 * MS && r.end.starved_ns > 300 * MS && r.end.starved_ns < took);
  run_release(&r);
}

static void test_limits(void **state) {
  const struct fixture *f = *state;
  for (int i = 0; i < 2; i++) {
    struct run r;
    run_init(&r, roles[i]);
    r.policy.cpu_seconds = 1;
    run_probe(f, &r, "spin", NULL, 20000 * MS);
    assert_false(r.end.deadline);
    // Process 1 of a pid namespace ignores SIGXCPU and dies a second later.
    assert_true(r.end.signal == SIGXCPU || r.end.signal == SIGKILL);
    assert_in_range(r.end.cpu_ns, 700 * MS, 3000 * MS); // the kernel counts in ticks
#if !defined(__SANITIZE_ADDRESS__)
    r.policy.cpu_seconds = 20; // touching so many pages may take a busy machine more than one
    run_probe(f, &r, "allocate", NULL, 20000 * MS);
    assert_true(r.end.exited);
    long long total = 0;
    assert_int_equal(sscanf(buf_str(&r.log), "allocated %lld", &total), 1);
    assert_in_range(total, 400 << 20, 512 << 20);
#endif
    run_release(&r);
  }
  struct run r;
  run_init(&r, SANDBOX_BUILDER);
  run_probe(f, &r, "fill", NULL, 20000 * MS);
  assert_string_equal(buf_str(&r.log), "fill EFBIG\nfilled 1048576\n");
  run_release(&r);
}

static void test_log_is_capped(void **state) {
  const struct fixture *f = *state;
  struct run r;
  char *argv[] = {(char *)f->probe, "flood", NULL};
  struct sandbox_child c;
  run_init(&r, SANDBOX_RUNNER);
  assert_int_equal(sandbox_spawn(&r.policy, argv, no_env, NULL, 0, &c, &r.err), ASSAY_OK);
  assert_int_equal(sandbox_wait(&c, clock_monotonic_ns() + 200 * MS, &r.log, 1000, &r.end, &r.err), ASSAY_OK);
  assert_true(r.end.deadline);
  assert_in_range(r.log.len, 1000, 1100);
  assert_says(&r, "more bytes of output were dropped]\n");
  run_release(&r);
}

// Stands still twice, 150 ms each.
struct standing {
  const struct sandbox_child *child;
  int asked, stood;
  char states[3]; // as /proc says
};

static bool is_wanted(void *arg) {
  struct standing *s = arg;
  return ++s->asked == 3 || s->asked == 5;
}

static void stand(void *arg) {
  struct standing *s = arg;
  char path[64], text[256] = "";
  usleep(150000);
  snprintf(path, sizeof path, "/proc/%d/stat", s->child->pid);
  FILE *f = fopen(path, "r");
  assert_non_null(f);
  assert_non_null(fgets(text, sizeof text, f));
  fclose(f);
  s->states[s->stood++] = strrchr(text, ')')[2];
}

static void test_stands_still(void **state) {
  const struct fixture *f = *state;
  static const enum sandbox_role all[] = {SANDBOX_BUILDER, SANDBOX_RUNNER, SANDBOX_DEVICE};
  for (int i = 0; i < 3; i++) {
    struct run r;
    char *argv[] = {(char *)f->probe, "flood", NULL};
    struct sandbox_child c;
    struct standing standing = {.child = &c};
    const struct sandbox_pauses pauses = {is_wanted, stand, &standing};
    run_init(&r, all[i]);
    assert_int_equal(sandbox_spawn(&r.policy, argv, no_env, NULL, 0, &c, &r.err), ASSAY_OK);
    c.pauses = &pauses;
    int64_t begin_ns = clock_monotonic_ns();
    assert_int_equal(sandbox_wait(&c, begin_ns + 200 * MS, &r.log, 1000, &r.end, &r.err), ASSAY_OK);
    int64_t took_ns = clock_monotonic_ns() - begin_ns;
    assert_string_equal(standing.states, "TT");
    assert_true(standing.asked > 5); // it went on
    assert_true(r.end.deadline && r.end.paused_ns >= 300 * MS);
    assert_true(took_ns >= 200 * MS + r.end.paused_ns); // its own time is whole
    run_release(&r);
  }
}

// Every process that still holds the write end keeps this pipe from ending.
static void assert_all_dead(int read_end) {
  struct pollfd p = {.fd = read_end, .events = POLLIN};
  char byte;
  assert_int_equal(poll(&p, 1, 5000), 1);
  assert_int_equal(read(read_end, &byte, 1), 0);
}

static void run_holding_pipe(const struct fixture *f, const char *what, int64_t timeout_ns, struct run *r) {
  int ends[2];
  struct sandbox_child c;
  char *argv[] = {(char *)f->probe, (char *)what, NULL};
  assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
  assert_int_equal(sandbox_spawn(&r->policy, argv, no_env, &ends[1], 1, &c, &r->err), ASSAY_OK);
  close(ends[1]);
  assert_int_equal(sandbox_wait(&c, clock_monotonic_ns() + timeout_ns, &r->log, LOG, &r->end, &r->err), ASSAY_OK);
  assert_all_dead(ends[0]);
  close(ends[0]);
}

static void test_daemon_dies(void **state) {
  struct run r;
  run_init(&r, SANDBOX_BUILDER);
  run_holding_pipe(*state, "daemon", 5000 * MS, &r);
  assert_true(r.end.exited && r.end.code == 0);
  assert_says(&r, "setsid EPERM\nsetpgid ok\ngroup inherited\n"); // it gets the error
  run_release(&r);
}

static void in_child(bool namespaces, int (*body)(const struct fixture *), const struct fixture *f) {
  int status;
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    if (geteuid() == 0 && (setgroups(0, NULL) != 0 || setresgid(ORDINARY_USER, ORDINARY_USER, ORDINARY_USER) != 0 ||
                           setresuid(ORDINARY_USER, ORDINARY_USER, ORDINARY_USER) != 0))
      _exit(100);
    if (!namespaces)
      forbid_namespaces();
    _exit(body(f));
  }
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

// As run_holding_pipe, without assertions: the line of the first failure, or 0.
static int hold_and_look(const struct fixture *f, const char *what, int64_t timeout_ns, const char *says) {
  struct assay_error err = {0};
  struct sandbox_child c;
  struct sandbox_end end;
  struct buf log;
  char *folder, *argv[] = {(char *)f->probe, (char *)what, NULL};
  int ends[2], result = 0;
  buf_init(&log);
  if (sandbox_folder_make("/tmp", &folder, &err) != ASSAY_OK || pipe2(ends, O_CLOEXEC) != 0)
    return 101;
  struct sandbox_policy p = {.role = SANDBOX_BUILDER,
                             .folder = folder,
                             .cpu_seconds = 10,
                             .file_bytes = 1 << 20,
                             .memory_bytes = (size_t)256 << 20,
                             .processes = 40};
  if (sandbox_spawn(&p, argv, no_env, &ends[1], 1, &c, &err) != ASSAY_OK) {
    fprintf(stderr, "%s\n", err.message);
    return 102;
  }
  close(ends[1]);
  if (sandbox_wait(&c, clock_monotonic_ns() + timeout_ns, &log, LOG, &end, &err) != ASSAY_OK)
    return 103;
  struct pollfd alive = {.fd = ends[0], .events = POLLIN};
  if (poll(&alive, 1, 5000) != 1)
    result = 104;
  if (says && !strstr(buf_str(&log), says)) {
    fprintf(stderr, "%s said: %s\n", what, buf_str(&log));
    result = 105;
  }
  sandbox_folder_remove(folder);
  if (access(folder, F_OK) == 0)
    result = 106;
  base_free(folder);
  buf_release(&log);
  return result;
}

static int bomb(const struct fixture *f) {
  return hold_and_look(f, "forkbomb", 200 * MS, NULL);
}
static int daemonise(const struct fixture *f) {
  return hold_and_look(f, "daemon", 5000 * MS, "setsid EPERM\n");
}
static int count_forks(const struct fixture *f) {
  return hold_and_look(f, "forks", 5000 * MS, "forks 39\n");
}

static int measure_nothing(const struct fixture *f) {
  struct sandbox_strength s;
  (void)f;
  sandbox_measure(&s);
  return s.user_namespace || s.pid_namespace || s.network_namespace || s.ipc_namespace ||
         !strstr(s.text, "without userns and pidns and netns and ipcns");
}

static void test_processes_are_limited(void **state) {
  const struct fixture *f = *state;
  if (!f->strength.user_namespace)
    SKIP_BECAUSE("no user namespaces here");
  in_child(true, count_forks, f);
}

// Limits of the kernel hold for one file or, as root, for no process: what all have taken is looked at.
static void test_quota(void **state) {
  const struct fixture *f = *state;
  static const char *const how[] = {NULL, "removed", "ends"};
  struct run r;
  for (int i = 0; i < 3; i++) {
    run_init(&r, SANDBOX_BUILDER);
    r.policy.quota.folder_bytes = 4 << 20;
    run_probe(f, &r, "many", how[i], 20000 * MS);
    assert_false(r.end.deadline);
    assert_string_equal(r.end.quota, "it wrote more than the 4 MiB that are allowed in all");
    run_release(&r);
  }
  run_init(&r, SANDBOX_BUILDER);
  r.policy.quota = (struct sandbox_quota){.folder_bytes = 64 << 20, .processes = 50};
  run_probe(f, &r, "many", "ends", 20000 * MS);
  assert_true(r.end.exited && r.end.code == 0);
  assert_string_equal(r.end.quota, "");
  run_release(&r);
}

static void test_processes_at_a_time(void **state) {
  const struct fixture *f = *state;
  struct run r;
  run_init(&r, SANDBOX_BUILDER);
  r.policy.processes = 400;
  r.policy.quota.processes = 20;
  run_probe(f, &r, "forkswait", NULL, 20000 * MS);
  assert_false(r.end.deadline);
  assert_string_equal(r.end.quota, "it had more than the 20 processes that are allowed at a time");
  run_release(&r);
}

// Each process has little, and all have more than is allowed; but what they share is theirs once.
static void test_memory_together(void **state) {
  const struct fixture *f = *state;
  enum { ALLOWED = 64 << 20 };
  static const char *const how[] = {NULL, "mapped"};
  struct run r;
  for (int i = 0; i < 2; i++) {
    long long had, allowed;
    run_init(&r, SANDBOX_BUILDER);
    r.policy.quota.memory_bytes = ALLOWED;
    run_probe(f, &r, "together", how[i], 20000 * MS);
    assert_false(r.end.deadline);
    if (sscanf(r.end.quota, "its processes had %lld MiB of memory together, where %lld MiB are allowed", &had,
               &allowed) != 2)
      fail_msg("\"%s\"", r.end.quota);
    assert_true(had > allowed && had < 8 * 20 && allowed == ALLOWED >> 20);
    run_release(&r);
  }
  run_init(&r, SANDBOX_BUILDER);
  r.policy.quota.memory_bytes = ALLOWED;
  run_probe(f, &r, "together", "shared", 20000 * MS);
  assert_string_equal(r.end.quota, "");
  assert_true(r.end.exited && r.end.code == 0);
  run_release(&r);
}

static void test_fork_bomb_ends(void **state) {
  const struct fixture *f = *state;
  if (!f->strength.user_namespace) // it would be a real one
    SKIP_BECAUSE("no user namespaces here");
  in_child(true, bomb, f);
}

static void test_ordinary_user(void **state) {
  in_child(true, daemonise, *state);
}

static void test_without_namespaces(void **state) {
  in_child(false, measure_nothing, *state);
  in_child(false, daemonise, *state);
}

// Frozen and thawed from outside, as the runner is between calls; also process 1 of a pid namespace.
static void test_stop_and_continue(void **state) {
  const struct fixture *f = *state;
  for (int i = 0; i < 2; i++) {
    struct run r;
    struct sandbox_child c;
    siginfo_t info = {0};
    char *argv[] = {(char *)f->probe, "spin", NULL};
    run_init(&r, roles[i]);
    assert_int_equal(sandbox_spawn(&r.policy, argv, no_env, NULL, 0, &c, &r.err), ASSAY_OK);
    for (int k = 0; k < 3; k++) {
      assert_int_equal(kill(c.pid, SIGSTOP), 0);
      assert_int_equal(waitid(P_PID, (id_t)c.pid, &info, WSTOPPED), 0);
      assert_int_equal(info.si_code, CLD_STOPPED);
      assert_int_equal(kill(c.pid, SIGCONT), 0);
      assert_int_equal(waitid(P_PID, (id_t)c.pid, &info, WCONTINUED), 0);
      assert_int_equal(info.si_code, CLD_CONTINUED);
    }
    assert_int_equal(kill(c.pid, SIGSTOP), 0);
    sandbox_kill(&c, &r.end);
    assert_int_equal(r.end.signal, SIGKILL);
    run_release(&r);
  }
}

// The judge dies: so does the child, without anybody's help.
static void test_dies_with_judge(void **state) {
  const struct fixture *f = *state;
  for (int i = 0; i < 2; i++) {
    struct run r;
    int ends[2];
    run_init(&r, roles[i]);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t judge = fork();
    assert_true(judge >= 0);
    if (judge == 0) {
      struct sandbox_child c;
      char *argv[] = {(char *)f->probe, "sleep", NULL};
      if (sandbox_spawn(&r.policy, argv, no_env, &ends[1], 1, &c, NULL) == ASSAY_OK)
        raise(SIGKILL);
      _exit(1);
    }
    int status;
    close(ends[1]);
    assert_int_equal(waitpid(judge, &status, 0), judge);
    assert_true(WIFSIGNALED(status));
    assert_all_dead(ends[0]);
    close(ends[0]);
    run_release(&r);
  }
}

// ---- failures, after which nothing is left

static void test_failing_to_start(void **state) {
  const struct fixture *f = *state;
  struct run r;
  struct sandbox_child c = {0};
  int too_many[32] = {0};
  char *missing[] = {"/usr/bin/no-such-program", NULL}, *folder[] = {"/usr/bin", NULL};
  char *probe[] = {(char *)f->probe, "exit", "0", NULL};
  run_init(&r, SANDBOX_BUILDER);
  assert_int_equal(sandbox_spawn(&r.policy, missing, no_env, NULL, 0, &c, &r.err), ASSAY_ERR_ENVIRONMENT);
  assert_non_null(
      strstr(r.err.message, "/usr/bin/no-such-program: the sandboxed child cannot execute it: No such file"));
  assert_int_equal(sandbox_spawn(&r.policy, folder, no_env, NULL, 0, &c, &r.err), ASSAY_ERR_ENVIRONMENT);
  assert_int_equal(sandbox_spawn(&r.policy, probe, no_env, too_many, 32, &c, &r.err), ASSAY_ERR_USAGE);
  r.policy.folder = "/nowhere";
  assert_int_equal(sandbox_spawn(&r.policy, probe, no_env, NULL, 0, &c, &r.err), ASSAY_ERR_ENVIRONMENT);
  assert_non_null(strstr(r.err.message, "cannot enter its folder"));
  assert_int_equal(c.pid, 0); // untouched
  assert_int_equal(sandbox_wait(&c, 0, NULL, 0, NULL, &r.err), ASSAY_ERR_USAGE);
  sandbox_kill(&c, NULL);
  run_release(&r);
  char *path = NULL;
  assert_int_equal(sandbox_folder_make("/nowhere", &path, &r.err), ASSAY_ERR_IO);
  assert_null(path);
}

static int count_descriptors(void) {
  int n = 0;
  DIR *dir = opendir("/proc/self/fd");
  assert_non_null(dir);
  while (readdir(dir))
    n++;
  closedir(dir);
  return n;
}

static void test_leaves_nothing(void **state) {
  const struct fixture *f = *state;
  int before = count_descriptors();
  for (int i = 0; i < 10; i++) {
    struct run r;
    struct sandbox_child c;
    char *sleeper[] = {(char *)f->probe, "sleep", NULL}, *missing[] = {"/nowhere/at/all", NULL};
    run_init(&r, roles[i % 2]);
    run_probe(f, &r, "exit", "0", 5000 * MS);
    assert_int_equal(sandbox_spawn(&r.policy, sleeper, no_env, NULL, 0, &c, &r.err), ASSAY_OK);
    sandbox_kill(&c, &r.end);
    sandbox_kill(&c, &r.end); // twice is fine
    assert_int_not_equal(sandbox_spawn(&r.policy, missing, no_env, NULL, 0, &c, &r.err), ASSAY_OK);
    run_release(&r);
  }
  assert_int_equal(count_descriptors(), before);
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
  assert_int_equal(errno, ECHILD);
}

static void test_folder_removal(void **state) {
  struct assay_error err;
  char *folder, path[256];
  struct fixture *f = *state;
  struct stat st;
  assert_int_equal(sandbox_folder_make("/tmp", &folder, &err), ASSAY_OK);
  assert_int_equal(stat(folder, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0700);
  // Links lead outside and must not be followed; folders without permissions; a fifo.
  snprintf(path, sizeof path, "%s/keep", f->home);
  assert_int_equal(mkdir(path, 0700), 0);
  int keep = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  close(openat(keep, "precious", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  assert_int_equal(symlinkat(path, fd, "link"), 0);
  assert_int_equal(mkfifoat(fd, "fifo", 0600), 0);
  assert_int_equal(mkdirat(fd, "closed", 0700), 0);
  assert_int_equal(symlinkat(path, fd, "closed/link"), 0);
  assert_int_equal(fchmodat(fd, "closed", 0, 0), 0);
  // Deeper than a path can name, and than we may have descriptors.
  int at = dup(fd);
  for (int i = 0; i < 3000; i++) {
    assert_int_equal(mkdirat(at, "deeper", 0700), 0);
    int next = openat(at, "deeper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(next >= 0);
    close(at);
    at = next;
  }
  close(at);
  close(fd);
  sandbox_folder_remove(folder);
  assert_int_equal(access(folder, F_OK), -1);
  assert_int_equal(faccessat(keep, "precious", F_OK, 0), 0);
  close(keep);
  sandbox_folder_remove(folder); // not there any more
  sandbox_folder_remove(NULL);
  base_free(folder);
}

static void forbid_namespaces(void) {
  // Flags of clone are its first argument; CLONE_NEWIPC | NEWUSER | NEWPID | NEWNET are bits 27 to 30.
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  for (int bit = 27; bit <= 30; bit++)
    seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                     SCMP_A0(SCMP_CMP_MASKED_EQ, UINT64_C(1) << bit, UINT64_C(1) << bit));
  if (seccomp_load(filter) != 0)
    _exit(107);
  seccomp_release(filter);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_starts_bare),
      cmocka_unit_test(test_passes_environment),
      cmocka_unit_test(test_passes_descriptors),
      cmocka_unit_test(test_files),
      cmocka_unit_test(test_read_paths),
      cmocka_unit_test(test_own_files),
      cmocka_unit_test(test_null),
      cmocka_unit_test(test_programs),
      cmocka_unit_test(test_network),
      cmocka_unit_test(test_calls_of_a_build),
      cmocka_unit_test(test_signals_outside),
      cmocka_unit_test(test_seen_from_outside),
      cmocka_unit_test(test_capabilities_of_root),
      cmocka_unit_test(test_takes_what_is_granted),
      cmocka_unit_test(test_memory_of_a_hidden_judge),
      cmocka_unit_test(test_oom_score_under_a_hidden_judge),
      cmocka_unit_test(test_exit_codes_and_signals),
      cmocka_unit_test(test_ends_that_nobody_knows),
      cmocka_unit_test(test_deadline),
      cmocka_unit_test(test_waiting_is_no_time_of_its_own),
      cmocka_unit_test(test_limits),
      cmocka_unit_test(test_log_is_capped),
      cmocka_unit_test(test_daemon_dies),
      cmocka_unit_test(test_processes_are_limited),
      cmocka_unit_test(test_quota),
      cmocka_unit_test(test_processes_at_a_time),
      cmocka_unit_test(test_memory_together),
      cmocka_unit_test(test_fork_bomb_ends),
      cmocka_unit_test(test_ordinary_user),
      cmocka_unit_test(test_without_namespaces),
      cmocka_unit_test(test_stop_and_continue),
      cmocka_unit_test(test_stands_still),
      cmocka_unit_test(test_dies_with_judge),
      cmocka_unit_test(test_failing_to_start),
      cmocka_unit_test(test_leaves_nothing),
      cmocka_unit_test(test_folder_removal),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
