"""Alder Travel: an airline-and-hotel agency whose support is answered by several agents."""

from __future__ import annotations

from reviews.demo.alder import (
    baggage,
    bookings,
    disruption,
    everyday,
    french,
    german,
    groups,
    hostile,
    portuguese,
    refunds,
    spanish,
)
from reviews.demo.alder.tools import AGENT_TOOLS, MEMORY, NOTES, TOOLS
from reviews.demo.model import DemoUser
from reviews.demo.script import Script
from reviews.demo.skills_alder import SKILLS

__all__ = ["ALDER"]

ALDER = Script(
    slug="demo",
    name="Alder Travel",
    identifier_keys=(
        "pnr",
        "booking",
        "case",
        "voucher",
        "localizador",
        "buchungscode",
        "dossier",
        "reserva",
    ),
    tool_trigger_keywords={
        "send_email": ["email", "e-mail", "correo", "courriel", "mail"],
        "cancel_booking": ["cancel", "stornier", "annul"],
        "change_booking": [
            "rebook",
            "change my",
            "umbuch",
            "cambia",
            "cambio",
            "mon vol",
            "alterar",
            "o voo",
        ],
        "refund_payment": ["refund", "reembols", "erstatt", "rembours"],
        "add_baggage": ["bag", "maleta", "gepäck", "koffer", "valise", "mala"],
        "issue_voucher": ["voucher", "bono", "gutschein", "bon d'achat", "vale de"],
        "assign_seat": ["seat", "asiento", "sitzplatz", "siège", "lugar"],
        "create_case": ["complaint", "reclamación", "beschwerde", "réclamation", "reclamação"],
    },
    mode="observe",
    refuse_min_confidence=0.8,
    users=(
        DemoUser("ana", "Ana Belmonte", "owner"),
        DemoUser("leo", "Leo Hartung", "manager"),
        DemoUser("mia", "Mia Osterberg", "reviewer"),
        DemoUser("tom", "Tom Adeyemi", "reviewer"),
        DemoUser("vic", "Vic Laurent", "viewer"),
    ),
    models={
        "support-bot": "kestrel-large-2",
        "rebooking-bot": "kestrel-large-2",
        "refunds-bot": "kestrel-mini-2",
        "groups-bot": "heron-70b-chat",
        "es-bot": "heron-70b-chat",
        "eu-bot": "heron-70b-chat",
    },
    tools=TOOLS,
    agent_tools=AGENT_TOOLS,
    memory_nodes=MEMORY,
    memory_notes=NOTES,
    channels=("web chat", "web chat", "app", "email", "messenger"),
    skills=SKILLS,
    scenarios=(
        *bookings.SCENARIOS,
        *disruption.SCENARIOS,
        *refunds.SCENARIOS,
        *baggage.SCENARIOS,
        *groups.SCENARIOS,
        *everyday.SCENARIOS,
        *spanish.SCENARIOS,
        *german.SCENARIOS,
        *french.SCENARIOS,
        *portuguese.SCENARIOS,
        *hostile.SCENARIOS,
    ),
    open_share=0.35,
    volume=4,
)
