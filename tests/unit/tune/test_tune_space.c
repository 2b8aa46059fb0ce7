// SPDX-License-Identifier: Apache-2.0
// modules: tune
// Parameters, constraints, the order of configurations and their sources.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tune/curve.h"
#include "tune/space.h"

static const char source[] = "// a kernel\n"
                             "// assay: tune TILE 64,16,32\n"
                             "  // assay:  tune  KIND  fast, slow\r\n"
                             "# assay: tune WIDTH 1,2\n"
                             "// assay: constraint TILE * WIDTH <= M\n"
                             "int x = TILE;\n";

static struct tune_space space_of(const char *text, struct arena *a) {
  struct tune_space s;
  struct assay_error err = {0};
  if (tune_space_read("k.c", text, strlen(text), a, &s, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  return s;
}

static void refused(const char *text, enum assay_status status, const char *why) {
  struct arena a = {0};
  struct tune_space s;
  struct assay_error err = {0};
  assert_int_equal(tune_space_read("k.c", text, strlen(text), &a, &s, &err), status);
  if (!strstr(err.message, why))
    fail_msg("%s: no '%s'", err.message, why);
  arena_release(&a);
}

static void reads(void **state) {
  (void)state;
  struct arena a = {0};
  struct tune_space s = space_of(source, &a);
  const char *values[TUNE_MOST_PARAMETERS];
  struct buf name = {0};
  assert_int_equal(s.n, 3);
  assert_int_equal(s.size, 12);
  assert_int_equal(s.parameters[1].line, 3);
  assert_string_equal(s.parameters[1].values[1], "slow");
  assert_string_equal(s.constraints[0], "TILE * WIDTH <= M");
  tune_space_pick(&s, 0, values);
  tune_space_name(&s, values, &name);
  assert_string_equal(buf_str(&name), "TILE=64,KIND=fast,WIDTH=1");
  buf_clear(&name);
  tune_space_pick(&s, 7, values);
  tune_space_name(&s, values, &name);
  assert_string_equal(buf_str(&name), "TILE=16,KIND=slow,WIDTH=2");
  buf_release(&name);
  arena_release(&a);
}

// Blanks around a comment's mark count for nothing, and a backslash goes on in the next comment; lines keep their
// numbers.
static void spellings(void **state) {
  (void)state;
  struct arena a = {0};
  struct tune_space s =
      space_of("//assay: tune A 1,2, \\ \n//assay:   4\n//  assay:constraint A * 2 <= M || \\\n  //  A == 1\n"
               "// assay: tune B 1,2\nint x = A;\n",
               &a);
  const char *const values[] = {"4", "2"};
  assert_int_equal(s.n, 2);
  assert_int_equal(s.parameters[0].n, 3);
  assert_string_equal(s.parameters[0].values[2], "4");
  assert_int_equal(s.parameters[1].line, 5);
  assert_string_equal(s.constraints[0], "A * 2 <= M ||   A == 1");
  const struct plan_symbol m = {.name = "M", .value = 3};
  const struct tune_order order = {.file = "k.c", .seed = 1, .n_symbols = 1, .symbols = &m};
  struct assay_error err = {0};
  int64_t *numbers, count;
  assert_int_equal(tune_space_order(&s, &order, &a, &numbers, &count, &err), ASSAY_OK);
  assert_int_equal(count, 2); // A == 1 with both
  struct buf out = {0};
  const char *text =
      "//assay: tune A 1, \\\n//  4\n//assay: constraint A == 4 \\\n// || A == 1\n#assay: tune B 1,2\nint x;\n";
  s = space_of(text, &a);
  tune_space_source(&s, text, strlen(text), values, &out);
  assert_string_equal(buf_str(&out),
                      "// assay: let A = 4\n#define A 4\n//\n#line 3\n// held: A == 4 \\\n//\nB = 2\nint x;\n");
  buf_release(&out);
  s = space_of("#assay: tune C 1, \\\n#  2\nC == 1\n", &a);
  assert_int_equal(s.parameters[0].n, 2);
  arena_release(&a);
  refused("//assay: tune A 1,2, \\\nint x;\n", ASSAY_ERR_SYNTAX, "k.c:1: a value is a number");
}

static void refuses(void **state) {
  (void)state;
  refused("int x;\n", ASSAY_ERR_USAGE, "declares nothing to tune");
  refused("// assay: tune\n", ASSAY_ERR_USAGE, "declares nothing to tune");
  refused("// assay: tune 3 4\n", ASSAY_ERR_SYNTAX, "k.c:1: the name is missing");
  refused("\n// assay: tune A 1,\n", ASSAY_ERR_SYNTAX, "k.c:2: a value is missing");
  refused("// assay: tune A 1 2\n", ASSAY_ERR_SYNTAX, "there are to be commas between values");
  refused("// assay: tune A 1,2,1\n", ASSAY_ERR_SYNTAX, "there twice");
  refused("// assay: tune A 1\n// assay: tune A 2\n", ASSAY_ERR_SYNTAX, "k.c:2: A is declared in line 1 already");
  refused("// assay: tune A 1\n// assay: tune B 1;2\n", ASSAY_ERR_SYNTAX, "k.c:2");
  refused("// assay: tune A +1\n", ASSAY_ERR_SYNTAX, "a value is a number, a word, or a text in quotes");
  refused("// assay: tune A 1..8\n", ASSAY_ERR_SYNTAX, "k.c:1: there are no ranges");
  refused("// assay: tune A \"x\n", ASSAY_ERR_SYNTAX, "a text in quotes");
  refused("// assay: tune A 8,010\n", ASSAY_ERR_SYNTAX, "octal to C");
  refused("// assay: tune A -07\n", ASSAY_ERR_SYNTAX, "octal to C");
  refused("// assay: tune A 8u,010u\n", ASSAY_ERR_SYNTAX, "octal to C");
}

// A definition that always holds would make all configurations one.
static void refuses_definitions(void **state) {
  (void)state;
  refused("// assay: tune A 1,2\n#define A 1\n", ASSAY_ERR_SYNTAX,
          "k.c:2: A has this value whatever the tuner chooses");
  refused("// assay: tune A 1,2\n#if X\n#endif\n # define A(x) x\n", ASSAY_ERR_SYNTAX, "k.c:4: A has this value");
  refused("# assay: tune A 1,2\nA = 3\n", ASSAY_ERR_SYNTAX, "put the line above the one that declares it");
  static const char *const again[] = {
      "A: int = 3\n", "A, B = 3, 4\n",    "B, A = 3, 4\n",   "(B, A) = 3, 4\n", "B = A = 3\n",
      "A = B = 3\n",  "*B, A = 3, 4\n",   "A: 'x' = 3\r\n",  "B = 1; A = 3\n",  "B: int = ';#'; A = 3\n",
      "A \\\n = 3\n", "(A,\nB) = 3, 4\n", "[A, B] = 3, 4\n", "A = '''\n'''\n",  "A = (\n3)\n"};
  for (size_t i = 0; i < sizeof again / sizeof *again; i++) {
    char text[100];
    snprintf(text, sizeof text, "# assay: tune A 1,2\n%s", again[i]);
    refused(text, ASSAY_ERR_SYNTAX, "k.c:2: A has this value whatever the tuner chooses");
  }
  refused("# assay: tune A 1,2\nB = ')'\nC = f('''\nA = 1\n''')\nA = 3\n", ASSAY_ERR_SYNTAX,
          "k.c:6: A has this value whatever the tuner chooses");
  refused("# assay: tune A 1,2\nB = f(\n); A = 3\n", ASSAY_ERR_SYNTAX, "k.c:3: A has this value");
  refused("# assay: tune A 1,2\nfrom __future__ import annotations\n", ASSAY_ERR_SYNTAX,
          "k.c:2: this line has to stand above the parameters");
  refused("def f():\n  # assay: tune A 1,2\n", ASSAY_ERR_SYNTAX, "k.c:2: a parameter becomes a global variable");
  static const char *const right[] = {"from __future__ import annotations\n# assay: tune A 1,2\n",
                                      "# assay: tune A 1,2\nB = f(A=3)\nA.x = 3\nx[A] = 3\nB = A == 3\nprint(A, B == "
                                      "3)\nB: int = A\nA: int\nB, C = A, 3\nA\n",
                                      "// assay: tune A 1,2\n#ifndef A\n#if 1\n#endif\n#define A 1\n#endif\n",
                                      "#define A 1\n// assay: tune A 1,2\n",
                                      "// assay: tune A 1,2\n#define AB 1\n#define B A\nint A = 3;\n",
                                      "A = 3\n# assay: tune A 1,2\n",
                                      "# assay: tune A 1,2\nif A == 1:\n  A = 2\nA == 3\nAB = 3\n",
                                      "# assay: tune A 1,2\nB = dict(\nA=64,\n)\n",
                                      "# assay: tune A 1,2\nB = dict(  # the (default\nA=64,\n)\n",
                                      "# assay: tune A 1,2\ndef f():\n  \"\"\"Of \\\"\"\" it's\n"
                                      "A: rows (default = 64)\nA = 3\n  \"\"\"\n",
                                      "# assay: tune A 1,2\nB = f(1, \\\nA=3)\nB = 'A = 3; A = 4' \\\n'x'\n",
                                      "# assay: tune A 1,2\nif B: C = 1; A = 3\nA: int; B = 3\n"};
  for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
    struct arena a = {0};
    assert_int_equal(space_of(right[i], &a).size, 2);
    arena_release(&a);
  }
}

// What was meant for the tuner and would be left out without a word.
static void refuses_near_misses(void **state) {
  (void)state;
  static const char *const wrong[] = {"#define B 4 // assay: tune B 4,8\n",
                                      "/* assay: tune B 4,8 */\n",
                                      "/*\n * assay: tune B 4,8\n */\n",
                                      "/*\nassay: tune B 4,8\n*/\n",
                                      "// Assay: tune B 4,8\n",
                                      "// ASSAY: TUNE B 4,8\n",
                                      "// assay: tunes B 4,8\n",
                                      "// assay: constraints A < 2\n",
                                      "// assay: constraint(A < 2)\n",
                                      "// assay: Constraint A % 2 == 0\n",
                                      "// assay: tune: B 4,8\n",
                                      "int x; // assay: tune B 4 8\n",
                                      "int x; // assay: tune B fast,slow\n",
                                      "int x; // assay: tune B fast\n",
                                      "// assay: tunes(B, 4)\n",
                                      "/// assay: tune B 4,8\n",
                                      "B = 4  # assay: tune B 4,8\n"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    char text[200];
    snprintf(text, sizeof text, "// assay: tune A 1,2\n%s", wrong[i]);
    refused(text, ASSAY_ERR_SYNTAX, "this looks like a line for the tuner, and is none");
    refused(wrong[i], ASSAY_ERR_SYNTAX, "as a line of its own");
  }
  static const char *const right[] = {"// see assay: tune lines\n",
                                      "// what `// assay: tune B 4,8` means\n",
                                      "// assay: task x/y\n",
                                      "x = \"// assay: tune B 4\"\n",
                                      "// assay: tune\n",
                                      "// assay: tuned\n",
                                      "// assay: tuned by hand on an H100, 3.2 us\n",
                                      "int x; // assay: tune this one by hand, 3 times\n",
                                      "// assay: tuning is of no use here\n",
                                      "// assay: constraints are in the table above\n"};
  for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
    char text[200];
    struct arena a = {0};
    snprintf(text, sizeof text, "// assay: tune A 1,2\n%s", right[i]);
    assert_int_equal(space_of(text, &a).n, 1);
    arena_release(&a);
  }
  refused("// assay: let A = 4\n// assay: tune A 1,2\n", ASSAY_ERR_SYNTAX, "k.c:1: A is a parameter (line 2)");
  refused("// assay: tune A 1,2\n//assay:let A=A\n", ASSAY_ERR_SYNTAX, "k.c:2: A is a parameter (line 1)");
}

