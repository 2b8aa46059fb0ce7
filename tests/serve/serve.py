#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`assay serve` as its clients see it, friendly and hostile.

usage: serve.py ASSAY
"""
import concurrent.futures
import json
import os
import pathlib
import re
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from server import TASK, Server, relu, submission  # noqa: E402

FAULTS = []
CHECKED = []


def check(right, what, *shown):
    CHECKED.append(what)  # by one thread or another
    if not right:
        FAULTS.append(what)
        print("WRONG:", what, *[str(s)[:600] for s in shown])


def is_problem(answer, status, headers, what, says=""):
    right = answer[0] == status and isinstance(answer[2], dict) and answer[2].get("status") == status
    right = right and answer[1]["Content-Type"] == "application/problem+json" and says in answer[2]["detail"]
    check(right and all(answer[1].get(h) for h in headers), what, answer[0], dict(answer[1]), answer[2])


def raw(server, data, seconds=20):
    """What the server sends back for these bytes, until it closes the connection."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=seconds) as s:
        s.sendall(data)
        got = b""
        try:
            while piece := s.recv(65536):
                got += piece
                if b"\r\n\r\n" in got and not data.endswith(b"open"):
                    break
        except (ConnectionResetError, socket.timeout):
            pass
        return got


def status_of(reply):
    found = re.match(rb"HTTP/1.[01] (\d+)", reply)
    return int(found[1]) if found else 0


# --- a value against a schema of the description

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def fits(value, schema, api, where="", faults=None):
    faults = [] if faults is None else faults
    if "$ref" in schema:
        schema = api["components"]["schemas"][schema["$ref"].split("/")[-1]]
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kinds and not any(number and (k == "number" or isinstance(value, int)) if k in ("number", "integer")
                         else isinstance(value, TYPES[k]) for k in kinds):
        faults.append(f"{where} is no {kinds}: {value!r:.80}")
    if "enum" in schema and value not in schema["enum"] or "const" in schema and value != schema["const"]:
        faults.append(f"{where}: {value!r:.80}")
    if "pattern" in schema and not re.search(schema["pattern"], value):
        faults.append(f"{where}: {value!r:.80}")
    if isinstance(value, dict):
        known = schema.get("properties", {})
        faults += [f"{where} lacks {k}" for k in schema.get("required", []) if k not in value]
        if schema.get("additionalProperties") is False:
            faults += [f"{where} has {k}" for k in value if k not in known]
        for k in value:
            fits(value[k], known.get(k, {}), api, f"{where}.{k}", faults)
    if isinstance(value, list):
        for i, item in enumerate(value):
            fits(item, schema.get("items", {}), api, f"{where}[{i}]", faults)
    return faults


def check_description(server):
    """Its examples are true: what it shows as a request is accepted, and answers are as it says."""
    status, headers, api = server.ask("GET", "/v1/openapi.json")
    check(status == 200 and api["openapi"].startswith("3.1"), "the description is there", status)
    examples = 0
    for path, methods in api["paths"].items():
        for method in ("get", "post", "delete"):
            for part in [methods.get(method, {}).get("requestBody"), *methods.get(method, {}).get("responses", {}).values()]:
                for content in (part or {}).get("content", {}).values():
                    if "example" in content:
                        examples += 1
                        check(not fits(content["example"], content["schema"], api), f"the example of {method} {path}",
                              fits(content["example"], content["schema"], api))
    check(examples >= 4, "the description has examples", examples)
    post = api["paths"]["/v1/jobs"]["post"]
    example = post["requestBody"]["content"]["application/json"]["example"]
    status, headers, answer = server.ask("POST", "/v1/jobs", example, "me")
    check(status == 202 and headers["Location"] == "/v1/jobs/" + answer["jobs"][0]["id"], "the example is accepted",
          status, answer)
    check(not fits(answer, api["components"]["schemas"]["Jobs"], api), "jobs are as described",
          fits(answer, api["components"]["schemas"]["Jobs"], api))
    job = server.wait(answer["jobs"][0])
    check(job["state"] == "done" and not fits(job, api["components"]["schemas"]["Job"], api), "a job is as described",
          job)
    status, _, verdict = server.ask("GET", job["verdict"])
    wrong = fits(verdict, api["components"]["schemas"]["Verdict"], api)
    check(status == 200 and verdict["verdict"] == "pass" and not wrong, "a verdict is as described", wrong, verdict)
    check(isinstance(verdict["seed"], str) and verdict["floor_ns"] is None, "seeds are text, what is missing is null")
    check((verdict["category"], verdict["operator_kind"]) == ("single operator", "activation"), "what kind of task it is", verdict)
    check(str(server.folder) not in json.dumps(verdict) and "/tmp" not in json.dumps(verdict), "no paths are published",
          verdict)
    documented = {(m.upper(), p.replace("{id}", "?")) for p, v in api["paths"].items() for m in v if m != "parameters"}
    check(len(documented) == 10, "every route is described", documented)
    return job


