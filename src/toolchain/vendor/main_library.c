// SPDX-License-Identifier: Apache-2.0
// assay-library: the process that carries tasks out with cuBLASLt or cuDNN, so that assay-lift.so can record what they
// launch. It has a GPU and arbitrary data, and no code of a candidate.
//
//   assay-library LIFT_LIBRARY BUILD CUBLASLT CUDNN CUPTI CHOICE
//   assay-library facts BUILD CUBLASLT CUDNN CUPTI CHOICE
//
// The libraries are paths, or "" for the loader's search; CHOICE is cublaslt, cudnn or any; descriptor 3 is the socket
// of its order. `facts` says which libraries are there, as one line, and ends with 1 when one is missing.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/build_id.h"
#include "toolchain/vendor/vendor.h"

enum { WARM_UPS = 3, BLOCK_BYTES = 4 << 20 };

struct work {
  struct vendor_paths paths;
  struct vendor_gpu gpu;
  const char *choice;
  struct vendor_library *libraries[2]; // in the order of all_ops; NULL: not loaded
};

// For products, and for convolutions.
static const struct vendor_ops *const all_ops[2] = {&vendor_cublaslt, &vendor_cudnn};
static const char *const members[2] = {"product", "convolution"}, *const choices[2] = {"cublaslt", "cudnn"};

// ---- tensors

static struct vendor_tensors tensors_of(const struct work *w, int log, uint64_t *bytes, int32_t *dtypes) {
  struct vendor_tensors t = {0};
  struct record_tensor r;
  uint32_t counts[2];
  w->gpu.lift.assay_lift_counts(log, counts);
  for (uint32_t i = 0; i < counts[0] && i < RECORD_MAX_TENSORS; i++) {
    w->gpu.lift.assay_lift_tensor(log, i, &r);
    t.inputs[t.n_inputs++] = r.address;
    bytes[i] = r.bytes;
    dtypes[i] = r.dtype;
  }
  w->gpu.lift.assay_lift_tensor(log, counts[0], &r);
  t.output = r.address;
  return t;
}

static uint32_t next_random(uint32_t *state) { // Marsaglia's xorshift
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  return *state;
}

// Numbers from 0.5 to 1, with signs in the first set, by their bits.
static void make_block(int32_t dtype, bool with_signs, unsigned char *out) {
  enum { FLOAT = 1, FLOAT16 = 10 };
  uint32_t state = 2463534242;
  for (size_t at = 0; at < BLOCK_BYTES; at += dtype == FLOAT ? 4 : 2) {
    uint32_t r = next_random(&state), sign = with_signs ? r & 0x80000000u : 0;
    uint32_t wide = sign | 0x3f000000u | (r & 0x7fffffu);
    uint16_t half = (uint16_t)(sign >> 16 | (dtype == FLOAT16 ? 0x3800u | (r & 0x3ffu) : 0x3f00u | (r & 0x7fu)));
    if (dtype == FLOAT)
      memcpy(out + at, &wide, sizeof wide);
    else
      memcpy(out + at, &half, sizeof half);
  }
}

// Arbitrary data: nobody reads the results of a lifted call.
static enum assay_status fill(const struct work *w, uint64_t address, uint64_t bytes, int32_t dtype, bool with_signs,
                              struct assay_error *err) {
  static unsigned char block[BLOCK_BYTES];
  const struct cuda_driver *cu = w->gpu.cu;
  uint64_t done = bytes < BLOCK_BYTES ? bytes : BLOCK_BYTES;
  make_block(dtype, with_signs, block);
  enum assay_status status = cuda_check(cu, cu->cuMemcpyHtoDAsync(address, block, done, NULL), "fill a tensor", err);
  if (!status)
    status = cuda_check(cu, cu->cuStreamSynchronize(NULL), "fill a tensor", err);
  for (uint64_t n; done < bytes && !status; done += n) {
    n = bytes - done < done ? bytes - done : done;
    status = cuda_check(cu, cu->cuMemcpyDtoDAsync(address + done, address, n, NULL), "fill a tensor", err);
  }
  return status;
}