// A byte order mark hides no line, and is not kept: the first line has another one before it.
static void byte_order_mark(void **state) {
  (void)state;
  static const char text[] = "\xef\xbb\xbf// assay: tune A 1,2\nint x;\n";
  struct arena a = {0};
  struct buf out = {0};
  struct tune_space s = space_of(text, &a);
  tune_space_source(&s, text, sizeof text - 1, (const char *const[]){"2"}, &out);
  assert_string_equal(buf_str(&out), "// assay: let A = 2\n#define A 2\n#line 2\nint x;\n");
  buf_release(&out);
  arena_release(&a);
}

// Numbers are names for launch lines, too; texts are for the compiler alone.
static void values(void **state) {
  (void)state;
  static const char text[] = "// assay: tune A 0x10,-3\n// assay: tune B 2.5,1e-3\n// assay: tune C \"a,b\",'c d'\n"
                             "// assay: tune D 99999999999999999999,1.5f\n// assay: constraint B > 1.5 && A > 0\n";
  struct arena a = {0};
  struct tune_space s = space_of(text, &a);
  struct assay_error err = {0};
  struct buf out = {0};
  const char *chosen[TUNE_MOST_PARAMETERS];
  const struct plan_symbol m = {"M", 64}, b = {"B", 64};
  int64_t *order, n;
  assert_int_equal(s.size, 16);
  assert_int_equal(tune_space_order(&s, &(struct tune_order){"k.c", &m, 1, 1}, &a, &order, &n, &err), ASSAY_OK);
  assert_int_equal(n, 4); // B is 2.5, A is 16
  tune_space_pick(&s, 0, chosen);
  tune_space_source(&s, text, sizeof text - 1, chosen, &out);
  assert_string_equal(buf_str(&out), "// assay: let A = 0x10\n#define A 0x10\n// assay: let B = 2.5\n#define B 2.5\n"
                                     "#define C \"a,b\"\n#define D 99999999999999999999\n#line 5\n"
                                     "// held: B > 1.5 && A > 0\n");
  assert_int_equal(tune_space_order(&s, &(struct tune_order){"k.c", &b, 1, 1}, &a, &order, &n, &err),
                   ASSAY_ERR_INVALID);
  assert_non_null(strstr(err.message, "k.c:2: B is a dimension of the task"));
  s = space_of("// assay: tune A 8,wide\n// assay: tune AB 1\n// assay: constraint AB < 4 && A > 4\n", &a);
  assert_int_equal(tune_space_order(&s, &(struct tune_order){"k.c", &m, 1, 1}, &a, &order, &n, &err),
                   ASSAY_ERR_INVALID);
  assert_non_null(
      strstr(err.message, "k.c:3: the constraint `AB < 4 && A > 4` is over A, whose value wide is no number"));
  s = space_of("// assay: tune A 8,4\n// assay: constraint y.count % A == 0\n", &a);
  assert_int_equal(tune_space_order(&s, &(struct tune_order){"k.c", &m, 1, 1}, &a, &order, &n, &err),
                   ASSAY_ERR_INVALID);
  assert_non_null(strstr(err.message, "tensors have no extents here (`y`): name the task's dimensions"));
  buf_release(&out);
  arena_release(&a);
}

