"""Text as search sees it: what is indexed, what is asked for, and where in a text the answer stands.

Both engines index the output of `prepare` and look for the terms of `parse_query`; only stemming is
theirs. What the words of a message are is decided here as well.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from remanence.core.message import Message, ToolCall, ToolReturn
from remanence.core.packing import unpack_tool_return, unpack_user_message
from remanence.kit import json

MAX_INDEXED_CHARS = 40_000
"""Of one text. PostgreSQL refuses vectors over 1 MB, and text without spaces takes up to 12 bytes a letter."""
MAX_WORD_CHARS = 64
MAX_QUERY_CHARS = 2_000
MAX_TERMS = 24

_COMMON = """
a about after again all am an and any are as at be because been before being both but by can could did do does
doing done down each else ever few for from further get gets give go goes going got had has have having he her here hers
herself him himself his how i if in into is it its itself just let like made make many me might more most much
must my myself no nor not now of off on once only or other our ours ourselves out over own please really same
shall she should so some such tell than that the their theirs them themselves then there these they this those
through to too under until up upon us very was we were what when where whether which while who whom whose why
will with would you your yours yourself yourselves
d ll m re s t ve don doesn didn isn wasn aren weren won wouldn couldn shouldn hasn haven hadn ain
"""
STOP_WORDS = frozenset(_COMMON.split())
"""English words that say nothing about what is sought. Those of other languages are weighed down by being
frequent. They are indexed all the same: a name may be one, and quoted words must stand in a row."""

_PRONOUNS = {
    "user": frozenset(("i", "my", "me", "mine", "myself", "we", "our", "us", "user")),
    "assistant": frozenset(("you", "your", "yours", "yourself", "assistant")),
}
ROLE_NAMES = frozenset(_PRONOUNS)

# Letters of scripts written without spaces (Thai, Lao, Burmese, Khmer, Japanese, Chinese), and Korean,
# whose particles cling to the noun. They are indexed as overlapping pairs.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
_PIECE = re.compile(f"[{_UNSPACED}]+|[^ {_UNSPACED}]+")
_WORD = re.compile(r"\w+")
_QUOTED = re.compile(r"[\"“”„«»]([^\"“”„«»]+)[\"“”„«»]")


def _is_ornament(mark: str) -> bool:
    """Marks that readers leave out: Latin accents, Hebrew and Arabic vowel points."""
    return "\u0300" <= mark <= "\u036f" or "\u0591" <= mark <= "\u05c7" or "\u064b" <= mark <= "\u065f"


def _fold(letter: str) -> str:
    """A letter as it is compared: small, without accents, full-width forms as plain ones."""
    bare = "".join(each for each in unicodedata.normalize("NFKD", letter) if not _is_ornament(each))
    return unicodedata.normalize("NFC", bare.casefold())


class _Folded(dict[int, str]):
    """A table for `str.translate`, filled as letters come up: all but letters and digits becomes space."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        kind = unicodedata.category(letter)
        if kind[0] in "LN":
            folded = "".join(
                each if unicodedata.category(each)[0] in "LNM" else " " for each in _fold(letter)
            )
        elif kind[0] == "M":
            folded = "" if _is_ornament(letter) else letter
        else:
            folded = "" if kind == "Cf" else " "  # a joiner or soft hyphen does not end a word
        self[code] = folded
        return folded


