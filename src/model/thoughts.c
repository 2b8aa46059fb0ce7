// SPDX-License-Identifier: Apache-2.0
#include "model/thoughts.h"

#include <string.h>

#include "model/bare.h"
#include "model/fence.h"

// How thoughts begin and end, by the templates of the models: DeepSeek, Qwen and others; Mistral; gpt-oss (OpenAI's
// Harmony); Kimi; Seed; Open-Thoughts.
static const char *const marks[][2] = {{"<think>", "</think>"},
                                       {"<thinking>", "</thinking>"},
                                       {"<thought>", "</thought>"},
                                       {"<reasoning>", "</reasoning>"},
                                       {"[THINK]", "[/THINK]"},
                                       {"<|channel|>analysis", "<|channel|>final<|message|>"},
                                       {"<|channel|>commentary", "<|channel|>final<|message|>"},
                                       {"\xe2\x97\x81think\xe2\x96\xb7", "\xe2\x97\x81/think\xe2\x96\xb7"},
                                       {"<seed:think>", "</seed:think>"},
                                       {"assistantcommentary", "assistantfinal"}, // Harmony without its marks
                                       {"<|begin_of_thought|>", "<|end_of_thought|>"}};
enum { N_MARKS = sizeof marks / sizeof *marks };

// Whether the text ends within a block of code.
static bool is_in_block(const char *text, size_t n) {
  struct fence_block b = {.closed = true};
  for (size_t at = 0; fence_next(text, n, &at, &b);)
    ;
  return !b.closed;
}

void thoughts_leave_out(const char *reply, size_t n, struct buf *out, size_t *unfinished) {
  size_t at = 0, opens[N_MARKS];
  *unfinished = n;
  for (int i = 0; i < N_MARKS; i++) {
    size_t close = bare_find(reply, n, 0, marks[i][1]);
    opens[i] = bare_find(reply, n, 0, marks[i][0]);
    if (close < n && opens[i] > close && close + strlen(marks[i][1]) > at)
      at = close + strlen(marks[i][1]);
  }
  while (at < n) {
    int first = 0;
    for (int i = 0; i < N_MARKS; i++) {
      if (opens[i] < at) // each part of the text is looked through once for each mark
        opens[i] = bare_find(reply, n, at, marks[i][0]);
      first = opens[i] < opens[first] ? i : first;
    }
    size_t open = opens[first];
    buf_append(out, reply + at, open - at);
    if (open == n)
      return;
    size_t close = bare_find(reply, n, open, marks[first][1]);
    if (close == n && is_in_block(reply, open)) { // a word of the program's
      buf_append(out, reply + open, n - open);
      return;
    }
    *unfinished = close == n ? open + strlen(marks[first][0]) : n;
    at = close == n ? n : close + strlen(marks[first][1]);
  }
}