// C's suffixes are the compiler's; launch lines and constraints have the number.
static void suffixes(void **state) {
  (void)state;
  static const char text[] = "// assay: tune A 64u,0X10,128ULL,0x1f\n// assay: tune B 1.5f,-2.F,1e-3L,7\n"
                             "// assay: constraint A >= 31 && B < 2\n";
  struct arena a = {0};
  struct tune_space s = space_of(text, &a);
  struct assay_error err = {0};
  struct buf out = {0};
  const struct plan_symbol m = {"M", 64};
  int64_t *order, n;
  assert_int_equal(tune_space_order(&s, &(struct tune_order){"k.c", &m, 1, 1}, &a, &order, &n, &err), ASSAY_OK);
  assert_int_equal(n, 9); // not A = 16, not B = 7
  tune_space_source(&s, text, sizeof text - 1, (const char *const[]){"64u", "-2.F"}, &out);
  assert_non_null(
      strstr(buf_str(&out), "// assay: let A = 64\n#define A 64u\n// assay: let B = -2.0\n#define B -2.F\n"));
  buf_clear(&out);
  tune_space_source(&s, text, sizeof text - 1, (const char *const[]){"0X10", "1e-3L"}, &out);
  assert_non_null(strstr(buf_str(&out), "let A = 0x10\n#define A 0X10\n// assay: let B = 1e-3\n"));
  static const char *const words[] = {"64uf", "u", "f", "-", "0x", "0xu", "1.5u", "e", "64lulu"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    buf_clear(&out);
    tune_space_source(&s, text, sizeof text - 1, (const char *const[]){words[i], "7"}, &out);
    if (strstr(buf_str(&out), "let A"))
      fail_msg("%s is taken for a number", words[i]);
  }
  buf_release(&out);
  arena_release(&a);
}

