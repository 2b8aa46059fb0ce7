// SPDX-License-Identifier: Apache-2.0
// Turns on a device between processes: what overlaps and what does not, order, holders that die, folders that refuse.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "device/turn.h"

enum { MS = 1000000, LONG_MS = 60000 };

static char folder[] = "/tmp/turns.XXXXXX";

static struct turn *opened_or_at(const char *where, const char *home, const char *device) {
  struct turn *t;
  assert_int_equal(turn_open(where, home, device, &t, NULL), ASSAY_OK);
  return t;
}

static struct turn *opened(const char *where, const char *device) {
  return opened_or_at(where, "/nonexistent", device);
}

// A process that takes a turn, says so with a letter, keeps it until it is told to go on, and gives it back.
struct other {
  pid_t pid;
  int told, says;
};

static struct other begin(enum turn_kind kind) {
  int told[2], says[2];
  assert_int_equal(pipe(told), 0);
  assert_int_equal(pipe(says), 0);
  struct other o = {fork(), told[1], says[0]};
  assert_true(o.pid >= 0);
  if (o.pid == 0) {
    char c;
    close(told[1]);
    struct turn *t = opened(folder, "GPU-1");
    turn_take(t, kind, (int64_t)LONG_MS * MS);
    if (write(says[1], "t", 1) != 1 || read(told[0], &c, 1) < 0)
      _exit(1);
    turn_take(t, TURN_NONE, 0);
    _exit(0);
  }
  close(told[0]);
  close(says[1]);
  return o;
}

static void has_its_turn(const struct other *o) {
  char c;
  assert_int_equal(read(o->says, &c, 1), 1);
}

static bool has_none_for(const struct other *o, int ms) {
  fd_set set;
  struct timeval limit = {0, ms * 1000};
  FD_ZERO(&set);
  FD_SET(o->says, &set);
  return select(o->says + 1, &set, NULL, NULL, &limit) == 0;
}

static void tell(struct other *o) {
  assert_int_equal(write(o->told, "g", 1), 1); // the end of the pipe would not do: later processes have copies of it
  close(o->told);
}

static void wait_for_end(struct other *o) {
  int state;
  assert_int_equal(waitpid(o->pid, &state, 0), o->pid);
  assert_true(WIFEXITED(state) && WEXITSTATUS(state) == 0);
  close(o->says);
}

static void end(struct other *o) {
  tell(o);
  wait_for_end(o);
}

// Until somebody waits to be alone: nobody else has the gate for himself.
static void wait_for_one_alone(void) {
  char path[160];
  snprintf(path, sizeof path, "%s/assay-%ju/GPU-1.gate", folder, (uintmax_t)geteuid());
  int gate = open(path, O_RDONLY);
  assert_true(gate >= 0);
  while (flock(gate, LOCK_SH | LOCK_NB) == 0) {
    flock(gate, LOCK_UN);
    usleep(1000);
  }
  close(gate);
}

static void together_overlaps_and_alone_does_not(void **state) {
  (void)state;
  struct other a = begin(TURN_TOGETHER), b = begin(TURN_TOGETHER);
  has_its_turn(&a);
  has_its_turn(&b);
  struct other c = begin(TURN_ALONE);
  assert_true(has_none_for(&c, 50));
  end(&a);
  assert_true(has_none_for(&c, 50));
  end(&b);
  has_its_turn(&c);
  struct other d = begin(TURN_ALONE), e = begin(TURN_TOGETHER);
  assert_true(has_none_for(&d, 50));
  assert_true(has_none_for(&e, 50));
  end(&c);
  tell(&d); // either may be first
  tell(&e);
  wait_for_end(&d);
  wait_for_end(&e);
}

static void who_waits_to_be_alone_is_not_overtaken(void **state) {
  (void)state;
  struct other a = begin(TURN_TOGETHER);
  has_its_turn(&a);
  struct other b = begin(TURN_ALONE);
  wait_for_one_alone();
  assert_true(has_none_for(&b, 50));
  struct other c = begin(TURN_TOGETHER);
  assert_true(has_none_for(&c, 100));
  end(&a);
  has_its_turn(&b);
  assert_true(has_none_for(&c, 50));
  end(&b);
  has_its_turn(&c);
  end(&c);
}

