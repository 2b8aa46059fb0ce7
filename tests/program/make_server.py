#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A language model's server for the tests: make_server.py FOLDER LOG [CERTIFICATE] writes its port to LOG/port and answers requests to
chat completions with FOLDER's file of the model's name and the request's number ("m.0"), or "last". A model "wrong-key"
gets 401, "missing" 404, "picky" 400 when it is sent a temperature,
"narrow" 400 for any prompt, "busy" 500; "gone" gets 402 and "busy-until-paid" 503 while there is no LOG/paid,
"gpt-4.1@poor" 402 for the rest of a reply; "capped" is refused more than 3,000 tokens and never gets to its code; "gpt-4.1@uncounted"
counts no tokens, "gpt-4.1@broken" leaves out the end of its streams; "stuck" cuts the first request, fails at the second and
says nothing to the third, "forgetful" reads 300 tokens of a prompt, "silent" says nothing to any, "poison" fails at step 1 while there is no LOG/cured, "never" at all. Streams when asked to. A file that begins with "cut N" is a reply that ends after N bytes of the
rest of the file, by the cap on tokens; asked to go on, the server has the files "rest.0", "rest.1"."""
import http.server
import json
import pathlib
import socket
import ssl
import sys
import threading

FOLDER, LOG = map(pathlib.Path, sys.argv[1:3])
counts, lock, QUIET = {}, threading.Lock(), threading.Event()


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def send(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def close_without_answer(self):
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        model = body["model"]
        rest = "rest." if any(m["role"] == "assistant" for m in body["messages"]) else ""
        with lock:
            unpaid = model == "gone" or (rest and model == "gpt-4.1@poor")
            late = (unpaid or model == "busy-until-paid") and not (LOG / "paid").exists()
            n = counts[model, rest] = counts.get((model, rest), -1) + (not late)
            n = f"{rest}{n}"
        (LOG / f"{model}.{n}").write_text(json.dumps(body, indent=1))
        (LOG / "key").write_text(self.headers.get("Authorization", ""))
        if model in ("wrong-key", "missing"):
            status = 401 if model == "wrong-key" else 404
            said = f"no: {self.headers.get('Authorization')}"
            return self.send(status, "application/json", json.dumps({"error": {"message": said}}).encode())
        if model == "picky" and "temperature" in body:
            error = {"message": "Unsupported value", "param": "temperature", "code": "unsupported_value"}
            return self.send(400, "application/json", json.dumps({"error": error}).encode())
        if unpaid and not (LOG / "paid").exists():
            return self.send(402, "application/json", json.dumps({"error": {"message": "pay"}}).encode())
        if model == "busy-until-paid" and not (LOG / "paid").exists():
            return self.send(503, "application/json", json.dumps({"error": {"message": "Loading model"}}).encode())
        if (model == "stuck" and n == "0"):
            return self.close_without_answer()
        if model == "silent" or (model == "stuck" and n == "2"):
            return QUIET.wait(60)
        if (model == "poison" and body.get("seed") == 1 and not (LOG / "cured").exists()) or (model == "stuck" and n == "1"):
            return self.send(500, "text/html", b"<html><head><title>500 Internal Server Error</title></head></html>")
        if model in ("busy", "never"):
            return self.send(500, "application/json", b"{}")
        if model == "narrow":
            error = {"message": "This model's maximum context length is 100 tokens", "code": "context_length_exceeded"}
            return self.send(400, "application/json", json.dumps({"error": error}).encode())
        path = FOLDER / f"{n}"
        text = (path if path.exists() else FOLDER / "last").read_bytes().decode("utf-8", "replace")
        finish = "stop"
        if model == "capped":
            if body["max_tokens"] > 3000:
                said = f"max_tokens is too large: {body['max_tokens']}. This model supports at most 3000 completion tokens"
                return self.send(400, "application/json", json.dumps({"error": {"message": said, "param": "max_tokens"}}).encode())
            text, finish = "Let us see.", "length"
        if text.startswith("cut "):
            head, text = text.split("\n", 1)
            text, finish = text[:int(head[4:])], "length"
        usage = {"prompt_tokens": 1000, "completion_tokens": 100} if model != "gpt-4.1@uncounted" else None
        if model in ("forgetful", "fine"):
            n = sum(len(m["content"].encode()) for m in body["messages"]) // 3
            usage["prompt_tokens"] = min(n, 300) if model == "forgetful" else n
        if not body.get("stream"):
            choice = {"message": {"content": text}, "finish_reason": finish}
            return self.send(200, "application/json", json.dumps({"choices": [choice], "usage": usage}).encode())
        events = [{"choices": [{"delta": {"content": c}}]} for c in text]
        events += [{"choices": [{"delta": {}, "finish_reason": finish}]}, {"choices": [], "usage": usage}]
        stream = "".join(f"data: {json.dumps(e)}\n\n" for e in events) + ("" if model == "gpt-4.1@broken" else "data: [DONE]\n\n")
        return self.send(200, "text/event-stream", stream.encode())


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
if len(sys.argv) > 3:  # a file with a key and a certificate
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[3])
    server.socket = context.wrap_socket(server.socket, server_side=True)
(LOG / "port.new").write_text(str(server.server_address[1]))
(LOG / "port.new").rename(LOG / "port")
server.serve_forever()
