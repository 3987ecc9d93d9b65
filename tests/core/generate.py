"""Seeded random turns, dense with the shapes on which two detectors could disagree.

Deterministic: the same seed gives the same turns, so a mismatch can be replayed by its number.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from reviews.core.intent import IntentVerdict
from reviews.core.lexicon import ACTION_VERBS, BUILT_IN_KEYS, CLAIM_VERB_HINTS, KNOWLEDGE_VERBS

# White space by Unicode's rules (what \s and str.strip know), ASCII and not, plus look-alikes that are none.
SPACES = (
    list(" \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2003\u2009\u2028\u2029\u202f\u205f\u3000")
    + ["\u200b", "\u180e", "\ufeff", "\u2060"]
    + [" "] * 30
)
# Letters and digits of many scripts, marks that are no word characters, symbols, planes beyond the first.
GLUE = list(
    "éßÿÀªµ²¼ıİſK\u0301\u0308ŵΩжשمあ漢글٣९Ⅷ①😀𝒜𝟘\u200d\u00ad’“”—…§×÷_-./:=,;!?()[]{}\"'`*#@%&+|\\~^<>"
)
VERBS = list(CLAIM_VERB_HINTS)
KEYS = sorted(BUILT_IN_KEYS)
TENANT_KEYS = [
    "invoice",
    "order_ref",
    "k8",
    "Konto",
    "x_" * 16,
    *("x" * length for length in range(27, 34)),
    "ünïkey",
    "sku-id",
    "a",
    "",
]
TOOLS = [
    "run_shell",
    "send_email",
    "search_orders",
    "fetch_url",
    "create_ticket",
    "get_status",
    "delete_row",
    "SPAWN_agent",
    "x",
]
FILLER = [
    "the",
    "service",
    "report",
    "is",
    "ready",
    "and",
    "facade",
    "decade",
    "added",
    "to",
    "a",
    "bead",
    "Hawaii",
    "taxi",
    "i",
    "I",
    "ii",
    "see",
    "note",
    "status",
]
HEX = "0123456789abcdef"


@dataclass
class Turn:
    """One input of the detector, as keyword arguments."""

    draft: str
    calls: list[dict[str, Any]] = field(default_factory=list)
    context: str = ""
    user: str = ""
    keys: list[str] | None = None
    verdict: IntentVerdict | None = None


def hex_of(rng: random.Random, length: int) -> str:
    """``length`` hex digits; now and then upper case, all decimal, or one digit repeated."""
    shape = rng.random()
    if shape < 0.08:
        return rng.choice(HEX) * length
    if shape < 0.16:
        return "".join(rng.choice("0123456789") for _ in range(length))
    text = "".join(rng.choice(HEX) for _ in range(length))
    return text.upper() if shape > 0.85 else text


def uuid_of(rng: random.Random) -> str:
    """A UUID, sometimes without some hyphens, one digit short or long, or with a group too many."""
    groups = [hex_of(rng, n) for n in (8, 4, 4, 4, 12)]
    shape = rng.random()
    if shape < 0.1:
        groups[rng.randrange(5)] += rng.choice(HEX)
    elif shape < 0.2:
        groups.append(hex_of(rng, rng.choice((4, 8, 12))))
    elif shape < 0.25:
        groups.insert(0, hex_of(rng, rng.choice((4, 8))))
    text = groups[0]
    for group in groups[1:]:
        text += rng.choices(("-", "", "--", "\u2010"), (80, 15, 2, 3))[0] + group
    return text


def recase(rng: random.Random, text: str) -> str:
    """``text`` in another case, or with letters that equal s, k and i only when case is ignored."""
    shape = rng.random()
    if shape < 0.1:
        return text.upper()
    if shape < 0.2:
        return "".join(rng.choice((c.lower(), c.upper())) for c in text)
    if shape < 0.26:
        return text.translate(
            str.maketrans({"s": "ſ", "k": "K", "i": rng.choice("ıİ"), "I": rng.choice("ıİ")})
        )
    return text


class Maker:
    """Draws turns from one random generator."""

    def __init__(self, seed: int | str) -> None:
        self.rng = random.Random(seed)

    def space(self) -> str:
        shape = self.rng.random()
        if shape < 0.7:
            return " "
        if shape < 0.8:
            return ""
        return "".join(self.rng.choice(SPACES) for _ in range(self.rng.choice((1, 1, 2, 3, 30, 40))))

    def token(self) -> tuple[str, str]:
        """(what the draft says, the identifier in it)."""
        rng = self.rng
        shape = rng.random()
        if shape < 0.25:
            start = recase(rng, rng.choice(("I", "I", "I", "i", "l", "AI")))
            verb = recase(rng, rng.choice(VERBS))
            return start + (self.space() or " ") + verb, verb
        if shape < 0.42:
            uuid = uuid_of(rng)
            return uuid, uuid
        if shape < 0.65:
            token = hex_of(rng, rng.choice((5, 6, 7, 8, 8, 10, 12, 15, 16, 17, 20, 32)))
            return token, token
        if shape < 0.9:
            key = recase(
                rng, rng.choice(KEYS if rng.random() < 0.6 else [*TENANT_KEYS, "note", "status", "url"])
            )
            value = rng.choice(
                (
                    hex_of(rng, rng.choice((4, 8, 16))),
                    f"job-{rng.randrange(999)}",
                    rng.choice(KEYS),
                    "a/b.c-",
                    "v" * rng.choice((1, 126, 127, 128, 129)),
                    "x" * 127 + "-y",
                    uuid_of(rng),
                    "",
                )
            )
            separator = rng.choice(
                ("=", ":", ": ", " = ", "::", "=:", "=" + self.space(), self.space() + ":")
            )
            if rng.random() < 0.2:
                # Around the 32 characters in which short hex looks for its key.
                separator = "=" + " " * rng.randint(20, 31)
            return f"{key}{separator}{value}", value
        if shape < 0.96:
            return rng.choice(FILLER), ""
        return "".join(rng.choice(GLUE) for _ in range(rng.randint(1, 3))), ""

    def turn(self) -> Turn:
        rng = self.rng
        parts: list[str] = []
        grounding: list[str] = []
        for _ in range(rng.randint(2, 9)):
            said, identifier = self.token()
            if rng.random() < 0.2:
                said = rng.choice(GLUE) + said
            if rng.random() < 0.2:
                said += rng.choice(GLUE)
            parts.append(said)
            parts.append(self.space() if rng.random() < 0.85 else rng.choice(GLUE))
            if rng.random() < 0.25:
                parts.append(" ".join(rng.choice(FILLER) for _ in range(rng.randint(1, 14))) + " ")
            if identifier and rng.random() < 0.35:
                grounding.append(
                    rng.choice((identifier, identifier.upper(), identifier[:-1], f"x{identifier}x"))
                )
        turn = Turn("".join(parts))
        if rng.random() < 0.1:
            turn.draft = self.space() + turn.draft + self.space()
        for text in grounding:
            place = rng.randrange(3)
            if place == 0:
                turn.user += " " + text
            elif place == 1:
                turn.context += rng.choice(("\n", " ", "é", "漢", "")) + text
            else:
                turn.calls.append(self.call(text))
        if rng.random() < 0.3:
            turn.calls.append(self.call("ok"))
        if rng.random() < 0.3:
            turn.keys = rng.sample(TENANT_KEYS, rng.randint(0, 4))
        if rng.random() < 0.4:
            turn.verdict = IntentVerdict(
                rng.choice(("action", "action", "knowledge", "ambiguous")),
                rng.choice((0.0, 0.54, 0.55, 0.7, 1.0)),
                rng.choice(([], ["send_email"])),
            )
        return turn

    def call(self, text: str) -> dict[str, Any]:
        rng = self.rng
        call: dict[str, Any] = {}
        for name in ("name", "tool", "tool_name"):
            if rng.random() < 0.5:
                call[name] = rng.choice((*TOOLS, "", None, 7))
        key = rng.choice(("result", "output", "response", "args", "input", "error"))
        call[key] = rng.choice((text, {"id": text}, [text], 12345678, None, ""))
        return call

    def query(self) -> str:
        """A user message for the intent classifier."""
        rng = self.rng
        words = sorted(ACTION_VERBS) + sorted(KNOWLEDGE_VERBS)
        chosen = []
        for _ in range(rng.randint(0, 8)):
            word = (
                rng.choice(words)
                if rng.random() < 0.5
                else rng.choice((*FILLER, "gráfica", "gra\u0301fica", "envía"))
            )
            if rng.random() < 0.1:
                word = recase(rng, word)
            chosen.append(
                rng.choice(("", "", "", "", "-", "_", "--")) + word + rng.choice(("", "", "", "-", "_x"))
            )
            chosen.append(self.space() if rng.random() < 0.9 else rng.choice(GLUE))
        return "".join(chosen) + rng.choice(("", "", "?", "? ", "?!", "?\n", "?\x85", "¿"))


def turns(seed: int, count: int) -> Iterator[Turn]:
    """``count`` turns, all drawn from ``seed``."""
    maker = Maker(seed)
    for _ in range(count):
        yield maker.turn()
