// SPDX-License-Identifier: Apache-2.0
// modules: site sandbox
// The site of a store: every page reads as HTML, every link leads to a file, nothing of a stranger gets out of its
// place and no path of the machine gets in; the folder is written once and brought up to date.
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/hash.h"
#include "report/plots.h"
#include "site/folder.h"
#include "site/site.h"
#include "store_folder.h"
#include "support/html_read.h"

enum { SAMPLES = 30 };

static const char hostile[] = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\xE2\x80\xAE%00..%2f\xFF&amp;";

// What a verdict has that differs from the usual one.
struct put {
  const char *run, *task, *candidate, *device, *detail;
  enum assay_reason reason;
  double time_ns;
  bool paths; // its setting and its baseline are called by paths
};

static void put(const struct put *p) {
  static int number;
  double samples[SAMPLES];
  char hash[65], id[32];
  char evidence[2048];
  int64_t stored;
  struct assay_error err = {0};
  snprintf(id, sizeof id, "%d", number++);
  hash_sha256_hex(id, strlen(id), hash);
  for (int i = 0; i < SAMPLES; i++)
    samples[i] = p->time_ns * (1 + 0.001 * (i % 7));
  json_t *j = json_pack(
      "{s:s, s:s, s:s, s:I, s:s, s:[{s:s, s:s, s:b, s:s, s:f, s:f, s:s}, {s:s, s:s, s:s}], s:i, "
      "s:{s:f, s:i, s:s, s:s}, s:[{s:s}], s:[{s:s, s:s}]}",
      "device", "NVIDIA H200, driver 580", "diagnostics", "/home/secret person/k.cu(3): error: <b>no</b>",
      "build_command", "gcc -I /home/secret/include k.c", "secret", (json_int_t)3948322987743342666, "mode", "plan",
      "checks", "workload", "small", "probe", "declared", "timed", 0, "reason", "pass", "gate_z", 1.5, "gate_limit",
      13.7, "worst", "seen in /home/secret/worst.c:3", "workload", "/home/secret/shape", "probe", "/home/secret/probe",
      "reason", "/home/secret/reason", "worst_check", 0, "timing", "overhead_ns", 0.0, "clock_mhz", 1980, "stopped",
      "/home/secret/stop", "throttle", "/home/secret/throttle", "resources", "kernel", "/home/secret/kernel", "shapes",
      "name", "small", "extents", "/home/secret/extents");
  static const char *const names[] = {"device", "contract", "rule", "judge"};
  for (size_t i = 0; p->paths && i < sizeof names / sizeof *names; i++)
    json_object_set_new(j, names[i], json_sprintf("at /home/secret/%s", names[i]));
  if (p->paths)
    json_object_set_new(j, "baselines",
                        json_pack("[{s:s, s:f, s:f, s:s, s:s}]", "name", "/home/secret/base.py", "median_ns", 50000.0,
                                  "speedup", 2.0, "verdict", "", "detail", ""));
  char *text = json_dumps(j, JSON_SORT_KEYS);
  snprintf(evidence, sizeof evidence, "%s", text);
  free(text);
  json_decref(j);
  const struct store_verdict v = {.run = p->run,
                                  .task = p->task,
                                  .form = "default",
                                  .workload = p->paths ? "/home/secret/workload" : "full",
                                  .device = p->device ? p->device : "cuda",
                                  .candidate = p->candidate,
                                  .candidate_hash = hash,
                                  .settings_hash = "s",
                                  .reason = p->reason,
                                  .detail = p->detail ? p->detail : "",
                                  .error_z = 1.6,
                                  .error_limit = 13.7,
                                  .time_ns = p->time_ns,
                                  .time_low_ns = p->time_ns * 0.99,
                                  .time_high_ns = p->time_ns * 1.01,
                                  .hot_ns = NAN,
                                  .floor_ns = NAN,
                                  .n_samples = isnan(p->time_ns) ? 0 : SAMPLES,
                                  .samples_ns = samples,
                                  .seed = 13948322987743342666u,
                                  .machine = "{\"processor\": \"/home/secret/CPU\", \"kernel\": \"/home/secret/6\"}",
                                  .command = "assay judge 'kernelbench/1/19' '/home/secret person/k.cu' --seed 1",
                                  .evidence = evidence};
  if (store_put(store, &v, &stored, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
}

static int fill(void **state) {
  if (store_folder_open(state))
    return -1;
  put(&(struct put){"mine", "kernelbench/1/19", "/home/secret person/fast.cu", .time_ns = 20000});
  put(&(struct put){"mine", "kernelbench/1/19", "/home/secret person/slow.cu", .time_ns = 40000});
  put(&(struct put){"mine", "kernelbench/1/19", "wrong.cu", .reason = ASSAY_REASON_WRONG_VALUE, .time_ns = NAN});
  put(&(struct put){"mine", "kernelbench/1/20", "cheat.cu", .reason = ASSAY_REASON_CHANGED_BEHAVIOUR, .time_ns = NAN});
  put(&(struct put){hostile, hostile, hostile, .detail = hostile, .reason = ASSAY_REASON_CRASHED, .time_ns = NAN});
  put(&(struct put){"/home/secret/run", "kernelbench/1/19", "fast.cu", .time_ns = 21000});
  put(&(struct put){"/home/secret/too/run", "kernelbench/1/19", "fast.cu", .time_ns = 21000});
  put(&(struct put){"paths", "kernelbench/1/22", "paths.cu", .time_ns = 25000, .paths = true});
  put(&(struct put){"", "/home/secret/my_task.onnxtxt", "single.c", .device = "cpu", .time_ns = 1e6});
  return 0;
}

static struct site *read_site(void) {
  struct site *site = NULL;
  struct assay_error err = {0};
  const struct site_options o = {.tasks = ASSAY_SOURCE_DIR "/tasks"};
  if (site_collect(store, &o, &site, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  return site;
}

static void make(struct site *site, const struct site_file *f, struct buf *out) {
  struct assay_error err = {0};
  buf_clear(out);
  if (site_make(site, f, out, &err) != ASSAY_OK)
    fail_msg("%s: %s", f->name, err.message);
}

// --- links: relative to the page, to a file of the site, or to a part of the page that is there

static void assert_link(const struct site *site, const struct site_file *page, const char *log, const char *link) {
  char target[1024], wanted[ADDRESS_BYTES + 1024];
  size_t file = strcspn(link, "?#");
  int up = 0, folders = 0;
  if (link[0] == '#') {
    snprintf(wanted, sizeof wanted, "@id=%s\n", link + 1);
    if (!strstr(log, wanted))
      fail_msg("%s: no part %s", page->name, link);
    return;
  }
  for (; strncmp(link, "../", 3) == 0; link += 3, file -= 3)
    up++;
  for (const char *c = page->name; *c; c++)
    folders += *c == '/';
  assert_int_equal(up, folders);
  snprintf(target, sizeof target, "%.*s", (int)file, link);
  if (!site_find(site, target))
    fail_msg("%s: there is no file %s", page->name, target);
}

static void test_pages(void **state) {
  (void)state;
  struct site *site = read_site();
  struct buf out = {0}, log = {0};
  int n, pages = 0, links = 0;
  const struct site_file *files = site_files(site, &n);
  for (int i = 0; i < n; i++) {
    make(site, &files[i], &out);
    if (strstr(buf_str(&out), "/home"))
      fail_msg("%s has a path: %.200s", files[i].name, strstr(buf_str(&out), "/home") - 60);
    assert_true(out.len < 1000000);
    if (files[i].at.format != ADDRESS_AS_HTML || files[i].at.place == ADDRESS_ASSET)
      continue;
    pages++;
    buf_clear(&log);
    html_read(buf_str(&out), &log);
    char *line = log.data;
    const char *h1 = strstr(log.data, "<h1\n");
    assert_non_null(h1);
    assert_null(strstr(h1 + 1, "<h1\n"));
    for (char *next; (line = strstr(line, "\n@")) != NULL; line = next) {
      bool is_link = strncmp(line, "\n@href=", 7) == 0 || strncmp(line, "\n@src=", 6) == 0;
      char link[1024];
      next = line + 1;
      if (!is_link)
        continue;
      snprintf(link, sizeof link, "%.*s", (int)strcspn(strchr(line, '=') + 1, "\n"), strchr(line, '=') + 1);
      assert_link(site, &files[i], log.data, link);
      links++;
    }
  }
  assert_true(pages > 100); // every task of the level has one
  assert_true(links > 10 * pages);
  buf_release(&out);
  buf_release(&log);
  site_release(site);
}

// What a hostile name became, on the pages where it stands.
static void test_hostile(void **state) {
  (void)state;
  struct site *site = read_site();
  struct buf out = {0}, log = {0}, wanted = {0};
  int n, shown = 0;
  const struct site_file *files = site_files(site, &n);
  html_expected(hostile, strlen(hostile), &wanted);
  for (int i = 0; i < n; i++) {
    make(site, &files[i], &out);
    bool script = files[i].at.format == ADDRESS_AS_JS;
    if (files[i].at.place == ADDRESS_ASSET || (files[i].at.format != ADDRESS_AS_HTML && !script))
      continue;
    assert_null(strstr(buf_str(&out), "<img"));
    assert_null(strstr(buf_str(&out), "<script>"));
    assert_null(strstr(buf_str(&out), "<b>"));
    assert_null(strstr(buf_str(&out), "\xE2\x80\xAE<"));
    if (script)
      continue;
    buf_clear(&log);
    html_read(buf_str(&out), &log);
    shown += strstr(buf_str(&log), buf_str(&wanted)) != NULL;
  }
  assert_true(shown >= 3); // its task, its run, its kernel
  buf_release(&out);
  buf_release(&log);
  buf_release(&wanted);
  site_release(site);
}

// A browser may keep an asset for ever: its name follows from its bytes.
static void test_assets(void **state) {
  (void)state;
  struct site *site = read_site();
  struct buf out = {0};
  int n, assets = 0;
  const struct site_file *files = site_files(site, &n);
  for (int i = 0; i < n; i++) {
    char hex[HASH_HEX_BYTES];
    if (files[i].at.place != ADDRESS_ASSET)
      continue;
    make(site, &files[i], &out);
    hash_sha256_hex(out.data, out.len, hex);
    assert_memory_equal(files[i].at.name, hex, 16);
    assets++;
  }
  assert_int_equal(assets, 2);
  buf_release(&out);
  site_release(site);
}

// Of both checks, the second of which has three members.
static void assert_checks(const json_t *checks) {
  const json_t *columns = json_object_get(checks, "columns"), *rows = json_object_get(checks, "rows");
  static const char *const names[] = {"probe", "reason", "timed", "workload", "worst", "gate_z"};
  static const char *const shown[2][6] = {{"declared", "pass", NULL, "small", "seen in .../worst.c:3", NULL},
                                          {".../probe", ".../reason", NULL, ".../shape", NULL, NULL}};
  assert_int_equal(json_array_size(rows), 2);
  for (size_t c = 0; c < json_array_size(columns); c++)
    for (size_t i = 0; i < 6; i++)
      if (strcmp(json_string_value(json_array_get(columns, c)), names[i]) == 0)
        for (size_t r = 0; r < 2; r++) {
          const json_t *row = json_array_get(rows, r), *value = json_array_get(row, c);
          assert_int_equal(json_array_size(row), json_array_size(columns));
          if (shown[r][i])
            assert_string_equal(json_string_value(value), shown[r][i]);
          else if (r == 1)
            assert_true(json_is_null(value));
          else
            assert_true(json_is_boolean(value) || json_number_value(value) == 1.5);
        }
}

static void test_data(void **state) {
  (void)state;
  struct site *site = read_site();
  struct buf out = {0};
  json_error_t error;
  int n, parsed = 0;
  const struct site_file *files = site_files(site, &n);
  for (int i = 0; i < n; i++) {
    if (files[i].at.format != ADDRESS_AS_JSON || files[i].at.place == ADDRESS_ASSET)
      continue;
    make(site, &files[i], &out);
    json_t *j = json_loads(buf_str(&out), 0, &error);
    if (!j)
      fail_msg("%s: %s", files[i].name, error.text);
    if (files[i].at.place == ADDRESS_KERNEL) { // a number that JavaScript would change is a text
      assert_string_equal(json_string_value(json_object_get(j, "seed")), "13948322987743342666");
      assert_string_equal(json_string_value(json_object_get(j, "secret")), "3948322987743342666");
      assert_checks(json_object_get(j, "checks"));
    }
    json_decref(j);
    parsed++;
  }
  assert_true(parsed > 100);
  make(site, site_find(site, "data/t/kernelbench-1-19.csv"), &out);
  int lines = 0;
  for (const char *c = buf_str(&out); (c = strstr(c, "\r\n")); c++)
    lines++;
  assert_int_equal(lines, 1 + 5);
  make(site, site_find(site, "data/search.js"), &out);
  assert_memory_equal(buf_str(&out), "window.assayAll = {", 19);
  assert_null(strchr(buf_str(&out), '<'));
  buf_release(&out);
  site_release(site);
}

// Roofs are drawn for the device that they were measured of, and for no other that is called nearly the same.
static void test_roofs(void **state) {
  (void)state;
  struct assay_peaks p = {.bytes_per_s = 1, .device = "NVIDIA H200"};
  assert_true(plot_peaks_are_of(&p, "cuda NVIDIA H200, driver 580.159.04"));
  assert_true(plot_peaks_are_of(&p, "cuda NVIDIA H200"));
  assert_false(plot_peaks_are_of(&p, "cuda NVIDIA H200 NVL, driver 580.159.04"));
  assert_false(plot_peaks_are_of(&p, "cuda"));
  strcpy(p.device, "AMD EPYC 9654");
  assert_true(plot_peaks_are_of(&p, "cpu AMD EPYC 9654"));
  assert_false(plot_peaks_are_of(&p, "cpu AMD EPYC"));
  assert_false(plot_peaks_are_of(&p, "cpu Intel Xeon"));
  p.device[0] = '\0'; // of no device that is known
  assert_false(plot_peaks_are_of(&p, "cpu AMD EPYC"));
}

// Ranks, and what keeps a kernel from having one.
static void test_ranking(void **state) {
  (void)state;
  struct site *site = read_site();
  struct buf out = {0};
  make(site, site_find(site, "t/kernelbench-1-19.html"), &out);
  const char *fastest = strstr(buf_str(&out), "<p>Fastest right kernel: ");
  assert_true(fastest && strstr(fastest, "<bdi>fast.cu</bdi></a>, 20.00 us \xC2\xB1"));
  assert_non_null(strstr(buf_str(&out), "Ranked 4 of 5. Failed 1, cheats 0, unstable 0."));
  assert_non_null(strstr(buf_str(&out), "<bdi>wrong.cu</bdi>"));
  make(site, site_find(site, "s/kernelbench-1.html"), &out);
  assert_non_null(strstr(buf_str(&out), "1 of 100 tasks has a right kernel; 98 have no verdict and count as failed"));
  make(site, site_find(site, "t/kernelbench-1-21.html"), &out);
  assert_non_null(strstr(buf_str(&out), "No kernel was judged for this task."));
  make(site, site_find(site, "cheats.html"), &out);
  assert_non_null(strstr(buf_str(&out), "<bdi>cheat.cu</bdi>"));
  assert_null(strstr(buf_str(&out), "wrong.cu"));
  buf_release(&out);
  site_release(site);
}

// The overview: how far each level and run came, how many failed, and words that fit their number. Charts have a
// caption that names both renditions, and one set of curves.
static void test_overview(void **state) {
  (void)state;
  struct site *site = read_site();
  struct buf out = {0};
  make(site, site_find(site, "index.html"), &out);
  assert_non_null(strstr(buf_str(&out), "</span> of 100 tasks has a right kernel"));
  assert_non_null(strstr(buf_str(&out), "<strong>100</strong> asked"));
  // One card a level: the setting that has a speed, and the other as a line that leads to it.
  assert_non_null(strstr(buf_str(&out), "99 without a verdict, counted as failed; fast_1 over "));
  const char *other = strstr(buf_str(&out), "s/kernelbench-1.html#s1\"");
  assert_true(other && strstr(other, "workload full</a>: 1 right of 100"));
  const char *card = strstr(buf_str(&out), ">kernelbench/1</a></h3>");
  assert_true(card && !strstr(card + 1, ">kernelbench/1</a></h3>"));
  assert_non_null(strstr(buf_str(&out), ">failed</th>"));
  assert_null(strstr(buf_str(&out), ">method</th>")); // no run has one
  assert_non_null(strstr(buf_str(&out), ">fast_1</th>"));
  // The run of two tasks, of which one is right: verdicts 4, asked 2, built 2, right 1, failed 1.
  const char *run = strstr(buf_str(&out), "<bdi>mine</bdi>");
  run = run ? run : strstr(buf_str(&out), ">mine<");
  assert_non_null(run);
  static const char *const cells[] = {">4<", ">2<", ">2<", ">1<", ">1<"};
  for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
    run = strstr(run + 1, cells[i]);
    assert_non_null(run);
  }
  int n;
  const struct site_file *files = site_files(site, &n), *timed = NULL;
  for (int i = 0; i < n && !timed; i++)
    if (files[i].at.place == ADDRESS_KERNEL && files[i].at.format == ADDRESS_AS_HTML) {
      make(site, &files[i], &out);
      timed = strstr(buf_str(&out), "c-speck") ? &files[i] : NULL;
    }
  assert_non_null(timed);
  const char *caption = strstr(buf_str(&out), "<figcaption id=\"samples-caption\">30 samples in ");
  assert_non_null(caption);
  assert_non_null(strstr(caption, " \xC2\xB1"));
  assert_non_null(strstr(buf_str(&out), "aria-labelledby=\"samples-narrow-t samples-caption\""));
  assert_non_null(strstr(buf_str(&out), "<use href=\"#samples-broad-strip\""));
  buf_release(&out);
  site_release(site);
}

// What a page says of the task itself, and two runs compared.
static void test_task_and_pair(void **state) {
  (void)state;
  struct site *site = read_site();
  struct buf out = {0};
  make(site, site_find(site, "t/kernelbench-1-19.html"), &out);
  assert_non_null(strstr(buf_str(&out), "1 box from inputs to outputs: Relu."));
  assert_non_null(strstr(buf_str(&out), "1 node: Relu."));
  assert_non_null(strstr(buf_str(&out), "ragged0"));
  assert_non_null(strstr(buf_str(&out), "assay tasks kernelbench/1/19 --lint"));
  assert_non_null(strstr(buf_str(&out), "</span>.relu("));
  assert_non_null(strstr(buf_str(&out), ">12.88 GB<")); // 2 x 4096 x 393216 x 4 bytes
  assert_non_null(strstr(buf_str(&out), ">1.611 GFLOP<"));
  assert_non_null(strstr(buf_str(&out), ">65.54 kFLOP<"));
  assert_non_null(strstr(buf_str(&out), ">what</th>"));
  make(site, site_find(site, "t/kernelbench-1-22.html"), &out);
  assert_null(strstr(buf_str(&out), ">what</th>")); // its only row has nothing to say there
  int n, pairs = 0, better = 0, same = 0;
  const struct site_file *files = site_files(site, &n);
  for (int i = 0; i < n; i++)
    if (files[i].at.place == ADDRESS_PAIR && files[i].at.format == ADDRESS_AS_HTML) {
      pairs++;
      make(site, &files[i], &out);
      assert_non_null(strstr(buf_str(&out), "B better "));
      assert_non_null(strstr(buf_str(&out), "right, of tasks in both"));
      better += strstr(buf_str(&out), "B better 0, A better 1, no difference shown 0; only in A 1, only in B 0.") &&
                strstr(buf_str(&out), "0 tasks faster in the second, 1 in the first, 0 with no difference shown.") &&
                strstr(buf_str(&out), ">0.9524 (0.9");
      same += strstr(buf_str(&out), "B better 0, A better 0, no difference shown 1; only in A 0, only in B 0.") &&
              strstr(buf_str(&out), "0 tasks faster in the second, 0 in the first, 1 with no difference shown.");
    }
  assert_int_equal(better, 2); // of "mine", against both others
  assert_int_equal(same, 1);
  assert_int_equal(pairs, 3); // of four runs, one of which has no task in common with another
  buf_release(&out);
  site_release(site);
}

// --- the folder

static struct folder_report write_with(struct site *site, const char *name, int threads) {
  char path[4096];
  struct assay_error err = {0};
  struct folder_report r = {0};
  snprintf(path, sizeof path, "%s/%s", folder, name);
  if (folder_write(site, path, threads, NULL, NULL, &r, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  return r;
}

static struct folder_report write_to(struct site *site, const char *name) {
  return write_with(site, name, 2);
}

static void read_file(const char *where, const char *name, struct buf *out) {
  char path[4096], *text;
  size_t len;
  struct assay_error err = {0};
  snprintf(path, sizeof path, "%s/%s/%s", folder, where, name);
  if (file_read(path, 1 << 26, &text, &len, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  buf_clear(out);
  buf_append(out, text, len);
  base_free(text);
}

static void test_folder(void **state) {
  (void)state;
  struct site *site = read_site();
  struct buf a = {0}, b = {0};
  struct assay_error err = {0};
  char path[4096];
  const struct folder_report first = write_to(site, "a");
  assert_int_equal(first.written, first.files);
  assert_int_equal(write_to(site, "a").written, 0);
  write_with(site, "b", 1);
  write_with(site, "e", 7);
  int n;
  const struct site_file *files = site_files(site, &n);
  for (int i = 0; i < n; i++) { // byte for byte, however many threads
    read_file("a", files[i].name, &a);
    read_file("b", files[i].name, &b);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(buf_str(&a), buf_str(&b), a.len);
    read_file("e", files[i].name, &b);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(buf_str(&a), buf_str(&b), a.len);
  }
  // A page that is gone or cut is made again; what is not listed stays, and what is no more goes.
  snprintf(path, sizeof path, "%s/a/index.html", folder);
  assert_int_equal(unlink(path), 0);
  snprintf(path, sizeof path, "%s/a/t/kernelbench-1-19.html", folder);
  assert_int_equal(truncate(path, 10), 0);
  snprintf(path, sizeof path, "%s/a/CNAME", folder);
  assert_int_equal(file_write(path, "x", 1, &err), ASSAY_OK);
  assert_int_equal(write_to(site, "a").written, 2);
  site_release(site);
  put(&(struct put){"mine", "kernelbench/1/22", "new.cu", .time_ns = 30000});
  site = read_site();
  const struct folder_report more = write_to(site, "a");
  assert_true(more.written > 3 && more.written < more.files / 2); // not the pages of other tasks
  assert_int_equal(access(path, F_OK), 0);
  site_release(site);
  int64_t deleted;
  assert_int_equal(store_delete_run(store, hostile, &deleted, &err), ASSAY_OK);
  site = read_site();
  assert_true(write_to(site, "a").removed >= 9); // pages and data of a task, a run, a kernel
  // A folder of somebody else's is left alone.
  snprintf(path, sizeof path, "%s/c", folder);
  assert_int_equal(mkdir(path, 0777), 0);
  snprintf(path, sizeof path, "%s/c/thesis.tex", folder);
  assert_int_equal(file_write(path, "x", 1, &err), ASSAY_OK);
  snprintf(path, sizeof path, "%s/c", folder);
  struct folder_report r;
  assert_int_equal(folder_write(site, path, 2, NULL, NULL, &r, &err), ASSAY_ERR_INVALID);
  assert_non_null(strstr(err.message, "name a new folder"));
  site_release(site);
  buf_release(&a);
  buf_release(&b);
}

// --- a build that is killed

static void kill_itself(void *arg, int done, int total) {
  (void)total;
  if (done >= *(const int *)arg)
    raise(SIGKILL);
}

static void note_last(void *arg, int done, int total) {
  (void)total;
  *(int *)arg = done;
}

// In a process of its own, killed at the first word of progress that `done` files are written.
static void write_killed(const char *name, int done) {
  int status = 0;
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    struct site *site = read_site();
    struct folder_report r;
    struct assay_error err;
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    folder_write(site, path, 1, kill_itself, &done, &r, &err);
    _exit(0);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

// The folders have the same files, with the same bytes.
static void assert_same(const char *a, const char *b) {
  char command[9000];
  snprintf(command, sizeof command, "exec diff -r '%s/%s' '%s/%s'", folder, a, folder, b);
  assert_int_equal(system(command), 0);
}

static void test_killed(void **state) {
  (void)state;
  struct assay_error err = {0};
  struct buf text = {0};
  int64_t deleted;
  // The first build: the folder is known as a site's, and pages that were cut are made again.
  write_killed("k", 0);
  read_file("k", "manifest.txt", &text);
  assert_non_null(strstr(buf_str(&text), "index.html"));
  struct site *site = read_site();
  char path[4096];
  snprintf(path, sizeof path, "%s/k/k", folder);
  assert_int_equal(access(path, F_OK), 0);
  snprintf(path, sizeof path, "%s/k/index.html", folder);
  assert_int_not_equal(access(path, F_OK), 0);
  write_to(site, "k");
  write_to(site, "whole");
  assert_same("k", "whole");
  site_release(site);
  // A later one, of a store that then is as it was before: its pages go, and none of them is taken for the old one.
  put(&(struct put){"late", "kernelbench/1/19", "late.cu", .time_ns = 10000});
  site = read_site();
  struct folder_report r;
  int last = 0;
  snprintf(path, sizeof path, "%s/noted", folder);
  assert_int_equal(folder_write(site, path, 1, note_last, &last, &r, &err), ASSAY_OK);
  site_release(site);
  write_killed("k", last); // among lists, so that all verdicts are written
  assert_int_equal(store_delete_run(store, "late", &deleted, &err), ASSAY_OK);
  site = read_site();
  r = write_to(site, "k");
  assert_true(r.written > 0 && r.removed > 0);
  assert_same("k", "whole");
  assert_int_equal(write_to(site, "k").written, 0);
  site_release(site);
  buf_release(&text);
}

// A manifest that somebody changed makes nothing outside the site go.
static void test_manifest(void **state) {
  (void)state;
  struct site *site = read_site();
  struct buf text = {0};
  struct assay_error err = {0};
  char path[4096], outside[4096];
  write_to(site, "m");
  snprintf(outside, sizeof outside, "%s/outside", folder);
  assert_int_equal(file_write(outside, "x", 1, &err), ASSAY_OK);
  read_file("m", "manifest.txt", &text);
  for (int i = 0; i < 64; i++)
    buf_puts(&text, "0");
  buf_puts(&text, " 1 ../outside\nnonsense\n");
  snprintf(path, sizeof path, "%s/m/manifest.txt", folder);
  assert_int_equal(file_write(path, buf_str(&text), text.len, &err), ASSAY_OK);
  const struct folder_report r = write_to(site, "m");
  assert_int_equal(r.removed, 0);
  assert_int_equal(access(outside, F_OK), 0);
  buf_release(&text);
  site_release(site);
}

static int count_tasks(void) {
  struct site *site = read_site();
  int n, tasks = 0;
  const struct site_file *files = site_files(site, &n);
  for (int i = 0; i < n; i++)
    tasks += strncmp(files[i].name, "t/", 2) == 0;
  site_release(site);
  return tasks;
}

// A task's name in a store is no way to another folder of tasks: it gets a page, and only that.
static void test_names_are_no_paths(void **state) {
  (void)state;
  static const char *const names[] = {"kernelbench/1/../../x", "kernelbench//1/7", "kernelbench/./1/7",
                                      "kernelbench/1//7"};
  const int before = count_tasks();
  for (int i = 0; i < 4; i++)
    put(&(struct put){"names", names[i], "k.cu", .time_ns = 30000});
  assert_int_equal(count_tasks(), before + 4);
}

// A task that is a file, in two runs that are compared, and a macro that is a path: neither shows where it lay.
static void test_paths_of_pairs(void **state) {
  (void)state;
  put(&(struct put){"files 1", "/home/secret/my_task.onnxtxt", "k.cu -DDATA=/home/secret/x", .time_ns = 30000});
  put(&(struct put){"files 2", "/home/secret/my_task.onnxtxt", "k.cu -DDATA=/home/secret/x", .time_ns = 31000});
  struct site *site = read_site();
  int n, pairs = 0;
  const struct site_file *files = site_files(site, &n);
  for (int i = 0; i < n; i++) {
    struct buf out = {0};
    if (strncmp(files[i].name, "r/", 2) != 0 && !strstr(files[i].name, "my-task"))
      continue;
    make(site, &files[i], &out);
    pairs += strncmp(files[i].name, "r/files-1-", 10) == 0 && strstr(buf_str(&out), "my_task.onnxtxt") != NULL;
    if (strstr(buf_str(&out), "/home"))
      fail_msg("%s has a path: %.200s", files[i].name, strstr(buf_str(&out), "/home") - 60);
    buf_release(&out);
  }
  assert_true(pairs > 0);
  site_release(site);
}

// A kernel that two runs have ranks once, and the table is of what its newest verdict was compared with.
static void test_newest_ranks(void **state) {
  (void)state;
  put(&(struct put){"first", "kernelbench/1/30", "kernels/twice.cu", .time_ns = 30000});
  put(&(struct put){"second", "kernelbench/1/30", "kernels/twice.cu", .time_ns = 31000});
  struct site *site = read_site();
  struct buf out = {0};
  int n;
  const struct site_file *files = site_files(site, &n);
  for (int i = 0; i < n; i++)
    if (strcmp(files[i].name, "t/kernelbench-1-30.html") == 0)
      make(site, &files[i], &out);
  assert_non_null(strstr(buf_str(&out), "Ranked 1 of 2. Failed 0"));
  assert_non_null(strstr(buf_str(&out), "1 has a newer verdict of the same kernel in its place."));
  assert_non_null(strstr(buf_str(&out), "<tr class=\"older\">"));
  const char *newer = strstr(buf_str(&out), "31.0"), *older = strstr(buf_str(&out), "class=\"older\"");
  assert_true(newer && newer < older); // the ranked one stands first
  buf_release(&out);
  site_release(site);
}

// Makers side by side: who cannot be told from the fastest stands next to it, and who was not asked has no column. A
// level of these alone has no card, and is linked.
static void test_makers(void **state) {
  (void)state;
  put(&(struct put){"side, one", "examples/1/1", "one.cu", .time_ns = 10000});
  put(&(struct put){"side, two", "examples/1/1", "two.cu", .time_ns = 10200});
  put(&(struct put){"side, three", "examples/1/1", "three.cu", .time_ns = 10500});
  put(&(struct put){"side, three", "examples/1/2", "three.cu", .time_ns = 9000});
  put(&(struct put){"side, four", "examples/1/2", "four.cu", .reason = ASSAY_REASON_WRONG_VALUE, .time_ns = NAN});
  struct site *site = read_site();
  struct buf out = {0};
  make(site, site_find(site, "c/side.html"), &out);
  assert_non_null(strstr(buf_str(&out), "<span><bdi>one</bdi>, <bdi>two</bdi></span>")); // 5 % apart is told from 1 %
  assert_non_null(strstr(buf_str(&out), "<span><bdi>three</bdi></span>"));
  assert_non_null(strstr(buf_str(&out), "4 makers of kernels at 2 shapes of 2 tasks"));
  const char *first = strstr(buf_str(&out), "examples/1/1 on "), *second = strstr(buf_str(&out), "examples/1/2 on ");
  assert_true(first && second && first < second);
  const char *four = strstr(first, "Without a time here: <bdi>four</bdi> (wrong_value).");
  assert_true(four && four > second);
  make(site, site_find(site, "index.html"), &out);
  assert_null(strstr(buf_str(&out), ">examples/1</a></h3>"));
  assert_non_null(strstr(buf_str(&out), "<a href=\"s/examples-1.html\">examples/1</a>"));
  assert_non_null(strstr(buf_str(&out), "<bdi>one</bdi>, <bdi>two</bdi>, <bdi>three</bdi>, <bdi>four</bdi>"));
  buf_release(&out);
  site_release(site);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_pages),          cmocka_unit_test(test_hostile),
                                     cmocka_unit_test(test_assets),         cmocka_unit_test(test_data),
                                     cmocka_unit_test(test_roofs),          cmocka_unit_test(test_ranking),
                                     cmocka_unit_test(test_overview),       cmocka_unit_test(test_task_and_pair),
                                     cmocka_unit_test(test_folder),         cmocka_unit_test(test_killed),
                                     cmocka_unit_test(test_manifest),       cmocka_unit_test(test_names_are_no_paths),
                                     cmocka_unit_test(test_paths_of_pairs), cmocka_unit_test(test_newest_ranks),
                                     cmocka_unit_test(test_makers)};
  return cmocka_run_group_tests(tests, fill, store_folder_remove);
}
