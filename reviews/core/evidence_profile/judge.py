"""Whether a claimed action is borne out: the call that did it, or a record that says so."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from reviews.core.evidence_profile.actions import COMPATIBLE, PHRASES, Action
from reviews.core.evidence_profile.claims import Claim, find_claims
from reviews.core.evidence_profile.languages import SPACED, UNSPACED
from reviews.core.evidence_profile.linear import compiled
from reviews.core.evidence_profile.records import finished, recorded_line, speaks_of_the_past
from reviews.core.evidence_profile.sources import SeenCall, Sources, printed
from reviews.core.evidence_profile.subjects import AT_HAND, FINDS, OWN_WORK, READ_NOUNS, SEARCHES, SHOWN
from reviews.core.evidence_profile.tools import is_verb, name_parts
from reviews.core.evidence_profile.triggers import folded
from reviews.core.evidence_profile.turn import GroundingSource
from reviews.core.evidence_profile.zones import zones_of
from reviews.core.grounding_rules import GroundingRules

__all__ = ["Judge", "Judgement"]

_WORD: Final = re.compile(r"[^\W_]+")
# Names as code writes them: get_weather, getWeather, GetWeather.
_NAME_LIKE: Final = re.compile(
    r"\b[A-Za-z]+(?:_[A-Za-z0-9]+)+\b|\b[a-z]+(?:[A-Z][a-z0-9]+)+\b|\b[A-Z][a-z]+(?:[A-Z][a-z0-9]+)+\b"
)
_THE_TOOL: Final = compiled(
    r"(?i)\b(?:tool|function|api|plugin|command|herramienta|función|ferramenta|função|outil|fonction|"
    r"werkzeug|funktion|strumento|funzione)\b|工具|函数|接口|ツール|関数"
)
_NAMING: Final = frozenset({"called", "llamado", "appelé", "aufgerufen"})
_LITERAL: Final = re.compile(r"`([^`\n]+)`")
_COMMAND: Final = re.compile(r"(?:了|\s)*([a-z][\w.+-]{1,30})")
_SPECIFIC: Final = re.compile(r"\b(?:[A-Z][A-Za-z0-9]{2,}|[0-9][0-9.,]*[0-9])\b")
_FEWEST_SPECIFICS: Final = 3
# Codes of things: ORD-12, RES_0040, 4QX71B.
_CODE: Final = re.compile(r"\b(?=[A-Z0-9_-]*[0-9])(?=[A-Z0-9_-]*[A-Z])[A-Z0-9]{2,}(?:[-_][A-Z0-9]+)*\b")
_OBJECT_REACH: Final = 60
# What the assistant may write without any tool.
_WRITING: Final[frozenset[Action]] = frozenset({"create", "update", "finish", "send", "delete", "save"})
# A draft this long may be the piece of work it speaks of.
_A_PIECE: Final = 400
# Side effects are reported in short results.
_SHORT: Final = 2_000
_LONG: Final = 20_000
_USER: Final = 20_000
_QUOTE: Final = 120


@dataclass(frozen=True)
class Judgement:
    """``source`` is None when nothing bears the claim out; ``missing`` then says what would have.
    ``dismissed``: on a closer look nothing was claimed.
    """

    source: GroundingSource | None = None
    missing: str = ""
    dismissed: bool = False


_DISMISSED: Final = Judgement(dismissed=True)


class Judge:
    """Judges the claims of one turn."""

    def __init__(self, draft: str, low: str, sources: Sources, rules: GroundingRules) -> None:
        self._draft = draft
        self._low = low
        self._sources = sources
        self._fragments: Mapping[str, tuple[str, ...]] = rules.tool_fragments

    def judge(self, claim: Claim) -> Judgement:
        if source := self._by_learned_rule(claim) or self._named_tool(claim):
            return Judgement(source)
        if claim.action == "use":
            return self._use(claim)
        if claim.action == "read" or (claim.action == "finish" and self._mentions(claim, READ_NOUNS)):
            return self._read(claim)
        return self._write(claim)

    # Which words stand around the claim.

    def _sentence(self, claim: Claim) -> str:
        return self._low[claim.sentence[0] : claim.sentence[1]]

    def _mentions(self, claim: Claim, wanted: frozenset[str], reach: int = 80) -> bool:
        tail = self._low[claim.end : min(claim.sentence[1], claim.end + reach)]
        return not wanted.isdisjoint(_WORD.findall(tail))

    # The rules, in order.

    def _by_learned_rule(self, claim: Claim) -> GroundingSource | None:
        for fragment in self._fragments.get(claim.verb, ()):
            for seen in self._sources.newest_first:
                if seen.counts and fragment in seen.name.lower():
                    return seen.as_source()
        return None

    def _named_tool(self, claim: Claim) -> GroundingSource | None:
        """The call whose literal name the claim gives, as in "I ran get_weather"."""
        if claim.voice != "first" and claim.action not in ("run", "read"):
            return None
        sentence = self._draft[claim.start : claim.sentence[1]]
        if "_" not in sentence:
            return None
        low = sentence.lower()
        for seen in self._sources.newest_first:
            if seen.counts and "_" in seen.name and seen.name.lower() in low:
                return seen.as_source()
        return None

    def _use(self, claim: Claim) -> Judgement:
        """ "I used the X tool": a call of that name, whatever it does."""
        sentence = self._draft[claim.start : claim.sentence[1]]
        low = sentence.lower()
        named = {name.lower() for name in _NAME_LIKE.findall(sentence)}
        ran = [seen for seen in self._sources.newest_first if seen.counts]
        for seen in ran:
            if _is_named(seen.name, low, named):
                return Judgement(seen.as_source())
        of_a_tool = _THE_TOOL.search(low[:_QUOTE]) is not None or (named and claim.verb in _NAMING)
        if not of_a_tool or (ran and not named):
            return _DISMISSED
        return Judgement(missing=f"a call of {min(named)}" if named else "a call of that tool")

    def _read(self, claim: Claim) -> Judgement:
        if claim.voice in ("past", "stative", "bare") and not claim.emphatic:
            return _DISMISSED
        sources = self._sources
        usable = [seen for seen in sources.calls if seen.counts] or [
            seen for seen in sources.earlier if seen.counts
        ]
        if usable:
            if self._invents_finds(claim):
                return Judgement(missing="returned what it says it found")
            telling = [seen for seen in usable if seen.kind.reads and seen.result] or usable
            return Judgement(telling[-1].as_source(telling[-1].result))
        if self._mentions(claim, AT_HAND) and (given := self._given()):
            return Judgement(given)
        if claim.voice != "first" and not claim.about_own:
            return _DISMISSED
        return Judgement(missing=PHRASES["read"])

    def _given(self) -> GroundingSource | None:
        """What was in front of the assistant without any call."""
        if self._sources.user:
            return GroundingSource("user_message", excerpt=self._sources.user[:_QUOTE])
        if self._sources.context:
            return GroundingSource("hydrated_context", excerpt=self._sources.context[:_QUOTE])
        return None

    def _invents_finds(self, claim: Claim) -> bool:
        """Whether names and numbers are given as found, and not one of them is in any source."""
        if claim.verb not in FINDS or not any(
            SEARCHES.intersection(name_parts(seen.name)) for seen in self._sources.newest_first
        ):
            return False
        line = self._draft[claim.end : claim.end + 160].partition("\n")[0]
        given = set(_SPECIFIC.findall(line))
        if len(given) < _FEWEST_SPECIFICS or not any(map(str.isdigit, given)):
            return False
        return not self._sources.locate(given)

    def _write(self, claim: Claim) -> Judgement:
        weak = claim.voice in ("past", "stative") and not claim.emphatic
        source = self._done_by_call(claim) or self._told_by_call(claim, weak) or self._told_otherwise(claim)
        if source is not None:
            return Judgement(source)
        return _DISMISSED if self._dismissible(claim, weak) else Judgement(missing=PHRASES[claim.action])

    def _done_by_call(self, claim: Claim) -> GroundingSource | None:
        """The call that did it: of this turn, or of an earlier one unless this turn tried and failed."""
        calls = self._sources.calls
        fitting = [seen for seen in calls if seen.counts and self._fits(claim, seen)]
        if fitting and self._same_object(claim):
            return _closest(fitting, claim)
        if any(not seen.counts and seen.kind.actions & COMPATIBLE[claim.action] for seen in calls):
            return None
        earlier = [seen for seen in self._sources.earlier if seen.counts and self._fits(claim, seen)]
        return _closest(earlier, claim) if earlier and self._same_object(claim) else None

    def _same_object(self, claim: Claim) -> bool:
        """Whether what was done was done to what the claim names: false only when the claim names codes,
        no call that can have done it has one of them, and these calls have others of the same shape
        (ORD-12, ORD-13).
        """
        if claim.voice == "first":
            named = self._draft[claim.end : min(claim.sentence[1], claim.end + _OBJECT_REACH)]
        else:
            named = self._draft[claim.sentence[0] : claim.start]
        codes = set(_CODE.findall(named))
        if not codes:
            return True
        fitting = [seen for seen in self._sources.newest_first if seen.counts and self._fits(claim, seen)]
        texts = [f"{printed(seen.call.args)[:_SHORT]} {seen.result[:_LONG]}" for seen in fitting]
        if any(code in text for code in codes for text in texts):
            return True
        shapes = {_shape(code) for code in codes}
        given = [_CODE.findall(printed(seen.call.args)[:_SHORT]) for seen in fitting]
        return not any(_shape(code) in shapes for found in given for code in found)

    def _told_by_call(self, claim: Claim, weak: bool) -> GroundingSource | None:
        """A call that changed nothing but may tell of it: for what is reported rather than claimed as
        done.
        """
        usable = [seen for seen in self._sources.newest_first if seen.counts]
        if usable and (weak or claim.voice == "done"):
            telling = [seen for seen in usable if seen.result] or usable
            return telling[0].as_source(telling[0].result)
        if claim.voice == "first":
            return None
        pattern = finished(claim.action)
        for seen in usable:
            if match := pattern.search(seen.result):
                return seen.as_source(seen.result[max(0, match.start() - 40) : match.end() + 40])
        return None

    def _told_otherwise(self, claim: Claim) -> GroundingSource | None:
        """The user, or a memory, that says it has happened."""
        sources = self._sources
        if claim.voice not in ("first", "bare", "done") and claim.action in self._told_by_user:
            return GroundingSource("user_message", excerpt=sources.user[:_QUOTE])
        # Only for what is said to be past: a memory of some booking is no proof of the one claimed just now.
        if sources.context and (claim.voice == "past" or speaks_of_the_past(self._sentence(claim))):
            line = recorded_line(sources.context, self._sentence(claim), claim.verb, claim.action)
            if line:
                return GroundingSource("hydrated_context", excerpt=line[:_QUOTE])
        return None

    def _dismissible(self, claim: Claim, weak: bool) -> bool:
        """Whether such a sentence claims nothing of this turn: knowledge of the world, or a text that the
        draft is.
        """
        if weak:
            return not (claim.about_own or claim.action in self._asked_for)
        if self._sources.calls or claim.action not in _WRITING:
            return False
        return self._mentions(claim, OWN_WORK, 48) and (
            "```" in self._draft or len(self._draft) > _A_PIECE or self._mentions(claim, SHOWN)
        )

    def _fits(self, claim: Claim, seen: SeenCall) -> bool:
        """Whether the call can have done what is claimed."""
        kind = seen.kind
        if kind.universal:
            return self._literal_fits(claim, seen)
        if kind.reads:
            return "read" in COMPATIBLE[claim.action]
        if kind.unknown or kind.actions & COMPATIBLE[claim.action]:
            return True
        if _same_stem(claim.verb, name_parts(seen.name)):
            return True
        # A tool that changes something may report a side effect: {"email_sent": true}.
        return len(seen.result) <= _SHORT and finished(claim.action).search(seen.result) is not None

    def _literal_fits(self, claim: Claim, seen: SeenCall) -> bool:
        """A command that the draft quotes must be among what the shell was given."""
        if claim.action != "run":
            return True
        tail = self._draft[claim.end : min(claim.sentence[1], claim.end + 160)]
        command = _LITERAL.search(tail)
        if command is None and claim.language in ("zh", "ja"):
            command = _COMMAND.match(self._draft[claim.end : claim.end + 60])
        if command is None:
            return True
        head = command[1].split()[0].lower() if command[1].strip() else ""
        return head in printed(seen.call.args).lower() or head in seen.name.lower()

    # What the user says, read only when a claim comes down to it.

    @cached_property
    def _told_by_user(self) -> frozenset[Action]:
        """What the user says has happened."""
        text = self._sources.user[:_USER]
        return frozenset(claim.action for claim in find_claims(text, folded(text), zones_of(text)))

    @cached_property
    def _asked_for(self) -> frozenset[Action]:
        """What the user names as to be done."""
        text = self._sources.user[:_USER]
        words = frozenset(_WORD.findall(text.lower()))
        found = {
            grammar.infinitives[word] for grammar in SPACED for word in words & grammar.infinitives.keys()
        }
        if not text.isascii():
            found |= {
                action for language in UNSPACED for verb, action in language.verbs.items() if verb in text
            }
        return frozenset(found)


def _closest(fitting: Sequence[SeenCall], claim: Claim) -> GroundingSource:
    """Of the calls that can have done it the latest, one that does just that first."""
    best = next((seen for seen in reversed(fitting) if claim.action in seen.kind.actions), fitting[-1])
    return best.as_source(best.result)


def _shape(code: str) -> str:
    return "".join("0" if each.isdigit() else "A" if each.isalpha() else each for each in code)


def _is_named(tool: str, sentence: str, named: set[str]) -> bool:
    """Whether the sentence gives the tool's name, or the nouns in it."""
    low = tool.lower()
    if low in named or (len(low) > 3 and low in sentence):
        return True
    nouns = [part for part in name_parts(tool) if len(part) > 2 and not is_verb(part)]
    return bool(nouns) and all(part in sentence for part in nouns)


def _same_stem(verb: str, parts: tuple[str, ...]) -> bool:
    """Whether some word of the name begins as the verb does: "reprogramada" and reprogramar_orden."""
    for part in parts:
        if len(part) >= 5 and len(verb) >= 5:
            shared = max(5, min(len(part), len(verb)) - 2)
            if part[:shared] == verb[:shared]:
                return True
    return False
