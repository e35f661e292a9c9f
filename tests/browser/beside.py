"""What a page view costs, in requests and in bytes of bodies: our script and those of web analytics, in a real browser.

`python -m tests.browser.beside` measures ours. With `--script FILE` it measures another one, in a page that says
`--attributes`, against a server that answers every event with `{}`; a query counts like a body.
"""

from __future__ import annotations

import argparse
import gzip
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.browser.chromium import launch_options
from tests.browser.conftest import PATIENCE
from tests.browser.servers import Relay, collector_process, listening, relay_to, site_server, snippet

from hubbub import Categories

HIDDEN = "--host-resolver-rules=MAP www.site.test 127.0.0.1"
"""Others do not count visits to localhost."""


@contextmanager
def other_server(script: bytes) -> Iterator[Relay]:
    """A server with somebody's script, which takes every event. Browsers keep the script for a day."""
    relay = Relay()
    packed = gzip.compress(script, 9, mtime=0)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            url = urlsplit(self.path)
            relay.seen.append((self.command, url.path, {}, body + url.query.encode()))
            headers = {
                "Access-Control-Allow-Origin": "*",
                "Access-Control-Allow-Headers": "*",
                "Cache-Control": "no-store",
            }
            data = b"" if self.command == "OPTIONS" else b"{}"
            if url.path == "/script.js":
                headers |= {
                    "Content-Encoding": "gzip",
                    "Cache-Control": "max-age=86400",
                    "Content-Type": "text/javascript",
                }
                data = packed
            relay.replied.append(len(data))
            self.send_response(200)
            for name, value in {**headers, "Content-Length": str(len(data))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_OPTIONS = _answer  # noqa: N815  # names of the standard library

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with listening(Handler) as port:
        relay.url = f"http://127.0.0.1:{port}"
        yield relay


def measure(browser: Any, relay: Relay, page_url: str) -> None:
    """View a page twice with the same browser; print what each view cost."""
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    for name in ("first view", "second view"):
        relay.seen.clear()
        relay.replied.clear()
        page = context.new_page()
        page.goto(page_url, referer="https://news.example/", wait_until="load")
        page.wait_for_timeout(3000)  # an event is not always read to its end, so the network may never be idle
        requests = ", ".join(
            f"{method} {path[:24]} {len(body)} up {down} down"
            for (method, path, _, body), down in zip(relay.seen, relay.replied, strict=True)
        )
        total = sum(len(body) for *_, body in relay.seen) + sum(relay.replied)
        print(f"{name}: {len(relay.seen)} requests, {total} bytes ({requests or 'none'})")  # noqa: T201
    context.close()


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--script", type=Path)
    parser.add_argument("--attributes", default="", help="of the script's tag; {url} is the server")
    script, attributes = (given := parser.parse_args()).script, given.attributes
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, site_server() as site:
        browser = playwright.chromium.launch(**launch_options(HIDDEN))
        if script is not None:
            with other_server(script.read_bytes()) as relay:
                tag = f'<script defer src="{relay.url}/script.js" {attributes.format(url=relay.url)}></script>'
                measure(browser, relay, site.add("/", tag).replace("localhost", "www.site.test"))
        else:
            with tempfile.TemporaryDirectory() as folder, collector_process(Path(folder) / "a.db") as collector:
                few = Categories(["yes", "no", "perhaps"], other=False).to_json()
                for name, more in (("host names", {}), ("a list of three", {"domain": few, "mechanism": "subset"})):
                    with relay_to(collector) as relay:
                        print(name)  # noqa: T201
                        survey_id = collector.new_survey("Top referrers", **more)
                        measure(browser, relay, site.add(f"/{name[0]}", snippet(relay.url, survey_id)))
                for asks in ("referrer", "device"):
                    with relay_to(collector) as relay:
                        print(f"a site with one question: {asks}")  # noqa: T201
                        facts = {
                            "name": asks,
                            "origins": [site.url],
                            "expected_reports": 1000,
                            "epsilon": 1,
                            "questions": [{"asks": asks}],
                        }
                        line = snippet(relay.url, "").replace("data-survey", "data-site")
                        key = collector.ask("POST", "/v1/sites", facts)["site"]
                        measure(browser, relay, site.add(f"/{asks}", line.replace('=""', f'="{key}"')))
        browser.close()


if __name__ == "__main__":
    main()
