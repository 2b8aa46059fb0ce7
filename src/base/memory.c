// SPDX-License-Identifier: Apache-2.0
#include "base/memory.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The first number in a file, in bytes; INT64_MAX for "max" and when there is none.
static int64_t read_number(const char *root, const char *folder, const char *name) {
  char path[PATH_MAX];
  long long value = 0;
  if ((size_t)snprintf(path, sizeof path, "%s%s/%s", root, folder, name) >= sizeof path)
    return INT64_MAX;
  FILE *f = fopen(path, "re");
  bool read = f && fscanf(f, "%lld", &value) == 1 && value >= 0;
  if (f)
    fclose(f);
  return read ? value : INT64_MAX;
}

// The value of "NAME: N kB" in /proc/meminfo or of "NAME N" in memory.stat, times `unit`; `missing` without such a
// line.
static int64_t read_field(const char *path, const char *name, int64_t unit, int64_t missing) {
  char line[256];
  size_t n = strlen(name);
  int64_t found = missing;
  FILE *f = fopen(path, "re");
  while (f && fgets(line, sizeof line, f))
    if (strncmp(line, name, n) == 0 && (line[n] == ' ' || line[n] == ':'))
      found = strtoll(line + n + 1, NULL, 10) * unit;
  if (f)
    fclose(f);
  return found;
}

struct limit {
  int64_t available, total;
};

// What the group in this folder leaves. File pages that nobody used lately are given back before anything is killed.
static void take_group(const char *root, const char *folder, bool v2, struct limit *l) {
  char path[PATH_MAX];
  int64_t most = read_number(root, folder, v2 ? "memory.max" : "memory.limit_in_bytes");
  int64_t used = read_number(root, folder, v2 ? "memory.current" : "memory.usage_in_bytes");
  if (most == INT64_MAX || used == INT64_MAX || most >= INT64_MAX / 2)
    return;
  int64_t given_back = 0;
  if ((size_t)snprintf(path, sizeof path, "%s%s/memory.stat", root, folder) < sizeof path)
    given_back = read_field(path, v2 ? "inactive_file" : "total_inactive_file", 1, 0);
  int64_t left = most - used + (given_back < used ? given_back : used);
  left = left < 0 ? 0 : left;
  l->total = most < l->total ? most : l->total;
  l->available = left < l->available ? left : l->available;
}

// A group and all above it, up to the mount point.
static void take_groups(const char *root, const char *mount, char *group, bool v2, struct limit *l) {
  char folder[PATH_MAX];
  for (;;) {
    if ((size_t)snprintf(folder, sizeof folder, "%s%s", mount, group) < sizeof folder)
      take_group(root, folder, v2, l);
    char *slash = strrchr(group, '/');
    if (!slash || !*group)
      return;
    *slash = '\0';
  }
}

// A limit of address space (ulimit -v): "Max address space  SOFT  HARD  bytes". "unlimited" is no number.
static void take_address_space(const char *root, struct limit *l) {
  static const char name[] = "Max address space";
  char path[PATH_MAX], line[256];
  long long most = -1;
  snprintf(path, sizeof path, "%s/proc/self/limits", root);
  FILE *f = fopen(path, "re");
  while (f && fgets(line, sizeof line, f))
    if (strncmp(line, name, sizeof name - 1) == 0 && sscanf(line + sizeof name - 1, "%lld", &most) != 1)
      most = -1;
  if (f)
    fclose(f);
  if (most < 0)
    return;
  snprintf(path, sizeof path, "%s/proc/self/status", root);
  int64_t left = most - read_field(path, "VmSize", 1024, 0);
  left = left < 0 ? 0 : left;
  l->total = most < l->total ? most : l->total;
  l->available = left < l->available ? left : l->available;
}

int64_t memory_available(const char *root, int64_t *total) {
  char path[PATH_MAX], line[PATH_MAX];
  struct limit l = {INT64_MAX, INT64_MAX};
  snprintf(path, sizeof path, "%s/proc/meminfo", root);
  l.total = read_field(path, "MemTotal", 1024, INT64_MAX);
  l.available = read_field(path, "MemAvailable", 1024, INT64_MAX);
  snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
  FILE *f = fopen(path, "re");
  while (f && fgets(line, sizeof line, f)) { // HIERARCHY:CONTROLLERS:GROUP
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
      continue;
    *controllers++ = '\0';
    *group++ = '\0';
    if (!*controllers)
      take_groups(root, "/sys/fs/cgroup", group, true, &l);
    else if (strstr(controllers, "memory"))
      take_groups(root, "/sys/fs/cgroup/memory", group, false, &l);
  }
  if (f)
    fclose(f);
  take_address_space(root, &l);
  *total = l.total;
  return l.available;
}
