// SPDX-License-Identifier: Apache-2.0
// Private to src/model: what servers say of their limits, in headers and in words.
#ifndef MODEL_LIMITS_H
#define MODEL_LIMITS_H

#include <curl/curl.h>
#include <stdint.h>

// How long until a limit is over: "6m0s", "1.5s", "20ms" (OpenAI), "2026-11-23T20:00:00Z" (Anthropic), with the wall
// clock's time now. 0: it is over, or the text says nothing.
int64_t limits_wait_ns(const char *reset, int64_t wall_ns);

// What an error says of it in words, where headers do not: "Please try again in 976ms" (OpenAI), "retry after 24
// seconds" (Azure), "retryDelay": "34s" (Gemini). 0: nothing.
int64_t limits_in_words_ns(const char *body);

// How long the answer asks to send nothing more: until the last of the limits is over of which nothing remains. 0:
// something remains of all.
int64_t limits_of(CURL *answer, int64_t wall_ns);

#endif
