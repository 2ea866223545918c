"""The jars: what is recorded, and what a broken installation says. Nothing is fetched here."""

import hashlib
import os
import re
import ssl
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
import requests
import trustme

from tracegraph.base.errors import StoreError
from tracegraph.base.progress import silent
from tracegraph.store.managed.java import class_archive, install

REQUEST = requests.request
CA_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
CONTENT = {"org/a/one/1.0/one-1.0.jar": b"one", "org/a/two/2.0/two-2.0-native.jar": b"two"}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, two recorded jars, a repository that has them, and no Java for an archive of theirs."""
    pins = {path: hashlib.sha256(data).hexdigest() for path, data in CONTENT.items()}
    monkeypatch.setattr(install, "pinned_jars", lambda: pins)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("requests.request", lambda _, url, **__: answer(CONTENT, url))
    monkeypatch.setattr(class_archive, "make", lambda *_: None)
    return tmp_path / "cache"


def answer(content: dict[str, bytes], url: str) -> SimpleNamespace:
    found = [data for path, data in content.items() if url.endswith(path)]
    return SimpleNamespace(
        status_code=200 if found else 404, headers={}, iter_content=lambda chunk_size: iter(found)
    )


def test_every_recorded_jar_is_a_repository_path_with_a_hash() -> None:
    jars = install.pinned_jars()
    assert len(jars) > 200
    assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in jars.values())
    for coordinate in install.COORDINATES:
        group, name, version = coordinate.split(":")
        assert f"{group.replace('.', '/')}/{name}/{version}/{name}-{version}.jar" in jars


def test_jars_are_fetched_once(cache: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    assert not install.is_installed()
    install.install(lambda *step: seen.append(step))
    assert install.is_installed()
    assert install.damaged_jars() == []
    sizes = sorted((install.jar_folder() / path).stat().st_size for path in install.pinned_jars())
    told = [done for _, done, _ in seen]
    assert told in ([0, sizes[0], sum(sizes)], [0, sizes[1], sum(sizes)])
    assert {total for *_, total in seen} == {install.DOWNLOAD_BYTES}
    assert {(install.jar_folder() / path).read_bytes() for path in CONTENT} == {b"one", b"two"}
    install.install(lambda *step: pytest.fail("fetched again"))


def test_only_jars_that_changed_are_hashed_and_only_damaged_ones_fetched(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install.install(silent)
    hashed: list[str] = []
    sha256 = install._sha256
    monkeypatch.setattr(install, "_sha256", lambda path: hashed.append(path.name) or sha256(path))
    install.install(lambda *step: pytest.fail("fetched again"))
    assert hashed == []
    touched, changed = (install.jar_folder() / path for path in CONTENT)
    os.utime(touched)
    install.install(lambda *step: pytest.fail("fetched again"))
    assert hashed == [touched.name]
    before = changed.stat()
    changed.write_bytes(b"tw0")
    os.utime(changed, ns=(before.st_atime_ns, before.st_mtime_ns))  # whose size and time are as before
    assert not install.is_installed()
    install.install(silent)
    assert changed.read_bytes() == b"two"
    assert install.is_installed()
    changed.unlink()
    install.install(silent)
    assert changed.read_bytes() == b"two"


def test_a_damaged_jar_without_a_network_is_one_line(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install.install(silent)
    (install.jar_folder() / next(iter(CONTENT))).write_bytes(b"evil")
    monkeypatch.setattr("requests.request", lambda _, url, **__: answer({}, url))
    with pytest.raises(StoreError, match=r"cannot download one-1\.0\.jar"):
        install.install(silent)
    assert not install.is_installed()


def test_a_killed_installation_goes_on(cache: Path) -> None:
    def kill(stage: str, done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        install.install(kill)
    assert not install.is_installed()
    jars = list(cache.rglob("*.jar"))
    assert jars
    for path in jars:
        path.write_bytes(b"half")
    install.install(silent)
    assert install.damaged_jars() == []


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({}, r"cannot download (one-1|two-2).0.*jar"),
        ({**CONTENT, "org/a/one/1.0/one-1.0.jar": b"evil"}, "one-1.0.jar .* SHA-256"),
    ],
)
def test_a_wrong_repository_is_refused(
    content: dict[str, bytes], words: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("requests.request", lambda _, url, **__: answer(content, url))
    with pytest.raises(StoreError, match=words):
        install.install(silent)
    assert not install.is_installed()


def test_no_network_is_one_line(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object, **__: object) -> None:
        raise ConnectionError("no route\nto host")

    monkeypatch.setattr("requests.request", unreachable)
    with pytest.raises(StoreError, match=r"cannot download .*jar: no route; .*check the network") as caught:
        install.install(silent)
    assert "\n" not in str(caught.value)


@pytest.fixture
def proxy(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The repository behind a server that nobody knows; the file with the certificate to trust."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), Repository)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    here = f"https://localhost:{server.server_port}"
    monkeypatch.setattr(
        "requests.request",
        lambda method, url, **options: REQUEST(method, here + urlsplit(url).path, **options),
    )
    for name in (*CA_VARIABLES, "HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield tmp_path / "ca.pem"
    server.shutdown()
    thread.join()
    server.server_close()


class Repository(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        found = [data for path, data in CONTENT.items() if self.path.endswith(path)]
        self.send_response(200 if found else 404)
        self.end_headers()
        self.wfile.write(b"".join(found))

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.mark.parametrize("variable", CA_VARIABLES)
def test_a_certificate_that_is_named_is_trusted(
    variable: str, proxy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, str(proxy))
    before = ssl.SSLContext
    install.install(silent)
    assert install.damaged_jars() == []
    assert ssl.SSLContext is before


def test_an_unknown_certificate_says_what_to_set(proxy: Path) -> None:
    with pytest.raises(StoreError, match=r"CERTIFICATE_VERIFY_FAILED.*; .* set SSL_CERT_FILE to the file"):
        install.install(silent)


def test_a_cache_that_is_no_folder_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(StoreError, match=str(tmp_path / "file")):
        install.install(silent)


def test_a_damaged_jar_is_found(cache: Path) -> None:
    install.install(silent)
    (install.jar_folder() / "org/a/one/1.0/one-1.0.jar").write_bytes(b"bit rot")
    assert install.damaged_jars() == ["org/a/one/1.0/one-1.0.jar"]
