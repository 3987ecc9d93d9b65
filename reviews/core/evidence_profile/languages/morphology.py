"""From infinitives to the few forms in which a finished action is reported.

Regular paradigms by rule, the rest from a table of exceptions. Dictionaries of lemmas were tried for this and
tell apart too little: they file many participles ("enviado", "criada") under the adjective.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from reviews.core.evidence_profile.actions import Action
from reviews.core.evidence_profile.languages.grammar import Forms

__all__ = [
    "english_past",
    "french_participles",
    "inflected",
    "italian_participles",
    "portuguese_participles",
    "portuguese_preterite",
    "spanish_participles",
    "spanish_preterite",
    "spanish_reported",
    "verbs",
]


def verbs(table: Mapping[Action, str]) -> Forms:
    """Each infinitive of ``table`` (words per class) with its class."""
    return {verb.replace("_", " "): action for action, line in table.items() for verb in line.split()}


def inflected(
    infinitives: Forms, rule: Callable[[str], Iterable[str]], exceptions: Mapping[str, str]
) -> Forms:
    """Every form of every verb; ``exceptions`` (forms with spaces between them, "_" for a space inside
    one) replace the rule's.
    """
    found: Forms = {}
    for verb, action in infinitives.items():
        forms = exceptions[verb].split() if verb in exceptions else rule(verb)
        for form in forms:
            found.setdefault(form.replace("_", " "), action)
    return found


_VOWELS = "aeiou"


def english_past(verb: str) -> Iterable[str]:
    head, _, particle = verb.partition(" ")
    tail = f" {particle}" if particle else ""
    if head.endswith("e"):
        past = head + "d"
    elif head.endswith("y") and head[-2] not in _VOWELS:
        past = head[:-1] + "ied"
    else:
        past = head + "ed"
    return (past + tail,)


def _agreeing(stem: str, masculine: str = "o", feminine: str = "a") -> tuple[str, ...]:
    return (stem + masculine, stem + feminine, f"{stem}{masculine}s", f"{stem}{feminine}s")


def spanish_participles(verb: str) -> Iterable[str]:
    if verb.endswith("ar"):
        return _agreeing(verb[:-2] + "ad")
    # A strong vowel before the ending takes an accent: leído.
    return _agreeing(verb[:-2] + ("íd" if verb[-3] in "aeo" else "id"))


def spanish_preterite(verb: str) -> Iterable[str]:
    if verb.endswith("car"):
        return (verb[:-3] + "qué",)
    if verb.endswith("gar"):
        return (verb[:-3] + "gué",)
    if verb.endswith("zar"):
        return (verb[:-3] + "cé",)
    return (verb[:-2] + ("é" if verb.endswith("ar") else "í"),)


def spanish_reported(verb: str) -> Iterable[str]:
    if verb.endswith("ar"):
        return (verb[:-2] + "ó", verb[:-2] + "aron")
    return (verb[:-2] + "ió", verb[:-2] + "ieron")


def portuguese_participles(verb: str) -> Iterable[str]:
    if verb.endswith("ar"):
        return _agreeing(verb[:-2] + "ad")
    return _agreeing(verb[:-2] + ("íd" if verb[-3] in "aeo" else "id"))


def portuguese_preterite(verb: str) -> Iterable[str]:
    if verb.endswith("car"):
        return (verb[:-3] + "quei",)
    if verb.endswith("gar"):
        return (verb[:-3] + "guei",)
    if verb.endswith("çar"):
        return (verb[:-3] + "cei",)
    return (verb[:-2] + ("ei" if verb.endswith("ar") else "i"),)


def french_participles(verb: str) -> Iterable[str]:
    ending = {"er": "é", "ir": "i", "re": "u"}.get(verb[-2:], "é")
    stem = verb[:-2] + ending
    return (stem, stem + "e", stem + "s", stem + "es")


def italian_participles(verb: str) -> Iterable[str]:
    stem = verb[:-3] + {"are": "at", "ere": "ut", "ire": "it"}.get(verb[-3:], "at")
    return (stem + "o", stem + "a", stem + "i", stem + "e")
