// SPDX-License-Identifier: Apache-2.0
// When the threads of a stopped process are at rest.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/threads.h"

static uint32_t own_word, *word = &own_word; // what threads wait for, as long as it is 0
static uint32_t words[2];

static void handled(int number) {
  (void)number;
}

// Waits for ever; a signal that it does not block runs `handled`.
static void *park(void *blocks) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGRTMIN);
  pthread_sigmask(blocks ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
  for (;;)
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
  return NULL;
}

// Futex calls that the system refuses at once: for bits of an empty set, for a word off its place, by a clock for a
// wait that has none, for no word, for one that may not be read.
enum seeming { NO_BITS, OFF_ITS_PLACE, CLOCK, NO_WORD, NOT_READABLE, SEEMINGS };

static void *seem_to_wait(void *kind) {
  const enum seeming number = (enum seeming)(intptr_t)kind;
  char *at = (char *)words + (number == OFF_ITS_PLACE);
  if (number == NO_WORD)
    at = NULL;
  if (number == NOT_READABLE) {
    at = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *at = 1;
    *at = 0;
    mprotect(at, (size_t)sysconf(_SC_PAGESIZE), PROT_NONE);
  }
  const int operation = number == NO_BITS ? FUTEX_WAIT_BITSET_PRIVATE
                        : number == CLOCK ? FUTEX_WAIT_PRIVATE | FUTEX_CLOCK_REALTIME
                                          : FUTEX_WAIT_PRIVATE;
  for (;;)
    syscall(SYS_futex, at, operation, 0, NULL, NULL, 0);
  return NULL;
}

static void child(void *(*second)(void *), void *argument) {
  struct sigaction action = {.sa_handler = handled};
  pthread_t thread;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigaction(SIGRTMIN, &action, NULL);
  pthread_create(&thread, NULL, second, argument);
  park(word);
}

static void stop(pid_t pid) {
  int status;
  kill(pid, SIGSTOP);
  assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
  assert_true(WIFSTOPPED(status));
}

// Lets a child that is stopped go on until it is stopped with both threads parked. *second: the one besides the first.
static void go_on(pid_t pid, pid_t *second) {
  struct thread_set now = {0};
  do {
    kill(pid, SIGCONT);
    usleep(1000);
    stop(pid);
  } while (!threads_list(pid, &now) || now.n != 2 || !threads_parked(pid));
  *second = now.ids[now.ids[0] == pid];
}

static pid_t parked_child(bool blocks, pid_t *second) {
  pid_t pid = fork();
  if (pid == 0)
    child(park, blocks ? word : NULL);
  assert_true(pid > 0);
  stop(pid);
  go_on(pid, second);
  return pid;
}

static void end(pid_t pid) {
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
}

// A signal that came when the thread had stopped already: its handler would run before the next call's clock.
static void a_signal_that_waits(void **state) {
  (void)state;
  pid_t second, pid = parked_child(false, &second);
  assert_int_equal(syscall(SYS_tgkill, pid, second, SIGRTMIN), 0);
  assert_false(threads_parked(pid));
  end(pid);
}

// One that is blocked changes nothing: the thread stays where it is.
static void a_signal_that_is_blocked(void **state) {
  (void)state;
  pid_t second, pid = parked_child(true, &second);
  assert_int_equal(syscall(SYS_tgkill, pid, second, SIGRTMIN), 0);
  assert_true(threads_parked(pid));
  go_on(pid, &second);
  end(pid);
}

static void what_seems_to_wait(void **state) {
  (void)state;
  enum { STOPS = 50 };
  for (intptr_t kind = 0; kind < SEEMINGS; kind++) {
    pid_t pid = fork();
    if (pid == 0)
      child(seem_to_wait, (void *)kind);
    assert_true(pid > 0);
    struct thread_set now = {0};
    int stops = 0;
    for (stop(pid); stops < STOPS; stop(pid)) {
      stops += threads_list(pid, &now) && now.n == 2;
      assert_false(now.n == 2 && threads_parked(pid));
      kill(pid, SIGCONT);
      usleep(500);
    }
    end(pid);
  }
}

