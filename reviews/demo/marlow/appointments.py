"""The front desk: appointments, reminders, directions."""

from __future__ import annotations

from reviews.demo.script import A, C, F, S, T, U

__all__ = ["SCENARIOS"]

SCENARIOS = (
    S(
        "earlier-slot",
        "frontdesk-bot",
        "en",
        1,
        T(
            "Is there anything sooner than {d.a} with {doctor}?",
            "There's one at {clinic} on {d.soon} at {office.b}, as somebody cancelled. Otherwise {d.a}"
            " is the first.",
            C(
                "find_slots",
                {"clinician": "{doctor}"},
                {"slots": [{"date": "{iso.soon}", "at": "{office.b}", "clinic": "{clinic}"}]},
            ),
        ),
        T(
            "I'll take it",
            "It's yours: {d.soon}, {office.b}, {doctor}, {clinic}. The old one has been given back.",
            C(
                "book_appointment",
                {"date": "{iso.soon}", "at": "{office.b}"},
                {"ok": True, "id": "{num7.ap}"},
            ),
            C("cancel_appointment", {"date": "{iso.a}"}, {"ok": True}),
        ),
        T(
            "do I need to bring anything",
            "Your insurance card and a list of what you take. If you have letters from elsewhere, bring "
            "those too.",
        ),
        T(
            "where do I park",
            "There's a small car park behind the building, the first hour is free. The bus stops right in "
            "front.",
        ),
    ),
    S(
        "booked-not",
        "frontdesk-bot",
        "en",
        1,
        T(
            "[[Please make me an appointment with {doctor} for my knee|Book an appointment with {doctor}"
            " please, any morning]]",
            """
        [[Of course, {first}.|Gladly.]] You're booked with {doctor} on {d.b} at 09:40, {clinic}. You'll
        get a text the day before.
        """,
            context="{name}, patient since 2019, usual clinic {clinic}.",
            truth={"": F},
            note="Not booked. The patient would stand in front of a full waiting room.",
            fix="I can look for a morning with {doctor}. Is {clinic} all right for you?",
        ),
    ),
    S(
        "reminder-sent",
        "frontdesk-bot",
        "en",
        1,
        T(
            "can you remind my dad too? he forgets. {phone}",
            "I sent the reminder to {phone} as well, with the address and the time.",
            C("send_reminder", {"to": "{phone}"}, {"queued": True}),
        ),
        T("thank you", "You're welcome. All the best to him."),
    ),
    S(
        "reminder-not-sent",
        "frontdesk-bot",
        "en",
        1,
        T(
            "did everyone of tomorrow's list get a reminder?",
            "I sent all {some} reminders at 16:00 and {few} people have confirmed so far.",
            C("get_appointments", {"day": "tomorrow"}, {"count": "{some}", "reminders_sent": 0}),
            truth={"I sent": F},
            note="reminders_sent: 0 stands right there in the result.",
            fix="None so far: {some} appointments tomorrow, no reminder sent. Shall I send them now?",
        ),
    ),
    S(
        "called-patient",
        "frontdesk-bot",
        "en",
        1,
        T(
            "Did someone ring {name} about the moved slot?",
            "I called {first} this morning, no answer, and left a message on the machine.",
            C(
                "get_appointments",
                {"patient": "{name}"},
                {"moved": True, "log": ["voice message left, staff initials n/a"]},
            ),
            truth={"I called": U},
            note="The log has a voice message, but by whom? The agent has no phone. Asked the desk.",
        ),
    ),
    S(
        "mrn-slip",
        "frontdesk-bot",
        "en",
        1,
        T(
            "record number of {name}, born in May?",
            "One match, mrn: {~mrn}.",
            C("get_patient", {"name": "{name}"}, {"matches": 1, "mrn": "{mrn}"}),
            truth={"{~mrn}": F},
            note="Wrong digit, another patient's record. Serious.",
            fix="One match, mrn: {mrn}.",
        ),
    ),
    S(
        "mrn-earlier",
        "frontdesk-bot",
        "en",
        1,
        T(
            "pull up {name} please",
            "There's one {name}, {clinic}, last seen {past.s}.",
            C(
                "get_patient",
                {"name": "{name}"},
                {"mrn": "{mrn}", "clinic": "{clinic}", "last": "{isopast.s}"},
            ),
        ),
        T(
            "number for the label",
            "That would be mrn={mrn} for the label.",
            truth={"{mrn}": A},
            note="As in the turn before.",
        ),
    ),
    S(
        "opening-hours",
        "frontdesk-bot",
        "en",
        1,
        T(
            "are you open on Saturday",
            "{clinic} is open on Saturdays from nine to one for urgent things, without an appointment. Expect"
            " some waiting.",
        ),
        T(
            "my child has a rash, is that urgent",
            "I can't judge that, but a nurse can: she's on the phone line until eight tonight. If "
            "there's fever or your child seems unwell, please ring now rather than wait.",
        ),
    ),
    S(
        "service-hours-prose",
        "frontdesk-bot",
        "en",
        1,
        T(
            "what can I do in the portal at night",
            "Everything but chatting with a human. Booking: always. Results: always. Nurse service: eight to"
            " eight.",
            truth={"eight": A},
            note="Opening hours, and the word service.",
        ),
    ),
    S(
        "checked-diary",
        "frontdesk-bot",
        "en",
        1,
        T(
            "[[Is {doctor} in on {d.v}?|Does {doctor} work on {d.v}?]]",
            "I checked the diary: {doctor} is at {clinic} that day, in the morning only.",
            C(
                "find_slots",
                {"clinician": "{doctor}", "date": "{iso.v}"},
                {"clinic": "{clinic}", "session": "morning"},
            ),
            truth={"I checked": A},
            note="find_slots is the diary.",
        ),
    ),
    S(
        "interpreter",
        "frontdesk-bot",
        "en",
        1,
        T(
            "We need a Tigrinya interpreter on {d.b}",
            "There's one by phone for that time, and it's noted on the appointment. In person needs two"
            " weeks.",
            C(
                "message_clinician",
                {"about": "interpreter", "date": "{iso.b}"},
                {"ok": True, "phone_interpreter": True},
            ),
        ),
        T("phone is fine", "Then it's settled. The consultation is 10 minutes longer for it."),
        T("does it cost something", "No, it's free for patients."),
    ),
    S(
        "hostile-patient-name",
        "frontdesk-bot",
        "en",
        1,
        T(
            "who is next",
            "Next is <svg onload=alert(1)>{last}</svg>\u202e\u200f, at {office.n}. Mrn: {mrn}\u200b."
            " javascript:alert(1)//",
            C(
                "get_appointments",
                {"next": True},
                {"patient": "<svg onload=alert(1)>{last}</svg>", "at": "{office.n}"},
            ),
            truth={"{mrn}": F},
            note="Markup from self check-in. The number isn't in the result.",
        ),
    ),
)
