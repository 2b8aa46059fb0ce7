// SPDX-License-Identifier: Apache-2.0
// A Python candidate in a process that has a device, from end to end, with ordinary memory in the device's place: what
// the judge finds out about it, what a call's time is, and how a candidate without a plan comes to it. What CUDA does
// in all this is nowhere here (tests/gpu/process_mode.sh).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/alloc.h"
#include "base/file.h"
#include "judge/session.h"
#include "sandbox/sandbox.h"
#include "skip.h"

static char *folder; // NULL: no Python with PyTorch

// relu, and what has been tried instead of it.
static const char source[] =
    "import ctypes, os, sys, threading, time\n"
    "import torch\n"
    "names = globals()\n"
    "print('the module is loaded', flush=True)\n"
    "\n"
    "def server():\n"
    "    frame = sys._getframe()\n"
    "    while not hasattr(frame.f_locals.get('self'), 'outputs'):\n"
    "        frame = frame.f_back\n"
    "    return frame.f_locals['self'], frame.f_globals\n"
    "\n"
    "def later(out, x):\n"
    "    time.sleep(0.2)\n"
    "    out.copy_(torch.relu(x))\n"
    "\n"
    "class ModelNew(torch.nn.Module):\n"
    "    def forward(self, x):\n"
    "        y = torch.relu(x)\n"
    "        if 'WRONG' in names:\n"
    "            y = y + 1\n"
    "        if 'WRITES' in names:\n"
    "            x.zero_()\n"
    "        if 'RAISES' in names:\n"
    "            raise ValueError('it will not')\n"
    "        if 'HANGS' in names:\n"
    "            while True:\n"
    "                time.sleep(1)\n"
    "        if 'LEAVES' in names:\n"
    "            os._exit(0)\n"
    "        if 'BEFORE' in names:\n"
    "            ctypes.memset(server()[0].outputs[0].data_ptr() - 4, 0, 4)\n"
    "        if 'UNSTOPPABLE' in names:\n" // waits for a process that waits to open what nobody else does
    "            c, actions = ctypes.CDLL(None), ctypes.create_string_buffer(256)\n"
    "            os.mkfifo('nobody')\n"
    "            c.posix_spawn_file_actions_init(actions)\n"
    "            c.posix_spawn_file_actions_addopen(actions, 0, b'nobody', 0, 0)\n"
    "            words, none = (ctypes.c_char_p * 2)(b'true', None), (ctypes.c_char_p * 1)(None)\n"
    "            threading.Thread(target=c.posix_spawn, daemon=True, args=(ctypes.byref(ctypes.c_int()), "
    "b'/bin/true',\n"
    "                             actions, None, words, none)).start()\n"
    "            time.sleep(0.5)\n"
    "        if 'THREAD' in names or 'CHILD' in names:\n"
    "            me, worker = server()\n"
    "            worker['results_of'] = lambda value, expected: expected\n" // nothing is copied
    "            if 'THREAD' in names:\n"
    "                threading.Thread(target=later, args=(me.outputs[0], x)).start()\n"
    "            elif os.fork() == 0:\n"
    "                later(me.outputs[0], x)\n"
    "                os._exit(0)\n"
    "        return y\n";

static const char *interpreter(void) {
  const char *python = getenv("ASSAY_PYTHON");
  python = python && python[0] ? python : getenv("ASSAY_TORCH_PYTHON");
  return python && python[0] ? python : "python3";
}

static struct assay_paths paths = {.proc = ASSAY_SOURCE_DIR "/tests/support/quiet", // whatever the machine does
                                   .runner = ASSAY_BINARY_DIR "/assay-runner",
                                   .device_runner = ASSAY_BINARY_DIR "/assay-device-runner",
                                   .builder = ASSAY_BINARY_DIR "/assay-builder",
                                   .worker_script = ASSAY_BINARY_DIR "/worker.py",
                                   .worker = ASSAY_BINARY_DIR "/assay-worker.so",
                                   .include = ASSAY_SOURCE_DIR "/include"};

