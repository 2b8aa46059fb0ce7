// Other code in the process (catalogue 59, 84): the loader works; there is nothing in reach that knows the answers.
// assay: task kernelbench/1/1
// assay: expect pass
// assay: twin MATH expect pass -- libm by dlopen
// assay: twin NEXT expect pass -- the next clock_gettime in the chain, by RTLD_NEXT
// assay: twin GLOBAL expect pass -- makes its own symbols global, so that later libraries would see them
// assay: twin OWN_LIBRARY expect crashed -- loads a library that it has just written
// assay: twin BLAS expect pass|late_work -- whatever BLAS there is; some leave their threads spinning
// assay: twin RUNNER_SYMBOLS expect pass -- looks for the runner's state by name; it has no exported names
// assay: twin CODE expect pass -- machine code that it makes itself
#define _GNU_SOURCE
#include <assay/candidate.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

typedef void gemm_fn(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);

static void loops(const float *a, const float *b, float *y, int64_t n) {
  memset(y, 0, (size_t)(n * n) * sizeof *y);
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = 0; k < n; k++)
      for (int64_t j = 0; j < n; j++)
        y[i * n + j] += a[i * n + k] * b[k * n + j];
}

void assay_kernel(const struct assay_args *args) {
  const float *a = args->inputs[0].data, *b = args->inputs[1].data;
  float *y = args->outputs[0].data;
  int64_t n = args->inputs[0].dims[0];
#if defined(MATH)
  double (*root)(double) = (double (*)(double))dlsym(dlopen("libm.so.6", RTLD_NOW), "sqrt");
  if (root(4) != 2)
    abort();
#elif defined(NEXT)
  struct timespec t;
  int (*clock)(clockid_t, struct timespec *) = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  clock(CLOCK_MONOTONIC, &t);
#elif defined(GLOBAL)
  Dl_info self;
  dladdr((void *)(uintptr_t)assay_kernel, &self);
  dlopen(self.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
#elif defined(OWN_LIBRARY)
  static const char header[64] = "\177ELF";
  int fd = open("own.so", O_WRONLY | O_CREAT, 0700);
  if (fd < 0 || write(fd, header, sizeof header) < 0 || !dlopen("./own.so", RTLD_NOW))
    abort();
#elif defined(BLAS)
  static void *library;
  static gemm_fn *sgemm;
  static int looked;
  if (!looked++ && (library = dlopen("libblas.so.3", RTLD_NOW)))
    sgemm = (gemm_fn *)dlsym(library, "cblas_sgemm");
  if (sgemm) {
    sgemm(101, 111, 111, (int)n, (int)n, (int)n, 1, a, (int)n, b, (int)n, 0, y, (int)n);
    return;
  }
#elif defined(RUNNER_SYMBOLS)
  if (dlsym(RTLD_DEFAULT, "state") || dlsym(RTLD_DEFAULT, "call_kernel"))
    abort();
#elif defined(CODE) && defined(__x86_64__)
  static const unsigned char answer[] = {0xb8, 42, 0, 0, 0, 0xc3};
  unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(code, answer, sizeof answer);
  int (*function)(void) = (int (*)(void))(uintptr_t)code;
  if (function() != 42)
    abort();
  munmap(code, 4096);
#endif
  loops(a, b, y, n);
}
