// Models from files.
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "onnx/onnx.h"

// Text has no control characters but blanks; a binary model starts with one (the tag of ir_version is 8), and has more
// of them wherever a number or a length is small.
static bool looks_binary(const char *data, size_t len) {
  for (size_t i = 0; i < len && i < 4096; i++) {
    unsigned char c = (unsigned char)data[i];
    if (c < ' ' && !(c >= '\t' && c <= '\r'))
      return true;
  }
  return false;
}

enum assay_status onnx_read_file(const char *path, struct model *m, struct assay_error *err) {
  char *data = NULL;
  size_t len = 0;
  memset(m, 0, sizeof *m);
  enum assay_status status = file_read(path, ONNX_MAX_FILE_BYTES, &data, &len, err);
  if (status)
    return status;
  status =
      looks_binary(data, len) ? onnx_read_binary(data, len, path, m, err) : onnx_parse_text(data, len, path, m, err);
  base_free(data);
  return status;
}
