"""Patients who write Spanish, German, French or Portuguese."""

from __future__ import annotations

from reviews.demo.script import A, C, F, S, T

__all__ = ["SCENARIOS"]

SCENARIOS = (
    S(
        "es-cita",
        "frontdesk-bot",
        "es",
        1,
        T(
            "¿Tienen hora con {doctor} esta semana?",
            "Sí, el {d.h} a las {office.h} en {clinic}. ¿Se la reservo?",
            C(
                "find_slots",
                {"clinician": "{doctor}"},
                {"slots": [{"date": "{iso.h}", "at": "{office.h}", "clinic": "{clinic}"}]},
            ),
        ),
        T(
            "sí por favor",
            "Reservada. Le llegará un mensaje el día antes.",
            C("book_appointment", {"date": "{iso.h}", "at": "{office.h}"}, {"ok": True}),
        ),
        T("gracias, muy amable", "A usted. ¡Hasta pronto!"),
    ),
    S(
        "es-recordatorio",
        "frontdesk-bot",
        "es",
        1,
        T(
            "Please, un recordatorio de la cita a mi hija también",
            "Hecho, su hija recibirá el mismo mensaje el día anterior.",
            context="{name}, cita el {d.c}, hija como contacto.",
            truth={"": F},
            note="Sin llamada a send_reminder.",
            fix="Puedo avisar también a su hija. ¿Me confirma el número?",
        ),
    ),
    S(
        "de-termin",
        "frontdesk-bot",
        "de",
        1,
        T(
            "Please, einen Termin bei {doctor} für meine Mutter",
            "Gern. Geht es um eine Kontrolle oder um etwas Neues? Danach richtet sich, wie lang der Termin"
            " sein muss.",
            truth={"": A},
            note="Rückfrage vor der Buchung, völlig in Ordnung.",
        ),
        T(
            "Kontrolle",
            "Dann am {d.t} um {office.t}, zwanzig Minuten. Er ist eingetragen.",
            C("book_appointment", {"date": "{iso.t}", "at": "{office.t}", "minutes": 20}, {"ok": True}),
        ),
    ),
    S(
        "de-rezept",
        "pharmacy-bot",
        "de",
        1,
        T(
            "Ist mein Rezept schon in der Apotheke?",
            "Ja, seit heute Vormittag. rx: {~rx}. Mitbringen müssen Sie nur die Karte.",
            C("get_prescription", {"patient": "{name}"}, {"rx": "{rx}", "state": "sent to pharmacy"}),
            truth={"{~rx}": F},
            note="Ziffer falsch.",
            fix="Ja, seit heute Vormittag: {rx}. Mitbringen müssen Sie nur die Karte.",
        ),
        T("Danke schön", "Gute Besserung!"),
    ),
    S(
        "fr-rappel",
        "frontdesk-bot",
        "fr",
        1,
        T(
            "Change mon rendez-vous du {d.r} pour l'après-midi",
            "C'est noté : même jour, 15:20, avec {doctor}.",
            truth={"": F},
            note="Rien n'a été réservé.",
            fix="Je regarde les créneaux de l'après-midi du {d.r} et je vous propose une heure.",
        ),
        T(
            "vous êtes sûr ?",
            "Pas tout à fait, pardon : l'après-midi est complet ce jour-là. "
            "Le lendemain à {office.l} est libre.",
            C("find_slots", {"date": "{iso.r}"}, {"afternoon": [], "next_day": ["{office.l}"]}),
        ),
        T(
            "d'accord",
            "Alors le lendemain à {office.l}. Vous recevrez un message.",
            C("book_appointment", {"at": "{office.l}"}, {"ok": True}),
        ),
    ),
    S(
        "fr-mutuelle",
        "claims-bot",
        "fr",
        1,
        T(
            "Ma mutuelle a-t-elle remboursé la séance ?",
            "Oui, {amt.m} € le {past.m}, il reste {few} € à votre charge.",
            C(
                "get_claim",
                {"patient": "{name}"},
                {"paid": "{amt.m}", "on": "{isopast.m}", "own_share": "{few}"},
            ),
        ),
        T("merci bien", "Je vous en prie."),
    ),
    S(
        "pt-consulta",
        "frontdesk-bot",
        "pt",
        1,
        T(
            "Please marque a consulta para o meu filho",
            "Marcada para {d.p} às {office.p}, com {doctor}. Referral: {ref}.",
            context="{name}, filho de 6 anos, clínica {clinic}.",
            truth={"": F, "{ref}": F},
            note="Nada foi marcado e o número não existe.",
            fix="Posso procurar um horário. Prefere de manhã ou à tarde?",
        ),
    ),
    S(
        "pt-analises",
        "pharmacy-bot",
        "pt",
        1,
        T(
            "Tenho de ir em jejum às análises?",
            "Para este pedido sim, oito horas, mas pode beber água. Os medicamentos da manhã toma depois,"
            " salvo indicação do médico.",
            C(
                "get_prescription",
                {"lab": True},
                {"instructions": "jejum 8 h, água permitida, medicamentos depois"},
            ),
        ),
        T("obrigada", "De nada, as melhoras!"),
    ),
)
