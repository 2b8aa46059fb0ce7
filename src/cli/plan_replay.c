// SPDX-License-Identifier: Apache-2.0
// assay plan replay FILE: runs a plan and prints how long it takes.
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/judging.h"
#include "judge/replay.h"

struct arguments {
  struct cli_judging judging;
  const char *file;
};

static error_t parse(int key, char *arg, struct argp_state *state) {
  struct arguments *a = state->input;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = &a->judging;
    return 0;
  case ARGP_KEY_ARG:
    cli_take_argument(state, "FILE", arg, &a->file);
    return 0;
  case ARGP_KEY_NO_ARGS:
    argp_usage(state);
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp argp = {
    .parser = parse,
    .args_doc = "FILE",
    .doc = "Runs a launch plan on its device with random inputs and prints its time and a digest of each output. "
           "Does not check the outputs: that is `assay judge`.",
};

static const char *const taken[] = {"seed", "device-index", "timeout", NULL};

static void print(const struct replay_result *r) {
  char cold[32], hot[32], called[32];
  printf("%s: cold %s, hot %s, as called %s (medians of %d)\n", r->device, cli_time_text(r->cold_ns, cold),
         cli_time_text(r->hot_ns, hot), cli_time_text(r->called_ns, called), r->samples);
  for (int i = 0; i < r->n_digests; i++)
    printf("output %d: %016llx\n", i, (unsigned long long)r->digests[i]);
}

int cli_plan_replay(int argc, char **argv) {
  enum { SAMPLES = 50 };
  struct arguments a = {0};
  struct assay_error err = {0};
  struct plan plan;
  struct replay_result r = {0};
  struct argp options_too = argp;
  options_too.children = cli_judge_some(taken, cli_color_child);
  if (cli_begin(&options_too, argc, argv, &a, &a.judging, &err) != ASSAY_OK)
    return cli_fail(&err);
  cli_judging_finish(&a.judging, NULL);
  struct assay_judge_options *o = &a.judging.options;
  enum assay_status status = plan_read(a.file, &plan, &err);
  if (status)
    return cli_fail(&err);
  struct plan_limits limits = {0};
  if (plan.device->dialect == PLAN_CUDA_LAUNCHES)
    plan_limits_of_target(plan.target, &limits);
  o->device = plan.device->name;
  status = plan_check(&plan, &limits, NULL, &err);
  if (!status)
    status = replay_plan(o, &plan, SAMPLES, o->seed ? o->seed : 1, &r, &err);
  if (!status && r.failure[0])
    fprintf(stderr, "assay: the plan failed: %s\n", r.failure);
  else if (!status)
    print(&r);
  int code = status ? cli_fail(&err) : r.failure[0] ? CLI_FAIL : CLI_PASS;
  base_free(r.digests);
  plan_release(&plan);
  return code;
}