static void orders(void **state) {
  (void)state;
  struct arena a = {0};
  struct tune_space s = space_of(source, &a);
  struct assay_error err = {0};
  const struct plan_symbol m64 = {"M", 64}, m8 = {"M", 8};
  int64_t *one, *two, *other, n, n2;
  assert_int_equal(tune_space_order(&s, &(struct tune_order){"k.c", &m64, 1, 1}, &a, &one, &n, &err), ASSAY_OK);
  assert_int_equal(tune_space_order(&s, &(struct tune_order){"k.c", &m64, 1, 1}, &a, &two, &n2, &err), ASSAY_OK);
  assert_int_equal(n, 10); // not TILE 64 with WIDTH 2
  assert_int_equal(n2, n);
  assert_memory_equal(one, two, (size_t)n * sizeof *one);
  assert_int_equal(one[0], 0);
  assert_int_equal(tune_space_order(&s, &(struct tune_order){"k.c", &m64, 1, 2}, &a, &other, &n2, &err), ASSAY_OK);
  assert_memory_not_equal(one, other, (size_t)n * sizeof *one);
  int64_t seen = 0;
  for (int64_t i = 0; i < n; i++)
    seen |= (int64_t)1 << one[i];
  assert_int_equal(seen, 0xFFF & ~(1 << 1) & ~(1 << 3)); // each once
  assert_int_equal(tune_space_order(&s, &(struct tune_order){"k.c", &m8, 1, 1}, &a, &one, &n, &err), ASSAY_ERR_USAGE);
  assert_non_null(strstr(err.message, "allow none of the 12"));
  assert_int_equal(tune_space_order(&s, &(struct tune_order){"k.c", NULL, 0, 1}, &a, &one, &n, &err),
                   ASSAY_ERR_INVALID);
  assert_non_null(strstr(err.message, "k.c:5: the constraint"));
  arena_release(&a);
}

