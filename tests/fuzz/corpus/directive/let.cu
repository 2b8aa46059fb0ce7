// assay: let a = M > 3 ? ceil_div(M, 4) : -x.-1 % 7
// assay: let b = a * 0x1F / 1e-5 + sqrt(2) - min(1, 2, N) && !true || "x".count != w.rank
// assay: option --use_fast_math -DTILE=(128+1)
// assay: require M % 4 == 0 -- M must be a multiple of 4
// assay: task a/b