def check_reading(server, job):
    path = f"/v1/jobs/{job['id']}"
    status, headers, _ = server.ask("GET", path)
    tag = headers["ETag"]
    check(status == 200 and tag.startswith('"') and headers["X-Content-Type-Options"] == "nosniff" and
          headers["Referrer-Policy"] == "no-referrer" and "default-src 'none'" in headers["Content-Security-Policy"],
          "headers", dict(headers))
    check(server.ask("GET", path, headers={"If-None-Match": f'"x", W/{tag}'})[0] == 304, "304 for a tag that is current")
    check(server.ask("GET", path, headers={"If-None-Match": '"x"'})[0] == 200, "200 for another tag")
    head = server.ask("HEAD", path)
    check(head[0] == 200 and head[2] == "" and int(head[1]["Content-Length"]) > 100, "HEAD", dict(head[1]))
    status, headers, page = server.ask("GET", "/")
    check(status == 200 and job["id"] in page and headers["Content-Type"].startswith("text/html"), "the first page", page)
    check(job["id"] in [j["id"] for j in server.ask("GET", "/v1/jobs")[2]["jobs"]], "the list of jobs")
    check(server.ask("GET", "/healthz")[0] == 200 and server.ask("GET", "/readyz")[0] == 200, "health")
    _, headers, text = server.ask("GET", "/metrics")
    check(headers["Content-Type"].startswith("text/plain; version=0.0.4"), "the type of numbers", headers["Content-Type"])
    for line in text.splitlines():
        check(re.fullmatch(r'# (HELP|TYPE) \w+ .+|\w+(\{\w+="[^"\\]*"(,\w+="[^"\\]*")*\})? -?[0-9.e+]+', line), "numbers",
              line)
    check('assay_jobs_finished_total{reason="pass"} ' in text and "assay_queue_oldest_seconds" in text, "numbers", text)


def check_refusals(server):
    post = lambda body, **more: server.ask("POST", "/v1/jobs", body, more.pop("token", "me"), **more)
    unknown = "0" * 64
    is_problem(server.ask("GET", "/v1/nothing"), 404, [], "no such path")
    is_problem(server.ask("GET", f"/v1/jobs/{unknown}"), 404, [], "no such job")
    is_problem(server.ask("GET", f"/v1/jobs/{unknown}/events"), 404, [], "no such job's events")
    is_problem(server.ask("GET", f"/v1/verdicts/{unknown}"), 404, [], "no such verdict")
    is_problem(server.ask("GET", "/v1/jobs/" + unknown[:-1] + "G"), 404, [], "no identity")
    is_problem(server.ask("DELETE", f"/v1/jobs/{unknown}", token="me"), 404, [], "cancelling what is not there")
    for method in ("PUT", "PATCH", "OPTIONS", "DELETE", "PROPFIND"):
        is_problem(server.ask(method, "/v1/jobs"), 405, ["Allow"], f"{method} of jobs")
    is_problem(server.ask("POST", "/healthz", {}, "me"), 405, ["Allow"], "POST where there is none")
    is_problem(post(submission("x"), token=None), 401, ["WWW-Authenticate"], "no token")
    is_problem(post(submission("x"), token="f" * 64), 401, ["WWW-Authenticate"], "another token")
    bearer = {"Authorization": f"bearer {server.tokens['me']}"}  # the scheme's name has no case
    is_problem(server.ask("POST", "/v1/jobs", {"task": "a/1"}, headers=bearer), 422, [], "a token as another client writes it")
    is_problem(post(submission("x"), headers={"Content-Type": "text/plain"}), 415, [], "another type")
    is_problem(post("{", headers={"Content-Type": "application/json; charset=utf-8"}), 400, [], "no JSON")
    is_problem(post("[" * 5000, headers={"Content-Type": "application/json"}), 413, [], "deep JSON", "nested")
    is_problem(post({"task": "a/1"}), 422, [], "no candidates", "candidates")
    for task in ("../etc/passwd", "/etc/passwd", "kernelbench/1/99999", "kernelbench//19", "a", 7, None):
        is_problem(post(submission("x", task=task)), 422, [], f"task {task!r}", "task")
    for name in ("../relu.c", "/tmp/relu.c", ".c", "-o.c", "a b.c", "relu.exe", "a\n.c", "", "<script>.c", 7):
        is_problem(post(submission(candidates=[{"name": name, "source": ""}])), 422, [], f"name {name!r}")
    for more in ({"workload": "enormous"}, {"workload": "M=\"; --seed 1"}, {"device": "tpu"}, {"device": "cuda"},
                 {"settings": {"compiler": "/bin/sh"}}, {"settings": {"checks": 31}}, {"settings": {"timing": 1}},
                 {"settings": {"rule": "contract|allclose"}}, {"settings": []}, {"candidates": []}, {"extra": 1},
                 {"candidates": [{"name": "relu.c", "source": None}]}, {"candidates": [[]] * 65}):
        is_problem(post(submission("x", **more)), 422, [], str(more)[:60])
    is_problem(post(submission("x", workload="M=1000000, N=1000000")), 422, [], "more than the machine's memory", "8000.0 GB")
    is_problem(post(submission("x" * (1 << 20))), 413, [], "a large source")
    is_problem(post(b"x" * (5 << 20), headers={"Content-Type": "application/json"}), 413, [], "a large body")
    is_problem(server.ask("GET", f"/v1/jobs/{unknown}?wait=long"), 400, [], "wait=long")
    is_problem(server.ask("GET", "/v1/jobs?limit=-1"), 400, [], "limit=-1")
    check(len(server.ask("GET", "/v1/jobs?limit=1")[2]["jobs"]) == 1, "limit=1")


