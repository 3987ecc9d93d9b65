"""Conversations in which nothing is wrong."""

from __future__ import annotations

from reviews.demo.script import C, S, T

__all__ = ["SCENARIOS"]

SCENARIOS = (
    S(
        "new-patient",
        "frontdesk-bot",
        "en",
        1,
        T(
            "I've just moved here. Are you taking new patients?",
            "Yes, at {clinic}. For the first visit we plan half an hour; there's a form in the portal about"
            " illnesses and medicines that saves time if you fill it in before.",
        ),
        T(
            "do I need my old records",
            "They help a lot. Your former practice can send them with your signature, and the form for that"
            " is in the portal as well.",
        ),
        T(
            "ok, what's free next week",
            "{doctor} has {d.n} at {office.n} and two more on the day after.",
            C(
                "find_slots",
                {"clinic": "{clinic}", "minutes": 30},
                {"slots": [{"date": "{iso.n}", "at": "{office.n}", "with": "{doctor}"}]},
            ),
        ),
        T(
            "the first one",
            "You have {d.n}, {office.n}, with {doctor}. Welcome to the neighbourhood!",
            C("book_appointment", {"date": "{iso.n}", "at": "{office.n}"}, {"ok": True}),
        ),
        T(
            "does it have step-free access?",
            "It does: there's a ramp at the side entrance, and the lift is wide enough for a wheelchair.",
        ),
    ),
    S(
        "insurer-switch",
        "claims-bot",
        "en",
        1,
        T(
            "I changed to {insurer} on the first. What about the session before?",
            "What happened before the first goes to the old insurer, even if the bill comes later. From then"
            " on it's {insurer}.",
            C(
                "verify_cover",
                {"patient": "{name}", "insurer": "{insurer}"},
                {"active": True, "since": "first of the month"},
            ),
        ),
        T(
            "and a treatment that runs across?",
            "It's split by session date. Authorisations don't carry over, so the new insurer has to "
            "agree again; we can ask on your behalf once there's a plan.",
        ),
    ),
    S(
        "vaccination-day",
        "frontdesk-bot",
        "en",
        1,
        T(
            "flu jab without appointment?",
            "On Wednesdays from two to five at {clinic}, just walk in. It takes ten minutes and then a "
            "quarter of an hour's rest in the hall.",
        ),
        T(
            "can I come with a cold",
            "With a light cold usually yes, with fever no. The nurse decides on the spot.",
        ),
    ),
    S(
        "staff-handout",
        "frontdesk-bot",
        "en",
        1,
        T(
            "how many no-shows did we have last week at {clinic}?",
            "{few} of {some.n}, fewer than the week before. Most were early morning.",
            C(
                "get_appointments",
                {"clinic": "{clinic}", "state": "no-show", "range": "7d"},
                {"no_show": "{few}", "total": "{some.n}"},
            ),
        ),
        T(
            "by doctor?",
            "I'd rather not rank people in a chat; the practice manager has the report by session.",
        ),
    ),
)
