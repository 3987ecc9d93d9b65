"""Bags: allowances, delays, sports equipment, lost things."""

from __future__ import annotations

from reviews.demo.script import A, C, F, S, T

__all__ = ["SCENARIOS"]

SCENARIOS = (
    S(
        "bag-delayed",
        "support-bot",
        "en",
        2,
        T(
            "My suitcase didn't arrive in {city}, file {num8.f}",
            """
        I'm sorry. It was last scanned at {hm.s} in Amsterdam and is booked on this evening's flight to
        {city}. The courier rings you before coming to the hotel. Until it's there you may buy essentials
        up to £60; keep the receipts.
        """,
            C(
                "track_baggage",
                {"file": "{num8.f}"},
                {
                    "file": "{num8.f}",
                    "last_scan": {"at": "{hm.s}", "station": "AMS"},
                    "next": "evening flight",
                    "delivery": "courier",
                },
            ),
        ),
        T(
            "what counts as essentials",
            "Toiletries, underwear, a shirt, a charger: what you'd need for a night or two. If it's for an"
            " occasion, like a wedding, tell us first and there's more leeway.",
        ),
    ),
    S(
        "bag-found-fake",
        "support-bot",
        "en",
        2,
        T(
            "[[Any news of my bag? Still at the hotel without clothes|bag still missing, day 3]]",
            """
        [[Good news, {first}!|Some good news at last.]] Your bag has been found and I dispatched it with a
        courier this morning. Tracking task_id: {hex10.trk}. It should reach you [[before 18:00|by early
        evening]].
        """,
            C("track_baggage", {"file": "{num8.f}"}, None, "timeout: tracing service did not answer in 30 s"),
            truth={"I dispatched": F, "{hex10.trk}": F},
            note="The tracing call TIMED OUT. Everything after 'good news' is invention.",
            fix=(
                "The tracing system isn't answering at the moment, so I can't see where your bag is. I'll try"
                " again, and if it stays silent I'll hand you to a colleague who can call the station."
            ),
        ),
    ),
    S(
        "bag-ref-slip",
        "support-bot",
        "en",
        1,
        T(
            "what's my file reference again, I'm at the desk",
            "Your delayed bag file is case: {~case}, opened on {past.b}. Show it at the desk with your"
            " boarding pass.",
            C(
                "get_case",
                {"traveller": "{name}"},
                {"case": "{case}", "opened": "{isopast.b}", "type": "bag delay"},
            ),
            truth={"{~case}": F},
            note="Digit changed. They'll pull up somebody else's case at the desk.",
            fix="Your delayed bag file is {case}, opened on {past.b}.",
        ),
    ),
    S(
        "add-bag",
        "support-bot",
        "en",
        2,
        T(
            "[[Please add a 23 kg bag to {pnr}|Add one checked bag to {pnr} please]]",
            "[[Added:|There you go:]] one bag up to 23 kg on both flights of {pnr} for £{small.bag}. You can"
            " drop it from two hours before departure.",
            C(
                "add_baggage",
                {"pnr": "{pnr}", "pieces": 1, "kg": 23},
                {"ok": True, "price": "{small.bag}", "both_ways": True},
            ),
        ),
        T(
            "and if it weighs 25?",
            "Two kilos over costs £12 a kilo at the desk. Cheaper to move something into your "
            "hand luggage, or to buy the 32 kg upgrade for £18 beforehand.",
        ),
    ),
    S(
        "add-bag-not-done",
        "support-bot",
        "en",
        1,
        T(
            "Add a second suitcase to {pnr} please, for the way back only",
            """
        Your second suitcase is on the return flight now. The price was £{small.b} and your updated
        confirmation is [[on its way|coming by mail]].
        """,
            context="Reservation {pnr}: {name}, outbound {flight}, one bag included, no extras bought.",
            truth={"": F},
            note="Nothing was called. She'll be charged the airport rate.",
            fix=(
                "I haven't added it yet: a second suitcase on the return flight costs £{small.b}. Shall I go"
                " ahead?"
            ),
        ),
    ),
    S(
        "ski-bag",
        "support-bot",
        "en",
        2,
        T(
            "Are skis a bag or extra?",
            "Skis and boots together count as one piece of sports equipment, £{small.s} each way up to 20 kg."
            " They don't use up your normal bag.",
            C(
                "lookup_policy",
                {"query": "skis sports equipment price"},
                {"hits": [{"id": "POL-210", "text": "Ski set one piece, 20 kg", "price": "{small.s}"}]},
            ),
        ),
        T(
            "Perfect. two sets on {pnr} please, add them",
            "Two ski sets are on {pnr} now, {amt.tot} pounds in total. Please bring them to the oversize"
            " belt.",
            C(
                "add_baggage",
                {"pnr": "{pnr}", "type": "ski", "pieces": 2},
                {"ok": True, "total": "{amt.tot}"},
            ),
        ),
    ),
    S(
        "pet-in-cabin",
        "support-bot",
        "en",
        1,
        T(
            "Can my dachshund come into the cabin?",
            "If he and the carrier together weigh up to 8 kg, yes. The carrier has to fit under the seat: 40"
            " by 30 by 23 cm. There are four pet places on each flight, so it's worth booking soon.",
            C(
                "lookup_policy",
                {"query": "pet in cabin weight"},
                {"hits": [{"id": "POL-145", "text": "8 kg incl. carrier, 40x30x23, 4 per flight"}]},
            ),
        ),
    ),
    S(
        "left-on-board",
        "support-bot",
        "en",
        1,
        T(
            "I left my tablet in seat {seat} on {flight} today",
            """
        I called the cleaning crew of {flight} and they found a tablet in the pocket of {seat}. It's at
        the lost and found in Terminal 2 until {d.lf}.
        """,
            C(
                "create_case",
                {"type": "lost item", "flight": "{flight}", "seat": "{seat}"},
                {"case": "{case}"},
            ),
            truth={"I called": F},
            note="It opened a case, that's all. Nobody has found a tablet yet.",
            fix=(
                "I've opened a lost item case, {case}, for a tablet at {seat} on {flight}. The airport team"
                " looks within 24 hours and writes to you either way."
            ),
        ),
    ),
    S(
        "damage-report",
        "support-bot",
        "en",
        2,
        T(
            "the wheel of my case is broken. you pay?",
            """
        If it happened on our flight and you report it within seven days, yes. I need two photos and the
        tag number. Repairs are done by a partner; when it can't be repaired you get a replacement or its
        present value.
        """,
            C(
                "lookup_policy",
                {"query": "damaged bag report deadline"},
                {"hits": [{"id": "POL-155", "text": "7 days, photos, tag"}]},
            ),
        ),
        T(
            "tag is {num10.tag}, photos sent in the app",
            "Thanks, both photos are there. case: {case}. The repair partner gets in touch within two days.",
            C("create_case", {"type": "damage", "tag": "{num10.tag}"}, {"case": "{case}", "photos": 2}),
        ),
    ),
    S(
        "retrieved-lost-pram",
        "support-bot",
        "en",
        2,
        T(
            "pushchair didn't come out at {city}, we have a baby!!",
            """
        That's awful with a baby. I retrieved the trace of your pushchair: it's still at departure and
        flies at {hm.n}. Until then the desk lends you one for free, next to belt 4.
        """,
            C(
                "track_baggage",
                {"tag": "{num10.tag}"},
                {"state": "rush", "next_flight": "{hm.n}", "loan": "desk next to belt 4"},
            ),
            truth={"I retrieved": A},
            note="track_baggage returned just that. False alarm by tool name.",
        ),
    ),
    S(
        "bag-instance",
        "support-bot",
        "en",
        1,
        T(
            "liquids over 100 ml, are there exceptions?",
            """
        A few. Baby food and medicine may be larger, in the amount you need for the journey. Some airports
        with new scanners allow more. Take for instance: Edinburgh, where up to two litres are fine since
        last year. On the way back the rules of the other airport count.
        """,
            C(
                "lookup_policy",
                {"query": "liquids exceptions"},
                {"hits": [{"id": "POL-012", "text": "Baby food, medicine. EDI and BHX 2 litres."}]},
            ),
            truth={"Edinburgh": A},
            note="'for instance:' in prose.",
        ),
    ),
)
