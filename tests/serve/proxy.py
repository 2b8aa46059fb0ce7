#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`assay serve` behind a proxy that does TLS: the settings that docs/serving.md shows, for nginx and for Caddy.

usage: proxy.py ASSAY

A page of the server's own submits a kernel over HTTPS, its events come one by one, its verdict is read; other sites and
other names stay refused. Ends with 77 where there is neither proxy.
"""
import http.client
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from server import Server, ask, submission  # noqa: E402

NAME = "judge.example.org"
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "serving.md"
FAULTS = []


def check(right, what, *shown):
    if not right:
        FAULTS.append(what)
        print("WRONG:", what, *[str(s)[:600] for s in shown])


def settings(proxy, upstream):
    """The block of the page, with the server's port in it."""
    begins = {"nginx": "location / {", "caddy": NAME + " {"}[proxy]
    blocks = [b for b in re.findall(r"```\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S) if b.startswith(begins)]
    check(len(blocks) == 1 and ":8023" in blocks[0], f"the page has settings for {proxy}", blocks)
    return blocks[0].replace(":8023", f":{upstream}")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def nginx(folder, upstream, port):
    own = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; error_log {folder}/log;\nevents {{}}\nhttp {{ access_log off; {own}\n"
        f"server {{ listen 127.0.0.1:{port} ssl; server_name {NAME};\nssl_certificate {folder}/cert.pem; "
        f"ssl_certificate_key {folder}/key.pem;\n{settings('nginx', upstream)}}} }}\n", encoding="utf-8")
    return ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(folder / "log")]


def caddy(folder, upstream, port):
    certificate = f"{{\n  tls {folder}/cert.pem {folder}/key.pem\n"  # of our own: nobody issues one for this name
    (folder / "Caddyfile").write_text(
        f"{{\n admin off\n auto_https disable_redirects\n http_port {free_port()}\n https_port {port}\n"
        f" default_bind 127.0.0.1\n}}\n" + settings("caddy", upstream).replace("{\n", certificate, 1), encoding="utf-8")
    return ["caddy", "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]


class Client(http.client.HTTPSConnection):
    """To the proxy, whatever the name's address."""

    def __init__(self, port, folder):
        super().__init__(NAME, port, timeout=60, context=ssl.create_default_context(cafile=folder / "cert.pem"))

    def connect(self):
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        self.sock = self._context.wrap_socket(plain, server_hostname=NAME)


def follow(client, job):
    """(event, when it came) of the job's stream, to its end."""
    client.request("GET", f"/v1/jobs/{job['id']}/events")
    seen = []
    for line in client.getresponse():
        if line.startswith(b"event: "):
            seen.append((line.decode().split()[1], time.monotonic()))
    return seen


def use(server, proxy, port, folder):
    client = lambda: Client(port, folder)  # noqa: E731
    own, token = f"https://{NAME}:{port}", server.tokens["me"]
    body = submission(f"by way of {proxy}")
    server.stop_worker()
    status, headers, answer = ask(client(), "POST", "/v1/jobs", body, token, {"Origin": own})
    check(status == 202, f"{proxy}: a page of ours submits", status, answer)
    if status != 202:
        server.go_on()
        return
    job = answer["jobs"][0]
    waiting = client()
    waiting.request("GET", f"/v1/jobs/{job['id']}/events")
    first = waiting.getresponse()
    while not (line := first.readline()).startswith(b"event: "):
        pass
    check(line.split()[1] == b"waiting", f"{proxy}: an event comes while its stream goes on", line)
    waiting.close()
    server.go_on()
    status, _, now = ask(client(), "GET", f"/v1/jobs/{job['id']}?wait=60")
    check(now["state"] == "done", f"{proxy}: a long poll", now)
    events = [e for e, _ in follow(client(), job)]
    check(events == ["waiting", "running", "done"], f"{proxy}: the whole stream", events)
    status, _, verdict = ask(client(), "GET", now["verdict"])
    check(status == 200 and verdict["verdict"] == "pass", f"{proxy}: the verdict", verdict)
    check(ask(client(), "POST", "/v1/jobs", body, token, {"Origin": own})[0] == 200, f"{proxy}: the same again")
    status = ask(client(), "GET", "/v1/jobs", headers={"Origin": "https://evil.example"})[0]
    check(status == 403, f"{proxy}: a page of another site", status)
    status, _, text = ask(client(), "GET", "/v1/jobs", headers={"Host": "evil.example"})
    check("jobs" not in text, f"{proxy}: another host's name", status, text)
    status = ask(client(), "POST", "/v1/jobs", b" " * (4 << 20), token, {"Content-Type": "application/json"})[0]
    check(status == 400, f"{proxy}: 4 MiB arrive (and are no JSON)", status)
    status = ask(client(), "GET", "/v1/jobs/%2e%2e%2f%2e%2e%2fetc/passwd")[0]
    check(status in (400, 404), f"{proxy}: a path with escapes", status)


def through(server, proxy, folder):
    port = free_port()
    command = {"nginx": nginx, "caddy": caddy}[proxy](folder, server.port, port)
    with open(folder / "said", "wb") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said, env={**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder)})
    try:
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        else:
            check(False, f"{proxy} starts", (folder / "said").read_text(errors="replace"))
            return
        use(server, proxy, port, folder)
    finally:
        process.terminate()
        process.wait(20)


def main():
    assay = str(pathlib.Path(sys.argv[1]).resolve())
    os.environ["PATH"] += ":/usr/sbin"
    there = [p for p in ("nginx", "caddy") if shutil.which(p)]
    if not there or not shutil.which("openssl"):
        print("skipped: there is no nginx and no Caddy, or no openssl to make a certificate")
        return 77
    with tempfile.TemporaryDirectory(prefix="assay-proxy-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)  # nginx, started by root, reads its certificates as root and works as another user
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", folder / "key.pem", "-out",
                        folder / "cert.pem", "-days", "2", "-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}"],
                       check=True, capture_output=True)
        server = Server(assay, folder, "--host", NAME, "--connections-per-address", "512", "--rate", "1000")
        for proxy in there:
            through(server, proxy, folder)
        server.end()
    print(f"through {' and '.join(there)}: {len(FAULTS)} wrong")
    return 1 if FAULTS else 0


if __name__ == "__main__":
    sys.exit(main())
