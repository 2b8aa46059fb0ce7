// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 64 };

static int least(int a, int b) {
  return a < b ? a : b;
}

static bool same(char a, char b) {
  return tolower((unsigned char)a) == tolower((unsigned char)b);
}

int nearest_distance(const char *a, const char *b, int most) {
  size_t n = strnlen(a, LONGEST), m = strnlen(b, LONGEST);
  int row[3][LONGEST + 1];
  if (n == LONGEST || m == LONGEST)
    return strcmp(a, b) == 0 ? 0 : most;
  if ((n > m ? n - m : m - n) >= (size_t)most) // so many letters are missing
    return most;
  for (size_t j = 0; j <= m; j++)
    row[0][j] = (int)j;
  for (size_t i = 1; i <= n; i++) {
    int *now = row[i % 3], *before = row[(i + 2) % 3], *older = row[(i + 1) % 3];
    now[0] = (int)i;
    for (size_t j = 1; j <= m; j++) {
      now[j] = least(before[j - 1] + !same(a[i - 1], b[j - 1]), least(before[j], now[j - 1]) + 1);
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
        now[j] = least(now[j], older[j - 2] + 1);
    }
  }
  return least(row[n % 3][m], most);
}

static bool begins(const char *name, const char *word) {
  while (*word && same(*name, *word))
    name++, word++;
  return !*word;
}

// A third of the letters may be wrong, and one of short names; of a single letter none. Three letters or more may be
// the beginning of a name: that is as far from it as may be.
void nearest_offer(struct nearest *n, const char *name) {
  size_t length = strlen(n->word);
  int most = (int)(length < 2 ? 0 : length < 6 ? 1 : length / 3);
  int distance = nearest_distance(n->word, name, most + 1);
  if (length >= 3 && distance > most && begins(name, n->word))
    distance = most;
  if (distance > most || (n->name && distance >= n->distance))
    return;
  n->name = name;
  n->distance = distance;
}

const char *nearest_text(const struct nearest *n, char *text, size_t size) {
  text[0] = '\0';
  if (n->name)
    snprintf(text, size, "; did you mean %s?", n->name);
  return text;
}
