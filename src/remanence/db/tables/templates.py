"""Templates of agents, their versions, and what was made from them."""

from typing import Any

from sqlalchemy import ForeignKey, Integer, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from remanence.db.tables.base import Audited, Base, Identified, Owned, Projected, json_field


class TemplateRow(Identified, Owned, Audited, Projected, Base):
    __tablename__ = "templates"
    __table_args__ = (UniqueConstraint("organization_id", "name", name="unique_template_name"),)

    name: Mapped[str] = mapped_column(String, nullable=False)
    latest: Mapped[int] = mapped_column(Integer, nullable=False)


class TemplateVersionRow(Identified, Owned, Audited, Base):
    """A version as an agent file. The one with the number 0 is being worked on; the others stay as they are."""

    __tablename__ = "template_versions"
    __table_args__ = (UniqueConstraint("template_id", "number", name="unique_template_version"),)

    template_id: Mapped[str] = mapped_column(ForeignKey("templates.id", ondelete="CASCADE"), nullable=False)
    number: Mapped[int] = mapped_column(Integer, nullable=False)
    message: Mapped[str | None] = mapped_column(Text)
    memory_variables: Mapped[Any] = json_field(nullable=False)
    digest: Mapped[str] = mapped_column(String, nullable=False)
    file: Mapped[Any] = json_field(nullable=False)


class TemplateDeploymentRow(Identified, Owned, Audited, Base):
    """Agents that were made together, and what their memory was filled with."""

    __tablename__ = "template_deployments"

    template_id: Mapped[str] = mapped_column(
        ForeignKey("templates.id", ondelete="CASCADE"), nullable=False, index=True
    )
    memory_variables: Mapped[Any] = json_field(nullable=False)
