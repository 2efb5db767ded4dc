"""Organisations and the users in them."""

from sqlalchemy import Boolean, String, false
from sqlalchemy.orm import Mapped, mapped_column, relationship

from remanence.db.tables.base import Audited, Base, Identified, Owned


class OrganizationRow(Identified, Audited, Base):
    __tablename__ = "organizations"

    name: Mapped[str] = mapped_column(String, nullable=False)
    privileged_tools: Mapped[bool] = mapped_column(
        Boolean, default=False, server_default=false(), nullable=False
    )

    users: Mapped[list["UserRow"]] = relationship(back_populates="organization", passive_deletes=True)


class UserRow(Identified, Owned, Audited, Base):
    __tablename__ = "users"

    name: Mapped[str] = mapped_column(String, nullable=False)

    organization: Mapped[OrganizationRow] = relationship(back_populates="users")
