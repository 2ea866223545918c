"""The jars: what is recorded, and what a broken installation says. Nothing is fetched here."""

import hashlib
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from tracegraph.store.errors import StoreError
from tracegraph.store.managed import class_archive, install
from tracegraph.store.progress import silent

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
    assert [(done, total) for _, done, total in seen] == [(0, 2), (1, 2), (2, 2)]
    assert {(install.jar_folder() / path).read_bytes() for path in CONTENT} == {b"one", b"two"}
    install.install(lambda *step: pytest.fail("fetched again"))


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


def test_a_cache_that_is_no_folder_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(StoreError, match=str(tmp_path / "file")):
        install.install(silent)


def test_a_damaged_jar_is_found(cache: Path) -> None:
    install.install(silent)
    (install.jar_folder() / "org/a/one/1.0/one-1.0.jar").write_bytes(b"bit rot")
    assert install.damaged_jars() == ["org/a/one/1.0/one-1.0.jar"]
