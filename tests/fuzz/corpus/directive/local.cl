// assay: launch k grid=4 block=64 args=y, local(64 * 4), M, bf16(1.5), half(nan), ulong(3)