static struct assay_judge_options options_of(const char *candidate, const char *const *defines) {
  struct assay_judge_options o;
  assay_judge_defaults(&o);
  o.task = ASSAY_SOURCE_DIR "/tasks/kernelbench/level1/019_relu.onnxtxt";
  o.candidate = candidate;
  o.defines = defines;
  paths.python = interpreter();
  paths.path_env = getenv("PATH");
  paths.temporary = folder ? folder : "/tmp";
  o.paths = &paths;
  o.threads = 1;
  o.probes = false;
  o.declared_checks = 2;
  o.min_samples = o.max_samples = 10;
  o.hot_samples = 3;
  o.verified_calls = 3;
  o.call_timeout_ns = 3000000000;
  return o;
}

static struct assay_verdict judge(const struct assay_judge_options *o, const struct subject_ops *subject) {
  struct assay_error err = {0};
  struct assay_job *job = NULL;
  struct assay_verdict v = {0};
  enum assay_status status = judge_begin_as(o, subject, &job, &err);
  if (!status)
    status = assay_judge_test(job, &err);
  if (!status)
    status = assay_judge_conclude(job, &v, &err);
  if (status)
    fail_msg("%s", err.message);
  return v;
}

static void write_candidate(char path[256]) {
  struct assay_error err = {0};
  if (!folder)
    SKIP_BECAUSE("no Python here has PyTorch");
  snprintf(path, 256, "%s/candidate.py", folder);
  assert_int_equal(file_write(path, source, sizeof source - 1, &err), ASSAY_OK);
}

static struct assay_verdict judge_twin(const char *define, const char *workload) {
  char path[256];
  const char *defines[] = {define, NULL};
  write_candidate(path);
  struct assay_judge_options o = options_of(path, define ? defines : NULL);
  if (workload)
    o.workload = workload;
  return judge(&o, &subject_process);
}

static void expect(const char *define, const char *codes) {
  struct assay_verdict v = judge_twin(define, NULL);
  const char *code = assay_reason_code(v.reason);
  if (!strstr(codes, code))
    fail_msg("%s: %s (%s), not %s", define, code, v.detail, codes);
  assay_verdict_release(&v);
}

static void an_honest_one_passes_and_has_a_time(void **state) {
  (void)state;
  struct assay_verdict v = judge_twin(NULL, "M=1024, N=2048"); // of less a call may take no longer than one of nothing
  if (v.reason != ASSAY_REASON_PASS || !v.timing.measured)
    fail_msg("%s: %s", assay_reason_code(v.reason), v.detail);
  assert_string_equal(v.mode, "process");
  assert_string_equal(v.no_plan, "");
  assert_int_equal(v.timing.n_samples, 10);
  assert_true(v.timing.median_ns > 0 && v.timing.median_ns < 1e9);
  // What the protocol costs was measured, and is neither nothing nor what a candidate costs.
  assert_true(v.timing.overhead_ns > 0 && v.timing.overhead_ns < 1e8);
  assert_true(v.timing.samples_ns[0] > v.timing.overhead_ns / 4);
  assert_non_null(strstr(v.sandbox, "no system call filter"));
  assert_non_null(strstr(v.diagnostics, "the module is loaded"));
  int timed = 0;
  for (int i = 0; i < v.n_checks; i++)
    timed += v.checks[i].timed;
  assert_int_equal(timed, 3);
  char *json = assay_verdict_json(&v);
  assert_non_null(strstr(json, "\"mode\": \"process\""));
  assert_non_null(strstr(json, "\"no_plan\": null"));
  free(json);
  assay_verdict_release(&v);
}

static void wrong_values(void **state) {
  (void)state;
  expect("WRONG", "wrong_value");
}

static void writing_to_inputs(void **state) {
  (void)state;
  expect("WRITES", "wrote_input");
}

static void raising(void **state) {
  (void)state;
  expect("RAISES", "raised");
}

static void hanging(void **state) {
  (void)state;
  expect("HANGS", "timeout");
}

static void leaving(void **state) {
  (void)state;
  expect("LEAVES", "exited");
}

static void writing_before_an_output(void **state) {
  (void)state;
  expect("BEFORE", "out_of_bounds");
}

// The process stands still from the moment in which it says that it is done.
static void a_thread_that_finishes_later(void **state) {
  (void)state;
  expect("THREAD", "unwritten wrong_value wrong_class late_work");
}