class _Alike(dict[int, str]):
    """The same for showing places: one letter for one letter, so that positions stay true."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        folded = _fold(letter)
        alike = folded if len(folded) == 1 else letter
        self[code] = alike if unicodedata.category(alike)[0] in "LNM" else " "
        return self[code]


_FOLDED = _Folded()
_ALIKE = _Alike()


def _plain(text: str) -> str:
    return (text if text.isascii() else unicodedata.normalize("NFC", text)).translate(_FOLDED)


def _pairs(letters: str) -> list[str]:
    return [letters[place : place + 2] for place in range(len(letters) - 1)] or [letters]


def _index_pairs(run: re.Match[str]) -> str:
    letters = run.group()
    # With the last letter alone, every letter begins a token, so that one letter is found by its prefix.
    return f" {' '.join([*_pairs(letters), letters[-1]])} "


def without_names(text: str, names: Collection[str]) -> str:
    """The text without these words; as it is if nothing else is in it."""
    if not names:
        return text
    rest = re.sub(rf"\b({'|'.join(map(re.escape, names))})\b(['’]s)?", " ", text)
    return rest if any(word not in STOP_WORDS for word in _plain(rest).split()) else text


def asked_roles(words: Collection[str]) -> frozenset[str]:
    """Who must have said what these words ask for, if they say so: "my dog" the user, "you advised" the assistant."""
    named = {role for role, pronouns in _PRONOUNS.items() if not pronouns.isdisjoint(words)}
    return frozenset(named) if len(named) == 1 else frozenset()


def telling_words(text: str) -> str:
    """The text without stop words, in the spelling it has; as it is if it has no others."""
    kept = [word for word in _WORD.findall(text) if word.lower() not in STOP_WORDS]
    return " ".join(kept) or text


def prepare(text: str) -> str:
    """The words to index, parted by single spaces; nothing in them means anything to an engine."""
    plain = _plain(text[:MAX_INDEXED_CHARS])
    if not plain.isascii():
        plain = _UNSPACED_RUN.sub(_index_pairs, plain)
    return " ".join(
        [word if len(word) <= MAX_WORD_CHARS else word[:MAX_WORD_CHARS] for word in plain.split()]
    )


def is_unspaced(word: str) -> bool:
    return _UNSPACED_RUN.match(word) is not None


@dataclass(frozen=True, slots=True)
class Term:
    """A word, or several in a row; a run of a script without spaces is one of them."""

    pieces: tuple[str, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """As they are in the index. One letter of an unspaced script is sought as the beginning of a word."""
        return tuple(word for piece in self.pieces for word in _index_words(piece))


@dataclass(frozen=True, slots=True)
class TextQuery:
    """What was quoted must be there; of the rest anything may, and the more the better."""

    required: tuple[Term, ...] = ()
    optional: tuple[Term, ...] = ()

    @property
    def terms(self) -> tuple[Term, ...]:
        return self.required + self.optional

    def relaxed(self) -> "TextQuery":
        """The same words with nothing required: for when nothing has the quoted words in a row."""
        quoted = [Term((word,)) for term in self.required for word in term.words]
        return TextQuery(optional=_choose([*quoted, *self.optional]))


def parse_query(text: str) -> TextQuery:
    """The terms of any text at all; none if it holds neither letters nor digits."""
    text = text[:MAX_QUERY_CHARS]
    quoted = [Term(pieces) for part in _QUOTED.findall(text) if (pieces := _pieces(part))]
    loose = [Term((word,)) for piece in _pieces(_QUOTED.sub(" ", text)) for word in _index_words(piece)]
    if quoted:
        loose = [term for term in loose if term.pieces[0] not in STOP_WORDS]
    required = tuple(dict.fromkeys(quoted))[:MAX_TERMS]
    return TextQuery(required, _choose(loose)[: MAX_TERMS - len(required)])


def _pieces(text: str) -> tuple[str, ...]:
    return tuple(piece[:MAX_WORD_CHARS] for piece in _PIECE.findall(" ".join(_plain(text).split())))


def _index_words(piece: str) -> list[str]:
    return _pairs(piece) if is_unspaced(piece) else [piece]


def _choose(terms: Sequence[Term]) -> tuple[Term, ...]:
    """Each word once, and stop words only where there is nothing else to go by."""
    telling = [term for term in terms if term.pieces[0] not in STOP_WORDS] or terms
    by_root = {root(term.pieces[0]): term for term in reversed(telling)}
    return tuple(by_root.values())[::-1][:MAX_TERMS]


@lru_cache(maxsize=50_000)
def root(word: str) -> str:
    """A word without its commonest endings: near enough to the engines' stemmers to compare words here."""
    if len(word) < 4 or not word.isascii():
        return word
    if word.endswith("ies"):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 2 and not word.endswith("eed"):
            word = stem[:-1] if stem[-1] == stem[-2] and stem[-1] not in "lsz" else stem
    word = word.removesuffix("ly") if len(word) > 5 else word
    if len(word) > 3 and word[-1] in "ey":
        word = word[:-1] + ("i" if word[-1] == "y" else "")
    return word


@dataclass(frozen=True, slots=True)
class Match:
    """Where a term (by its number) stands in a text."""

    start: int
    end: int
    term: int


def find_terms(terms: Sequence[Term], text: str) -> list[Match]:
    """Every place where a term stands, in order."""
    view = text.translate(_ALIKE)
    matches: list[Match] = []
    for number, term in enumerate(terms):
        first, *others = term.pieces
        if _beginning(first) in view:
            spans = _row_spans(term, view) if others else _word_spans(first, view)
            matches += [Match(start, end, number) for start, end in spans]
    return sorted(matches, key=lambda match: (match.start, match.term))


@lru_cache(maxsize=1_000)
def _beginning(word: str) -> str:
    """What every form of a word begins with: its root, save that a last y shows as i."""
    found = word if is_unspaced(word) else root(word)
    return found[:-1] if found[-1] == "i" and len(found) > 1 else found