def check_hostile(server):
    ask = lambda target, headers="": status_of(raw(server, f"GET {target} HTTP/1.1\r\nHost: localhost:{server.port}\r\n"
                                                   f"{headers}\r\n".encode()))
    for target in ("/..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/v1/jobs%00", "/v1/jobs/%00", "/..\\..\\x"):
        check(ask(target) == 400, f"target {target}", ask(target))
    for target in ("/../../etc/passwd", "//etc/passwd", "/v1/jobs/../../..", "/" + "a" * 3000, "/v1//jobs", "/v1/jobs/"):
        check(ask(target) == 404, f"target {target[:40]}", ask(target))
    own = f"http://localhost:{server.port}"  # a proxy may send the whole address (RFC 9112, 3.2.2)
    for target, wanted in ((own + "/v1/jobs", 200), (own, 200), (own.upper() + "/v1/jobs", 200), (own + "/v1/nothing", 404),
                           (own + "/..%2f", 400), ("http://evil.example/v1/jobs", 403), ("http:///v1/jobs", 403)):
        check(ask(target) == wanted, f"target {target}", ask(target))
    host = lambda name: status_of(raw(server, f"GET /v1/jobs HTTP/1.1\r\nHost: {name}\r\n\r\n".encode()))
    for name in ("evil.example", "localhost.evil.example", "127.0.0.1.evil", "", "localhost:80x", "[::1", "127.1"):
        check(host(name) in (400, 403), f"host {name!r}", host(name))
    for name in ("localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:8023", "judge.example"):
        check(host(name) == 200, f"host {name}", host(name))
    check(status_of(raw(server, b"GET / HTTP/1.1\r\n\r\n")) in (400, 403), "no host", raw(server, b"GET / HTTP/1.1\r\n\r\n"))
    check(ask("/v1/jobs", "Host: evil.example\r\n") == 400, "two hosts", ask("/v1/jobs", "Host: evil.example\r\n"))
    # A proxy may see another end of such a request: none is taken, and the connection ends.
    for framing in ("Content-Length: 5\r\nTransfer-Encoding: chunked", "Content-Length: 5\r\nContent-Length: 7",
                    "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
                    "Content-Length : 5"):
        post = (f"POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Type: application/json\r\n"
                f"Authorization: Bearer {server.tokens['me']}\r\n{framing}\r\n\r\n0\r\n\r\n")
        then = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n"
        got = raw(server, (post + then).encode())
        check(re.findall(rb"HTTP/1.1 (\d+)", got) == [b"400"], f"unclear: {framing!r}", got)
    check(ask("/v1/jobs", "Origin: http://evil.example\r\n") == 403, "a page of another site")
    check(ask("/v1/jobs", "Origin: null\r\n") == 403, "a page of no site")
    check(ask("/v1/jobs", f"Origin: http://localhost:{server.port}\r\n") == 200, "a page of ours")
    check(ask("/", "X: " + "a" * 40000 + "\r\n") == 431, "large headers", ask("/", "X: " + "a" * 40000 + "\r\n"))
    for junk in (b"\x00\xff\x16\x03\x01" * 50, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"POST /v1/jobs HTTP/1.1\r\nHost: "
                 b"localhost\r\nContent-Length: -1\r\n\r\n"):
        check(status_of(raw(server, junk, 3)) in (0, 400, 403, 405, 411, 413, 505), "junk", junk[:20], raw(server, junk, 3)[:80])
    token = server.tokens["me"]
    chunked = (f"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Type: "
               "application/json\r\nTransfer-Encoding: chunked\r\n\r\n").encode()
    body = b"".join(b"100000\r\n" + b" " * (1 << 20) + b"\r\n" for _ in range(5)) + b"0\r\n\r\n"
    check(status_of(raw(server, chunked + body)) == 413, "a large body without a length")
    post = (f"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Type: "
            "application/json\r\n")
    got = raw(server, (post + "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}").encode())
    check(status_of(got) == 415 and b"Accept-Encoding: identity" in got, "a packed body", got)
    # A client that will send no more still gets its answer; one that goes in the middle of a body submits nothing.
    body = json.dumps(submission("half closed")).encode()
    whole = f"{post}Content-Length: {len(body)}\r\n\r\n".encode() + body
    for data, wanted in ((whole, 202), (whole[:-9], 0)):
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as half:
            half.sendall(data)
            half.shutdown(socket.SHUT_WR)
            got = half.recv(1 << 16)
        check(status_of(got) == wanted, "a connection that its client closed half", got)
    job = server.submit("followed by its head")[0]
    server.wait(job)
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as s:
        s.sendall((f"HEAD {job['self']}/events HTTP/1.1\r\nHost: localhost\r\n\r\n"
                   "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").encode())
        got = b"".join(iter(lambda: s.recv(1 << 16), b""))
    check(re.match(rb"HTTP/1.1 200 (.+\r\n)+\r\nHTTP/1.1 200 (.+\r\n)+\r\n", got), "a stream's head has no body", got)
    check(server.ask("GET", "/healthz")[0] == 200, "the server is well after all that")


