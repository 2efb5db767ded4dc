"""Storage: the tables, transactions as functions, what differs between the databases, migrations.

A repository function takes a SQLAlchemy `Connection` and awaits nothing; `Database.read` and
`Database.write` run one such function as one transaction, on SQLite and on PostgreSQL alike.
"""