// ---- a workload

static enum assay_status synchronize(const struct work *w, struct assay_error *err) {
  return cuda_check(w->gpu.cu, w->gpu.cu->cuCtxSynchronize(), "run a library's kernels", err);
}

static enum assay_status warm_up(const struct work *w, const struct vendor_ops *ops, struct vendor_engine *e,
                                 const struct vendor_tensors *t, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < WARM_UPS && !status; i++) {
    w->gpu.lift.assay_lift_look(i == WARM_UPS - 1);
    status = ops->run(e, t, err);
  }
  w->gpu.lift.assay_lift_look(0);
  return status ? status : synchronize(w, err);
}

// *good is false when no plan can hold it, which the log says then.
static enum assay_status record(const struct work *w, const struct vendor_ops *ops, struct vendor_engine *e,
                                const struct vendor_tensors *t, int log, bool *good, struct assay_error *err) {
  w->gpu.lift.assay_lift_begin(log);
  enum assay_status status = ops->run(e, t, err);
  *good = w->gpu.lift.assay_lift_end() == NULL;
  return status ? status : synchronize(w, err);
}

static bool is_wanted(const struct work *w, const json_t *workload, int i) {
  bool chosen = strcmp(w->choice, "any") == 0 || strcmp(w->choice, choices[i]) == 0;
  return chosen && json_object_get(json_object_get(workload, "library"), members[i]);
}

// The libraries that the call is for, loaded with the first such call. One of two is enough.
static enum assay_status need_libraries(struct work *w, const json_t *workload, struct assay_error *err) {
  enum assay_status first = ASSAY_OK;
  bool any = false;
  for (int i = 0; i < 2; i++) {
    struct assay_error why = {0};
    if (!is_wanted(w, workload, i))
      continue;
    enum assay_status status =
        w->libraries[i] ? ASSAY_OK : all_ops[i]->load(&w->paths, w->gpu.cu, &w->libraries[i], &why);
    any = any || !status;
    if (status && !first)
      first = error_set(err, status, "%s", why.message);
  }
  if (any && first)
    fprintf(stderr, "%s\n", err->message);
  return any ? ASSAY_OK : first;
}

// The engine of the library that has the faster one; where only one has any, that is it.
static enum assay_status choose(struct work *w, const json_t *workload, const struct vendor_call *call,
                                const struct vendor_tensors *t, int *best, struct vendor_engine **out,
                                struct assay_error *err) {
  enum assay_status first = ASSAY_OK;
  double best_us = 0, us = 0;
  *out = NULL;
  for (int i = 0; i < 2; i++) {
    struct vendor_engine *e = NULL;
    struct assay_error why = {0};
    if (!w->libraries[i] || !is_wanted(w, workload, i) || !(i == 0 ? call->has_product : call->has_convolution))
      continue;
    enum assay_status status = all_ops[i]->prepare(w->libraries[i], call, t, &e, &why);
    if (!status)
      status = vendor_time(w->gpu.cu, all_ops[i], e, t, &us, &why);
    if (!status && (!*out || us < best_us)) {
      all_ops[*best]->release(*out);
      *best = i;
      *out = e;
      best_us = us;
      continue;
    }
    all_ops[i]->release(e);
    if (status && !first)
      first = error_set(err, status, "%s", why.message);
  }
  if (*out)
    fprintf(stderr, "%s: %.1f us\n", all_ops[*best]->title, best_us);
  return *out ? ASSAY_OK : first ? first : error_set(err, ASSAY_ERR_UNSUPPORTED, "no library has this call");
}