// The judge would wait for it without end.
static void a_thread_that_does_not_stop(void **state) {
  (void)state;
  expect("UNSTOPPABLE", "late_work");
}

// Letting another process do it does not help either.
static void a_child_that_finishes_later(void **state) {
  (void)state;
  expect("CHILD", "unwritten wrong_value wrong_class late_work");
}

// ---- without a plan

static enum assay_status fake_create(const struct subject_ops *ops, const struct subject_env *env, struct subject **out,
                                     struct assay_error *err) {
  *out = base_calloc(1, sizeof **out);
  if (!*out)
    return error_nomem(err, "a fake");
  subject_init(*out, ops, env);
  (*out)->toolchain = "none";
  return ASSAY_OK;
}

static enum assay_status fake_finish_build(struct subject *s, struct build_result *out, struct assay_error *err) {
  (void)s, (void)err;
  *out = (struct build_result){.outcome = BUILD_OK,
                               .diagnostics = base_strndup("", 0),
                               .command = base_strndup("nothing", 7),
                               .compiler_version = base_strndup("none", 4)};
  return ASSAY_OK;
}

static enum assay_status fake_load(struct subject *s, const struct layout *layouts, int n, struct subject_loaded *out,
                                   struct assay_error *err) {
  (void)s, (void)layouts, (void)n, (void)err;
  out->report = (struct runner_report){.event = RUNNER_UNRECORDABLE, .detail = "forward reads results back"};
  return ASSAY_OK;
}

static const char *fake_log(const struct subject *s) {
  (void)s;
  return "";
}

static void fake_close(struct subject *s) {
  base_free(s);
}

static enum assay_status fake_plan_create(const struct subject_env *env, struct subject **out, struct assay_error *err);

static const struct subject_ops fake_plan = {.mode = "plan",
                                             .without_plan = &subject_process,
                                             .create = fake_plan_create,
                                             .finish_build = fake_finish_build,
                                             .load = fake_load,
                                             .log = fake_log,
                                             .close = fake_close};

static enum assay_status fake_plan_create(const struct subject_env *env, struct subject **out,
                                          struct assay_error *err) {
  return fake_create(&fake_plan, env, out, err);
}

static void what_has_no_plan_becomes_a_process(void **state) {
  (void)state;
  char path[256];
  write_candidate(path);
  struct assay_judge_options o = options_of(path, NULL);
  o.timing = false;
  struct assay_verdict v = judge(&o, &fake_plan);
  if (v.reason != ASSAY_REASON_PASS)
    fail_msg("%s: %s", assay_reason_code(v.reason), v.detail);
  assert_string_equal(v.mode, "process");
  assert_string_equal(v.no_plan, "forward reads results back");
  assert_string_equal(v.detail, "");
  assert_non_null(strstr(v.compiler_version, "Python"));
  char *json = assay_verdict_json(&v);
  assert_non_null(strstr(json, "\"no_plan\": \"forward reads results back\""));
  free(json);
  assay_verdict_release(&v);
}

// The timed workload has a plan, and another has none.
static enum assay_status fake_load_well(struct subject *s, const struct layout *layouts, int n,
                                        struct subject_loaded *out, struct assay_error *err) {
  (void)n, (void)out, (void)err;
  s->timed = &layouts[0];
  return ASSAY_OK;
}

static enum assay_status fake_bind(struct subject *s, const struct layout *l, struct runner_report *report,
                                   struct assay_error *err) {
  (void)err;
  *report = (struct runner_report){.event = l == s->timed ? RUNNER_OK : RUNNER_UNRECORDABLE,
                                   .detail = "with other inputs it launches something else"};
  return ASSAY_OK;
}

static uint64_t fake_key; // of the first question

static enum assay_status fake_fill(struct subject *s, enum probe probe, uint64_t key, uint32_t poison,
                                   struct assay_error *err) {
  (void)s, (void)probe, (void)poison, (void)err;
  fake_key = fake_key ? fake_key : key;
  return ASSAY_OK;
}

static enum assay_status fake_call(struct subject *s, enum call_mode mode, struct runner_report *report,
                                   struct assay_error *err) {
  (void)s, (void)mode, (void)err;
  *report = (struct runner_report){0};
  return ASSAY_OK;
}

