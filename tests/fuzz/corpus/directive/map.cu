// assay: scratch a bf16[M * 128]
// assay: tensor_map ta of=a + 128 type=bf16 dims=128, M - 1 strides=128 box=64,32 swizzle=128 l2=256 oob=nan interleave=none element_strides=1,1
// assay: launch k grid=1 block=1 args=ta, null
