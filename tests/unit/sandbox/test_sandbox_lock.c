// SPDX-License-Identifier: Apache-2.0
// The runner's system call filter: what ends a candidate, what is refused, and that honest programs work under it.
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "sandbox/sandbox.h"

enum { RETURNED = 55, NO_FILTER = 56, THREAD = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD };

static char library[96];

static void write_text(const char *path, const char *text) {
  FILE *out = fopen(path, "w");
  assert_non_null(out);
  fputs(text, out);
  fclose(out);
}

// A library whose constructor and whose function use OpenMP.
static int set_up(void **state) {
  static char home[] = "/tmp/test-lock-XXXXXX";
  char source[96], command[512];
  assert_non_null(mkdtemp(home));
  snprintf(source, sizeof source, "%s/openmp.c", home);
  snprintf(library, sizeof library, "%s/openmp.so", home);
  write_text(source, "#include <math.h>\n"
                     "#include <omp.h>\n"
                     "static long total;\n"
                     "long sum(long n) {\n"
                     "  long s = 0;\n"
                     "#pragma omp parallel for reduction(+:s) schedule(dynamic, 16) num_threads(4)\n"
                     "  for (long i = 0; i < n; i++)\n"
                     "    s += (long)sqrt((double)(i * i)) + 0 * omp_get_thread_num();\n"
                     "  return s;\n"
                     "}\n"
                     "__attribute__((constructor)) static void at_load(void) { total = sum(1000); }\n"
                     "long at_load_total(void) { return total; }\n");
  snprintf(command, sizeof command, "cc -std=gnu17 -O2 -fopenmp -fPIC -shared -o %s %s -lm", library, source);
  assert_int_equal(system(command), 0);
  *state = home;
  return 0;
}

static int tear_down(void **state) {
  sandbox_folder_remove(*state);
  return 0;
}

// ---- one try in a child that has locked itself up

typedef int attempt(long arg);

static int status_of(attempt *try_it, long arg) {
  int status = 0;
  fflush(NULL);
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    signal(SIGSYS, SIG_DFL); // cmocka has a handler for it
    if (sandbox_lock_runner(false, NULL) != ASSAY_OK)
      _exit(NO_FILTER);
    _exit(try_it(arg));
  }
  assert_int_equal(waitpid(pid, &status, 0), pid);
  return status;
}

