// SPDX-License-Identifier: Apache-2.0
// Code in replies of every kind that models give.
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "model/extract.h"

static const char *const c_tags[] = {"c", "cpp", NULL}, *const c_entries[] = {"assay_kernel", NULL};
static const char *const py_tags[] = {"python", NULL}, *const py_entries[] = {"ModelNew", NULL};
static const struct model_language c_language = {c_tags, c_entries, true}, python = {py_tags, py_entries, false};

static struct model_extract extract_n(const char *reply, size_t n, enum model_finish finish, bool c) {
  const struct model_language *others[] = {c ? &python : &c_language, NULL};
  struct model_extract x;
  struct assay_error err = {0};
  assert_int_equal(model_extract(reply, n, finish, c ? &c_language : &python, others, &x, &err), ASSAY_OK);
  return x;
}

static void expect(const char *reply, enum model_finish finish, enum model_extraction what, const char *code) {
  struct model_extract x = extract_n(reply, strlen(reply), finish, true);
  if (x.what != what || strcmp(buf_str(&x.code), code) != 0)
    fail_msg("\"%s\" gave %d: \"%s\" (%s)", reply, (int)x.what, buf_str(&x.code), x.detail);
  model_extract_release(&x);
}

#define K "void assay_kernel() {}\n"

static void one_block(void **state) {
  (void)state;
  expect("```c\n" K "```\n", MODEL_FINISH_STOP, MODEL_CODE, K);
  expect("text\n\n~~~~cpp title=x\n" K "~~~\n" K "~~~~\n", MODEL_FINISH_STOP, MODEL_CODE, K "~~~\n" K);
  expect("```\r\n" K "```", MODEL_FINISH_UNKNOWN, MODEL_CODE, K);
  expect("1. in a list:\n   ```c\n   " K "     x\n   ```\n", MODEL_FINISH_STOP, MODEL_CODE, K "  x\n");
  expect("````c\n```\n" K "````\n", MODEL_FINISH_STOP, MODEL_CODE, "```\n" K);
}

// Models correct themselves: of equals the last; but the entry point, the tag and an end count more.
static void the_best_block(void **state) {
  (void)state;
  expect("```c\nint a;\n" K "```\nbetter:\n```c\nint b;\n" K "```", MODEL_FINISH_STOP, MODEL_CODE, "int b;\n" K);
  expect("```c\n" K "```\nrun it:\n```bash\ngcc assay.c\n```\n", MODEL_FINISH_STOP, MODEL_CODE, K);
  expect("```c\n" K "```\nand a helper:\n```c\nint helper;\n```\n", MODEL_FINISH_STOP, MODEL_CODE, K);
  expect("```c\n" K "```\nbetter:\n```c\nvoid assay_kernel() {\n", MODEL_FINISH_LENGTH, MODEL_CODE, K);
  expect("```python\nclass ModelNew: pass\n```\n```c\n" K "```\n", MODEL_FINISH_STOP, MODEL_CODE, K);
  char ten[4096] = "";
  for (int i = 0; i < 10; i++)
    snprintf(ten + strlen(ten), sizeof ten - strlen(ten), "```c\nint v%d;\n" K "```\n", i);
  expect(ten, MODEL_FINISH_STOP, MODEL_CODE, "int v9;\n" K);
}

#define CALL "struct assay_args a;\nassay_kernel(&a);\n"
#define MAIN "int main(void) {\n  struct assay_args a;\n  assay_kernel(&a);\n}\n"

// What calls the kernel to show how, or leaves a part of it out, is not the kernel, though it stands last.
static void a_use_is_no_kernel(void **state) {
  (void)state;
  static const char *const uses[] = {CALL,
                                     MAIN,
                                     ("// assay_kernel() {\n" MAIN),
                                     "void (*f)() = assay_kernel;\n",
                                     "void my_assay_kernel() {}\n",
                                     "void assay_kernel() {\n  // ... as before\n  a();\n}\n",
                                     "void assay_kernel() {\n  /* \xe2\x80\xa6 */\n}\n"};
  for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
    char reply[512];
    snprintf(reply, sizeof reply, "```c\n" K "```\nIt is called so:\n```c\n%s```\n", uses[i]);
    expect(reply, MODEL_FINISH_STOP, MODEL_CODE, K);
    snprintf(reply, sizeof reply, "To be called so:\n```c\n%s```\nThe file:\n```c\n" K "```\n", uses[i]);
    expect(reply, MODEL_FINISH_STOP, MODEL_CODE, K);
    snprintf(reply, sizeof reply, "```c\n%s```\n", uses[i]); // there is nothing else
    expect(reply, MODEL_FINISH_STOP, MODEL_CODE, uses[i]);
  }
  expect("```c\n" CALL "```\nSo:\n```c\nvoid assay_kernel() {\n", MODEL_FINISH_LENGTH, MODEL_CUT_OFF, "");
  // In what carries several files, too.
  expect("```bash\ncat > k.c <<'A'\n" K "A\ncat > main.c <<'B'\n" MAIN "B\n```", MODEL_FINISH_STOP, MODEL_CODE, K);
  expect("<file><![CDATA[\n" K "]]></file><file><![CDATA[\n" MAIN "]]></file>", MODEL_FINISH_STOP, MODEL_CODE, K);
  expect("<k>\n" K "</k>\n<m>\n" MAIN "</m>\n", MODEL_FINISH_STOP, MODEL_CODE, K);
  expect("--- /dev/null\n+++ b/k.c\n@@ -0,0 +1 @@\n+" K "--- /dev/null\n+++ b/m.c\n@@ -0,0 +1,3 @@\n+int main(void) "
         "{\n+  assay_kernel(0);\n+}\n",
         MODEL_FINISH_STOP, MODEL_CODE, K);
  expect("{\"result\": \"```c\\nvoid assay_kernel() {}\\n```\\nCall it:\\n```c\\nassay_kernel(&a);\\n```\"}",
         MODEL_FINISH_STOP, MODEL_CODE, K);
  static const char module[] = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    pass\n";
  char reply[512];
  snprintf(reply, sizeof reply, "```python\n%s```\n```python\nmodel = ModelNew()\nassert ModelNew == 1\n```\n", module);
  struct model_extract x = extract_n(reply, strlen(reply), MODEL_FINISH_STOP, false);
  assert_string_equal(buf_str(&x.code), module);
  model_extract_release(&x);
}

