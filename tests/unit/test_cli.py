"""The command line, as far as it needs no server."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from remanence import __version__
from remanence.cli.main import main

runner = CliRunner()


@pytest.fixture(autouse=True)
def restore_root_logger() -> Iterator[None]:
    """Commands send the log to the runner's stream, which closes with them."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def test_version_is_printed() -> None:
    result = runner.invoke(main, ["version"])
    assert (result.exit_code, result.output) == (0, f"{__version__}\n")


def test_a_setting_that_cannot_work_is_named_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMANENCE_PORT", "99999")
    result = runner.invoke(main, ["server"])
    assert (result.exit_code, result.output) == (2, "port: Input should be less than or equal to 65535\n")


def test_a_database_that_cannot_work_is_refused() -> None:
    result = runner.invoke(main, ["migrate", "--database", "mysql://db/memory"])
    assert result.exit_code == 2
    assert "'mysql' databases are not supported" in result.output


def test_migrating_twice_finds_nothing_left_to_do(tmp_path: Path) -> None:
    arguments = ["migrate", "--database", str(tmp_path / "agents.db")]
    assert runner.invoke(main, arguments).output == "The database was brought up to date.\n"
    assert runner.invoke(main, arguments).output == "The database is up to date.\n"


def test_a_backup_goes_out_and_in_with_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def call(home: str, *arguments: str) -> tuple[int, str]:
        monkeypatch.setenv("REMANENCE_DIR", str(tmp_path / home))
        result = runner.invoke(main, list(arguments))
        return result.exit_code, result.output

    file, open_file = str(tmp_path / "all.backup"), str(tmp_path / "open.backup")
    code, told = call("old", "backup", file)
    assert code == 0
    assert "keep" in told
    assert call("old", "backup", open_file, "--with-key")[0] == 0
    code, told = call("old", "verify", file)
    assert (code, told.splitlines()[-1]) == (0, "The backup is whole.")
    code, told = call("new", "restore", file)
    assert code == 1
    assert "another key" in told
    assert call("new", "restore", open_file)[0] == 0
    keys = [(tmp_path / home / "secret.key").read_text() for home in ("old", "new")]
    assert keys[0] == keys[1]
    assert (tmp_path / "new" / "secret.key").stat().st_mode & 0o077 == 0
    code, told = call("new", "verify")
    assert code == 0
    assert "found 0 faults" in told
    assert call("new", "verify", str(tmp_path / "nothing"))[0] == 1


def test_keys_are_made_listed_and_revoked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMANENCE_DIR", str(tmp_path))
    made = runner.invoke(main, ["keys", "create", "laptop", "--role", "read_only", "--days", "3"])
    assert made.exit_code == 0
    assert made.stdout.startswith("rmn_")
    assert "may read." in made.stderr
    key_id = made.stderr.split()[0]
    shown = runner.invoke(main, ["keys", "list"]).output
    assert key_id in shown
    assert "laptop" in shown
    assert made.stdout.strip() not in shown
    assert runner.invoke(main, ["keys", "revoke", key_id]).exit_code == 0
    again = runner.invoke(main, ["keys", "revoke", key_id])
    assert (again.exit_code, again.stderr) == (1, "There is no such key.\n")


def test_a_key_is_for_one_thing_alone() -> None:
    result = runner.invoke(main, ["keys", "create", "x", "--agent", "a", "--project", "b"])
    assert (result.exit_code, result.stderr[:28]) == (2, "A key is for one agent, proj")
