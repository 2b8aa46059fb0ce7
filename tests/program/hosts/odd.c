// SPDX-License-Identifier: Apache-2.0
// odd HABIT KERNEL: a program that judges by libassay and has a habit of its own. What it prints is what library.sh
// expects.
#define _GNU_SOURCE
#include <assay/assay.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *kernel;
static FILE *out; // of its own, for the usual ones may be closed
static volatile sig_atomic_t heard;

static struct assay_session *open_session(void) {
  struct assay_settings t = {.size = sizeof t, .temporary = getenv("TMPDIR")};
  struct assay_session *s = NULL;
  struct assay_error err = {0};
  if (assay_session_open(&t, &s, &err))
    fprintf(out, "open %d %s\n", err.status, err.message);
  return s;
}

static void judge(struct assay_session *s, const char *who) {
  struct assay_request r = {
      .size = sizeof r, .task = "kernelbench/1/19", .candidate = kernel, .no_timing = 1, .no_probes = 1};
  struct assay_judged *v = NULL;
  struct assay_error err = {0};
  if (s && assay_session_judge(s, &r, &v, &err))
    fprintf(out, "%s %d %s\n", who, err.status, err.message);
  else if (s)
    fprintf(out, "%s %s %s\n", who, assay_reason_code(assay_judged_reason(v)), assay_judged_detail(v));
  if (v && getenv("JSON"))
    fprintf(out, "%s\n", assay_judged_json(v));
  assay_judged_free(v);
}

static void judge_once(const char *who) {
  struct assay_session *s = open_session();
  judge(s, who);
  assay_session_close(s);
}

static void *judge_five_times(void *who) {
  struct assay_session *s = open_session();
  for (int i = 0; i < 5; i++)
    judge(s, who);
  assay_session_close(s);
  return NULL;
}

static void threads(void) {
  pthread_t t[2];
  pthread_create(&t[0], NULL, judge_five_times, "one");
  pthread_create(&t[1], NULL, judge_five_times, "two");
  for (int i = 0; i < 2; i++)
    pthread_join(t[i], NULL);
}

static void fork_between(void) {
  struct assay_session *s = open_session();
  judge(s, "parent");
  pid_t child = fork();
  if (child == 0) {
    judge_once("child");
    fflush(out);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  judge(s, "again");
  assay_session_close(s);
}

static void closed(void) {
  for (int fd = 0; fd < 3; fd++)
    close(fd);
  judge_once("closed");
  for (int fd = 0; fd < 3; fd++)
    if (fcntl(fd, F_GETFD) >= 0)
      fprintf(out, "%d is open\n", fd);
}

static void ignored(void) {
  signal(SIGCHLD, SIG_IGN);
  judge_once("ignored");
  fprintf(out, "%s\n", signal(SIGCHLD, SIG_DFL) == SIG_IGN ? "as it was" : "changed");
  struct sigaction without = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT};
  sigaction(SIGCHLD, &without, NULL);
  judge_once("uncollected");
}

static void hear(int number) {
  (void)number;
  heard++;
}

// Handlers without SA_RESTART, and a signal every half millisecond.
static void handlers(void) {
  struct sigaction mine = {.sa_handler = hear}, now;
  const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
  for (int s = 1; s < 32; s++)
    if (s != SIGKILL && s != SIGSTOP && s != SIGSEGV && s != SIGBUS && s != SIGILL && s != SIGFPE)
      sigaction(s, &mine, NULL);
  setitimer(ITIMER_REAL, &often, NULL);
  for (int i = 0; i < 5; i++)
    judge_once("interrupted");
  setitimer(ITIMER_REAL, &never, NULL);
  for (int s = 1; s < 32; s++)
    if (sigaction(s, NULL, &now) == 0 && now.sa_handler != mine.sa_handler && s != SIGKILL && s != SIGSTOP &&
        s != SIGSEGV && s != SIGBUS && s != SIGILL && s != SIGFPE)
      fprintf(out, "the handler of %d is another\n", s);
  fprintf(out, "%s\n", heard > 100 ? "heard" : "not heard");
}

// Everything blocked, and signals ignored that a candidate's process needs.
static void blocked(void) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  judge_once("blocked");
}

static void *collect(void *unused) {
  (void)unused;
  for (;;)
    if (waitpid(-1, NULL, 0) < 0)
      usleep(100);
  return NULL;
}

// What it judges may pass, or is not judged; it never fails.
static void collector(void) {
  pthread_t t;
  pthread_create(&t, NULL, collect, NULL);
  for (int i = 0; i < 10; i++)
    judge_once("collected");
}

static void comma(void) {
  fprintf(out, "%s %.1f\n", setlocale(LC_ALL, "de_DE.UTF-8") ? "set" : "unset", 1.5);
  judge_once("comma");
  struct assay_session *s = open_session();
  struct assay_request r = {.size = sizeof r, .task = "kernelbench/1/19", .seed = 7};
  struct assay_answered *a = NULL;
  struct assay_error err = {0};
  if (assay_session_ask(s, &r, &a, &err))
    fprintf(out, "%s\n", err.message);
  assay_answered_free(a);
  assay_session_close(s);
  fprintf(out, "after %.1f\n", 1.5);
}

static void descriptors(void) {
  for (rlim_t n = 4; n <= 64; n += 4) {
    struct rlimit few = {n, 4096};
    setrlimit(RLIMIT_NOFILE, &few);
    fprintf(out, "%d: ", (int)n);
    judge_once("few");
  }
}

static void gone(void) {
  char folder[] = "/tmp/gone.XXXXXX";
  if (!mkdtemp(folder) || chdir(folder) || rmdir(folder))
    fprintf(out, "no folder to leave\n");
  judge_once("gone");
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*have)(void);
  } habits[] = {{"threads", threads},         {"fork", fork_between}, {"closed", closed},       {"ignored", ignored},
                {"handlers", handlers},       {"blocked", blocked},   {"collector", collector}, {"comma", comma},
                {"descriptors", descriptors}, {"gone", gone}};
  kernel = argc > 2 ? argv[2] : NULL;
  out = fdopen(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 100), "w");
  setvbuf(out, NULL, _IOLBF, 0);
  for (size_t i = 0; i < sizeof habits / sizeof *habits; i++)
    if (kernel && strcmp(argv[1], habits[i].name) == 0)
      habits[i].have();
  return fclose(out) != 0;
}
