"""What organisations and agents may spend on models."""

from sqlalchemy import BigInteger, ForeignKey, Index, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from remanence.db.tables.base import Base, Dated, Identified, Owned


class BudgetRow(Identified, Owned, Dated, Base):
    __tablename__ = "budgets"
    __table_args__ = (
        UniqueConstraint("subject", "period", name="unique_budget"),
        Index("ix_budgets_organization_id", "organization_id"),
        Index("ix_budgets_agent_id", "agent_id"),
    )

    agent_id: Mapped[str | None] = mapped_column(ForeignKey("agents.id", ondelete="CASCADE"))
    subject: Mapped[str] = mapped_column(String, nullable=False)
    """The agent's id, or the organisation's: NULLs are never equal, and so not unique."""
    period: Mapped[str] = mapped_column(String, nullable=False)
    limit_nanos: Mapped[int] = mapped_column(BigInteger, nullable=False)
    """Billionths of a US dollar."""