static void assert_works(attempt *try_it, long arg) {
  int status = status_of(try_it, arg);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    fail_msg("exit code %d, signal %d", WIFEXITED(status) ? WEXITSTATUS(status) : -1,
             WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

// ---- forbidden calls, by number and arguments

struct call {
  const char *name;
  long number, args[6];
};

static int make_call(long arg) {
  const struct call *c = (const struct call *)arg;
  (void)syscall(c->number, c->args[0], c->args[1], c->args[2], c->args[3], c->args[4], c->args[5]);
  return RETURNED;
}

static void test_forbidden(void **state) {
  (void)state;
  const long here = (long)"/tmp", nowhere = (long)"/tmp/no-such-thing", parent = getpid();
  const struct call calls[] = {
      {"fork", SYS_fork, {0}},
      {"vfork", SYS_vfork, {0}},
      {"clone as fork", SYS_clone, {SIGCHLD}},
      {"clone sharing memory", SYS_clone, {CLONE_VM | CLONE_VFORK | SIGCHLD}},
      {"a thread that another waits for", SYS_clone, {THREAD | CLONE_VFORK}},
      {"a thread, upper bits set", SYS_clone, {THREAD | 1L << 32}},
      {"a thread with files of its own", SYS_clone, {THREAD & ~CLONE_FILES}},
      {"execve", SYS_execve, {nowhere}},
      {"execveat", SYS_execveat, {AT_FDCWD, nowhere}},
      {"socket", SYS_socket, {AF_INET, SOCK_STREAM}},
      {"unix socket", SYS_socket, {AF_UNIX, SOCK_STREAM}},
      {"socketpair", SYS_socketpair, {AF_UNIX, SOCK_STREAM}},
      {"connect", SYS_connect, {3}},
      {"sendmsg on the control socket", SYS_sendmsg, {3}},
      {"sendto on the control socket", SYS_sendto, {3}},
      {"recvmsg elsewhere", SYS_recvmsg, {4}},
      {"ptrace", SYS_ptrace, {0}},
      {"kill the parent", SYS_kill, {parent, 0}},
      {"kill all", SYS_kill, {-1, 0}},
      {"tkill", SYS_tkill, {parent, 0}},
      {"tgkill the parent", SYS_tgkill, {parent, parent, SIGTERM}},
      {"tgkill the parent, beyond those that stop", SYS_tgkill, {parent, parent, SIGXCPU}},
      {"tgkill the parent, in real time", SYS_tgkill, {parent, parent, SIGRTMIN}},
      {"rt_sigqueueinfo", SYS_rt_sigqueueinfo, {parent}},
      {"pidfd_open", SYS_pidfd_open, {parent}},
      {"pidfd_send_signal", SYS_pidfd_send_signal, {0}},
      {"process_vm_readv", SYS_process_vm_readv, {parent}},
      {"process_vm_writev", SYS_process_vm_writev, {parent}},
      {"process_madvise", SYS_process_madvise, {0}},
      {"kcmp", SYS_kcmp, {parent}},
      {"memfd_create", SYS_memfd_create, {(long)"x"}},
      {"shmget", SYS_shmget, {0, 4096, 0600}},
      {"shmat", SYS_shmat, {0}},
      {"msgget", SYS_msgget, {0}},
      {"semget", SYS_semget, {0}},
      {"bpf", SYS_bpf, {0}},
      {"seccomp", SYS_seccomp, {0}},
      {"perf_event_open", SYS_perf_event_open, {0}},
      {"userfaultfd", SYS_userfaultfd, {0}},
      {"io_uring_setup", SYS_io_uring_setup, {1}},
      {"io_setup", SYS_io_setup, {1}},
      {"unlink", SYS_unlink, {nowhere}},
      {"unlinkat", SYS_unlinkat, {AT_FDCWD, nowhere}},
      {"rename", SYS_rename, {nowhere, nowhere}},
      {"mkdir", SYS_mkdir, {here}},
      {"rmdir", SYS_rmdir, {nowhere}},
      {"link", SYS_link, {nowhere, nowhere}},
      {"symlink", SYS_symlink, {nowhere, here}},
      {"mknod", SYS_mknod, {here}},
      {"creat", SYS_creat, {nowhere, 0600}},
      {"truncate", SYS_truncate, {nowhere}},
      {"ftruncate", SYS_ftruncate, {3}},
      {"chmod", SYS_chmod, {nowhere}},
      {"chdir", SYS_chdir, {here}},
      {"chroot", SYS_chroot, {here}},
      {"mount", SYS_mount, {0}},
      {"unshare", SYS_unshare, {0}},
      {"setns", SYS_setns, {0}},
      {"open for the path only", SYS_openat, {AT_FDCWD, here, O_PATH}},
      {"open past the cache", SYS_openat, {AT_FDCWD, here, O_DIRECT}},
      {"open for oneself", SYS_openat, {AT_FDCWD, here, O_EXCL}},
      {"open with signals", SYS_open, {here, O_ASYNC}},
      {"madvise MADV_HWPOISON", SYS_madvise, {0, 0, 100}},
      {"madvise MADV_SOFT_OFFLINE", SYS_madvise, {0, 0, 101}},
      {"write elsewhere", SYS_write, {3, here, 1}},
      {"write, upper bits set", SYS_write, {1 | (1L << 32), here, 0}},
      {"writev elsewhere", SYS_writev, {4}},
      {"pwrite64", SYS_pwrite64, {1, here, 1}},
      {"sendfile", SYS_sendfile, {1, 0}},
      {"splice", SYS_splice, {0}},
      {"dup2 over the control socket", SYS_dup2, {1, 3}},
      {"dup", SYS_dup, {1}},
      {"fcntl F_DUPFD", SYS_fcntl, {1, F_DUPFD, 3}},
      {"fcntl F_SETFL", SYS_fcntl, {1, F_SETFL, 0}},
      {"pipe2", SYS_pipe2, {0}},
      {"eventfd2", SYS_eventfd2, {0}},
      {"timer_create", SYS_timer_create, {0}},
      {"setitimer", SYS_setitimer, {0}},
      {"alarm", SYS_alarm, {1}},
      {"timerfd_create", SYS_timerfd_create, {CLOCK_MONOTONIC, 0}},
      {"signalfd4", SYS_signalfd4, {-1}},
      {"rt_tgsigqueueinfo", SYS_rt_tgsigqueueinfo, {-1, -1, SIGRTMIN}},
      {"rt_sigsuspend", SYS_rt_sigsuspend, {0}},
      {"rt_sigtimedwait", SYS_rt_sigtimedwait, {0}},
      {"pause", SYS_pause, {0}},
      {"poll", SYS_poll, {0}},
      {"ppoll", SYS_ppoll, {0}},
      {"select", SYS_select, {0}},
      {"pselect6", SYS_pselect6, {0}},
      {"epoll_create1", SYS_epoll_create1, {0}},
      {"epoll_pwait", SYS_epoll_pwait, {-1}},
      {"mq_open", SYS_mq_open, {here}},
      {"mq_notify", SYS_mq_notify, {-1}},
      {"io_submit", SYS_io_submit, {0}},
      {"inotify_init1", SYS_inotify_init1, {0}},
      {"fcntl F_SETOWN", SYS_fcntl, {1, F_SETOWN, 0}},
      {"clock_settime", SYS_clock_settime, {0}},
      {"setpriority", SYS_setpriority, {0}},
      {"sched_setscheduler", SYS_sched_setscheduler, {0}},
      {"ioprio_set", SYS_ioprio_set, {1, 0, 0}},
      {"setsid", SYS_setsid, {0}},
      {"setpgid", SYS_setpgid, {0}},
      {"setuid", SYS_setuid, {0}},
      {"capset", SYS_capset, {0}},
      {"personality", SYS_personality, {0xffffffff}},
      {"keyctl", SYS_keyctl, {0}},
      {"limits of the parent", SYS_prlimit64, {parent, RLIMIT_NOFILE, 0, 0}},
      {"stopping itself", SYS_tgkill, {-1, -1, SIGSTOP}},
      {"handling SIGSYS", SYS_rt_sigaction, {SIGSYS, 0, 0, 8}},
      {"handling SIGSYS, upper bits set", SYS_rt_sigaction, {SIGSYS | (1L << 32), 0, 0, 8}},
      {"a call that does not exist", 400, {0}},
  };
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    int status = status_of(make_call, (long)&calls[i]);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
      fail_msg("%s: not ended by SIGSYS but exit code %d, signal %d", calls[i].name,
               WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  }
}

static int stop_itself(long sig) {
  (void)syscall(SYS_tgkill, getpid(), gettid(), sig);
  return RETURNED;
}

static void test_cannot_stop_itself(void **state) {
  (void)state;
  static const int stops[] = {SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU};
  for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
    int status = status_of(stop_itself, stops[i]);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSYS);
  }
}

