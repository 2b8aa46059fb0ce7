// SPDX-License-Identifier: Apache-2.0
// Models behind HTTP: a scripted server plays good replies and every failure that real ones have.
#include <arpa/inet.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/clock.h"
#include "model/client.h"
#include "model/limits.h"
#include "model_server.h"

#define MS ((int64_t)1000000)

static struct model_client_options options_of(struct model_endpoint *e) {
  struct model_client_options o;
  model_client_defaults(&o);
  o.endpoints = e;
  o.n_endpoints = 1;
  o.backoff_ns = 5 * MS;
  o.wait_ns = 0;
  return o;
}

// Asks once. *refused, unless NULL: what the endpoint does not take.
static struct model_reply ask_with(struct model_client_options *o, char *refused) {
  struct assay_error err = {0};
  struct model_client *c;
  struct model_reply r;
  struct buf fields = {0};
  if (model_client_open(o, &c, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  const struct model_request request = {.tag = 3,
                                        .model = "m",
                                        .system = "rules",
                                        .user = "write \"it\"",
                                        .temperature = 0.5,
                                        .max_tokens = 77,
                                        .seed = 9};
  assert_int_equal(model_client_submit(c, &request, &err), ASSAY_OK);
  assert_true(model_client_next(c, -1, &r));
  assert_int_equal(r.tag, 3);
  assert_int_equal(model_client_refused(c, 0, &fields, &err), ASSAY_OK);
  if (refused)
    snprintf(refused, 100, "%s", buf_str(&fields));
  buf_release(&fields);
  model_client_close(c);
  return r;
}

static struct model_reply ask(struct model_server *server, const char *api, bool no_stream) {
  struct model_endpoint e = {.url = server->url, .api = api, .key = "sk-secret", .no_stream = no_stream};
  struct model_client_options o = options_of(&e);
  return ask_with(&o, NULL);
}

#define CHUNK(text)                                                                                                    \
  "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" text "\"},\"finish_reason\":null}]}\n\n"
#define STOP "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
#define FINISH(why) "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"" why "\"}]}\n\n"
#define USAGE                                                                                                          \
  "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":32,\"completion_tokens\":6,\"prompt_tokens_details\":"           \
  "{\"cached_tokens\":8}}}\n\n"
#define DONE "data: [DONE]\n\n"
#define GOOD CHUNK("a\\n") CHUNK("b") STOP USAGE DONE

static void expect_good(struct model_reply *r, const char *text) {
  if (r->failure)
    fail_msg("%s", r->error.message);
  assert_string_equal(buf_str(&r->text), text);
  model_reply_release(r);
}

static void chat_streams(void **state) {
  (void)state;
  // Whole, and in pieces of any size: bytes may be split anywhere, also within a character.
  static const char text[] =
      ": hello\n\ndata: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":null,"
      "\"reasoning_content\":\"hm\"}}]}\r\n\r\n" CHUNK("\xc3\xa9") CHUNK(" \\ud83d\\ude00") STOP USAGE DONE;
  for (size_t piece = 0; piece < 8; piece++) {
    const struct scripted script[] = {{.body = text, .type = "text/event-stream; charset=utf-8", .piece = piece}};
    struct model_server server;
    model_server_start(&server, script, 1);
    struct model_reply r = ask(&server, NULL, false);
    assert_int_equal(r.finish, MODEL_FINISH_STOP);
    assert_int_equal(r.usage.input, 32);
    assert_int_equal(r.usage.cached, 8);
    assert_int_equal(r.usage.output, 6);
    assert_int_equal(r.calls, 1);
    expect_good(&r, "\xc3\xa9 \xf0\x9f\x98\x80");
    assert_string_equal(server.path, "/v1/chat/completions");
    assert_string_equal(server.authorization, "Bearer sk-secret");
    model_server_stop(&server);
  }
}

static void chat_request_is_right(void **state) {
  (void)state;
  const struct scripted script[] = {{.body = GOOD}};
  struct model_server server;
  model_server_start(&server, script, 1);
  struct model_reply r = ask(&server, NULL, false);
  expect_good(&r, "a\nb");
  json_t *j = json_loads(server.bodies[0], 0, NULL);
  assert_non_null(j);
  assert_string_equal(json_string_value(json_object_get(j, "model")), "m");
  assert_int_equal(json_integer_value(json_object_get(j, "max_tokens")), 77);
  assert_int_equal(json_integer_value(json_object_get(j, "max_completion_tokens")), 77);
  assert_int_equal(json_integer_value(json_object_get(j, "seed")), 9);
  assert_true(json_is_true(json_object_get(json_object_get(j, "stream_options"), "include_usage")));
  const json_t *user = json_array_get(json_object_get(j, "messages"), 1);
  assert_string_equal(json_string_value(json_object_get(user, "content")), "write \"it\"");
  assert_null(strstr(server.bodies[0], "sk-secret"));
  json_decref(j);
  model_server_stop(&server);
}

// Every interface takes what came of an answer, and what is said after it.
static void an_answer_is_gone_on_with(void **state) {
  (void)state;
  static const char *const apis[] = {"chat", "messages", "responses"}, *const lists[] = {"messages", "messages",
                                                                                         "input"};
  static const char *const roles[] = {"user", "assistant", "user"}, *const texts[] = {"write", "int a", "go on"};
  for (int i = 0; i < 3; i++) {
    const struct scripted script[] = {{.status = 400, .body = "{}"}};
    struct model_server server;
    struct model_client *c;
    struct assay_error err = {0};
    struct model_reply reply;
    model_server_start(&server, script, 1);
    struct model_endpoint e = {.url = server.url, .api = apis[i]};
    struct model_client_options o = options_of(&e);
    const struct model_request r = {
        .model = "m", .user = texts[0], .partial = texts[1], .more = texts[2], .temperature = NAN};
    assert_int_equal(model_client_open(&o, &c, &err), ASSAY_OK);
    assert_int_equal(model_client_submit(c, &r, &err), ASSAY_OK);
    assert_true(model_client_next(c, -1, &reply));
    model_reply_release(&reply);
    model_client_close(c);
    json_t *j = json_loads(server.bodies[0], 0, NULL), *list = json_object_get(j, lists[i]);
    assert_int_equal(json_array_size(list), 3);
    for (size_t k = 0; k < 3; k++) {
      assert_string_equal(json_string_value(json_object_get(json_array_get(list, k), "role")), roles[k]);
      assert_string_equal(json_string_value(json_object_get(json_array_get(list, k), "content")), texts[k]);
    }
    json_decref(j);
    model_server_stop(&server);
  }
}

static void more_fields_are_sent(void **state) {
  (void)state;
  static const char *const apis[] = {"chat", "messages", "responses"};
  for (int i = 0; i < 3; i++) {
    const struct scripted script[] = {{.status = 400, .body = "{}"}};
    struct model_server server;
    model_server_start(&server, script, 1);
    struct model_endpoint e = {
        .url = server.url, .api = apis[i], .fields = "{\"top_k\": 40, \"stop\": [\"END\"], \"temperature\": 0.25}"};
    struct model_client_options o = options_of(&e);
    struct model_reply r = ask_with(&o, NULL);
    json_t *j = json_loads(server.bodies[0], 0, NULL);
    assert_int_equal(json_integer_value(json_object_get(j, "top_k")), 40);
    assert_int_equal(json_array_size(json_object_get(j, "stop")), 1);
    assert_true(json_real_value(json_object_get(j, "temperature")) == 0.25); // it goes before Assay's own
    assert_string_equal(json_string_value(json_object_get(j, "model")), "m");
    json_decref(j);
    model_reply_release(&r);
    model_server_stop(&server);
  }
}

static void chat_whole(void **state) {
  (void)state;
  const struct scripted script[] = {
      {.body = "{\"choices\":[{\"message\":{\"content\":\"text\"},\"finish_reason\":\"length\"}],"
               "\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2,\"completion_tokens_details\":"
               "{\"reasoning_tokens\":1}}}"},
      {.body = "{\"choices\":[{\"message\":{\"content\":null,\"refusal\":\"no\"},\"finish_reason\":\"stop\"}]}"}};
  struct model_server server;
  model_server_start(&server, script, 2);
  struct model_reply r = ask(&server, "chat", true);
  assert_int_equal(r.finish, MODEL_FINISH_LENGTH);
  assert_int_equal(r.usage.reasoning, 1);
  expect_good(&r, "text");
  r = ask(&server, "chat", true);
  assert_int_equal(r.finish, MODEL_FINISH_REFUSED);
  assert_int_equal(r.usage.input, -1);
  expect_good(&r, "no");
  model_server_stop(&server);
}

static void messages_both_ways(void **state) {
  (void)state;
  const struct scripted script[] = {
      {.body = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":5,"
               "\"cache_read_input_tokens\":7,\"cache_creation_input_tokens\":2,\"output_tokens\":1}}}\n\n"
               "event: ping\ndata: {\"type\":\"ping\"}\n\n"
               "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"x\"}}\n\n"
               "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"code\"}}\n\n"
               "data: "
               "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"max_tokens\"},\"usage\":{\"input_tokens\":5,"
               "\"output_tokens\":"
               "9}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"},
      {.body = "{\"content\":[{\"type\":\"thinking\",\"thinking\":\"x\"},{\"type\":\"text\",\"text\":\"code\"}],"
               "\"stop_reason\":\"end_turn\",\"usage\":{\"input_tokens\":5,\"output_tokens\":9}}"},
      {.body = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}"
               "\n\n"}};
  struct model_server server;
  model_server_start(&server, script, 3);
  struct model_reply r = ask(&server, "messages", false);
  assert_int_equal(r.finish, MODEL_FINISH_LENGTH);
  assert_int_equal(r.usage.input, 14);
  assert_int_equal(r.usage.cached, 7);
  assert_int_equal(r.usage.written, 2);
  assert_int_equal(r.usage.output, 9);
  expect_good(&r, "code");
  assert_string_equal(server.path, "/v1/messages");
  assert_string_equal(server.api_key, "sk-secret");
  r = ask(&server, "messages", true);
  assert_int_equal(r.finish, MODEL_FINISH_STOP);
  expect_good(&r, "code");
  r = ask(&server, "messages", false);
  assert_int_equal(r.failure, MODEL_UNSERVED);
  assert_int_equal(r.calls, 3); // nothing had come, so it was tried again
  assert_non_null(strstr(r.error.message, "busy"));
  model_reply_release(&r);
  model_server_stop(&server);
}

static void responses_both_ways(void **state) {
  (void)state;
  static const char end[] = "{\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"max_output_tokens\"},"
                            "\"output\":[{\"type\":\"reasoning\"},{\"type\":\"message\",\"content\":[{\"type\":"
                            "\"output_text\",\"text\":\"code\"}]}],\"usage\":{\"input_tokens\":5,\"output_tokens\":9,"
                            "\"output_tokens_details\":{\"reasoning_tokens\":4}}}";
  char stream[2048];
  snprintf(stream, sizeof stream,
           "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"code\"}\n\n"
           "event: response.incomplete\ndata: {\"type\":\"response.incomplete\",\"response\":%s}\n\n",
           end);
  const struct scripted script[] = {
      {.body = stream},
      {.body = end},
      {.body = "data: {\"type\":\"response.failed\","
               "\"response\":{\"status\":\"failed\",\"error\":{\"message\":\"broke\"}}}\n\n"},
      {.body = "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[{\"type\":"
               "\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"at once\"}]}]}}\n\n"}};
  struct model_server server;
  model_server_start(&server, script, 4);
  for (int i = 0; i < 2; i++) {
    struct model_reply r = ask(&server, "responses", i == 1);
    assert_int_equal(r.finish, MODEL_FINISH_LENGTH);
    assert_int_equal(r.usage.reasoning, 4);
    expect_good(&r, "code");
  }
  assert_string_equal(server.path, "/v1/responses");
  assert_non_null(strstr(server.bodies[0], "\"store\":false"));
  struct model_reply r = ask(&server, "responses", false);
  assert_non_null(strstr(r.error.message, "broke"));
  model_reply_release(&r);
  r = ask(&server, "responses", false);
  expect_good(&r, "at once"); // no pieces came before the whole
  model_server_stop(&server);
}

#define PART(text)                                                                                                     \
  "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"" text "\"}}\n\n"
#define END(why)                                                                                                       \
  "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"" why "\"},\"usage\":{\"output_tokens\":3}}\n\n"     \
  "data: {\"type\":\"message_stop\"}\n\n"
#define OUTPUT(status, more)                                                                                           \
  "{\"status\":\"" status "\"," more                                                                                   \
  "\"output\":[{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"a\"}]}]}"

#define CALLED(type, arguments)                                                                                        \
  "{\"status\":\"completed\",\"output\":[{\"type\":\"" type "\",\"" arguments "\":\"{}\"}]}"

// How an answer may end, in each vendor's words.
static void ends_are_told_apart(void **state) {
  (void)state;
  static const struct {
    const char *api, *body;
    enum model_failure failure;
    enum model_finish finish;
    const char *text, *message;
  } cases[] = {
      {"messages", PART("a") END("end_turn"), MODEL_ANSWERED, MODEL_FINISH_STOP, "a", ""},
      {"messages",
       "data: "
       "{\"type\":\"content_block_delta\",\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}}\n\n" END(
           "tool_use"),
       MODEL_ANSWERED, MODEL_FINISH_STOP, "{}", ""},
      {"messages", PART("a") END("stop_sequence"), MODEL_ANSWERED, MODEL_FINISH_STOP, "a", ""},
      {"messages", PART("a") END("refusal"), MODEL_ANSWERED, MODEL_FINISH_REFUSED, "a", ""},
      {"messages", PART("a") END("pause_turn"), MODEL_ANSWERED, MODEL_FINISH_LENGTH, "a", ""},
      {"messages", PART("a") END("model_context_window_exceeded"), MODEL_ANSWERED, MODEL_FINISH_LENGTH, "a", ""},
      {"messages", "{\"type\":\"message\",\"content\":[],\"stop_reason\":\"refusal\"}", MODEL_ANSWERED,
       MODEL_FINISH_REFUSED, "", ""},
      {"messages",
       PART(
           "a") "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"broke\"}}\n\n",
       MODEL_UNSERVED, MODEL_FINISH_UNKNOWN, "a", "broke"},
      {"messages", "data: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"long\"}}\n\n",
       MODEL_FAILED, MODEL_FINISH_UNKNOWN, "", "long"},
      {"messages", PART("a"), MODEL_UNSERVED, MODEL_FINISH_UNKNOWN, "a", "no end"},
      {"responses", OUTPUT("completed", ""), MODEL_ANSWERED, MODEL_FINISH_STOP, "a", ""},
      {"responses", OUTPUT("incomplete", "\"incomplete_details\":{\"reason\":\"content_filter\"},"), MODEL_ANSWERED,
       MODEL_FINISH_REFUSED, "a", ""},
      {"responses", OUTPUT("cancelled", ""), MODEL_UNSERVED, MODEL_FINISH_UNKNOWN, "a", "cancelled"},
      {"responses", OUTPUT("in_progress", ""), MODEL_UNSERVED, MODEL_FINISH_UNKNOWN, "a", "no end"},
      {"responses", OUTPUT("failed", "\"error\":{\"code\":\"server_error\",\"message\":\"broke\"},"), MODEL_UNSERVED,
       MODEL_FINISH_UNKNOWN, "", "broke"},
      {"responses", "data: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"broke\",\"param\":null}\n\n",
       MODEL_UNSERVED, MODEL_FINISH_UNKNOWN, "", "broke"},
      {"responses",
       "data: {\"type\":\"response.refusal.delta\",\"delta\":\"no\"}\n\ndata: "
       "{\"type\":\"response.completed\",\"response\":"
       "{\"status\":\"completed\"}}\n\n",
       MODEL_ANSWERED, MODEL_FINISH_REFUSED, "no", ""},
      {"responses",
       "data: {\"type\":\"response.reasoning_summary_text.delta\",\"delta\":\"hm\"}\n\n"
       "data: {\"type\":\"response.output_text.delta\",\"delta\":\"a\"}\n\n",
       MODEL_UNSERVED, MODEL_FINISH_UNKNOWN, "a", "no end"},
      // Tools' calls, which nobody offered: an object, JSON in a string, in pieces, a text of its own.
      {"messages",
       "{\"type\":\"message\",\"content\":[{\"type\":\"tool_use\",\"input\":{\"code\":\"a\"}}],\"stop_reason\":"
       "\"tool_use\"}",
       MODEL_ANSWERED, MODEL_FINISH_STOP, "{\"code\":\"a\"}", ""},
      {"responses", CALLED("function_call", "arguments"), MODEL_ANSWERED, MODEL_FINISH_STOP, "{}", ""},
      {"responses", CALLED("custom_tool_call", "input"), MODEL_ANSWERED, MODEL_FINISH_STOP, "{}", ""},
      {"responses",
       "data: {\"type\":\"response.function_call_arguments.delta\",\"delta\":\"{\"}\n\n"
       "data: {\"type\":\"response.function_call_arguments.delta\",\"delta\":\"}\"}\n\n"
       "data: {\"type\":\"response.completed\",\"response\":" CALLED("function_call", "arguments") "}\n\n",
       MODEL_ANSWERED, MODEL_FINISH_STOP, "{}", ""},
      {"chat", CHUNK("a") FINISH("content_filter") DONE, MODEL_ANSWERED, MODEL_FINISH_REFUSED, "a", ""},
      {"chat", CHUNK("a") FINISH("tool_calls") DONE, MODEL_ANSWERED, MODEL_FINISH_STOP, "a", ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const struct scripted script[] = {{.body = cases[i].body}};
    struct model_server server;
    model_server_start(&server, script, 1);
    struct model_reply r = ask(&server, cases[i].api, false);
    if (r.failure != cases[i].failure || (!r.failure && r.finish != cases[i].finish) ||
        strcmp(buf_str(&r.text), cases[i].text) != 0 || !strstr(r.error.message, cases[i].message))
      fail_msg("%zu: failure %d, %s, \"%s\", \"%s\"", i, (int)r.failure, model_finish_name(r.finish), r.error.message,
               buf_str(&r.text));
    model_reply_release(&r);
    model_server_stop(&server);
  }
  const struct scripted deepseek[] = {
      {.body = "{\"choices\":[{\"message\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}],\"usage\":{"
               "\"prompt_tokens\":9,\"completion_tokens\":1,\"prompt_cache_hit_tokens\":8}}"}};
  struct model_server server;
  model_server_start(&server, deepseek, 1);
  struct model_reply r = ask(&server, NULL, false);
  assert_int_equal(r.usage.cached, 8);
  expect_good(&r, "a");
  model_server_stop(&server);
}

struct failure {
  struct scripted script[3];
  int n;
  enum model_failure failure;
  int calls;
  const char *message, *text; // message: of the error; text: what is kept of the reply
};

static const struct failure failures[] = {
    // A stream without its end, also where the connection ends in good order.
    {{{.body = CHUNK("a") STOP}}, 1, MODEL_UNSERVED, 1, "no end", "a"},
    {{{.body = CHUNK("a"), .drop = true}}, 1, MODEL_UNSERVED, 1, "cut", "a"},
    {{{.body = CHUNK("a") "data: {\"error\":{\"message\":\"overheated\",\"code\":500}}\n\n"}},
     1,
     MODEL_UNSERVED,
     1,
     "overheated",
     "a"},
    {{{.body = "data: {\"choices\":\n\n"}}, 1, MODEL_UNSERVED, 1, "not JSON", ""},
    {{{.body = "<html>hello</html>", .type = "text/html"}}, 1, MODEL_UNSERVED, 1, "not JSON", ""},
    {{{.body = "{\"error\":{\"message\":\"inside a 200\"}}"}}, 1, MODEL_UNSERVED, 1, "inside a 200", ""},
    {{{.body = "{}"}}, 1, MODEL_UNSERVED, 1, "none that this interface has", ""},
    // Retries: storms end, or not; what the server asks for counts; money is never tried again.
    {{{.status = 429, .body = "{\"error\":{\"message\":\"slow down\"}}"},
      {.status = 529, .body = "{}"},
      {.body = GOOD}},
     3,
     MODEL_ANSWERED,
     3,
     "",
     "a\nb"},
    {{{.status = 429, .body = "{}", .header = "Retry-After", .value = "0.01"}, {.body = GOOD}},
     2,
     MODEL_ANSWERED,
     2,
     "",
     "a\nb"},
    {{{.status = 429, .body = "{}", .header = "retry-after-ms", .value = "10"}, {.body = GOOD}},
     2,
     MODEL_ANSWERED,
     2,
     "",
     "a\nb"},
    {{{.status = 503, .body = "{\"error\":{\"message\":\"Loading model\"}}"}},
     1,
     MODEL_UNSERVED,
     3,
     "Loading model",
     ""},
    {{{.status = 500, .body = "{}", .header = "x-should-retry", .value = "false"}},
     1,
     MODEL_UNSERVED,
     1,
     "status 500",
     ""},
    {{{.status = 429, .body = "{\"error\":{\"message\":\"pay\",\"code\":\"insufficient_quota\"}}"}},
     1,
     MODEL_ENDED,
     1,
     "no money",
     ""},
    {{{.status = 429,
       .body = "{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"x\",\"details\":{"
               "\"error_code\":\"enforced_spend_limit_reached\"}}}"}},
     1,
     MODEL_ENDED,
     1,
     "no money",
     ""},
    {{{.status = 429, .body = "{\"error\":{\"message\":\"Rate limit exceeded: free-models-per-day\",\"code\":429}}"}},
     1,
     MODEL_ENDED,
     1,
     "quota left",
     ""},
    {{{.status = 429,
       .body = "{\"error\":{\"message\":\"Rate limit reached on requests per day (RPD): Limit 9. Please try again in "
               "8.6s.\",\"code\":\"rate_limit_exceeded\"}}"}},
     1,
     MODEL_UNSERVED,
     3,
     "RPD",
     ""},
    {{{.status = 402, .body = "{\"error\":{\"type\":\"billing_error\",\"message\":\"pay\"}}"}},
     1,
     MODEL_ENDED,
     1,
     "no money",
     ""},
    // What the user can put right.
    {{{.status = 401, .body = "{\"error\":{\"message\":\"wrong key sk-secret\"}}"}},
     1,
     MODEL_ENDED,
     1,
     "--key-env",
     ""},
    {{{.status = 404, .body = "{\"error\":{\"message\":\"no model m\"}}"}}, 1, MODEL_ENDED, 1, "--model", ""},
    {{{.status = 400, .body = "{\"error\":{\"message\":\"too much\",\"type\":\"exceed_context_size_error\"}}"}},
     1,
     MODEL_FAILED,
     1,
     "too long for the model",
     ""},
    {{{.status = 301, .body = "", .header = "Location", .value = "http://127.0.0.1:1/"}},
     1,
     MODEL_ENDED,
     1,
     "redirects",
     ""},
    {{{.status = 400, .body = "not JSON \033[31m"}}, 1, MODEL_FAILED, 1, "not JSON", ""},
    // The end in another dress: a space, no blank line, a connection that is cut after it, more after it.
    {{{.body = CHUNK("a") "data:[DONE] \n\n"}}, 1, MODEL_ANSWERED, 1, "", "a"},
    {{{.body = CHUNK("a") "data: [DONE]"}}, 1, MODEL_ANSWERED, 1, "", "a"},
    {{{.body = CHUNK("a") "data: [DONE]\r\n"}}, 1, MODEL_ANSWERED, 1, "", "a"},
    {{{.body = CHUNK("a") DONE, .drop = true}}, 1, MODEL_ANSWERED, 1, "", "a"},
    {{{.body = CHUNK("a") DONE CHUNK("b") "data: {\n\n"}}, 1, MODEL_ANSWERED, 1, "", "a"},
    // No end: half of it, and the same words in a reply.
    {{{.body = CHUNK("a") "data: [DO"}}, 1, MODEL_UNSERVED, 1, "no end", "a"},
    {{{.body = CHUNK("[DONE]")}}, 1, MODEL_UNSERVED, 1, "no end", "[DONE]"},
    // A stream whose type says something else, or nothing.
    {{{.body = GOOD, .type = "text/plain; charset=utf-8"}}, 1, MODEL_ANSWERED, 1, "", "a\nb"},
    {{{.body = GOOD, .type = ""}}, 1, MODEL_ANSWERED, 1, "", "a\nb"},
    // Content in parts, of which a thought is one.
    {{{.body = "data: {\"choices\":[{\"delta\":{\"content\":[{\"type\":\"thinking\",\"thinking\":\"x\"},"
               "{\"type\":\"text\",\"text\":\"a\"}]}}]}\n\n" STOP DONE}},
     1,
     MODEL_ANSWERED,
     1,
     "",
     "a"},
    // Answers that broke off, as SGLang, OpenRouter and DeepSeek say it.
    {{{.body = CHUNK("a") FINISH("abort") DONE}}, 1, MODEL_UNSERVED, 1, "because of \"abort\"", "a"},
    {{{.body = CHUNK("a") FINISH("error") DONE}}, 1, MODEL_UNSERVED, 1, "because of \"error\"", "a"},
    {{{.body = CHUNK("a") FINISH("insufficient_system_resource") DONE}}, 1, MODEL_UNSERVED, 1, "resource", "a"},
    // A cap that is too large for the model is not left out: a reply without one has no end that a budget knows of.
    {{{.status = 400,
       .body = "{\"error\":{\"message\":\"max_tokens is too large: 77. This model supports at most 10 completion "
               "tokens\",\"param\":\"max_tokens\"}}"}},
     1,
     MODEL_FAILED,
     1,
     "smaller --max-tokens",
     ""},
    {{{.status = 400, .body = "{\"error\":{\"message\":\"max_tokens: 77 > 10, which is the maximum\"}}"}},
     1,
     MODEL_FAILED,
     1,
     "smaller --max-tokens",
     ""},
    // A field that was not sent cannot be left out.
    {{{.status = 400, .body = "{\"error\":{\"message\":\"Unknown parameter: 'frob'\",\"param\":\"frob\"}}"}},
     1,
     MODEL_FAILED,
     1,
     "'frob'",
     ""},
    // FastAPI's errors.
    {{{.status = 422,
       .body = "{\"detail\":[{\"type\":\"extra_forbidden\",\"loc\":[\"body\",\"seed\"],\"msg\":\"Extra inputs "
               "are not permitted\"}]}"},
      {.body = GOOD}},
     2,
     MODEL_ANSWERED,
     2,
     "",
     "a\nb"},
    {{{.status = 422, .body = "{\"detail\":[{\"loc\":[\"body\",\"user\"],\"msg\":\"field required\"}]}"}},
     1,
     MODEL_FAILED,
     1,
     "user: field required",
     ""},
    {{{.status = 502, .body = "<html><h1>Bad Gateway</h1></html>", .type = "text/html"}, {.body = GOOD}},
     2,
     MODEL_ANSWERED,
     2,
     "",
     "a\nb"},
    // Errors of any length are what their status says.
    {{{.status = 400, .body = "<p>no such thing</p>\n", .type = "text/html", .repeat = 100000}},
     1,
     MODEL_FAILED,
     1,
     "status 400: <p>no such thing",
     ""},
    {{{.status = 500, .body = "<p>broken</p>\n", .type = "text/html", .repeat = 100000}, {.body = GOOD}},
     2,
     MODEL_ANSWERED,
     2,
     "",
     "a\nb"},
    // DeepSeek's and Alibaba's words for a cap that is too large: it used to be left out.
    {{{.status = 400,
       .body =
           "{\"error\":{\"message\":\"Invalid max_tokens value, the valid range of max_tokens is [1, 50]\",\"param\":"
           "null,\"code\":\"invalid_request_error\"}}"}},
     1,
     MODEL_FAILED,
     1,
     "smaller --max-tokens",
     ""},
    {{{.status = 400,
       .body = "{\"error\":{\"message\":\"<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, "
               "50]\"}}"}},
     1,
     MODEL_FAILED,
     1,
     "smaller --max-tokens",
     ""},
    // A prompt that is too long, as xAI, Gemini, Moonshot and Bedrock say it, and LM Studio in a stream.
    {{{.status = 400,
       .body = "{\"error\":\"This model's maximum prompt length is 10 but the request contains 20 tokens.\"}"}},
     1,
     MODEL_FAILED,
     1,
     "too long for the model",
     ""},
    {{{.status = 400,
       .body = "[{\"error\":{\"message\":\"The input token count (20) exceeds the maximum number of tokens\"}}]"}},
     1,
     MODEL_FAILED,
     1,
     "too long for the model",
     ""},
    {{{.status = 400, .body = "{\"error\":{\"message\":\"Your request exceeded model token limit: 10\"}}"}},
     1,
     MODEL_FAILED,
     1,
     "too long for the model",
     ""},
    {{{.status = 400, .body = "{\"message\":\"Input is too long for requested model.\"}"}},
     1,
     MODEL_FAILED,
     1,
     "too long for the model",
     ""},
    {{{.body = "event: error\ndata: {\"error\":{\"message\":\"The number of tokens to keep from the initial prompt is "
               "greater "
               "than the context length.\"}}\n\n"}},
     1,
     MODEL_FAILED,
     1,
     "too long for the model",
     ""},
    // More than a minute's limit is so for ever, though OpenAI says it with 429.
    {{{.status = 429,
       .body = "{\"error\":{\"message\":\"Request too large for m on tokens per min (TPM): Limit 3, Requested 4. The "
               "input or "
               "output tokens must be reduced in order to run successfully.\",\"code\":\"rate_limit_exceeded\"}}"}},
     1,
     MODEL_FAILED,
     1,
     "more than the key may use in a minute",
     ""},
    // Servers that broke: TGI's status, Groq's, LM Studio's.
    {{{.status = 424, .body = "{\"error\":\"Request failed during generation\",\"error_type\":\"generation\"}"},
      {.body = GOOD}},
     2,
     MODEL_ANSWERED,
     2,
     "",
     "a\nb"},
    {{{.status = 498, .body = "{\"error\":{\"code\":\"flex_tier_capacity_exceeded\"}}"}, {.body = GOOD}},
     2,
     MODEL_ANSWERED,
     2,
     "",
     "a\nb"},
    {{{.status = 400, .body = "{\"error\":\"The model has crashed without additional information. (Exit code: 6)\"}"},
      {.body = GOOD}},
     2,
     MODEL_ANSWERED,
     2,
     "",
     "a\nb"},
    // Filters of xAI and Alibaba.
    {{{.status = 403, .body = "{\"code\":\"permission\",\"error\":\"Content violates usage guidelines.\"}"}},
     1,
     MODEL_ANSWERED,
     1,
     "",
     "Content violates usage guidelines."},
    {{{.status = 400,
       .body = "{\"error\":{\"code\":\"data_inspection_failed\",\"message\":\"Input data may be bad.\"}}"}},
     1,
     MODEL_ANSWERED,
     1,
     "",
     "Input data may be bad."},
    // Words that stand in a place of their own are not lost: AWS, Cloudflare, Apigee; of a page its title.
    {{{.status = 400, .body = "{\"Message\":\"User x is not authorized\"}"}}, 1, MODEL_FAILED, 1, "User x is not", ""},
    {{{.status = 400, .body = "{\"success\":false,\"errors\":[{\"code\":7003,\"message\":\"Could not route\"}]}"}},
     1,
     MODEL_FAILED,
     1,
     "Could not route",
     ""},
    {{{.status = 400, .body = "{\"fault\":{\"faultstring\":\"Failed to resolve\"}}"}},
     1,
     MODEL_FAILED,
     1,
     "Failed to",
     ""},
    {{{.status = 400, .body = "<!DOCTYPE html>\n<head><TITLE>400 Bad header</TITLE></head>", .type = "text/html"}},
     1,
     MODEL_FAILED,
     1,
     "status 400: 400 Bad header",
     ""},
    // A member "error" that says nothing is none.
    {{{.body =
           "{\"choices\":[{\"message\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}],\"error\":{\"message\":\"\","
           "\"type\":\"\",\"code\":null}}"}},
     1,
     MODEL_ANSWERED,
     1,
     "",
     "a"},
    {{{.body = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"error\":\"\"}\n\ndata: "
               "{\"choices\":[],\"error\":{}}\n\n" DONE}},
     1,
     MODEL_ANSWERED,
     1,
     "",
     "a"},
    // A little of bad text does not lose a reply.
    {{{.body = CHUNK("a\xff") CHUNK("\\ud800\\u0000b") STOP DONE}},
     1,
     MODEL_ANSWERED,
     1,
     "",
     "a\xef\xbf\xbd\xef\xbf\xbd"},
};

static void failures_are_told_apart(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
    const struct failure *f = &failures[i];
    struct model_server server;
    model_server_start(&server, f->script, f->n);
    struct model_reply r = ask(&server, NULL, false);
    if (r.failure != f->failure || r.calls != f->calls || !strstr(r.error.message, f->message) ||
        strcmp(buf_str(&r.text), f->text) != 0 || server.n_requests != f->calls)
      fail_msg("%zu: failure %d, %d calls, \"%s\", \"%s\"", i, (int)r.failure, r.calls, r.error.message,
               buf_str(&r.text));
    assert_null(strstr(r.error.message, "sk-secret"));
    assert_null(strchr(r.error.message, '\033'));
    model_reply_release(&r);
    model_server_stop(&server);
  }
}

static void refused_fields_are_learned(void **state) {
  (void)state;
  const struct scripted script[] = {
      {.status = 400,
       .body = "{\"error\":{\"message\":\"Unsupported parameter: 'max_tokens' is not supported with this model.\","
               "\"param\":\"max_tokens\",\"code\":\"unsupported_parameter\"}}"},
      {.status = 400, .body = "{\"error\":{\"message\":\"'temperature' does not support 0.5\"}}"},
      {.body = GOOD}};
  struct model_server server;
  char refused[100];
  model_server_start(&server, script, 3);
  struct model_endpoint e = {.url = server.url};
  struct model_client_options o = options_of(&e);
  struct model_reply r = ask_with(&o, refused);
  assert_int_equal(r.calls, 3);
  expect_good(&r, "a\nb");
  assert_string_equal(refused, "temperature,max_tokens");
  assert_null(strstr(server.bodies[2], "\"max_tokens\""));
  assert_null(strstr(server.bodies[2], "\"temperature\""));
  assert_non_null(strstr(server.bodies[2], "\"max_completion_tokens\":77"));
  assert_string_equal(server.authorization, "");
  e.refused = refused; // the next run knows it from the beginning
  r = ask_with(&o, NULL);
  assert_int_equal(r.calls, 1);
  assert_string_equal(server.bodies[3], server.bodies[2]);
  expect_good(&r, "a\nb");
  model_server_stop(&server);
}

// In how many ways servers say that they do not take a field, each in words of its own.
static void refusals_in_many_words(void **state) {
  (void)state;
  static const struct {
    const char *body, *refused;
  } cases[] = {
      {"{\"error\":{\"message\":\"Unrecognized request argument supplied: max_completion_tokens\"}}",
       "max_completion_tokens"},
      {"{\"error\":\"Unknown field \\\"seed\\\" in request\"}", "seed"},
      {"{\"detail\":\"`stream_options` is not supported by this model\"}", "stream_options"},
      {"{\"object\":\"error\",\"message\":\"Extra inputs are not permitted, field: 'temperature', value: 0.5\"}",
       "temperature"},
      {"{\"error\":{\"message\":\"Invalid request: max_tokens and max_completion_tokens are not supported together\"}}",
       "max_tokens"},
      {"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"`temperature` may only be set "
       "to 1 "
       "when thinking is enabled\"}}",
       "temperature"},
      {"{\"object\":\"error\",\"message\":{\"detail\":[{\"type\":\"extra_forbidden\",\"loc\":[\"body\",\"seed\"],"
       "\"msg\":"
       "\"Extra inputs are not permitted\"}]},\"type\":\"invalid_request_error\"}",
       "seed"},
      // Templates without a system's role: Gemma's behind vLLM and llama.cpp, Mistral's.
      {"{\"object\":\"error\",\"message\":\"System role not supported\",\"type\":\"BadRequestError\",\"code\":400}",
       "system"},
      {"{\"error\":{\"code\":400,\"message\":\"Conversation roles must alternate user/assistant/user/assistant/...\"}}",
       "system"},
      {"{\"error\":{\"message\":\"Only user and assistant roles are supported!\",\"code\":400}}", "system"},
      {"{\"error\":{\"code\":400,\"message\":\"Developer instruction is not enabled for models/gemma-3-27b-it\","
       "\"status\":\"INVALID_ARGUMENT\"}}",
       "system"},
      // llama.cpp's, of a template that raises an exception.
      {"{\"error\":{\"code\":500,\"message\":\"\\n------------\\nWhile executing CallExpression at line 5, column 28 "
       "in "
       "source:\\nError: Jinja Exception: System role not supported\",\"type\":\"server_error\"}}",
       "system"},
      // LiteLLM's word for no parameter.
      {"{\"error\":{\"message\":\"litellm.UnsupportedParamsError: anthropic does not support parameters: ['seed'], for "
       "model=m.\",\"type\":\"None\",\"param\":\"None\",\"code\":\"400\"}}",
       "seed"},
      // A model that is not streamed, or not to everybody: OpenAI's, Bedrock's.
      {"{\"error\":{\"message\":\"Your organization must be verified to stream this model.\",\"type\":"
       "\"invalid_request_error\",\"param\":\"stream\",\"code\":\"unsupported_value\"}}",
       "stream"},
      {"{\"message\":\"The model is unsupported for streaming.\"}", "stream"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    unsigned status = strstr(cases[i].body, "\"code\":500") ? 500 : 400; // as the body says, too
    const struct scripted script[] = {{.status = status, .body = cases[i].body}, {.body = GOOD}};
    struct model_server server;
    char refused[100];
    model_server_start(&server, script, 2);
    struct model_endpoint e = {.url = server.url};
    struct model_client_options o = options_of(&e);
    struct model_reply r = ask_with(&o, refused);
    if (r.failure || strcmp(refused, cases[i].refused) != 0)
      fail_msg("%zu: \"%s\", \"%s\"", i, refused, r.error.message);
    expect_good(&r, "a\nb");
    // The system's text is not lost with its role.
    bool has_role = strstr(server.bodies[1], "\"system\""), has_text = strstr(server.bodies[1], "rules");
    if (has_role != (strcmp(refused, "system") != 0) || !has_text)
      fail_msg("%zu: %s", i, server.bodies[1]);
    bool streams = strstr(server.bodies[1], "\"stream\""), counts = strstr(server.bodies[1], "\"stream_options\"");
    if (streams != (strcmp(refused, "stream") != 0) || (counts && !streams))
      fail_msg("%zu: %s", i, server.bodies[1]);
    model_server_stop(&server);
  }
  // A field that is named where nothing is said against it stays.
  const struct scripted script[] = {{.status = 400, .body = "{\"error\":{\"message\":\"the seed of doubt\"}}"}};
  struct model_server server;
  model_server_start(&server, script, 1);
  struct model_reply r = ask(&server, NULL, false);
  assert_int_equal(r.calls, 1);
  model_reply_release(&r);
  model_server_stop(&server);
}

// What other servers answer with 401, 402 and 404 some say with 400 or 200. Nothing more is asked of them.
static void an_end_in_other_words(void **state) {
  (void)state;
  static const struct {
    unsigned status;
    const char *body, *message;
  } cases[] = {
      {400,
       "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"Your credit balance is too "
       "low\"}}",
       "no money"},
      {403, "{\"error\":{\"message\":\"no\",\"code\":\"insufficient_quota\"}}", "no money"},
      {400, "[{\"error\":{\"code\":400,\"message\":\"API key not valid. Please pass a valid API key.\"}}]",
       "key is missing"},
      {400, "{\"error\":{\"message\":\"Model Not Exist\",\"type\":\"invalid_request_error\"}}", "no such model"},
      {400, "{\"error\":{\"message\":\"No models loaded.\",\"param\":\"model\",\"code\":\"model_not_found\"}}",
       "no such model"},
      {200, "{\"error\":\"Unexpected endpoint or method. (POST /chat/completions). Returning 200 anyway\"}",
       "check --model"},
      // Money, as LiteLLM, xAI, Fireworks, Alibaba, Moonshot and OpenRouter (in an answer that was begun) say it.
      {400,
       "{\"error\":{\"message\":\"Budget has been exceeded! Current cost: 10.03, Max budget: 10.0\",\"code\":\"400\"}}",
       "no money"},
      {429, "{\"error\":{\"message\":\"Budget has been exceeded! Current cost: 10.03\",\"code\":\"429\"}}", "no money"},
      {429,
       "{\"code\":\"Some resource has been exhausted\",\"error\":\"Your team x has either used all available credits "
       "or "
       "reached its monthly spending limit.\"}",
       "no money"},
      {403, "{\"code\":\"permission\",\"error\":\"Your newly created team doesn't have any credits or licenses yet.\"}",
       "no money"},
      {412,
       "{\"error\":{\"code\":\"PRECONDITION_FAILED\",\"message\":\"Account x is suspended, possibly due to reaching "
       "the "
       "monthly spending limit\"}}",
       "no money"},
      {400, "{\"error\":{\"code\":\"Arrearage\",\"message\":\"Access denied\",\"type\":\"Arrearage\"}}", "no money"},
      {429,
       "{\"error\":{\"message\":\"Your account is suspended, please check your plan and billing details\",\"type\":"
       "\"exceeded_current_quota_error\"}}",
       "no money"},
      {200, "{\"error\":{\"message\":\"This request requires more credits\",\"code\":402}}", "no money"},
      // No such model: OpenRouter, LiteLLM, Mistral, Together, Bedrock.
      {400, "{\"error\":{\"message\":\"foo/bar is not a valid model ID\",\"code\":400}}", "no such model"},
      {400, "{\"error\":{\"message\":\"Invalid model name passed in model=m.\",\"param\":\"None\",\"code\":\"400\"}}",
       "no such model"},
      {400, "{\"object\":\"error\",\"message\":\"Invalid model: m\",\"type\":\"invalid_model\",\"code\":\"1500\"}",
       "no such model"},
      {400, "{\"error\":{\"message\":\"Unable to access non-serverless model m.\",\"code\":\"model_not_available\"}}",
       "no such model"},
      {400, "{\"message\":\"The provided model identifier is invalid.\"}", "no such model"},
      {407, "<html><title>Who are you?</title></html>", "https_proxy=http://NAME:PASSWORD@HOST:PORT: Who are you?"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const struct scripted script[] = {{.status = cases[i].status, .body = cases[i].body, .type = "application/json"}};
    struct model_server server;
    model_server_start(&server, script, 1);
    struct model_reply r = ask(&server, NULL, false);
    if (r.failure != MODEL_ENDED || r.calls != 1 || !strstr(r.error.message, cases[i].message))
      fail_msg("%zu: %d, %d calls, %s", i, (int)r.failure, r.calls, r.error.message);
    model_reply_release(&r);
    model_server_stop(&server);
  }
}

// An event without an end is not read to its end three times.
static void an_event_without_an_end(void **state) {
  (void)state;
  const struct scripted script[] = {
      {.body = "data: 0123456789012345678901234567890123456789", .type = "text/event-stream", .repeat = 1000000}};
  struct model_server server;
  model_server_start(&server, script, 1);
  struct model_reply r = ask(&server, NULL, false);
  assert_int_equal(r.failure, MODEL_FAILED);
  assert_int_equal(r.calls, 1);
  assert_non_null(strstr(r.error.message, "longer than it may be"));
  model_reply_release(&r);
  model_server_stop(&server);
}

// A reply is not read beyond what its cap on tokens can be, with room to spare: of 77 tokens a megabyte.
static void no_reply_outgrows_its_cap(void **state) {
  (void)state;
#define HUNDRED "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
  const struct scripted script[] = {{.body = CHUNK(HUNDRED), .repeat = 9000, .drop = true},
                                    {.body = CHUNK(HUNDRED), .repeat = 60000}};
  struct model_server server;
  model_server_start(&server, script, 2);
  struct model_reply r = ask(&server, NULL, false);
  assert_int_equal(r.text.len, 900000);
  assert_non_null(strstr(r.error.message, "cut"));
  model_reply_release(&r);
  r = ask(&server, NULL, false);
  assert_int_equal(r.failure, MODEL_FAILED);
  assert_true(r.text.len < 1100000);
  assert_non_null(strstr(r.error.message, "longer than it may be"));
  model_reply_release(&r);
  model_server_stop(&server);
}

// Nor are thoughts without an end, which are tokens too: they used to be read up to 64 times as far.
static void no_thoughts_outgrow_the_cap(void **state) {
  (void)state;
  static const struct {
    const char *api, *event;
  } kinds[] = {
      {"chat", "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"" HUNDRED "\"}}]}\n\n"},
      {"chat", "data: {\"choices\":[{\"delta\":{\"reasoning_content\":null,\"reasoning\":\"" HUNDRED "\"}}]}\n\n"},
      {"messages",
       "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"" HUNDRED
       "\"}}\n\n"},
      {"responses", "data: {\"type\":\"response.reasoning_text.delta\",\"delta\":\"" HUNDRED "\"}\n\n"},
      {"responses", "data: {\"type\":\"response.reasoning_summary_text.delta\",\"delta\":\"" HUNDRED "\"}\n\n"}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    const struct scripted script[] = {{.body = kinds[i].event, .repeat = 9000, .drop = true},
                                      {.body = kinds[i].event, .repeat = 20000}};
    struct model_server server;
    model_server_start(&server, script, 2);
    struct model_reply r = ask(&server, kinds[i].api, false);
    assert_non_null(strstr(r.error.message, "cut"));
    model_reply_release(&r);
    r = ask(&server, kinds[i].api, false);
    assert_int_equal(r.failure, MODEL_FAILED);
    assert_non_null(strstr(r.error.message, "longer than it may be"));
    model_reply_release(&r);
    model_server_stop(&server);
  }
#undef HUNDRED
}

// The key goes to the host that was named alone: where it redirects, nobody is asked.
static void no_redirect_sees_the_key(void **state) {
  (void)state;
  static const unsigned kinds[] = {301, 302, 303, 307, 308};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    struct model_server server, other;
    const struct scripted good[] = {{.body = GOOD}};
    model_server_start(&other, good, 1);
    const struct scripted away[] = {{.status = kinds[i], .body = "", .header = "Location", .value = other.url}};
    model_server_start(&server, away, 1);
    struct model_reply r = ask(&server, NULL, false);
    assert_int_equal(r.failure, MODEL_ENDED);
    assert_non_null(strstr(r.error.message, other.url));
    assert_int_equal(other.n_requests, 0);
    model_reply_release(&r);
    model_server_stop(&server);
    model_server_stop(&other);
  }
}

// Requests that were on their way when the first one was refused learn from their own refusals.
static void requests_under_way_learn_too(void **state) {
  (void)state;
  enum { N = 4 };
  static const char no[] = "{\"error\":{\"message\":\"no\",\"param\":\"temperature\"}}";
  const struct scripted refusal = {.status = 400, .body = no, .piece = 60, .pause_ms = 200}, good = {.body = GOOD};
  const struct scripted script[] = {refusal, refusal, refusal, refusal, good};
  struct model_server server;
  struct assay_error err = {0};
  struct model_client *c;
  model_server_start(&server, script, N + 1);
  struct model_endpoint e = {.url = server.url};
  struct model_client_options o = options_of(&e);
  o.parallel = N;
  assert_int_equal(model_client_open(&o, &c, &err), ASSAY_OK);
  for (int i = 0; i < N; i++) {
    const struct model_request r = {.tag = i, .model = "m", .user = "u", .temperature = 0.5};
    assert_int_equal(model_client_submit(c, &r, &err), ASSAY_OK);
  }
  for (int i = 0; i < N; i++) {
    struct model_reply r;
    assert_true(model_client_next(c, -1, &r));
    assert_int_equal(r.calls, 2);
    expect_good(&r, "a\nb");
  }
  model_client_close(c);
  model_server_stop(&server);
}

static void finishes_are_told_apart(void **state) {
  (void)state;
  static const struct {
    const char *body;
    enum model_finish finish;
  } cases[] = {{CHUNK("a") FINISH("length") DONE, MODEL_FINISH_LENGTH},
               {CHUNK("a") FINISH("MAX_TOKENS") DONE, MODEL_FINISH_LENGTH},
               {CHUNK("a") FINISH("model_length") DONE, MODEL_FINISH_LENGTH},
               {CHUNK("a") FINISH("model_context_window_exceeded") DONE, MODEL_FINISH_LENGTH},
               {CHUNK("a") FINISH("content_filter") DONE, MODEL_FINISH_REFUSED},
               {CHUNK("a") FINISH("RECITATION") DONE, MODEL_FINISH_REFUSED},
               {CHUNK("a") FINISH("tool_calls") DONE, MODEL_FINISH_STOP},
               {CHUNK("a") DONE, MODEL_FINISH_UNKNOWN}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const struct scripted script[] = {{.body = cases[i].body}};
    struct model_server server;
    model_server_start(&server, script, 1);
    struct model_reply r = ask(&server, NULL, false);
    assert_int_equal(r.finish, cases[i].finish);
    expect_good(&r, "a");
    model_server_stop(&server);
  }
}

// Counts that are none: nobody can have had so many tokens, or less than none.
static void counts_are_counts(void **state) {
  (void)state;
  static const char *const counts[] = {"9223372036854775807", "-3", "\"32\"", "null", "1e300"};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    char body[512];
    snprintf(body, sizeof body,
             CHUNK("a") STOP "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":%s,"
                             "\"completion_tokens\":6.0}}\n\n" DONE,
             counts[i]);
    const struct scripted script[] = {{.body = body}};
    struct model_server server;
    model_server_start(&server, script, 1);
    struct model_reply r = ask(&server, NULL, false);
    assert_int_equal(r.usage.input, -1);
    assert_int_equal(r.usage.output, 6);
    expect_good(&r, "a");
    model_server_stop(&server);
  }
}

// What servers make of their counts. Thoughts that only the total has are paid for as output (xAI, Gemini). A prompt of
// no tokens and a text of none were not counted; an empty object after the counts takes nothing away.
static void counts_of_all_kinds(void **state) {
  (void)state;
#define COUNTED(usage) "data: {\"choices\":[],\"usage\":" usage "}\n\n"
  static const struct {
    const char *body;
    int64_t input, output;
  } cases[] = {
      {CHUNK("a") STOP COUNTED("{\"prompt_tokens\":10120,\"completion_tokens\":1499,\"total_tokens\":14428,"
                               "\"completion_tokens_details\":{\"reasoning_tokens\":2809}}") DONE,
       10120, 4308},
      {CHUNK("a") STOP COUNTED("{\"prompt_tokens\":20,\"completion_tokens\":198,\"total_tokens\":623}") DONE, 20, 603},
      {FINISH("length") COUNTED("{\"prompt_tokens\":20,\"completion_tokens\":0,\"total_tokens\":97}") DONE, 20, 77},
      {CHUNK("a") STOP COUNTED("{\"prompt_tokens\":20,\"completion_tokens\":5,\"total_tokens\":25}") DONE, 20, 5},
      {CHUNK("a") STOP COUNTED("{\"prompt_tokens\":20,\"completion_tokens\":5,\"total_tokens\":0}") DONE, 20, 5},
      {CHUNK("a") STOP COUNTED("{\"prompt_tokens\":0,\"completion_tokens\":0,\"total_tokens\":0}") DONE, -1, -1},
      {CHUNK("a") STOP COUNTED("{\"prompt_tokens\":0,\"completion_tokens\":5}") DONE, -1, 5},
      {FINISH("content_filter") COUNTED("{\"prompt_tokens\":9,\"completion_tokens\":0,\"total_tokens\":9}") DONE, 9, 0},
      {COUNTED("{\"prompt_tokens\":9,\"completion_tokens\":0}") CHUNK("a") STOP DONE, 9, -1},
      {CHUNK("a") STOP COUNTED("{\"prompt_tokens\":9,\"completion_tokens\":4}") COUNTED("{}") DONE, 9, 4},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const struct scripted script[] = {{.body = cases[i].body}};
    struct model_server server;
    model_server_start(&server, script, 1);
    struct model_reply r = ask(&server, NULL, false);
    if (r.failure || r.usage.input != cases[i].input || r.usage.output != cases[i].output)
      fail_msg("%zu: %lld, %lld, %s", i, (long long)r.usage.input, (long long)r.usage.output, r.error.message);
    model_reply_release(&r);
    model_server_stop(&server);
  }
#undef COUNTED
}

// All is there, and the connection stays open: nobody waits for it to close.
static void an_end_is_an_end(void **state) {
  (void)state;
  const struct scripted script[] = {{.body = GOOD, .hang = true}};
  struct model_server server;
  model_server_start(&server, script, 1);
  struct model_endpoint e = {.url = server.url};
  struct model_client_options o = options_of(&e);
  o.silence_ns = 100 * MS;
  struct model_reply r = ask_with(&o, NULL);
  assert_int_equal(r.usage.output, 6);
  expect_good(&r, "a\nb");
  model_server_stop(&server);
}

static void packed_answers_are_unpacked(void **state) {
  (void)state;
  static const unsigned char packed[] = {
      0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x4b, 0x49, 0x2c, 0x49, 0xb4, 0x52, 0xa8,
      0x56, 0x4a, 0xce, 0xc8, 0xcf, 0x4c, 0x4e, 0x2d, 0x56, 0xb2, 0x8a, 0xae, 0x56, 0x4a, 0x49, 0xcd, 0x29,
      0x49, 0x54, 0xb2, 0x02, 0x0a, 0xe6, 0xe7, 0x95, 0xa4, 0xe6, 0x95, 0x28, 0x59, 0x29, 0x15, 0x24, 0x26,
      0x67, 0xa7, 0xa6, 0x28, 0xd5, 0xd6, 0xc6, 0xd6, 0x72, 0x71, 0xa5, 0x80, 0xf5, 0x44, 0xbb, 0xf8, 0xfb,
      0xb9, 0xc6, 0x72, 0x71, 0x01, 0x00, 0xa1, 0x9f, 0xe5, 0xa3, 0x42, 0x00, 0x00, 0x00};
  const struct scripted script[] = {{.body = (const char *)packed,
                                     .length = sizeof packed,
                                     .type = "text/event-stream",
                                     .header = "Content-Encoding",
                                     .value = "gzip"}};
  struct model_server server;
  model_server_start(&server, script, 1);
  struct model_reply r = ask(&server, NULL, false);
  expect_good(&r, "packed");
  model_server_stop(&server);
}

// What goes to this machine goes to no proxy, which would see the key.
static void no_proxy_sees_the_key(void **state) {
  (void)state;
  const struct scripted script[] = {{.body = GOOD}};
  struct model_server server, proxy;
  model_server_start(&server, script, 1);
  model_server_start(&proxy, script, 1);
  setenv("http_proxy", proxy.url, 1);
  struct model_reply r = ask(&server, NULL, false);
  unsetenv("http_proxy");
  expect_good(&r, "a\nb");
  assert_int_equal(server.n_requests, 1);
  assert_int_equal(proxy.n_requests, 0);
  model_server_stop(&server);
  model_server_stop(&proxy);
}

// What a server refused costs nothing; of an answer that was cut nobody knows.
static void refusals_are_free(void **state) {
  (void)state;
  const struct scripted script[] = {{.status = 400, .body = "{}"}, {.body = CHUNK("a"), .drop = true}};
  struct model_server server;
  model_server_start(&server, script, 2);
  struct model_reply r = ask(&server, NULL, false);
  assert_int_equal(r.usage.input, 0);
  assert_int_equal(r.usage.output, 0);
  model_reply_release(&r);
  r = ask(&server, NULL, false);
  assert_int_equal(r.usage.input, -1);
  model_reply_release(&r);
  model_server_stop(&server);
}

// A gateway that did not wait for its model: what that did nobody knows, also where a later try is counted.
static void what_a_gateway_gave_up_has_no_known_cost(void **state) {
  (void)state;
  static const unsigned kinds[] = {504, 524};
  for (size_t i = 0; i < 2; i++) {
    const struct scripted script[] = {{.status = kinds[i], .body = "<title>Time-out</title>", .type = "text/html"},
                                      {.body = GOOD},
                                      {.status = kinds[i], .body = "{}"}};
    struct model_server server;
    model_server_start(&server, script, 3);
    struct model_reply r = ask(&server, NULL, false);
    assert_int_equal(r.unknown_calls, 1);
    assert_int_equal(r.usage.output, 6);
    expect_good(&r, "a\nb");
    r = ask(&server, NULL, false);
    assert_int_equal(r.failure, MODEL_UNSERVED);
    assert_int_equal(r.unknown_calls, 3);
    assert_int_equal(r.usage.input, -1);
    model_reply_release(&r);
    model_server_stop(&server);
  }
}

// Anthropic's first event counts a token of output; how many there were is only known at the end.
static void what_was_cut_off_has_no_known_cost(void **state) {
  (void)state;
  const struct scripted script[] = {
      {.body = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":5,"
               "\"output_tokens\":1}}}\n\n"
               "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"code\"}}\n\n"}};
  struct model_server server;
  model_server_start(&server, script, 1);
  struct model_reply r = ask(&server, "messages", false);
  assert_int_equal(r.failure, MODEL_UNSERVED);
  assert_int_equal(r.usage.output, -1);
  model_reply_release(&r);
  model_server_stop(&server);
}

// A raised cap is lowered where the model does not allow it, and remembered; the usual one is the user's.
static void a_raised_cap_is_lowered(void **state) {
  (void)state;
#define NO_MORE(n)                                                                                                     \
  "{\"error\":{\"message\":\"max_tokens is too large: " n                                                              \
  ". This model supports at most 200\",\"param\":\"max_tokens\"}}"
  const struct scripted script[] = {{.status = 400, .body = NO_MORE("800")},
                                    {.status = 400, .body = NO_MORE("400")},
                                    {.body = GOOD},
                                    {.body = GOOD},
                                    {.status = 400, .body = NO_MORE("250")}};
  const struct model_request requests[] = {{.max_tokens = 800, .usual_max_tokens = 100},
                                           {.max_tokens = 400, .usual_max_tokens = 100},
                                           {.max_tokens = 300, .usual_max_tokens = 250}};
  static const int calls[] = {3, 1, 1};
  struct model_server server;
  struct assay_error err = {0};
  struct model_client *c;
  model_server_start(&server, script, 5);
  struct model_endpoint e = {.url = server.url};
  struct model_client_options o = options_of(&e);
  assert_int_equal(model_client_open(&o, &c, &err), ASSAY_OK);
  for (int i = 0; i < 3; i++) {
    struct model_request r = requests[i];
    struct model_reply reply;
    r.model = "m";
    r.user = "u";
    r.temperature = NAN;
    assert_int_equal(model_client_submit(c, &r, &err), ASSAY_OK);
    assert_true(model_client_next(c, -1, &reply));
    assert_int_equal(reply.calls, calls[i]);
    assert_int_equal(reply.failure, i < 2 ? MODEL_ANSWERED : MODEL_FAILED);
    model_reply_release(&reply);
  }
  assert_non_null(strstr(server.bodies[2], "\"max_tokens\":200"));
  assert_non_null(strstr(server.bodies[3], "\"max_tokens\":200"));
  assert_non_null(strstr(server.bodies[4], "\"max_tokens\":250"));
  model_client_close(c);
  model_server_stop(&server);
#undef NO_MORE
}

// A server may echo the key: in an error of any length, where it may be cut off in its middle, and in a reply.
static void an_echoed_key_is_hidden(void **state) {
  (void)state;
  static const char key[] = "sk-0123456789abcdefghij";
  char body[2048], before[512];
  for (int n = 400; n < 512; n++) {
    const struct scripted script[] = {{.status = 400, .body = body}};
    struct model_server server;
    memset(before, 'A', sizeof before);
    snprintf(body, sizeof body, "{\"error\":{\"message\":\"%.*s%s\"}}", n, before, key);
    model_server_start(&server, script, 1);
    struct model_endpoint e = {.url = server.url, .key = key};
    struct model_client_options o = options_of(&e);
    struct model_reply r = ask_with(&o, NULL);
    if (strstr(r.error.message, "sk-0"))
      fail_msg("%d: %s", n, r.error.message);
    model_reply_release(&r);
    model_server_stop(&server);
  }
  const struct scripted script[] = {{.body = CHUNK("You sent sk-01234") CHUNK("56789abcdefghij.") STOP DONE}};
  struct model_server server;
  model_server_start(&server, script, 1);
  struct model_endpoint e = {.url = server.url, .key = key};
  struct model_client_options o = options_of(&e);
  struct model_reply r = ask_with(&o, NULL);
  expect_good(&r, "You sent ***********************.");
  model_server_stop(&server);
}

static void limits_hold(void **state) {
  (void)state;
  const struct scripted script[] = {
      {.body = CHUNK("0123456789"), .repeat = 100000},
      {.body = CHUNK("a"), .hang = true},
      {.body = CHUNK("a"), .repeat = 1000, .pause_ms = 20},
      {.body = ": ping\n\n", .type = "text/event-stream", .repeat = 1000, .pause_ms = 20}};
  static const char *const messages[] = {"longer than it may be", "fell silent", "in time", "fell silent"};
  struct model_server server;
  model_server_start(&server, script, 4);
  for (int i = 0; i < 4; i++) {
    struct model_endpoint e = {.url = server.url};
    struct model_client_options o = options_of(&e);
    o.most_reply_bytes = 100000;
    o.silence_ns = 300 * MS;
    o.whole_ns = i == 2 ? 600 * MS : o.whole_ns;
    struct model_reply r = ask_with(&o, NULL);
    if (r.failure != (i % 2 ? MODEL_UNSERVED : MODEL_FAILED) || !strstr(r.error.message, messages[i]))
      fail_msg("%d: %s", i, r.error.message);
    model_reply_release(&r);
  }
  model_server_stop(&server);
}

// A server that says "not now" worked on nothing: it is waited for beyond the usual retries, as long as is allowed, and
// what it asks for counts. Retries take of what is left to all.
static void a_busy_server_is_waited_for(void **state) {
  (void)state;
  static const struct {
    struct scripted busy;
    int64_t wait_ms;
    long long spare;
    enum model_failure failure;
    int calls;
    const char *message;
  } cases[] = {
      {{.status = 503, .body = "{\"error\":{\"message\":\"Loading model\"}}"}, 60000, 100, MODEL_ANSWERED, 7, ""},
      {{.status = 429, .body = "{}"}, 60000, 100, MODEL_ANSWERED, 7, ""},
      {{.body = "data: {\"error\":{\"message\":\"x\",\"type\":\"overloaded_error\"}}\n\n"},
       60000,
       100,
       MODEL_ANSWERED,
       7,
       ""},
      {{.status = 503, .body = "{}", .header = "Retry-After", .value = "0.01"}, 60000, 100, MODEL_ANSWERED, 7, ""},
      {{.status = 429, .body = "{}", .header = "Retry-After", .value = "3600"},
       60000,
       100,
       MODEL_UNSERVED,
       1,
       "asks to wait 3600 s"},
      {{.status = 429, .body = "{\"error\":{\"message\":\"Rate limit reached. Please try again in 10ms. Visit us\"}}"},
       60000,
       100,
       MODEL_ANSWERED,
       7,
       ""},
      {{.status = 429, .body = "{\"error\":{\"message\":\"too many. Please retry after 86400 seconds.\"}}"},
       60000,
       100,
       MODEL_UNSERVED,
       1,
       "asks to wait 86400 s"},
      {{.status = 503, .body = "{}"}, 20, 100, MODEL_UNSERVED, 3, "--server-wait"},
      {{.status = 503, .body = "{}"}, 60000, 4, MODEL_UNSERVED, 5, "status 503"},
      {{.status = 500, .body = "{}"}, 60000, 100, MODEL_UNSERVED, 3, "status 500"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct scripted script[7] = {[6] = {.body = GOOD}};
    atomic_llong spare = cases[i].spare;
    struct model_server server;
    struct model_client *c;
    struct model_reply r;
    struct assay_error err = {0};
    for (int k = 0; k < 6; k++)
      script[k] = cases[i].busy;
    model_server_start(&server, script, 7);
    struct model_endpoint e = {.url = server.url};
    struct model_client_options o = options_of(&e);
    o.backoff_ns = 4 * MS;
    o.wait_ns = cases[i].wait_ms * MS;
    const struct model_request request = {.model = "m", .user = "u", .temperature = NAN, .spare_calls = &spare};
    assert_int_equal(model_client_open(&o, &c, &err), ASSAY_OK);
    assert_int_equal(model_client_submit(c, &request, &err), ASSAY_OK);
    assert_true(model_client_next(c, -1, &r));
    if (r.failure != cases[i].failure || (r.calls != cases[i].calls && !(i == 7 && r.calls > 3)) ||
        !strstr(r.error.message, cases[i].message))
      fail_msg("%zu: failure %d, %d calls, \"%s\"", i, (int)r.failure, r.calls, r.error.message);
    assert_int_equal(spare, cases[i].spare - (r.calls - 1));
    model_reply_release(&r);
    model_client_close(c);
    model_server_stop(&server);
  }
}

// --- what no library of servers sends: bytes as they are

struct raw_server {
  int fd;
  pthread_t thread;
  const char *answer;
  size_t length;
  bool keeps;   // the connection stays open; a second request on it is taken, and gets no answer
  int requests; // of all connections
  char url[64];
};

// The head of a request, and the body that it announces; false: the client has gone.
static bool raw_read(int c) {
  char request[65536];
  size_t n = 0, all = SIZE_MAX;
  while (n < sizeof request - 1 && n < all) {
    ssize_t got = read(c, request + n, sizeof request - 1 - n);
    if (got <= 0)
      return false;
    n += (size_t)got;
    request[n] = '\0';
    const char *end = strstr(request, "\r\n\r\n"), *length = strcasestr(request, "content-length:");
    all = end && length ? (size_t)(end + 4 - request) + strtoul(length + 15, NULL, 10) : SIZE_MAX;
    all = end && strncmp(request, "CONNECT ", 8) == 0 ? n : all; // of a proxy
  }
  return true;
}

static void *raw_serve(void *arg) {
  struct raw_server *s = arg;
  int c;
  while ((c = accept(s->fd, NULL, NULL)) >= 0) {
    bool asked = raw_read(c);
    s->requests += asked;
    for (size_t at = 0; asked && at < s->length;) {
      ssize_t sent = send(c, s->answer + at, s->length - at < 7 ? s->length - at : 7, MSG_NOSIGNAL);
      if (sent <= 0)
        break;
      at += (size_t)sent;
    }
    s->requests += s->keeps && raw_read(c);
    close(c);
  }
  return NULL;
}

static void raw_start(struct raw_server *s, const char *answer, size_t length) {
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t n = sizeof a;
  *s = (struct raw_server){.fd = socket(AF_INET, SOCK_STREAM, 0), .answer = answer, .length = length};
  assert_int_equal(bind(s->fd, (struct sockaddr *)&a, sizeof a), 0);
  assert_int_equal(listen(s->fd, 8), 0);
  assert_int_equal(getsockname(s->fd, (struct sockaddr *)&a, &n), 0);
  snprintf(s->url, sizeof s->url, "http://127.0.0.1:%d/v1", ntohs(a.sin_port));
  assert_int_equal(pthread_create(&s->thread, NULL, raw_serve, s), 0);
}

static void raw_stop(struct raw_server *s) {
  shutdown(s->fd, SHUT_RDWR);
  pthread_join(s->thread, NULL);
  close(s->fd);
}

#define STREAM_1_0 "HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
#define STREAM_1_1 "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
#define WHOLE(status) "HTTP/1.1 " status "\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
#define MESSAGE(text) "{\"choices\":[{\"message\":{\"content\":\"" text "\"},\"finish_reason\":\"stop\"}]}"

static void servers_of_all_kinds(void **state) {
  (void)state;
  static const struct {
    const char *answer;
    enum model_failure failure;
    const char *text, *message;
  } cases[] = {
      // HTTP/1.0 ends with the connection; chunks may have extensions and trailers; an interim answer may come first.
      {STREAM_1_0 GOOD, MODEL_ANSWERED, "a\nb", ""},
      {STREAM_1_0 CHUNK("a"), MODEL_UNSERVED, "a", "no end"},
      {"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n"
       "Connection: close\r\n\r\n"
       "5;x=y\r\ndata:\r\n9\r\n [DONE]\n\n\r\n0\r\nX-Sum: 1\r\n\r\n",
       MODEL_ANSWERED, "", ""},
      {"HTTP/1.1 100 Continue\r\n\r\n" STREAM_1_1 GOOD, MODEL_ANSWERED, "a\nb", ""},
      // Chunks that are cut in their middle.
      {"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n" CHUNK("a"),
       MODEL_UNSERVED, "a", "cut"},
      {"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n{\"choices\"", MODEL_UNSERVED,
       "", "cut"},
      // Events: comments, ids, CR, several data lines, which are one JSON, an event without data.
      {STREAM_1_1 ": ping\rid: 4\rretry: 10\rdata: {\"choices\":[{\"delta\":\rdata: {\"content\":\"a\"}}]}\r\r: "
                  "ping\r\revent: x\r\rdata: [DONE]\r\r",
       MODEL_ANSWERED, "a", ""},
      {"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n: OPENROUTER PROCESSING\n\n" GOOD, MODEL_ANSWERED, "a\nb", ""},
      // Whole answers: 201, a byte order mark, white space while the model works, the type of a stream.
      {WHOLE("201 Created") MESSAGE("a"), MODEL_ANSWERED, "a", ""},
      {WHOLE("200 OK") "\xef\xbb\xbf" MESSAGE("a"), MODEL_ANSWERED, "a", ""},
      {WHOLE("200 OK") "\n\n   \n" MESSAGE("a") "\n", MODEL_ANSWERED, "a", ""},
      {STREAM_1_1 MESSAGE("a"), MODEL_ANSWERED, "a", ""},
      {STREAM_1_1 "{\"error\":{\"message\":\"overheated\"}}", MODEL_UNSERVED, "", "overheated"},
      // No answer at all: nothing, a page, another server's JSON, another protocol.
      {STREAM_1_1, MODEL_UNSERVED, "", "is empty"},
      {"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n", MODEL_UNSERVED, "", "is empty"},
      {"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<!DOCTYPE html>\n<title>Log in</title>",
       MODEL_UNSERVED, "", "it begins with \"<!DOCTYPE html>"},
      {WHOLE("200 OK") "{\"status\":\"pong\"}", MODEL_UNSERVED, "", "it begins with \"{\"status\":\"pong\"}"},
      {WHOLE("200 OK") "{\"message\":{\"content\":\"a\"},\"done\":true}", MODEL_UNSERVED, "",
       "none that this interface has; check --endpoint and --api: it begins"},
      {"SSH-2.0-OpenSSH_9.2\r\n", MODEL_UNSERVED, "", "cut"},
      {"HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/\r\nConnection: close\r\n\r\n", MODEL_ENDED, "",
       "leads: http://127.0.0.1:1/"},
      {"", MODEL_UNSERVED, "", "cut"},
      // An error in a stream that is the request's own fault is not made again.
      {STREAM_1_1 "data: {\"error\":{\"message\":\"too much\",\"type\":\"invalid_request_error\"}}\n\n", MODEL_FAILED,
       "", "too much"},
      // A tool's call that nobody offered, in pieces, is the answer where there is no text; next to text it is none.
      {STREAM_1_1
       "data: {\"choices\":[{\"delta\":{\"content\":null,\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{"
       "\"name\":\"write\",\"arguments\":\"{\\\"code\"}}]}}]}\n\n"
       "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\\": 1}\"}}]},"
       "\"finish_reason\":\"tool_calls\"}]}\n\n" DONE,
       MODEL_ANSWERED, "{\"code\": 1}", ""},
      {WHOLE("200 OK") "{\"choices\":[{\"message\":{\"content\":\"a\",\"tool_calls\":[{\"function\":{\"arguments\":\"{}"
                       "\"}}]}}]}",
       MODEL_ANSWERED, "a", ""},
      // An event without data is none. Of several choices the one of index 0, wherever it stands.
      {STREAM_1_1 "data:\n\ndata: \n\nevent: x\n\n" GOOD, MODEL_ANSWERED, "a\nb", ""},
      {STREAM_1_1 "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"b\"}},{\"index\":0,\"delta\":{"
                  "\"content\":\"a\"}}]}\n\n" DONE,
       MODEL_ANSWERED, "a", ""},
      {WHOLE("200 OK") "{\"choices\":[{\"index\":1,\"message\":{\"content\":\"b\"}},{\"index\":0,\"message\":{"
                       "\"content\":\"a\"}}]}",
       MODEL_ANSWERED, "a", ""},
      // All of it as one event of a stream; a text instead of a message.
      {STREAM_1_1 "data: " MESSAGE("a") "\n\n" DONE, MODEL_ANSWERED, "a", ""},
      {WHOLE("200 OK") "{\"choices\":[{\"text\":\"a\",\"finish_reason\":\"stop\"}]}", MODEL_ANSWERED, "a", ""},
      {STREAM_1_1
       "data: {\"choices\":[{\"text\":\"a\"}]}\n\ndata: {\"choices\":[{\"text\":\"b\",\"delta\":{}}]}\n\n" DONE,
       MODEL_ANSWERED, "a", ""},
      {WHOLE("200 OK") "{\"choices\":[{\"message\":{\"content\":null,\"function_call\":{\"arguments\":\"{}\"}}}]}",
       MODEL_ANSWERED, "{}", ""},
      // NULs, CR and what is no UTF-8 in the bytes of a stream and of a whole answer.
      {WHOLE("200 OK") MESSAGE("a\\u0000b\xff\xc3("), MODEL_ANSWERED, "a", ""},
      {"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nTrailer: Set-Cookie\r\n"
       "Connection: close\r\n\r\n"
       "6\r\ndata: \r\n1\r\n[\r\n5\r\nDONE]\r\n2\r\n\r\n\r\n2\r\n\r\n\r\n0\r\nSet-Cookie: a\r\nX: 2\r\n\r\n",
       MODEL_ANSWERED, "", ""},
      // A status as an error's code, in a stream: what is busy is waited for (here not), another one is said.
      {STREAM_1_1 "data: {\"error\":{\"code\":502,\"message\":\"Provider returned error\"},\"choices\":[]}\n\n",
       MODEL_UNSERVED, "", "Provider returned error"},
      // Errors that are pages.
      {"HTTP/1.1 403 Forbidden\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<html><title>Just a "
       "moment...</title>",
       MODEL_ENDED, "", "Just a moment"},
      // What is not allowed is not always the key's fault.
      {WHOLE("403 Forbidden") "{\"error\":{\"message\":\"Country not supported\",\"code\":\"unsupported_country\"}}",
       MODEL_ENDED, "", "not allowed (403)"},
      // A filter that refuses the prompt, as Azure and OpenRouter say it, is an answer; the key is not wrong.
      {WHOLE("400 Bad Request") "{\"error\":{\"code\":\"content_filter\",\"message\":\"It was "
                                "filtered.\",\"innererror\":{}}}",
       MODEL_ANSWERED, "It was filtered.", ""},
      {WHOLE("403 Forbidden") "{\"error\":{\"code\":403,\"message\":\"Your input was flagged.\",\"metadata\":{}}}",
       MODEL_ANSWERED, "Your input was flagged.", ""},
      // Pieces of a character in events of their own.
      {STREAM_1_1 CHUNK("\xc3") CHUNK("\xa9") STOP DONE, MODEL_ANSWERED, "\xef\xbf\xbd\xef\xbf\xbd", ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct raw_server server;
    raw_start(&server, cases[i].answer, strlen(cases[i].answer));
    struct model_endpoint e = {.url = server.url};
    struct model_client_options o = options_of(&e);
    struct model_reply r = ask_with(&o, NULL);
    if (r.failure != cases[i].failure || strcmp(buf_str(&r.text), cases[i].text) != 0 ||
        !strstr(r.error.message, cases[i].message))
      fail_msg("%zu: failure %d, \"%s\", \"%s\"", i, (int)r.failure, r.error.message, buf_str(&r.text));
    model_reply_release(&r);
    raw_stop(&server);
  }
}

// A proxy that does not connect: nothing reached the server, so that nothing is paid for.
static void a_proxy_refuses(void **state) {
  (void)state;
  static const struct {
    const char *answer, *message;
  } cases[] = {
      {"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"x\"\r\nContent-Length: "
       "0\r\n\r\n",
       "the proxy asks who you are"},
      {"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", "name the host in no_proxy"}};
  for (size_t i = 0; i < 2; i++) {
    struct raw_server proxy;
    char url[64];
    raw_start(&proxy, cases[i].answer, strlen(cases[i].answer));
    snprintf(url, sizeof url, "%.*s", (int)(strlen(proxy.url) - strlen("/v1")), proxy.url);
    setenv("https_proxy", url, 1);
    struct model_endpoint e = {.url = "https://models.example/v1", .key = "sk-secret"};
    struct model_client_options o = options_of(&e);
    struct model_reply r = ask_with(&o, NULL);
    unsetenv("https_proxy");
    if (r.failure != MODEL_ENDED || !strstr(r.error.message, cases[i].message))
      fail_msg("%zu: %d, %s", i, (int)r.failure, r.error.message);
    assert_int_equal(r.unknown_calls, 0);
    assert_int_equal(r.usage.input, 0);
    model_reply_release(&r);
    raw_stop(&proxy);
  }
}

// libcurl sends a request again by itself where a connection that was used before breaks: what the server got would not
// be in the books.
static void every_request_is_a_call(void **state) {
  (void)state;
  static const char answer[] =
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 64\r\n\r\n" MESSAGE("a");
  struct raw_server server;
  struct assay_error err = {0};
  struct model_client *c;
  int calls = 0;
  raw_start(&server, answer, strlen(answer));
  server.keeps = true;
  struct model_endpoint e = {.url = server.url, .no_stream = true};
  struct model_client_options o = options_of(&e);
  assert_int_equal(model_client_open(&o, &c, &err), ASSAY_OK);
  for (int i = 0; i < 3; i++) {
    const struct model_request request = {.model = "m", .system = "", .user = "u", .temperature = NAN};
    struct model_reply r;
    assert_int_equal(model_client_submit(c, &request, &err), ASSAY_OK);
    assert_true(model_client_next(c, -1, &r));
    calls += r.calls;
    expect_good(&r, "a");
  }
  model_client_close(c);
  raw_stop(&server);
  assert_int_equal(calls, 3);
  assert_int_equal(server.requests, 3);
}

static void nobody_listens(void **state) {
  (void)state;
  struct model_server server;
  const struct scripted script[] = {{.body = GOOD}};
  model_server_start(&server, script, 1);
  char url[64];
  snprintf(url, sizeof url, "%s", server.url);
  model_server_stop(&server); // the port is free again
  struct model_endpoint e = {.url = url};
  struct model_client_options o = options_of(&e);
  struct model_reply r = ask_with(&o, NULL);
  assert_int_equal(r.failure, MODEL_ENDED);
  assert_int_equal(r.calls, 3);
  assert_non_null(strstr(r.error.message, "cannot be reached"));
  model_reply_release(&r);
}

static void many_streams_at_once(void **state) {
  (void)state;
  enum { N = 64 };
  const struct scripted script[] = {{.body = GOOD, .piece = 40, .pause_ms = 1}};
  struct model_server server;
  struct assay_error err = {0};
  struct model_client *c;
  model_server_start(&server, script, 1);
  struct model_endpoint e = {.url = server.url};
  struct model_client_options o = options_of(&e);
  o.parallel = N;
  assert_int_equal(model_client_open(&o, &c, &err), ASSAY_OK);
  for (int i = 0; i < N; i++) {
    const struct model_request r = {.tag = i, .model = "m", .user = "u", .temperature = NAN};
    assert_int_equal(model_client_submit(c, &r, &err), ASSAY_OK);
  }
  for (int i = 0; i < N; i++) {
    struct model_reply r;
    assert_true(model_client_next(c, -1, &r));
    expect_good(&r, "a\nb");
  }
  model_client_close(c);
  model_server_stop(&server);
}

// A request that waits to be sent again holds up nobody, also where one at a time is under way.
static void who_waits_takes_no_place(void **state) {
  (void)state;
  const struct scripted script[] = {{.status = 500, .body = "{}"}, {.body = GOOD}};
  struct model_server server;
  struct assay_error err = {0};
  struct model_client *c;
  model_server_start(&server, script, 2);
  struct model_endpoint e = {.url = server.url};
  struct model_client_options o = options_of(&e);
  o.parallel = 1;
  o.backoff_ns = 400 * MS;
  assert_int_equal(model_client_open(&o, &c, &err), ASSAY_OK);
  for (int i = 0; i < 4; i++) {
    const struct model_request r = {.tag = i, .model = "m", .user = "u", .temperature = NAN};
    assert_int_equal(model_client_submit(c, &r, &err), ASSAY_OK);
  }
  static const int order[] = {1, 2, 3, 0};
  for (int i = 0; i < 4; i++) {
    struct model_reply r;
    assert_true(model_client_next(c, -1, &r));
    assert_int_equal(r.tag, order[i]);
    assert_int_equal(r.calls, order[i] ? 1 : 2);
    expect_good(&r, "a\nb");
  }
  model_client_close(c);
  model_server_stop(&server);
}

// Of several endpoints one that says nothing takes its own part of the places, and all are the others' once it is left.
static void who_hangs_takes_its_part(void **state) {
  (void)state;
  enum { HUNG = 6, GOOD_ONES = 12 };
  const struct scripted hung[] = {{.body = CHUNK("a"), .hang = true}}, good[] = {{.body = GOOD}};
  struct model_server servers[2];
  struct assay_error err = {0};
  struct model_client *c;
  model_server_start(&servers[0], hung, 1);
  model_server_start(&servers[1], good, 1);
  struct model_endpoint e[] = {{.url = servers[0].url}, {.url = servers[1].url}};
  struct model_client_options o = options_of(e);
  o.n_endpoints = 2;
  o.parallel = 4;
  assert_int_equal(model_client_open(&o, &c, &err), ASSAY_OK);
  for (int i = 0; i < HUNG + GOOD_ONES; i++) {
    const struct model_request r = {.tag = i, .endpoint = i >= HUNG, .model = "m", .user = "u", .temperature = NAN};
    assert_int_equal(model_client_submit(c, &r, &err), ASSAY_OK);
  }
  for (int i = 0; i < GOOD_ONES; i++) {
    struct model_reply r;
    assert_true(model_client_next(c, 10000 * MS, &r));
    assert_true(r.tag >= HUNG);
    expect_good(&r, "a\nb");
  }
  assert_int_equal(servers[0].n_requests, 2);
  model_client_leave(c, 1);
  for (int i = 0; i < 100 && servers[0].n_requests < 4; i++)
    usleep(20000);
  assert_int_equal(servers[0].n_requests, 4);
  model_client_close(c);
  model_server_stop(&servers[0]);
  model_server_stop(&servers[1]);
}

struct books {
  int calls[4], unknown[4], n;
  enum assay_status status;
};

static enum assay_status write_books(void *arg, const struct model_request *r, int calls, int unknown,
                                     struct assay_error *err) {
  struct books *b = arg;
  assert_int_equal(r->tag, 5);
  b->calls[b->n] = calls;
  b->unknown[b->n++] = unknown;
  return b->status ? error_set(err, b->status, "the books are full") : ASSAY_OK;
}

// Who asked hears of each retry before it is sent; where it cannot be written down, nothing is sent.
static void retries_are_told(void **state) {
  (void)state;
  const struct scripted script[] = {{.status = 500, .body = "{}"}, {.body = "", .drop = true}, {.body = GOOD}};
  for (int i = 0; i < 2; i++) {
    struct books books = {.status = i ? ASSAY_ERR_IO : ASSAY_OK};
    struct model_server server;
    struct assay_error err = {0};
    struct model_client *c;
    struct model_reply reply;
    model_server_start(&server, script, 3);
    struct model_endpoint e = {.url = server.url};
    struct model_client_options o = options_of(&e);
    const struct model_request r = {
        .tag = 5, .model = "m", .user = "u", .temperature = NAN, .again = write_books, .again_arg = &books};
    assert_int_equal(model_client_open(&o, &c, &err), ASSAY_OK);
    assert_int_equal(model_client_submit(c, &r, &err), ASSAY_OK);
    assert_true(model_client_next(c, -1, &reply));
    assert_int_equal(books.n, i ? 1 : 2);
    assert_int_equal(books.calls[0], 2);
    assert_int_equal(books.unknown[0], 0);
    assert_int_equal(server.n_requests, i ? 1 : 3);
    if (i) {
      assert_int_equal(reply.failure, MODEL_UNSERVED);
      assert_non_null(strstr(reply.error.message, "the books are full"));
      model_reply_release(&reply);
    } else {
      assert_int_equal(books.calls[1], 3);
      assert_int_equal(books.unknown[1], 1); // it had reached the server
      assert_int_equal(reply.unknown_calls, 1);
      expect_good(&reply, "a\nb");
    }
    model_client_close(c);
    model_server_stop(&server);
  }
}

// What used up its limits is not asked until they are over; what has something left is asked at once.
static void limits_of_the_server_hold_back(void **state) {
  (void)state;
  static const char *const left[] = {"0", "5"}, *const reset[] = {"350ms", "59s"};
  for (int i = 0; i < 2; i++) {
    const struct scripted script[] = {{.body = GOOD,
                                       .header = "x-ratelimit-remaining-requests",
                                       .value = left[i],
                                       .header2 = "x-ratelimit-reset-requests",
                                       .value2 = reset[i]},
                                      {.body = GOOD}};
    struct model_server server;
    struct assay_error err = {0};
    struct model_client *c;
    model_server_start(&server, script, 2);
    struct model_endpoint e = {.url = server.url};
    struct model_client_options o = options_of(&e);
    int64_t replied[2];
    o.parallel = 1;
    assert_int_equal(model_client_open(&o, &c, &err), ASSAY_OK);
    for (int k = 0; k < 2; k++) {
      const struct model_request r = {.tag = k, .model = "m", .user = "u", .temperature = NAN};
      assert_int_equal(model_client_submit(c, &r, &err), ASSAY_OK);
    }
    for (int k = 0; k < 2; k++) {
      struct model_reply r;
      assert_true(model_client_next(c, -1, &r));
      replied[k] = clock_monotonic_ns();
      assert_int_equal(r.calls, 1);
      expect_good(&r, "a\nb");
    }
    assert_true(i == 1 ? replied[1] - replied[0] < 30000 * MS : replied[1] - replied[0] > 300 * MS);
    model_client_close(c);
    model_server_stop(&server);
  }
}

static void resets_are_read(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int64_t ms;
  } cases[] = {{"1s", 1000},
               {"6m0s", 360000},
               {"20ms", 20},
               {"1h0m1.5s", 3601500},
               {"", 0},
               {"5", 0},
               {"-3s", 0},
               {"s", 0},
               {"nan s", 0},
               {"1970-01-01T00:01:40Z", 40000},
               {"1970-01-01T00:00:40Z", 0},
               {"tomorrow", 0},
               {"1e99h", 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    if (limits_wait_ns(cases[i].text, 60000 * MS) != cases[i].ms * MS)
      fail_msg("%s: %lld", cases[i].text, (long long)limits_wait_ns(cases[i].text, 60000 * MS));
  // In words, where there is no header: OpenAI, Groq, Azure, Gemini, LiteLLM.
  static const struct {
    const char *text;
    int64_t ms;
  } words[] = {{"Please try again in 976ms. Visit https://platform.openai.com", 976},
               {"Please try again in 1m2.5s.", 62500},
               {"Please retry after 24 seconds. Go to", 24000},
               {"Please retry in 34.5s.", 34500},
               {"Rate limit is exceeded. Try again in 2 minutes.", 120000},
               {"[{\"details\": [{\"retryDelay\": \"34s\"}]}]", 34000},
               {"{\"retryDelay\":\"1.5s\"}", 1500},
               {"try again in a moment, or retry in 5 s", 5000},
               {"try again in 5", 0},
               {"try again in -5s", 0},
               {"try again in nan s", 0},
               {"try again in 1e99h", 0},
               {"try again later", 0},
               {"", 0}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (limits_in_words_ns(words[i].text) != words[i].ms * MS)
      fail_msg("%s: %lld", words[i].text, (long long)limits_in_words_ns(words[i].text));
}

static void a_prompt_must_be_utf8(void **state) {
  (void)state;
  static const char *const apis[] = {"chat", "messages", "responses"};
  const struct scripted script[] = {{.body = GOOD}};
  for (int i = 0; i < 6; i++) {
    struct model_server server;
    struct assay_error err = {0};
    struct model_client *c;
    struct model_reply r;
    model_server_start(&server, script, 1);
    struct model_endpoint e = {.url = server.url, .api = apis[i % 3]};
    struct model_client_options o = options_of(&e);
    assert_int_equal(model_client_open(&o, &c, &err), ASSAY_OK);
    const struct model_request bad = {
        .model = "m", .system = i < 3 ? "caf\xe9" : "rules", .user = i < 3 ? "write" : "caf\xe9", .temperature = NAN};
    assert_int_equal(model_client_submit(c, &bad, &err), ASSAY_OK);
    assert_true(model_client_next(c, -1, &r));
    assert_int_equal(r.failure, MODEL_FAILED);
    assert_int_equal(r.calls, 0); // nothing was sent, and nothing is paid for
    assert_int_equal(server.n_requests, 0);
    assert_non_null(strstr(r.error.message, "not UTF-8"));
    model_reply_release(&r);
    model_client_close(c);
    model_server_stop(&server);
  }
}

static void endpoints_are_checked(void **state) {
  (void)state;
  static const struct {
    struct model_endpoint e;
    bool fine;
  } cases[] = {{{.url = "https://api.openai.com/v1", .key = "k"}, true},
               {{.url = "http://localhost:8080/v1", .key = "k"}, true},
               {{.url = "http://LOCALHOST:8080/v1", .key = "k"}, true},
               {{.url = "http://[::1]:8080/v1", .key = "k"}, true},
               {{.url = "http://127.0.0.1.example.com/v1", .key = "k"}, false},
               {{.url = "http://localhost.example.com/v1", .key = "k"}, false},
               {{.url = "http://[fe80::1]:8080/v1", .key = "k"}, false},
               {{.url = "https://host/openai/v1?api-version=3", .key = "k"}, true},
               {{.url = "https://host/v1?key=word@"}, false},
               {{.url = "http://gpu-box:8000/v1"}, true},
               {{.url = "http://gpu-box:8000/v1", .key = "k"}, false},
               {{.url = "https://user:word@host/v1"}, false},
               {{.url = "ftp://host/v1"}, false},
               {{.url = "api.openai.com"}, false},
               {{.url = "https://host/v1", .api = "telepathy"}, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct assay_error err = {0};
    assert_int_equal(model_endpoint_check(&cases[i].e, &err), cases[i].fine ? ASSAY_OK : ASSAY_ERR_USAGE);
    assert_null(strstr(err.message, "word@"));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(chat_streams),
      cmocka_unit_test(chat_request_is_right),
      cmocka_unit_test(an_answer_is_gone_on_with),
      cmocka_unit_test(more_fields_are_sent),
      cmocka_unit_test(chat_whole),
      cmocka_unit_test(messages_both_ways),
      cmocka_unit_test(responses_both_ways),
      cmocka_unit_test(failures_are_told_apart),
      cmocka_unit_test(ends_are_told_apart),
      cmocka_unit_test(a_busy_server_is_waited_for),
      cmocka_unit_test(servers_of_all_kinds),
      cmocka_unit_test(refused_fields_are_learned),
      cmocka_unit_test(refusals_in_many_words),
      cmocka_unit_test(an_end_in_other_words),
      cmocka_unit_test(an_event_without_an_end),
      cmocka_unit_test(no_reply_outgrows_its_cap),
      cmocka_unit_test(no_thoughts_outgrow_the_cap),
      cmocka_unit_test(no_redirect_sees_the_key),
      cmocka_unit_test(requests_under_way_learn_too),
      cmocka_unit_test(finishes_are_told_apart),
      cmocka_unit_test(counts_are_counts),
      cmocka_unit_test(counts_of_all_kinds),
      cmocka_unit_test(an_end_is_an_end),
      cmocka_unit_test(packed_answers_are_unpacked),
      cmocka_unit_test(no_proxy_sees_the_key),
      cmocka_unit_test(refusals_are_free),
      cmocka_unit_test(what_a_gateway_gave_up_has_no_known_cost),
      cmocka_unit_test(what_was_cut_off_has_no_known_cost),
      cmocka_unit_test(a_raised_cap_is_lowered),
      cmocka_unit_test(an_echoed_key_is_hidden),
      cmocka_unit_test(limits_hold),
      cmocka_unit_test(a_proxy_refuses),
      cmocka_unit_test(every_request_is_a_call),
      cmocka_unit_test(nobody_listens),
      cmocka_unit_test(many_streams_at_once),
      cmocka_unit_test(who_waits_takes_no_place),
      cmocka_unit_test(who_hangs_takes_its_part),
      cmocka_unit_test(retries_are_told),
      cmocka_unit_test(limits_of_the_server_hold_back),
      cmocka_unit_test(resets_are_read),
      cmocka_unit_test(a_prompt_must_be_utf8),
      cmocka_unit_test(endpoints_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