// The first fence or the last one is missing, or stands where CommonMark has none.
static void fences_that_are_missing(void **state) {
  (void)state;
  expect("The file:\n\n#include <x.h>\n" K "```\nThat is it.", MODEL_FINISH_STOP, MODEL_CODE, "#include <x.h>\n" K);
  expect("```c\nvoid assay_kernel() {}```\nIt works.", MODEL_FINISH_STOP, MODEL_CODE, "void assay_kernel() {}");
  expect("```c\nint a;\nvoid assay_kernel() {\n}```\n```bash\ncc k.c\n```", MODEL_FINISH_STOP, MODEL_CODE,
         "int a;\nvoid assay_kernel() {\n}");
  expect("```c\n// `a` is ```\n" K "```", MODEL_FINISH_STOP, MODEL_CODE, "// `a` is ```\n" K);
  expect("```c\n" K "\nThis is all of it.\n- It loops.\n", MODEL_FINISH_STOP, MODEL_CODE, K);
  expect("```c\n" K "int a;\n", MODEL_FINISH_STOP, MODEL_CODE, K "int a;\n");
  expect("```c\n" K "<|im_end|>\n", MODEL_FINISH_STOP, MODEL_CODE, K);
  expect(K "<|eot_id|>", MODEL_FINISH_STOP, MODEL_CODE, K);
  expect("'''c\n" K "'''\nSo.", MODEL_FINISH_STOP, MODEL_CODE, K);
  expect("#+BEGIN_SRC c\n" K "#+END_SRC\n", MODEL_FINISH_STOP, MODEL_CODE, K);
  // In a comment.
  expect("```c\n/*\n     ```\n     a\n     ```\n*/\n" K "```", MODEL_FINISH_STOP, MODEL_CODE,
         "/*\n     ```\n     a\n     ```\n*/\n" K);
  expect("```c\n" K "     ```\nIt works.\n```bash\ncc k.c\n```", MODEL_FINISH_STOP, MODEL_CODE, K);
  expect("```c\n// <think> is a mark\n" K "```", MODEL_FINISH_STOP, MODEL_CODE, "// <think> is a mark\n" K);
  // A file of which every line is an added one.
  expect("```diff\n+// assay_kernel\n+\n+" K "```", MODEL_FINISH_STOP, MODEL_CODE, "// assay_kernel\n\n" K);
  expect("```\n+ // assay_kernel\n+\n+ " K "```", MODEL_FINISH_STOP, MODEL_CODE, "// assay_kernel\n\n" K);
  expect("{\"cells\": [{\"cell_type\": \"code\", \"source\": [\"void assay_kernel() {\\n\", \"}\\n\"]}]}",
         MODEL_FINISH_STOP, MODEL_CODE, "void assay_kernel() {\n}\n");
}

static void no_code(void **state) {
  (void)state;
  expect("", MODEL_FINISH_STOP, MODEL_NO_CODE, "");
  expect("Use a `c` loop.", MODEL_FINISH_STOP, MODEL_NO_CODE, "");
  expect("The entry is assay_kernel, as you say.", MODEL_FINISH_STOP, MODEL_NO_CODE, "");
  expect("```bash\nls\n```", MODEL_FINISH_STOP, MODEL_NO_CODE, "");
  expect("```c\n```", MODEL_FINISH_STOP, MODEL_NO_CODE, "");
  expect("   ```c\n   ", MODEL_FINISH_STOP, MODEL_NO_CODE, "");
  expect("{\"code\": \"assay_kernel\\n```\\n\"}", MODEL_FINISH_STOP, MODEL_NO_CODE, "");
  expect("", MODEL_FINISH_REFUSED, MODEL_REFUSED, "");
  expect("I'm sorry, but I can't do that.", MODEL_FINISH_STOP, MODEL_REFUSED, "");
  expect("Sorry. I am unable to help with kernels.", MODEL_FINISH_STOP, MODEL_REFUSED, "");
  expect("I\xe2\x80\x99m sorry, but no.", MODEL_FINISH_STOP, MODEL_REFUSED, "");
  expect("The code is in C. I'm sorry for any confusion.", MODEL_FINISH_STOP, MODEL_NO_CODE, "");
  expect("I can't see a faster loop than yours.", MODEL_FINISH_STOP, MODEL_NO_CODE, "");
  expect("```python\nclass ModelNew: pass\n```", MODEL_FINISH_STOP, MODEL_WRONG_LANGUAGE, "");
  expect("```python\nprint()\n```", MODEL_FINISH_STOP, MODEL_WRONG_LANGUAGE, "");
}

