# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium under a test, by the DevTools protocol over a pipe: no package, no port."""
import base64
import json
import os
import shutil
import subprocess
import tempfile

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def find():
    """The program of a browser; None: there is none. ASSAY_CHROMIUM names one."""
    return next(filter(None, map(shutil.which, filter(None, (os.environ.get("ASSAY_CHROMIUM"), *NAMES)))), None)


class Browser:
    """One browser with one page. What the page says, asks for and opens is collected."""

    def __init__(self, program):
        self.profile = tempfile.TemporaryDirectory(prefix="assay-browser-")
        to_us, to_it = os.pipe(), os.pipe()
        # The browser reads commands from 3 and writes answers to 4.
        command = ["sh", "-c", 'exec "$0" "$@" 3<&%d 4>&%d' % (to_it[0], to_us[1]), program, "--headless",
                   "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
                   "--disable-dev-shm-usage", "--disable-background-networking", "--disable-extensions",
                   f"--user-data-dir={self.profile.name}"]
        self.process = subprocess.Popen(command, pass_fds=(to_it[0], to_us[1]), stderr=subprocess.DEVNULL)
        os.close(to_it[0])
        os.close(to_us[1])
        self.reader, self.writer = os.fdopen(to_us[0], "rb"), to_it[1]
        self.rest, self.number, self.session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "DOM"):
            self.call(domain + ".enable")

    def close(self):
        os.close(self.writer)
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.reader.close()
        self.profile.cleanup()

    def message(self):
        while b"\0" not in self.rest:
            more = os.read(self.reader.fileno(), 1 << 20)
            if not more:
                raise RuntimeError("the browser ended")
            self.rest += more
        one, self.rest = self.rest.split(b"\0", 1)
        return json.loads(one)

    def call(self, method, **params):
        """The answer to a command; events on the way are kept."""
        self.number += 1
        command = {"id": self.number, "method": method, "params": params}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.writer, json.dumps(command).encode() + b"\0")
        while True:
            got = self.message()
            if got.get("id") == self.number:
                if "error" in got:
                    raise RuntimeError(f"{method}: {got['error']['message']}")
                return got["result"]
            self.note(got)

    def note(self, event):
        if event.get("method") == "Page.javascriptDialogOpening":  # else the page waits for ever
            self.number += 1
            os.write(self.writer, json.dumps({"id": self.number, "sessionId": self.session, "params": {"accept": False},
                                              "method": "Page.handleJavaScriptDialog"}).encode() + b"\0")
        if "method" in event:
            self.events.append(event)

    def until(self, method):
        while not any(e["method"] == method for e in self.events):
            self.note(self.message())

    def open(self, url):
        """Loads a page; returns the events since."""
        self.events = []
        failed = self.call("Page.navigate", url=url).get("errorText")
        if failed:
            raise RuntimeError(f"{url}: {failed}")
        self.until("Page.loadEventFired")
        return self.events

    def go(self, action):
        """Does what leads to another page, and waits for it."""
        self.events = []
        try:
            action()
        except RuntimeError as e:  # on a busy machine the page may be gone before the answer has come
            if "navigated or closed" not in str(e):
                raise
        self.until("Page.loadEventFired")

    def do(self, script):
        """The value of an expression, which may be a promise."""
        got = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in got:
            raise RuntimeError(got["exceptionDetails"].get("exception", {}).get("description", script[:80]))
        return got["result"].get("value")

    def key(self, name, code):
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code)

    def look(self, width, dark=False, media="screen"):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def picture(self, path):
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 2400), "scale": 1}
        data = self.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def faults(self, ours):
        """What no page of ours may do: dialogs, errors, requests that do not begin with `ours`."""
        for e in self.events:
            p = e["params"]
            if e["method"] == "Page.javascriptDialogOpening":
                yield f"a dialog: {p['message']}"
            elif e["method"] == "Runtime.exceptionThrown":
                yield f"an exception: {p['exceptionDetails'].get('text')}"
            elif e["method"] == "Runtime.consoleAPICalled" and p["type"] in ("error", "warning", "assert"):
                yield f"the console: {p['args']}"
            elif e["method"] == "Log.entryAdded" and p["entry"]["level"] in ("error", "warning"):
                yield f"the log: {p['entry']['text']} {p['entry'].get('url', '')}"
            elif e["method"] == "Network.requestWillBeSent" and not p["request"]["url"].startswith((ours, "data:")):
                yield f"a request: {p['request']['url'][:120]}"