// Continued and stopped, a parked thread gives up its processor twice at most, however long it had to wait for one.
static void who_parks_stands_still(void **state) {
  (void)state;
  enum { TIMES = 20, MOST_ODD = 2 }; // a fault that waits for memory is a switch, too
  int odd = 0;
  pid_t second, pid = parked_child(false, &second);
  for (int i = 0; i < TIMES; i++) {
    struct thread_figures before, after;
    threads_switches(pid, &before);
    assert_int_equal(before.of.n, 2);
    kill(pid, SIGCONT);
    usleep(1000U * (i % 4));
    stop(pid);
    threads_switches(pid, &after);
    odd += !threads_stood_still(&before, &after);
  }
  assert_true(odd <= MOST_ODD);
  end(pid);
}

static void *nap(void *arg) {
  for (;;)
    usleep(100);
  return arg;
}

// However it looks when it is stopped.
static void who_sleeps_in_between_does_not(void **state) {
  (void)state;
  bool still = true;
  pid_t pid = fork();
  if (pid == 0) {
    pthread_t thread;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pthread_create(&thread, NULL, nap, NULL);
    park(word);
  }
  assert_true(pid > 0);
  for (int i = 0; i < 200 && still; i++) { // a busy machine may give it no processor
    struct thread_figures before, after;
    stop(pid);
    threads_switches(pid, &before);
    kill(pid, SIGCONT);
    usleep(20000);
    stop(pid);
    threads_switches(pid, &after);
    kill(pid, SIGCONT);
    still = threads_stood_still(&before, &after);
  }
  assert_false(still);
  end(pid);
}

// Whether threads that wait for a word of this memory are ever found parked, stopped at so many moments.
static bool parks_in(void *memory, int times) {
  struct thread_set now;
  bool parked = false;
  word = memory;
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0)
    child(park, NULL);
  for (int i = 0; i < times && !parked; i++) {
    usleep(1000);
    stop(pid);
    parked = threads_list(pid, &now) && now.n == 2 && threads_parked(pid);
    kill(pid, SIGCONT);
  }
  end(pid);
  word = &own_word;
  return parked;
}

static void memory_that_others_write(void **state) {
  (void)state;
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  int file = memfd_create("words", 0);
  assert_true(file >= 0 && ftruncate(file, (off_t)(2 * page)) == 0);
  enum { TIMES = 40 };
  char *own = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char *shared = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  char *of_file = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  char *copied = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
  assert_true(own != MAP_FAILED && shared != MAP_FAILED && of_file != MAP_FAILED && copied != MAP_FAILED);
  own[8] = shared[8] = of_file[8] = 1;
  assert_true(parks_in(own, 10000)); // or the others would say nothing
  assert_false(parks_in(shared, TIMES));
  assert_false(parks_in(of_file, TIMES));
  assert_false(parks_in(copied, TIMES)); // whoever writes to the file writes here, as long as nobody has written here
  munmap(own, page);
  munmap(shared, page);
  munmap(of_file, 2 * page);
  munmap(copied, 2 * page);
  close(file);
}

#if defined(__x86_64__)
// A call at a place of its own, which the process may change: a thread that is continued makes it anew.
static unsigned char *place;
static uint32_t *word_of_second;

static void *park_there(void *arg) {
  for (;;) {
    long number = SYS_futex;
    register long no_limit __asm__("r10") = 0;
    __asm__ volatile("call *%[place]"
                     : "+a"(number)
                     : [place] "b"(place), "D"(word), "S"(FUTEX_WAIT_PRIVATE), "d"(0), "r"(no_limit)
                     : "rcx", "r8", "r9", "r11", "memory", "cc");
  }
  return arg;
}

// The same once, and says that it has gone on.
static void *park_and_tell(void *awake) {
  long number = SYS_futex;
  register long no_limit __asm__("r10") = 0;
  uint32_t *mine = word_of_second;
  __asm__ volatile("call *%[place]"
                   : "+a"(number)
                   : [place] "b"(place), "D"(mine), "S"(FUTEX_WAIT_PRIVATE), "d"(0), "r"(no_limit)
                   : "rcx", "r8", "r9", "r11", "memory", "cc");
  *(volatile uint32_t *)awake = 1;
  return park(NULL);
}

