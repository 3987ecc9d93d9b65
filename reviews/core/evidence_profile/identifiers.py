"""Identifiers that a draft gives: the reference profile's shapes, and those that people write beside a claim.

Beyond hex and ``key=value`` these are values after a key of several words or in quotes (``Job ID: 4405``,
``"request_id": "7f3a"``), mixed codes beside a claim (RECL-20391), and numbers such as #412.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from reviews.core import _scan
from reviews.core import lexicon as lex
from reviews.core.evidence_profile.claims import Claim
from reviews.core.evidence_profile.linear import compiled
from reviews.core.evidence_profile.turn import ClaimKind
from reviews.core.evidence_profile.vocabulary import listed
from reviews.core.evidence_profile.zones import Zones

__all__ = ["Identifier", "find_identifiers"]

Span = tuple[int, int]

# A draft with more identifiers than this holds a listing; the rest is as good or as bad as the first ones.
MAX_IDENTIFIERS: Final = 2_048

_MAX_NUMBERED: Final = 256
_LONGEST: Final = 64

# With a digit in it: a word after a key ("the code was") is none.
_VALUE: Final = r"(?:[0-9]|[A-Za-z][A-Za-z_\-./]*[0-9])[A-Za-z0-9_\-./]*"
_KEY_WORD: Final = (
    r"ids?|identifier|number|nr\.?|no\.|code|reference|ref\.?|hash|sha|token|ticket|pnr|uuid|confirmation|"
    r"folio|"
    r"identificador|número|numero|código|codigo|referencia|localizador|"
    r"referência|protocolo|numéro|référence|identifiant|nummer|kennung|referenz|"
    r"[a-zäöü]{3,20}nummer|[a-zäöü]{3,20}(?:kennung|-id)|codice|riferimento|numero|"
    r"[a-z]{2,20}_(?:id|number|no|code|ref|key|token)|[a-z]{2,12}id"
)
# Key, what may stand between (a verb, marks, quotes, emphasis), value.
_KEYED: Final = compiled(
    rf"(?i)\b(?:(?:{_KEY_WORD})(?: (?:de|del|da|do|of|für|di) (?:[a-zà-ÿ]+ ){{0,2}}[a-zà-ÿ]+)?)"
    rf"[\"'`*_]{{0,4}}(?:\s?[:=#]\s?|\s(?:is|es|é|est|ist|lautet|è|será|now)(?:\s?:)?\s|\s\(|\s)"
    rf"[\"'`*_#\s(]{{0,6}}{_VALUE}".encode(),
    captures=False,
)
_KEYED_UNSPACED: Final = compiled(
    rf"((?:订单|工单|单|编|流水|预订|预约|确认|参考|票|跟踪|追踪|注文|予約|受付|確認|問い合わせ|管理|追跡)(?:号码|号|番号|コード|码|ID))"
    rf"[是为は:：\s\"'`*「『]{{0,6}}{_VALUE}".encode(),
    captures=False,
)
_NUMBERED: Final = compiled(r"(?:^|[\s(\[,])#(\d{2,10})(?:\s?[-–]\s?#?(\d{2,10}))?\b")
_CODE: Final = re.compile(
    r"\b(?:[A-Z]{2,8}[-_ ]?\d{3,12}|[A-Z]{2,8}(?:[-_][A-Z0-9]{2,10}){1,3}|[A-Z0-9]{6,10})\b"
)
_ID_NOUNS: Final = listed(
    "commit commits ticket tickets order orders job jobs invoice invoices booking bookings reservation "
    "reservations issue "
    "issues pr prs request requests case cases reference confirmation record records incident incidents "
    "task tasks "
    "transaction payment hash hashes sha id ids pedido orden reclamo reserva factura caso solicitud ticket "
    "boleto "
    "encomenda chamado protocolo commande facture dossier bestellung rechnung vorgang auftrag ordine "
    "fattura pratica"
)
_EXAMPLE: Final = compiled(
    r"(?i)\b(?:e\.g|example|for instance|such as|format|like this|placeholder|sample|looks like|"
    r"would look|ejemplo|"
    r"formato|como por|exemplo|exemple|par exemple|beispiel|z\.b|esempio|por ejemplo)|例如|比如|例えば|例："
)
# Values that a key may have in prose without being an identifier.
_PLAIN: Final = re.compile(
    r"(?i)^(?:\d{1,3}(?:st|nd|rd|th)?|\d{1,2}[:.]\d{2}(?:[:.]\d{2})?|\d{4}-\d{2}-\d{2}.*|"
    r"\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|"
    r"\d+[.,]\d+|v?\d+(?:\.\d+)+|\d+(?:%|px|kg|km|am|pm|min|h|ms|gb|mb|kb|x)|"
    r"[a-z]{2,5}-\d{1,2}|\d{2,4}(?:-\d{2,4})+)$"
)
_DENIALS: Final = listed(
    "not no never cannot without nor non não nicht kein keine pas aucun ningún ninguna nenhum nessun"
)
_SENTENCE_END: Final = re.compile(r"[.!](?:\s|$)|[?？。！]|\n")
_DIGIT: Final = b"1"
_DIGITS: Final = bytes(ord("1") if chr(code).isdecimal() else ord(" ") for code in range(256))
_LINKING: Final = listed("is es é est ist lautet è será now")
_KEY_PART: Final = re.compile(r"[^\W\d]+")
_LAST_VALUE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_\-./]*\Z")
_NO_KEY: Final = listed(
    "phone telephone fax page line version port step option chapter question room seat gate zip postal area "
    "total "
    "status error http exit return country dial postcode item row section day week year call house street"
)
_WORD: Final = re.compile(r"[^\W\d_]+")


class Identifier(NamedTuple):
    """One identifier; ``key`` is lower case with "_" between words, None without one."""

    text: str
    start: int
    end: int
    kind: ClaimKind
    key: str | None = None


def find_identifiers(
    text: str, claims: Sequence[Claim], zones: Zones, keys: _scan.KeySet
) -> list[Identifier]:
    """In text order; of two that overlap the one of the more telling kind."""
    view = _scan.view_of(text)
    uuids, hexes = _scan.hex_tokens(text, view)
    found = [
        Identifier(text[start:end], start, end, "uuid")
        for start, end in uuids
        if not zones.addresses.holds(start)
    ]
    if hexes:
        found += _short_hex(text, hexes, claims, zones, keys)
    if ":" in text or "=" in text:
        found += [
            Identifier(value, start, end, "kv", written.lower())
            for written, value, (start, end) in _scan.key_values(text, keys)
            if _identifies(written, value, text, start) and not zones.addresses.holds(start)
        ]
    # The other shapes need a digit; most drafts have none but in what is found already.
    if _other_digits(text, found):
        # Where the others end, so that no key is read twice.
        taken = {each.end for each in found}
        found += _keyed(text, zones, keys, taken)
        if claims or "#" in text:
            found += _beside_claims(text, claims, zones)
    return _apart(found[:MAX_IDENTIFIERS])


def _other_digits(text: str, found: list[Identifier]) -> bool:
    """Whether there is a digit outside what is found, at C speed."""
    digits = text.encode("latin-1", "replace").translate(_DIGITS)
    at = digits.find(_DIGIT)
    for each in sorted(found, key=lambda each: each.start):
        if 0 <= at < each.start:
            return True
        at = digits.find(_DIGIT, each.end)
    return at >= 0


def _apart(found: list[Identifier]) -> list[Identifier]:
    """The identifiers in text order; of those that overlap, the first one found."""
    if len(found) < 2:
        return found
    ranked = sorted(enumerate(found), key=lambda each: each[1].start)
    kept: list[tuple[int, Identifier]] = []
    for rank, each in ranked:
        if kept and each.start < kept[-1][1].end:
            if rank < kept[-1][0]:
                kept[-1] = (rank, each)
            continue
        kept.append((rank, each))
    return [each for _, each in kept]


def _short_hex(
    text: str, tokens: list[Span], claims: Sequence[Claim], zones: Zones, keys: _scan.KeySet
) -> Iterator[Identifier]:
    starts, ends = [claim.start for claim in claims], [claim.end for claim in claims]
    for start, end in tokens[:MAX_IDENTIFIERS]:
        if zones.addresses.holds(start) or zones.fenced.holds(start):
            continue
        token = text[start:end]
        key = _scan.key_before(text, start)
        if key is not None and key in keys:
            yield Identifier(token, start, end, "short_hex_near_key", key)
            continue
        if not any(each.isdigit() for each in token):
            continue  # "facade", "decade": words
        before = bisect_right(ends, start)
        after = bisect_left(starts, end)
        near = (before and start - ends[before - 1] <= lex.NEAR_VERB_WINDOW) or (
            after < len(starts) and starts[after] - end <= lex.NEAR_VERB_WINDOW
        )
        noun = _noun_before(text, start)
        if noun is not None and len(token) >= 7:
            yield Identifier(token, start, end, "short_hex_near_key", noun)
        elif near or (len(token) >= 7 and _noun_in_sentence(text, start)):
            yield Identifier(token, start, end, "short_hex_near_verb")


def _noun_before(text: str, start: int) -> str | None:
    words = _WORD.findall(text[max(0, start - 24) : start].lower())
    return words[-1] if words and words[-1] in _ID_NOUNS else None


def _noun_in_sentence(text: str, start: int) -> bool:
    window = text[max(0, start - 120) : start]
    cut = max(window.rfind(". "), window.rfind("\n"), window.rfind("! "), window.rfind("? "))
    return not _ID_NOUNS.isdisjoint(_WORD.findall(window[cut + 1 :].lower()))


def _identifies(key: str, value: str, text: str, start: int) -> bool:
    """Whether a known key's value is an identifier and not a word of prose after a heading ("Service: "
    "daily").
    """
    if any(each.isdigit() for each in value):
        return True
    separator = text[start + len(key) : start + len(key) + 2].strip()[:1]
    return separator == "=" or "_" in key or any(mark in value for mark in "-_./")


def _keyed(text: str, zones: Zones, keys: _scan.KeySet, taken: set[int]) -> Iterator[Identifier]:
    patterns = (_KEYED,) if text.isascii() else (_KEYED, _KEYED_UNSPACED)
    for pattern in patterns:
        for first, end in pattern.spans(text):
            last = end
            while text[last - 1] in "-./_":
                last -= 1
            if last in taken:
                continue
            value_at = _LAST_VALUE.search(text, first, last)
            if value_at is None:
                continue
            value = value_at[0]
            start = value_at.start()
            if (
                len(value) > _LONGEST
                or not _is_code(value)
                or zones.addresses.holds(start)
                or zones.fenced.holds(start)
            ):
                continue
            before = text[max(0, first - 32) : first]
            words = [word.lower() for word in _WORD.findall(before)]
            key = _key_name(text[first:start].lower(), before, words)
            if key is None or _EXAMPLE.search(text[max(0, first - 80) : first]):
                continue
            if _denied(text, first, start):
                continue
            kind: ClaimKind = "kv" if key in keys else "claimed_identifier"
            yield Identifier(value, start, start + len(value), kind, key)


def _denied(text: str, first: int, start: int) -> bool:
    """Whether the sentence asks for the identifier, or says that there is none such."""
    window = text[max(0, first - 120) : first]
    cut = max(window.rfind(". "), window.rfind("\n"), window.rfind("! "), window.rfind("? "))
    if not _DENIALS.isdisjoint(re.findall(r"\w+", window[cut + 1 :].lower())):
        return True
    rest = text[start : start + 120]
    ending = _SENTENCE_END.search(rest)
    return ending is not None and ending[0][0] in "?？"


def _key_name(written: str, before: str, words: list[str]) -> str | None:
    """``Job ID`` is job_id, with the word that stands right before; None for what is no key of an
    identifier.
    """
    parts = [part for part in _KEY_PART.findall(written) if part not in _LINKING]
    if not parts:
        return None
    key = "_".join(parts)
    if words and before[-1:] in (" ", "_", "-"):
        if words[-1] in _NO_KEY:
            return None
        if "_" not in key and len(words[-1]) > 2:
            key = f"{words[-1]}_{key}"
    return None if key in _NO_KEY else key[:32]


def _is_code(value: str) -> bool:
    digits = sum(map(str.isdigit, value))
    if not digits or _PLAIN.match(value):
        return False
    return digits >= 3 or (len(value) >= 5 and digits >= 1)


def _beside_claims(text: str, claims: Sequence[Claim], zones: Zones) -> Iterator[Identifier]:
    """Codes and numbers in the sentence of a claimed action."""
    last = -1
    for claim in claims:
        first, end = claim.sentence
        if claim.action == "read" or first <= last:
            continue
        last = first
        sentence = text[first:end]
        codes = list(_CODE.finditer(sentence))
        if not codes or _EXAMPLE.search(sentence):
            continue
        for match in codes:
            code = match[0]
            at = first + match.start()
            is_mixed = any(each.isdigit() for each in code) and any(each.isalpha() for each in code)
            if is_mixed and not zones.addresses.holds(at) and not zones.fenced.holds(at):
                yield Identifier(code, at, at + len(code), "claimed_identifier")
    for match in islice(_NUMBERED.finditer(text), _MAX_NUMBERED) if "#" in text else ():
        start, end = match.span(1)
        if zones.spoken(start) and (_noun_in_sentence(text, start) or _near(start, claims)):
            key = _noun_before(text, start - 1)
            yield Identifier(text[start - 1 : end], start - 1, end, "claimed_identifier", key)


def _near(at: int, claims: Sequence[Claim]) -> bool:
    return any(claim.sentence[0] <= at < claim.sentence[1] for claim in claims[:64])
