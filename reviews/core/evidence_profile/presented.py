"""Records that a draft says to have before it, as in "I have your account details here": a look-up not
called one.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Final, NamedTuple

from reviews.core.evidence_profile.linear import compiled
from reviews.core.evidence_profile.zones import Zones

__all__ = ["RECORDS", "Presented", "find_presented"]

_REACH: Final = 500
_MAX: Final = 8
#: What a customer's records are called.
RECORDS: Final = (
    r"(?:account|order|orders|reservations?|bookings?|services?|profile|subscription|policy|appointments?|"
    r"records?|"
    r"information|details|plan|invoices?|balance|case|claim|ticket|history|slots?|dates|times?|"
    r"cuenta|pedidos?|reservas?|servicios?|perfil|suscripción|citas?|datos|información|detalles|factura|"
    r"saldo|caso|"
    r"reclamo|orden|fechas|horarios|conta|assinatura|serviço|informações|dados|fatura|datas|horários|"
    r"compte|commandes?|réservations?|abonnement|informations|données|facture|solde|dossier|créneaux|"
    r"konto|bestellung(?:en)?|buchung(?:en)?|vertrag|daten|rechnung|termine?|"
    r"conto|ordin[ei]|prenotazion[ei]|abbonamento|dati|informazioni|fattura|appuntament[oi])"
)
_HAS: Final = compiled(
    r"(?i)\b(?:I (?:can )?(?:see|now have|have)|(?:ya )?(?:veo|tengo)|(?:já )?(?:vejo|tenho)|je vois|j'ai|"
    r"ich (?:sehe|habe)|vedo|ho)\b[^.!?\n]{0,50}\b(?:your|available|sus?|tus?|usted|disponib\w+|seus?|suas?|"
    r"votre|vos|ihre?n?|verfügbaren?|tuo|tua|suo)\b[^.!?\n:]{0,30}\b" + RECORDS + r"\b"
    r"|\b(?:here (?:are|is) (?:the|your) (?:available|current)|(?:aquí|aqui) (?:están|tienes|tiene|estão) "
    r"(?:los|las|os|as|tus|sus) [^.!?\n]{0,20}(?:disponibles|disponíveis|resultados))\b"
)
# A number, a time, an address, a name or a code: what nobody can say of a customer without looking.
_SPECIFIC: Final = re.compile(
    r"[\w.+-]+@[\w-]+\.\w+|\b[A-Z]{1,5}-?\d{2,}\b|\b\d[\d.,:/-]*\d\b|\b[A-ZÁÉÍÓÚÑ][a-záéíóúñ]{3,}\b"
)


class Presented(NamedTuple):
    """``values`` are what is told of the records: numbers, names, times."""

    start: int
    end: int
    values: frozenset[str]


def find_presented(text: str, zones: Zones) -> list[Presented]:
    """In text order, those without values left out."""
    found = []
    for match in islice(_HAS.finditer(text), _MAX):
        start, end = match.span()
        if not zones.spoken(start):
            continue
        sentence_end = re.search(r"[.!?\n]", text[end : end + 160])
        if sentence_end is not None and sentence_end[0] == "?":
            continue
        values = frozenset(_SPECIFIC.findall(text[end : end + _REACH]))
        if values:
            found.append(Presented(start, end, values))
    return found
