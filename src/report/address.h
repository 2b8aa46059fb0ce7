// SPDX-License-Identifier: Apache-2.0
// Where the pages of the site are: the only way to write an address. Names of strangers (tasks, runs, devices) become
// names of files here, and nowhere else.
#ifndef REPORT_ADDRESS_H
#define REPORT_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

// X(enumerator, folder, how many names it has). Places without a folder have a fixed file.
#define ADDRESS_PLACES(X)                                                                                              \
  X(INDEX, "index", 0)                                                                                                 \
  X(SEARCH, "search", 0)                                                                                               \
  X(CHEATS, "cheats", 0)                                                                                               \
  X(READ, "read", 0)                                                                                                   \
  X(LEVEL, "s", 1)  /* of a suite: "kernelbench/1" */                                                                  \
  X(TASK, "t", 1)   /* "kernelbench/1/19" */                                                                           \
  X(KERNEL, "k", 1) /* 16 hexadecimal digits: what was judged, and how */                                              \
  X(METHOD, "m", 1) /* a run */                                                                                        \
  X(DEVICE, "d", 1)                                                                                                    \
  X(SWEEP, "c", 1)      /* makers side by side: the name that their runs begin with */                                 \
  X(PAIR, "r", 2)       /* two runs */                                                                                 \
  X(ASSET, "assets", 1) /* a file of ours, its name as it is */                                                        \
  X(SELF, "", 0)        /* the page itself: a fragment of it */
enum address_place {
#define ADDRESS_PLACE_ID(id, folder, names) ADDRESS_##id,
  ADDRESS_PLACES(ADDRESS_PLACE_ID)
#undef ADDRESS_PLACE_ID
      ADDRESS_N_PLACES
};

// X(enumerator, ending). Data of a page lie under data/, with the page's folder and name.
#define ADDRESS_FORMATS(X)                                                                                             \
  X(HTML, "html")                                                                                                      \
  X(CSV, "csv")                                                                                                        \
  X(JSON, "json")                                                                                                      \
  X(JS, "js")
enum address_format {
#define ADDRESS_FORMAT_ID(id, ending) ADDRESS_AS_##id,
  ADDRESS_FORMATS(ADDRESS_FORMAT_ID)
#undef ADDRESS_FORMAT_ID
};

// Strings are borrowed; NULL where there is none.
struct address {
  enum address_place place;
  enum address_format format;
  const char *name, *other; // as many as the place has
  int page;                 // of a list that is spread over pages: 0 and 1 are the first
  const char *query;        // "?q=" and this text
  const char *fragment;     // "#" and this text
};

enum { ADDRESS_BYTES = 256 };

// The file below the site's root, "t/kernelbench-1-19.html". Names of lower-case letters, digits, '_' and '/' are
// readable in it; others are cut to such letters and carry a hash, so that two names never share a file. Only
// [a-z0-9._/-], never "..", never a '/' at an end.
const char *address_file(const struct address *r, char text[ADDRESS_BYTES]);

// How many folders deep that file lies.
int address_folders(const struct address *r);

#endif
