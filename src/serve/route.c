// SPDX-License-Identifier: Apache-2.0
#include "serve/route.h"

#include <string.h>

static const struct {
  const char *pattern;
  int methods;
} routes[] = {
#define ROUTE_ROW(id, pattern, methods) {pattern, methods},
    SERVE_ROUTES(ROUTE_ROW)
#undef ROUTE_ROW
        {"other", 0},
};

enum { MOST_PATH = 256 };
static const char PLAIN[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";

// Whether path[0, n) is the pattern; the identity is copied.
static bool matches(const char *pattern, const char *path, size_t n, char identity[QUEUE_IDENTITY]) {
  size_t at = 0;
  for (const char *p = pattern; *p; p++) {
    if (*p != '?') {
      if (at == n || path[at++] != *p)
        return false;
      continue;
    }
    size_t digits = strspn(path + at, "0123456789abcdef");
    if (digits != QUEUE_IDENTITY - 1 || at + digits > n)
      return false;
    memcpy(identity, path + at, digits);
    identity[digits] = '\0';
    at += digits;
  }
  return at == n;
}

enum route route_find(const char *target, char identity[QUEUE_IDENTITY]) {
  size_t n = strcspn(target, "?");
  identity[0] = '\0';
  if (target[0] != '/' || n > MOST_PATH || strspn(target, PLAIN) < n)
    return ROUTE_NONE;
  for (int i = 0; i < ROUTE_NONE; i++)
    if (matches(routes[i].pattern, target, n, identity))
      return (enum route)i;
  return ROUTE_NONE;
}

const char *route_name(enum route r) {
  return routes[r].pattern;
}

int route_methods(enum route r) {
  return routes[r].methods;
}

const char *route_allow(enum route r) {
  static const char *const names[] = {"",       "GET, HEAD",         "POST",         "GET, HEAD, POST",
                                      "DELETE", "GET, HEAD, DELETE", "POST, DELETE", "GET, HEAD, POST, DELETE"};
  return names[routes[r].methods];
}
