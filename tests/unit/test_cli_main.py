"""The command line itself: the help comes at once, and every error ends in one line and its exit code."""

import errno
import io
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from pyarrow.lib import ArrowException

from tracegraph.base.errors import InputError, StoreError, TracegraphError
from tracegraph.cli import main as cli_main
from tracegraph.cli.main import COMMANDS, main
from tracegraph.cli.missing_files import refuse_missing
from tracegraph.cli.streams import open_streams
from tracegraph.store.workspace import Workspace, open_workspace

EXAMPLE = str(Path(__file__).parents[2] / "examples" / "traces" / "two_threads.json.gz")
HEAVY = ("pandas", "neo4j", "pyarrow", "numpy")


@pytest.fixture
def run_failing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    """Run a command that raises an error; its exit code and what stands on stderr."""

    def run(error: BaseException, *options: str) -> tuple[int, str]:
        @click.command()
        def fail() -> None:
            raise error

        monkeypatch.setattr(cli_main.CommandTable, "get_command", lambda *_: fail)
        code = main(["--workspace", str(tmp_path), *options, "fail"])
        return code, capsys.readouterr().err

    return run


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (InputError("no run named 'x'", "list them"), 2, "tracegraph: no run named 'x'; list them\n"),
        (StoreError("the server is down"), 3, "tracegraph: the server is down\n"),
        (TracegraphError("a\n  b\n^"), 1, "tracegraph: a b ^\n"),
        (InputError("run '\x1b[31m\u202e'"), 2, "tracegraph: run '\\x1b[31m\\u202e'\n"),
        (KeyError("k"), 1, "tracegraph: unexpected KeyError: 'k'; run tracegraph -v to see where\n"),
    ],
)
def test_error_is_one_line(
    error: Exception, code: int, line: str, run_failing: Callable[..., tuple[int, str]]
) -> None:
    assert run_failing(error) == (code, line)


def test_interruption(run_failing: Callable[..., tuple[int, str]]) -> None:
    code, text = run_failing(KeyboardInterrupt())
    assert (code, text.strip()) == (130, "tracegraph: interrupted")


def test_traceback_only_when_asked(
    run_failing: Callable[..., tuple[int, str]], caplog: pytest.LogCaptureFixture
) -> None:
    run_failing(KeyError("k"))
    assert not caplog.records
    run_failing(KeyError("k"), "-v")
    assert "Traceback" in caplog.text


