// SPDX-License-Identifier: Apache-2.0
// What the kernels of conv.cu are given. Read by both sides, as common_args.h.
#ifndef ORACLE_CUDA_CONV_ARGS_H
#define ORACLE_CUDA_CONV_ARGS_H

#define CONV_DIMS 6 // spatial dimensions, right-aligned in the arrays below; missing ones have extent 1
#define CONV_FEW 4  // channels that the direct way takes

// A set of outputs that see the same taps (ops/window.h). A column is a position in the set, of one image: image *
// positions + position.
struct conv_set {
  int64_t count[CONV_DIMS], start[CONV_DIMS], step[CONV_DIMS], in_step[CONV_DIMS], in[CONV_DIMS], out[CONV_DIMS];
  int64_t low[CONV_DIMS], high[CONV_DIMS]; // least and greatest offset of any tap
  uint64_t offsets;                        // int64 [taps][CONV_DIMS]: where a tap reads
  uint64_t flat;                           // int64 [taps]: the same as one offset in a plane
  uint64_t inside[CONV_DIMS];              // int64 [count]: taps along the dimension that read inside the input
  int64_t positions, taps, in_size, out_size;
  int64_t columns;                // batch * positions
  int64_t channels, all_channels; // of the input: in a group, in all
  int32_t n, pad;
};

// The windows' contents as panels of columns: to[group][panel][channel * taps + tap][column].
struct conv_pack_args {
  struct conv_set set;
  struct gpu_ref x;
  uint64_t to;
  int64_t first_group, groups, first_column, columns;
  int64_t panels; // of a group
  int32_t width, pad;
};

// Few channels, straight from the input: y[split][group][i][column], and t2 where it is not 0. Weights packed as
// w[group][channel * taps + tap][CONV_FEW]; a split takes `depth` input channels.
struct conv_direct_args {
  struct conv_set set;
  struct gpu_ref x;
  uint64_t w, y, t2;
  int64_t first_group, groups, first_column, columns;
  int64_t m, splits, depth;
};

// The squares of each kernel's taps added up: to[group][i][channel].
struct conv_norms_args {
  struct gpu_ref w;
  uint64_t to;
  int64_t groups, m, channels, kernel;
  int32_t transposed, pad;
};

// Parts into results: rounded sums, plus the bias, where they belong in out. With `norms` (not 0) sums err by
// arith_tile_variance (ops/arith.h) at least, which is tile_scale times the sum over channels of norms and squares of
// x.
struct conv_finish_args {
  struct conv_set set;
  struct gpu_arith arith;
  struct gpu_start start;     // the bias among it
  struct gpu_ref bias;        // data 0: none
  uint64_t y, t2, out, sigma; // t2, sigma may be 0
  int64_t splits, m, all_m;   // channels of a group of the output, of all
  int64_t first_group, groups, first_column, columns;
  struct gpu_ref x;
  uint64_t norms;
  double tile_scale;
};

#endif
