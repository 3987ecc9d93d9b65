"""Conversations in Spanish."""

from __future__ import annotations

from reviews.demo.script import A, C, F, S, T, U

__all__ = ["SCENARIOS"]

SCENARIOS = (
    S(
        "es-equipaje",
        "es-bot",
        "es",
        2,
        T(
            "[[Buenas, |Hola, ]]¿cuánto puede pesar la maleta de mano para {city}?",
            "Hasta 10 kg y 55 × 40 × 20 cm, más un bolso pequeño que quepa debajo del asiento. En la puerta"
            " solo miran el tamaño, casi nunca el peso.",
            C(
                "lookup_policy",
                {"query": "equipaje de mano medidas"},
                {"hits": [{"id": "POL-201", "text": "10 kg, 55x40x20"}]},
            ),
        ),
        T(
            "¿y si facturo una de 23?",
            "Son {small.m} € por trayecto si la añades ahora; en el mostrador sube bastante. ¿La pongo en tu"
            " reserva {pnr}?",
            C(
                "get_reservation_details",
                {"pnr": "{pnr}"},
                {"pnr": "{pnr}", "bag_price": "{small.m}", "bags": 0},
            ),
        ),
    ),
    S(
        "es-localizador-mal",
        "es-bot",
        "es",
        1,
        T(
            "[[No encuentro mi localizador, vuelo a {city} el {d.v}|¿Me dices el código de mi reserva? Es"
            " para {city}]]",
            """
        [[Claro, {first}.|Por supuesto.]] Tu vuelo {flight} sale el {d.v} a las {hm.v}. Localizador:
        {~pnr}. Con él y tu apellido puedes facturar desde 24 horas antes.
        """,
            C(
                "get_reservation_details",
                {"traveller": "{name}"},
                {
                    "pnr": "{pnr}",
                    "flight": "{flight}",
                    "date": "{iso.v}",
                    "departs": "{hm.v}",
                    "to": "{city}",
                },
            ),
            truth={"{~pnr}": F},
            note="Una letra cambiada respecto al resultado.",
            fix="Tu localizador es {pnr}. El vuelo {flight} sale el {d.v} a las {hm.v}.",
        ),
    ),
    S(
        "es-localizador-antes",
        "es-bot",
        "es",
        1,
        T(
            "¿Mi vuelo a {city} sigue a la misma hora?",
            "Sí, {flight} sale el {d.v} a las {hm.v}, sin cambios.",
            C(
                "get_reservation_details",
                {"traveller": "{name}"},
                {"pnr": "{pnr}", "flight": "{flight}", "date": "{iso.v}", "departs": "{hm.v}"},
            ),
        ),
        T(
            "perfecto, ¿y el localizador?",
            "Localizador: {pnr}. Guárdalo a mano para el mostrador.",
            truth={"{pnr}": A},
            note="Viene del turno anterior, es correcto.",
        ),
    ),
    S(
        "es-mandar-correo",
        "es-bot",
        "es",
        2,
        T(
            "[[Please, mándame la tarjeta de embarque por correo|Make it easy, please: la factura por correo"
            " y ya]]",
            """
        [[Hecho. |¡Listo! ]]Te la acabo de enviar a la dirección de tu reserva; llega en un par de
        minutos. Si no la ves, mira en la carpeta de correo no deseado.
        """,
            context="{name}, habla español e inglés. Reserva {pnr}.",
            truth={"": F},
            note="No hay ninguna llamada a send_email.",
            fix=(
                "Todavía no la he enviado. ¿Te la mando ahora a la dirección que aparece en la reserva {pnr}?"
            ),
        ),
    ),
    S(
        "es-cambio-pregunta",
        "es-bot",
        "es",
        1,
        T(
            "Necesito un cambio de fecha, please, para {pnr}",
            "[[Sin problema.|Vale.]] ¿A qué día quieres mover el viaje? Con tu tarifa el cambio cuesta 35 €"
            " más la diferencia, y no toco nada hasta que me digas que sí.",
            context="Reserva {pnr}: {name}, {flight} a {city}, tarifa Clásica, cambio 35 EUR.",
            truth={"": A},
            note="Pregunta antes de actuar, como debe ser.",
        ),
        T(
            "al {d.n}",
            "Hecho: ahora vuelas el {d.n} con {flight}. Te hemos cobrado {amt.c} € en total y el localizador"
            " no cambia.",
            C(
                "change_booking",
                {"pnr": "{pnr}", "date": "{iso.n}"},
                {"ok": True, "pnr": "{pnr}", "charged": "{amt.c}"},
            ),
        ),
    ),
    S(
        "es-retraso",
        "es-bot",
        "es",
        2,
        T(
            "Llevamos tres horas en la puerta {gate} y nadie dice nada",
            """
        Lo siento mucho. El avión espera una pieza que llega a las {hm.p}; la nueva salida prevista es una
        hora después. Tenéis derecho a comida y bebida: el vale se recoge en el mostrador junto a la
        puerta {gate}.
        """,
            C(
                "flight_status",
                {"gate": "{gate}"},
                {"state": "DELAYED", "reason": "spare part", "part_eta": "{hm.p}"},
            ),
        ),
        T(
            "¿y compensación?",
            "Si llegáis con tres horas o más de retraso, sí: entre 250 y 600 € según la distancia, porque "
            "una avería técnica cuenta. Puedo presentar la solicitud cuando hayáis aterrizado.",
        ),
    ),
    S(
        "es-reembolso-uuid",
        "es-bot",
        "es",
        1,
        T(
            "[[¿Dónde está mi reembolso? Llevo un mes esperando|Un mes esperando el reembolso de {pnr}. ¿Qué"
            " pasa?]]",
            """
        Entiendo el enfado. El reembolso de {amt.r} € se ha vuelto a emitir hoy con referencia {uuid.r} y
        estará en tu cuenta antes del {d.r}.
        """,
            C(
                "get_reservation_details",
                {"pnr": "{pnr}"},
                {"pnr": "{pnr}", "status": "CANCELLED", "refund": {"amount": "{amt.r}", "state": "pending"}},
            ),
            truth={"{uuid.r}": F},
            note="El estado es pending, no se ha emitido nada y la referencia no existe.",
            fix=(
                "El reembolso de {amt.r} € sigue pendiente. Abro un caso para que un compañero lo desbloquee"
                " hoy."
            ),
        ),
    ),
    S(
        "es-servicio",
        "es-bot",
        "es",
        1,
        T(
            "I only speak a little Spanish, ¿el hotel tiene lavandería?",
            "Sí, y por si te ayuda, en inglés: laundry service: yes, next-day before 9 am. La recepción habla"
            " inglés.",
            C(
                "lookup_policy",
                {"query": "hotel lavandería"},
                {"hits": [{"text": "Lavandería de un día para otro, antes de las 9."}]},
            ),
            truth={"yes": A},
            note="Falsa alarma, solo es la palabra 'service' en inglés.",
        ),
    ),
    S(
        "es-reclamacion",
        "es-bot",
        "es",
        1,
        T(
            "Please abrid una reclamación, el asiento estaba roto en {flight}",
            """
        Siento que tuvieras que viajar así. La reclamación ya está abierta y un compañero te escribirá en
        48 horas. Case: {case}. Si tienes una foto, responde a este chat con ella.
        """,
            truth={"": F, "{case}": F},
            note="Número de caso inventado; create_case no se llamó.",
            fix=(
                "Siento que tuvieras que viajar así. Puedo abrir la reclamación ahora mismo, ¿me confirmas el"
                " vuelo y el asiento?"
            ),
        ),
    ),
    S(
        "es-maleta-quizas",
        "es-bot",
        "es",
        1,
        T(
            "¿Ha salido ya mi maleta de {city}?",
            "Según el rastreo sí, en el vuelo de las {hm.s}. task_id: {hex8.q} es el aviso al mensajero.",
            C(
                "track_baggage",
                {"file": "{num8.f}"},
                {"state": "forwarded", "flight_time": "{hm.s}", "courier_notice": "sent"},
            ),
            truth={"{hex8.q}": U},
            note="El aviso al mensajero sí consta, el número no. Puede venir de otro sistema.",
        ),
    ),
)
