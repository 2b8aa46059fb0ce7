// SPDX-License-Identifier: Apache-2.0
// A folder of pages that `assay report --html` made, served as it is. Its files are a table that is made by listing the
// folder: a request's path is compared with the table's names, and never becomes a file's name itself.
#ifndef SERVE_SITE_H
#define SERVE_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { SITE_MOST_FILES = 200000, SITE_MOST_DEPTH = 8, SITE_MOST_BYTES = 64 << 20 };

struct site;

// Lists the folder. Hidden files, links, and names with anything but letters, digits and "_.-" are left out.
// ASSAY_ERR_NOT_FOUND, ASSAY_ERR_LIMIT, ASSAY_ERR_NOMEM.
enum assay_status site_open(const char *folder, struct site **out, struct assay_error *err);
void site_close(struct site *s); // NULL is fine

// The type of the file that a target means ("/t/x.html?q=1"; "/" and "/x/" mean their index.html); NULL: none. A folder
// that was changed is listed again at most once a second. Any thread.
const char *site_type(struct site *s, const char *target, int64_t now_ns);
// Lists the folder again now. Requests go on with the old list meanwhile. Any thread.
void site_look(struct site *s);
// Its bytes (base_free). ASSAY_ERR_NOT_FOUND also where it is gone since.
enum assay_status site_read(struct site *s, const char *target, char **data, size_t *len, struct assay_error *err);

#endif
