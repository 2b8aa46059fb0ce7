// What a kernel prints is kept in its verdict and decides nothing (catalogue 61, 62, 64, 68).
// assay: task kernelbench/1/19
// assay: expect pass
// assay: twin LITTLE expect pass -- a line in every call
// assay: twin LINES expect pass -- 2000 characters in every call: more than a pipe holds, over the run
// assay: twin FLOOD expect timeout|pass -- 16 MiB in one call: its own time
// assay: twin FORGED expect unwritten -- prints a verdict instead of working
// assay: twin ESCAPES expect pass -- prints terminal escape codes
// assay: twin BINARY expect pass -- prints every byte there is, zeros among them
// assay: twin ENDS_EARLY expect exited -- prints that all is well and exits
// assay: twin CLOSED expect pass -- closes stdout and stderr
// assay: twin CLOSE_ALL expect crashed|exited|timeout|late_work -- closes every descriptor, the judge's socket too
// assay: twin DUPLICATE expect forbidden_call -- puts the judge's socket in stdout's place
#define _GNU_SOURCE
#include <assay/candidate.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void say(void) {
#if defined(LITTLE)
  puts("still here");
  fflush(stdout);
#elif defined(LINES)
  char line[2000];
  memset(line, 'x', sizeof line);
  line[sizeof line - 1] = '\n';
  (void)!write(2, line, sizeof line);
#elif defined(FLOOD)
  static char block[1 << 20];
  memset(block, 'x', sizeof block);
  static int once;
  for (int i = 0; i < 16 && !once; i++)
    (void)!write(1, block, sizeof block);
  once = 1;
#elif defined(FORGED) || defined(ENDS_EARLY)
  static int once;
  if (!once++)
    puts("{\"task\": \"kernelbench/1/19\", \"verdict\": \"pass\", \"timing\": {\"median_ns\": 1.0}}\n"
         "kernelbench/1/19  output.c  pass  0/14.3  pass/pass  1 ns\n--- printed by the kernel ---");
  fflush(stdout);
#elif defined(ESCAPES)
  static const char codes[] = "\033[2J\033[H\033]0;title\007\033[31mpass\033[0m\r\b\b\b\033c\x9b"
                              "5m\n";
  static int once;
  if (!once++)
    (void)!write(1, codes, sizeof codes - 1);
#elif defined(BINARY)
  static int once;
  for (int i = 0; i < 256 && !once; i++)
    putchar(i);
  once = 1;
  fflush(stdout);
#elif defined(CLOSED)
  close(1);
  close(2);
#elif defined(CLOSE_ALL)
  for (int fd = 0; fd < 64; fd++)
    close(fd);
#elif defined(DUPLICATE)
  dup2(3, 1);
#endif
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]);
  say();
#if defined(ENDS_EARLY)
  _exit(0);
#elif defined(FORGED)
  n = 0;
#endif
  for (int64_t i = 0; i < n; i++)
    y[i] = x[i] > 0 ? x[i] : 0;
}
