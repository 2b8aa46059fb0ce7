// SPDX-License-Identifier: Apache-2.0
// What a file is made of.
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "site/kernel.h"

static void add(struct buf *all, const char *text) {
  buf_puts(all, text);
  buf_append(all, "", 1);
}

// A verdict's page has its rank among the others of its task, and its source.
static enum assay_status add_kernel(struct buf *all, struct site *site, const struct site_row *row,
                                    struct assay_error *err) {
  struct kernel *k = NULL;
  enum assay_status status = kernel_hold(site, row, &k, err);
  add(all, row->digest);
  add(all, site->tasks[row->task].digest);
  add(all, !status && k->source ? "with its source" : "without");
  return status;
}

static enum assay_status add_task(struct buf *all, const struct site_task *task, struct assay_error *err) {
  enum { MOST_BYTES = 64 << 20 };
  struct assay_error ignored = {0};
  char *text = NULL, hex[HASH_HEX_BYTES];
  size_t len = 0;
  (void)err;
  add(all, task->digest);
  add(all, task->title);
  if (task->path && file_read(task->path, MOST_BYTES, &text, &len, &ignored) == ASSAY_OK) {
    hash_sha256_hex(text, len, hex);
    add(all, hex);
  }
  base_free(text);
  return ASSAY_OK;
}

enum assay_status site_hash(struct site *site, const struct site_file *file, char hex[65], struct assay_error *err) {
  struct buf all = {0};
  enum assay_status status = ASSAY_OK;
  add(&all, ASSAY_SITE_ID);
  add(&all, file->name);
  add(&all, site->style);
  add(&all, site->script);
  if (file->at.place == ADDRESS_KERNEL)
    status = add_kernel(&all, site, &site->rows[file->item], err);
  else if (file->at.place == ADDRESS_TASK)
    status = add_task(&all, &site->tasks[file->item], err);
  else if (file->at.place != ADDRESS_ASSET && file->at.place != ADDRESS_READ) // whose text is always the same
    add(&all, site->digest);
  if (!status)
    status = buf_status(&all, err);
  if (!status)
    hash_sha256_hex(buf_str(&all), all.len, hex);
  buf_release(&all);
  return status;
}