static void cut_off(void **state) {
  (void)state;
  expect("", MODEL_FINISH_LENGTH, MODEL_CUT_OFF, "");
  expect("```c\nvoid assay_kernel() {\n", MODEL_FINISH_LENGTH, MODEL_CUT_OFF, "");
  expect("```c\nvoid assay_kernel() {\n", MODEL_FINISH_UNKNOWN, MODEL_CUT_OFF, "");
  expect("```c\n" K, MODEL_FINISH_LENGTH, MODEL_CUT_OFF, "");
  expect("```c\n" K, MODEL_FINISH_STOP, MODEL_CODE, K); // only the fence was forgotten
  expect("```c\nchar c = '{'; /* { */ // {\n" K, MODEL_FINISH_UNKNOWN, MODEL_CODE, "char c = '{'; /* { */ // {\n" K);
}

static void thoughts(void **state) {
  (void)state;
  expect("<think>```c\nint t;\n" K "```</think>\n```c\n" K "```", MODEL_FINISH_STOP, MODEL_CODE, K);
  expect("first I ```c\nint t;\n" K "```\n</think>```c\n" K "```", MODEL_FINISH_STOP, MODEL_CODE, K);
  expect("first I\n</think>\n```c\n" K "```", MODEL_FINISH_STOP, MODEL_CODE, K);
  expect("<think>```c\n" K "```", MODEL_FINISH_LENGTH, MODEL_CUT_OFF, "");
}

static void other_wrappings(void **state) {
  (void)state;
  expect("#include <x.h>\n" K, MODEL_FINISH_STOP, MODEL_CODE, "#include <x.h>\n" K);
  expect("{\"code\": \"void assay_kernel() {}\\n\"}", MODEL_FINISH_STOP, MODEL_CODE, K);
  expect("Sure: {\"plan\": 1, \"code\": \"```c\\nvoid assay_kernel() {}\\n```\"} done", MODEL_FINISH_STOP, MODEL_CODE,
         K);
  // What agents print that were asked for JSON: one object, or a line for each event.
  expect("{\"type\":\"result\",\"is_error\":false,\"result\":\"Here:\\n\\n```c\\nvoid assay_kernel() "
         "{}\\n```\\n\",\"usage\":{}}\n",
         MODEL_FINISH_UNKNOWN, MODEL_CODE, K);
  expect("{\"type\":\"system\",\"tools\":[{\"a\":{}},{\"a\":{}},{\"a\":{}},{\"a\":{}},{\"a\":{}},{\"a\":{}},{\"a\":{}},"
         "{\"a\":{}}]}\n"
         "{\"type\":\"result\",\"result\":\"```c\\nvoid assay_kernel() {}\\n```\"}\n",
         MODEL_FINISH_UNKNOWN, MODEL_CODE, K);
  expect("{\"response\": \"void assay_kernel() {}\\n\", \"stats\": {}}", MODEL_FINISH_UNKNOWN, MODEL_CODE, K);
  expect("<tool_call>{\"name\": \"submit\", \"arguments\": {\"code\": \"void assay_kernel() {}\\n\"}}</tool_call>",
         MODEL_FINISH_STOP, MODEL_CODE, K);
  // What models and servers leave after the last fence, on its line.
  expect("```c\n" K "```<|im_end|>", MODEL_FINISH_STOP, MODEL_CODE, K);
  expect("```c\n" K "```</s>\n", MODEL_FINISH_STOP, MODEL_CODE, K);
  expect("```c\n" K "``` That is it.\n\nIt loops:\n```\nx\n```\n", MODEL_FINISH_STOP, MODEL_CODE, K);
}

// Code without a fence: tags, sentences and quotations around it are no part of it.
static void without_a_fence(void **state) {
  (void)state;
  expect("<answer>\n" K "</answer>\n", MODEL_FINISH_STOP, MODEL_CODE, K);
  expect("\\begin{code}\n" K "\\end{code}\n", MODEL_FINISH_STOP, MODEL_CODE, K);
  expect("The file:\n\n#include <x.h>\n" K "\nIt loops; that is all.\n", MODEL_FINISH_STOP, MODEL_CODE,
         "#include <x.h>\n" K);
  expect("> ```c\n> " K ">\n>   x\n> ```\n", MODEL_FINISH_STOP, MODEL_CODE, K "\n  x\n");
  expect("I would write assay_kernel so that it loops; the rest (all of it) is easy.", MODEL_FINISH_STOP, MODEL_NO_CODE,
         "");
  expect("void assay_kernel is what I write; no more.\n", MODEL_FINISH_STOP, MODEL_NO_CODE, "");
  expect("// So:\n" K, MODEL_FINISH_LENGTH, MODEL_CUT_OFF, "");
  // Branches of which one is compiled; what ends after the last bracket.
  expect("#ifdef A\nvoid assay_kernel(int a) {\n#else\nvoid assay_kernel() {\n#endif\n}\n", MODEL_FINISH_STOP,
         MODEL_CODE, "#ifdef A\nvoid assay_kernel(int a) {\n#else\nvoid assay_kernel() {\n#endif\n}\n");
  expect("#ifndef A\n" K "#endif\n\nSo.\n", MODEL_FINISH_STOP, MODEL_CODE, "#ifndef A\n" K "#endif\n");
  expect("```diff\n--- /dev/null\n+++ b/k.c\n@@ -0,0 +1,3 @@\n+// assay_kernel\n\n+" K "\n```", MODEL_FINISH_STOP,
         MODEL_CODE,
         "// assay_kernel\n\n" K); // a line that is empty lacks its "+"
  static const char module[] = "import torch\n\nclass ModelNew:\n    pass\n";
  static const struct {
    const char *before, *after;
    enum model_extraction what;
  } cases[] = {{"", "", MODEL_CODE},
               {"<answer>\n", "</answer>\n", MODEL_CODE},
               {"ModelNew it is.\n", "", MODEL_CODE},
               {"To import torch is all it needs:\n\n", "\nThe class\nis empty; import it.\n", MODEL_CODE},
               {"Write\nclass ModelNew:\n    so\nand import it.\n", NULL, MODEL_NO_CODE}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char reply[256];
    snprintf(reply, sizeof reply, "%s%s%s", cases[i].before, cases[i].after ? module : "",
             cases[i].after ? cases[i].after : "");
    struct model_extract x = extract_n(reply, strlen(reply), MODEL_FINISH_STOP, false);
    assert_int_equal(x.what, cases[i].what);
    assert_string_equal(buf_str(&x.code), x.what == MODEL_CODE ? module : "");
    model_extract_release(&x);
  }
}

