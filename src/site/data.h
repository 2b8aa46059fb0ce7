// Within src/site: values in the pages' data.
#ifndef SITE_DATA_H
#define SITE_DATA_H

#include "base/buf.h"

// A JSON string that is also safe within a script: nothing in it ends a script or a line of it.
void data_json_text(struct buf *out, const char *s);
void data_json_number(struct buf *out, double x); // null for what is no number

#endif