// Neither blocking the signal nor another thread helps.
static int block_and_call(long unused) {
  sigset_t all;
  (void)unused;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  (void)syscall(SYS_fork);
  return RETURNED;
}
static void *call_in_thread(void *arg) {
  (void)syscall(SYS_fork);
  return arg;
}
static int thread_and_call(long unused) {
  pthread_t t;
  (void)unused;
  if (pthread_create(&t, NULL, call_in_thread, NULL) == 0)
    pthread_join(t, NULL);
  return RETURNED;
}

static void test_cannot_be_evaded(void **state) {
  (void)state;
  static attempt *const tries[] = {block_and_call, thread_and_call};
  for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
    int status = status_of(tries[i], 0);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSYS);
  }
}

// The runner's pool is there before the filter is.
static _Atomic bool locked;
static void *call_once_locked(void *arg) {
  while (!locked)
    sched_yield();
  return call_in_thread(arg);
}

static void test_holds_for_earlier_threads(void **state) {
  (void)state;
  int status;
  pid_t pid = fork();
  if (pid == 0) {
    pthread_t t;
    signal(SIGSYS, SIG_DFL);
    if (pthread_create(&t, NULL, call_once_locked, NULL) != 0 || sandbox_lock_runner(false, NULL) != ASSAY_OK)
      _exit(NO_FILTER);
    locked = true;
    pthread_join(t, NULL);
    _exit(RETURNED);
  }
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFSIGNALED(status));
  assert_int_equal(WTERMSIG(status), SIGSYS);
}

