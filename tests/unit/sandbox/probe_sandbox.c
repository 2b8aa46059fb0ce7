// SPDX-License-Identifier: Apache-2.0
// What test_sandbox.c runs inside the sandbox: one small misdeed or question per name, answers on standard output.
// A program of its own, for the test under AddressSanitizer could not start without /proc.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void say(const char *what, long result) {
  printf("%s %s\n", what, result < 0 ? strerrorname_np(errno) : "ok");
  fflush(stdout);
}

static void do_open(const char *path) {
  say("read", open(path, O_RDONLY));
  say("write", open(path, O_WRONLY | O_CREAT | O_APPEND, 0600));
}

static void do_net(const char *port) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(port))};
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  say("socket", fd);
  if (fd >= 0)
    say("connect", connect(fd, (struct sockaddr *)&to, sizeof to));
  int udp = socket(AF_INET, SOCK_DGRAM, 0);
  if (udp >= 0)
    say("send", sendto(udp, "x", 1, 0, (struct sockaddr *)&to, sizeof to));
}

static void do_state(void) {
  extern char **environ;
  for (char **e = environ; *e; e++)
    printf("env %s\n", *e);
  for (int fd = 0; fd < 1024; fd++)
    if (fcntl(fd, F_GETFD) >= 0)
      printf("fd %d\n", fd);
  static const struct {
    int resource;
    const char *name;
  } limits[] = {{RLIMIT_CPU, "cpu"},   {RLIMIT_AS, "as"},         {RLIMIT_FSIZE, "fsize"},
                {RLIMIT_CORE, "core"}, {RLIMIT_NOFILE, "nofile"}, {RLIMIT_NPROC, "nproc"}};
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
    struct rlimit r;
    getrlimit((__rlimit_resource_t)limits[i].resource, &r);
    printf("limit %s %lld\n", limits[i].name, (long long)r.rlim_cur);
  }
  char cwd[4096];
  printf("cwd %s\n", getcwd(cwd, sizeof cwd));
  printf("leader %d\n", getsid(0) == getpid() && getpgrp() == getpid());
  printf("nnp %d\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
  int death = 0;
  prctl(PR_GET_PDEATHSIG, &death);
  printf("death %d\n", death);
  printf("sigpipe %d\n", signal(SIGPIPE, SIG_DFL) == SIG_IGN);
}

// Writes its number to every descriptor from 3 on.
static void do_number(void) {
  for (int fd = 3; fd < 16; fd++)
    if (dprintf(fd, "%d", fd) < 0)
      break;
}

static void do_work(int ms) {
  pid_t pid = fork();
  if (pid == 0) {
    while (clock() < (clock_t)ms * (CLOCKS_PER_SEC / 1000))
      ;
    _exit(0);
  }
  int status = 0;
  say("work", waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -1);
}

static void do_allocate(void) {
  size_t total = 0;
  for (;;) {
    char *p = malloc(1 << 20);
    if (!p)
      break;
    memset(p, 1, 1 << 20);
    total += 1 << 20;
  }
  printf("allocated %zu\n", total);
}

static void do_fill(void) {
  static char block[1 << 16];
  long total = 0;
  int fd = open("fill", O_WRONLY | O_CREAT, 0600);
  signal(SIGXFSZ, SIG_IGN);
  for (ssize_t n; (n = write(fd, block, sizeof block)) > 0;)
    total += n;
  say("fill", -1);
  printf("filled %ld\n", total);
}

// Writes 40 files of 256 KiB each, and waits. They stay open; "removed": without a name.
static void do_many(const char *how) {
  static char block[1 << 18];
  char name[32];
  for (int i = 0; i < 40; i++) {
    snprintf(name, sizeof name, "many%d", i);
    int fd = open(name, O_WRONLY | O_CREAT, 0600);
    if (how && strcmp(how, "removed") == 0)
      unlink(name);
    if (write(fd, block, sizeof block) != (ssize_t)sizeof block)
      say("write", -1);
  }
  if (how && strcmp(how, "ends") == 0)
    return;
  sleep(100);
}

// A process that survives its parents as well as it can and holds on to descriptor 3.
static void do_daemon(void) {
  if (fork() == 0) {
    say("setsid", setsid());
    say("setpgid", setpgid(0, 0));
    printf("group %s\n", getpgrp() == getpid() ? "own" : "inherited");
    fflush(stdout);
    if (fork() == 0) {
      signal(SIGTERM, SIG_IGN);
      signal(SIGHUP, SIG_IGN);
      for (;;)
        sleep(100);
    }
    _exit(0);
  }
  wait(NULL);
}

static void do_fork_bomb(void) {
  for (;;)
    (void)!fork();
}

// Forks until it is refused; the children wait.
static void do_count_forks(void) {
  int n = 0;
  while (n < 2000) {
    pid_t pid = fork();
    if (pid < 0)
      break;
    if (pid == 0) {
      sleep(100);
      _exit(0);
    }
    n++;
  }
  printf("forks %d\n", n);
}

// 40 children that wait, and waits for them.
static void do_forks_wait(void) {
  for (int i = 0; i < 40; i++)
    if (fork() == 0) {
      sleep(100);
      _exit(0);
    }
  while (wait(NULL) > 0)
    ;
}

