"""The shipped table of well-known models (`known_models.toml`)."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

_DATE = re.compile(r"-\d{4}-\d{2}-\d{2}$")


@dataclass(frozen=True, slots=True)
class KnownModel:
    context: int
    output: int | None = None
    reasoning: bool = False


@dataclass(frozen=True, slots=True)
class KnownModels:
    """What is known of one vendor."""

    models: Mapping[str, KnownModel] = field(default_factory=dict[str, KnownModel])
    embeddings: Mapping[str, int] = field(default_factory=dict[str, int])
    """From name to dimensions."""

    def find(self, name: str) -> KnownModel | None:
        return self.models.get(name) or self.models.get(_DATE.sub("", name))


@cache
def _load_all() -> dict[str, KnownModels]:
    tables = tomllib.loads(files("remanence.llm").joinpath("known_models.toml").read_text("utf-8"))
    return {
        vendor: KnownModels(
            models={name: KnownModel(**facts) for name, facts in table.get("models", {}).items()},
            embeddings={name: facts["dimensions"] for name, facts in table.get("embeddings", {}).items()},
        )
        for vendor, table in tables.items()
    }


def known_models(vendor: str) -> KnownModels:
    return _load_all().get(vendor) or KnownModels()
