// SPDX-License-Identifier: Apache-2.0
// Streams of random numbers that are derived from a judgement's seed (only STREAM_CHECKS) or from its secret (all
// others). Each number names one, for ever: stored judgements are repeated.
#ifndef JUDGE_STREAMS_H
#define JUDGE_STREAMS_H

enum {
  STREAM_CHECKS = 1,
  STREAM_TIMED,
  STREAM_SECRET,
  STREAM_PROBE_SHAPES,
  STREAM_POISON,
  STREAM_BANDS,
  STREAM_SHAPES,
  STREAM_JUDGED,
  STREAM_CALIBRATION,
  STREAM_PROBE_CALLS,
  STREAM_PLACES
};

#endif