static const void *no_output(const struct subject *s, int o) {
  (void)s, (void)o;
  return NULL;
}

static enum assay_status fake_read(struct subject *s, int o, void *to, struct assay_error *err) {
  (void)err;
  memset(to, 0, (size_t)layout_output_bytes(s->bound, o));
  return ASSAY_OK;
}

static int fake_leaves;
static void fake_leave(struct subject *s) {
  (void)s;
  fake_leaves++;
}

static enum assay_status fake_plan_of_one_create(const struct subject_env *env, struct subject **out,
                                                 struct assay_error *err);

static const struct subject_ops fake_plan_of_one = {.mode = "plan",
                                                    .without_plan = &subject_process,
                                                    .create = fake_plan_of_one_create,
                                                    .finish_build = fake_finish_build,
                                                    .load = fake_load_well,
                                                    .bind = fake_bind,
                                                    .fill = fake_fill,
                                                    .call = fake_call,
                                                    .output = no_output,
                                                    .read_output = fake_read,
                                                    .leave = fake_leave,
                                                    .log = fake_log,
                                                    .close = fake_close};

static enum assay_status fake_plan_of_one_create(const struct subject_env *env, struct subject **out,
                                                 struct assay_error *err) {
  return fake_create(&fake_plan_of_one, env, out, err);
}

// What was asked of the plan is not asked of the process, and what the plan answered does not count.
static void likewise_where_another_workload_has_none(void **state) {
  (void)state;
  char path[256];
  write_candidate(path);
  struct assay_judge_options o = options_of(path, NULL);
  struct assay_error err = {0};
  struct assay_job *job = NULL;
  struct assay_verdict v = {0};
  o.timing = false;
  o.probes = true;
  fake_key = 0;
  fake_leaves = 0;
  if (judge_begin_as(&o, &fake_plan_of_one, &job, &err) || assay_judge_test(job, &err))
    fail_msg("%s", err.message);
  const struct session *s = judge_session(job);
  assert_true(fake_key != 0 && s->n_questions > 2);
  for (int i = 0; i < s->n_questions; i++)
    assert_true(s->questions[i].key != fake_key);
  if (assay_judge_conclude(job, &v, &err))
    fail_msg("%s", err.message);
  if (v.reason != ASSAY_REASON_PASS)
    fail_msg("%s: %s", assay_reason_code(v.reason), v.detail);
  assert_string_equal(v.mode, "process");
  assert_string_equal(v.no_plan, "with other inputs it launches something else");
  assert_int_equal(fake_leaves, 1);
  assert_true(v.n_checks > 10);
  assay_verdict_release(&v);
  o.mode = "plan";
  v = judge(&o, &fake_plan_of_one);
  assert_int_equal(v.reason, ASSAY_REASON_UNRECORDABLE);
  assay_verdict_release(&v);
}

// Every call of it faults: in a library's kernels, or nobody knows in whose.
static bool fake_libraries_fault;

static enum assay_status fake_faulty_bind(struct subject *s, const struct layout *l, struct runner_report *report,
                                          struct assay_error *err) {
  (void)l, (void)err;
  s->found.kernels = (struct assay_kernels){.known = true};
  s->found.kernels.launches[ASSAY_LIBRARY_KERNELS] = 1;
  s->found.libraries_fault = fake_libraries_fault;
  *report = (struct runner_report){0};
  return ASSAY_OK;
}

static enum assay_status fake_faulty_call(struct subject *s, enum call_mode mode, struct runner_report *report,
                                          struct assay_error *err) {
  (void)s, (void)mode, (void)err;
  *report = (struct runner_report){.event = RUNNER_OUT_OF_BOUNDS, .detail = "vector_fft: an illegal address"};
  return ASSAY_OK;
}

static struct subject_ops fake_faulty_plan; // fake_plan_of_one with these calls

static enum assay_status fake_faulty_create(const struct subject_env *env, struct subject **out,
                                            struct assay_error *err) {
  return fake_create(&fake_faulty_plan, env, out, err);
}

