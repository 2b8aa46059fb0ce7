// SPDX-License-Identifier: Apache-2.0
// The code that a prediction of KernelBench-X's form holds: whole, in a block, beside other blocks, with fences of its
// own.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/prediction_code.h"

#define CODE "import torch\n\ndef gelu(x):\n    return torch.relu(x)\n"
#define LINE146                                                                                                        \
  "##################################################"                                                                 \
  "##################################################"                                                                 \
  "##############################################"

static void check(const char *reply, const char *want) {
  struct buf code = {0};
  prediction_code(reply, "gelu", &code);
  assert_false(code.failed);
  assert_string_equal(buf_str(&code), want);
  buf_release(&code);
}

static void test_whole(void **state) {
  (void)state;
  check(CODE, CODE);
  check("", "");
  check(CODE "```", CODE);
  check(CODE "```\nIt is\n```\nfast\n```", CODE);
  check("import torch\ngelu = torch.relu```\nIt is fast.", "import torch\ngelu = torch.relu");
  check(CODE "<|im_end|>\n", CODE "\n");
  check(CODE LINE146 "\nraise SystemExit\n", CODE);
  check(CODE LINE146 "\r\nraise SystemExit\r\n", CODE);
}

static void test_blocks(void **state) {
  (void)state;
  check("Here:\n```python\n" CODE "```\nUse it:\n```\ngelu(x)\n```\n", CODE);
  check("```\n" CODE "```", CODE);
  check("```Python\n" CODE, CODE);
  check("~~~py\n" CODE "~~~\n", CODE);
  check("````python3\n" CODE "````", CODE);
  check("```bash\npip install torch\n```\n```python\n" CODE "```", CODE);
  check("1. So:\n\n   ```python\n   import torch\n\n   def gelu(x):\n       return torch.relu(x)\n   ```\n", CODE);
  check("```python\r\nimport torch\r\n\r\ndef gelu(x):\r\n    return torch.relu(x)\r\n```\r\n", CODE);
  check("We import torch.\n```\n" CODE "```", CODE);
  check("There is none.\n```\n```", "");
}

// The first block is not always the answer.
static void test_which(void **state) {
  (void)state;
  check("Now\n```python\nimport torch\nx = gelu(y)\n```\nbecomes\n```python\n" CODE "```\n", CODE);
  check("```python\ndef gelu_kernel(x):\n    pass\n```\n```\nkernel_function = len\n```\n", "kernel_function = len\n");
  check("```python\n" CODE "```\nor\n```python\ndef gelu(x):\n    return x\n```\n", CODE);
  check("```\na\n```\n```python\nb\n```\n```python\nc\n```\n", "b\n");
  check("<think>\n```python\ndef gelu(x):\n    return 0\n```\n</think>\n```python\n" CODE "```\n", CODE);
  check("<think>\n```python\n" CODE "```\n", CODE);
  struct buf code = {0};
  prediction_code("```python\nx = 1\n```\n```python\nasync def AdamW_step(p):\n    pass\n```\n", "AdamW", &code);
  assert_string_equal(buf_str(&code), "async def AdamW_step(p):\n    pass\n");
  buf_release(&code);
}

// A docstring with an example of its own.
static void test_docstrings(void **state) {
  (void)state;
#define DOC                                                                                                            \
  "import torch\n\ndef gelu(x):\n    \"\"\"GELU.\n\n    ```python\n    gelu(x)\n    ```\n    \"\"\"\n    return x\n"
  check(DOC, DOC);
  check(DOC "```\nDone.\n", DOC);
  check("```python\n" DOC "```\n", DOC);
  check("\"\"\"\n```python\ngelu(x)\n```\n\"\"\"\n" CODE, "\"\"\"\n```python\ngelu(x)\n```\n\"\"\"\n" CODE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_whole),
      cmocka_unit_test(test_blocks),
      cmocka_unit_test(test_which),
      cmocka_unit_test(test_docstrings),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