static void writes(void **state) {
  (void)state;
  struct arena a = {0};
  struct tune_space s = space_of(source, &a);
  struct buf text = {0};
  const char *values[TUNE_MOST_PARAMETERS];
  tune_space_pick(&s, 7, values);
  tune_space_source(&s, source, strlen(source), values, &text);
  assert_string_equal(buf_str(&text), "// a kernel\n"
                                      "// assay: let TILE = 16\n#define TILE 16\n"
                                      "#define KIND slow\n"
                                      "WIDTH = 2\n"
                                      "#line 5\n" // for the compiler, whose messages are of the author's lines
                                      "// held: TILE * WIDTH <= M\n"
                                      "int x = TILE;\n");
  buf_release(&text);
  arena_release(&a);
}

// What a header may replace is asked at the end, unless the file undefines it itself.
static void guards(void **state) {
  (void)state;
  static const char text[] =
      "// assay: tune A 1,2\n// assay: tune B 4u,-8\n// assay: tune C fast,1.5\n// assay: tune D 3\n"
      "# include <limits.h>\n#undef D\nint x;";
  struct arena a = {0};
  struct buf out = {0};
  struct tune_space s = space_of(text, &a);
  tune_space_source(&s, text, sizeof text - 1, (const char *const[]){"2", "4u", "fast", "3"}, &out);
  assert_non_null(
      strstr(buf_str(&out), "int x;\n#if A != 2 || B != 4u\n#error \"a parameter of the tuner's has another"));
  buf_clear(&out);
  s = space_of("// assay: tune A 1,2\nint x;\n", &a);
  tune_space_source(&s, "// assay: tune A 1,2\nint x;\n", 28, (const char *const[]){"2"}, &out);
  assert_null(strstr(buf_str(&out), "#if"));
  // What the file gives another value under a condition is not asked; what it guards with #ifndef is.
  static const char again[] =
      "#define B 8\n// assay: tune A 1,2\n// assay: tune B 4,8\n#include <x.h>\n#if __CUDA_ARCH__ < 900\n#define A 2\n"
      "#endif\n#ifndef B\n#if 1\n#define B 4\n#endif\n#endif\n";
  buf_clear(&out);
  s = space_of(again, &a);
  tune_space_source(&s, again, sizeof again - 1, (const char *const[]){"1", "8"}, &out);
  assert_non_null(strstr(buf_str(&out), "#endif\n#if B != 8\n#error"));
  buf_release(&out);
  arena_release(&a);
}

