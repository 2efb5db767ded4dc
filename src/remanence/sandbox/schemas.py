"""Sandbox configurations on the wire."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from remanence.edge.fields import MAX_NUMBER, StoredText
from remanence.kit.json import JsonObject

VariableName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,254}$")]
VariableValue = Annotated[StoredText, StringConstraints(max_length=100_000)]
PipName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._\[\],-]{0,200}$")]
PipVersion = Annotated[str, StringConstraints(pattern=r"^[<>=!~]{0,2} ?[A-Za-z0-9][A-Za-z0-9.+!*-]{0,60}$")]


class PipInput(BaseModel):
    name: PipName
    version: PipVersion | None = None


class LocalConfig(BaseModel):
    """Settings of the predecessor's local sandbox. Ours has no folder or environment to be named; they are kept."""

    model_config = ConfigDict(extra="forbid")

    sandbox_dir: StoredText | None = None
    use_venv: bool = False
    venv_name: StoredText = "venv"
    pip_requirements: list[PipInput] = Field(default_factory=list[PipInput])


class E2bConfig(BaseModel):
    """Settings of a hosted sandbox. They are kept for whoever reads them: tools are run on this machine."""

    model_config = ConfigDict(extra="forbid")

    timeout: Annotated[int, Field(ge=1, le=MAX_NUMBER)] = 300
    template: StoredText | None = None
    pip_requirements: list[StoredText] | None = None


AnyConfig = LocalConfig | E2bConfig


class ConfigInput(BaseModel):
    config: AnyConfig


class ConfigUpdate(BaseModel):
    config: AnyConfig | None = None


class VariableCreate(BaseModel):
    key: VariableName
    value: VariableValue
    description: StoredText | None = None


class VariableUpdate(BaseModel):
    key: VariableName | None = None
    value: VariableValue | None = None
    description: StoredText | None = None


@dataclass(frozen=True, slots=True)
class Stamp:
    """Who made and changed a record, and when."""

    created_by_id: str | None
    last_updated_by_id: str | None
    created_at: datetime
    updated_at: datetime

    def body(self) -> dict[str, Any]:
        return {
            "created_by_id": self.created_by_id,
            "last_updated_by_id": self.last_updated_by_id,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
        }


@dataclass(frozen=True, slots=True)
class SandboxConfig:
    id: str
    organization_id: str
    type: str
    config: JsonObject
    stamp: Stamp


@dataclass(frozen=True, slots=True)
class Variable:
    id: str
    organization_id: str
    sandbox_config_id: str
    key: str
    value: str
    description: str | None
    stamp: Stamp


def config_body(config: SandboxConfig, isolation: JsonObject) -> dict[str, Any]:
    return {
        **config.stamp.body(),
        "id": config.id,
        "type": config.type,
        "organization_id": config.organization_id,
        "config": config.config | {"isolation": isolation},
    }


def variable_body(variable: Variable) -> dict[str, Any]:
    return {
        **variable.stamp.body(),
        "id": variable.id,
        "key": variable.key,
        "value": variable.value,
        "description": variable.description,
        "organization_id": variable.organization_id,
        "value_enc": None,
        "sandbox_config_id": variable.sandbox_config_id,
    }
