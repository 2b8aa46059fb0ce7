// SPDX-License-Identifier: Apache-2.0
#include "report/address.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"

static const struct {
  const char *folder;
  int names;
} places[] = {
#define ADDRESS_PLACE_ROW(id, folder, names) {folder, names},
    ADDRESS_PLACES(ADDRESS_PLACE_ROW)
#undef ADDRESS_PLACE_ROW
};

static const char *const endings[] = {
#define ADDRESS_ENDING(id, ending) ending,
    ADDRESS_FORMATS(ADDRESS_ENDING)
#undef ADDRESS_ENDING
};

// Names up to this length may be their file's; of others as much is shown.
enum { PLAIN_BYTES = 64, SHOWN_BYTES = 40, HASH_DIGITS = 12, SLUG_BYTES = PLAIN_BYTES + HASH_DIGITS + 2 };

static bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

// Letters, digits and '_' with single '/' between them: distinct names of this kind have distinct slugs.
static bool is_plain_name(const char *name) {
  size_t n = strlen(name);
  if (n == 0 || n > PLAIN_BYTES || name[0] == '/' || name[n - 1] == '/' || strstr(name, "//"))
    return false;
  for (size_t i = 0; i < n; i++)
    if (!is_plain(name[i]) && name[i] != '/')
      return false;
  return true;
}

// "kernelbench-1-19"; "relu-cu-0123456789ab" for "ReLU.cu".
static void slug(const char *name, char out[SLUG_BYTES]) {
  bool plain = is_plain_name(name);
  size_t used = 0, most = plain ? PLAIN_BYTES : SHOWN_BYTES;
  for (const char *c = name; *c && used < most; c++) {
    char letter = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
    if (is_plain(letter))
      out[used++] = letter;
    else if (used && out[used - 1] != '-')
      out[used++] = '-';
  }
  while (used && out[used - 1] == '-')
    used--;
  out[used] = '\0';
  if (!plain) {
    char hex[HASH_HEX_BYTES];
    hash_sha256_hex(name, strlen(name), hex);
    snprintf(out + used, SLUG_BYTES - used, "%s%.*s", used ? "-" : "", HASH_DIGITS, hex);
  }
}

const char *address_file(const struct address *r, char text[ADDRESS_BYTES]) {
  const char *folder = places[r->place].folder;
  char name[SLUG_BYTES] = "", other[SLUG_BYTES + 2] = "", page[16] = "";
  assert(places[r->place].names < 1 || r->name);
  assert(places[r->place].names < 2 || r->other);
  if (r->place == ADDRESS_ASSET) {
    snprintf(text, ADDRESS_BYTES, "%s/%s", folder, r->name);
    return text;
  }
  if (places[r->place].names > 0)
    slug(r->name, name);
  if (places[r->place].names > 1) {
    memcpy(other, "..", 2);
    slug(r->other, other + 2);
  }
  if (r->page > 1)
    snprintf(page, sizeof page, ".%d", r->page);
  // A site has half a million links: no format.
  const char *const parts[] = {r->format == ADDRESS_AS_HTML ? "" : "data/",
                               folder,
                               name[0] ? "/" : "",
                               name,
                               other,
                               page,
                               ".",
                               endings[r->format]};
  size_t used = 0;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    size_t n = strlen(parts[i]);
    n = n < ADDRESS_BYTES - 1 - used ? n : ADDRESS_BYTES - 1 - used;
    memcpy(text + used, parts[i], n);
    used += n;
  }
  text[used] = '\0';
  return text;
}

int address_folders(const struct address *r) {
  char text[ADDRESS_BYTES];
  int n = 0;
  if (r->place == ADDRESS_SELF)
    return 0;
  for (const char *c = address_file(r, text); *c; c++)
    n += *c == '/';
  return n;
}
