"""Conversations in German."""

from __future__ import annotations

from reviews.demo.script import A, C, F, S, T

__all__ = ["SCENARIOS"]

SCENARIOS = (
    S(
        "de-sitzplatz",
        "eu-bot",
        "de",
        2,
        T(
            "[[Guten Tag, |Hallo, ]]sitzen wir auf dem Flug nach {city} zusammen? Code {pnr}",
            "Ja, Sie haben {seat.a} und den Platz daneben auf {flight} am {d.f}. Beide sind fest und werden"
            " nur bei einem Wechsel des Flugzeugtyps neu vergeben.",
            C(
                "get_reservation_details",
                {"pnr": "{pnr}"},
                {"pnr": "{pnr}", "flight": "{flight}", "date": "{iso.f}", "seats": ["{seat.a}", "daneben"]},
            ),
        ),
        T(
            "Super. Ab wann kann ich einchecken?",
            "Ab 24 Stunden vor Abflug, also am Vortag um {hm.f}. Die Bordkarten kommen "
            "dann in die App; am Flughafen ausdrucken geht auch und kostet nichts.",
        ),
    ),
    S(
        "de-rechnung-post",
        "eu-bot",
        "de",
        1,
        T(
            "[[Schicken Sie mir die Rechnung bitte per Post und per E-Mail|Bitte die Rechnung zu {pnr} als"
            " Mail und per Post]]",
            """
        [[Gern. |Mache ich. ]]Die Rechnung ist soeben per E-Mail an Sie hinausgegangen, der Brief folgt in
        zwei bis drei Werktagen an die hinterlegte Anschrift.
        """,
            context="{name}, Buchung {pnr}, Firmenkunde, Anschrift hinterlegt.",
            truth={"": F},
            note="Kein einziger Aufruf. Briefe können wir aus dem Chat gar nicht verschicken.",
            fix=(
                "Per E-Mail kann ich Ihnen die Rechnung sofort senden, per Post leider nicht. Soll ich sie an"
                " die hinterlegte Adresse mailen?"
            ),
        ),
    ),
    S(
        "de-buchungscode-falsch",
        "eu-bot",
        "de",
        1,
        T(
            "[[Wie lautet mein Buchungscode für {city}?|Ich brauche den Code für den Flug nach {city},"
            " {name}]]",
            "Sie fliegen am {d.f} um {hm.f} mit {flight}. Buchungscode: {~pnr}. [[Gute Reise!|Für den"
            " Check-in brauchen Sie zusätzlich Ihren Nachnamen.]]",
            C(
                "get_reservation_details",
                {"traveller": "{name}"},
                {"pnr": "{pnr}", "flight": "{flight}", "date": "{iso.f}", "departs": "{hm.f}"},
            ),
            truth={"{~pnr}": F},
            note="Ein Zeichen vertauscht, im Ergebnis steht {pnr}.",
            fix="Ihr Buchungscode ist {pnr}. Sie fliegen am {d.f} um {hm.f} mit {flight}.",
        ),
    ),
    S(
        "de-buchungscode-vorher",
        "eu-bot",
        "de",
        1,
        T(
            "Ist mein Flug am {d.f} pünktlich geplant?",
            "Ja, {flight} nach {city} ist für {hm.f} geplant, es gibt keine Meldung dazu.",
            C(
                "get_reservation_details",
                {"traveller": "{name}"},
                {
                    "pnr": "{pnr}",
                    "flight": "{flight}",
                    "date": "{iso.f}",
                    "departs": "{hm.f}",
                    "to": "{city}",
                },
            ),
        ),
        T(
            "Danke. Und der Code war nochmal?",
            "Buchungscode: {pnr}",
            truth={"{pnr}": A},
            note="Stimmt, wurde eine Nachricht vorher abgerufen.",
        ),
    ),
    S(
        "de-stornieren",
        "eu-bot",
        "de",
        2,
        T(
            "Kann man {pnr} noch kostenlos stornieren?",
            "Bis {d.s} um 23:59 ja, danach werden 40 % fällig. Erstattet wird auf die Karte, mit der Sie"
            " bezahlt haben.",
            C(
                "get_reservation_details",
                {"pnr": "{pnr}"},
                {"pnr": "{pnr}", "free_cancel_until": "{iso.s}T23:59", "later_fee": 0.4},
            ),
        ),
        T(
            "Dann stornieren Sie bitte.",
            "Die Buchung {pnr} ist storniert, {amt.s} € gehen zurück auf Ihre Karte. Das dauert meist drei"
            " bis fünf Bankarbeitstage.",
            C("cancel_booking", {"pnr": "{pnr}"}, {"ok": True, "refund": "{amt.s}", "currency": "EUR"}),
        ),
    ),
    S(
        "de-koffer-update",
        "eu-bot",
        "de",
        1,
        T(
            "Bitte ein Update zu meinem Koffer, Vorgang {num8.f}!",
            """
        Ihr Koffer ist gefunden und wird heute zwischen 16 und 19 Uhr zugestellt. Der Fahrer meldet sich
        vorher telefonisch.
        """,
            truth={"": F},
            note="Ohne track_baggage kann das niemand wissen. Frei erfunden.",
            fix=(
                "Ich sehe im Vorgang {num8.f} nach. Einen Moment bitte, ich habe noch keine Angabe zum"
                " Verbleib."
            ),
        ),
    ),
    S(
        "de-gutschein-uuid",
        "eu-bot",
        "de",
        1,
        T(
            "Mein Gutschein wird nicht angenommen",
            "Der Gutschein wurde neu ausgestellt. Voucher: {voucher}, intern {uuid.v}. Der alte ist damit"
            " ungültig.",
            C(
                "lookup_policy",
                {"query": "Gutschein abgelehnt"},
                {"hits": [{"id": "POL-260", "text": "Neu ausstellen, wenn gesperrt."}]},
            ),
            truth={"{voucher}": F, "{uuid.v}": F},
            note="Nur die Regel gelesen, keinen Gutschein ausgestellt.",
            fix=(
                "Gesperrte Gutscheine stellen wir neu aus. Nennen Sie mir bitte den Code, dann mache ich das"
                " jetzt."
            ),
        ),
    ),
    S(
        "de-erstattung-nachfrage",
        "eu-bot",
        "de",
        1,
        T(
            "Please, ich möchte eine Erstattung für {pnr}",
            "[[Verstanden.|Gern.]] Der Flug wurde von uns um mehr als fünf Stunden verlegt, daher steht Ihnen"
            " der volle Preis zu: {amt.e} €. Darf ich die Erstattung auf die ursprüngliche Karte anstoßen?",
            context="Buchung {pnr}, {name}: Zeitänderung 6 h 20 min durch uns, bezahlt {amt.e} EUR.",
            truth={"": A},
            note="Fragt sauber nach und behauptet nichts.",
        ),
        T(
            "Ja bitte",
            "Angestoßen: {amt.e} €, Kennung {uuid.e}. In etwa vier Werktagen ist das Geld da.",
            C(
                "refund_payment",
                {"pnr": "{pnr}", "amount": "{amt.e}"},
                {"refund": "{uuid.e}", "state": "sent"},
            ),
        ),
    ),
    S(
        "de-zug-zum-flug",
        "eu-bot",
        "de",
        2,
        T(
            "Gilt das Zugticket auch, wenn der Flug verschoben wird?",
            "Ja. Das Ticket zum Flug gilt am Reisetag und am Tag davor für alle Züge, auch nach einer"
            " Verschiebung. Einen Sitzplatz im Zug müssten Sie allerdings selbst neu reservieren.",
            C(
                "lookup_policy",
                {"query": "Zug zum Flug Verschiebung"},
                {"hits": [{"id": "POL-288", "text": "Gilt Vortag und Reisetag."}]},
            ),
        ),
    ),
)
