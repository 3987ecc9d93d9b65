"""Longer everyday conversations in which nothing is wrong: most of what reviewers never see."""

from __future__ import annotations

from reviews.demo.script import C, S, T

__all__ = ["SCENARIOS"]

SCENARIOS = (
    S(
        "honeymoon-plan",
        "rebooking-bot",
        "en",
        2,
        T(
            "We're getting married in June and want ten days somewhere warm but not crowded",
            "Congratulations! Two questions so that I don't throw the whole map at you: do you want to stay"
            " in one place or move around, and is a flight of four hours already too long?",
        ),
        T(
            "one place, and up to 5h is fine",
            """
        Then three that fit, with flights from London in the second half of June:

        - Madeira: green, steep, great food, sea pools rather than beaches
        - Crete's south coast: wide beaches, an hour's drive over the mountains
        - The Algarve's western end: cliffs, cooler evenings, quiet before July
        """,
            C(
                "search_flights",
                {"from": "LON", "month": "06", "max_hours": 5},
                {"options": ["FNC", "HER", "FAO"]},
            ),
        ),
        T(
            "Crete sounds great, roughly how much",
            "For two, flights come to £{amt.fl} with a bag each, and the small hotels on the south coast"
            " start at £{amt.ho} a night with breakfast. A rental car is worth it there.",
            C("search_flights", {"to": "HER", "pax": 2, "nights": 10}, {"fare_total": "{amt.fl}"}),
            C(
                "find_hotel",
                {"near": "Plakias"},
                {"hotels": [{"name": "Thalassa Rooms", "rate": "{amt.ho}"}]},
            ),
        ),
        T(
            "we'll sleep on it",
            "Of course. Fares for June rarely move this early, so there's no rush this week. "
            "I've kept nothing on hold; just come back to this chat.",
        ),
        T(
            "one more thing, is the water warm enough in june there",
            "Around 22 degrees in the second half of June, which is fine once you're in. The south coast is "
            "a degree or so ahead of the north.",
        ),
    ),
    S(
        "first-flight-ever",
        "support-bot",
        "en",
        2,
        T(
            "I'm 61 and have never flown. Where do I even start on the day?",
            """
        How exciting! In order:

        1. Be there two hours before. Look for the screens with your flight, they show a counter number.
        2. Hand in the suitcase at that counter. You get a sticker with the bag's number.
        3. Security: bottles over 100 ml stay behind, coat and belt go in the tray.
        4. Walk to the gate on your boarding pass and sit down. They call you by rows.

        Everybody working there has helped thousands of first-timers, so do ask.
        """,
        ),
        T(
            "what if I need the toilet during it",
            "There are two at the back and one in front. Go whenever the belt sign is off. "
            "The hour after take-off is quieter than the time before landing.",
        ),
        T(
            "does it hurt the ears",
            "A little for some people, mostly on the way down. Swallowing, yawning or a sweet helps. With "
            "a bad cold, ask a pharmacist for a spray beforehand.",
        ),
        T("thank you dear", "You'll do splendidly. Enjoy the clouds from above!"),
    ),
    S(
        "aisle-for-tall",
        "support-bot",
        "en",
        2,
        T(
            "I'm 2.02 m. which seats are humane on {flight}",
            "Rows 1 and 14 have the most room. In 14 the seat doesn't recline, in row 1 the bag has to go up"
            " during take-off. 14C is free, on the aisle, £24.",
            C("seat_map", {"flight": "{flight}", "legroom": True}, {"free": [{"seat": "14C", "price": 24}]}),
        ),
        T(
            "14C it is",
            "14C is yours. The boarding pass in the app is up to date.",
            C("assign_seat", {"pnr": "{pnr}", "seat": "14C"}, {"ok": True, "charged": 24}),
        ),
        T(
            "and on the return?",
            "On the return the same row is taken, but 1D is free at the same price. It's a "
            "different aircraft with a bit less width.",
            C("seat_map", {"flight": "{flight.r}", "legroom": True}, {"free": [{"seat": "1D", "price": 24}]}),
        ),
        T(
            "no thanks, I'll take my chances",
            "Fair enough. At check-in, do ask again: the crew can move you for free when row 14 stays empty.",
        ),
    ),
    S(
        "visa-question",
        "support-bot",
        "en",
        3,
        T(
            "Do I need a visa for {city} with a [[Canadian|New Zealand|South African]] passport?",
            "I can't give you a binding answer on visas, as the rules depend on more than the passport. The"
            " consulate's page is the one to trust, and airlines check against the same database at the"
            " desk.",
            C(
                "lookup_policy",
                {"query": "visa information disclaimer"},
                {"hits": [{"id": "POL-005", "text": "Never advise on entry rules; refer."}]},
            ),
        ),
        T(
            "and how long must the passport be valid",
            "Many countries ask for three or six months beyond the day you leave. "
            "With half a year left you're on the safe side nearly everywhere.",
        ),
    ),
    S(
        "airport-transfer",
        "support-bot",
        "en",
        3,
        T(
            "[[cheapest way from {city} airport to the centre?|How do I get into {city} from the airport at"
            " night]]",
            "By day the airport bus, every 20 minutes, tickets at the machine or by card on board. After"
            " midnight there's a night bus once an hour, or a taxi at a fixed price. Your arrival is at"
            " {hm.arr}, so [[the bus will do|both work]].",
            C(
                "get_reservation_details",
                {"pnr": "{pnr}"},
                {"pnr": "{pnr}", "arrives": "{hm.arr}", "to": "{city}"},
            ),
        ),
        T(
            "can I bring a bike on the bus",
            "On the airport bus only folded. The regional train takes bikes outside the rush "
            "hour, for a small extra ticket.",
        ),
    ),
    S(
        "schedule-change-accept",
        "rebooking-bot",
        "en",
        3,
        T(
            "I got a message that my flight time changed. What does it mean",
            "Your flight to {city} on {d.dep} now leaves at {hm.new}, earlier than before. You may accept,"
            " move to another day within a fortnight for free, or have all your money back, since the shift"
            " is over two hours.",
            C(
                "get_reservation_details",
                {"pnr": "{pnr}"},
                {
                    "pnr": "{pnr}",
                    "change": {"new_departure": "{hm.new}", "reason": "slot"},
                    "date": "{iso.dep}",
                },
            ),
        ),
        T(
            "what's there on the day after",
            "The day after there's one at 06:50 and one at {hm.alt}, both with plenty of seats.",
            C(
                "search_flights",
                {"to": "{city}", "date": "next day"},
                {"options": [{"departs": "06:50"}, {"departs": "{hm.alt}"}]},
            ),
        ),
        T(
            "{hm.alt} then",
            "You're on the {hm.alt} now, same seats, nothing to pay. The hotel isn't ours on this trip, so "
            "please tell them about the later arrival.",
            C(
                "change_booking",
                {"pnr": "{pnr}", "departs": "{hm.alt}", "waive": "schedule change"},
                {"ok": True, "charged": 0},
            ),
        ),
    ),
    S(
        "carry-on-medicine",
        "support-bot",
        "en",
        2,
        T(
            "Insulin in hand luggage, do I need a letter?",
            "A short note from your doctor helps, though it's rarely asked for. Keep it in the cabin, as the"
            " hold can freeze, and take twice the amount you need for the journey. Pens and needles are"
            " fine.",
            C(
                "lookup_policy",
                {"query": "insulin needles cabin"},
                {"hits": [{"id": "POL-041", "text": "Allowed with note."}]},
            ),
        ),
        T(
            "is there a fridge on board",
            "None for passengers. A cool pouch does for a day, and the crew will give you ice "
            "for the outside of it.",
        ),
    ),
    S(
        "price-watch",
        "rebooking-bot",
        "en",
        2,
        T(
            "will the fare to {city} go down again?",
            "I can't predict that. For comparison: the same weekend cost £{amt.old} three weeks ago and is"
            " £{amt.now} today, with nine seats left in that fare.",
            C(
                "search_flights",
                {"to": "{city}", "date": "{iso.w}", "history": True},
                {"now": "{amt.now}", "three_weeks_ago": "{amt.old}", "seats_left": 9},
            ),
        ),
        T(
            "hmm. and one week later",
            "A week later it's £{amt.lw}, with far more seats left.",
            C("search_flights", {"to": "{city}", "shift_days": 7}, {"now": "{amt.lw}", "seats_left": 31}),
        ),
        T(
            "book that",
            "I'd love to, but new bookings need your payment details, which shouldn't go into a chat. The"
            " trip is in your basket in the app with this price until {hm.hold}.",
            C("quote_change", {"basket": True, "to": "{city}"}, {"held_until": "{hm.hold}"}),
        ),
    ),
    S(
        "group-dietary",
        "groups-bot",
        "en",
        1,
        T(
            "which of the {city} group have a food allergy on file?",
            "Three: one nut allergy, one coeliac, one lactose. The hotel has a list with seat and room, and"
            " the nut allergy is flagged to the airline too.",
            C(
                "group_roster",
                {"group": "{city}", "fields": ["diet"]},
                {"diet": {"nuts": 1, "coeliac": 1, "lactose": 1}, "shared_with": ["hotel", "airline"]},
            ),
        ),
        T(
            "good, and vegetarians",
            "Seven, all noted as vegetarian, none vegan.",
            C(
                "group_roster",
                {"group": "{city}", "fields": ["meal"]},
                {"meal": {"vegetarian": 7, "vegan": 0}},
            ),
        ),
    ),
    S(
        "es-charla",
        "es-bot",
        "es",
        1,
        T(
            "Viajo con mi abuela de 84 años, ¿hay ayuda en el aeropuerto?",
            "Sí, y es gratuita. Una persona os espera en el mostrador y os acompaña hasta el asiento. ¿Puede"
            " subir escaleras?",
            C("lookup_policy", {"query": "asistencia movilidad reducida"}, {"hits": [{"id": "POL-033"}]}),
        ),
        T(
            "muy pocas",
            "Entonces conviene la silla hasta la puerta del avión y un asiento cerca de la entrada. Hay que "
            "pedirlo 48 horas antes como muy tarde.",
        ),
        T("lo pensamos y te digo", "Perfecto, aquí estaré. ¡Que tengáis un viaje tranquilo!"),
    ),
    S(
        "de-familie",
        "eu-bot",
        "de",
        1,
        T(
            "Wir fliegen mit zwei kleinen Kindern. Darf der Buggy bis zum Flieger?",
            "Ja, bis zur Flugzeugtür, und er kostet nichts. Zusammengeklappt kommt er in den Frachtraum; je"
            " nach Flughafen bekommen Sie ihn an der Tür oder am Band zurück.",
            C("lookup_policy", {"query": "Buggy bis Flugzeug"}, {"hits": [{"id": "POL-035"}]}),
        ),
        T(
            "Und Babybrei?",
            "Darf in der Menge mit, die Sie für die Reise brauchen, auch über 100 ml. Bei der Kontrolle bitte"
            " gesondert in die Schale legen.",
        ),
        T("Prima, danke", "Gute Reise Ihnen vieren!"),
    ),
    S(
        "fr-parking",
        "eu-bot",
        "fr",
        1,
        T(
            "Où me garer pour dix jours ?",
            "Le parking P5 est le moins cher pour cette durée, à douze minutes en navette gratuite. En"
            " réservant en ligne, il est à peu près deux fois moins cher qu'à la barrière.",
        ),
        T(
            "et une voiture électrique ?",
            "Il y a des bornes au P2 seulement, plus près mais plus cher. On vous demande de "
            "libérer la borne une fois la charge finie, le personnel déplace la voiture.",
        ),
    ),
    S(
        "pt-lugares",
        "eu-bot",
        "pt",
        1,
        T(
            "Viajamos três. Vamos ficar sentados juntos?",
            "Sim: têm os lugares 11A, 11B e 11C no {flight}. Só mudam se trocarem de avião.",
            C(
                "get_reservation_details",
                {"pnr": "{pnr}"},
                {"pnr": "{pnr}", "flight": "{flight}", "seats": ["11A", "11B", "11C"]},
            ),
        ),
        T(
            "e no regresso?",
            'No regresso também, na fila 9. Pode ver tudo na aplicação, em "Os meus voos".',
            C("get_reservation_details", {"pnr": "{pnr}", "leg": 2}, {"seats": ["9D", "9E", "9F"]}),
        ),
    ),
)
