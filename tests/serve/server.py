# SPDX-License-Identifier: Apache-2.0
"""A server under test, and a client for it: what the tests of `assay serve` share."""
import atexit
import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import time

TASK = "kernelbench/1/19"


def relu(mark):
    """A kernel, right, that nobody has submitted before."""
    return ("#include <assay/candidate.h>\nvoid assay_kernel(const struct assay_args *args) {\n"
            "  const float *x = args->inputs[0].data;\n  float *y = args->outputs[0].data;\n"
            "  int64_t n = assay_count(&args->inputs[0]);\n  for (int64_t i = 0; i < n; i++)\n"
            f"    y[i] = x[i] < 0 ? 0 : x[i]; // {mark}\n}}\n")


def submission(*marks, **more):
    """A light judgement: one check, no probes, no times."""
    body = {"task": TASK, "settings": {"timing": False, "probes": False, "checks": 1},
            "candidates": [{"name": "relu.c", "source": relu(m)} for m in marks]}
    body.update(more)
    return body


class Server:
    def __init__(self, assay, folder, *options, tokens=("me",)):
        self.assay, self.folder, self.options, self.tokens = assay, pathlib.Path(folder), options, {}
        self.token_file = self.folder / "tokens"
        self.log_path = self.folder / "log"
        for name in tokens:
            made = subprocess.run([assay, "serve", "--token-file", self.token_file, "--add-token", name], check=True,
                                  capture_output=True, text=True)
            self.tokens[name] = made.stdout.strip()
        self.start()

    def start(self):
        command = [self.assay, "serve", "--store", self.folder / "store.sqlite", "--port", "0", "--devices", "cpu",
                   *self.options]
        if self.tokens:
            command += ["--token-file", self.token_file]
        with open(self.log_path, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=self.folder)
        atexit.register(self.process.kill)  # whatever becomes of the test
        line = self.process.stdout.readline()
        found = re.search(r":(\d+)/", line)
        if not found:
            raise RuntimeError(f"the server does not start: {line!r}\n{self.log_path.read_text()}")
        self.port = int(found[1])

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def end(self, expect=0):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=60)
        self.process.stdout.close()
        if code != expect:
            raise RuntimeError(f"the server ended with {code}\n{self.log_path.read_text()}")

    def log(self):
        return self.log_path.read_text(encoding="utf-8")

    def worker(self):
        """The process id of the worker that was started last."""
        started = re.findall(r'"event":"worker_started","pid":(\d+)', self.log())
        return int(started[-1])

    def stop_worker(self):
        """Stops the worker when it has nothing to do, so that jobs wait."""
        while not re.search(r"worker_started", self.log()):
            time.sleep(0.02)
        time.sleep(0.3)
        os.kill(self.worker(), signal.SIGSTOP)

    def go_on(self):
        os.kill(self.worker(), signal.SIGCONT)

    def ask(self, method, path, body=None, token=None, headers=None, timeout=70):
        """(status, headers, JSON or text) of one request on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            return ask(connection, method, path, body, self.tokens.get(token, token), headers)
        finally:
            connection.close()

    def submit(self, *marks, token="me", **more):
        """The jobs of an accepted submission."""
        status, _, answer = self.ask("POST", "/v1/jobs", submission(*marks, **more), token)
        if status not in (200, 202):
            raise RuntimeError(f"{status}: {answer}")
        return answer["jobs"]

    def wait(self, job, seconds=60):
        end = time.monotonic() + seconds
        while True:
            _, _, now = self.ask("GET", f"/v1/jobs/{job['id']}?wait=20")
            if now["state"] in ("done", "cancelled", "given_up") or time.monotonic() > end:
                return now


def ask(connection, method, path, body=None, token=None, headers=None):
    given = dict(headers or {})
    if token:
        given["Authorization"] = f"Bearer {token}"
    if isinstance(body, (dict, list)):
        body = json.dumps(body)
        given.setdefault("Content-Type", "application/json")
    connection.request(method, path, body=body, headers=given)
    response = connection.getresponse()
    text = response.read().decode("utf-8")
    kind = response.headers.get("Content-Type", "")
    return response.status, response.headers, json.loads(text) if "json" in kind and text else text
