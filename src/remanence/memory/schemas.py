"""Blocks on the wire."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from remanence.core.actor import Actor
from remanence.core.block import Block
from remanence.core.frozen import Frozen
from remanence.core.revision import TRACKED, Revision
from remanence.core.text_merge import render_diff
from remanence.edge.fields import StoredJson, StoredText
from remanence.errors import Invalid
from remanence.kit.clock import utc_now
from remanence.kit.ids import id_pattern, new_block_id

_MAX_COUNT = 2**31 - 1

Count = Annotated[int, Field(ge=-_MAX_COUNT, le=_MAX_COUNT)]


class _BlockFields(BaseModel):
    model_config = ConfigDict(extra="ignore")

    value: StoredText | None = None
    limit: int | None = None
    description: StoredText | None = None
    read_only: bool | None = None
    metadata: StoredJson | None = None
    tags: list[StoredText] | None = None
    hidden: bool | None = None
    is_template: bool | None = None
    template_name: StoredText | None = None
    template_id: StoredText | None = None
    base_template_id: StoredText | None = None
    deployment_id: StoredText | None = None
    entity_id: StoredText | None = None
    project_id: StoredText | None = None
    preserve_on_migration: bool | None = None

    def given(self) -> dict[str, Any]:
        """The keys that were sent with a value other than null."""
        values: dict[str, Any] = {name: getattr(self, name) for name in self.model_fields_set}
        if self.tags is not None:
            values["tags"] = tuple(dict.fromkeys(self.tags))
        return {name: value for name, value in values.items() if value is not None}


class BlockCreate(_BlockFields):
    """A block to be made: the body of a POST, and an entry of an agent's `memory_blocks`."""

    label: StoredText

    def new_block(self, actor: Actor) -> Block:
        """A block with an id of its own. Null means the default, as if the key were absent."""
        return Block(
            id=new_block_id(),
            organization_id=actor.organization_id,
            created_at=utc_now(),
            created_by_id=actor.user_id,
            last_updated_by_id=actor.user_id,
            **self.given(),
        )


class BlockUpdate(_BlockFields):
    """What changes; keys that are absent stay as they are.

    Null empties what people write (description, metadata, hidden) and leaves all else untouched.
    """

    label: StoredText | None = None
    base_revision: Annotated[int, Field(ge=0, le=_MAX_COUNT)] | None = None
    """The revision that the client read: what others wrote since then is kept, or else it is a conflict."""

    def applied_to(self, block: Block) -> Block:
        emptied: dict[str, Any] = {"description": None, "metadata": {}, "hidden": None}
        changes = {name: empty for name, empty in emptied.items() if name in self.model_fields_set}
        changes |= self.given()
        changes.pop("base_revision", None)
        return block.model_copy(update=changes)


class BlockFilter(Frozen, defer_build=False):
    """Which blocks a list or a count is about. All conditions must hold.

    Built at once: FastAPI reads it from the query string, and warns of a model that is built late.
    """

    label: StoredText | None = None
    templates_only: bool = False
    name: StoredText | None = None
    identity_id: str | None = Field(default=None, pattern=id_pattern("identity"))
    identifier_keys: list[StoredText] | None = None
    project_id: StoredText | None = None
    tags: list[StoredText] | None = None
    match_all_tags: bool = False
    label_search: StoredText | None = None
    description_search: StoredText | None = None
    value_search: StoredText | None = None
    connected_to_agents_count_gt: Count | None = None
    connected_to_agents_count_lt: Count | None = None
    connected_to_agents_count_eq: list[Count] | None = None


def block_body(block: Block) -> dict[str, Any]:
    return {
        "value": block.value,
        "limit": block.limit,
        "project_id": block.project_id,
        "template_name": block.template_name,
        "is_template": block.is_template,
        "template_id": block.template_id,
        "base_template_id": block.base_template_id,
        "deployment_id": block.deployment_id,
        "entity_id": block.entity_id,
        "preserve_on_migration": block.preserve_on_migration,
        "label": block.label,
        "read_only": block.read_only,
        "description": block.description,
        "metadata": block.metadata,
        "hidden": block.hidden,
        "id": block.id,
        "created_by_id": block.created_by_id,
        "last_updated_by_id": block.last_updated_by_id,
        "tags": block.tags,
        "revision": block.revision,
    }


class RevisionFilter(Frozen, defer_build=False):
    """Which writes are meant: those of a run, of an agent, or of the run that a message was part of."""

    run_id: str | None = Field(default=None, pattern=id_pattern("run"))
    message_id: str | None = Field(default=None, pattern=id_pattern("message"))
    agent_id: str | None = Field(default=None, pattern=id_pattern("agent"))

    def check(self) -> None:
        """Raises Invalid if it would mean everything."""
        if not (self.run_id or self.message_id or self.agent_id):
            raise Invalid("Say which writes are meant: give run_id, message_id or agent_id.")


def revision_body(
    revision: Revision, *, step_id: str | None = None, reason: str | None = None
) -> dict[str, Any]:
    author = revision.author
    return {
        "block_id": revision.subject_id if revision.is_of_block else None,
        "passage_id": None if revision.is_of_block else revision.subject_id,
        "revision": revision.number,
        "action": revision.action,
        "restored_revision": revision.restored,
        "created_at": revision.created_at,
        "author": {"kind": author.kind, "id": author.id},
        "run_id": author.run_id,
        "step_id": step_id,
        "message_id": author.message_id,
        "tool_name": author.tool,
        "reason": reason or author.tool,
        "fields": revision.fields,
        "chars": revision.chars,
        "chars_added": revision.chars_added,
    }


def difference_body(before: Block, after: Block) -> dict[str, Any]:
    """What changed, as people read it, and both sides for whoever compares them otherwise."""
    changed = [name for name in ("value", *TRACKED) if getattr(before, name) != getattr(after, name)]
    return {
        "diff": render_diff(before.value, after.value),
        "before": {name: getattr(before, name) for name in ("value", *changed)},
        "after": {name: getattr(after, name) for name in ("value", *changed)},
    }
