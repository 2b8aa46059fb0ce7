// SPDX-License-Identifier: Apache-2.0
#include "method/form.h"

#include <string.h>

#include "base/choice.h"

#define NAMES(...)                                                                                                     \
  (const char *const[]) {                                                                                              \
    __VA_ARGS__, NULL                                                                                                  \
  }

static const struct answer_form forms[] = {
    {.name = "c",
     .ending = ".c",
     .device = "cpu",
     .what = "C for the CPU",
     .tag = "c",
     .prompt = "form_c",
     .language = {NAMES("c", "cpp", "c++", "cc", "h"), NAMES("assay_kernel"), true}},
    {.name = "cuda",
     .ending = ".cu",
     .device = "cuda",
     .what = "CUDA C++, device code with launch lines",
     .tag = "cuda",
     .prompt = "form_cuda",
     .language = {NAMES("cuda", "cu", "cpp", "c++", "c"), NAMES("assay: launch", "assay_cuda_kernel"), true}},
    {.name = "cuda-host",
     .ending = ".cu",
     .device = "cuda",
     .what = "CUDA C++ with host code",
     .tag = "cuda",
     .prompt = "form_cuda_host",
     .language = {NAMES("cuda", "cu", "cpp", "c++", "c"), NAMES("assay_cuda_kernel", "assay: launch"), true}},
    {.name = "opencl",
     .ending = ".cl",
     .device = "opencl",
     .what = "OpenCL C with launch lines",
     .tag = "opencl",
     .prompt = "form_opencl",
     .language = {NAMES("opencl", "cl", "c", "cpp"), NAMES("assay: launch"), true}},
    {.name = "triton",
     .ending = ".py",
     .device = "cuda",
     .what = "Triton kernels in a PyTorch module",
     .tag = "python",
     .prompt = "form_triton",
     .language = {NAMES("python", "py", "python3"), NAMES("ModelNew"), false},
     .hash_comments = true},
    {.name = "pytorch",
     .ending = ".py",
     .device = "cuda",
     .what = "a PyTorch module with CUDA code by load_inline",
     .tag = "python",
     .prompt = "form_pytorch",
     .language = {NAMES("python", "py", "python3"), NAMES("ModelNew"), false},
     .hash_comments = true},
};
enum { N_FORMS = sizeof forms / sizeof *forms };
_Static_assert(sizeof forms / sizeof *forms < (size_t)ANSWER_MOST_FORMS, "there is room for the others and NULL");

const struct answer_form *answer_form_at(int i) {
  return i >= 0 && i < N_FORMS ? &forms[i] : NULL;
}

enum assay_status answer_form_by_name(const char *name, const struct answer_form **out, struct assay_error *err) {
  const char *names[N_FORMS + 1] = {NULL};
  for (int i = 0; i < N_FORMS; i++)
    names[i] = forms[i].name;
  int found = choice_of("kernels can be asked for as", names, name, err);
  if (found < 0)
    return ASSAY_ERR_USAGE;
  *out = &forms[found];
  return ASSAY_OK;
}

enum assay_status answer_form_of_device(const char *device, const struct answer_form **out, struct assay_error *err) {
  for (int i = 0; i < N_FORMS; i++)
    if (strcmp(forms[i].device, device) == 0) {
      *out = &forms[i];
      return ASSAY_OK;
    }
  return error_set(err, ASSAY_ERR_USAGE, "there is no form of kernels for the device %s that a model can be asked for",
                   device);
}

void answer_form_others(const struct answer_form *f, const struct model_language **out) {
  int n = 0;
  for (int i = 0; i < N_FORMS; i++)
    if (strcmp(forms[i].ending, f->ending) != 0)
      out[n++] = &forms[i].language;
  out[n] = NULL;
}
