"""Records of finished actions: in the result of a call, or in the memory the model was given."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from typing import Final

import re2

from reviews.core.evidence_profile.actions import COMPATIBLE, Action
from reviews.core.evidence_profile.languages import SPACED, UNSPACED
from reviews.core.evidence_profile.linear import Pattern, compiled

__all__ = ["finished", "recorded_line", "speaks_of_the_past"]

_WORD: Final = re.compile(r"[^\W_]+")
_SHORTEST_FORM: Final = 4
_SHORTEST_NOUN: Final = 4
# Lines looked at, and how much of one.
_MAX_LINES: Final = 24
_LINE: Final = 200
_DATED: Final = compiled(r"\d{4}-\d\d-\d\d|\d{1,2}:\d\d|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}|_")
_BYGONE: Final = compiled(
    r"(?i)\b(?:earlier|previous|previously|before|yesterday|last|already|ago|past|since|ayer|antes|anterior|"
    r"ya|pasad[oa]|ontem|já|hier|déjà|précédent|gestern|bereits|früher|zuvor|ieri|già|precedente)\b|"
    r"\d{4}-\d\d|之前|昨天|以前|先前|昨日|先ほど|すでに"
)
_HYPOTHETICAL: Final = compiled(
    r"(?i)\b(?:if|must|can|cannot|should|may|might|would|will|unless|when|never|before|si|debe|puede|cuando|"
    r"se|deve|pode|quando|doit|peut|quand|wenn|muss|kann|darf)\b|如果|必须|可以|場合"
)


@lru_cache(maxsize=64)
def finished(*actions: Action) -> Pattern:
    """Finds forms of finished ``actions`` in any language, by themselves or in a key such as ``sent_at``."""
    spaced = {
        form
        for grammar in SPACED
        for form, action in (*grammar.participles.items(), *grammar.reported.items())
        if action in actions and len(form) >= _SHORTEST_FORM and " " not in form
    }
    unspaced = {f"已{verb}" for each in UNSPACED for verb, action in each.verbs.items() if action in actions}
    words = "|".join(re2.escape(each) for each in sorted(spaced))
    pattern = "|".join([rf"(?:^|[^\pL])(?:{words})(?:[^\pL]|$)", *sorted(map(re2.escape, unspaced))])
    return compiled(pattern, captures=False, any_case=True)


def speaks_of_the_past(sentence: str) -> bool:
    """Whether a sentence tells of earlier days: "yesterday", "in our last chat"."""
    return _BYGONE.search(sentence) is not None


def recorded_line(context: str, sentence: str, verb: str, action: Action) -> str:
    """A dated or event-like line of ``context`` that has the action and some noun of the sentence, else
    "".
    """
    nouns = {word for word in _WORD.findall(sentence) if len(word) >= _SHORTEST_NOUN and word != verb}
    pattern = finished(*sorted({action} | COMPATIBLE[action] - {"read", "use"}))
    for match in islice(pattern.finditer(context), _MAX_LINES):
        start = max(
            context.rfind("\n", max(0, match.start() - _LINE), match.start()) + 1, match.start() - _LINE
        )
        end = context.find("\n", match.end(), match.end() + _LINE)
        line = context[max(0, start) : end if end >= 0 else match.end() + _LINE]
        if (
            _DATED.search(line)
            and not _HYPOTHETICAL.search(line)
            and not nouns.isdisjoint(_WORD.findall(line.lower()))
        ):
            return line
    return ""
