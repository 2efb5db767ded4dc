"""Conversations and slots: everyone to their own, nobody forgotten."""

import asyncio

from remanence.llm.local.slots import SlotPool


async def test_a_conversation_goes_back_to_its_slot() -> None:
    pool = SlotPool(2)
    first = await pool.take("a")
    pool.give_back(first, "a")
    pool.give_back(await pool.take("b"), "b")
    again = await pool.take("a")
    assert (again.slot, again.is_own, again.evicted) == (first.slot, True, None)


async def test_an_unused_slot_is_taken_before_one_that_holds_a_conversation() -> None:
    pool = SlotPool(2)
    pool.give_back(await pool.take("a"), "a")
    other = await pool.take("b")
    assert (other.is_own, other.evicted) == (False, None)


async def test_the_longest_idle_conversation_makes_way() -> None:
    pool = SlotPool(2)
    for key in ("a", "b", "a"):
        pool.give_back(await pool.take(key), key)
    assert (await pool.take("c")).evicted == "b"


async def test_a_conversation_without_a_key_leaves_nothing() -> None:
    pool = SlotPool(1)
    pool.give_back(await pool.take(""), "")
    assert (await pool.take("")).is_own is False


async def test_who_waits_is_served_in_order() -> None:
    pool = SlotPool(1)
    seat = await pool.take("x")
    served: list[str] = []

    async def work(key: str) -> None:
        mine = await pool.take(key)
        served.append(key)
        pool.give_back(mine, key)

    tasks = [asyncio.create_task(work(key)) for key in "abc"]
    await asyncio.sleep(0)
    pool.give_back(seat, "x")
    await asyncio.gather(*tasks)
    assert served == ["a", "b", "c"]
    assert pool.is_quiet


async def test_a_cancel_at_the_moment_of_being_served_loses_no_slot() -> None:
    pool = SlotPool(1)
    seat = await pool.take("x")
    waiting = asyncio.create_task(pool.take("a"))
    await asyncio.sleep(0)
    pool.give_back(seat, "x")
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert pool.is_quiet
    async with asyncio.timeout(1):
        await pool.take("b")
