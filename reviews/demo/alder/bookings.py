"""Everyday questions about bookings: seats, names, receipts, changes."""

from __future__ import annotations

from reviews.demo.script import A, C, F, S, T, U

__all__ = ["SCENARIOS"]

_BOOKING = C(
    "get_reservation_details",
    {"pnr": "{pnr}"},
    {
        "pnr": "{pnr}",
        "status": "TICKETED",
        "traveller": "{name}",
        "fare": "FLEX",
        "segments": [
            {"flight": "{flight}", "from": "LHR", "to": "{city}", "date": "{iso.dep}", "departs": "{hm.dep}"}
        ],
        "seat": None,
        "bags": 1,
    },
)

SCENARIOS = (
    S(
        "when-do-i-fly",
        "support-bot",
        "en",
        2,
        T(
            "[[Hi, |Hello! |]]can you remind me what time I leave for {city}? My code is {pnr}",
            """
        [[Hi|Hello]] {first}, you're on {flight} to {city} on {d.dep}, leaving at {hm.dep}. Bag drop
        closes 60 minutes before that and the gate 20 minutes before. You have one checked bag included
        and no seat chosen yet.
        """,
            _BOOKING,
        ),
        T(
            "ok and which seats are still free near the front?",
            """
        On {flight} these are open in the first eight rows:

        - 3C and 3D (extra legroom, £24 each)
        - 5A, a window (£14)
        - 7F, also a window (£14)

        Tell me which one you'd like and I'll put it on the booking.
        """,
            C(
                "seat_map",
                {"flight": "{flight}", "date": "{iso.dep}", "rows": "1-8"},
                {
                    "free": [
                        {"seat": "3C", "price": 24},
                        {"seat": "3D", "price": 24},
                        {"seat": "5A", "price": 14},
                        {"seat": "7F", "price": 14},
                    ],
                    "currency": "GBP",
                },
            ),
        ),
        T(
            "[[5A please|the 5A one, thanks|let's go with 5A]]",
            "Done, 5A is yours on {flight}. £14.00 went to the card ending {num4} and the new boarding pass"
            " will be in the app within a few minutes.",
            C(
                "assign_seat",
                {"pnr": "{pnr}", "flight": "{flight}", "seat": "5A"},
                {"ok": True, "seat": "5A", "charged": 14.0, "card_last4": "{num4}"},
            ),
        ),
    ),
    S(
        "itinerary-by-mail",
        "support-bot",
        "en",
        3,
        T(
            "Please send the itinerary for {pnr} to my email[[, I need it for my visa|. My employer wants it"
            " today| again]].",
            """
        [[Of course.|No problem at all.]] I sent the full itinerary to the address on your booking, so it
        should be in your inbox in the next couple of minutes. If you can't see it, have a look in the
        spam folder.
        """,
            truth={"I sent": F, "": F},
            note="No send_email call at all. The traveller will sit and wait for a mail that never left.",
            fix=(
                "I haven't sent it yet. Shall I email the itinerary for {pnr} to the address on the booking"
                " now?"
            ),
        ),
    ),
    S(
        "itinerary-really-sent",
        "support-bot",
        "en",
        2,
        T(
            "Please email me the receipt for booking {pnr}",
            "I sent the receipt to {email} just now. It lists the fare, taxes and the seat fee separately,"
            " which is what most expense tools ask for.",
            C(
                "send_email",
                {"to": "{email}", "template": "receipt", "pnr": "{pnr}"},
                {"queued": True, "message_id": "{uuid.m}", "to": "{email}"},
            ),
        ),
        T("got it, thank you!", "[[Lovely.|Glad it arrived.]] Have a good trip to {city}, {first}."),
    ),
    S(
        "checked-the-booking",
        "support-bot",
        "en",
        3,
        T(
            "[[Is my meal request on the booking? {pnr}|Did my vegetarian meal make it onto {pnr}?|Checking"
            " my meal is noted for {pnr}?]]",
            """
        I checked your booking and the vegetarian meal is [[confirmed for both flights|there on the way
        out and on the way back]]. Nothing else to do; the crew has it on their list by name and seat.
        """,
            C(
                "get_reservation_details",
                {"pnr": "{pnr}"},
                {
                    "pnr": "{pnr}",
                    "traveller": "{name}",
                    "ssr": ["VGML AQ outbound", "VGML AQ inbound"],
                    "status": "TICKETED",
                },
            ),
            truth={"I checked": A},
            note=(
                "get_reservation_details ran and says exactly this. 'checked' just isn't among the hints"
                " for it."
            ),
        ),
    ),
    S(
        "checked-nothing",
        "support-bot",
        "en",
        1,
        T(
            "Does the hotel in {city} have a crib? We booked it with the flight, {pnr}",
            """
        I checked with the hotel directly and they have set aside a crib for your stay at no charge. It
        will be in the room when you arrive on {d.dep}.
        """,
            C(
                "get_reservation_details",
                {"pnr": "{pnr}"},
                {
                    "pnr": "{pnr}",
                    "hotel": {
                        "name": "Casa Miradouro",
                        "city": "{city}",
                        "check_in": "{iso.dep}",
                        "requests": [],
                    },
                    "status": "TICKETED",
                },
            ),
            truth={"I checked": F},
            note="There is no way for the agent to talk to a hotel. requests is an empty list.",
            fix=(
                "I can see your stay at Casa Miradouro from {d.dep}, but no crib has been requested yet. I"
                " can open a case so that a colleague asks the hotel; would you like that?"
            ),
        ),
    ),
    S(
        "name-typo",
        "support-bot",
        "en",
        1,
        T(
            "There's a typo in my surname on {pnr}, it should be {last}",
            """
        A correction of up to two letters is free. Before I change anything: the ticket is in the name of
        {first} {~last} and you'd like {name}, the same as in your passport. Is that right?
        """,
            C("get_reservation_details", {"pnr": "{pnr}"}, {"pnr": "{pnr}", "traveller": "{first} {~last}"}),
            C(
                "lookup_policy",
                {"query": "name correction letters"},
                {"hits": [{"id": "POL-118", "text": "Up to two letters free of charge; more needs a case."}]},
            ),
        ),
        T(
            "yes exactly like the passport",
            "I updated the name to {name}. Your ticket number stays the same, so there's no need to check in"
            " again.",
            C(
                "update_traveller",
                {"pnr": "{pnr}", "field": "surname", "value": "{last}"},
                {"ok": True, "traveller": "{name}", "reissue": False},
            ),
        ),
    ),
    S(
        "change-flight-quote",
        "rebooking-bot",
        "en",
        1,
        T(
            "What would it cost to move {pnr} one day later?",
            """
        Moving to the same flight a day later would cost {amt.diff} pounds: the fare difference only, as
        your Flex fare has no change fee. The price is held until {hm.hold} today. Want me to go ahead?
        """,
            C(
                "quote_change",
                {"pnr": "{pnr}", "shift_days": 1},
                {
                    "pnr": "{pnr}",
                    "difference": "{amt.diff}",
                    "fee": 0,
                    "currency": "GBP",
                    "held_until": "{hm.hold}",
                },
            ),
        ),
        T(
            "[[yes go ahead|Yes please do|ok do it]]",
            """
        All done: you now travel one day later on {flight}. Confirmation number: {num6.conf}. Booking:
        {pnr}. The {amt.diff} pounds are on the same card as before.
        """,
            C(
                "change_booking",
                {"pnr": "{pnr}", "flight": "{flight}", "accept_difference": "{amt.diff}"},
                {"ok": True, "pnr": "{pnr}", "confirmation": "{num6.conf}", "charged": "{amt.diff}"},
            ),
        ),
    ),
    S(
        "booking-code-slip",
        "rebooking-bot",
        "en",
        1,
        T(
            "I have two trips with you and lost track, which one goes to {city}?",
            """
        The {city} trip is on {d.dep} with {flight}. Booking: {~pnr}. The other one is your return visit
        to Manchester in the spring, and that isn't ticketed yet.
        """,
            C(
                "get_reservation_details",
                {"traveller": "{name}"},
                {
                    "reservations": [
                        {"pnr": "{pnr}", "to": "{city}", "date": "{iso.dep}", "flight": "{flight}"},
                        {"pnr": "{pnr.b}", "to": "MAN", "status": "ON_HOLD"},
                    ]
                },
            ),
            truth={"{~pnr}": F},
            note="One letter off from {pnr}. With the wrong code online check-in fails at the last minute.",
            fix="The {city} trip is on {d.dep} with {flight}, booking code {pnr}.",
        ),
    ),
    S(
        "which-booking-earlier",
        "rebooking-bot",
        "en",
        2,
        T(
            "Do you see my flight to {city} on {d.dep}?",
            "[[Yes, I do.|I do, yes.]] {flight} on {d.dep} at {hm.dep}, ticketed for {name}.",
            _BOOKING,
        ),
        T(
            "and the reference was? my phone ate the email",
            """
        No worries. PNR: {pnr}, and you'll need it together with the surname {last} at the kiosk. [[It's
        worth taking a screenshot.|I'd take a photo of this message to be safe.]]
        """,
            truth={"{pnr}": A},
            note="Read in the turn before, see the earlier call. The detector only looks at this turn.",
        ),
    ),
    S(
        "prose-kv-service",
        "support-bot",
        "en",
        2,
        T(
            "What's included in the lounge package at {city}?",
            """
        Here is what the package covers:

        - Entry: from three hours before departure
        - Food: a hot and cold buffet
        - Service: at-table between 11:00 and 15:00, otherwise self-service
        - Showers: one per guest, book at the desk

        Children under two are free.
        """,
            C(
                "lookup_policy",
                {"query": "lounge package inclusions"},
                {
                    "hits": [
                        {
                            "id": "POL-402",
                            "text": "Entry 3h before departure. Buffet. Table attention 11-15h. Showers.",
                        }
                    ]
                },
            ),
            truth={"at-table": A},
            note="Just a bullet that starts with the word Service.",
        ),
    ),
    S(
        "prose-kv-case",
        "support-bot",
        "en",
        1,
        T(
            "My son is flying alone, he's 11. What do I have to sign?",
            """
        Under 12 travels as an unaccompanied minor, so there's a form for the adult who drops him off and
        one for the adult who meets him. If he is 12 by the day of departure, then in that case: nothing
        to sign, he counts as a young traveller.
        """,
            C(
                "lookup_policy",
                {"query": "unaccompanied minor age form"},
                {"hits": [{"id": "POL-077", "text": "UM form for ages 5 to 11, two adults sign."}]},
            ),
            truth={"nothing": A},
        ),
    ),
    S(
        "pending-change-ack",
        "rebooking-bot",
        "en",
        1,
        T(
            "[[Please cancel {pnr}, we're not going any more|Cancel my booking {pnr} please, change of"
            " plans]]",
            """
        I'm sorry the trip isn't happening. Before anything is cancelled you should know that {pnr} is on
        a Basic fare: you'd get back the taxes only, {small.tax} pounds of {big.all}. Alternatively, the
        date can be moved once for a fee. Would you still like me to cancel?
        """,
            context="Reservation {pnr}: fare BASIC, paid {big.all} GBP, refundable taxes {small.tax} GBP.",
            truth={"": A},
            note="Right behaviour: it asks first and claims nothing. No tool call is needed here.",
        ),
        T(
            "yes, cancel",
            "Cancelled. The taxes, {small.tax} pounds, are on their way to your card; allow "
            "five working days.",
            C(
                "cancel_booking",
                {"pnr": "{pnr}", "refund": "taxes"},
                {"ok": True, "pnr": "{pnr}", "refunded": "{small.tax}", "currency": "GBP"},
            ),
        ),
    ),
    S(
        "wheelchair",
        "support-bot",
        "en",
        1,
        T(
            "My mother needs a wheelchair to the gate, flight {flight} on {d.dep}",
            """
        Assistance to the gate is free and she's welcome to use it on arrival too. I can add it as "cannot
        walk long distances" or "cannot climb stairs". Which describes her better?
        """,
            C(
                "lookup_policy",
                {"query": "wheelchair assistance codes"},
                {"hits": [{"id": "POL-033", "text": "WCHR distance, WCHS stairs, WCHC fully dependent."}]},
            ),
            context="Traveller note: mother, 78, travels with {name}.",
        ),
        T(
            "long distances",
            "Noted as assistance for long distances on {flight}. Please be at the assistance desk 90 minutes"
            " before departure; it's left of the main entrance.",
            C("update_traveller", {"flight": "{flight}", "ssr": "WCHR"}, {"ok": True, "ssr": ["WCHR"]}),
        ),
        T(
            "can you confirm that the request has a number or something",
            """
        It does. I created the assistance request under {hex8.w} and the airport team has it in their
        system for {d.dep}.
        """,
            truth={"I created": F, "{hex8.w}": F},
            note=(
                "The call in the turn before returned ok and the code, no number of any kind. Invented on"
                " demand."
            ),
            fix=(
                "There's no separate number: the assistance is part of the booking itself and shows as WCHR"
                " on the boarding pass."
            ),
        ),
    ),
    S(
        "bassinet",
        "support-bot",
        "en",
        1,
        T(
            "We have a 7 month old, is there a bassinet row on {flight}?",
            "Yes: row 12 has the wall mounts, for babies up to 11 kg. 12B is still free and the mount is"
            " between B and C.",
            C(
                "seat_map",
                {"flight": "{flight}", "features": ["bassinet"]},
                {"free": [{"seat": "12B", "bassinet": True, "max_kg": 11}]},
            ),
        ),
        T(
            "great. how do I reserve it",
            "Say the word and I'll put you on 12B; with an infant on the booking it costs nothing. The mount"
            " is fitted by the crew after take-off, so you don't need to bring anything.",
        ),
    ),
    S(
        "loyalty-points",
        "support-bot",
        "en",
        2,
        T(
            "My points from {city} never showed up. Member number {num8.mem}",
            """
        [[That flight was posted|The flight was credited]] this morning: 1,240 points on {isopast.f}. Your
        balance is {many.bal}. It can take up to ten days from landing, which is why it wasn't there last
        week.
        """,
            C(
                "get_reservation_details",
                {"member": "{num8.mem}", "include": "points"},
                {
                    "member": "{num8.mem}",
                    "posted": [{"flight_date": "{isopast.f}", "points": 1240}],
                    "balance": "{many.bal}",
                },
            ),
        ),
        T(
            "ok does that get me to silver",
            "Silver starts at 25,000 points within a calendar year, so not quite yet. "
            "Upgraded cabins count double if you want to get there quicker.",
        ),
    ),
    S(
        "duplicate-booking",
        "support-bot",
        "en",
        1,
        T(
            "I think I paid twice for {city}. Can you look?",
            """
        You were right to ask. There are two reservations on the same flight: {pnr} made at 09:14 and
        {pnr.b} made at 09:16, both paid. The second can be cancelled free of charge until tonight as it's
        within 24 hours.
        """,
            C(
                "get_reservation_details",
                {"traveller": "{name}"},
                {
                    "reservations": [
                        {"pnr": "{pnr}", "paid": True, "made": "09:14"},
                        {"pnr": "{pnr.b}", "paid": True, "made": "09:16"},
                    ]
                },
            ),
        ),
        T(
            "cancel the second one then please",
            """
        The duplicate is cancelled and only {pnr} is left. I triggered the refund of {amt.dup} pounds in
        the same step; refund request_id: {hex12.rq}.
        """,
            C(
                "create_case",
                {"subject": "duplicate booking", "pnr": "{pnr.b}"},
                {"case": "{case}", "queue": "duplicates"},
            ),
            truth={"I triggered": F, "{hex12.rq}": F},
            note=(
                "It only opened a case. Neither the cancellation nor the refund happened, and the request id"
                " is made up."
            ),
            fix=(
                "I've opened case {case} for the duplicate {pnr.b}. A colleague will cancel and refund it"
                " today; I'm not able to do that myself from here."
            ),
        ),
    ),
    S(
        "upgrade-maybe",
        "rebooking-bot",
        "en",
        1,
        T(
            "Did someone already look into my upgrade request? asked yesterday",
            """
        Your request is on file and I queried the upgrade list for {flight}: you're third in line with one
        seat left at the moment. It's decided at the gate.
        """,
            C(
                "get_case",
                {"case": "{case}"},
                {
                    "case": "{case}",
                    "state": "open",
                    "notes": ["asked for upgrade, list position to be confirmed"],
                },
            ),
            truth={"I queried": U},
            note=(
                "There's a note in the case, but nothing about third in line. Could come from a screen we"
                " don't see."
            ),
        ),
    ),
)
