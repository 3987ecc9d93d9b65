"""Names, places and other words that fill the demo's slots."""

from __future__ import annotations

import unicodedata
from datetime import datetime

__all__ = ["MAIL_DOMAINS", "ascii_name", "pool", "written_date"]

MAIL_DOMAINS = ("postbox.example", "inbox.example", "mailhaven.example", "quillmail.example")

_FIRST = {
    "en": (
        "Priya Daniel Hannah Marcus Aisha Owen Beth Callum Farah Joanne Kwame Rosie Stuart Tamsin Yusuf Nell"
    ),
    "es": "Lucía Javier Carmen Álvaro Inés Rubén Marta Sergio Noelia Andrés Paloma Iker",
    "de": "Katrin Jonas Annika Matthias Svenja Tobias Heike Lennart Birgit Florian Ruth Malte",
    "fr": "Camille Julien Élodie Thibault Manon Rachid Sylvie Antoine Hélène Bastien Nadia Luc",
    "pt": "Beatriz Tiago Mariana Rui Inês Gonçalo Teresa Duarte Sofia Nuno Helena Vasco",
}
_LAST = {
    "en": "Shah Whitlock Osei Brennan Carmody Lindqvist Pryce Mbeki Tanaka Farrow Okafor Redfern Doyle Vance",
    "es": "Ortega Salas Rincón Iglesias Montero Cuesta Peralta Vidal Aguirre Luna",
    "de": "Brandt Hoffstätter Krüger Seidel Lorenz Wieland Pohl Nagel Ebert Kessler",
    "fr": "Marchand Lefèvre Garnier Besson Chevalier Roux Perrin Diallo Fontaine Mercier",
    "pt": "Carvalho Nogueira Pinto Azevedo Tavares Sequeira Moura Lopes Falcão Brito",
}
_CITY = {
    "en": (
        "Lisbon|Copenhagen|Edinburgh|Valencia|Reykjavik|Vienna|Kraków|Palermo|Porto|Oslo|Riga|Split|Malta|Cork"
    ),
    "es": "Lisboa|Berlín|Palma|Milán|Londres|Bilbao|Tenerife|Bruselas|Roma|Sevilla",
    "de": "Lissabon|Palma|Wien|Mailand|Kopenhagen|Porto|Zürich|Dublin|Athen|Nizza",
    "fr": "Lisbonne|Porto|Vienne|Naples|Dublin|Prague|Marrakech|Berlin|Malaga|Oslo",
    "pt": "Londres|Paris|Funchal|Milão|Bruxelas|Zurique|Madrid|Genebra|Roma|Viena",
}
_PLAIN: dict[str, tuple[str, ...]] = {
    "svc": (
        "checkout-api",
        "ledger-sync",
        "invoice-renderer",
        "webhook-relay",
        "auth-gateway",
        "usage-meter",
        "search-indexer",
        "export-worker",
        "mailer",
        "tax-engine",
    ),
    "host": ("ams-wrk-07", "fra-api-02", "fra-wrk-11", "dub-db-03", "ams-api-05", "waw-cache-01"),
    "env": ("staging", "production", "preview", "eu-production"),
    "repo": ("billing-core", "web-console", "ledger", "edge-router", "report-builder"),
    "plan": ("Starter", "Team", "Business", "Scale"),
    "org": (
        "Brightwater Studio",
        "Nordkai Logistik",
        "Ferro & Hijos",
        "Petit Atlas",
        "Oakline Dental",
        "Sable Robotics",
        "Moinho Verde",
        "Kestrel Yards",
        "Tern Island Foods",
        "Papermoon Games",
    ),
    "team": ("payments", "platform", "data", "identity", "growth"),
    "doctor": ("Dr. Amari", "Dr. Feld", "Dr. Sorensen", "Dr. Iyer", "Dr. Castellan"),
    "insurer": ("Northgate Mutual", "Helix Care", "Union Santé", "Westermark BKK", "Previdente"),
    "drug": (
        "metformin 500 mg",
        "levothyroxine 75 µg",
        "ramipril 5 mg",
        "salbutamol inhaler",
        "sertraline 50 mg",
        "atorvastatin 20 mg",
    ),
    "clinic": ("Marlow Street", "Quayside", "Elm Court", "Station Road"),
}
_MONTHS = {
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "en": "January February March April May June July August September October November December",
}
_DATE = {"en": "{d} {m}", "es": "{d} de {m}", "de": "{d}. {m}", "fr": "{d} {m}", "pt": "{d} de {m}"}


def pool(kind: str, language: str) -> tuple[str, ...]:
    """The words a slot of this kind may take; empty when it is made from digits and letters instead."""
    if kind == "first":
        return tuple(_FIRST[language].split())
    if kind == "last":
        return tuple(_LAST[language].split())
    if kind == "city":
        return tuple(_CITY[language].split("|"))
    return _PLAIN.get(kind, ())


def ascii_name(name: str) -> str:
    """A name as it stands in a mail address."""
    plain = unicodedata.normalize("NFKD", name.lower().replace("ß", "ss"))
    return "".join(c for c in plain if c.isascii() and c.isalpha())


def written_date(day: datetime, language: str) -> str:
    """A day and month as people write it in this language."""
    return _DATE[language].format(d=day.day, m=_MONTHS[language].split()[day.month - 1])