@pytest.mark.parametrize(
    "arguments",
    [
        ["-v", "convert", "no.json", "to.parquet"],
        ["convert", "no.json", "to.parquet", "-v"],
        ["render", "-v", "critical-path", "-o", "path.txt"],
        ["render", "critical-path", "-o", "path.txt", "-v"],
    ],
)
def test_more_is_said_with_v_before_or_after_the_command(
    arguments: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert main(["--workspace", str(tmp_path), *arguments]) == 2
    assert "Traceback" in caplog.text


@pytest.mark.parametrize("arguments", [["runs"], ["ingest", __file__], ["db", "stop"]])
def test_a_newer_workspace_is_left_alone(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    open_workspace(tmp_path)
    (tmp_path / "workspace.json").write_text('{"schema_version": 99}')
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    assert main(["--workspace", str(tmp_path), *arguments]) == 3
    assert "schema version 99, newer" in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


@pytest.mark.parametrize("command", ["doctor", "health"])
def test_a_file_is_judged_beside_a_workspace_of_another_version(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`doctor` asks nothing of the workspace; `health` says that what was stored there does not count."""

    def judged() -> tuple[int, str, str]:
        code = main(["--workspace", str(tmp_path), command, EXAMPLE])
        said = capsys.readouterr()
        return code, said.out, said.err

    open_workspace(tmp_path)
    code, out, _ = judged()
    (tmp_path / "workspace.json").write_text('{"schema_version": 0}')
    again, same, err = judged()
    assert (again, same) == (code, out)
    assert ("What ingest may have stored" in err) == (command == "health")


def test_doctor_says_that_the_workspace_is_of_another_version(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "workspace.json").write_text('{"schema_version": 0}')
    assert main(["--workspace", str(tmp_path), "doctor"]) == 3
    said = " ".join(capsys.readouterr().out.split())
    assert "schema version 0, older than" in said
    assert "→ move that folder away, or choose another with --workspace" in said
    assert "not looked for: it would be the workspace's" in said


@pytest.mark.parametrize("arguments", [["no-such-command"], ["--no-such-option"], ["db", "no-such-command"]])
def test_wrong_usage(arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--workspace", str(tmp_path), *arguments]) == 2
    assert "No such" in capsys.readouterr().err


def test_a_misspelt_command_is_guessed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--workspace", str(tmp_path), "repot"]) == 2
    expected = "tracegraph: No such command 'repot'; did you mean report? tracegraph -h lists the commands\n"
    assert capsys.readouterr().err == expected


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["render", "banana"], "tracegraph render -h lists the commands; there are critical-path, "),
        (["render", "Hotspots"], "did you mean hotspot? tracegraph render -h lists the commands"),
        (["db", "sotp"], "did you mean stop? "),
        (["runs", "dlete"], "did you mean delete? "),
    ],
)
def test_a_misspelt_command_of_a_group_is_guessed(
    arguments: list[str], hint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--workspace", str(tmp_path), *arguments]) == 2
    assert capsys.readouterr().err.startswith(f"tracegraph: No such command {arguments[1]!r}; {hint}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ingest", EXAMPLE, "--run", ""], "the name of the run is empty"),
        (["report", EXAMPLE, "--run", " "], "the name of the run is empty"),
        (["cypher", ""], "the query is empty"),
        (["render", "cypher", " \n", "-o", "picture.svg"], "the query is empty"),
    ],
)
def test_empty_texts_are_refused(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--workspace", str(tmp_path), *arguments]) == 2
    assert capsys.readouterr().err.startswith(f"tracegraph: {message}; ")


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_lists_every_command(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([flag]) == 0
    text = capsys.readouterr().out
    assert all(f"\n  {name} " in text for name in COMMANDS)


def test_help_of_a_command_makes_no_workspace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--workspace", str(tmp_path / "new"), "query", "-h"]) == 0
    assert "--describe" in capsys.readouterr().out
    assert not (tmp_path / "new").exists()


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import sys; from tracegraph.cli.main import main; code = main(['--help']); "
        f"print([name for name in {HEAVY} if name in sys.modules]); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_health_imports_no_driver() -> None:
    program = (
        "import sys; import tracegraph.cli.context, tracegraph.cli.commands.health; "
        "print([name for name in ('neo4j', 'tracegraph.workbench.bench') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_question_about_a_stored_run_imports_no_causal_model() -> None:
    program = (
        "import sys; import tracegraph.cli.commands.query, tracegraph.cli.commands.cypher; "
        "heavy = ('tracegraph.ingest.causal.graph', 'tracegraph.ingest.what_if'); "
        "print([name for name in sys.modules if name.startswith(heavy)])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "arguments",
    [
        ["report", "nosuch.json"],
        ["report", "--step", "3", "nosuch.json.gz"],
        ["ingest", __file__, "nosuch"],
        ["doctor", "folder/nosuch"],
        ["convert", "nosuch.json", "to.parquet"],
        ["diff", "nosuch.json", "other"],
    ],
)
def test_a_file_that_is_not_there_is_refused_before_anything_heavy_is_imported(
    arguments: list[str], tmp_path: Path
) -> None:
    program = (
        "import sys; from tracegraph.cli.main import main; code = main(sys.argv[1:]); "
        f"print([name for name in {HEAVY} if name in sys.modules]); sys.exit(code)"
    )
    words = ["--workspace", str(tmp_path), *arguments]
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "[]\n")
    missing = next(word for word in arguments if "nosuch" in word)
    assert done.stderr == f"tracegraph: {missing} does not exist; check the spelling of the path\n"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("report", ["--run", "nosuch.json"]),
        ("report", ["a run"]),
        ("diff", ["a run", "b"]),
        ("ingest", ["nosuch*.json", "s3://bucket/nosuch.json", "--", "nosuch"]),
        ("convert", [__file__, "to.parquet"]),
        ("query", ["nosuch.json"]),
    ],
)
def test_what_may_be_no_file_is_left_to_the_command(command: str, words: list[str], tmp_path: Path) -> None:
    Workspace(tmp_path).run_folder("a run").mkdir(parents=True)
    refuse_missing(command, words, tmp_path, is_own=True)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("tracegraph, version ")


def test_completion_script_and_words() -> None:
    program = "import sys; from tracegraph.cli.main import main; sys.exit(main())"

    def complete(instruction: str, words: str) -> str:
        environment = {"_TRACEGRAPH_COMPLETE": instruction, "COMP_WORDS": words, "COMP_CWORD": "1"}
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
        )
        return done.stdout

    assert "complete" in complete("bash_source", "")
    assert complete("zsh_complete", "tracegraph --qui").splitlines()[1] == "--quiet"


@pytest.mark.parametrize(
    ("line", "rest"),
    [("click.echo('line' * 1000)", False), ("console.print('line' * 20)", True)],
    ids=["rows", "report"],
)
def test_reader_that_goes_away(line: str, rest: bool, tmp_path: Path) -> None:
    """What is left of a report's work is done without a reader."""
    done = tmp_path / "done"
    program = (
        "import sys, click, pathlib; from tracegraph.cli import main as m\n"
        "from tracegraph.cli.reporters.layout import open_console\n"
        "def work():\n"
        "    console = open_console()\n"
        f"    for _ in range(1000): {line}\n"
        f"    pathlib.Path({str(done)!r}).touch()\n"
        "show = click.Command('show', callback=work)\n"
        "m.CommandTable.get_command = lambda *_: show\n"
        f"sys.exit(m.main(['--workspace', {str(tmp_path)!r}, 'show']))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0
    assert done.exists() == rest


@pytest.mark.parametrize(
    "arguments",
    [
        ["query", "hotspots"],
        ["cypher", "RETURN 1 AS one"],
        ["render", "critical-path"],
        ["runs", "list"],
    ],
)
def test_no_file_is_replaced_unless_told(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "rows.svg"
    target.write_text("mine")
    assert main(["--workspace", str(tmp_path / "ws"), *arguments, "-o", str(target)]) == 2
    said = capsys.readouterr().err
    assert said == f"tracegraph: {target} already exists; choose another file, or replace it with --force\n"
    assert target.read_text() == "mine"


@pytest.mark.parametrize("order", [["--force", "-o"], ["-o"]])
def test_a_file_is_replaced_with_force(order: list[str], tmp_path: Path) -> None:
    target = tmp_path / "queries.csv"
    target.write_text("old")
    force = [] if "--force" in order else ["--force"]
    assert main(["--workspace", str(tmp_path), "query", "--list", *order, str(target), *force]) == 0
    assert target.read_text() != "old"


@pytest.mark.parametrize("command", [["report"], ["diff", "a"], ["what-if", "--remove", "name=a"]])
def test_no_folder_without_a_name_is_filled(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments in (["--workspace", "ws", *command, "-o", ""], ["--workspace", "", *command]):
        assert main(arguments) == 2
        said = capsys.readouterr().err
        assert "folder" in said
        assert said.count("\n") == 1
    assert not [path for path in tmp_path.iterdir() if path.name != "ws"]


EXAMPLE = str(Path(__file__).parents[2] / "examples" / "traces" / "two_threads.json.gz")
COMMAND = [sys.executable, "-c", "import sys; from tracegraph.cli.main import main; sys.exit(main())"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("arguments", ["query --list", "query --list --format csv", "query --help"])
def test_a_full_output_is_one_line(arguments: str, tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        words = [*COMMAND, "--workspace", tmp_path, *arguments.split()]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    said = "tracegraph: standard output cannot be written: No space left on device"
    assert (done.returncode, done.stderr) == (2, f"{said}; send it somewhere else, or use -o\n")


@pytest.mark.parametrize(
    ("closed", "code", "said"),
    [
        (">&-", 2, "tracegraph: standard output is closed; send it somewhere, such as > /dev/null\n"),
        ("2>&-", 0, ""),
        ("<&-", 0, "texts are cut; --format csv shows all, COLUMNS=200 more\n"),
    ],
)
def test_closed_streams(closed: str, code: int, said: str, tmp_path: Path) -> None:
    line = f"{shlex.join([*COMMAND, '--workspace', str(tmp_path), 'query', '--list'])} {closed}"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (code, said)
    assert ("hotspots" in done.stdout) == (code == 0)


def test_a_locale_without_our_signs_gets_plain_letters(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    open_streams()
    print("12 µs → ██ 核…")
    sys.stdout.flush()
    assert written.getvalue() == b"12 us -> ## \\u6838...\n"


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (MemoryError(), 3, "there is too little memory; close other programs"),
        (
            OSError(errno.EMFILE, "", "x.json"),
            3,
            "x.json: Too many open files; raise the limit, such as ulimit -n",
        ),
        (OSError(errno.ENOMEM, ""), 3, "the system: Cannot allocate memory; close other"),
        (
            OSError(errno.ENAMETOOLONG, "", "x" * 300),
            2,
            "… (300 characters): File name too long; give a shorter",
        ),
        (ImportError("x.so: failed to map segment", name="numpy"), 3, "too little memory to load numpy"),
        (RuntimeError("can't start new thread"), 3, "the system starts no more threads; raise the limits"),
        (ArrowException("Failed to launch worker thread"), 3, "the system starts no more threads"),
    ],
)
def test_what_the_system_refuses_is_one_line(
    error: Exception,
    code: int,
    said: str,
    run_failing: Callable[..., tuple[int, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cli_main, "output_problem", lambda: None)
    found, text = run_failing(error)
    assert found == code
    assert said in text
    assert "unexpected" not in text
    assert text.count("\n") == 1


@pytest.mark.parametrize("length", [300, 5000])
@pytest.mark.parametrize(
    "command", [["doctor"], ["report"], ["ingest"], ["convert", "a.json"], ["query", "--list", "-o"]]
)
def test_paths_that_are_too_long_are_one_line(
    command: list[str], length: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.json").write_text("[]")
    words = [str(tmp_path / word) if word == "a.json" else word for word in command]
    path = "/".join(["x" * 200] * (length // 200) + ["y" * (length % 200 or 300)]) + ".json"
    assert main(["--workspace", str(tmp_path / "ws"), *words, path]) == 2
    said = capsys.readouterr().err
    assert "unexpected" not in said
    assert said.count("\n") == 1