// Many that record do so side by side: those who wait to be alone come one after the other, and then all others.
static void those_alone_come_first_and_then_all_others(void **state) {
  (void)state;
  struct other a = begin(TURN_ALONE);
  has_its_turn(&a);
  struct other b = begin(TURN_TOGETHER);
  assert_true(has_none_for(&b, 100)); // waits by now
  struct other c = begin(TURN_ALONE), d = begin(TURN_TOGETHER), e = begin(TURN_ALONE);
  assert_true(has_none_for(&d, 50));
  wait_for_one_alone();
  end(&a);
  while (has_none_for(&c, 1) && has_none_for(&e, 1))
    ;
  struct other *first = has_none_for(&c, 0) ? &e : &c, *second = first == &c ? &e : &c;
  has_its_turn(first);
  wait_for_one_alone();
  assert_true(has_none_for(&b, 50) && has_none_for(&d, 50));
  end(first);
  has_its_turn(second);
  assert_true(has_none_for(&b, 50) && has_none_for(&d, 50));
  end(second);
  has_its_turn(&b);
  has_its_turn(&d); // beside b
  end(&b);
  end(&d);
}

// Takes turns alone, one after the other, until it is ended.
static pid_t begin_row(void) {
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    alarm(LONG_MS / 1000); // where the test fails
    struct turn *t = opened(folder, "GPU-1");
    for (;;) {
      turn_take(t, TURN_ALONE, (int64_t)LONG_MS * MS);
      usleep(30000);
      turn_take(t, TURN_NONE, 0);
    }
  }
  return pid;
}

// Several processes that take times leave no gap. Who wants to record has its turn all the same, with others who do;
// and then the row goes on.
static void a_row_of_those_alone_keeps_nobody_out(void **state) {
  (void)state;
  enum { ROW = 4, MOST_MS = 20000 };
  pid_t row[ROW];
  struct other first = begin(TURN_ALONE);
  has_its_turn(&first);
  for (int i = 0; i < ROW; i++)
    row[i] = begin_row();
  wait_for_one_alone();
  const int64_t begin_ns = clock_monotonic_ns();
  struct other a = begin(TURN_TOGETHER), b = begin(TURN_TOGETHER);
  end(&first);
  assert_true(has_none_for(&a, 500));
  has_its_turn(&a);
  has_its_turn(&b);
  assert_true(clock_monotonic_ns() - begin_ns < (int64_t)MOST_MS * MS);
  end(&a);
  end(&b);
  struct other c = begin(TURN_ALONE);
  has_its_turn(&c);
  end(&c);
  for (int i = 0; i < ROW; i++) {
    kill(row[i], SIGKILL);
    waitpid(row[i], NULL, 0);
  }
}

static void a_turn_that_is_held_is_kept(void **state) {
  (void)state;
  struct turn *t = opened(folder, "GPU-1");
  turn_take(t, TURN_ALONE, (int64_t)LONG_MS * MS);
  struct other a = begin(TURN_ALONE);
  wait_for_one_alone();
  assert_true(has_none_for(&a, 50));
  assert_int_equal(turn_take(t, TURN_ALONE, (int64_t)LONG_MS * MS), 0);
  assert_true(has_none_for(&a, 50));
  turn_take(t, TURN_NONE, 0);
  has_its_turn(&a);
  assert_false(turn_missed(t));
  assert_in_range(turn_take(t, TURN_ALONE, 10 * MS), 10 * MS, (int64_t)LONG_MS * MS); // in vain
  assert_true(turn_missed(t));
  assert_int_equal(turn_take(t, TURN_NONE, 0), 0);
  assert_false(turn_missed(t)); // nothing was asked for
  end(&a);
  struct other b = begin(TURN_ALONE); // nothing is held that was not got
  has_its_turn(&b);
  end(&b);
  turn_close(t);
}

// Who is with others hears that somebody wants to be alone, and gives way: the other passes, and it goes on after it.
static void who_holds_it_with_others_gives_way(void **state) {
  (void)state;
  struct turn *t = opened(folder, "GPU-1");
  assert_false(turn_is_wanted(t)); // it holds none
  turn_take(t, TURN_TOGETHER, (int64_t)LONG_MS * MS);
  assert_false(turn_is_wanted(t));
  struct other a = begin(TURN_ALONE);
  wait_for_one_alone();
  assert_true(has_none_for(&a, 50));
  assert_true(turn_is_wanted(t));
  assert_true(has_none_for(&a, 50)); // asking changed nothing
  turn_take(t, TURN_NONE, 0);
  has_its_turn(&a);
  assert_false(turn_is_wanted(t));
  tell(&a);
  assert_true(turn_take(t, TURN_TOGETHER, (int64_t)LONG_MS * MS) < (int64_t)LONG_MS * MS);
  wait_for_end(&a);
  assert_false(turn_is_wanted(t));
  turn_take(t, TURN_ALONE, (int64_t)LONG_MS * MS);
  struct other b = begin(TURN_ALONE);
  wait_for_one_alone();
  assert_false(turn_is_wanted(t)); // what is timed is not interrupted
  turn_close(t);
  has_its_turn(&b);
  end(&b);
  assert_false(turn_is_wanted(NULL));
}

