"""The copies of signed jars: the same files without the signature, and nothing half."""

import zipfile
from pathlib import Path

import pytest

from tracegraph.base.progress import silent
from tracegraph.store.managed.java import unsigned_jars

SIGNED, PLAIN = "org/eclipse/collections/eclipse-collections/1.0/x-1.0.jar", "org/a/y/1.0/y-1.0.jar"
MANIFEST = b"Manifest-Version: 1.0\r\nAutomatic-Module-Name: x\r\n\r\n"
CONTENT = {
    "META-INF/MANIFEST.MF": MANIFEST + b"Name: a/A.class\r\nSHA-256-Digest: 1\r\n\r\n",
    "META-INF/ECLIPSE_.SF": b"signature",
    "META-INF/ECLIPSE_.RSA": b"key",
    "META-INF/services/a.Service": b"a.A",
    "a/A.class": b"code" * 1000,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of jars, one of them signed."""
    for jar in (SIGNED, PLAIN):
        (tmp_path / jar).parent.mkdir(parents=True)
        with zipfile.ZipFile(tmp_path / jar, "w", zipfile.ZIP_DEFLATED) as file:
            for name, data in CONTENT.items():
                file.writestr(name, data)
    return tmp_path


def make(folder: Path) -> list[str]:
    stages: list[str] = []
    unsigned_jars.make(folder, [SIGNED, PLAIN], lambda stage, *_: stages.append(stage))
    return stages


def test_a_copy_has_all_but_the_signature(folder: Path) -> None:
    assert unsigned_jars.place(folder, SIGNED) == folder / SIGNED
    (folder / "unsigned-killed.partial").mkdir()
    assert len(make(folder)) == 1
    assert unsigned_jars.place(folder, PLAIN) == folder / PLAIN
    copy = unsigned_jars.place(folder, SIGNED)
    assert copy != folder / SIGNED
    with zipfile.ZipFile(copy) as file:
        found = {name: file.read(name) for name in file.namelist()}
    whole = {name: data for name, data in CONTENT.items() if "ECLIPSE_" not in name}
    assert found == whole | {"META-INF/MANIFEST.MF": MANIFEST}
    assert {path.name for path in folder.iterdir()} == {"org", "unsigned", "unsigned.lock"}
    assert make(folder) == []


def test_a_damaged_copy_is_found(folder: Path) -> None:
    assert not unsigned_jars.is_damaged(folder, SIGNED)
    make(folder)
    assert not unsigned_jars.is_damaged(folder, SIGNED)
    assert not unsigned_jars.is_damaged(folder, PLAIN)
    copy = unsigned_jars.place(folder, SIGNED)
    whole = copy.read_bytes()
    start = whole.index(b"a/A.class")
    copy.write_bytes(whole[: start + 12] + b"\xff" + whole[start + 13 :])
    assert unsigned_jars.is_damaged(folder, SIGNED)
    copy.write_bytes(whole[: len(whole) // 2])
    assert unsigned_jars.is_damaged(folder, SIGNED)
    copy.write_bytes((folder / PLAIN).read_bytes()[:0])
    assert unsigned_jars.is_damaged(folder, SIGNED)


def test_a_kill_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def kill(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(unsigned_jars, "_copy", kill)
    with pytest.raises(KeyboardInterrupt):
        make(folder)
    assert not unsigned_jars.in_use(folder)
    assert {path.name for path in folder.iterdir()} == {"org", "unsigned.lock"}


def test_a_jar_that_cannot_be_copied_is_read_as_it_is(folder: Path) -> None:
    (folder / SIGNED).write_bytes(b"no jar")
    make(folder)
    assert unsigned_jars.place(folder, SIGNED) == folder / SIGNED
    unsigned_jars.make(folder / SIGNED, [SIGNED], silent)  # a file where a folder must be
