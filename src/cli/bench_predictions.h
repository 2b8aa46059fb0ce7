// SPDX-License-Identifier: Apache-2.0
// Private to `assay bench`: candidates as KernelBench-X keeps them, by their tasks' names and in files of predictions.
#ifndef CLI_BENCH_PREDICTIONS_H
#define CLI_BENCH_PREDICTIONS_H

#include "cli/bench.h"

// One candidate of a file of predictions.
struct bench_prediction {
  const char *path;  // where its code lies now, a file of the cache
  const char *label; // "predictions.jsonl:12", as stored
  const char *task;
};

// Whether the file's name says that it has a prediction a line.
bool bench_is_predictions(const char *path);

// The name of the task among tasks[0..n) (files below `root`) whose file has this stem; letters' case makes no
// difference, and folders before the stem and the ending .py none either: "gelu", "Math/gelu.py". False: there is none.
bool bench_task_of_stem(const char *root, char *const *tasks, int n, const char *stem, char *name, size_t size);

// Calls take() for every candidate of the file, in its order, with what lies in the bench's arena. A line that cannot
// be one is left unjudged, with the reason. An error: the file itself cannot be read, or memory, or what take()
// returns.
typedef enum assay_status bench_take_prediction(struct bench *b, const struct bench_prediction *p,
                                                struct assay_error *err);
enum assay_status bench_each_prediction(struct bench *b, const char *path, bench_take_prediction *take,
                                        struct assay_error *err);

#endif