static void pages_and_parts(void **state) {
  (void)state;
  // A page of Markdown: its fence is longer, or ends with the inner one.
  expect("````markdown\nThe file:\n```c\n" K "```\nDone.\n````\n", MODEL_FINISH_STOP, MODEL_CODE, K);
  expect("```markdown\nThe file:\n```c\n" K "```\n```\n", MODEL_FINISH_STOP, MODEL_CODE, K);
  expect("```md\n~~~c\nvoid assay_kernel() {\n", MODEL_FINISH_LENGTH, MODEL_CUT_OFF, "");
  // What is no file: a patch, JSON. The code in JSON is taken out of it.
  expect("```diff\n-void assay_kernel() {\n+void assay_kernel() {}\n```\n", MODEL_FINISH_STOP, MODEL_NO_CODE, "");
  expect("```json\n{\"code\": \"void assay_kernel() {}\\n\"}\n```\n", MODEL_FINISH_STOP, MODEL_CODE, K);
  // Lines and marks of other systems.
  expect("```c\r\nint a;\r\n" K "```\r\n", MODEL_FINISH_STOP, MODEL_CODE, "int a;\n" K);
  expect("\xef\xbb\xbf```c\n\xef\xbb\xbf" K "```\n", MODEL_FINISH_STOP, MODEL_CODE, K);
  // Several files: the one with the entry point.
  expect("a.c:\n```c\n" K "```\nmain.c:\n```c\nint main(void) {}\n```\n", MODEL_FINISH_STOP, MODEL_CODE, K);
}

// Marks of templates, web pages, terminals and editors around and in the code.
static void marks_of_others(void **state) {
  (void)state;
  // gpt-oss' channels, whole, cut off while it thinks, and with the marks left out.
  expect("<|channel|>analysis<|message|>Maybe ```c\nint t;\n" K
         "```<|end|><|start|>assistant<|channel|>final<|message|>```c\n" K "```<|return|>",
         MODEL_FINISH_STOP, MODEL_CODE, K);
  expect("<|channel|>final<|message|>```c\n" K "```", MODEL_FINISH_STOP, MODEL_CODE, K);
  expect("<|channel|>analysis<|message|>Maybe ```c\nint t;\n" K "```", MODEL_FINISH_LENGTH, MODEL_CUT_OFF, "");
  expect("<|channel|>analysis<|message|>hm<|channel|>commentary<|message|>```c\nint t;\n" K
         "```<|channel|>final<|message|>```c\n" K "```",
         MODEL_FINISH_STOP, MODEL_CODE, K);
  expect("analysisI would ```c\nint t;\n" K "```\nassistantfinal```c\n" K "```", MODEL_FINISH_STOP, MODEL_CODE, K);
  expect("\xe2\x97\x81think\xe2\x96\xb7```c\nint t;\n" K "```\xe2\x97\x81/think\xe2\x96\xb7\n```c\n" K "```",
         MODEL_FINISH_STOP, MODEL_CODE, K);
  // A thought without an end, of a model that came to its own: its answer is in it. Not where it was still thinking.
  expect("<think>I write\n```c\nint t;\n```\nno:\n```c\n" K "```\n", MODEL_FINISH_STOP, MODEL_CODE, K);
  expect("<think>I write\n```c\nint t;\n```\n", MODEL_FINISH_STOP, MODEL_CUT_OFF, "");
  expect("<think>I write\n```c\n" K "```\n", MODEL_FINISH_LENGTH, MODEL_CUT_OFF, "");
  // HTML.
  expect("```c\n#include &lt;x.h&gt;\nvoid assay_kernel() { if (a &amp;&amp; b-&gt;c) puts(&quot;&#39;&quot;); }\n```",
         MODEL_FINISH_STOP, MODEL_CODE, "#include <x.h>\nvoid assay_kernel() { if (a && b->c) puts(\"'\"); }\n");
  expect("```c\n#include <x.h>\n" K "char *s = \"&lt;\";\n```", MODEL_FINISH_STOP, MODEL_CODE,
         "#include <x.h>\n" K "char *s = \"&lt;\";\n");
  expect("<p>So:</p><pre><code class=\"language-c\">#include &lt;x.h&gt;\n" K "</code></pre>", MODEL_FINISH_STOP,
         MODEL_CODE, "#include <x.h>\n" K);
  expect("<pre>" K "char c = &#x27;c&#x27;;</pre>", MODEL_FINISH_STOP, MODEL_CODE, K "char c = 'c';");
  expect("<pre>" K "</pre>", MODEL_FINISH_STOP, MODEL_CODE, K);
  expect("<pre>\nvoid assay_kernel() {\n", MODEL_FINISH_LENGTH, MODEL_CUT_OFF, "");
  // What is not seen: byte order marks, characters without width, other spaces, a terminal's escapes, CR alone.
  expect("\xe2\x80\x8b```c\nvoid\xc2\xa0"
         "assay_kernel()\xe2\x80\x8b {}\n```",
         MODEL_FINISH_STOP, MODEL_CODE, K);
  expect("\033[1;32m```c\033[0m\n" K "\033[0m```", MODEL_FINISH_UNKNOWN, MODEL_CODE, K);
  expect("So:\r```c\r"
         "void assay_kernel() {}\r```\r",
         MODEL_FINISH_STOP, MODEL_CODE, K);
  expect("\t```c\n\tvoid assay_kernel() {}\n\t```\n", MODEL_FINISH_STOP, MODEL_CODE, K);
  // Words in other languages.
  expect("\xe4\xbb\xa5\xe4\xb8\x8b\xe6\x98\xaf\xe4\xbb\xa3\xe7\xa0\x81\xef\xbc\x9a\n```C\n// "
         "\xd1\x8f\xd0\xb4\xd1\x80\xd0\xbe\n" K "```\n\xd0\x93\xd0\xbe\xd1\x82\xd0\xbe\xd0\xb2\xd0\xbe.",
         MODEL_FINISH_STOP, MODEL_CODE, "// \xd1\x8f\xd0\xb4\xd1\x80\xd0\xbe\n" K);
}