static void curve(void **state) {
  (void)state;
  const struct tune_trial trials[] = {
      {1, 2, 0, NAN}, {2, 2, 0.5, 130}, {4, 2, 0.5, 105}, {5, 2, 0, 108}, {7, 2, 0, 100}};
  struct tune_cost c = tune_cost_of(trials, 5);
  assert_int_equal(c.tried, 5);
  assert_int_equal(c.timed, 4);
  assert_true(c.wall_s == 7 && c.cpu_s == 10 && c.gpu_s == 1 && c.best_ns == 100);
  assert_int_equal(tune_first_within(trials, 5, 100, 0.10), 2);
  assert_int_equal(tune_first_within(trials, 5, 100, 0.02), 4);
  assert_int_equal(tune_first_within(trials, 5, 90, 0.05), -1); // not reached is an answer
  assert_int_equal(tune_first_within(trials, 5, NAN, 0.05), -1);
  assert_true(isnan(tune_cost_of(trials, 1).best_ns));
  assert_true(tune_break_even(10, 200, 100) == 1e8);
  assert_true(isinf(tune_break_even(10, 100, 100)) && isinf(tune_break_even(10, 90, 100)));
  assert_true(isnan(tune_break_even(10, NAN, 100)));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(reads),
                                     cmocka_unit_test(refuses),
                                     cmocka_unit_test(refuses_definitions),
                                     cmocka_unit_test(values),
                                     cmocka_unit_test(orders),
                                     cmocka_unit_test(writes),
                                     cmocka_unit_test(curve),
                                     cmocka_unit_test(spellings),
                                     cmocka_unit_test(suffixes),
                                     cmocka_unit_test(refuses_near_misses),
                                     cmocka_unit_test(guards),
                                     cmocka_unit_test(byte_order_mark)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
