// SPDX-License-Identifier: Apache-2.0
// Modules and kernels of a plan for OpenCL.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "device/opencl_device.h"

// The compiler's messages. All of them go to our standard error, which is the log that the judge keeps; the first line
// with an error goes to the report.
static void report_log(struct device *d, cl_program p, const char *module, struct device_report *report) {
  size_t n = 0;
  enum { LOG_BYTES = 32 << 10 };
  if (d->cl.GetProgramBuildInfo(p, d->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &n) != CL_SUCCESS || n <= 1)
    return;
  char *log = base_calloc(n + 1, 1);
  if (!log || d->cl.GetProgramBuildInfo(p, d->id, CL_PROGRAM_BUILD_LOG, n, log, NULL) != CL_SUCCESS)
    goto out;
  ssize_t written = write(STDERR_FILENO, log, strlen(log) < LOG_BYTES ? strlen(log) : LOG_BYTES);
  (void)written;
  const char *error = strstr(log, "error: ");
  if (!error)
    error = log + strspn(log, " \n");
  else if (strncmp(error, "error: /", 8) == 0 && strstr(error, ".cl:")) // "error: /cache/tempfile.cl:3:5: what"
    error = strstr(error, ".cl:") + 4;
  snprintf(report->detail, sizeof report->detail, "%.60s: %.*s", module, (int)strcspn(error, "\n"), error);
out:
  base_free(log);
}

static enum assay_status build(struct device *d, struct opencl_plan *l, int i, struct device_report *report,
                               struct assay_error *err) {
  const struct plan_module *m = &l->plan->modules[i];
  if (m->code != PLAN_OPENCL_C) {
    report->event = DEVICE_LOAD_FAILED;
    snprintf(report->detail, sizeof report->detail, "module %.60s: this device takes OpenCL C only", m->name);
    return ASSAY_OK;
  }
  struct buf options = {0};
  // What the parameters are is needed to tell addresses from values.
  buf_printf(&options, "%s -cl-kernel-arg-info", m->options ? m->options : "");
  enum assay_status status = buf_status(&options, err);
  if (!status) {
    cl_int result = opencl_code_make(d, (const char *)m->bytes, m->size, buf_str(&options), &l->programs[i]);
    if (result != CL_SUCCESS) {
      bool memory = !l->programs[i] && opencl_is_memory(result);
      opencl_report(report, memory ? DEVICE_OUT_OF_MEMORY : DEVICE_LOAD_FAILED, result, m->name);
    }
    if (result != CL_SUCCESS && l->programs[i])
      report_log(d, l->programs[i], m->name, report);
  }
  buf_release(&options);
  return status;
}

// The kernel of a step; -1 when it cannot be had.
static int find_kernel(struct device *d, struct opencl_plan *l, const struct plan_step *s, cl_int *result) {
  for (int i = l->n_kernels - 1; i >= 0; i--)
    if (l->kernels[i].module == s->module && strcmp(l->kernels[i].name, s->kernel) == 0)
      return i;
  struct opencl_kernel k = {.module = s->module, .name = s->kernel};
  k.kernel = d->cl.CreateKernel(l->programs[s->module], s->kernel, result);
  if (!k.kernel)
    return -1;
  l->kernels[l->n_kernels] = k;
  return l->n_kernels++;
}

static bool all_zero(const uint8_t *p, size_t n) {
  while (n > 0 && p[n - 1] == 0)
    n--;
  return n == 0;
}

// What a parameter in this address space takes; NULL when the argument is that.
static const char *misfit(const struct plan_argument *a, cl_uint space) {
  const size_t word = sizeof(uint64_t);
  bool place = a->kind == PLAN_BYTES && a->size == word &&
               (a->n_pointers == 1 ? a->pointers[0].at == 0 : a->n_pointers == 0 && all_zero(a->bytes, word));
  if (space == CL_KERNEL_ARG_ADDRESS_GLOBAL || space == CL_KERNEL_ARG_ADDRESS_CONSTANT)
    return place ? NULL : "takes a buffer";
  if (space == CL_KERNEL_ARG_ADDRESS_LOCAL)
    return a->kind == PLAN_LOCAL_MEMORY ? NULL : "takes local memory";
  return a->kind == PLAN_BYTES && a->n_pointers == 0 ? NULL : "takes a value";
}

