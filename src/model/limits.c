// SPDX-License-Identifier: Apache-2.0
#include "model/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// A number with its unit, at *text, which moves behind them; -1: there is none.
static double take_part_ns(const char **text) {
  static const struct {
    const char *name;
    double ns;
  } units[] = {{"ms", 1e6}, {"min", 60e9}, {"h", 3600e9}, {"m", 60e9}, {"s", 1e9}}; // "ms" before "m"
  char *end;
  double n = strtod(*text, &end);
  if (end == *text || !(n >= 0))
    return -1;
  end += *end == ' ';
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (strncmp(end, units[i].name, strlen(units[i].name)) == 0) {
      *text = end + strlen(units[i].name);
      return n * units[i].ns;
    }
  return -1;
}

static int64_t whole_ns(double ns) {
  return ns > 0 && ns < 1e18 ? (int64_t)ns : 0;
}

// "1h2m3.5s", "20ms"; 0 where it is no duration.
static int64_t duration_ns(const char *text) {
  double all = 0;
  while (*text) {
    double part = take_part_ns(&text);
    if (part < 0)
      return 0;
    all += part;
  }
  return whole_ns(all);
}

int64_t limits_in_words_ns(const char *body) {
  static const char *const before[] = {"try again in ", "retry in ", "retry after ", "\"retryDelay\": \"",
                                       "\"retryDelay\":\""};
  for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
    const char *at = strcasestr(body, before[i]);
    double all = 0, part = 0;
    for (at = at ? at + strlen(before[i]) : ""; part >= 0 && *at >= '0' && *at <= '9'; all += part > 0 ? part : 0)
      part = take_part_ns(&at); // "24 seconds" is 24 s, and the rest of a word
    if (whole_ns(all) > 0)
      return whole_ns(all);
  }
  return 0;
}

int64_t limits_wait_ns(const char *reset, int64_t wall_ns) {
  struct tm date = {0};
  const char *end = strptime(reset, "%Y-%m-%dT%H:%M:%S", &date);
  if (!end)
    return duration_ns(reset);
  int64_t at_ns = (int64_t)timegm(&date) * 1000000000;
  return at_ns > wall_ns ? at_ns - wall_ns : 0;
}

int64_t limits_of(CURL *answer, int64_t wall_ns) {
  // Of what, and what stands after the vendor's prefix.
  static const struct {
    const char *remaining, *reset;
  } names[] = {
      {"x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"},
      {"x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"},
      {"anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"},
      {"anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"},
      {"anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"},
      {"anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"},
  };
  int64_t most = 0;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    struct curl_header *h;
    char reset[64], *end;
    if (curl_easy_header(answer, names[i].reset, 0, CURLH_HEADER, -1, &h) != CURLHE_OK)
      continue;
    snprintf(reset, sizeof reset, "%s", h->value); // it lives until the next question
    if (curl_easy_header(answer, names[i].remaining, 0, CURLH_HEADER, -1, &h) != CURLHE_OK ||
        strtoll(h->value, &end, 10) > 0 || end == h->value)
      continue;
    int64_t wait = limits_wait_ns(reset, wall_ns);
    most = wait > most ? wait : most;
  }
  return most;
}