def check_names(server):
    """A task and its sizes have one name, however they are written: one job, one verdict."""
    jobs = set()
    for task, workload in (("kernelbench/1/19", "small"), ("KernelBench/1/019", "small"), (TASK, "N=1024,M=64")):
        jobs |= {j["id"] for j in server.submit("one name", task=task, workload=workload)}
    check(len(jobs) == 1, "one task and its sizes by several names are one job", jobs)
    job = server.submit("sizes", workload="N = 4,M=03")[0]
    check((job["task"], job["workload"]) == (TASK, "M=3, N=4"), "the job is called as the task calls it", job)
    check(job["id"] == server.submit("sizes", workload="M=3, N=4")[0]["id"], "sizes in another order are the same job", "")


def check_full_disk(assay, folder):
    """Where nothing can be written nothing is accepted, and it is said so; later it goes on."""
    program = pathlib.Path(folder) / "assay"  # SIGXFSZ would end the server; a full disk sends none
    program.write_text(f"#!/bin/sh\ntrap '' XFSZ\nexec '{assay}' \"$@\"\n", encoding="utf-8")
    program.chmod(0o755)
    server = Server(program, folder)
    usual = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
    job = server.submit("before the disk was full")[0]
    check(server.wait(job)["state"] == "done", "a job before the disk was full")
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (1, usual[1]))
    refused = server.ask("POST", "/v1/jobs", submission("too much for the disk"), "me")
    is_problem(refused, 503, ["Retry-After"], "a full disk")
    check(str(server.folder) not in str(refused[2]), "the answer names no file of the machine", refused[2])
    check(server.ask("GET", job["self"])[2]["state"] == "done", "what is stored is still read")
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, usual)
    job = server.submit("too much for the disk")[0]
    check(server.wait(job)["state"] == "done", "there is room again", job)
    server.end()


def check_slow(server):
    """A client that sends a byte now and then does not keep its connection (--timeout 2)."""
    start = time.monotonic()
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as s:
        s.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        closed = False
        while not closed and time.monotonic() - start < 14:
            time.sleep(0.3)
            try:
                s.sendall(b"X")
                s.settimeout(0.01)
                closed = s.recv(100) == b""
            except socket.timeout:
                pass
            except OSError:
                closed = True
    # The machine may be busy; without --timeout it were 15 s.
    check(closed and time.monotonic() - start < 13, "a slow request is cut off", time.monotonic() - start)


def check_connections(server):
    """--connections-per-address 24."""
    held = []
    refused = 0
    for _ in range(40):
        s = socket.create_connection(("127.0.0.1", server.port), timeout=3)
        held.append(s)
    for s in held:
        try:
            s.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            refused += s.recv(100) == b""
        except OSError:
            refused += 1
    for s in held:
        s.close()
    check(10 <= refused <= 20, "connections of one address", refused)
    time.sleep(0.3)
    check(server.ask("GET", "/healthz")[0] == 200, "and then there is room again")


def check_all_connections(assay, folder):
    """--connections 12: of all addresses together, whose own limits are wider."""
    server = Server(assay, folder, "--connections", "12", "--connections-per-address", "64", "--timeout", "60")
    held = [socket.create_connection(("127.0.0.1", server.port), timeout=5, source_address=(f"127.0.0.{2 + i}", 0)) for i in range(30)]
    for s in held:
        s.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    time.sleep(2)
    served = select.select(held, [], [], 0)[0]
    check(8 <= len(served) <= 20, "connections of all addresses", len(served))
    for s in served:
        s.close()
    waiting = [s for s in held if s not in served]
    time.sleep(2)
    later = select.select(waiting, [], [], 0)[0]
    check(8 <= len(later) <= 20, "who waited is served when others have gone", len(later))
    for s in waiting:
        s.close()
    server.end()