// One that asks many questions together with others, and gives way between them: who waits to be alone has its turn
// before the last question, and so has who waits behind that one's gate.
static void who_asks_many_questions_keeps_nobody_out(void **state) {
  (void)state;
  enum { QUESTIONS = 4000 };
  struct turn *t = opened(folder, "GPU-1");
  int gave_way = 0, asked = 0;
  turn_take(t, TURN_TOGETHER, (int64_t)LONG_MS * MS);
  struct other a = begin(TURN_ALONE);
  wait_for_one_alone();
  struct other b = begin(TURN_TOGETHER);
  assert_true(has_none_for(&b, 50)); // behind the gate
  tell(&a);                          // neither keeps it
  tell(&b);
  for (; asked < QUESTIONS && gave_way == 0; asked++) {
    usleep(5000);
    if (!turn_is_wanted(t))
      continue;
    turn_take(t, TURN_NONE, 0);
    assert_true(turn_take(t, TURN_TOGETHER, (int64_t)LONG_MS * MS) < (int64_t)LONG_MS * MS);
    gave_way++;
  }
  assert_int_equal(gave_way, 1);
  has_its_turn(&a);
  has_its_turn(&b);
  wait_for_end(&a);
  wait_for_end(&b);
  turn_close(t);
}

// Who had to wait has the device as long before it gives way again: a queue of others does not keep it for itself.
static void who_waited_has_as_long_for_itself(void **state) {
  (void)state;
  struct turn *t = opened(folder, "GPU-1");
  struct other c = begin(TURN_ALONE);
  has_its_turn(&c);
  pid_t later = fork();
  assert_true(later >= 0);
  if (later == 0) {
    usleep(600000);
    _exit(write(c.told, "g", 1) == 1 ? 0 : 1);
  }
  int64_t waited_ns = turn_take(t, TURN_TOGETHER, (int64_t)LONG_MS * MS);
  const int64_t since_ns = clock_monotonic_ns();
  assert_true(waited_ns > 300 * MS);
  assert_int_equal(waitpid(later, NULL, 0), later);
  close(c.told);
  wait_for_end(&c);
  struct other d = begin(TURN_ALONE);
  wait_for_one_alone();
  assert_true(has_none_for(&d, 50));
  bool early = turn_is_wanted(t);
  if (clock_monotonic_ns() - since_ns < waited_ns)
    assert_false(early);
  while (!turn_is_wanted(t))
    assert_true(clock_monotonic_ns() - since_ns < (int64_t)LONG_MS * MS);
  assert_true(clock_monotonic_ns() - since_ns >= waited_ns);
  turn_take(t, TURN_NONE, 0);
  has_its_turn(&d);
  end(&d);
  turn_close(t);
}

static void a_dead_holder_holds_nothing(void **state) {
  (void)state;
  struct other a = begin(TURN_ALONE);
  has_its_turn(&a);
  assert_int_equal(kill(a.pid, SIGKILL), 0);
  assert_int_equal(waitpid(a.pid, NULL, 0), a.pid);
  struct turn *t = opened(folder, "GPU-1");
  assert_true(turn_take(t, TURN_ALONE, (int64_t)LONG_MS * MS) < (int64_t)LONG_MS * MS);
  turn_close(t);
  close(a.told);
  close(a.says);
}

static void a_turn_that_does_not_come_is_not_waited_for_forever(void **state) {
  (void)state;
  struct other a = begin(TURN_ALONE);
  has_its_turn(&a);
  struct turn *t = opened(folder, "GPU-1");
  int64_t waited_ns = turn_take(t, TURN_TOGETHER, 30 * MS);
  assert_in_range(waited_ns, 30 * MS, (int64_t)LONG_MS * MS);
  assert_true(turn_missed(t));
  struct turn *elsewhere = opened(folder, "GPU-2"); // another device's
  assert_true(turn_take(elsewhere, TURN_ALONE, 0) < 1000 * MS);
  turn_close(elsewhere);
  end(&a);
  turn_take(t, TURN_ALONE, (int64_t)LONG_MS * MS);
  assert_false(turn_missed(t)); // this one came
  turn_close(t);
}

// A folder with nothing in it, and where turns in it are.
static void make_fresh(char path[64], char turns[128], const char *name) {
  snprintf(path, 64, "%s/%s", folder, name);
  assert_int_equal(mkdir(path, 0700), 0);
  snprintf(turns, 128, "%s/assay-%ju", path, (uintmax_t)geteuid());
}