def _word_spans(word: str, view: str) -> Iterator[tuple[int, int]]:
    if is_unspaced(word):
        yield from ((place, place + len(word)) for place in _places(view, word))
        return
    wanted = root(word)
    for place in _places(view, _beginning(word)):
        is_first = place == 0 or view[place - 1] == " " or is_unspaced(view[place - 1])
        piece = _PIECE.match(view, place) if is_first else None
        if piece is not None and root(piece.group()) == wanted:
            yield place, piece.end()


def _row_spans(term: Term, view: str) -> Iterator[tuple[int, int]]:
    """Words are compared whole; of an unspaced script a row may begin or end within a run."""
    pieces = list(_PIECE.finditer(view))
    wanted = [root(piece) for piece in term.pieces]
    for first in range(len(pieces) - len(wanted) + 1):
        row = pieces[first : first + len(wanted)]
        found = [root(piece.group()) for piece in row]
        begins = found[0].endswith(wanted[0]) if is_unspaced(wanted[0]) else found[0] == wanted[0]
        ends = found[-1].startswith(wanted[-1]) if is_unspaced(wanted[-1]) else found[-1] == wanted[-1]
        if begins and ends and found[1:-1] == wanted[1:-1]:
            yield row[0].start(), row[-1].end()


def _places(text: str, part: str) -> Iterator[int]:
    place = text.find(part)
    while place >= 0:
        yield place
        place = text.find(part, place + max(1, len(part)))


def cut_snippet(text: str, matches: Sequence[Match], width: int = 320) -> str:
    """The stretch of the text that holds the most different terms, cut between words."""
    if len(text) <= width:
        return text
    start, end = _best_stretch(matches, width)
    start = max(0, min(start - (width - (end - start)) // 2, len(text) - width))
    end = min(len(text), start + width)
    if start > 0 and (space := text.find(" ", start, start + 24)) >= 0:
        start = space + 1
    if end < len(text) and (space := text.rfind(" ", end - 24, end)) >= 0:
        end = space
    return f"{'…' if start > 0 else ''}{text[start:end].strip()}{'…' if end < len(text) else ''}"


def _best_stretch(matches: Sequence[Match], width: int) -> tuple[int, int]:
    best, stretch = (0, 0), (0, 0)
    for number, first in enumerate(matches):
        inside = [match for match in matches[number : number + 50] if match.end <= first.start + width]
        worth = (len({match.term for match in inside}), len(inside))
        if worth > best:
            best, stretch = worth, (first.start, inside[-1].end)
    return stretch


SPEAKING_TOOL = "send_message"
_REPEATING_TOOLS = frozenset(
    {SPEAKING_TOOL, "conversation_search", "archival_memory_search", "search_memory"}
)
"""Their returns only confirm, or repeat what is found where it was first said."""
_NOTICES = ('"heartbeat"', '"login"', '"system_alert"')


def said_plainly(role: str, text: str) -> str:
    """The same as `message_words` for a message that is a text alone."""
    words = "" if role == "user" and _is_notice(text) else text
    if role == "user":
        words = unpack_user_message(words) if words else ""
    elif role not in ("assistant", "approval"):
        words = ""
    return words if words.isascii() else unicodedata.normalize("NFC", words)


def message_words(message: Message) -> str:
    """What was said in a message, for the index; empty if it is not to be found.

    Prompts, summaries and automatic notices are not, nor what a search returned.
    """
    words = _said_in(message)
    return words if words.isascii() else unicodedata.normalize("NFC", words)


def _said_in(message: Message) -> str:
    match message.role:
        case "user":
            return said_plainly("user", message.text)
        case "assistant" | "approval":
            said = [words for call in message.tool_calls if (words := _said_by(call))]
            return "\n".join(said) if said else message.text
        case "tool":
            return "\n".join(filter(None, map(_returned, message.tool_returns)))
        case "system" | "summary":
            return ""


def _is_notice(text: str) -> bool:
    if not text.startswith("{") or not any(notice in text for notice in _NOTICES):
        return False
    try:
        fields = json.decode(text)
    except ValueError:
        return False
    return isinstance(fields, dict) and f'"{fields.get("type")}"' in _NOTICES  # pyright: ignore[reportUnknownMemberType]


def _said_by(call: ToolCall) -> str:
    if call.name != SPEAKING_TOOL:
        return ""
    try:
        arguments = json.decode(call.arguments)
    except ValueError:
        return ""
    said = arguments.get("message") if isinstance(arguments, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return said if isinstance(said, str) else ""


def _returned(answer: ToolReturn) -> str:
    if answer.name in _REPEATING_TOOLS:
        return ""
    if isinstance(answer.content, str):
        return unpack_tool_return(answer.content)
    return "\n".join(part.text for part in answer.content if part.type == "text")
