"""Which embedding models there are vectors of. Vectors of different models cannot be compared, so each
row of the index names its model by a number."""

import hashlib
from collections.abc import Sequence
from functools import lru_cache

from sqlalchemy import Connection, select

from remanence.core.llm import EmbeddingConfig
from remanence.core.vector import dimensions_of
from remanence.db.dialect import insert
from remanence.db.tables import EmbeddingModelRow
from remanence.search.ports import Document, Kind


def fingerprint(config: EmbeddingConfig, dimensions: int) -> str:
    """The same for configurations whose vectors can be compared."""
    parts = (
        config.embedding_endpoint_type,
        config.embedding_endpoint or "",
        config.embedding_model,
        config.azure_deployment or "",
        str(dimensions),
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def number_of_model(
    connection: Connection, organization_id: str, kind: Kind, config: EmbeddingConfig, dimensions: int
) -> int:
    """Given on first use."""
    known = (
        select(EmbeddingModelRow.id).where(
            EmbeddingModelRow.organization_id == organization_id,
            EmbeddingModelRow.kind == kind,
            EmbeddingModelRow.fingerprint == fingerprint(config, dimensions),
        )
    )  # fmt: skip
    number = connection.scalar(known)
    if number is None:
        statement = insert(connection, EmbeddingModelRow).on_conflict_do_nothing()
        connection.execute(
            statement,
            {
                "organization_id": organization_id,
                "kind": kind,
                "fingerprint": fingerprint(config, dimensions),
                "dimensions": dimensions,
                "config": config.model_dump_json(),
            },
        )
        number = connection.scalar(known)
    assert number is not None
    return number


def number_models(
    connection: Connection, documents: Sequence[Document]
) -> dict[tuple[EmbeddingConfig, str, Kind], int]:
    """The models of documents that come with vectors, by configuration, organisation and kind."""
    numbers: dict[tuple[EmbeddingConfig, str, Kind], int] = {}
    for document in documents:
        if document.embedding is None or not document.embedding.vectors:
            continue
        key = (document.embedding.config, document.organization_id, document.kind)
        if key not in numbers:
            dimensions = dimensions_of(document.embedding.vectors[0])
            numbers[key] = number_of_model(
                connection, document.organization_id, document.kind, key[0], dimensions
            )
    return numbers


def list_models(
    connection: Connection, organization_id: str, kinds: Sequence[Kind]
) -> dict[int, EmbeddingConfig]:
    rows = connection.execute(
        select(EmbeddingModelRow.id, EmbeddingModelRow.config).where(
            EmbeddingModelRow.organization_id == organization_id, EmbeddingModelRow.kind.in_(kinds)
        )
    )
    return {row.id: _read_config(row.config) for row in rows}


@lru_cache(maxsize=100)
def _read_config(text: str) -> EmbeddingConfig:
    return EmbeddingConfig.model_validate_json(text)
