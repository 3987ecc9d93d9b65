"""Skills of the Marlow clinics' agents."""

from __future__ import annotations

from reviews.demo.skills import DemoDecision as D
from reviews.demo.skills import DemoSkill as S

__all__ = ["SKILLS"]

SKILLS = (
    S(
        "preflight",
        "before submit_claim",
        "call verify_cover for the patient and the service, then upload_document",
        "Claims without a check of the cover came back.",
        0.89,
        ("cover-verified", "claim-real"),
        precondition=["verify_cover", "upload_document"],
        decisions=(D("approve", "ben"),),
    ),
    S(
        "guardrail",
        "a patient asks about a dose or a result",
        "never give clinical advice; leave a message with message_clinician",
        "Patients were sent to a clinician each time but once.",
        0.94,
        ("message-doctor", "task-uuid-lab"),
        decisions=(D("approve", "ben"), D("approve", "ana")),
    ),
    S(
        "action",
        "a new patient wants an appointment",
        "call find_slots, offer three, then book_appointment with the one they choose",
        "Five new patients were booked so.",
        0.81,
        ("new-patient",),
        decisions=(D("approve", "ana"),),
    ),
    S(
        "action",
        "a patient wants an earlier appointment",
        "call find_slots, then book_appointment, and only then cancel_appointment for the old one",
        "Nobody was left without an appointment.",
        0.73,
        ("earlier-slot",),
    ),
    S(
        "recovery",
        "the insurer turns a claim down for a missing document",
        "call get_claim for the remark, then upload_document, and submit_claim again",
        "The remark names what is missing.",
        0.68,
        ("claim-state",),
    ),
    S(
        "action",
        "a patient asks for a repeat prescription",
        "call request_refill and say that a clinician signs at noon and at five",
        "Repeat prescriptions need a clinician.",
        0.77,
        ("refill-asked",),
    ),
    S(
        "guardrail",
        "booking for a patient",
        "never call book_appointment before the patient has agreed to a slot",
        "One slot was booked that nobody had asked for.",
        0.6,
        ("fr-rappel", "es-cita"),
    ),
    S(
        "action",
        "a patient asks for the first free slot",
        "call book_appointment with the first slot of find_slots",
        "Quick, and nobody complained.",
        0.48,
        ("de-termin",),
        decisions=(D("reject", "ben", "too_broad"),),
    ),
)
