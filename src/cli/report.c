// SPDX-License-Identifier: Apache-2.0
// assay report --html DIR: the leaderboard as a static site.
#include <argp.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "base/parallel.h"
#include "cli/json.h"
#include "cli/judging.h"
#include "site/folder.h"

enum { KEY_HTML = 9000, KEY_SOURCES, KEY_THREADS };

enum { MOST_THREADS = 64 };

struct arguments {
  struct cli_judging judging;
  const char *folder, *sources;
  int threads;
};

static error_t parse(int key, char *arg, struct argp_state *state) {
  struct arguments *a = state->input;
  switch (key) {
  case KEY_HTML:
    a->folder = arg;
    return 0;
  case KEY_SOURCES:
    if (access(arg, R_OK | X_OK) != 0)
      argp_error(state, "--sources %s: %s", arg, strerror(errno));
    a->sources = arg;
    return 0;
  case KEY_THREADS:
    a->threads = cli_take_whole(state, "threads", 1, MOST_THREADS, arg);
    return 0;
  case ARGP_KEY_INIT:
    state->child_inputs[0] = &a->judging;
    return 0;
  case ARGP_KEY_END:
    if (!a->folder)
      argp_error(state, "say where to: --html FOLDER");
    if (a->judging.tasks && access(a->judging.tasks, R_OK | X_OK) != 0)
      argp_error(state, "--tasks %s: %s", a->judging.tasks, strerror(errno));
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option options[] = {
    {"html", KEY_HTML, "FOLDER", 0, "the folder of the site: new, empty, or a site to bring up to date", 0},
    {"sources", KEY_SOURCES, "FOLDER", 0,
     "a folder with candidates' files, for verdicts whose files are no longer where they were judged", 0},
    {"threads", KEY_THREADS, "N", 0, "how many threads make pages (default: one a processor)", 0},
    {0},
};
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .children = cli_common_child,
    .doc = "Writes the verdicts of the store as a site that opens from a file: FOLDER/index.html. Every run's newest "
           "verdict of each task and candidate is there, those that failed too. Pages that are current are left as "
           "they are. Paths of this machine are not published.",
};

static void show_progress(void *arg, int done, int total) {
  (void)arg;
  cli_progress("pages", done, total);
}

static void print_done(const struct arguments *a, const struct folder_report *r) {
  if (a->judging.json) {
    json_t *j = json_pack("{s:s, s:i, s:i, s:i, s:I, s:s, s:I}", "folder", a->folder, "files", r->files, "written",
                          r->written, "removed", r->removed, "bytes", (json_int_t)r->bytes, "largest_page", r->largest,
                          "largest_page_bytes", (json_int_t)r->largest_bytes);
    cli_json_print(cli_json_of("report", j));
    return;
  }
  cells_printf(stdout, "%s/index.html: %d files, %.1f MB (%d written, %d removed); the largest page is %s, %.0f kB\n",
               a->folder, r->files, (double)r->bytes / 1e6, r->written, r->removed, r->largest,
               (double)r->largest_bytes / 1e3);
}

int cli_report(int argc, char **argv) {
  struct arguments a = {.threads = parallel_cpus()};
  struct assay_error err = {0};
  struct store *store = NULL;
  struct site *site = NULL;
  struct folder_report done;
  if (cli_begin(&argp, argc, argv, &a, &a.judging, &err) != ASSAY_OK)
    return cli_fail(&err);
  struct assay_peaks peaks[API_MOST_PEAKS];
  struct site_options o = {.tasks = a.judging.paths.tasks, .sources = a.sources, .peaks = peaks};
  enum assay_status status = store_open_existing(a.judging.paths.store, &store, &err);
  if (!status)
    status = api_peaks_known(store, peaks, &o.n_peaks, &err);
  if (!status)
    status = site_collect(store, &o, &site, &err);
  if (!status)
    status = folder_write(site, a.folder, a.threads, show_progress, NULL, &done, &err);
  cli_progress_clear();
  if (!status)
    print_done(&a, &done);
  site_release(site);
  store_close(store);
  return status ? cli_fail(&err) : CLI_PASS;
}