// What a parameter of an object's type is called, in the words of misfit(); NULL for all others.
static const char *object(const struct opencl_api *cl, cl_kernel k, cl_uint index) {
  char type[64];
  return opencl_takes_object(cl, k, index, type, sizeof type)
             ? "takes an image, a sampler or another of OpenCL's objects"
             : NULL;
}

// A kernel's own word for the size of its work-groups, where it has one, must be the launch's.
static bool check_group(struct device *d, struct opencl_plan *l, const struct plan_step *s, int step,
                        struct device_report *report) {
  size_t declared[3] = {0};
  cl_int result = d->cl.GetKernelWorkGroupInfo(l->kernels[l->steps[step].kernel].kernel, d->id,
                                               CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof declared, declared, NULL);
  if (result != CL_SUCCESS || declared[0] == 0 ||
      (declared[0] == s->block[0] && declared[1] == s->block[1] && declared[2] == s->block[2]))
    return true;
  report->event = DEVICE_LOAD_FAILED;
  snprintf(report->detail, sizeof report->detail,
           "step %d: kernel %.60s has reqd_work_group_size(%zu, %zu, %zu), and block is %u,%u,%u", step, s->kernel,
           declared[0], declared[1], declared[2], s->block[0], s->block[1], s->block[2]);
  return false;
}

// A cl_mem is an address of the driver's own: bytes of a plan must never be taken for one. So every argument is checked
// against what the compiler says about the parameter before it is set for the first time.
static enum assay_status check_arguments(struct device *d, struct opencl_plan *l, const struct plan_step *s, int step,
                                         struct device_report *report) {
  cl_kernel k = l->kernels[l->steps[step].kernel].kernel;
  cl_uint n = 0, space = 0;
  const char *wrong = NULL;
  int i = 0;
  if (d->cl.GetKernelInfo(k, CL_KERNEL_NUM_ARGS, sizeof n, &n, NULL) != CL_SUCCESS || (int)n != s->n_arguments) {
    report->event = DEVICE_LOAD_FAILED;
    snprintf(report->detail, sizeof report->detail, "step %d: kernel %.80s has %u parameters, not %d", step, s->kernel,
             n, s->n_arguments);
    return ASSAY_OK;
  }
  for (; i < s->n_arguments && !wrong; i++) {
    cl_int result = d->cl.GetKernelArgInfo(k, (cl_uint)i, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof space, &space, NULL);
    wrong = result == CL_SUCCESS ? misfit(&s->arguments[i], space) : "is not described by the compiler";
    wrong = wrong ? wrong : object(&d->cl, k, (cl_uint)i);
  }
  if (wrong) {
    report->event = DEVICE_LOAD_FAILED;
    snprintf(report->detail, sizeof report->detail, "step %d: parameter %d of kernel %.80s %s", step, i - 1, s->kernel,
             wrong);
  }
  return ASSAY_OK;
}

static const char *unsupported(const struct plan_step *s) {
  if (s->kind == PLAN_SET_SYMBOL)
    return "OpenCL has no variables that can be set from outside";
  if (s->kind != PLAN_LAUNCH)
    return NULL;
  if (s->cluster[0] > 1 || s->cluster[1] > 1 || s->cluster[2] > 1)
    return "OpenCL has no clusters";
  if (s->cooperative)
    return "OpenCL has no cooperative launches";
  if (s->shared_bytes > 0)
    return "OpenCL's local memory is an argument";
  return NULL;
}

// Makes a view for every argument that needs one, in the order in which the calls will take them.
static void make_views(struct device *d, struct opencl_plan *l, size_t *n, struct device_report *report) {
  for (int i = 0; i < l->plan->n_steps; i++) {
    const struct plan_step *s = &l->plan->steps[i];
    l->steps[i].first_view = (uint32_t)*n;
    for (int k = 0; s->kind == PLAN_LAUNCH && k < s->n_arguments; k++) {
      const struct plan_argument *a = &s->arguments[k];
      cl_int result;
      if (a->kind != PLAN_BYTES || a->n_pointers == 0)
        continue;
      cl_mem m = opencl_view(d, l, a->pointers[0].buffer, a->pointers[0].offset, &result);
      if (!m) {
        opencl_report(report, opencl_is_memory(result) ? DEVICE_OUT_OF_MEMORY : DEVICE_LOAD_FAILED, result,
                      l->plan->buffers[a->pointers[0].buffer].name);
        return;
      }
      l->views[(*n)++] = m;
    }
  }
}

