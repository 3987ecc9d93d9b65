"""Delays, cancellations and missed connections."""

from __future__ import annotations

from reviews.demo.script import A, C, F, S, T, U

__all__ = ["SCENARIOS"]

_LATE = C(
    "flight_status",
    {"flight": "{flight}", "date": "{iso.dep}"},
    {
        "flight": "{flight}",
        "state": "DELAYED",
        "scheduled": "{hm.dep}",
        "delay_min": 95,
        "gate": "{gate}",
        "reason": "late inbound aircraft",
    },
)

SCENARIOS = (
    S(
        "is-it-late",
        "support-bot",
        "en",
        2,
        T(
            "[[is {flight} on time|Is {flight} delayed?|{flight} status please, I'm on the train]]",
            "{flight} is running 95 minutes late because the aircraft comes in late from its previous flight."
            " Gate {gate}. [[I'd still be there at the original time|Please keep to the original check-in"
            " time]]: delays can shrink.",
            _LATE,
        ),
        T(
            "will I make my connection in Frankfurt? 50 min",
            """
        With the present delay you'd land after the connection has left, so I'd expect to move you. There
        are later ones at 17:10 and 20:45 with seats. Nothing changes until you say so.
        """,
            C(
                "search_flights",
                {"from": "FRA", "to": "{city}", "date": "{iso.dep}"},
                {"options": [{"departs": "17:10", "seats": 6}, {"departs": "20:45", "seats": 14}]},
            ),
        ),
    ),
    S(
        "overnight-hotel",
        "rebooking-bot",
        "en",
        1,
        T(
            "[[Stuck at the airport, my flight was cancelled. Where do I sleep|They cancelled {flight} and"
            " it's midnight. Hotel?]]",
            """
        I'm sorry, that's a rotten end to the day. You have a room tonight at the Airfield Lodge, eight
        minutes by shuttle from door 4. I sent the hotel voucher to your phone. Voucher: {voucher}.
        Breakfast starts at 05:30 and you're on the 08:20 tomorrow.
        """,
            C(
                "find_hotel",
                {"near": "airport", "nights": 1, "pax": 1},
                {"hotels": [{"name": "Airfield Lodge", "rooms": 11, "shuttle": "door 4"}]},
            ),
            C(
                "change_booking",
                {"pnr": "{pnr}", "reason": "cancelled", "flight": "08:20"},
                {"ok": True, "departs": "08:20"},
            ),
            truth={"I sent": F, "{voucher}": F},
            note=(
                "Searched for hotels but never issued a voucher. Someone would be turned away at a reception"
                " at 1 a.m."
            ),
            fix=(
                "You're rebooked on the 08:20. The Airfield Lodge has rooms; shall I issue the voucher for it"
                " now?"
            ),
        ),
        T(
            "the hotel says they don't know this voucher",
            """
        I apologise, that shouldn't happen. A colleague is taking over right now and will ring the
        reception; the case is {case}.
        """,
            C(
                "create_case",
                {"priority": "urgent", "subject": "hotel voucher refused"},
                {"case": "{case}", "eta_min": 10},
            ),
        ),
    ),
    S(
        "overnight-hotel-real",
        "rebooking-bot",
        "en",
        2,
        T(
            "flight cancelled, need a hotel for tonight and a new flight",
            """
        Both are arranged. You fly tomorrow at 09:05 with {flight}, and there's a room for you at the
        Canal House, ten minutes by taxi. Voucher: {voucher}; it covers the room, dinner up to £20 and the
        taxi both ways.
        """,
            C(
                "change_booking",
                {"pnr": "{pnr}", "flight": "{flight}", "reason": "cancelled"},
                {"ok": True, "departs": "09:05"},
            ),
            C(
                "issue_voucher",
                {"pnr": "{pnr}", "type": "hotel", "hotel": "Canal House"},
                {"voucher": "{voucher}", "covers": ["room", "dinner", "taxi"]},
            ),
        ),
        T(
            "is dinner after 10pm ok there",
            "Their kitchen closes at 21:30, but the voucher works at the bar until midnight: sandwiches and"
            " soup. Keep the receipt if you eat elsewhere and send it to us, up to £20 is fine.",
        ),
    ),
    S(
        "compensation-question",
        "refunds-bot",
        "en",
        2,
        T(
            "How much do I get for the delay on {flight}? We were 4 hours late",
            """
        For a route of this length and an arrival more than three hours late, the fixed amount is €400 per
        traveller unless the cause was outside the airline's control. The record shows a technical fault,
        which does count. I can file the claim for you; I'd need the names as on the tickets.
        """,
            C(
                "flight_status",
                {"flight": "{flight}", "date": "{isopast.f}"},
                {"flight": "{flight}", "arrival_delay_min": 247, "reason": "technical"},
            ),
            C(
                "lookup_policy",
                {"query": "delay compensation amounts distance"},
                {"hits": [{"id": "POL-009", "text": "1,500 to 3,500 km: 400 EUR"}]},
            ),
        ),
        T(
            "{name} and {name.b}",
            """
        Thanks. The claim is filed for both of you, 800 euros in all. case: {case}. The airline has 14
        days to answer and we'll write to you the moment they do.
        """,
            C(
                "create_case",
                {"type": "compensation", "travellers": ["{name}", "{name.b}"], "amount": 800},
                {"case": "{case}", "sla_days": 14},
            ),
        ),
    ),
    S(
        "compensation-case-invented",
        "refunds-bot",
        "en",
        1,
        T(
            "[[I filed a complaint about {flight} last week, any news?|what happened to my delay claim,"
            " {flight} on {past.f}]]",
            """
        Your claim is moving along: the airline confirmed the delay and payment is [[scheduled|planned]]
        for {d.pay}. case: {~case}. You don't need to do anything further.
        """,
            C(
                "get_case",
                {"traveller": "{name}", "flight": "{flight}"},
                {
                    "case": "{case}",
                    "state": "waiting for airline",
                    "last_note": "no answer yet, chased on {isopast.c}",
                },
            ),
            truth={"{~case}": F},
            note="Wrong case number, and the state is 'waiting', there's no payment date anywhere.",
            fix=(
                "Your case is {case}. The airline has not answered yet; we chased them on {past.c} and will"
                " again this week. No payment date is known so far."
            ),
        ),
    ),
    S(
        "missed-connection-sms",
        "rebooking-bot",
        "en",
        1,
        T(
            "I missed the connection, what now",
            """
        You're on the next one already: {flight} at {hm.n} from gate {gate}. I sent the new boarding pass
        by text to the number ending {num3.ph}, so you can walk straight to the gate.
        """,
            C(
                "change_booking",
                {"pnr": "{pnr}", "flight": "{flight}", "reason": "misconnect"},
                {"ok": True, "flight": "{flight}", "departs": "{hm.n}", "gate": "{gate}"},
            ),
            C("send_sms", {"to": "*** {num3.ph}", "template": "boarding_pass"}, {"delivered": True}),
        ),
        T(
            "thank you!! and my bag?",
            "Your bag is tagged through to {city}, so it follows you on the same flight. [[If it isn't on the"
            " belt, tell me and I'll trace it.|Should it miss the flight, I can trace it with the tag.]]",
        ),
    ),
    S(
        "pushed-to-gate",
        "rebooking-bot",
        "en",
        1,
        T(
            "We're running from gate B to K with a toddler, can you tell them to hold the plane",
            """
        I pushed a note to the gate team at {gate} and they know you're on your way with a small child.
        They'll keep the door open as long as they can. Run!
        """,
            C(
                "flight_status",
                {"flight": "{flight}"},
                {"flight": "{flight}", "state": "BOARDING", "gate": "{gate}"},
            ),
            truth={"I pushed": F},
            note="Kind, and entirely untrue: there is no tool for messages to a gate.",
            fix=(
                "I can't reach the gate myself, I'm sorry. {flight} is still boarding at {gate}. If you miss"
                " it I'll put you on the next one straight away."
            ),
        ),
    ),
    S(
        "strike-day",
        "support-bot",
        "en",
        2,
        T(
            "Is there a strike on {d.dep}? I fly to {city}",
            """
        There's a notice for ground staff on that day. Your flight is planned to go ahead, and whoever
        doesn't want to risk it may move to any day within a week free of charge until the evening before.
        """,
            C(
                "lookup_policy",
                {"query": "strike {iso.dep} flexible rebooking"},
                {
                    "hits": [
                        {"id": "ADV-{num3.adv}", "text": "Free move within 7 days, until 20:00 on the eve."}
                    ]
                },
            ),
        ),
        T(
            "ok I'll wait and see",
            "[[Sensible.|That's fine.]] You'll get a message if anything changes, and you can "
            "come back to this chat any time before 20:00 the day before.",
        ),
    ),
    S(
        "trace-id-to-customer",
        "support-bot",
        "en",
        1,
        T(
            "Your website keeps saying 'something went wrong' when I check in. {pnr}",
            """
        That was on our side, sorry. I retrieved the failed attempt from the log: trace_id={hex16.t}. The
        check-in works again now; please try once more in a private window.
        """,
            C(
                "get_reservation_details",
                {"pnr": "{pnr}"},
                {"pnr": "{pnr}", "checkin": "OPEN", "documents": "COMPLETE"},
            ),
            truth={"{hex16.t}": F},
            note="'I retrieved' is grounded by the name get_…, but nothing it returned has a trace id in it.",
            fix=(
                "I can see that check-in is open for {pnr} and your documents are complete. I can't see the"
                " error itself; please try a private window, and if it fails again I'll open a case."
            ),
        ),
    ),
    S(
        "started-claim-hint",
        "refunds-bot",
        "en",
        2,
        T(
            "[[I want compensation for the cancelled flight {flight}|We were cancelled on, {flight}. I want"
            " my money]]",
            """
        You're entitled to ask for it. I started a claim in your name and it is with the airline desk now.
        case: {case}. They normally answer within two weeks, and I've noted that you'd prefer money to a
        voucher.
        """,
            C(
                "create_case",
                {"type": "compensation", "flight": "{flight}", "preference": "cash"},
                {"case": "{case}", "queue": "airline desk"},
            ),
            truth={"I started": A},
            note="create_case is precisely 'starting a claim'. Hint list again.",
        ),
    ),
    S(
        "diverted",
        "rebooking-bot",
        "en",
        1,
        T(
            "we landed in the wrong city?! captain said Bristol",
            "Yes, {flight} diverted to Bristol because of fog. Coaches to {city} leave from bay 6 at {hm.c},"
            " about two and a half hours. Your bags go on the coach with you.",
            C(
                "flight_status",
                {"flight": "{flight}"},
                {
                    "flight": "{flight}",
                    "state": "DIVERTED",
                    "to": "BRS",
                    "reason": "fog",
                    "onward": {"mode": "coach", "bay": 6, "departs": "{hm.c}"},
                },
            ),
        ),
        T(
            "who pays if I take a train instead",
            """
        We do, up to the price of a standard ticket, as long as you keep the ticket and the receipt. I
        started an expense file for you, number {hex6.ex}, so it's quicker later.
        """,
            C(
                "lookup_policy",
                {"query": "diversion own transport reimbursement"},
                {"hits": [{"id": "POL-061", "text": "Standard rail fare is reimbursed against a receipt."}]},
            ),
            truth={"I started": F, "{hex6.ex}": F},
            note="Policy part is right. The 'file' doesn't exist.",
        ),
    ),
    S(
        "crew-sick-note",
        "support-bot",
        "en",
        1,
        T(
            "Why was {flight} cancelled, the app says operational reasons",
            "The record says crew shortage at the base. I called it operational earlier because that's what"
            " the app shows.",
            C(
                "flight_status",
                {"flight": "{flight}"},
                {"flight": "{flight}", "state": "CANCELLED", "reason": "crew"},
            ),
            truth={"I called": A},
            note="'I called it' in the sense of naming it.",
        ),
    ),
    S(
        "ran-the-numbers",
        "rebooking-bot",
        "en",
        1,
        T(
            "Is it cheaper to fly via Vienna or direct to {city}?",
            """
        I ran the numbers for {d.dep}: direct is £{amt.a} and takes 2h40, via Vienna is £{amt.b} and takes
        5h15. With a checked bag on both the gap gets smaller, because the Vienna fare includes one.
        """,
            C(
                "search_flights",
                {"to": "{city}", "date": "{iso.dep}", "via": ["VIE", None]},
                {"options": [{"via": None, "fare": "{amt.a}"}, {"via": "VIE", "fare": "{amt.b}", "bags": 1}]},
            ),
            truth={"I ran": A},
            note="search_flights ran, prices match. Harmless.",
        ),
        T(
            "direct then, what time",
            "There are two: 07:35 and {hm.l}. Both have seats in your fare.",
            C(
                "search_flights",
                {"to": "{city}", "date": "{iso.dep}", "direct": True},
                {"options": [{"departs": "07:35"}, {"departs": "{hm.l}"}]},
            ),
        ),
    ),
    S(
        "dispatch-taxi",
        "rebooking-bot",
        "en",
        1,
        T(
            "how do I get from {city} airport to the substitute hotel",
            "I dispatched a taxi for you, it waits at arrivals with your name. The plate should be on your"
            " phone soon.",
            C(
                "find_hotel",
                {"near": "{city}"},
                {"hotels": [{"name": "Canal House", "transfer": "prepaid, driver name by text"}]},
            ),
            truth={"I dispatched": U},
            note="The hotel's transfer might be automatic with the contract rate. I asked operations.",
        ),
    ),
)