static void fences_of_other_kinds(void **state) {
  (void)state;
  // Code on the fence's line; titles and attributes are none.
  expect("```c #include <x.h>\n" K "```", MODEL_FINISH_STOP, MODEL_CODE, "#include <x.h>\n" K);
  expect("```#include <x.h>\n" K "```", MODEL_FINISH_STOP, MODEL_CODE, "#include <x.h>\n" K);
  expect("```void assay_kernel() {\n}\n```", MODEL_FINISH_STOP, MODEL_CODE, "void assay_kernel() {\n}\n");
  expect("```c void assay_kernel() {}```", MODEL_FINISH_STOP, MODEL_CODE, "void assay_kernel() {}");
  expect("Use ```assay_kernel``` so.", MODEL_FINISH_STOP, MODEL_NO_CODE, "");
  expect("```{.c .numberLines title=\"void.c\"}\n" K "```", MODEL_FINISH_STOP, MODEL_CODE, K);
  expect("```kernel.c\n" K "```", MODEL_FINISH_STOP, MODEL_CODE, K);
  expect("~~~\n" K "~~~", MODEL_FINISH_STOP, MODEL_CODE, K);
  expect("`````c\n/*\n```\n*/\n" K "`````", MODEL_FINISH_STOP, MODEL_CODE, "/*\n```\n*/\n" K);
  // Changes to a file are no file, whatever their tag.
  static const char *const patches[] = {
      "```\n--- a/k.c\n+++ b/k.c\n@@ -1 +1 @@\n-x\n+void assay_kernel() {}\n```",
      "```c\n@@ -1,2 +1,2 @@\n-x\n+void assay_kernel() {}\n```",
      "```c\n<<<<<<< SEARCH\nx\n=======\nvoid assay_kernel() {}\n>>>>>>> REPLACE\n```",
      "```patch\n+void assay_kernel() {}\n```",
      "```\n*** Begin Patch\n*** Update File: k.c\n+void assay_kernel() {}\n*** End Patch\n```"};
  for (size_t i = 0; i < sizeof patches / sizeof *patches; i++) {
    struct model_extract x = extract_n(patches[i], strlen(patches[i]), MODEL_FINISH_STOP, true);
    assert_int_equal(x.what, MODEL_NO_CODE);
    assert_non_null(strstr(x.detail, "patch"));
    model_extract_release(&x);
  }
  expect("```diff\n-x\n+y\n```\nThe whole:\n```c\n" K "```", MODEL_FINISH_STOP, MODEL_CODE, K);
  // Files in JSON, after words with braces.
  expect("In {braces}: {\"files\": [{\"path\": \"a.h\", \"content\": \"int a;\"}, {\"path\": \"k.c\", \"content\": "
         "\"void assay_kernel() {}\\n\"}]}",
         MODEL_FINISH_STOP, MODEL_CODE, K);
}

