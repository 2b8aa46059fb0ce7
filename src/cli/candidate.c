// SPDX-License-Identifier: Apache-2.0
// Makes a file the candidate: sets its device, that device's peaks, and the workbench that all candidates on it share.
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/printable.h"
#include "cli/judging.h"
#include "judge/directives.h"
#include "judge/form.h"
#include "toolchain/directive/directive.h"

enum { ANSWERS_BYTES = 256 << 20 }; // some tasks' worth at the sizes that are judged on a CPU

struct cli_device *cli_device(struct cli_judging *j, const struct plan_device *device) {
  struct cli_device *d = j->devices;
  while (d->device != device)
    d++;
  return d;
}

enum assay_status cli_form_of(const char *path, const char *wanted, const struct form **out, struct assay_error *err) {
  const struct plan_device *device = NULL;
  enum assay_status status = wanted ? plan_device_parse(wanted, &device, err) : ASSAY_OK;
  if (!status)
    status = form_of(path, device, cli_has_nvidia(), out, err);
  struct stat st;
  if (status && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
    status = error_set(err, ASSAY_ERR_USAGE,
                       "%.500s is a folder: name files of it, or judge all of it with assay bench SUITE --from %.500s",
                       path, path);
  return status;
}

bool cli_task_of_kernelbench(const char *path, char *name, size_t size) {
  const char *slash = strrchr(path, '/');
  int level, problem, sample;
  if (sscanf(slash ? slash + 1 : path, "level_%d_problem_%d_sample_%d_kernel", &level, &problem, &sample) != 3)
    return false;
  snprintf(name, size, "kernelbench/%d/%d", level, problem);
  return true;
}

void cli_say_malformed(const char *candidate, const char *malformed) {
  char name[512], what[256];
  fprintf(stderr, "assay: %s: %s (the line counts for nothing)\n", printable_line(candidate, name, sizeof name),
          printable_line(malformed, what, sizeof what));
}

void cli_note_directives(const char *candidate) {
  struct directives d;
  struct arena arena = {0};
  struct assay_error ignored = {0};
  char *source = NULL;
  size_t n = 0;
  int64_t size;
  // A file with launch lines is not built when a line is unknown, and says which: once is enough.
  if (!cli_is_baseline(candidate) &&
      file_read_start(candidate, FORM_MOST_BYTES, &source, &n, &size, &ignored) == ASSAY_OK &&
      directives_read(source, n, &arena, &d, &ignored) == ASSAY_OK && d.malformed && !directive_launches(source, n))
    cli_say_malformed(candidate, d.malformed);
  base_free(source);
  arena_release(&arena);
}

enum assay_status cli_use_candidate(struct cli_judging *j, const char *path, bool several, struct assay_error *err) {
  struct assay_judge_options *o = &j->options;
  const struct form *form;
  enum assay_status status = cli_form_of(path, j->device, &form, err);
  if (status)
    return status;
  struct cli_device *d = cli_device(j, form->device);
  if (j->device && strcmp(j->device, form->device->name) != 0)
    return error_set(err, ASSAY_ERR_USAGE, "%s is for device %s, not for %s", path, form->device->name, j->device);
  o->candidate = path;
  o->device = form->device->name;
  o->peaks = d->peaks;
  o->workbench = NULL;
  status = cli_baselines_open(j, err);
  if (!status && !d->workbench && form->device->dialect != PLAN_NO_LAUNCHES)
    status = assay_workbench_open(o, several, &d->workbench, err);
  o->workbench = d->workbench;
  if (!status && several && o->seed && o->secret && !o->answers)
    status = assay_answers_open(ANSWERS_BYTES, &o->answers, err);
  return status;
}

void cli_workbenches_leave(struct cli_judging *j) {
  for (int i = 0; i < CLI_DEVICES; i++)
#if defined(__SANITIZE_ADDRESS__)
    assay_workbench_close(j->devices[i].workbench); // the leak checker wants everything freed
#else
    assay_workbench_leave(j->devices[i].workbench); // main ends the process next
#endif
}