static void without_files_there_are_no_turns(void **state) {
  (void)state;
  char path[64], turns[128], gate[160], aim[160];
  make_fresh(path, turns, "linked");
  assert_int_equal(mkdir(turns, 0700), 0);
  snprintf(gate, sizeof gate, "%s/GPU-1.gate", turns);
  snprintf(aim, sizeof aim, "%s/aim", path);
  assert_int_equal(symlink(aim, gate), 0);
  const char *folders[] = {"/nonexistent", path};
  for (int i = 0; i < 2; i++) {
    struct turn *t = opened(folders[i], "GPU-1");
    assert_int_equal(turn_take(t, TURN_ALONE, (int64_t)LONG_MS * MS), 0);
    assert_false(turn_missed(t));
    turn_close(t);
  }
  assert_int_not_equal(access(aim, F_OK), 0); // the link was not followed
  struct turn *t = opened(folder, "../GPU-1");
  assert_int_equal(turn_take(t, TURN_ALONE, (int64_t)LONG_MS * MS), 0);
  turn_close(t);
  assert_int_equal(turn_take(NULL, TURN_ALONE, 0), 0);
  assert_false(turn_missed(NULL));
}

// What of another user stands where our folder should be, or what others could open, is not used: neither waited for
// nor written to. All processes of the user meet at home instead.
enum squatter { A_LINK, A_FILE, AN_OPEN_FOLDER, ANOTHER_USERS, SQUATTERS };

static void squat(enum squatter kind, const char *turns, const char *aim) {
  FILE *f;
  switch (kind) {
  case A_LINK:
    assert_int_equal(mkdir(aim, 0700), 0);
    assert_int_equal(symlink(aim, turns), 0);
    break;
  case A_FILE:
    assert_non_null(f = fopen(turns, "w"));
    fclose(f);
    break;
  default:
    assert_int_equal(mkdir(turns, 0700), 0);
    assert_int_equal(kind == AN_OPEN_FOLDER ? chmod(turns, 0755) : chown(turns, 65534, 65534), 0);
  }
}

static void a_place_of_somebody_else_is_left_for_home(void **state) {
  (void)state;
  for (enum squatter kind = A_LINK; kind < SQUATTERS; kind++) {
    char path[64], turns[128], aim[160], home[160], name[32], file[224];
    if (kind == ANOTHER_USERS && geteuid() != 0)
      continue; // only root can give a folder away
    snprintf(name, sizeof name, "squatted-%d", kind);
    make_fresh(path, turns, name);
    snprintf(aim, sizeof aim, "%s/aim", path);
    snprintf(home, sizeof home, "%s/home", path);
    assert_int_equal(mkdir(home, 0700), 0);
    squat(kind, turns, aim);
    struct turn *a = opened_or_at(path, home, "GPU-1"), *b = opened_or_at(path, home, "GPU-1");
    assert_true(turn_take(a, TURN_ALONE, (int64_t)LONG_MS * MS) < (int64_t)LONG_MS * MS);
    assert_in_range(turn_take(b, TURN_ALONE, 10 * MS), 10 * MS, (int64_t)LONG_MS * MS); // they meet
    turn_close(a);
    turn_close(b);
    snprintf(file, sizeof file, "%s/.assay-turns/GPU-1.turn", home);
    assert_int_equal(access(file, F_OK), 0);
    const char *untouched[] = {turns, aim};
    for (int i = 0; i < 2; i++) {
      snprintf(file, sizeof file, "%s/GPU-1.gate", untouched[i]);
      assert_int_not_equal(access(file, F_OK), 0);
    }
  }
}

static void other_users_cannot_open_the_files(void **state) {
  (void)state;
  char path[64], turns[128], file[160];
  struct stat facts;
  make_fresh(path, turns, "private");
  mode_t before = umask(0);
  turn_close(opened(path, "GPU-1"));
  umask(before);
  assert_int_equal(lstat(turns, &facts), 0);
  assert_int_equal(facts.st_mode & 0777, 0700);
  snprintf(file, sizeof file, "%s/GPU-1.gate", turns);
  assert_int_equal(lstat(file, &facts), 0);
  assert_int_equal(facts.st_mode & 0777, 0600);
}

static int make_folder(void **state) {
  (void)state;
  return mkdtemp(folder) ? 0 : 1;
}

static int remove_folder(void **state) {
  char command[64];
  (void)state;
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(together_overlaps_and_alone_does_not),
      cmocka_unit_test(who_waits_to_be_alone_is_not_overtaken),
      cmocka_unit_test(those_alone_come_first_and_then_all_others),
      cmocka_unit_test(a_row_of_those_alone_keeps_nobody_out),
      cmocka_unit_test(a_turn_that_is_held_is_kept),
      cmocka_unit_test(who_holds_it_with_others_gives_way),
      cmocka_unit_test(who_asks_many_questions_keeps_nobody_out),
      cmocka_unit_test(who_waited_has_as_long_for_itself),
      cmocka_unit_test(a_dead_holder_holds_nothing),
      cmocka_unit_test(a_turn_that_does_not_come_is_not_waited_for_forever),
      cmocka_unit_test(without_files_there_are_no_turns),
      cmocka_unit_test(a_place_of_somebody_else_is_left_for_home),
      cmocka_unit_test(other_users_cannot_open_the_files),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