enum code { OWN, OF_OTHERS, NOT_EXECUTABLE };

static bool parks_there(enum code code, const char *instruction) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  struct thread_set now;
  bool parked = false;
  place = mmap(NULL, page, PROT_READ | PROT_WRITE | PROT_EXEC,
               (code == OF_OTHERS ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS, -1, 0);
  assert_true(place != MAP_FAILED);
  memcpy(place, "\x0f\x05\xc3", 3); // syscall, ret
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    pthread_t thread;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pthread_create(&thread, NULL, park_there, NULL);
    usleep(50000); // it is there by then
    memcpy(place, instruction, 2);
    if (code == NOT_EXECUTABLE)
      mprotect(place, page, PROT_READ);
    park(word);
  }
  usleep(100000);
  stop(pid); // once, since one that changed ends or spins when it is continued
  parked = threads_list(pid, &now) && now.n == 2 && threads_parked(pid);
  end(pid);
  munmap(place, page);
  return parked;
}

static void a_call_that_changes(void **state) {
  (void)state;
  bool parked = false;
  for (int i = 0; i < 20 && !parked; i++) // on a busy machine it may not be there yet
    parked = parks_there(OWN, "\x0f\x05");
  assert_true(parked); // or the others would say nothing
  assert_false(parks_there(OWN, "\x90\x90"));
  assert_false(parks_there(OF_OTHERS, "\x0f\x05"));
  assert_false(parks_there(NOT_EXECUTABLE, "\x0f\x05"));
}

// The same in a private page of a file, and a word in one: another process writes the file while the child stands
// still. What was found parked stays so.
static void what_stands_in_a_file(void **state) {
  (void)state;
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char name[] = "/tmp/test_threads-XXXXXX";
  const int file = mkstemp(name);
  volatile uint32_t *awake =
      mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0); // by the second thread
  assert_true(file >= 0 && ftruncate(file, (off_t)(2 * page)) == 0 && unlink(name) == 0);
  assert_int_equal(pwrite(file, "\x0f\x05\xc3", 3, 0), 3);
  unsigned char *map = mmap(NULL, 2 * page, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
  unsigned char *tried = mmap(NULL, page, PROT_READ, MAP_PRIVATE, file, 0);
  assert_true(map != MAP_FAILED && tried != MAP_FAILED && awake != MAP_FAILED);
  const int memory = open("/proc/self/mem", O_RDWR);
  if (memory < 0 || pwrite(memory, "\x0f", 1, (off_t)(uintptr_t)tried) != 1)
    skip(); // proc_mem.force_override
  close(memory);
  for (int of_word = 0; of_word < 2; of_word++) {
    struct thread_set now;
    bool parked = false;
    *awake = 0;
    place = map;
    word_of_second = of_word ? (uint32_t *)(void *)(map + page) : &own_word;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
      pthread_t thread;
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      pthread_create(&thread, NULL, park_and_tell, (void *)awake);
      park(NULL);
    }
    for (int i = 0; i < 10000 && !parked; i++) {
      usleep(1000);
      stop(pid);
      parked = threads_list(pid, &now) && now.n == 2 && threads_parked(pid);
      if (!parked)
        kill(pid, SIGCONT);
    }
    assert_true(parked);
    assert_int_equal(pwrite(file, of_word ? "\x01" : "\x90\x90", of_word ? 1 : 2, of_word ? (off_t)page : 0),
                     of_word ? 1 : 2);
    kill(pid, SIGCONT);
    usleep(100000);
    assert_int_equal(*awake, 0);
    end(pid);
    assert_int_equal(pwrite(file, "\x0f\x05", 2, 0), 2);
  }
  munmap(map, 2 * page);
  munmap(tried, page);
  munmap((void *)awake, page);
  close(file);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_signal_that_waits),
    cmocka_unit_test(a_signal_that_is_blocked),
    cmocka_unit_test(what_seems_to_wait),
    cmocka_unit_test(who_parks_stands_still),
    cmocka_unit_test(who_sleeps_in_between_does_not),
    cmocka_unit_test(memory_that_others_write),
#if defined(__x86_64__)
    cmocka_unit_test(a_call_that_changes),
    cmocka_unit_test(what_stands_in_a_file),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