def read_events(server, job, last=None, seconds=40, until=None):
    """The raw text of a stream, to its end or to `until`."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=seconds) as s:
        more = f"Last-Event-ID: {last}\r\n" if last else ""
        s.sendall(f"GET /v1/jobs/{job['id']}/events HTTP/1.1\r\nHost: localhost\r\n{more}Connection: close\r\n\r\n".encode())
        text = ""
        while not (until and until in text) and (piece := s.recv(4096)):
            text += piece.decode()
        return text


def check_following(server):
    server.stop_worker()
    job = server.submit("followed")[0]
    check(job["state"] == "waiting", "a job waits", job)
    start = time.monotonic()
    now = server.ask("GET", f"/v1/jobs/{job['id']}?wait=1")[2]
    check(now["state"] == "waiting" and 0.9 < time.monotonic() - start < 3, "a long poll has an end", now)
    seen = {}
    waits = [threading.Thread(target=lambda i=i: seen.update({i: server.ask("GET", f"/v1/jobs/{job['id']}?wait=50")}))
             for i in range(5)]
    stream = threading.Thread(target=lambda: seen.update(stream=read_events(server, job)))
    for t in [*waits, stream]:
        t.start()
    ping = read_events(server, job, until=": ping")  # 15 s after the last event
    check(": ping" in ping and "event: waiting" in ping, "a quiet stream is kept alive", ping)
    start = time.monotonic()
    server.go_on()
    for t in [*waits, stream]:
        t.join(60)
    check(all(seen[i][2]["state"] == "done" for i in range(5)), "long polls end with the job", seen)
    check(time.monotonic() - start < 20, "and soon", time.monotonic() - start)
    names = re.findall(r"event: (\w+)", seen["stream"])
    ids = [int(i) for i in re.findall(r"id: (\d+)", seen["stream"])]
    check(names == ["waiting", "running", "done"] and ids == sorted(ids), "events", seen["stream"])
    check("HTTP/1.1 200" in seen["stream"] and "text/event-stream" in seen["stream"], "a stream", seen["stream"])
    rest = read_events(server, job, last=ids[0])
    check(re.findall(r"event: (\w+)", rest) == ["running", "done"], "a stream goes on after Last-Event-ID", rest)
    check(re.findall(r"event: (\w+)", read_events(server, job, last=ids[-1])) == [], "and ends after the last")
    again = server.ask("POST", "/v1/jobs", submission("followed"), "me")
    check(again[0] == 200 and again[2]["jobs"][0]["id"] == job["id"], "the same submission is the same job", again)
    return ids


def check_cancelling(server):
    server.stop_worker()
    job = server.submit("cancelled", token="me")[0]
    check(server.submit("cancelled", token="you")[0]["id"] == job["id"], "two submitters, one job")
    path = f"/v1/jobs/{job['id']}"
    is_problem(server.ask("DELETE", path), 401, ["WWW-Authenticate"], "cancelling without a token")
    status, _, answer = server.ask("DELETE", path, token="me")
    check(status == 200 and answer["state"] == "waiting", "it goes on for the other", answer)
    is_problem(server.ask("DELETE", path, token="me"), 404, [], "it is no longer mine")
    status, _, answer = server.ask("DELETE", path, token="you")
    check(status == 200 and answer["state"] == "cancelled" and answer["verdict"] is None, "nobody wants it", answer)
    is_problem(server.ask("DELETE", path, token="you"), 409, [], "it has ended")
    names = re.findall(r"event: (\w+)", read_events(server, job))
    check(names == ["waiting", "cancelled"], "its events", names)
    # The queue holds six.
    jobs = server.submit(*[f"full {i}" for i in range(6)])
    is_problem(server.ask("POST", "/v1/jobs", submission("too many"), "me"), 503, ["Retry-After"], "a full queue")
    check(server.ask("POST", "/v1/jobs", submission("full 0"), "me")[0] == 202, "what waits already is no more work")
    server.go_on()
    check(all(server.wait(j)["state"] == "done" for j in jobs), "all are judged")


def check_faults(server):
    """A judge that dies is the machine's fault: the job is judged again, by another worker."""
    slow = "#include <assay/candidate.h>\n#include <time.h>\nvoid assay_kernel(const struct assay_args *args) {\n" \
           "  nanosleep(&(struct timespec){3, 0}, 0);\n  (void)args;\n}\n"
    body = submission(candidates=[{"name": "slow.c", "source": slow}])
    job = server.ask("POST", "/v1/jobs", body, "me")[2]["jobs"][0]
    read_events(server, job, until="event: running")
    os.kill(server.worker(), signal.SIGKILL)
    now = server.wait(job)
    check(now["state"] == "done" and now["faults"] == 1 and now["attempts"] == 2, "judged again after a crash", now)
    check(server.ask("GET", now["verdict"])[2]["verdict"] != "pass", "and it is wrong", now)
    body["candidates"][0]["source"] = slow.replace("{3", "{4")
    job = server.ask("POST", "/v1/jobs", body, "me")[2]["jobs"][0]
    read_events(server, job, until="event: running")
    now = server.ask("DELETE", f"/v1/jobs/{job['id']}", token="me")[2]
    check(now["state"] == "cancelled", "cancelled while it runs", now)
    other = server.submit("after a cancelled one")[0]
    check(server.wait(other)["state"] == "done", "the next one is judged")
    check(server.wait(job)["state"] == "cancelled", "the cancelled one stays so")


