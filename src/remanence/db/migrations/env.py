"""Alembic's entry: runs on the connection that `db/migrate.py` hands over."""

from alembic import context

from remanence.db.migrations.scope import belongs_to_us
from remanence.db.tables import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    render_as_batch=True,
    transactional_ddl=True,
    include_object=belongs_to_us,
)
with context.begin_transaction():
    context.run_migrations()
