// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "serve/server.h"

json_t *time_json(int64_t at_ns) {
  time_t seconds = (time_t)(at_ns / 1000000000);
  struct tm tm;
  char text[64];
  if (at_ns <= 0 || !gmtime_r(&seconds, &tm))
    return json_null();
  size_t n = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
  snprintf(text + n, sizeof text - n, ".%03dZ", (int)(at_ns / 1000000 % 1000));
  return json_string(text);
}

void server_log(const struct server *s, const char *event, json_t *fields) {
  if (fields && s->o->log) {
    json_object_set_new(fields, "at", time_json(clock_wall_ns()));
    json_object_set_new(fields, "event", json_string(event));
    char *text = json_dumps(fields, JSON_SORT_KEYS | JSON_COMPACT);
    if (text)
      s->o->log(s->o->log_arg, text);
    free(text);
  }
  json_decref(fields);
}