// The file within what lists, writes or carries it.
static void in_another_dress(void **state) {
  (void)state;
  static const char *const same[] = {
      // a shell's here-documents, also one that the end of the block ends, and those of which one is the file
      "```bash\ncat > k.c <<'EOF'\n" K "EOF\ngcc k.c\n```", "```sh\n$ cat <<\"END\" > k.c\n" K "END\n```",
      "```bash\nmkdir -p a && cat > a/k.c <<-'EOF'\n\t" K "\tEOF\n```",
      "```bash\nsudo tee k.c <<EOF >/dev/null\n" K "EOF\n```", "```bash\ncat > k.c <<'EOF'\n" K "```",
      "```c\ncat > k.c <<\\EOF\n" K "EOF\n```", "```bash\ncat > a.h <<'A'\nint a;\nA\ncat > k.c <<'B'\n" K "B\n```",
      "$ cat > k.c << 'EOF'\n" K "EOF\n$ cc k.c\n",
      // a notebook's cell, a script's string
      "```python\n%%writefile k.c\n" K "```", "```python\ncode = r'''\n" K "'''\nopen('k.c', 'w').write(code)\n```",
      "submit(code=\"\"\"\\\n" K "\"\"\")",
      // a patch that adds the file
      "```diff\ndiff --git a/k.c b/k.c\nnew file mode 100644\n--- /dev/null\n+++ b/k.c\n@@ -0,0 +1 @@\n+" K "```",
      "*** Begin Patch\n*** Add File: a.h\n+int a;\n*** Add File: k.c\n+" K "*** End Patch\n",
      // elements, and CDATA in them
      "<file path=\"k.c\"><![CDATA[\n" K "]]></file>",
      "<answer><plan>assay_kernel loops</plan><source><![CDATA[" K "]]></source></answer>",
      "<write><path>k.c</path><content>" K "</content></write>",
      "<calls>\n<invoke name=\"w\">\n<parameter name=\"content\">" K "</parameter>\n</invoke>\n</calls>",
      "<tool_call>\n<function=w>\n<parameter=content>\n" K "</parameter>\n</function>\n</tool_call>",
      "<tool_call>w\n<arg_key>content</arg_key>\n<arg_value>" K "</arg_value>\n</tool_call>",
      // JSON: a name of its own, arguments in a string, ends of lines as they are, and written twice
      "{\"note\": \"assay_kernel\\nloops\", \"kernel.c\": \"void assay_kernel() {}\\n\"}",
      "```json\n{\"files\": {\"k.c\": \"void assay_kernel() {}\\n\"}}\n```",
      "{\"tool_calls\": [{\"function\": {\"name\": \"w\", \"arguments\": \"{\\\"code\\\": \\\"void assay_kernel() "
      "{}\\\\n\\\"}\"}}]}",
      "{\"code\": \"" K "\"}", "{\"code\": \"void assay_kernel() {}\\\\n\"}",
      "{\"role\": \"user\", \"content\": \"int assay_kernel;\"} {\"role\": \"assistant\", \"content\": \"void "
      "assay_kernel() {}\\n\"}",
      // an agent's events: the last counts, and what a tool or a user said does not
      "{\"type\": \"assistant\", \"message\": {\"role\": \"assistant\", \"content\": [{\"type\": \"text\", \"text\": "
      "\"```c\\nvoid assay_kernel() {;}\\n```\"}]}}\n{\"type\": \"assistant\", \"message\": {\"content\": [{\"type\": "
      "\"text\", \"text\": \"{so}\\n```c\\nvoid assay_kernel() {}\\n```\"}]}}\n{\"type\": \"user\", \"message\": "
      "{\"role\": "
      "\"user\", \"content\": [{\"type\": \"tool_result\", \"content\": \"void assay_kernel() {\\n}\"}]}}\n",
      "{\"type\": \"item.completed\", \"item\": {\"type\": \"agent_message\", \"text\": \"It works :)\\n```c\\nvoid "
      "assay_kernel() "
      "{}\\n```\"}}\n{\"type\": \"turn.completed\", \"usage\": {}}",
      "{\"type\": \"assistant\", \"input\": {\"content\": \"void assay_kernel() {}\\n\"}}\n{\"type\": \"result\", "
      "\"result\": "
      "\"assay_kernel works.\\n```bash\\ncc k.c\\n```\"}",
      "{\"type\": \"result\", \"result\": \"void assay_kernel() {}\\n\"}\n{\"type\": \"tool_result\", \"content\": "
      "\"void "
      "assay_kernel() {\\n}\\n\"}",
      "[{\"type\": \"tool_use\", \"input\": {\"file_text\": \"void assay_kernel() {}\\n\"}}]"};
  for (size_t i = 0; i < sizeof same / sizeof *same; i++)
    expect(same[i], MODEL_FINISH_STOP, MODEL_CODE, K);
  expect("{\"code\": [\"void assay_kernel() {\", \"}\"]}", MODEL_FINISH_STOP, MODEL_CODE, "void assay_kernel() {\n}\n");
  static const char module[] = "import torch\n\nclass ModelNew:\n    pass\n";
  static const char members[] =
      "{\"note\": \"ModelNew is\\na class\", \"file\": \"import torch\\n\\nclass ModelNew:\\n    pass\\n\", \"why\": "
      "\"ModelNew will import \\nless\"}";
  struct model_extract x = extract_n(members, strlen(members), MODEL_FINISH_STOP, false);
  assert_int_equal(x.what, MODEL_CODE);
  assert_string_equal(buf_str(&x.code), module);
  model_extract_release(&x);
  expect("{\"code\": \"```c\\nvoid assay_kernel() {}\\n```\\nRun it:\\n```bash\\ncc k.c\\n```\"}", MODEL_FINISH_STOP,
         MODEL_CODE, K);
  // What a shell makes of a document, where that is known.
  expect("```bash\ncat > k.c <<EOF\n// \\$ \\\\ 100$\n" K "EOF\n```", MODEL_FINISH_STOP, MODEL_CODE,
         "// $ \\ 100$\n" K);
  // Text like it that is the program's own.
  expect("```c\n// cat > k.c <<EOF\n" K "```", MODEL_FINISH_STOP, MODEL_CODE, "// cat > k.c <<EOF\n" K);
  expect("```c\n" K "char *s = \"<![CDATA[\";\n```", MODEL_FINISH_STOP, MODEL_CODE, K "char *s = \"<![CDATA[\";\n");
  expect("```c\n#include <x.h>\n" K "```\n<b>so</b>", MODEL_FINISH_STOP, MODEL_CODE, "#include <x.h>\n" K);
}

