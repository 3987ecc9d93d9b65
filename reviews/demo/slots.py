"""Fills the ``{slots}`` of a scenario with believable values, the same everywhere in one conversation."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from reviews.demo import vocabulary as words
from reviews.demo.script import fold

__all__ = ["Slots"]

_SLOT = re.compile(r"\{(~?)([a-z]+[0-9]*)(?:\.([a-z0-9]+))?\}")
_CHOICE = re.compile(r"\[\[([^\[\]]*)\]\]")
_PNR = "GHJKLMNPQRSTUVWXYZ"
_SAFE = "GHJKLMNPQRTUVWXYZ2346789"
_EARLIER, _LATER = ("past", "isopast"), ("d", "iso")
_MONEY = ("amt", "small", "big")


class Slots:
    """The values of one conversation; ``at`` is when it starts and ``language`` how values are written."""

    def __init__(self, rng: random.Random, at: datetime, language: str) -> None:
        self._rng = rng
        self._at = at
        self._language = language
        self._values: dict[tuple[str, str], Any] = {}

    def text(self, template: str) -> str:
        """The template, unfolded, with its wordings chosen and its slots filled."""
        chosen = _CHOICE.sub(lambda m: self._rng.choice(m.group(1).split("|")), fold(template))
        return self.exact(chosen)

    def exact(self, template: str) -> str:
        """The template with its slots filled and nothing else done to it."""
        return _SLOT.sub(lambda m: self._written(m.group(1), m.group(2), m.group(3) or ""), template)

    def json(self, value: Any) -> Any:
        """A JSON value with every string in it filled; a lone slot keeps its type (an amount is a number)."""
        if isinstance(value, str):
            lone = _SLOT.fullmatch(value)
            if lone and not lone.group(1):
                return self._raw(lone.group(2), lone.group(3) or "")
            return self.text(value)
        if isinstance(value, dict):
            return {key: self.json(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.json(item) for item in value]
        return value

    def _written(self, near: str, kind: str, tag: str) -> str:
        value = self._raw(kind, tag)
        if kind in _MONEY:
            written = f"{value:,.2f}"
            if self._language != "en":
                written = written.translate(str.maketrans(",.", ".,"))
            return written
        text = str(value)
        if not near:
            return text
        key = ("~" + kind, tag)
        if key not in self._values:
            self._values[key] = self._one_off(text)
        return str(self._values[key])

    def _one_off(self, text: str) -> str:
        """``text`` with one character near its middle replaced by a neighbour of the same sort."""
        places = [i for i, c in enumerate(text) if c.isalnum()]
        place = places[len(places) * 3 // 5]
        old = text[place]
        if old.isdigit():
            new = str((int(old) + self._rng.randint(1, 8)) % 10)
        else:
            alphabet = "abcdef" if old in "abcdef" else "ABCDEF" if old in "ABCDEF" else _PNR
            new = self._rng.choice([c for c in alphabet if c != old])
        return text[:place] + new + text[place + 1 :]

    def _raw(self, kind: str, tag: str) -> Any:
        key = (kind, tag)
        if key not in self._values:
            self._values[key] = self._make(kind, tag)
        return self._values[key]

    def _make(self, kind: str, tag: str) -> Any:  # noqa: PLR0911
        if kind in _LATER or kind in _EARLIER:
            return self._date(kind, tag)
        if kind == "name":
            return f"{self._raw('first', tag)} {self._raw('last', tag)}"
        if kind == "email":
            first, last = (words.ascii_name(self._raw(part, tag)) for part in ("first", "last"))
            return f"{first}.{last}@{self._rng.choice(words.MAIL_DOMAINS)}"
        pool = words.pool(kind, self._language)
        if pool:
            taken = {v for (k, _), v in self._values.items() if k == kind}
            return self._rng.choice([w for w in pool if w not in taken] or list(pool))
        if kind.startswith("hex"):
            return self._hex(int(kind[3:]))
        if kind.startswith("num"):
            size = int(kind[3:])
            return str(self._rng.randint(10 ** (size - 1), 10**size - 1))
        return _MAKERS[kind](self._rng)

    def _hex(self, size: int) -> str:
        digits = [self._rng.choice("0123456789abcdef") for _ in range(size)]
        digits[0] = self._rng.choice("0123456789")
        digits[1 + self._rng.randrange(size - 1)] = self._rng.choice("abcdef")
        return "".join(digits)

    def _later(self, tag: str) -> int:
        return self._rng.randint(1, 4) if tag == "soon" else self._rng.randint(7, 58)

    def _date(self, kind: str, tag: str) -> str:
        side = "past" if kind in _EARLIER else "d"
        key = ("offset-" + side, tag)
        if key not in self._values:
            self._values[key] = -self._rng.randint(3, 34) if side == "past" else self._later(tag)
        day = self._at + timedelta(days=self._values[key])
        if day.weekday() >= 5:
            day += timedelta(days=2 if side == "d" else -2)
        if kind.startswith("iso"):
            return day.date().isoformat()
        return words.written_date(day, self._language)


def _letters(rng: random.Random, alphabet: str, size: int) -> str:
    return "".join(rng.choice(alphabet) for _ in range(size))


def _pnr(rng: random.Random) -> str:
    return rng.choice(_PNR) + _letters(rng, _SAFE, 5)


def _uuid(rng: random.Random) -> str:
    text = f"{rng.getrandbits(128):032x}"
    text = f"{text[:12]}4{text[13:16]}{rng.choice('89ab')}{text[17:]}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


_MAKERS: dict[str, Callable[[random.Random], Any]] = {
    "pnr": _pnr,
    "uuid": _uuid,
    "flight": lambda r: f"AQ {r.randint(112, 989)}",
    "seat": lambda r: f"{r.randint(4, 31)}{r.choice('ABCDEF')}",
    "gate": lambda r: f"{r.choice('BCDK')}{r.randint(3, 44)}",
    "hm": lambda r: f"{r.randint(6, 21):02d}:{r.choice((0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55)):02d}",
    "office": lambda r: f"{r.randint(9, 17):02d}:{r.choice((0, 10, 20, 30, 40, 50)):02d}",
    "amt": lambda r: round(r.randint(19, 480) + r.choice((0.0, 0.5, 0.9, 0.95, 0.2, 0.4)), 2),
    "small": lambda r: round(r.randint(9, 48) + r.choice((0.0, 0.5, 0.9)), 2),
    "big": lambda r: round(r.randint(510, 1290) + r.choice((0.0, 0.4, 0.8)), 2),
    "case": lambda r: f"CS-{r.randint(20410, 98990)}",
    "voucher": lambda r: f"AV-{_letters(r, _SAFE, 4)}-{_letters(r, _SAFE, 4)}",
    "phone": lambda r: f"+44 7700 900{r.randint(100, 999)}",
    "inv": lambda r: f"INV-{r.randint(2100, 2699)}-{r.randint(1000, 9899)}",
    "sub": lambda r: f"sub_{_letters(r, _SAFE, 9)}",
    "charge": lambda r: f"ch_{_letters(r, _SAFE, 11)}",
    "ver": lambda r: f"{r.randint(2, 6)}.{r.randint(0, 31)}.{r.randint(0, 9)}",
    "pct": lambda r: f"{r.randint(3, 97)}",
    "ms": lambda r: f"{r.randint(110, 960)}",
    "few": lambda r: r.randint(2, 5),
    "some": lambda r: r.randint(6, 48),
    "many": lambda r: f"{r.randint(1, 18)},{r.randint(100, 989)}",
    "claim": lambda r: f"CLM-{r.randint(300100, 879900)}",
    "auth": lambda r: f"PA{r.randint(1000, 9899)}-{_letters(r, _PNR, 2)}",
    "rx": lambda r: f"RX{r.randint(200100, 989900)}",
    "mrn": lambda r: f"M{r.randint(1010000, 8989000)}",
    "ref": lambda r: f"RF-{r.randint(10100, 89900)}",
}
