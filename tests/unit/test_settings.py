"""Settings: what the environment may say, and how a database may be spelled."""

from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from remanence.settings import FixedSettings, ProviderAccess, Settings, normalise_database_url

PG = "postgresql+asyncpg://ann:p%40ss@db:5432/memory"


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for field, info in Settings.model_fields.items():
        for name in (f"REMANENCE_{field.upper()}", *getattr(info.validation_alias, "choices", ())):
            monkeypatch.delenv(str(name), raising=False)


@pytest.mark.parametrize(
    "scheme",
    [
        "postgres",
        "postgresql",
        "postgresql+asyncpg",
        "postgresql+pg8000",
        "postgresql+psycopg2",
        "PostgreSQL+psycopg",
    ],
)
def test_postgresql_may_be_spelled_with_any_driver(scheme: str) -> None:
    assert normalise_database_url(f"{scheme}://ann:p%40ss@db:5432/memory") == PG


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("sslmode=require&channel_binding=require", "?ssl=require"),
        ("connect_timeout=5&target_session_attrs=primary", "?target_session_attrs=primary"),
        ("gssencmode=disable", ""),
    ],
)
def test_options_of_other_drivers_are_translated(query: str, expected: str) -> None:
    assert normalise_database_url(f"postgresql://ann:p%40ss@db:5432/memory?{query}") == PG + expected


def test_a_socket_folder_survives() -> None:
    url = "postgresql+asyncpg://ann@/memory?host=%2Frun%2Fpg"
    assert normalise_database_url("postgresql://ann@/memory?host=/run/pg") == url


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("/data/a.db", "sqlite:////data/a.db"),
        ("a.db", "sqlite:///a.db"),
        ("sqlite:///a.db", "sqlite:///a.db"),
        ("sqlite:////data/a.db", "sqlite:////data/a.db"),
        ("sqlite+aiosqlite:////data/a.db", "sqlite:////data/a.db"),
        (" sqlite:///a.db\n", "sqlite:///a.db"),
    ],
)
def test_sqlite_may_be_a_path_or_a_url(given: str, expected: str) -> None:
    assert normalise_database_url(given) == expected


@pytest.mark.parametrize("given", ["", ":memory:", "sqlite://", "sqlite:///:memory:", "mysql://db/memory"])
def test_what_cannot_work_is_refused(given: str) -> None:
    with pytest.raises(ValueError, match=r"not supported|in memory"):
        normalise_database_url(given)


@pytest.mark.parametrize("url", [PG, "sqlite:///a.db", "sqlite:////data/a.db"])
def test_normalising_twice_changes_nothing(url: str) -> None:
    assert normalise_database_url(normalise_database_url(url)) == url


def test_the_database_is_a_file_in_the_data_folder(tmp_path: Path) -> None:
    assert FixedSettings(dir=tmp_path).database_url == f"sqlite:///{tmp_path}/remanence.sqlite3"


def test_the_home_folder_is_expanded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Settings().dir == tmp_path / ".remanence"


def test_the_predecessors_environment_is_understood(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LETTA_DIR", str(tmp_path))
    monkeypatch.setenv("LETTA_PG_URI", "postgresql+pg8000://ann:p%40ss@db:5432/memory")
    monkeypatch.setenv("LETTA_SERVER_PASSWORD", "sesame")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-deep")
    settings = Settings()
    assert settings.dir == tmp_path
    assert settings.database_url == PG
    assert settings.password is not None
    assert settings.password.get_secret_value() == "sesame"
    assert settings.providers == {
        "openai": ProviderAccess(api_key=SecretStr("sk-test")),
        "deepseek": ProviderAccess(api_key=SecretStr("sk-deep")),
    }


def test_our_own_name_wins_over_the_predecessors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LETTA_PG_URI", "postgresql://old/memory")
    monkeypatch.setenv("REMANENCE_DATABASE_URL", "/data/new.db")
    assert Settings().database_url == "sqlite:////data/new.db"


def test_an_argument_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMANENCE_DATABASE_URL", "/data/environment.db")
    monkeypatch.setenv("REMANENCE_PORT", "9000")
    settings = Settings(database_url="/data/argument.db", port=9001)
    assert (settings.database_url, settings.port) == ("sqlite:////data/argument.db", 9001)


def test_names_without_a_prefix_are_not_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOST", "PORT", "PASSWORD", "LOG_LEVEL", "DATABASE_URL", "DIR"):
        monkeypatch.setenv(name, "9999")
    settings = Settings()
    assert (settings.host, settings.port, settings.password) == ("127.0.0.1", 8283, None)
    assert settings.log_level == "info"


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "")
    monkeypatch.setenv("REMANENCE_PASSWORD", "")
    settings = Settings()
    assert settings.providers == {}
    assert settings.password is None


def test_secure_without_a_password_makes_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECURE", "true")
    settings = Settings()
    assert settings.password is not None
    assert settings.password_was_made
    assert settings.password != Settings().password


def test_a_given_password_is_not_shown() -> None:
    settings = FixedSettings(password=SecretStr("sesame"), secure=True)
    assert not settings.password_was_made
    assert "sesame" not in repr(settings)


def test_log_settings_may_be_written_in_capitals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMANENCE_LOG_LEVEL", "DEBUG")
    monkeypatch.setenv("REMANENCE_LOG_FORMAT", "JSON")
    settings = Settings()
    assert (settings.log_level, settings.log_format) == ("debug", "json")


def test_fixed_settings_ignore_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    assert FixedSettings().providers == {}


def test_each_vendors_variables_turn_it_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "theirs")
    monkeypatch.setenv("REMANENCE_ANTHROPIC_API_KEY", "ours")
    monkeypatch.setenv("OLLAMA_BASE_URL", "localhost:11434")
    monkeypatch.setenv("HF_TOKEN", "hf")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://me.openai.azure.com")
    monkeypatch.setenv("AZURE_API_KEY", "az")
    settings = Settings(groq_api_key="given")  # pyright: ignore[reportCallIssue] - a short form
    assert settings.providers == {
        "anthropic": ProviderAccess(api_key=SecretStr("ours")),
        "azure": ProviderAccess(api_key=SecretStr("az"), base_url="https://me.openai.azure.com"),
        "hugging-face": ProviderAccess(api_key=SecretStr("hf")),
        "ollama": ProviderAccess(base_url="localhost:11434"),
        "groq": ProviderAccess(api_key=SecretStr("given")),
    }


def test_a_bad_value_is_refused() -> None:
    with pytest.raises(ValidationError):
        FixedSettings(port=70_000)
