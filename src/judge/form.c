// SPDX-License-Identifier: Apache-2.0
#include "judge/form.h"

#include <stdio.h>
#include <string.h>

#include "base/choice.h"
#include "judge/subject.h"

// What toolchains make plans of is judged by its plan. Of rows with the same ending, the usual one comes first.
#define PLANNED(id, its_ending, its_language, its_device, is_python)                                                   \
  {.ending = its_ending,                                                                                               \
   .language = its_language,                                                                                           \
   .device = &plan_device_##its_device,                                                                                \
   .subject = &subject_plan,                                                                                           \
   .python = is_python},
static const struct form forms[] = {
    {.ending = ".c", .language = "C", .device = &plan_device_cpu, .subject = &subject_cpu, .toolchain = "cc"},
    TOOLCHAINS(PLANNED) // that of two toolchains is here twice, and found once
    {.ending = ".py",
     .language = "PyTorch",
     .device = &plan_device_cpu,
     .subject = &subject_cpu,
     .toolchain = "python",
     .python = true},
};
enum { N_FORMS = sizeof forms / sizeof *forms };

static bool has_ending(const struct form *f, const char *path) {
  size_t n = strlen(path), k = strlen(f->ending);
  return n >= k && strcmp(path + n - k, f->ending) == 0;
}

const struct form *form_at(int i) {
  return i >= 0 && i < N_FORMS ? &forms[i] : NULL;
}

// The first row of the same ending, which is where the ending is listed.
static int first_of_ending(int i) {
  int first = 0;
  while (strcmp(forms[first].ending, forms[i].ending) != 0)
    first++;
  return first;
}

// Whether a row before it has the same ending and device.
static bool is_repeated(int i) {
  for (int k = 0; k < i; k++)
    if (forms[k].device == forms[i].device && strcmp(forms[k].ending, forms[i].ending) == 0)
      return true;
  return false;
}

const char *form_names(const struct plan_device *device, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (int i = 0; i < N_FORMS; i++) {
    if (first_of_ending(i) != i)
      continue;
    char devices[64] = "";
    size_t n = 0;
    for (int k = i; k < N_FORMS && n < sizeof devices; k++)
      if (first_of_ending(k) == i && !is_repeated(k) && (!device || forms[k].device == device))
        n += (size_t)snprintf(devices + n, sizeof devices - n, "%s%s", n ? ", " : "", forms[k].device->name);
    if (n > 0 && used < size)
      used += (size_t)snprintf(text + used, size - used, "%s%s%s%s%s", used ? ", " : "", forms[i].ending,
                               device ? "" : " (", device ? "" : devices, device ? "" : ")");
  }
  return text;
}

enum assay_status form_of(const char *path, const struct plan_device *device, bool gpu, const struct form **out,
                          struct assay_error *err) {
  const struct form *usual = NULL;
  char known[256];
  for (int i = 0; i < N_FORMS; i++) {
    const struct form *f = &forms[i];
    if (!has_ending(f, path))
      continue;
    if (f->device == device) {
      *out = f;
      return ASSAY_OK;
    }
    if (!usual || (usual->device->gpu && !gpu && !f->device->gpu))
      usual = f;
  }
  if (!usual)
    return error_set(err, ASSAY_ERR_USAGE, "%s: candidates are %s files", path, form_names(NULL, known, sizeof known));
  *out = usual;
  return ASSAY_OK;
}

enum assay_status form_mode_parse(const char *name, enum form_mode *out, struct assay_error *err) {
#define MODE(id, its_name) FORM_##id,
  static const enum form_mode modes[] = {FORM_MODES(MODE)};
#undef MODE
#define NAME(id, its_name) its_name,
  static const char *const names[] = {FORM_MODES(NAME) NULL};
#undef NAME
  int found = name ? choice_of("a mode is", names, name, err) : -1;
  *out = found < 0 ? FORM_ANY_MODE : modes[found];
  return name && found < 0 ? ASSAY_ERR_USAGE : ASSAY_OK;
}

const struct subject_ops *form_subject(const struct form_choice *c) {
  const struct subject_ops *process = c->form->python ? c->form->subject->without_plan : NULL;
  return c->mode == FORM_PROCESS && process ? process : c->form->subject;
}

enum assay_status form_choose(const struct assay_judge_options *o, struct form_choice *out, struct assay_error *err) {
  const struct plan_device *device;
  char known[256];
  *out = (struct form_choice){0};
  enum assay_status status = plan_device_parse(o->device, &device, err);
  if (!status)
    status = form_mode_parse(o->mode, &out->mode, err);
  if (!status && o->toolchain)
    status = toolchain_parse(o->toolchain, &out->toolchain, err);
  if (!status)
    status = form_of(o->candidate, device, true, &out->form, err);
  if (!status && out->form->device != device)
    status = error_set(err, ASSAY_ERR_USAGE, "%s does not run on device %s, which takes %s files", o->candidate,
                       device->name, form_names(device, known, sizeof known));
  // A toolchain says nothing of files that it is not for.
  if (!status && out->toolchain && strcmp(out->toolchain->ending, out->form->ending) != 0)
    out->toolchain = NULL;
  return status;
}