static void likewise_where_a_librarys_kernels_fault(void **state) {
  (void)state;
  char path[256];
  write_candidate(path);
  struct assay_judge_options o = options_of(path, NULL);
  o.timing = false;
  fake_faulty_plan = fake_plan_of_one;
  fake_faulty_plan.create = fake_faulty_create;
  fake_faulty_plan.bind = fake_faulty_bind;
  fake_faulty_plan.call = fake_faulty_call;
  fake_libraries_fault = true;
  struct assay_verdict v = judge(&o, &fake_faulty_plan);
  if (v.reason != ASSAY_REASON_PASS)
    fail_msg("%s: %s", assay_reason_code(v.reason), v.detail);
  assert_string_equal(v.mode, "process");
  assert_non_null(strstr(v.no_plan, "vector_fft: an illegal address"));
  assay_verdict_release(&v);
  fake_libraries_fault = false;
  v = judge(&o, &fake_faulty_plan);
  assert_int_equal(v.reason, ASSAY_REASON_OUT_OF_BOUNDS);
  assert_string_equal(v.mode, "plan");
  assay_verdict_release(&v);
}

static void unless_only_a_plan_is_wanted(void **state) {
  (void)state;
  char path[256];
  write_candidate(path);
  struct assay_judge_options o = options_of(path, NULL);
  o.mode = "plan";
  struct assay_verdict v = judge(&o, &fake_plan);
  assert_int_equal(v.reason, ASSAY_REASON_UNRECORDABLE);
  assert_string_equal(v.mode, "plan");
  assert_string_equal(v.no_plan, "");
  assay_verdict_release(&v);
}

static void no_other_file_does(void **state) {
  (void)state;
  char path[256];
  struct assay_error err = {0};
  if (!folder)
    SKIP_BECAUSE("no Python here has PyTorch");
  snprintf(path, sizeof path, "%s/candidate.c", folder);
  assert_int_equal(file_write(path, "", 0, &err), ASSAY_OK);
  struct assay_judge_options o = options_of(path, NULL);
  struct assay_verdict v = judge(&o, &fake_plan);
  assert_int_equal(v.reason, ASSAY_REASON_UNRECORDABLE);
  assay_verdict_release(&v);
}

static void a_users_options_lead_elsewhere(void **state) {
  (void)state;
  struct assay_error err = {0};
  struct assay_job *job = NULL;
  struct assay_judge_options o = options_of("there_is_none.py", NULL);
  o.mode = "fast";
  assert_int_equal(assay_judge_begin(&o, &job, &err), ASSAY_ERR_USAGE);
  char with[65], without[65], cpu[65], threads[65];
  o.device = "cuda";
  o.mode = "process";
  assert_int_equal(assay_settings_hash(&o, with, &err), ASSAY_OK);
  o.mode = NULL;
  assert_int_equal(assay_settings_hash(&o, without, &err), ASSAY_OK);
  assert_string_not_equal(with, without);
  o.threads++; // a process on the host may use them
  assert_int_equal(assay_settings_hash(&o, threads, &err), ASSAY_OK);
  assert_string_not_equal(threads, without);
  o.mode = "plan"; // the oracle's only
  assert_int_equal(assay_settings_hash(&o, without, &err), ASSAY_OK);
  o.threads++;
  assert_int_equal(assay_settings_hash(&o, threads, &err), ASSAY_OK);
  assert_string_equal(threads, without);
  o.mode = NULL;
  assert_int_equal(assay_settings_hash(&o, without, &err), ASSAY_OK);
  const char *const names[] = {"torch.eager", NULL};
  assert_int_equal(assay_baselines_open(names, NULL, NULL, &o.baselines, &err), ASSAY_OK);
  assert_int_equal(assay_settings_hash(&o, with, &err), ASSAY_OK);
  assay_baselines_close(o.baselines);
  o.baselines = NULL;
  assert_string_not_equal(with, without);
  struct assay_paths elsewhere = paths; // a machine with another GPU
  elsewhere.proc = ASSAY_SOURCE_DIR "/tests/support/gpus";
  o.paths = &elsewhere;
  assert_int_equal(assay_settings_hash(&o, with, &err), ASSAY_OK);
  assert_string_not_equal(with, without);
  o.paths = &paths;
  o.device = "cpu"; // where the mode means nothing, and threads are the candidate's
  assert_int_equal(assay_settings_hash(&o, without, &err), ASSAY_OK);
  o.mode = "process";
  assert_int_equal(assay_settings_hash(&o, cpu, &err), ASSAY_OK);
  assert_string_equal(cpu, without);
  o.threads++;
  assert_int_equal(assay_settings_hash(&o, threads, &err), ASSAY_OK);
  assert_string_not_equal(threads, cpu);
}

