// SPDX-License-Identifier: Apache-2.0
// The oracle's operators on a device: which function runs the rows of which operator. Rows with a scalar
// expression (op_def.expr) need no entry: gpu_pointwise_eval runs them all. The functions stand with their kernels
// (NAME.c, NAME.cu, NAME_args.h), and this is the one list of them. A test holds it against the operator table: every
// row has an implementation, and every entry has a row.
#ifndef ORACLE_CUDA_GPU_TABLE_H
#define ORACLE_CUDA_GPU_TABLE_H

#include "oracle/cuda/gpu.h"

// clang-format off
#define GPU_TABLE(X) \
  /* Casts */ \
  X("Cast", gpu_cast_eval) \
  X("CastLike", gpu_cast_eval) \
  X("BitCast", gpu_bitcast_eval) \
  /* Quantization */ \
  X("QuantizeLinear", gpu_quantize_eval) \
  X("DequantizeLinear", gpu_dequantize_eval) \
  X("DynamicQuantizeLinear", gpu_dynamic_quantize_eval) \
  /* Contractions */ \
  X("MatMul", gpu_matmul_eval) \
  X("MatMulInteger", gpu_matmul_integer_eval) \
  X("Gemm", gpu_gemm_eval) \
  X("Einsum", gpu_einsum_eval) \
  X("ai.assay.GroupedMatMul", gpu_grouped_eval) \
  X("Conv", gpu_conv_eval) \
  X("ConvInteger", gpu_host_eval) \
  X("ConvTranspose", gpu_conv_transpose_eval) \
  X("CausalConvWithState", gpu_causal_conv_eval) \
  X("Attention", gpu_attention_eval) \
  X("LinearAttention", gpu_linear_attention_eval) \
  X("RotaryEmbedding", gpu_rotary_eval) \
  X("NonMaxSuppression", gpu_suppression_eval) \
  /* Linear algebra and Fourier transforms, on the host */ \
  X("Det", gpu_host_eval) \
  X("ai.assay.Inverse", gpu_host_eval) \
  X("ai.assay.Solve", gpu_host_eval) \
  X("ai.assay.SolveTriangular", gpu_host_eval) \
  X("ai.assay.Cholesky", gpu_host_eval) \
  X("ai.assay.SlogDet", gpu_host_eval) \
  X("ai.assay.QR", gpu_host_eval) \
  X("ai.assay.SVD", gpu_host_eval) \
  X("ai.assay.Eig", gpu_host_eval) \
  X("ai.assay.LDL", gpu_host_eval) \
  X("ai.assay.LDLProduct", gpu_host_eval) \
  X("DFT", gpu_host_eval) \
  X("ai.assay.LU", gpu_host_eval) \
  X("ai.assay.SymmetricPower", gpu_host_eval) \
  X("ai.assay.SpectralRadius", gpu_host_eval) \
  X("ai.assay.LowRank", gpu_host_eval) \
  X("ai.assay.PseudoInverse", gpu_host_eval) \
  /* Numbers of chance */ \
  X("ai.assay.SeededUniform", gpu_seeded_uniform_eval) \
  X("ai.assay.SeededBinomial", gpu_seeded_binomial_eval) \
  X("ai.assay.BinomialPlace", gpu_binomial_place_eval) \
  X("ai.assay.ChanceTests", gpu_chance_tests_eval) \
  /* Recurrent networks */ \
  X("RNN", gpu_rnn_eval) \
  X("LSTM", gpu_lstm_eval) \
  X("GRU", gpu_gru_eval) \
  /* Pooling and resizing */ \
  X("MaxPool", gpu_max_pool_eval) \
  X("AveragePool", gpu_average_pool_eval) \
  X("LpPool", gpu_lp_pool_eval) \
  X("GlobalMaxPool", gpu_global_max_pool_eval) \
  X("GlobalAveragePool", gpu_global_average_pool_eval) \
  X("GlobalLpPool", gpu_global_lp_pool_eval) \
  X("Upsample", gpu_resize_eval) \
  X("Resize", gpu_resize_eval) \
  X("GridSample", gpu_grid_sample_eval) \
  /* Reductions, extremes and scans */ \
  X("ReduceSum", gpu_reduce_sum_eval) \
  X("ReduceMean", gpu_reduce_mean_eval) \
  X("ReduceMax", gpu_reduce_max_eval) \
  X("ReduceMin", gpu_reduce_min_eval) \
  X("ReduceProd", gpu_reduce_prod_eval) \
  X("ReduceL1", gpu_reduce_l1_eval) \
  X("ReduceL2", gpu_reduce_l2_eval) \
  X("ReduceSumSquare", gpu_reduce_sum_square_eval) \
  X("ReduceLogSum", gpu_reduce_log_sum_eval) \
  X("ReduceLogSumExp", gpu_reduce_log_sum_exp_eval) \
  X("ArgMax", gpu_arg_max_eval) \
  X("ArgMin", gpu_arg_min_eval) \
  X("TopK", gpu_top_k_eval) \
  X("CumSum", gpu_cum_sum_eval) \
  X("CumProd", gpu_cum_prod_eval) \
  /* Normalizations and losses */ \
  X("Softmax", gpu_softmax_eval) \
  X("LogSoftmax", gpu_log_softmax_eval) \
  X("Hardmax", gpu_hardmax_eval) \
  X("BatchNormalization", gpu_batch_norm_eval) \
  X("InstanceNormalization", gpu_instance_norm_eval) \
  X("GroupNormalization", gpu_group_norm_eval) \
  X("LayerNormalization", gpu_layer_norm_eval) \
  X("RMSNormalization", gpu_rms_norm_eval) \
  X("MeanVarianceNormalization", gpu_mvn_eval) \
  X("LpNormalization", gpu_lp_normalization_eval) \
  X("LRN", gpu_lrn_eval) \
  X("NegativeLogLikelihoodLoss", gpu_nll_eval) \
  X("SoftmaxCrossEntropyLoss", gpu_cross_entropy_eval) \
  /* Movement */ \
  X("Transpose", gpu_transpose_eval) \
  X("Expand", gpu_expand_eval) \
  X("Tile", gpu_tile_eval) \
  X("Concat", gpu_concat_eval) \
  X("Split", gpu_split_eval) \
  X("DepthToSpace", gpu_depth_to_space_eval) \
  X("SpaceToDepth", gpu_space_to_depth_eval) \
  X("Reshape", gpu_copy_eval) \
  X("Flatten", gpu_copy_eval) \
  X("Squeeze", gpu_copy_eval) \
  X("Unsqueeze", gpu_copy_eval) \
  X("Dropout", gpu_dropout_eval) \
  X("Slice", gpu_slice_eval) \
  X("Pad", gpu_pad_eval) \
  X("Trilu", gpu_trilu_eval) \
  X("ReverseSequence", gpu_reverse_eval) \
  /* Gathering and scattering */ \
  X("Gather", gpu_gather_eval) \
  X("GatherElements", gpu_gather_elements_eval) \
  X("GatherND", gpu_gather_nd_eval) \
  X("Compress", gpu_compress_eval) \
  X("NonZero", gpu_nonzero_eval) \
  X("OneHot", gpu_one_hot_eval) \
  X("Scatter", gpu_scatter_elements_eval) \
  X("ScatterElements", gpu_scatter_elements_eval) \
  X("ScatterND", gpu_scatter_nd_eval) \
  /* Constants and shapes */ \
  X("Constant", gpu_constant_eval) \
  X("ConstantOfShape", gpu_constant_of_shape_eval) \
  X("Shape", gpu_shape_eval) \
  X("Size", gpu_size_eval) \
  X("EyeLike", gpu_eye_eval) \
  X("Range", gpu_range_eval) \
  /* Bits of integers */ \
  X("BitShift", gpu_bit_shift_eval) \
  X("BitwiseAnd", gpu_bitwise_and_eval) \
  X("BitwiseOr", gpu_bitwise_or_eval) \
  X("BitwiseXor", gpu_bitwise_xor_eval) \
  X("BitwiseNot", gpu_bitwise_not_eval)
// clang-format on

#define GPU_DECLARATION(name, function) gpu_eval_fn function;
GPU_TABLE(GPU_DECLARATION)
#undef GPU_DECLARATION

// Any row with a scalar expression.
gpu_eval_fn gpu_pointwise_eval;

// The list, for tests.
struct gpu_entry {
  const char *name; // with the domain in front where it is not ONNX's
  gpu_eval_fn *eval;
};
const struct gpu_entry *gpu_entries(int *count);
bool gpu_entry_is_for(const struct gpu_entry *e, const struct op_def *op);

#endif
