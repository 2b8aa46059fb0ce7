// SPDX-License-Identifier: Apache-2.0
// The site in a folder. What is there and current is left alone; pages that are no more go.
#ifndef SITE_FOLDER_H
#define SITE_FOLDER_H

#include "site/site.h"

struct folder_report {
  int files, written, removed; // files: of the whole site
  int64_t bytes;               // of the whole site
  int64_t largest_bytes;       // of the largest page (HTML)
  char largest[ADDRESS_BYTES];
};

// Called now and then with how many of all files are done; NULL: never.
typedef void folder_progress(void *arg, int done, int total);

// Writes the site into `folder`, made if missing. manifest.txt there says which files are Assay's and what they were
// made of; a folder with other files and no manifest is refused (ASSAY_ERR_INVALID), and of one with a manifest nothing
// is removed but what it lists. No page leads to a file that is not whole, whatever ends the process; what is in them
// does not depend on the number of threads. ASSAY_ERR_IO, _BUSY (another process writes there).
enum assay_status folder_write(struct site *site, const char *folder, int threads, folder_progress *progress, void *arg,
                               struct folder_report *out, struct assay_error *err);

#endif
