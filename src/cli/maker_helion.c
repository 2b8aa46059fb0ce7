// SPDX-License-Identifier: Apache-2.0
// Kernels in Helion: those of kernels/fusedops/helion, with its own search at an effort, or within a budget in seconds.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cli/maker.h"

// What stands above the kernel's source: the effort, and where the search writes its log.
static const char above[] =
    "import os\n"
    "os.environ[\"HELION_AUTOTUNE_EFFORT\"] = \"%s\"\n"
    "os.environ[\"HELION_AUTOTUNE_BUDGET_SECONDS\"] = \"%s\"\n"
    "os.environ[\"HELION_AUTOTUNE_RANDOM_SEED\"] = \"%llu\"\n"
    "os.environ[\"HELION_AUTOTUNE_LOG\"] = os.path.join(os.environ.get(\"TMPDIR\", \"/tmp\"), \"search\")\n"
    "os.environ[\"HELION_AUTOTUNE_LOG_LEVEL\"] = os.environ[\"HELION_AUTOTUNE_PROGRESS_BAR\"] = \"0\"\n"
    "# -- what stands above is of the maker `helion`\n";
extern const char code_helion_log[]; // helion_log.py, which stands below

static bool takes(const char *source, size_t n) {
  static const char word[] = "import helion";
  return memmem(source, n, word, sizeof word - 1) != NULL;
}

// "none", "quick", "full", or a number of seconds, in which the full effort has to end. False: neither.
static bool read_effort(const char *argument, const char **effort, char budget[32]) {
  char *end;
  budget[0] = '\0';
  *effort = argument[0] ? argument : "none";
  if (strcmp(*effort, "none") == 0 || strcmp(*effort, "quick") == 0 || strcmp(*effort, "full") == 0)
    return true;
  errno = 0;
  long seconds = strtol(argument, &end, 10);
  if (errno || *end || seconds < 1 || seconds > 86400)
    return false;
  snprintf(budget, 32, "%ld", seconds);
  *effort = "full";
  return true;
}

static enum assay_status check(const char *argument, struct store *store, struct assay_error *err) {
  char budget[32];
  const char *effort;
  (void)store;
  if (read_effort(argument, &effort, budget))
    return ASSAY_OK;
  return error_set(err, ASSAY_ERR_USAGE,
                   "helion:%.60s: the effort is none, quick, full, or a number of seconds from 1 to 86400", argument);
}

static enum assay_status write_kernel(const struct maker_request *r, const char *effort, const char *budget,
                                      struct maker_candidate *out, struct assay_error *err) {
  char *source = NULL;
  size_t n = 0;
  struct buf text = {0};
  enum assay_status status = file_read(out->file, FORM_MOST_BYTES, &source, &n, err);
  if (status)
    return status;
  const struct assay_judge_options *o = &r->judging->options;
  buf_printf(&text, above, effort, budget, o->seed ? (unsigned long long)o->seed % 1000000 : 1ULL);
  buf_append(&text, source, n);
  buf_printf(&text, "\n\n%s", code_helion_log);
  base_free(source);
  status = buf_status(&text, err);
  snprintf(out->file, sizeof out->file, "%s/helion.py", r->folder);
  if (!status)
    status = file_write(out->file, buf_str(&text), text.len, err);
  buf_release(&text);
  return status;
}

static enum assay_status yield(const struct maker_request *r, struct maker_candidate *out, struct assay_error *err) {
  char own[4096], budget[32];
  const char *effort;
  struct maker_request asked = *r;
  (void)read_effort(r->argument, &effort, budget); // it was checked
  maker_own_folder(r, "helion", own, sizeof own);
  asked.argument = own;
  maker_take_file(&asked, takes, "is a Helion kernel for this task", out);
  return out->refusal[0] ? ASSAY_OK : write_kernel(r, effort, budget, out, err);
}

const struct maker maker_helion = {.name = "helion",
                                   .argument = "[none|quick|full|SECONDS]",
                                   .what = "Helion, with its own search at that effort (none), or full within seconds",
                                   .log = "helion",
                                   .check = check,
                                   .yield = yield};