static enum assay_status lift_workload(struct work *w, const json_t *workload, bool *good, struct assay_error *err) {
  static struct vendor_tensors sets[2];
  static uint64_t bytes[RECORD_MAX_TENSORS];
  static int32_t dtypes[RECORD_MAX_TENSORS];
  struct vendor_call call;
  struct vendor_engine *e = NULL;
  int best = 0;
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < 2 && !status; i++) {
    sets[i] = tensors_of(w, i, bytes, dtypes);
    for (int k = 0; k < sets[i].n_inputs && !status; k++)
      status = fill(w, sets[i].inputs[k], bytes[k], dtypes[k], i == 0, err);
  }
  if (!status)
    status = vendor_call_read(json_object_get(workload, "library"), sets[0].n_inputs, &call, err);
  if (!status)
    status = choose(w, workload, &call, &sets[0], &best, &e, err);
  if (!status)
    status = warm_up(w, all_ops[best], e, &sets[0], err);
  for (int i = 0; i < 2 && !status && *good; i++)
    status = record(w, all_ops[best], e, &sets[i], i, good, err);
  all_ops[best]->release(e);
  return status;
}

static enum assay_status open_workload(struct work *w, const json_t *workload, const int fds[4],
                                       struct assay_error *err) {
  enum assay_status status = need_libraries(w, workload, err);
  const char *why = status ? NULL : w->gpu.lift.assay_lift_open(fds[0], fds[1], fds[2], fds[3]);
  for (int i = 0; i < 4; i++)
    close(fds[i]);
  return why ? error_set(err, ASSAY_ERR_ENVIRONMENT, "%s", why) : status;
}

// What the library cannot do is an answer; all else is the machine's fault, and the log is as if nothing had begun.
static int work_on(struct work *w, const struct vendor_order *order, struct assay_error *err) {
  size_t i;
  json_t *workload, *workloads = json_object_get(order->text, "workloads");
  enum assay_status status = vendor_gpu_open(&w->paths, &w->gpu, err);
  if (status)
    return 3;
  json_array_foreach(workloads, i, workload) {
    bool good = true;
    if (open_workload(w, workload, &order->fds[4 * i], err) != ASSAY_OK)
      return 3;
    status = lift_workload(w, workload, &good, err);
    if (status)
      w->gpu.lift.assay_lift_failed(status == ASSAY_ERR_UNSUPPORTED ? RECORD_REFUSED : RECORD_STARTED, err->message);
    if (status)
      return status == ASSAY_ERR_UNSUPPORTED ? 0 : 3;
    if (!good)
      return 0;
  }
  return 0;
}

// ---- what there is

static bool say_version(const struct vendor_ops *ops, const char *path) {
  const char *loaded;
  size_t (*version)(void) = NULL;
  void *library = vendor_load(path, ops->names, &loaded);
  void *symbol = library ? dlsym(library, ops->version) : NULL;
  memcpy(&version, &symbol, sizeof version);
  if (version)
    fprintf(stderr, "%s %zu, ", ops->title, version());
  else
    fprintf(stderr, "no %s, ", ops->title);
  return version != NULL;
}

static int say_facts(const struct vendor_paths *p) {
  const char *loaded;
  bool cublaslt = say_version(&vendor_cublaslt, p->cublaslt), cudnn = say_version(&vendor_cudnn, p->cudnn);
  bool cupti = vendor_load(p->cupti, vendor_cupti_names, &loaded) != NULL;
  fprintf(stderr, "%sCUPTI\n", cupti ? "" : "no ");
  return cublaslt && cudnn && cupti ? 0 : 1;
}

int main(int argc, char **argv) {
  struct assay_error err = {0};
  struct vendor_order order;
  bool wanted = false;
  if (argc != 7 || !build_id_matches(argv[2], "assay-library"))
    return 2;
  struct work w = {
      .paths = {.lift = argv[1], .build = argv[2], .cublaslt = argv[3], .cudnn = argv[4], .cupti = argv[5]},
      .choice = argv[6]};
  if (strcmp(argv[1], "facts") == 0)
    _exit(say_facts(&w.paths));
  int code = vendor_order_receive(&order, &wanted, &err) == ASSAY_OK ? 0 : 3;
  if (code == 0 && wanted)
    code = work_on(&w, &order, &err);
  if (code != 0)
    fprintf(stderr, "%s\n", err.message);
  fflush(NULL);
  _exit(code); // the recordings are complete, and need nothing that libraries do at the exit
}