def check_rate(assay, folder):
    server = Server(assay, folder, "--rate", "5")
    codes = [server.ask("POST", "/v1/jobs", submission(f"rate {i}"), "me") for i in range(8)]
    check([c[0] for c in codes][:5] == [202] * 5, "five a minute", [c[0] for c in codes])
    is_problem(codes[7], 429, ["Retry-After"], "and no more")
    check(int(codes[7][1]["Retry-After"]) <= 13, "Retry-After", codes[7][1]["Retry-After"])
    other = subprocess.run([assay, "serve", "--store", server.folder / "store.sqlite", "--port", "0", "--devices", "cpu"],
                           capture_output=True, text=True)
    check(other.returncode == 3 and "another `assay serve`" in other.stderr, "one server a store", other)
    server.end()


def check_drain(assay, folder):
    """SIGTERM: what runs is finished, who follows hears of the end, nothing new is accepted."""
    server = Server(assay, folder)
    body = submission(candidates=[{"name": "slow.c", "source": slow("drain", 3)}, {"name": "next.c", "source": relu("next")}])
    first, second = server.ask("POST", "/v1/jobs", body, "me")[2]["jobs"]
    read_events(server, first, until="event: running")
    seen = {}
    stream = threading.Thread(target=lambda: seen.update(text=read_events(server, second)))
    stream.start()
    time.sleep(0.1)
    server.process.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    is_problem(server.ask("GET", "/readyz"), 503, ["Retry-After"], "not ready any more")
    is_problem(server.ask("POST", "/v1/jobs", submission("late"), "me"), 503, ["Retry-After"], "no more jobs")
    check(server.process.wait(timeout=60) == 0, "it ends in good order", server.log())
    server.process.stdout.close()
    stream.join(20)
    check("event: shutdown" in seen["text"], "followers hear of it", seen)
    server.start()
    check(server.wait(first)["state"] == "done" and server.wait(first)["attempts"] == 1, "what ran was finished",
          server.wait(first))
    check(server.wait(second)["state"] == "done", "what waited is judged later")
    server.end()


def slow(mark, seconds):
    """A right kernel whose call takes so long."""
    return "#include <time.h>\n" + relu(mark).replace("  for (", f"  nanosleep(&(struct timespec){{{seconds}, 0}}, 0);\n  for (", 1)


def check_no_drain(assay, folder):
    """--drain 0: what runs is not waited for, and is judged by the next server."""
    server = Server(assay, folder, "--drain", "0")
    job = server.ask("POST", "/v1/jobs", submission(candidates=[{"name": "slow.c", "source": slow("no drain", 5)}]), "me")[2]["jobs"][0]
    read_events(server, job, until="event: running")
    start = time.monotonic()
    server.end()
    check(time.monotonic() - start < 3, "--drain 0 waits for nothing", time.monotonic() - start)
    server.start()
    now = server.wait(job)
    check((now["state"], now["attempts"]) == ("done", 2), "and nothing is lost", now)
    server.end()


def check_limit(assay, folder):
    """--limit 4: a judgement that takes longer is ended, tried again, and given up; another is judged."""
    server = Server(assay, folder, "--limit", "4")
    body = submission(candidates=[{"name": "slow.c", "source": slow("limit", 30)}, {"name": "quick.c", "source": relu("limit")}])
    first, second = server.ask("POST", "/v1/jobs", body, "me")[2]["jobs"]
    now = server.wait(first)
    check((now["state"], now["faults"]) == ("given_up", 3), "a judgement beyond --limit is given up", now)
    check("took longer than 4 s (--limit)" in (now["why"] or ""), "and why is said", now)
    check(server.wait(second)["state"] == "done", "the next one is judged")
    server.end()


def check_slots(assay, folder):
    """How many are judged at once: one by default, two with --cpu-slots 2, and one with times is alone."""
    for options, timed, most in (((), False, 1), (("--cpu-slots", "2"), False, 2), (("--cpu-slots", "2"), True, 1)):
        where = pathlib.Path(folder) / str(len(os.listdir(folder)))
        where.mkdir()
        server = Server(assay, where, *options)
        jobs = []
        for i in range(2):
            settings = {"timing": timed and i == 1, "probes": False, "checks": 1}
            body = submission(settings=settings, candidates=[{"name": "slow.c", "source": slow(f"slots {i}", 0 if settings["timing"] else 2)}])
            jobs += server.ask("POST", "/v1/jobs", body, "me")[2]["jobs"]
        seen, left = 0, True
        while left:
            states = [server.ask("GET", f"/v1/jobs/{job['id']}")[2]["state"] for job in jobs]
            seen, left = max(seen, states.count("running")), any(s in ("waiting", "running") for s in states)
            time.sleep(0.02)
        check(states == ["done", "done"] and seen == most, f"{options} judge at once, with times: {timed}", seen, states)
        server.end()


