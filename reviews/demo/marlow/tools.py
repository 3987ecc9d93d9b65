"""The tools and the shared memory of the clinics' agents."""

from __future__ import annotations

__all__ = ["AGENT_TOOLS", "MEMORY", "NOTES", "TOOLS"]

TOOLS: dict[str, str] = {
    "find_slots": "Free appointments of a clinician or clinic.",
    "book_appointment": "Book a free slot for a patient.",
    "cancel_appointment": "Give an appointment back.",
    "get_appointments": "A patient's past and coming appointments.",
    "send_reminder": "Text or mail a reminder to a patient.",
    "get_patient": "Administrative data of a patient. No clinical notes.",
    "verify_cover": "Ask the insurer whether a patient and service are covered.",
    "submit_claim": "Send a claim to the insurer.",
    "get_claim": "State of a claim with the insurer's remarks.",
    "upload_document": "Attach a document to a claim or patient.",
    "request_refill": "Put a repeat prescription before a clinician.",
    "get_prescription": "A prescription's state and pharmacy.",
    "create_referral": "Write a referral for a clinician to sign.",
    "message_clinician": "Leave a message for a doctor or nurse.",
    "lookup_tariff": "Price and code of a service.",
}

AGENT_TOOLS: dict[str, tuple[str, ...]] = {
    "frontdesk-bot": (
        "find_slots",
        "book_appointment",
        "cancel_appointment",
        "get_appointments",
        "send_reminder",
        "get_patient",
        "message_clinician",
    ),
    "claims-bot": (
        "verify_cover",
        "submit_claim",
        "get_claim",
        "upload_document",
        "lookup_tariff",
        "get_patient",
    ),
    "pharmacy-bot": ("request_refill", "get_prescription", "create_referral", "message_clinician"),
}

MEMORY: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("Needs an interpreter", "semantic", ("health",)),
    ("Claims within ninety days", "procedural", ()),
    ("No clinical advice", "procedural", ("health",)),
    ("Repeat prescriptions need review", "procedural", ("health",)),
    ("Prefers Quayside clinic", "semantic", ()),
    ("Guardian on file", "episodic", ("minor",)),
)

NOTES: tuple[str, ...] = (
    "No clinical advice; refer to a nurse or pharmacist.",
    "Preferred clinic: {clinic}.",
    "Last contact on {past.lc}, about opening hours.",
    "Voice messages only with consent, which is on file.",
    "Repeat prescriptions are signed at noon and at five.",
    "Writes short messages, likes short answers.",
)
