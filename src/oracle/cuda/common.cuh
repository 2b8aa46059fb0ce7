// Device code that every family of the oracle shares: typed reads, noise and stochastic rounding (as ops/arith.h),
// indices. Stands behind device/dialect.h and in front of a family's text.

// As enum gpu_storage.
#define STORAGE_F64 0
#define STORAGE_I64 1
#define STORAGE_F32 2
#define STORAGE_F16 3
#define STORAGE_BF16 4
#define STORAGE_I32 5
#define STORAGE_U8 6
#define STORAGE_I8 7

// A tensor that a kernel reads: its address and how its elements lie.
struct gpu_ref {
  uint64_t data;
  int32_t storage;
  int32_t pad;
};

// struct arith, flattened for a kernel's argument.
struct gpu_arith {
  int32_t exact, bits, min_exponent, product_bits, block, pad;
  double max;
  uint64_t key;
};