def check_read_only(assay, folder):
    site = pathlib.Path(folder) / "site"
    (site / "t").mkdir(parents=True)
    (site / "index.html").write_text("<!doctype html><title>ours</title>", encoding="utf-8")
    (site / "t" / "a-1.html").write_text("a page", encoding="utf-8")
    (site / ".hidden.html").write_text("secret", encoding="utf-8")
    (site / "other.exe").write_text("secret", encoding="utf-8")
    (site / "link.html").symlink_to("/etc/passwd")
    server = Server(assay, folder, "--site", site, tokens=())
    status, headers, page = server.ask("GET", "/")
    check(status == 200 and "ours" in page and headers["Content-Type"] == "text/html; charset=utf-8", "a site", page)
    check(server.ask("GET", "/t/a-1.html?q=1", headers={"If-None-Match": "x"})[2] == "a page", "a page of it")
    for path in ("/.hidden.html", "/link.html", "/other.exe", "/t", "/t/", "/t/../index.html", "//index.html", "/t//a-1.html"):
        is_problem(server.ask("GET", path), 404, [], f"{path} of the site")
    is_problem(server.ask("POST", "/t/a-1.html"), 405, ["Allow"], "POST to a page")
    is_problem(server.ask("GET", "/t%2fa-1.html"), 400, [], "an escape in a page's path")
    check("Jobs" in server.ask("GET", "/queue")[2], "the queue's page")
    time.sleep(1.1)
    (site / "t" / "b.html").write_text("a new page", encoding="utf-8")
    check(server.ask("GET", "/t/b.html")[2] == "a new page", "a page that came later")
    (site / "t" / "b.html").unlink()
    is_problem(server.ask("GET", "/t/b.html"), 404, [], "a page that is gone")
    is_problem(server.ask("POST", "/v1/jobs", submission("x"), "a" * 64), 403, [], "a server is read only by default")
    check(server.ask("GET", "/v1/jobs")[0] == 200, "and can be read")
    server.end()
    tokens = pathlib.Path(folder) / "open_tokens"
    tokens.write_text("me " + "0" * 64 + "\n", encoding="utf-8")
    tokens.chmod(0o644)
    done = subprocess.run([assay, "serve", "--store", pathlib.Path(folder) / "s", "--token-file", tokens], capture_output=True,
                          text=True)
    check(done.returncode == 2 and "chmod 600" in done.stderr, "a token file that others can read", done)


def check_ahead(assay, folder):
    """Two workers of one device: one builds while the other's candidate is tested, and never are two tested at once."""
    root = pathlib.Path(__file__).resolve().parents[2]
    source = (root / "tests" / "opencl" / "gelu.cl").read_text(encoding="utf-8")
    server = Server(assay, folder, "--devices", "opencl:0", "--builders", "2")
    body = {"task": "kernelbench/1/26",
            "candidates": [{"name": f"gelu_{i}.cl", "source": f"{source}// {i}\n"} for i in range(4)],
            "settings": {"probes": False, "checks": 2}}
    status, _, answer = server.ask("POST", "/v1/jobs", body, "me")
    if status == 422 and "OpenCL" in str(answer):
        print("skipped: no OpenCL device, so nothing was built ahead")
        server.end()
        return
    check(status == 202, "four candidates for one device", status, answer)
    states = [server.wait(job) for job in answer["jobs"]]
    check(all(s["state"] == "done" for s in states), "all are judged", states)
    server.end()
    events = [json.loads(line) for line in server.log().splitlines() if '"unit":"opencl:0"' in line]
    times = {kind: {e["job"]: e["ns"] for e in events if e["event"] == kind} for kind in ("claimed", "testing", "tested")}
    turns = sorted((times["testing"][job], times["tested"][job], job) for job in times["testing"])
    check(len(turns) == 4 and all(a[1] <= b[0] for a, b in zip(turns, turns[1:])), "one after the other on the device", turns)
    ahead = [job for _, end, _ in turns for job, ns in times["claimed"].items() if ns < end < times["testing"][job]]
    check(len(ahead) >= 2, "the next is taken and built while one is tested", times)


def live_page(server, text, seconds=40):
    """The first page, once it has the text; how long the slowest request took."""
    slowest, until, page = 0, time.monotonic() + seconds, ""
    while text not in page and time.monotonic() < until:
        began = time.monotonic()
        page = server.ask("GET", "/")[2]
        slowest = max(slowest, time.monotonic() - began)
        time.sleep(0.05)
    return page, slowest


def judge_named(server, name):
    """A verdict of a file of that name."""
    body = submission(name)
    body["candidates"][0]["name"] = name
    check(server.wait(server.ask("POST", "/v1/jobs", body, "me")[2]["jobs"][0])["state"] == "done", f"{name} is judged")


