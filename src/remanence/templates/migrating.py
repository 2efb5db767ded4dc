"""Agents made from a template, brought to another version of it."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from remanence.agents import repository as agents
from remanence.agents.queries import Include
from remanence.agents.schemas import AgentUpdate
from remanence.core.block import Block
from remanence.core.template import TemplateVersion, fill_variables
from remanence.memory import repository as blocks
from remanence.memory.schemas import BlockUpdate
from remanence.templates.repository import Made
from remanence.templates.schemas import TemplateSave
from remanence.transfer.importing import Importer, Prepared
from remanence.transfer.schemas import FileAgent, FileBlock

_CARRIED = (
    *("system", "description", "tool_rules", "compaction_settings", "response_format"),
    *("message_buffer_autoclear", "max_files_open", "per_file_view_window_char_limit"),
)
"""What an agent takes over beside its model, tools, blocks and variables. What it is to its people (name,
tags, identities, history, zone) stays its own."""
_OF_BLOCKS = ("description", "limit", "read_only")


class Migration:
    """Works within one transaction: all agents come along, or none."""

    def __init__(
        self, importer: Importer, prepared: Prepared, version: TemplateVersion, how: TemplateSave
    ) -> None:
        self._importer = importer
        self._connection = importer.connection
        self._actor = importer.actor
        self._prepared = prepared
        self._version = version
        self._how = how
        self._agents = {agent.id: agent for agent in prepared.file.agents}
        self._blocks = {block.id: block for block in prepared.file.blocks}

    def run(self, made: Iterable[Made]) -> None:
        self._importer.take_tools(self._prepared)
        known = [each for each in made if each.entity_id in self._agents]
        for _, together in groupby(known, key=lambda each: each.deployment_id):
            self._migrate(list(together))

    def _migrate(self, together: list[Made]) -> None:
        """Agents that were made together may share blocks, and share them afterwards."""
        held = {each.agent_id: self._held(each) for each in together}
        here: dict[str, Block] = {}
        for each in together:
            for given in self._wanted(each):
                if given.label in held[each.agent_id]:
                    here[given.id] = held[each.agent_id][given.label]
        for given in {given.id: given for each in together for given in self._wanted(each)}.values():
            here[given.id] = self._bring(given, here.get(given.id), together[0].memory_variables)
        gone: dict[str, Block] = {}
        for each in together:
            ids = [here[given.id].id for given in self._wanted(each)]
            labels = {given.label for given in self._wanted(each)}
            others = [block for label, block in held[each.agent_id].items() if label not in labels]
            if self._how.block_reconciliation_strategy == "reconcile-all":
                gone |= {block.id: block for block in others}
            else:
                ids += [block.id for block in others]
            self._change(each, ids)
        for block_id in gone:
            if not blocks.holders_of(self._connection, self._actor, block_id):
                blocks.delete_block(self._connection, self._actor, block_id)

    def _held(self, made: Made) -> dict[str, Block]:
        found = blocks.list_agent_blocks(self._connection, self._actor, made.agent_id)
        return {block.label: block for block in found}

    def _wanted(self, made: Made) -> list[FileBlock]:
        return [self._blocks[each] for each in self._agents[made.entity_id].block_ids or ()]

    def _bring(self, given: FileBlock, block: Block | None, values: Mapping[str, str]) -> Block:
        filled = given.model_copy(update={"value": fill_variables(given.value or "", values)})
        if block is None:
            return blocks.insert_blocks(self._connection, [self._importer.new_block(filled)])[0]
        if self._how.preserve_core_memories_on_migration or given.preserve_on_migration:
            return block
        fields: dict[str, Any] = {name: getattr(filled, name) for name in ("value", *_OF_BLOCKS)}
        changes = BlockUpdate.model_validate(
            {key: value for key, value in fields.items() if value is not None}
        )
        return blocks.update_block(self._connection, self._actor, block.id, changes)

    def _change(self, made: Made, block_ids: Sequence[str]) -> None:
        given: FileAgent = self._agents[made.entity_id]
        body = self._prepared.bodies[given.id]
        config, embedding = self._prepared.configs[given.id]
        ids = self._importer.ids
        changes = AgentUpdate.model_construct(
            **{name: getattr(body, name) for name in _CARRIED},
            llm_config=config,
            tool_ids=[ids[each] for each in given.tool_ids or () if each in ids],
            block_ids=list(dict.fromkeys(block_ids)),
            secrets=self._secrets(made, body.all_secrets or {}),
            template_id=self._version.id,
        )
        service = self._importer.service
        service.apply(self._connection, self._actor, made.agent_id, changes, None, embedding)

    def _secrets(self, made: Made, given: Mapping[str, str]) -> dict[str, str]:
        """Files have names without values, so the values that an agent has are never lost to them."""
        agent = agents.get_agent(self._connection, self._actor, made.agent_id)
        include: frozenset[Include] = frozenset({"agent.secrets"})
        vault = self._importer.vault
        relations = agents.load_relations(self._connection, self._actor, [agent], include, vault)[agent.id]
        own = {secret.key: secret.value for secret in relations.secrets}
        kept = {key: own.get(key) or value for key, value in given.items()}
        return {**kept, **own} if self._how.preserve_environment_variables_on_migration else kept
