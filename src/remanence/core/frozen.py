"""The base of every core type: immutable, lenient about unknown keys, built on first use."""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)
