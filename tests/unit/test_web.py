"""Traces from web servers: of any that gives a file from its front; what one says or does instead is told."""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

pytest.importorskip("aiohttp")

from tracegraph.base.errors import InputError
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.sources import remote
from tracegraph.ingest.sources.fetch import local_copy
from tracegraph.ingest.sources.source import Source

CONTENT = bytes(range(256)) * (6 << 12)
"""6 MiB: more than fsspec asks for at once."""
Serve = Callable[[Callable[[BaseHTTPRequestHandler], None]], str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start a server that answers each GET as told; it knows no HEAD and no ranges. Its URL."""
    servers = []
    done = threading.Event()

    def start(answer: Callable[[BaseHTTPRequestHandler], None]) -> str:
        class Handler(BaseHTTPRequestHandler):
            stopped = done

            def do_GET(self) -> None:
                answer(self)

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        return f"http://127.0.0.1:{server.server_address[1]}"

    yield start
    done.set()
    for server in servers:
        server.shutdown()
        server.server_close()


def whole(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(CONTENT)))
    handler.end_headers()
    handler.wfile.write(CONTENT)


def with_status(status: int) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


def sent_to(target: str) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(302)
        handler.send_header("Location", target)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


def silent(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "100")
    handler.end_headers()
    handler.wfile.write(b"[")
    handler.wfile.flush()
    handler.stopped.wait(30)  # type: ignore[attr-defined]


def cut(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "100")
    handler.end_headers()
    handler.wfile.write(b"[")


def read(url: str, integrity: Integrity) -> bytes:
    with local_copy(Source(url), integrity) as path:
        return Path(path).read_bytes()


def refusal(url: str) -> InputError:
    with pytest.raises(InputError) as raised:
        read(url, Integrity("x"))
    assert "\n" not in str(raised.value)
    assert "secret" not in str(raised.value)
    return raised.value


def test_a_large_file_of_a_server_without_ranges_is_read(serve: Serve) -> None:
    integrity = Integrity("x")
    assert read(serve(whole) + "/trace.json", integrity) == CONTENT
    assert not list(integrity)


@pytest.mark.parametrize(
    ("status", "said", "hint"),
    [
        (401, "its server answers 401 Unauthorized", "check your right"),
        (403, "its server answers 403 Forbidden", "check your right"),
        (404, "does not exist: its server answers 404 Not Found", "check the spelling"),
        (410, "does not exist: its server answers 410 Gone", "check the spelling"),
        (418, "its server answers 418 I'm a Teapot", "check the URL"),
        (429, "its server answers 429 Too Many Requests", "again later"),
        (500, "its server answers 500 Internal Server Error", "again later"),
        (599, "its server answers 599", "again later"),
    ],
)
def test_what_a_server_answers_is_said(serve: Serve, status: int, said: str, hint: str) -> None:
    error = refusal(serve(with_status(status)) + "/trace.json?signature=secret")
    assert said in error.message
    assert ("does not exist" in error.message) == (status in (404, 410))
    assert hint in error.hint


def test_a_circle_of_redirects_is_named(serve: Serve) -> None:
    error = refusal(serve(sent_to("/trace.json")) + "/trace.json")
    assert "its server sends on and on, 10 times (302 Found)" in error.message


def test_a_redirect_to_another_host_is_said(serve: Serve) -> None:
    other = serve(whole).replace("127.0.0.1", "localhost")
    integrity = Integrity("x")
    assert read(serve(sent_to(f"{other}/moved.json?signature=secret")) + "/trace.json", integrity) == CONTENT
    (finding,) = integrity
    said = f"the server sent on to {other}/moved.json: it is read from there"
    assert (finding.code, finding.level, finding.message) == ("redirected", "info", said)


def test_a_redirect_on_the_same_host_is_not(serve: Serve) -> None:
    integrity = Integrity("x")
    assert read(serve(sent_to(serve(whole))) + "/trace.json", integrity) == CONTENT
    assert not list(integrity)


def test_who_refuses_after_a_redirect_is_said(serve: Serve) -> None:
    other = serve(with_status(403)).replace("127.0.0.1", "localhost")
    error = refusal(serve(sent_to(other)) + "/trace.json")
    assert "localhost, where its server sends to, answers 403 Forbidden" in error.message


def test_a_silent_server_is_given_up(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "STALL_S", 0.3)
    error = refusal(serve(silent) + "/trace.json")
    assert "its server sent nothing for 0.3 s" in error.message


def test_a_server_that_takes_no_call_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "CONNECT_S", 0.3)
    error = refusal("http://192.0.2.1/trace.json")  # an address for documents, where nobody is
    assert "its server took no call for 0.3 s" in error.message or "cannot be read" in error.message


def test_an_answer_that_is_cut_is_refused(serve: Serve) -> None:
    assert "cannot be read" in refusal(serve(cut) + "/trace.json").message


def test_nobody_there_is_said(serve: Serve) -> None:
    error = refusal("http://127.0.0.1:1/trace.json")
    assert "cannot be read" in error.message
    assert "does not exist" not in error.message
