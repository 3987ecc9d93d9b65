"""Marlow Street Clinics: the back office of a small group of practices."""

from __future__ import annotations

from reviews.demo.marlow import appointments, claims, everyday, languages, prescriptions
from reviews.demo.marlow.tools import AGENT_TOOLS, MEMORY, NOTES, TOOLS
from reviews.demo.model import DemoUser
from reviews.demo.script import Script
from reviews.demo.skills_marlow import SKILLS

__all__ = ["MARLOW"]

MARLOW = Script(
    slug="marlow",
    name="Marlow Street Clinics",
    identifier_keys=("claim", "claim_id", "mrn", "auth", "referral", "rx", "sample"),
    tool_trigger_keywords={
        "book_appointment": ["appointment", "cita", "termin", "rendez-vous", "consulta"],
        "send_reminder": ["reminder", "recordatorio", "erinnerung", "rappel", "lembrete"],
        "request_refill": ["refill", "prescription", "receta", "rezept", "ordonnance", "receita"],
        "submit_claim": ["claim", "insurer"],
        "message_clinician": ["doctor", "nurse"],
    },
    mode="refuse",
    refuse_min_confidence=0.85,
    users=(
        DemoUser("sofia", "Sofia Brandão", "owner"),
        DemoUser("ana", "Ana Belmonte", "reviewer"),
        DemoUser("ben", "Ben Achterberg", "reviewer"),
        DemoUser("grace", "Grace Oyelaran", "manager"),
        DemoUser("leo", "Leo Hartung", "viewer"),
    ),
    models={
        "frontdesk-bot": "heron-70b-chat",
        "claims-bot": "kestrel-mini-2",
        "pharmacy-bot": "kestrel-large-2",
    },
    tools=TOOLS,
    agent_tools=AGENT_TOOLS,
    memory_nodes=MEMORY,
    memory_notes=NOTES,
    channels=("patient portal", "phone transcript", "staff chat"),
    skills=SKILLS,
    scenarios=(
        *appointments.SCENARIOS,
        *claims.SCENARIOS,
        *prescriptions.SCENARIOS,
        *everyday.SCENARIOS,
        *languages.SCENARIOS,
    ),
    open_share=0.22,
)
