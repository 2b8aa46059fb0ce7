// SPDX-License-Identifier: Apache-2.0
// Which resource a request means. Paths of files are never made of URLs.
#ifndef SERVE_ROUTE_H
#define SERVE_ROUTE_H

#include <stdbool.h>

#include "store/queue.h"

enum { METHOD_GET = 1, METHOD_POST = 2, METHOD_DELETE = 4 }; // HEAD is GET

// X(ID, pattern, methods); ? stands for an identity.
#define SERVE_ROUTES(X)                                                                                                \
  X(INDEX, "/", METHOD_GET)                                                                                            \
  X(QUEUE, "/queue", METHOD_GET)                                                                                       \
  X(HEALTH, "/healthz", METHOD_GET)                                                                                    \
  X(READY, "/readyz", METHOD_GET)                                                                                      \
  X(METRICS, "/metrics", METHOD_GET)                                                                                   \
  X(OPENAPI, "/v1/openapi.json", METHOD_GET)                                                                           \
  X(JOBS, "/v1/jobs", METHOD_GET | METHOD_POST)                                                                        \
  X(JOB, "/v1/jobs/?", METHOD_GET | METHOD_DELETE)                                                                     \
  X(EVENTS, "/v1/jobs/?/events", METHOD_GET)                                                                           \
  X(VERDICT, "/v1/verdicts/?", METHOD_GET)                                                                             \
  X(SITE, "page", METHOD_GET) /* a file of --site: no target matches this */

enum route {
#define ROUTE_ID(id, pattern, methods) ROUTE_##id,
  SERVE_ROUTES(ROUTE_ID)
#undef ROUTE_ID
      ROUTE_NONE,
  N_ROUTES
};

// The resource of a request's target as it was sent, query included, and the identity in it. A target with anything
// but letters, digits and "-._~/" in its path (so no "%", decoded nowhere) is ROUTE_NONE.
enum route route_find(const char *target, char identity[QUEUE_IDENTITY]);
const char *route_name(enum route r); // its pattern, for logs and metrics: "/v1/jobs/?"; "other"
int route_methods(enum route r);
const char *route_allow(enum route r); // "GET, HEAD, POST"

#endif