// 8 children, each with 16 MiB of its own; "shared": all with the same 16; "mapped": the same of memory that is no
// one's own.
static void do_hold_together(const char *how) {
  enum { CHILDREN = 8, BYTES = 16 << 20 };
  const bool before = how && strcmp(how, "shared") == 0, mapped = how && strcmp(how, "mapped") == 0;
  char *p = before ? memset(malloc(BYTES), 1, BYTES) : NULL;
  for (int i = 0; i < CHILDREN; i++)
    if (fork() == 0) {
      p = before   ? p
          : mapped ? mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)
                   : malloc(BYTES);
      if (!before)
        memset(p, 1, BYTES);
      sleep(before ? 1 : 100);
      _exit(p[BYTES - 1] != 1);
    }
  while (wait(NULL) > 0)
    ;
}

static void do_flood(void) {
  static char line[4096];
  memset(line, 'x', sizeof line);
  while (write(1, line, sizeof line) > 0)
    ;
}

// Calls of which none would end in EPERM without a filter, as far as an ordinary user's kernel has them.
static void do_calls(void) {
  int ends[2];
  const long self = getpid();
  say("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
  say("ptrace", ptrace(PTRACE_TRACEME, 0, NULL, NULL));
  say("process_vm_readv", syscall(SYS_process_vm_readv, self, NULL, 0, NULL, 0, 0));
  say("process_vm_writev", syscall(SYS_process_vm_writev, self, NULL, 0, NULL, 0, 0));
  say("pidfd_getfd", syscall(SYS_pidfd_getfd, -1, 0, 0));
  say("unshare", syscall(SYS_unshare, 0));
  say("setns", syscall(SYS_setns, -1, 0));
  say("mount", syscall(SYS_mount, NULL, NULL, NULL, 0, NULL));
  say("keyctl", syscall(SYS_keyctl, -1, 0, 0, 0, 0));
  say("add_key", syscall(SYS_add_key, NULL, NULL, NULL, 0, 0));
  say("bpf", syscall(SYS_bpf, 1, NULL, 0));
  say("perf_event_open", syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
  say("io_uring_setup", syscall(SYS_io_uring_setup, 0, NULL));
  say("userfaultfd", syscall(SYS_userfaultfd, -1));
  say("shmget", syscall(SYS_shmget, 0, 4096, 0600));
  say("shmat", syscall(SYS_shmat, -1, NULL, 0));
  say("shmctl", syscall(SYS_shmctl, -1, 0, NULL));
  say("semget", syscall(SYS_semget, 0, 1, 0600));
  say("semop", syscall(SYS_semop, -1, NULL, 0));
  say("semtimedop", syscall(SYS_semtimedop, -1, NULL, 0, NULL));
  say("semctl", syscall(SYS_semctl, -1, 0, 0, 0));
  say("msgget", syscall(SYS_msgget, 0, 0600));
  say("msgsnd", syscall(SYS_msgsnd, -1, NULL, 0, 0));
  say("msgrcv", syscall(SYS_msgrcv, -1, NULL, 0, 0, 0));
  say("msgctl", syscall(SYS_msgctl, -1, 0, NULL));
  say("mq_open", syscall(SYS_mq_open, "a", 0, 0, NULL));
  say("mq_unlink", syscall(SYS_mq_unlink, "a"));
#if defined(__x86_64__)
  say("x32", syscall(SYS_getpid | 0x40000000));
#else
  puts("x32 EPERM");
#endif
}

// getpid() by the 32-bit entry.
static void do_other_entry(void) {
#if defined(__x86_64__)
  long number = 20;
  __asm__ volatile("int $0x80" : "+a"(number) : : "memory", "r8", "r9", "r10", "r11");
  say("entry", 0);
#else
  raise(SIGSYS);
#endif
}

static int do_role(const char *what, const char *arg) {
  if (!strcmp(what, "open"))
    do_open(arg);
  else if (!strcmp(what, "net"))
    do_net(arg);
  else if (!strcmp(what, "calls"))
    do_calls();
  else if (!strcmp(what, "entry"))
    do_other_entry();
  else if (!strcmp(what, "state"))
    do_state();
  else if (!strcmp(what, "number"))
    do_number();
  else if (!strcmp(what, "allocate"))
    do_allocate();
  else if (!strcmp(what, "fill"))
    do_fill();
  else if (!strcmp(what, "many"))
    do_many(arg);
  else if (!strcmp(what, "daemon"))
    do_daemon();
  else if (!strcmp(what, "forkbomb"))
    do_fork_bomb();
  else if (!strcmp(what, "together"))
    do_hold_together(arg);
  else if (!strcmp(what, "forkswait"))
    do_forks_wait();
  else if (!strcmp(what, "forks"))
    do_count_forks();
  else if (!strcmp(what, "flood"))
    do_flood();
  else if (!strcmp(what, "spin"))
    for (volatile int i = 0;; i++)
      ;
  else if (!strcmp(what, "work")) // so many milliseconds of a processor, in a child of its own as a compiler's pass
    do_work(atoi(arg));
  else if (!strcmp(what, "sleep"))
    for (;;)
      sleep(100);
  else if (!strcmp(what, "abort"))
    abort();
  else if (!strcmp(what, "segv"))
    *(volatile int *)atol("16") = 1;
  else if (!strcmp(what, "kill"))
    say("kill", kill(atoi(arg), SIGTERM));
  else if (!strcmp(what, "exec"))
    say("exec", execl(arg, arg, (char *)NULL));
  else if (!strcmp(what, "exit"))
    return atoi(arg);
  else
    return 99;
  return 0;
}

int main(int argc, char **argv) {
  return do_role(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "");
}
