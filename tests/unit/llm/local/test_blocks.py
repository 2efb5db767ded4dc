"""Memory is read back out of the compiled system message."""

from tests.support.local_talk import STOCK, system

from remanence.llm.local.blocks import MemoryBlock, parse_system_text


def test_values_come_back_as_they_were_written() -> None:
    blocks = {"persona": "I am brief.", "human": "Name: Chad\nLikes <b>tea</b>\n\n2→ not a number of ours"}
    parsed = parse_system_text(system(blocks).text)
    assert [block.label for block in parsed.blocks] == ["persona", "human"]
    assert parsed.blocks[0].value == "I am brief."
    assert parsed.blocks[1].value.startswith("Name: Chad\nLikes <b>tea</b>\n\n")
    assert parsed.instructions == STOCK


def test_an_empty_block_is_empty() -> None:
    assert parse_system_text(system({"human": ""}).text).blocks == (MemoryBlock("human", ""),)


def test_read_only_blocks_are_known_as_such() -> None:
    parsed = parse_system_text(system({"rules": "Be kind.", "human": ""}, read_only=["rules"]).text)
    assert [block.is_read_only for block in parsed.blocks] == [True, False]


def test_a_value_may_look_like_the_tags_around_it() -> None:
    value = "<human>\nnot a block\n</human>\n</value>"
    assert parse_system_text(system({"human": value, "persona": "x"}).text).blocks == (
        MemoryBlock("human", value),
        MemoryBlock("persona", "x"),
    )


def test_a_message_without_memory_is_all_instructions() -> None:
    assert parse_system_text("Summarise the text.").blocks == ()
    assert parse_system_text("Summarise the text.").instructions == "Summarise the text."
