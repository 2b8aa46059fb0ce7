// assay: scratch wt half[M * N] align=1024
// assay: scratch part float[4*M]
// assay: launch t grid=1 block=32 args=w, wt
// assay: prepare
  //assay: fill part+M -inf count=2*M
// assay: copy part x+N count=N if=M>3
// assay: fill y -1