#if defined(__x86_64__)
// getpid() by another entry, which numbers its calls differently: 20 is writev for the filter.
static int call_by_int80(long number) {
  __asm__ volatile("int $0x80" : "+a"(number) : : "memory", "r8", "r9", "r10", "r11");
  return RETURNED;
}
static int call_by_x32(long number) {
  (void)syscall(number | 0x40000000);
  return RETURNED;
}

static void test_other_entries(void **state) {
  (void)state;
  int status = status_of(call_by_int80, 20);
  assert_true(WIFSIGNALED(status) && (WTERMSIG(status) == SIGSYS || WTERMSIG(status) == SIGSEGV)); // there may be none
  status = status_of(call_by_x32, SYS_getpid);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
}
#else
static void test_other_entries(void **state) {
  (void)state;
  skip();
}
#endif

// The runner's own handler, from before the lock, still hears of it.
static void heard(int sig, siginfo_t *info, void *context) {
  (void)sig;
  (void)context;
  _exit(info->si_syscall == SYS_unlink ? 77 : 78);
}

static void test_runner_handles_sigsys(void **state) {
  (void)state;
  int status;
  pid_t pid = fork();
  if (pid == 0) {
    struct sigaction a = {.sa_sigaction = heard, .sa_flags = SA_SIGINFO};
    sigaction(SIGSYS, &a, NULL);
    if (sandbox_lock_runner(false, NULL) != ASSAY_OK)
      _exit(NO_FILTER);
    unlink("/tmp/no-such-thing");
    _exit(RETURNED);
  }
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 77);
}

// ---- refused, but survived

#define EXPECT(condition)                                                                                              \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      fprintf(stderr, "line %d: %s (%s)\n", __LINE__, #condition, strerror(errno));                                    \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)
#define REFUSED(call, code) EXPECT((errno = 0, (call)) == -1 && errno == (code))

static int refusals(long unused) {
  struct rlimit r;
  cpu_set_t set;
  (void)unused;
  CPU_ZERO(&set);
  CPU_SET(0, &set);
  REFUSED(syscall(SYS_clone3, NULL, 0), ENOSYS);
  REFUSED(syscall(SYS_openat2, AT_FDCWD, "/tmp", NULL, 0), ENOSYS);
  REFUSED(open("/tmp/assay-no", O_RDWR | O_CREAT, 0600), EACCES);
  REFUSED(open("/tmp/assay-no", O_WRONLY), EACCES);
  REFUSED(open("/tmp/assay-no", O_RDONLY | O_CREAT, 0600), EACCES);
  REFUSED(open("/etc/passwd", O_RDONLY | O_TRUNC), EACCES);
  REFUSED(open("/tmp", O_TMPFILE | O_RDWR, 0600), EACCES);
  EXPECT(fopen("/tmp/assay-no", "w") == NULL && errno == EACCES);
  EXPECT(!isatty(1) && errno == ENOTTY);
  REFUSED(prctl(PR_SET_PDEATHSIG, 0), EPERM);
  REFUSED(prctl(PR_SET_DUMPABLE, 1), EPERM);
  EXPECT(getrlimit(RLIMIT_AS, &r) == 0);
  REFUSED(setrlimit(RLIMIT_AS, &r), EPERM);
  REFUSED(sched_setaffinity(1, sizeof set, &set), EPERM);
  REFUSED(fcntl(1, F_DUPFD_CLOEXEC, 3), EPERM);
  REFUSED(madvise(&set, 0, MADV_REMOVE), EPERM);
  for (int option = 0; option < 80; option++)
    if (option != PR_SET_NAME)
      REFUSED(prctl(option, 0, 0, 0, 0), EPERM);
  struct sigaction ignored = {.sa_handler = SIG_IGN};
  static const int stopping[] = {SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU};
  for (size_t i = 0; i < sizeof stopping / sizeof *stopping; i++)
    REFUSED(sigaction(stopping[i], &ignored, NULL), EPERM);
  return 0;
}

