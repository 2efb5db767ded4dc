"""From the bytes that somebody sends to a checked agent file, of either format. No input or output."""

from pydantic import ValidationError

from remanence.core.conform import as_object
from remanence.edge.bodies import find_fault
from remanence.errors import BadArgument
from remanence.kit import json
from remanence.transfer.legacy import is_legacy, modernise
from remanence.transfer.options import MAX_BYTES
from remanence.transfer.schemas import AgentFile

_MOST_SHOWN = 5


def read_file(body: bytes) -> AgentFile:
    """Raises BadArgument with what is wrong and where."""
    if len(body) > MAX_BYTES:
        raise BadArgument(
            f"An agent file may have {MAX_BYTES >> 20} MiB, and this one has more. Export without messages, or "
            "move the whole database with `remanence backup`."
        )
    fault = find_fault(body)
    if fault is not None:
        raise BadArgument(f"This is no agent file: it cannot be read as JSON: {fault}.")
    whole = as_object(json.decode(body))
    if is_legacy(whole):
        whole = modernise(whole)
    if not isinstance(whole.get("agents"), list):
        raise BadArgument("This is no agent file: it has no list of `agents`.")
    try:
        file = AgentFile.model_validate(whole)
    except ValidationError as error:
        raise BadArgument(f"The agent file cannot be read: {_problems(error)}.") from None
    faults = [fault for fault, _ in zip(file.faults(), range(_MOST_SHOWN), strict=False)]
    if faults:
        raise BadArgument(f"The agent file does not hold together: {'; '.join(faults)}.")
    return file


def _problems(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_input=False, include_context=False)
    shown = [
        f"{'.'.join(str(step)[:60] for step in each['loc'])}: {each['msg'][:300]}"
        for each in found[:_MOST_SHOWN]
    ]
    rest = len(found) - len(shown)
    return "; ".join(shown) + (f"; and {rest} more" if rest > 0 else "")