def check_live(assay, folder):
    site = pathlib.Path(folder) / "site"
    server = Server(assay, folder, "--site", site, "--live")
    check("The store has no verdict yet" in live_page(server, "The store has no verdict yet")[0], "pages at the start")
    judge_named(server, "one.c")
    page, slowest = live_page(server, "1 verdict on 1 task")
    check("1 verdict on 1 task" in page, "a verdict comes to the site by itself", page[:300])
    check(slowest < 5, "requests do not wait for the pages", slowest)
    kernels = list((site / "k").glob("*.html"))
    check(len(kernels) == 1 and "one.c" in server.ask("GET", f"/k/{kernels[0].name}")[2], "its page is served", kernels)
    check("assay_kernel" in kernels[0].read_text(encoding="utf-8"), "with the source that was submitted")
    before = (site / "read.html").stat().st_mtime_ns
    for name in ("two.c", "three.c", "four.c"):
        judge_named(server, name)
    check("4 verdicts on 1 task" in live_page(server, "4 verdicts on 1 task")[0], "and so do more")
    check((site / "read.html").stat().st_mtime_ns == before, "pages that are current are left alone")
    server.end()
    check('"site_made"' in server.log() and "site_not_made" not in server.log(), "no making failed", server.log()[-500:])
    done = subprocess.run([assay, "serve", "--live", "--store", pathlib.Path(folder) / "s"], capture_output=True, text=True)
    check(done.returncode == 2 and "--site DIR --live" in done.stderr, "--live without a folder", done)


def check_kinds(assay, folder):
    """One server, devices of two kinds: each job goes to a unit of its own kind, and each unit tests one at a time."""
    source = (pathlib.Path(__file__).resolve().parents[2] / "tests/opencl/gelu.cl").read_text(encoding="utf-8")
    server = Server(assay, folder, "--devices", "cpu,opencl:0", "--builders", "2")
    settings = {"probes": False, "checks": 1}
    opencl = {"task": "kernelbench/1/26", "settings": settings,
              "candidates": [{"name": f"gelu_{i}.cl", "source": f"{source}// both {i}\n"} for i in range(2)]}
    status, _, answer = server.ask("POST", "/v1/jobs", opencl, "me")
    if status == 422 and "OpenCL" in str(answer):
        server.end()
        return
    jobs = {"opencl": answer["jobs"]}
    status, _, answer = server.ask("POST", "/v1/jobs", submission("both a", "both b", settings=settings), "me")
    check(status == 202, "C beside OpenCL", status, answer)
    jobs["cpu"] = answer["jobs"]
    status, _, answer = server.ask("POST", "/v1/jobs", {"task": "kernelbench/1/19", "settings": settings, "candidates": [
        {"name": "relu.cu", "source": "// assay: launch k grid=1 block=1 args=x, y\n__global__ void k(const float *x, float *y) {}"}]}, "me")
    check(status == 422 and "cuda" in str(answer).lower(), "no unit here is for CUDA", status, answer)
    for kind, accepted in jobs.items():
        for job in accepted:
            done = server.wait(job)
            verdict = server.ask("GET", done["verdict"])[2] if done["state"] == "done" else {}
            check(verdict.get("verdict") == "pass" and verdict.get("device") == kind, f"judged on {kind}", done, verdict)
    server.end()
    events = [json.loads(line) for line in server.log().splitlines() if line.startswith("{")]
    for unit in ("cpu:0", "opencl:0"):
        times = {kind: {e["job"]: e["ns"] for e in events if e["event"] == kind and e.get("unit") == unit}
                 for kind in ("testing", "tested")}
        turns = sorted((ns, times["tested"].get(job)) for job, ns in times["testing"].items())
        check(len(turns) == 2 and turns[0][1] <= turns[1][0], f"one after the other on {unit}", turns)


# Each has a server of its own; most of their time is waiting, so that they go on beside one another. The longest first.
OWN = (check_limit, check_slots, check_ahead, check_no_drain, check_kinds, check_all_connections, check_drain, check_live,
       check_read_only, check_full_disk, check_rate)


def check_own(assay, folder, act):
    os.mkdir(folder)
    act(assay, folder)


def check_main(assay, folder):
    """All that can be asked of one server."""
    server = Server(assay, folder, "--host", "judge.example", "--timeout", "2", "--queue", "6",
                    "--connections-per-address", "24", "--rate", "1000", tokens=("me", "you"))
    job = check_description(server)
    check_reading(server, job)
    check_refusals(server)
    check_hostile(server)
    check_names(server)
    check_slow(server)
    check_connections(server)
    check_following(server)
    check_cancelling(server)
    check_faults(server)
    server.end()
    log = server.log()
    check(all(t not in log for t in server.tokens.values()) and "assay_kernel" not in log, "logs are discreet")
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    check(any(l["event"] == "request" and l["status"] == 202 for l in lines), "logs are JSON lines")


def main():
    assay = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/main")
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            others = [pool.submit(check_own, assay, f"{folder}/{number}", act) for number, act in enumerate(OWN)]
            check_main(assay, f"{folder}/main")
            for other in others:
                other.result()
    print(f"serve: {len(CHECKED)} checks, {len(FAULTS)} wrong")
    return 1 if FAULTS else 0


if __name__ == "__main__":
    sys.exit(main())