static void test_refused(void **state) {
  (void)state;
  assert_works(refusals, 0);
}

// Where calls are timed, restartable sequences are refused; elsewhere the C library has them for every thread.
static int ask_for_sequences(bool timed) {
  static _Alignas(32) char area[32];
  if (sandbox_lock_runner(timed, NULL) != ASSAY_OK)
    return NO_FILTER;
  long result = syscall(SYS_rseq, area, sizeof area, 0, 0x53053053);
  return result != 0 && errno == ENOSYS ? 77 : 78;
}

static void test_sequences(void **state) {
  (void)state;
  for (int timed = 0; timed < 2; timed++) {
    int status;
    pid_t pid = fork();
    if (pid == 0)
      _exit(ask_for_sequences(timed));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), timed ? 77 : 78);
  }
}

// ---- honest programs

static void *touch(void *arg) {
  char *p = arg;
  p[0]++;
  pthread_setname_np(pthread_self(), "worker");
  return arg;
}
static void *wait_long(void *arg) {
  for (;;)
    sleep(100);
  return arg;
}

static int threads(long unused) {
  pthread_t t[8];
  char byte[8] = {0};
  (void)unused;
  for (int i = 0; i < 8; i++)
    EXPECT(pthread_create(&t[i], NULL, touch, &byte[i]) == 0);
  for (int i = 0; i < 8; i++)
    EXPECT(pthread_join(t[i], NULL) == 0 && byte[i] == 1);
  EXPECT(pthread_create(&t[0], NULL, wait_long, NULL) == 0);
  EXPECT(pthread_cancel(t[0]) == 0 && pthread_join(t[0], NULL) == 0);
  return 0;
}

static int memory(long unused) {
  size_t n = (size_t)1 << 30;
  (void)unused;
  char *p = malloc(n);
  EXPECT(p != NULL);
  for (size_t i = 0; i < n; i += (size_t)1 << 24)
    p[i] = 1;
  free(p);
  for (size_t size = 1; size < 1 << 20; size *= 3) {
    p = realloc(NULL, size);
    p = realloc(p, size * 2);
    EXPECT(p != NULL);
    free(p);
  }
  void *m = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(m != MAP_FAILED && madvise(m, 1 << 20, MADV_HUGEPAGE) + 1 >= 0);
  m = mremap(m, 1 << 20, 1 << 21, MREMAP_MAYMOVE);
  EXPECT(m != MAP_FAILED && mprotect(m, 4096, PROT_READ) == 0 && munmap(m, 1 << 21) == 0);
  return 0;
}

static int printing_and_time(long unused) {
  struct timespec t, nap = {0, 1000000};
  struct rusage use;
  (void)unused;
  EXPECT(printf("printf under the filter: %f\n", 1.5) > 0 && fflush(stdout) == 0);
  EXPECT(fprintf(stderr, "and on stderr\n") > 0);
  EXPECT(clock_gettime(CLOCK_MONOTONIC, &t) == 0 && clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0);
  EXPECT(nanosleep(&nap, NULL) == 0 && usleep(100) == 0 && clock() != (clock_t)-1 && time(NULL) > 0);
  EXPECT(getrusage(RUSAGE_SELF, &use) == 0 && sched_yield() == 0 && sysconf(_SC_NPROCESSORS_ONLN) >= 1);
  return 0;
}

static int reading(long unused) {
  char line[256];
  (void)unused;
  FILE *in = fopen("/etc/ld.so.cache", "rb");
  EXPECT(in != NULL && fread(line, 1, sizeof line, in) == sizeof line && fseek(in, 8, SEEK_SET) == 0 &&
         fclose(in) == 0);
  DIR *dir = opendir("/usr/lib");
  EXPECT(dir != NULL && readdir(dir) != NULL && closedir(dir) == 0);
  EXPECT(access("/usr/lib", R_OK) == 0 && access("/no/such/place", R_OK) == -1);
  return 0;
}

