// SPDX-License-Identifier: Apache-2.0
// Tensor maps that the program encoded. In the log a token stands for each (record/format.h), and its arguments, with
// which the runner encodes it anew.
#ifndef TOOLCHAIN_LIFT_TENSOR_MAP_TABLE_H
#define TOOLCHAIN_LIFT_TENSOR_MAP_TABLE_H

#include "base/arena.h"
#include "toolchain/lift/cupti.h"
#include "toolchain/record/format.h"

struct known_map {
  uint8_t bytes[sizeof(struct cu_tensor_map)];
  struct record_tensor_map arguments; // with the program's address
  int number;                         // in the log, or -1
};

struct tensor_map_table {
  struct known_map *maps;
  size_t n_maps, capacity;
  uint32_t n_logged;
  struct arena arena;
};

void tensor_map_table_release(struct tensor_map_table *t);
void tensor_map_table_begin(struct tensor_map_table *t); // another log: none has a number in it
// Kept from the moment the program encodes it: it may encode once and launch for ever.
void tensor_map_table_add(struct tensor_map_table *t, const struct call_tensor_map *c);
// The latest with these bytes, or NULL.
struct known_map *tensor_map_table_find(struct tensor_map_table *t, const uint8_t *bytes);
// The token with this number, in place of the encoded map.
void tensor_map_token(uint8_t bytes[RECORD_TOKEN_BYTES], int number);

#endif