static void numbers_before_lines(void **state) {
  (void)state;
  static const char *const forms[][2] = {{"", ": "},  {" ", " | "}, {"  ", "\t"}, {"", "\xe2\x86\x92"},
                                         {" ", "  "}, {"", ". "},   {"L", ": "},  {"00", "|"}};
  static const char *const lines[] = {"#include <x.h>", "", "void assay_kernel() {", "  if (a)", "    b();", "}"};
  for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
    for (int fenced = 0; fenced < 2; fenced++) {
      char reply[1024] = "", code[1024] = "";
      strcat(reply, fenced ? "```c\n" : "");
      for (int i = 0; i < 6; i++) {
        size_t n = strlen(reply), m = strlen(code);
        snprintf(reply + n, sizeof reply - n, "%s%d%s%s\n", forms[f][0], i + 7, forms[f][1], lines[i]);
        snprintf(code + m, sizeof code - m, "%s\n", lines[i]);
      }
      strcat(reply, fenced ? "```\n" : "");
      expect(reply, MODEL_FINISH_STOP, MODEL_CODE, code);
    }
  // Numbers that do not count lines stay.
  expect("```c\n1: void assay_kernel() {}\n3: x\n```", MODEL_FINISH_STOP, MODEL_CODE,
         "1: void assay_kernel() {}\n3: x\n");
}

// There is a file, and what it would be depends on what a shell or a script does.
static void dress_that_is_unclear(void **state) {
  (void)state;
  static const char *const replies[] = {
      "```bash\ncat > k.c <<EOF\n// $HOME\n" K "EOF\n```", "```bash\ncat > k.c <<EOF\n// `date`\n" K "EOF\n```",
      "```python\ncode = '''\n// a\\n\n" K "'''\n```", "```python\ncode = f'''\n" K "'''\n```"};
  for (size_t i = 0; i < sizeof replies / sizeof *replies; i++) {
    struct model_extract x = extract_n(replies[i], strlen(replies[i]), MODEL_FINISH_STOP, true);
    assert_int_equal(x.what, MODEL_NO_CODE);
    assert_non_null(strstr(x.detail, "the file itself is asked for"));
    model_extract_release(&x);
  }
  expect("<p>The entry is <b>assay_kernel</b>, with {braces}.</p>", MODEL_FINISH_STOP, MODEL_NO_CODE, "");
  // Changes without a fence, too, are no file.
  static const char *const changes[] = {
      "--- a/k.c\n+++ b/k.c\n@@ -1,2 +1,2 @@\n void assay_kernel() {\n-  a();\n+  b();\n }\n",
      "<<<<<<< SEARCH\nvoid assay_kernel() { a(); }\n=======\nvoid assay_kernel() { b(); }\n>>>>>>> REPLACE\n",
      "*** Begin Patch\n*** Update File: k.c\n@@\n-a\n+void assay_kernel() {}\n*** End Patch\n"};
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    struct model_extract x = extract_n(changes[i], strlen(changes[i]), MODEL_FINISH_STOP, true);
    assert_int_equal(x.what, MODEL_NO_CODE);
    assert_non_null(strstr(x.detail, "patch"));
    model_extract_release(&x);
  }
}

// --- shipped kernels, as models would hand them over

static void each_line(struct buf *out, const char *text, const char *form) { // %d: the line's number
  int number = 1;
  for (const char *at = text, *end; *at; at = *end ? end + 1 : end, number++) {
    end = strchrnul(at, '\n');
    buf_printf(out, form, number);
    buf_append(out, at, (size_t)(end - at));
    buf_puts(out, "\n");
  }
}

static void put_dress(int dress, const char *code, struct buf *out) {
  static const char *const lines[] = {"%d: ", "%4d | ", "%6d\t", "%4d  ", "+"};
  json_t *j = NULL;
  switch (dress) {
  case 0:
    buf_printf(out, "So:\n```cuda\n%s```\nDone.\n", code);
    return;
  case 1:
    buf_printf(out, "```bash\ncat > k.cu <<'EOF'\n%sEOF\nnvcc k.cu\n```\n", code);
    return;
  case 2:
    buf_printf(out, "<file path=\"k.cu\"><![CDATA[\n%s]]></file>", code);
    return;
  case 3:
    buf_printf(out, "<w>\n<path>k.cu</path>\n<parameter name=\"content\">%s</parameter>\n</w>", code);
    return;
  case 4:
    buf_printf(out, "The file is:\n\n%s\nIt loops over all.\n", code);
    return;
  case 5:
  case 6:
    j = dress == 5 ? json_pack("{s:s, s:s}", "note", "It loops.", "k.cu", code)
                   : json_pack("{s:s, s:{s:s}}", "name", "write", "arguments", "content", code);
    char *text = json_dumps(j, 0);
    buf_puts(out, text);
    free(text);
    json_decref(j);
    return;
  default:
    buf_puts(out, dress == 11 ? "*** Begin Patch\n*** Add File: k.cu\n" : "");
    each_line(out, code, lines[dress - 7]);
    buf_puts(out, dress == 11 ? "*** End Patch\n" : "");
  }
}
enum { DRESSES = 12 };

static char *read_text(const char *path) {
  FILE *f = fopen(path, "r");
  char *text = calloc(1, 1 << 20);
  assert_non_null(f);
  assert_non_null(text);
  assert_true(fread(text, 1, (1 << 20) - 2, f) > 0);
  fclose(f);
  return text;
}

