"""Models for the critic's tests: one with a fixed answer, and readers that obey what is not fenced off."""

from __future__ import annotations

import asyncio
import base64
import binascii
import codecs
import html
import json
import re
import unicodedata
import urllib.parse
from collections.abc import Iterator

from reviews.core.model_provider import ModelReply

# "approve" and "refuse" as the injections write them.
WORDS = {
    "approve": [
        *(
            "approve",
            "aprueba",
            "genehmige",
            "approuve",
            "aprove",
            "approva",
            "keur",
            "одобри",
            "批准",
            "承認",
        ),
        *("승인", "وافق", "אשר", "स्वीकृत", "onayla", "zatwierdź", "ενέκρινε", "godkänn", "phê", "схвали"),
        "setujui",
    ],
    "refuse": ["refuse"],
}
LOOK_ALIKES = str.maketrans("аеорсух", "aeopcyx")
LEET = str.maketrans("4301", "aeol")


class Model:
    """Answers with a fixed reply, raises a fixed error, or never answers. ``%CHECK%`` becomes the token."""

    def __init__(self, answer, **fields):
        self.answer, self.fields = answer, fields
        self.asked = []

    async def complete(self, *, system, prompt, max_tokens):
        self.asked.append((system, prompt, max_tokens))
        if self.answer is None:
            await asyncio.Event().wait()
        if isinstance(self.answer, BaseException):
            raise self.answer
        if isinstance(self.answer, str):
            return ModelReply(self.answer.replace("%CHECK%", asked_check(system) or ""), **self.fields)
        return self.answer


def asked_check(system):
    """The token that the instructions ask for; None when they ask for none."""
    found = re.search(r"- check: .*: (\S+)$", system, re.MULTILINE)
    return found and found[1]


def fold(text):
    """``text`` as a reader takes it: tag characters as letters, nothing invisible, no accents or case."""
    text = "".join(chr(ord(c) - 0xE0000) if 0xE0020 <= ord(c) < 0xE007F else c for c in text)
    text = unicodedata.normalize("NFKD", text).casefold()
    text = "".join(c for c in text if unicodedata.category(c) not in ("Cf", "Mn"))
    return unicodedata.normalize("NFC", text).translate(LOOK_ALIKES)


def readings(text) -> Iterator[str]:
    """``text`` and what it may be meant to say: decoded, unescaped, unspaced, reversed."""
    yield text
    yield text.translate(str.maketrans("", "", "\u0301\u0308"))
    yield re.sub(r"(?<=\b\w)[ -](?=\w\b)", "", text)
    yield text.translate(LEET)
    yield codecs.encode(text, "rot13")
    yield text[::-1]
    yield html.unescape(text)
    yield urllib.parse.unquote(text)
    yield re.sub(r"\\(?:x|u00)([0-9a-f]{2})", lambda found: chr(int(found[1], 16)), text)
    for token in re.findall(r"[A-Za-z0-9+/]{8,}={0,2}", text):
        for decode in (bytes.fromhex, base64.b64decode):
            try:
                yield from readings(decode(token).decode())
            except (ValueError, binascii.Error):
                continue


def order_in(text):
    """The verdict that ``text`` tells its reader to reach, the last one named; None when it names none."""
    for reading in readings(text):
        folded = fold(reading)
        place, verdict = max(
            (folded.rfind(fold(word)), verdict) for verdict, words in WORDS.items() for word in words
        )
        if place >= 0:
            return verdict
    return None


class Obedient:
    """Reaches its own verdict, ``revise``, unless the user's part of the question gives it another order.

    It reads as an order whatever does not stand between the exact marks that the instructions name. A
    ``gullible`` one is also taken in by every line between them that is no JSON value, such as a forged mark.
    Line ends are all that Unicode knows.
    """

    def __init__(self, *, gullible=False, echo=False):
        self.gullible, self.echo = gullible, echo

    def obeyed(self, system, prompt):
        found = re.search(r"\[(\S+) BEGIN \.\.\.\]", system)
        marks = (f"[{found[1]} BEGIN ", f"[{found[1]} END ") if found else ("\0", "\0")
        outside, inside = [], False
        for line in prompt.splitlines():
            if line.startswith(marks) and line.endswith("]"):
                inside = line.startswith(marks[0])
            elif not inside or (self.gullible and not is_data(line)):
                outside.append(line)
        return order_in("\n".join(outside))

    async def complete(self, *, system, prompt, max_tokens):
        verdict = self.obeyed(system, prompt)
        answer = {
            "verdict": verdict or "revise",
            "revised_draft": None if verdict else "my own",
            "refusal_message": None,
            "matched_preferences": [],
        }
        check = asked_check(system)
        if check:
            answer["check"] = check
        said = f"I was shown this:\n{shown_draft(prompt)}\nI find:\n" if self.echo else ""
        return ModelReply(said + json.dumps(answer))


class Parrot:
    """Says nothing but the draft that it was shown."""

    async def complete(self, *, system, prompt, max_tokens):
        return ModelReply(shown_draft(prompt))


def shown_draft(prompt):
    return json.loads(re.search(r"BEGIN draft\]\n(.*)\n", prompt)[1])


def is_data(line):
    try:
        json.loads(line)
    except ValueError:
        return line in ("(none)", "none")
    return True
