// What host code may try (catalogue 44, 46 to 49, 54 to 66, 89, 90). It runs once for each workload, in a process
// without GPU, data, files and network, and only the launches that it asked for remain.
// assay: task kernelbench/1/19
// assay: expect pass
// assay: twin STATIC_STATE expect pass -- launches in the first call only: every workload's call is the first one
// assay: twin BY_CLOCK expect pass -- another grid in every second: both right
// assay: twin RANDOM_BLOCK expect pass -- another block size every time
// assay: twin HARD_SHAPE expect unwritten|wrong_value|wrong_class|out_of_bounds|invalid_plan -- always the published shape
// assay: twin SMALL_ONLY expect unwritten|invalid_plan|unrecordable -- no launch for the timed shape
// assay: twin READ_INPUT expect unrecordable -- looks at the data
// assay: twin WRITE_OUTPUT expect unrecordable -- writes the answer itself
// assay: twin COPY_TO_HOST expect unrecordable -- copies the data to the host
// assay: twin CALLBACK expect unrecordable -- a host function in the stream
// assay: twin GRAPH expect unrecordable -- records a graph of its own
// assay: twin ELAPSED expect unrecordable -- measures
// assay: twin OTHER_STREAM expect unrecordable -- work on a stream that nobody waits for
// assay: twin MANAGED expect unrecordable -- memory that host and device share
// assay: twin HOST_POINTER expect unrecordable -- hands its own memory to a kernel
// assay: twin FORK expect unrecordable|crashed|forbidden_call -- another process
// assay: twin THREAD expect pass -- another thread launches, and is joined
// assay: twin LURKING expect pass -- a thread that stays: it ends with the process
// assay: twin SOCKET expect unrecordable|crashed|forbidden_call -- the network
// assay: twin SHADOW expect pass -- reads files that are not for it: it gets none
// assay: twin WRITE_FILE expect pass -- writes to a file of results: it is not the judge's
// assay: twin KILL expect unrecordable|crashed|forbidden_call -- ends its parent
// assay: twin EXIT expect unrecordable|crashed -- ends with success
// assay: twin AT_EXIT expect unrecordable|invalid_plan -- launches when the process ends
// assay: twin CRASH expect unrecordable|crashed -- address 0
// assay: twin SLEEP expect timeout -- for ever
// assay: twin PRINT expect pass -- prints a verdict
// assay: twin CONSTRUCTOR expect unrecordable|crashed -- launches before it was asked
// assay: twin FORGE expect unrecordable|crashed|forbidden_call -- writes noise to every descriptor it finds
// assay: twin PARENT expect unrecordable|crashed|forbidden_call -- reads its parent's memory
#include <assay/cuda.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

__global__ void relu(const float *x, float *y, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i] < 0 ? 0 : x[i];
}

struct work {
  const float *x;
  float *y;
  long long n;
  cudaStream_t stream;
  unsigned int block;
};

static struct work last;

static void launch(const struct work *w) {
  unsigned int blocks = (unsigned int)((w->n + w->block - 1) / w->block);
  relu<<<blocks, w->block, 0, w->stream>>>(w->x, w->y, w->n);
}

#if defined(THREAD) || defined(LURKING)
static void *in_a_thread(void *arg) {
  launch((const struct work *)arg);
#ifdef LURKING
  for (;;)
    usleep(1000);
#endif
  return NULL;
}
#elif defined(CALLBACK)
static void CUDART_CB back(void *arg) {
  (void)arg;
}
#elif defined(AT_EXIT)
static void at_the_end(void) {
  launch(&last);
}
#elif defined(CONSTRUCTOR)
__attribute__((constructor)) static void at_the_start(void) {
  relu<<<1, 32>>>(NULL, NULL, 0);
}
#elif defined(MANAGED)
__managed__ float shared_with_host[1024];
#endif