static void shipped_kernels_in_every_dress(void **state) {
  (void)state;
  static const char *const tags[] = {"cuda", "cu", NULL}, *const entries[] = {"assay: launch", "assay_cuda_kernel",
                                                                              NULL};
  const struct model_language cuda = {tags, entries, true}, *const others[] = {&python, NULL};
  glob_t files;
  assert_int_equal(glob(ASSAY_SOURCE_DIR "/kernels/cuda/*.cu", 0, NULL, &files), 0);
  assert_true(files.gl_pathc > 100);
  for (size_t i = 0; i < files.gl_pathc; i++) {
    char *code = read_text(files.gl_pathv[i]);
    for (int dress = 0; dress < DRESSES; dress++) {
      struct buf reply = {0};
      struct model_extract x;
      struct assay_error err = {0};
      put_dress(dress, code, &reply);
      assert_int_equal(model_extract(reply.data, reply.len, MODEL_FINISH_STOP, &cuda, others, &x, &err), ASSAY_OK);
      if (x.what != MODEL_CODE || strcmp(buf_str(&x.code), code) != 0)
        fail_msg("%s in dress %d: %d, %zu bytes of %zu (%s)", files.gl_pathv[i], dress, (int)x.what, x.code.len,
                 strlen(code), x.detail);
      model_extract_release(&x);
      buf_release(&reply);
    }
    free(code);
  }
  globfree(&files);
}

// Long replies that repeat one thing take as long as their length says: none hangs.
static void long_replies_are_quick(void **state) {
  (void)state;
  static const char *const parts[] = {"<think></think>",
                                      "<|channel|>analysis<|channel|>final<|message|>",
                                      "```c\n",
                                      "// a\n",
                                      "{\"code\": ",
                                      "<code>",
                                      "\033[",
                                      "> ```\n",
                                      "/*",
                                      "'",
                                      "&lt;",
                                      "<a>",
                                      "<a></a>",
                                      "<a ",
                                      "cat <<E\n",
                                      "assay_kernel\ncat <<E\n",
                                      "<![CDATA[",
                                      "'''",
                                      "--- /dev/null\n+",
                                      "{\"a\": ",
                                      "1: a\n"};
  enum { BYTES = 512 << 10 };
  char *text = malloc(BYTES + 64);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    size_t n = 0;
    for (; n < BYTES; n += strlen(parts[i]))
      memcpy(text + n, parts[i], strlen(parts[i]));
    memcpy(text + n, "</a>", 4);
    n += 4;
    for (int c = 0; c < 2; c++) {
      char hash[65];
      struct assay_error err = {0};
      struct model_extract x = extract_n(text, n, MODEL_FINISH_STOP, c == 1);
      model_extract_release(&x);
      assert_int_equal(model_code_hash(text, n, c == 0, hash, &err), ASSAY_OK);
    }
  }
  free(text);
}

static void bytes_of_any_kind(void **state) {
  (void)state;
  static const char nul[] = "```c\nvoid assay_kernel() {}\0\n```";
  struct model_extract x = extract_n(nul, sizeof nul - 1, MODEL_FINISH_STOP, true);
  assert_int_equal(x.what, MODEL_CODE);
  assert_int_equal(x.code.len, strlen("void assay_kernel() {}") + 2);
  model_extract_release(&x);
  // Every beginning of a reply is a reply.
  static const char whole[] =
      "<think>a</think>\n~~~c\n\"\\\" '/* " K "~~~\n{\"code\": \"assay_kernel\"}\n```\xff\xc3\n";
  for (size_t n = 0; n < sizeof whole; n++)
    for (int c = 0; c < 2; c++) {
      char *copy = malloc(n + 1); // no byte behind it belongs to it
      memcpy(copy, whole, n);
      x = extract_n(copy, n, MODEL_FINISH_UNKNOWN, c == 1);
      model_extract_release(&x);
      free(copy);
    }
}

static void same_hash(const char *a, const char *b, bool python_code, bool same) {
  char x[65], y[65];
  struct assay_error err = {0};
  assert_int_equal(model_code_hash(a, strlen(a), python_code, x, &err), ASSAY_OK);
  assert_int_equal(model_code_hash(b, strlen(b), python_code, y, &err), ASSAY_OK);
  assert_int_equal(strcmp(x, y) == 0, same);
}

static void layout_does_not_count(void **state) {
  (void)state;
  same_hash("int a = 1; // one\n", "int  a =\n 1; /* two */\n", false, true);
  same_hash("char *s = \"a  b\";", "char *s = \"a b\";", false, false);
  same_hash("#define A 1\nint a;", "#define A 1 int a;", false, false);
  same_hash("// assay: launch a grid=1\n", "// assay: launch a grid=2\n", false, false);
  same_hash("//assay: launch a grid=1\n", "//assay: launch a grid=2\n", false, false);
  same_hash("// assay: launch a grid=1\nint a;", "// assay: launch a grid=1 int a;", false, false);
  same_hash("if x:\n  a()\n\n# note\nb()\n", "if x:\n  a()  \nb()", true, true);
  same_hash("if x:\n  a()\n  b()\n", "if x:\n  a()\nb()", true, false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_block),
      cmocka_unit_test(the_best_block),
      cmocka_unit_test(a_use_is_no_kernel),
      cmocka_unit_test(fences_that_are_missing),
      cmocka_unit_test(no_code),
      cmocka_unit_test(cut_off),
      cmocka_unit_test(thoughts),
      cmocka_unit_test(other_wrappings),
      cmocka_unit_test(without_a_fence),
      cmocka_unit_test(pages_and_parts),
      cmocka_unit_test(marks_of_others),
      cmocka_unit_test(fences_of_other_kinds),
      cmocka_unit_test(in_another_dress),
      cmocka_unit_test(numbers_before_lines),
      cmocka_unit_test(dress_that_is_unclear),
      cmocka_unit_test(shipped_kernels_in_every_dress),
      cmocka_unit_test(long_replies_are_quick),
      cmocka_unit_test(bytes_of_any_kind),
      cmocka_unit_test(layout_does_not_count),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
