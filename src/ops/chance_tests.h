// SPDX-License-Identifier: Apache-2.0
// Whether numbers look like independent draws of the uniform distribution over [0, 1), in rows that belong to seeds.
#ifndef OPS_CHANCE_TESTS_H
#define OPS_CHANCE_TESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

// X(enumerator, what is tested). The first two count what must not be; the others are minus the logarithm to base 10 of
// the chance that honest numbers look like this, where that is below 10^-9, else 0. Each is one test: where it looks at
// several places, the worst counts as often.
#define CHANCE_TESTS(X)                                                                                                \
  X(OUTSIDE, "how many numbers are not in [0, 1)")                                                                     \
  X(REPLAY, "how many numbers differ between rows of the same seed")                                                   \
  X(DISTANCE, "Kolmogorov and Smirnov's distance, by the bound of Dvoretzky, Kiefer, Wolfowitz and Massart")           \
  X(MEAN, "the mean")                                                                                                  \
  X(SPREAD, "the mean square distance from 1/2")                                                                       \
  X(HIGH_BITS, "chi-square of bits 1 to 8, too even as well as too uneven")                                            \
  X(NEXT_BITS, "of bits 9 to 16")                                                                                      \
  X(LOW_BITS, "of bits 17 to 20")                                                                                      \
  X(LOWEST_BITS, "of bits 21 to 23")                                                                                   \
  X(PAIRS, "of neighbours in 16 by 16 cells")                                                                          \
  X(TRIPLES, "of three neighbours in 8 by 8 by 8 cells")                                                               \
  X(REPEATS, "numbers that occur twice: too many, or too few for numbers of 24 bits")                                  \
  X(ACROSS, "rows of different seeds: correlation, shifted by up to four places")                                      \
  X(SAME, "rows of different seeds: equal numbers at the same place")                                                  \
  X(NEAR_LAGS, "correlation within a row at distances 1 to 32")                                                        \
  X(FAR_LAGS, "at distances 64, 128, ... 2^20")

enum chance_test {
#define CHANCE_ENUM(name, text) CHANCE_##name,
  CHANCE_TESTS(CHANCE_ENUM)
#undef CHANCE_ENUM
      CHANCE_COUNT
};

// A look at numbers, wherever they are (chance_reader). Rows are given by their number.
struct chance_cells {
  const int64_t *rows;
  int64_t n_rows;
  int tuple, skipped, bits; // `tuple` numbers side by side, of each the `bits` bits after the first `skipped`, are a
                            // cell's number
};
struct chance_products {
  int64_t a, b;          // rows
  const int64_t *shifts; // numbers of row a are multiplied by those of row b that are so many places on
  int n;                 // of shifts
};

// What goes through all numbers. Counts are exact; the order of a sum never changes. `of` is the reader's own.
struct chance_reader {
  // How many numbers, of all rows, are not in [0, 1).
  enum assay_status (*outside)(void *of, int64_t *count, struct assay_error *err);
  // At how many places two rows have different numbers.
  enum assay_status (*unlike)(void *of, int64_t a, int64_t b, int64_t *count, struct assay_error *err);
  // The others are asked only where no number is outside. How many tuples are in each of the cells.
  enum assay_status (*cells)(void *of, const struct chance_cells *look, int64_t *cells, struct assay_error *err);
  // The sum of all numbers less 1/2, and of the squares of that.
  enum assay_status (*moments)(void *of, const int64_t *rows, int64_t n_rows, double sums[2], struct assay_error *err);
  // Sums of products of numbers less 1/2, one for each shift.
  enum assay_status (*products)(void *of, const struct chance_products *look, double *sums, struct assay_error *err);
  // The first n numbers of these rows, one row after the other.
  enum assay_status (*first)(void *of, const int64_t *rows, int64_t n, double *out, struct assay_error *err);
};

struct chance_numbers {
  int64_t rows, columns;
  const int64_t *seeds; // of each row
  bool grid;            // numbers have 23 or 24 bits; else they are continuous, and bits from 17 on are not tested
  const struct chance_reader *reader;
  void *of;
};

// The chances of the tests as logarithms to base 10 (0 where there are too few numbers), and the first two counts.
enum assay_status chance_logs_of(const struct chance_numbers *u, double logs[CHANCE_COUNT], struct assay_error *err);

// The same as zeros, and what is not as it should be.
enum assay_status chance_test_of(const struct chance_numbers *u, int64_t out[CHANCE_COUNT], struct assay_error *err);

// Of numbers in the host's memory.
struct chance_rows {
  int64_t rows, columns;
  const double *u;      // rows * columns
  const int64_t *seeds; // of each row
  bool grid;            // as above
};

// chance_logs_of and chance_test_of. False: no memory.
bool chance_logs(const struct chance_rows *r, double logs[CHANCE_COUNT]);
bool chance_test(const struct chance_rows *r, int64_t out[CHANCE_COUNT]);

#endif
