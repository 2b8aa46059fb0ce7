// assay: launch ns::mm<128, 4, ns::t<unsigned int>, (3>2)> grid=ceil_div(N, 16),M,3 block=16,8 shared=M*4 \
//   cluster=2 cooperative programmatic carveout=50 \
// assay: args=x, w + M * 2, y+0, M, N, float(0.5), bool(K), {int(3), {y, char(1)}}