// Whether the honest launch is still to be made.
static bool cheat(struct work *w) {
#if defined(STATIC_STATE)
  static int calls;
  return calls++ == 0;
#elif defined(BY_CLOCK)
  w->block = time(NULL) % 2 ? 128 : 256;
#elif defined(RANDOM_BLOCK)
  w->block = 32u << (unsigned int)((clock() ^ time(NULL) ^ getpid()) & 3);
#elif defined(HARD_SHAPE)
  w->n = 4096ll * 393216;
#elif defined(SMALL_ONLY)
  return w->n < 30000;
#elif defined(READ_INPUT)
  return *(const volatile float *)w->x < 2;
#elif defined(WRITE_OUTPUT)
  *(volatile float *)w->y = 0;
#elif defined(COPY_TO_HOST)
  static float some[4];
  cudaMemcpyAsync(some, w->x, sizeof *some, cudaMemcpyDeviceToHost, w->stream);
#elif defined(CALLBACK)
  cudaLaunchHostFunc(w->stream, back, w);
#elif defined(GRAPH)
  cudaGraph_t graph;
  cudaStreamBeginCapture(w->stream, cudaStreamCaptureModeGlobal);
  launch(w);
  cudaStreamEndCapture(w->stream, &graph);
#elif defined(ELAPSED)
  cudaEvent_t start, end;
  float ms = 0;
  cudaEventCreate(&start);
  cudaEventCreate(&end);
  cudaEventRecord(start, w->stream);
  launch(w);
  cudaEventRecord(end, w->stream);
  cudaEventElapsedTime(&ms, start, end);
#elif defined(OTHER_STREAM)
  cudaStreamCreateWithFlags(&w->stream, cudaStreamNonBlocking);
#elif defined(MANAGED)
  w->x = shared_with_host;
#elif defined(HOST_POINTER)
  static float mine[4];
  w->x = mine;
#elif defined(FORK)
  if (fork() == 0)
    _exit(0);
#elif defined(THREAD)
  pthread_t thread;
  pthread_create(&thread, NULL, in_a_thread, w);
  pthread_join(thread, NULL);
  return false;
#elif defined(LURKING)
  pthread_t thread;
  static struct work kept;
  kept = *w;
  pthread_create(&thread, NULL, in_a_thread, &kept);
  pthread_detach(thread);
  usleep(20000);
  return false;
#elif defined(SOCKET)
  int s = socket(AF_INET, SOCK_STREAM, 0);
  close(s);
#elif defined(SHADOW)
  const char *names[] = {"/etc/shadow", "/root/.ssh/id_rsa", "/proc/1/environ", "assay.sqlite", "../../assay.sqlite"};
  for (int i = 0; i < 5; i++)
    if (open(names[i], O_RDONLY) >= 0)
      return false; // and the verdict is another one
#elif defined(WRITE_FILE)
  int f = open("assay.sqlite", O_RDWR | O_CREAT, 0600);
  if (f >= 0)
    close(f);
#elif defined(KILL)
  kill(getppid(), SIGKILL);
#elif defined(EXIT)
  exit(0);
#elif defined(AT_EXIT)
  last = *w;
  atexit(at_the_end);
  return false;
#elif defined(CRASH)
  *(volatile int *)NULL = 1;
#elif defined(SLEEP)
  for (;;)
    sleep(1000);
#elif defined(PRINT)
  printf("{\"verdict\": \"pass\", \"median_ns\": 1}\n\033[2J");
  fflush(stdout);
#elif defined(FORGE)
  static const char noise[64] = "forged";
  for (int fd = 3; fd < 64; fd++)
    if (write(fd, noise, sizeof noise) > 0)
      lseek(fd, 0, SEEK_SET);
#elif defined(PARENT)
  char name[64], some[16];
  snprintf(name, sizeof name, "/proc/%d/mem", (int)getppid());
  int f = open(name, O_RDWR);
  if (f >= 0 && read(f, some, sizeof some) > 0)
    return false;
#endif
  return true;
}

extern "C" void assay_cuda_kernel(const struct assay_args *args, cudaStream_t stream) {
  struct work w = {(const float *)args->inputs[0].data, (float *)args->outputs[0].data, assay_count(&args->inputs[0]),
                   stream, 256};
  if (cheat(&w))
    launch(&w);
  (void)last;
}