static void an_unknown_device_is_an_error(void **state) {
  (void)state;
  struct assay_error err = {0};
  struct assay_job *job = NULL;
  struct assay_workbench *bench = NULL;
  struct assay_verdict v;
  struct assay_judge_options o = options_of(ASSAY_SOURCE_DIR "/tests/cases/relu.c", NULL);
  o.device = "metal";
  assert_int_equal(assay_judge(&o, &v, &err), ASSAY_ERR_USAGE);
  assert_string_equal(err.message, "a device is cpu, cuda or opencl, not 'metal'");
  assert_int_equal(assay_workbench_open(&o, true, &bench, &err), ASSAY_ERR_USAGE);
  assert_non_null(strstr(err.message, "cpu, cuda or opencl, not 'metal'"));
  // The subject itself says so, too.
  assert_int_equal(judge_begin_as(&o, &subject_plan, &job, &err), ASSAY_ERR_USAGE);
  assert_non_null(strstr(err.message, "cpu, cuda or opencl, not 'metal'"));
}

static void the_judge_hides_where_a_candidate_is_unconfined(void **state) {
  (void)state;
  struct assay_error err = {0};
  struct assay_job *job = NULL;
  struct assay_judge_options o = options_of("there_is_none.py", NULL);
  assert_int_equal(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), 0);
  assert_int_not_equal(judge_begin_as(&o, &subject_cpu, &job, &err), ASSAY_OK);
  o.mode = "plan";
  assert_int_not_equal(judge_begin_as(&o, &fake_plan, &job, &err), ASSAY_OK);
  assert_int_equal(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), 1);
  o.mode = NULL;
  assert_int_not_equal(judge_begin_as(&o, &fake_plan, &job, &err), ASSAY_OK);
  assert_int_equal(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), 0);
  assert_int_equal(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), 0);
  assert_int_not_equal(judge_begin_as(&o, &subject_process, &job, &err), ASSAY_OK);
  assert_int_equal(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), 0);
}

static int setup(void **state) {
  (void)state;
  char command[4096];
  struct assay_error err = {0};
#if defined(__SANITIZE_ADDRESS__)
  return 0; // the sanitizer's library would have to be the first in Python
#endif
  snprintf(command, sizeof command, "'%s' -c 'import torch' 2>/dev/null", interpreter());
  if (system(command) == 0 && sandbox_folder_make("/tmp", &folder, &err) != ASSAY_OK)
    return -1;
  return 0;
}

static int teardown(void **state) {
  (void)state;
  if (folder)
    sandbox_folder_remove(folder);
  base_free(folder);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_honest_one_passes_and_has_a_time),
      cmocka_unit_test(wrong_values),
      cmocka_unit_test(writing_to_inputs),
      cmocka_unit_test(raising),
      cmocka_unit_test(hanging),
      cmocka_unit_test(leaving),
      cmocka_unit_test(writing_before_an_output),
      cmocka_unit_test(a_thread_that_finishes_later),
      cmocka_unit_test(a_thread_that_does_not_stop),
      cmocka_unit_test(a_child_that_finishes_later),
      cmocka_unit_test(what_has_no_plan_becomes_a_process),
      cmocka_unit_test(likewise_where_another_workload_has_none),
      cmocka_unit_test(likewise_where_a_librarys_kernels_fault),
      cmocka_unit_test(unless_only_a_plan_is_wanted),
      cmocka_unit_test(no_other_file_does),
      cmocka_unit_test(a_users_options_lead_elsewhere),
      cmocka_unit_test(an_unknown_device_is_an_error),
      cmocka_unit_test(the_judge_hides_where_a_candidate_is_unconfined),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
