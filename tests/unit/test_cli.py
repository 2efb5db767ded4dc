"""The command line, as far as it needs no server."""

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from remanence import __version__
from remanence.accounts.audit.repository import save_entries
from remanence.cli.main import main
from remanence.core.audit import AuditEntry
from remanence.db.database import open_database
from remanence.kit.clock import utc_now
from remanence.kit.ids import new_id
from remanence.settings import DATABASE_FILE, Settings

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


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "example.org"])
def test_a_server_that_asks_nobody_who_he_is_does_not_listen_to_others(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMANENCE_DIR", str(tmp_path))
    result = runner.invoke(main, ["server", "--host", host])
    assert result.exit_code == 2
    assert all(name in result.stderr for name in ("REMANENCE_PASSWORD", "REMANENCE_ALLOW_OPEN"))
    assert list(tmp_path.iterdir()) == []


def test_with_a_password_or_when_told_so_it_does() -> None:
    assert not Settings(host="0.0.0.0", password=SecretStr("x")).is_open_to_others
    assert not Settings(host="0.0.0.0", secure=True).is_open_to_others
    assert not Settings(host="0.0.0.0", allow_open=True).is_open_to_others
    assert not Settings(host="127.0.0.2").is_open_to_others
    assert not Settings(host="::1").is_open_to_others


def test_the_audit_log_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMANENCE_DIR", str(tmp_path))
    entry = AuditEntry(
        id=new_id("audit"), created_at=utc_now(), method="POST", route="/v1/keys/", status=401, ip="127.0.0.9"
    )

    async def prepare() -> None:
        db = open_database(f"sqlite:///{tmp_path / DATABASE_FILE}")
        await db.write(save_entries, [entry])
        await db.close()

    assert runner.invoke(main, ["migrate"]).exit_code == 0
    asyncio.run(prepare())
    shown = runner.invoke(main, ["audit"]).output
    assert all(word in shown for word in ("POST /v1/keys/", "401", "127.0.0.9"))
    assert "POST" not in runner.invoke(main, ["audit", "--user", "user-1"]).output
