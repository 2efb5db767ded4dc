"""All vectors of an index, in a form that either database can take up again."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from sqlalchemy import Connection, select, text

from remanence.core.llm import EmbeddingConfig
from remanence.core.vector import Vector, pack_vector
from remanence.db.tables import EmbeddingModelRow
from remanence.kit import json
from remanence.search.ports import Embedding, SearchIndex
from remanence.search.shelves import shelf_of

_SQLITE = (
    "SELECT model, hex(document), vector FROM search_vectors WHERE vector IS NOT NULL ORDER BY document, key"
)
_POSTGRES = "SELECT model, document::text, vector::text FROM search_vectors ORDER BY document, part"
_BATCH = 1000


@dataclass(frozen=True, slots=True)
class DumpedVector:
    document_id: str
    model: int
    vector: Vector


def dump_models(connection: Connection) -> dict[int, str]:
    """The configurations of the models that there are vectors of, by their numbers."""
    rows = connection.execute(select(EmbeddingModelRow.id, EmbeddingModelRow.config))
    return {row.id: row.config for row in rows}


def dump_vectors(connection: Connection) -> Iterator[DumpedVector]:
    """Those of one document together, in the order of its parts."""
    kinds = {
        row.id: row.kind for row in connection.execute(select(EmbeddingModelRow.id, EmbeddingModelRow.kind))
    }
    is_sqlite = connection.dialect.name == "sqlite"
    if not is_sqlite and connection.scalar(text("SELECT to_regclass('search_vectors')::text")) is None:
        return
    from remanence.search.matrix import restore

    statement = text(_SQLITE if is_sqlite else _POSTGRES).execution_options(yield_per=_BATCH)
    for model, document, vector in connection.execute(statement):
        if model not in kinds:
            continue
        uuid = _uuid(document) if is_sqlite else document
        read = restore(vector) if is_sqlite else pack_vector(json.decode(vector))
        yield DumpedVector(f"{kinds[model]}-{uuid}", model, read)


def load_vectors(
    connection: Connection, index: SearchIndex, dumped: Sequence[DumpedVector], models: Mapping[int, str]
) -> list[str]:
    """Indexes the documents of these vectors with them; the ids of those that are there."""
    found = {
        id: (model, [each.vector for each in group])
        for (id, model), group in groupby(dumped, key=lambda each: (each.document_id, each.model))
    }
    configs = {number: EmbeddingConfig.model_validate_json(config) for number, config in models.items()}
    done: list[str] = []
    for _, group in groupby(sorted(found), key=lambda id: id.partition("-")[0]):
        ids = list(group)
        documents = shelf_of(ids[0]).load_documents(connection, ids)
        index.index(
            connection,
            [
                replace(document, embedding=Embedding(configs[found[id][0]], tuple(found[id][1])))
                for id, document in documents.items()
            ],
        )
        done += documents
    return done


def _uuid(hexadecimal: str) -> str:
    text = hexadecimal.lower()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
