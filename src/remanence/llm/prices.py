"""What models cost, and how large they are, from a table that others maintain (`genai-prices`).

The table takes 0.4 s and 11 MiB to load, so it is loaded in a thread when it is first needed, and what
was looked up is kept: a step's cost is then a few multiplications.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from remanence.core.llm import Usage

_LONG_PROMPT = 200_000
"""Beyond it several providers charge more for every token."""
_SAMPLE = 1_000


@dataclass(frozen=True, slots=True)
class Rates:
    """US dollars per token."""

    prompt: float
    completion: float
    cache_read: float
    cache_write: float

    def cost(self, usage: Usage) -> float:
        read, written = usage.cached_input_tokens or 0, usage.cache_write_tokens or 0
        fresh = max(0, usage.prompt_tokens - read - written)
        return (
            fresh * self.prompt
            + read * self.cache_read
            + written * self.cache_write
            + usage.completion_tokens * self.completion
        )


async def price_of(provider: str | None, model: str, usage: Usage) -> float | None:
    """What an answer cost in US dollars; None where nobody knows. `provider` is the name in the table."""
    if provider is None:
        return None
    key = (provider, model, usage.prompt_tokens > _LONG_PROMPT)
    if key not in _known_rates:
        _known_rates[key] = await asyncio.to_thread(_find_rates, *key)
    rates = _known_rates[key]
    return rates.cost(usage) if rates is not None else None


async def load_rates(models: Mapping[str, tuple[str, str]]) -> dict[str, Rates]:
    """What is known, by the same names, of models that are given as provider and name in the table."""
    unknown = [key for each in models.values() if (key := (*each, False)) not in _known_rates]
    if unknown:
        _known_rates.update(await asyncio.to_thread(lambda: {key: _find_rates(*key) for key in unknown}))
    found = {name: _known_rates[*each, False] for name, each in models.items()}
    return {name: rates for name, rates in found.items() if rates is not None}


async def load_windows(provider: str | None, models: list[str]) -> dict[str, int]:
    """The context windows that are known of these models."""
    if provider is None or not models:
        return {}
    return await asyncio.to_thread(_find_windows, provider, models)


_known_rates: dict[tuple[str, str, bool], Rates | None] = {}


@cache
def _snapshot() -> Any:
    from genai_prices.data_snapshot import get_snapshot

    return get_snapshot()


def _find_rates(provider: str, model: str, is_long: bool) -> Rates | None:
    from genai_prices import Usage as Amount

    prompt = 2 * _LONG_PROMPT if is_long else _SAMPLE
    snapshot = _snapshot()

    def price(**amounts: int) -> float:
        usage = Amount(input_tokens=prompt, **amounts)
        return float(snapshot.calc(usage, model, provider, None, None).total_price)

    try:
        plain = price()
        return Rates(
            prompt=plain / prompt,
            completion=(price(output_tokens=_SAMPLE) - plain) / _SAMPLE,
            cache_read=price(cache_read_tokens=prompt) / prompt,
            cache_write=price(cache_write_tokens=prompt) / prompt,
        )
    except (LookupError, ValueError):
        return None


def _find_windows(provider: str, models: list[str]) -> dict[str, int]:
    snapshot = _snapshot()
    found: dict[str, int] = {}
    for model in models:
        try:
            window = snapshot.find_provider_model(model, None, provider, None)[1].context_window
        except LookupError:
            continue
        if window:
            found[model] = int(window)
    return found
