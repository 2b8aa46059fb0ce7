// SPDX-License-Identifier: Apache-2.0
// Private to record/read.c and record/launch.c: a recording while it is read.
#ifndef TOOLCHAIN_RECORD_PRIVATE_H
#define TOOLCHAIN_RECORD_PRIVATE_H

#include "toolchain/record/places.h"

struct reader_module {
  struct cubin_info info;
  // Its global variables, as one: who set them and who may have read them. (Kernels that write global variables on
  // several streams go unnoticed: a cubin does not say who does.)
  struct place set, launched;
};

struct reader_kernel {
  int module;
  const char *name, *label;
  const struct cubin_kernel *cubin; // in the module's info
};

struct record_reader {
  struct arena arena; // for reading, dropped at the end
  struct plan *plan;
  struct plan_report *report;
  struct places places;
  struct record_order order;
  struct reader_module *modules;
  struct reader_kernel *kernels;
  size_t n_kernels, kernel_capacity, step_capacity, n_maps, map_capacity;
  struct record_tensor_map *maps;
  struct record_stamp *stamps; // of every step
  struct record_word *words;   // of the next launch
  size_t n_words, word_capacity;
  size_t n_arguments, n_pointers; // of all steps together
  int n_states;
  bool restores;                       // a step brings memory back to what it was, which every call has to do
  bool of_library[RECORD_MAX_STREAMS]; // streams
  bool one_of_two;
  bool no_memory;
};

// Every function of the reader that returns false has either refused the recording or met the end of memory.
bool reader_refuse(struct record_reader *r, const char *fmt, ...) ASSAY_PRINTF(2, 3);
bool reader_damaged(struct record_reader *r, const char *what);
bool reader_exhausted(struct record_reader *r);

// A step more, on a stream; NULL instead of false.
struct plan_step *reader_add_step(struct record_reader *r, enum plan_step_kind kind, uint32_t stream,
                                  struct record_stamp *stamp);
// Whatever used a place on other streams must be ordered before this work (step -1: no step).
bool reader_check_order(struct record_reader *r, const struct place *place, const char *name, struct record_stamp stamp,
                        int step);
void reader_note_use(struct place *place, struct record_stamp stamp, int step);
bool reader_use_place(struct record_reader *r, struct place *place, struct record_stamp stamp, int step); // both

// record/launch.c
bool reader_on_launch(struct record_reader *r, const struct record_launch *e, const uint8_t *rest, size_t n);
bool reader_on_word(struct record_reader *r, const struct record_word *e);
bool reader_on_tensor_map(struct record_reader *r, const struct record_tensor_map *e);
bool reader_has_token(const uint8_t *bytes, size_t n); // a tensor map's, anywhere

#endif