static enum assay_status make_steps(struct device *d, struct opencl_plan *l, struct device_report *report,
                                    struct assay_error *err) {
  size_t views = 0;
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < l->plan->n_steps && !status && report->event == DEVICE_OK; i++) {
    const struct plan_step *s = &l->plan->steps[i];
    const char *why = unsupported(s);
    cl_int result = CL_SUCCESS;
    if (why) {
      report->event = DEVICE_LOAD_FAILED;
      snprintf(report->detail, sizeof report->detail, "step %d: %s", i, why);
      break;
    }
    if (s->kind != PLAN_LAUNCH)
      continue;
    l->steps[i].kernel = find_kernel(d, l, s, &result);
    if (l->steps[i].kernel < 0) {
      opencl_report(report, DEVICE_LOAD_FAILED, result, s->kernel);
      break;
    }
    if (!check_group(d, l, s, i, report))
      break;
    status = check_arguments(d, l, s, i, report);
    for (int k = 0; k < s->n_arguments; k++)
      views += s->arguments[k].kind == PLAN_BYTES && s->arguments[k].n_pointers > 0;
  }
  if (status || report->event != DEVICE_OK)
    return status;
  l->views = arena_calloc(&l->arena, views + 1, sizeof(cl_mem));
  if (!l->views || !opencl_views_init(l, views))
    return error_nomem(err, "the arguments of a plan");
  views = 0;
  make_views(d, l, &views, report);
  return ASSAY_OK;
}

enum assay_status opencl_programs_make(struct device *d, struct opencl_plan *l, struct device_report *report,
                                       struct assay_error *err) {
  const struct plan *p = l->plan;
  enum assay_status status = ASSAY_OK;
  l->programs = arena_calloc(&l->arena, (size_t)p->n_modules + 1, sizeof(cl_program));
  l->kernels = arena_calloc(&l->arena, (size_t)p->n_steps + 1, sizeof *l->kernels);
  l->steps = arena_calloc(&l->arena, (size_t)p->n_steps + 1, sizeof *l->steps);
  if (!l->programs || !l->kernels || !l->steps)
    return error_nomem(err, "the steps of a plan");
  for (int i = 0; i < p->n_modules && !status && report->event == DEVICE_OK; i++)
    status = build(d, l, i, report, err);
  if (!status && report->event == DEVICE_OK)
    status = make_steps(d, l, report, err);
  return status;
}

void opencl_programs_drop(struct device *d, struct opencl_plan *l) {
  for (int i = 0; i < l->n_kernels; i++)
    d->cl.ReleaseKernel(l->kernels[i].kernel);
  for (int i = 0; l->programs && i < l->plan->n_modules; i++)
    if (l->programs[i])
      d->cl.ReleaseProgram(l->programs[i]);
  l->n_kernels = 0;
  l->programs = NULL;
}

enum assay_status opencl_empty_make(struct device *d, struct assay_error *err) {
  const char *text = "__kernel void assay_empty(void) {}\n";
  cl_int result = CL_SUCCESS;
  if (d->empty)
    return ASSAY_OK;
  if (!d->empty_program)
    result = opencl_code_make(d, text, strlen(text), "", &d->empty_program);
  if (result == CL_SUCCESS)
    d->empty = d->cl.CreateKernel(d->empty_program, "assay_empty", &result);
  if (d->empty)
    return ASSAY_OK;
  char space[32];
  return error_set(err, ASSAY_ERR_ENVIRONMENT,
                   "OpenCL device %s cannot compile an empty kernel: %s; is its compiler installed?", d->facts.name,
                   opencl_error_name(result, space, sizeof space));
}
