"""How tools are run for an organisation, and the variables that all its tools see."""

from typing import Any

from sqlalchemy import ForeignKey, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from remanence.db.tables.base import Audited, Base, Identified, Owned, json_field


class SandboxConfigRow(Identified, Owned, Audited, Base):
    __tablename__ = "sandbox_configs"
    __table_args__ = (UniqueConstraint("organization_id", "type", name="unique_sandbox_type"),)

    type: Mapped[str] = mapped_column(String, nullable=False)
    config: Mapped[Any] = json_field(nullable=False)


class SandboxVariableRow(Identified, Owned, Audited, Base):
    """An environment variable. The value is encrypted at rest."""

    __tablename__ = "sandbox_environment_variables"
    __table_args__ = (UniqueConstraint("sandbox_config_id", "key", name="uix_key_sandbox_config"),)

    sandbox_config_id: Mapped[str] = mapped_column(
        ForeignKey("sandbox_configs.id", ondelete="CASCADE"), nullable=False
    )
    key: Mapped[str] = mapped_column(String, nullable=False)
    value_enc: Mapped[str] = mapped_column(Text, nullable=False)
    description: Mapped[str | None] = mapped_column(String)