static int loading(long unused) {
  (void)unused;
  void *libm = dlopen("libm.so.6", RTLD_NOW);
  EXPECT(libm != NULL);
  double (*cosine)(double);
  *(void **)&cosine = dlsym(libm, "cos");
  EXPECT(cosine != NULL && cosine(0) == 1);
  void *own = dlopen(library, RTLD_NOW);
  if (!own)
    fprintf(stderr, "%s\n", dlerror());
  EXPECT(own != NULL);
  long (*at_load)(void), (*sum)(long);
  *(void **)&at_load = dlsym(own, "at_load_total");
  *(void **)&sum = dlsym(own, "sum");
  EXPECT(at_load() == 1000L * 999 / 2);
  for (int i = 0; i < 20; i++)
    EXPECT(sum(100000) == 100000L * 99999 / 2);
  return 0;
}

static void test_honest_programs(void **state) {
  (void)state;
  assert_works(threads, 0);
  assert_works(memory, 0);
  assert_works(printing_and_time, 0);
  assert_works(reading, 0);
  assert_works(loading, 0);
}

static int end_by_abort(long unused) {
  (void)unused;
  abort();
}
static int end_by_raise(long sig) {
  signal((int)sig, SIG_DFL); // AddressSanitizer has its own ideas about some
  raise((int)sig);
  return RETURNED;
}

static void test_own_signals(void **state) {
  (void)state;
  static const int sigs[] = {SIGFPE, SIGSEGV, SIGBUS, SIGILL, SIGTERM, SIGVTALRM};
  int status = status_of(end_by_abort, 0);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  for (size_t i = 0; i < sizeof sigs / sizeof *sigs; i++) {
    status = status_of(end_by_raise, sigs[i]);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), sigs[i]);
  }
}

// Stopped and continued from outside in the middle of a sleep, which the kernel then restarts by restart_syscall.
static void test_frozen_in_sleep(void **state) {
  (void)state;
  int status;
  pid_t pid = fork();
  if (pid == 0) {
    struct timespec nap = {0, 300000000};
    if (sandbox_lock_runner(false, NULL) != ASSAY_OK)
      _exit(NO_FILTER);
    _exit(nanosleep(&nap, NULL) == 0 ? 0 : 1);
  }
  for (int i = 0; i < 3; i++) {
    usleep(50000);
    kill(pid, SIGSTOP);
    waitpid(pid, &status, WUNTRACED);
    kill(pid, SIGCONT);
  }
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

// Descriptors of buffers come over the control socket, number 3, after the lock.
static void test_receives_buffers(void **state) {
  (void)state;
  int ends[2], status;
  assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  pid_t pid = fork();
  if (pid == 0) {
    char byte;
    union {
      struct cmsghdr h;
      char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec v = {&byte, 1};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    int fd = -1;
    dup2(ends[1], 3);
    if (sandbox_lock_runner(false, NULL) != ASSAY_OK)
      _exit(NO_FILTER);
    if (recvmsg(3, &m, 0) != 1 || !CMSG_FIRSTHDR(&m))
      _exit(1);
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
    const char *p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    _exit(p != MAP_FAILED && !strcmp(p, "hello") ? 0 : 2);
  }
  int memory_fd = memfd_create("buffer", MFD_CLOEXEC);
  assert_int_equal(ftruncate(memory_fd, 4096), 0);
  assert_int_equal(write(memory_fd, "hello", 6), 6);
  union {
    struct cmsghdr h;
    char space[CMSG_SPACE(sizeof(int))];
  } control = {.h = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
  struct iovec v = {(char[]){'x'}, 1};
  struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), &memory_fd, sizeof memory_fd);
  assert_int_equal(sendmsg(ends[0], &m, 0), 1);
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  close(memory_fd);
  close(ends[0]);
  close(ends[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_forbidden),
      cmocka_unit_test(test_cannot_stop_itself),
      cmocka_unit_test(test_cannot_be_evaded),
      cmocka_unit_test(test_runner_handles_sigsys),
      cmocka_unit_test(test_holds_for_earlier_threads),
      cmocka_unit_test(test_other_entries),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_sequences),
      cmocka_unit_test(test_honest_programs),
      cmocka_unit_test(test_own_signals),
      cmocka_unit_test(test_frozen_in_sleep),
      cmocka_unit_test(test_receives_buffers),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
