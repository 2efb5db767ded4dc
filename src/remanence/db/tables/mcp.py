"""MCP servers whose tools an organisation uses."""

from typing import Any

from sqlalchemy import String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from remanence.db.tables.base import Base, Dated, Identified, Owned, json_field


class McpServerRow(Identified, Owned, Dated, Base):
    __tablename__ = "mcp_servers"
    __table_args__ = (
        UniqueConstraint("organization_id", "server_name", name="uix_mcp_server_name_organization"),
    )

    server_name: Mapped[str] = mapped_column(String, nullable=False)
    server_type: Mapped[str] = mapped_column(String, nullable=False)
    config: Mapped[Any] = json_field(nullable=False)
    """Where it is; nothing secret."""
    secrets_enc: Mapped[str | None] = mapped_column(Text)
    """Tokens, headers and environment, as encrypted JSON."""
    oauth_enc: Mapped[str | None] = mapped_column(Text)
    """What the OAuth flow has left: tokens and our registration as a client."""
