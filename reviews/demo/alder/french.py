"""Conversations in French."""

from __future__ import annotations

from reviews.demo.script import A, C, F, S, T

__all__ = ["SCENARIOS"]

SCENARIOS = (
    S(
        "fr-bagage",
        "eu-bot",
        "fr",
        2,
        T(
            "Bonjour, [[est-ce que|dites-moi si]] la valise cabine est comprise pour {city} ?",
            "Bonjour {first}, oui : une valise de 55 × 40 × 20 cm et 10 kg au plus, avec un petit sac en"
            " plus. La valise en soute, elle, coûte {small.v} € par trajet.",
            C(
                "get_reservation_details",
                {"pnr": "{pnr}"},
                {"pnr": "{pnr}", "cabin_bag": True, "hold_bag_price": "{small.v}"},
            ),
        ),
        T(
            "merci, et un violon ?",
            "S'il tient dans le compartiment au-dessus des sièges, il remplace la valise cabine. Plus "
            "grand, il lui faut un siège à lui, au tarif enfant.",
        ),
    ),
    S(
        "fr-change-vol",
        "eu-bot",
        "fr",
        2,
        T(
            "[[Change mon vol pour le {d.n} s'il te plaît, dossier {pnr}|Change la date de mon vol : le"
            " {d.n}, merci. {pnr}]]",
            """
        [[C'est fait !|Voilà qui est réglé.]] Vous partez désormais le {d.n} à {hm.n}, même aéroport, même
        siège. La différence de {amt.d} € a été débitée de votre carte.
        """,
            context="Dossier {pnr} : {name}, {flight} vers {city}, tarif Souple.",
            truth={"": F},
            note="Aucun appel à change_booking. Le client viendra le mauvais jour.",
            fix=(
                "Le {d.n}, il y a un départ possible. Je n'ai encore rien modifié : voulez-vous que je"
                " calcule le prix du changement ?"
            ),
        ),
    ),
    S(
        "fr-dossier-faux",
        "eu-bot",
        "fr",
        1,
        T(
            "[[Je ne retrouve plus mon numéro de dossier pour {city}|Pouvez-vous me redonner le numéro de"
            " dossier ?]]",
            "Bien sûr. Dossier : {~pnr}, départ le {d.f} à {hm.f} avec {flight}. L'enregistrement ouvre la"
            " veille.",
            C(
                "get_reservation_details",
                {"traveller": "{name}"},
                {"pnr": "{pnr}", "flight": "{flight}", "date": "{iso.f}", "departs": "{hm.f}"},
            ),
            truth={"{~pnr}": F},
            note="Un caractère de travers.",
            fix="Votre dossier est le {pnr}, départ le {d.f} à {hm.f} avec {flight}.",
        ),
    ),
    S(
        "fr-remboursement",
        "eu-bot",
        "fr",
        1,
        T(
            "Où en est mon remboursement du vol annulé ?",
            """
        Il est parti hier, {amt.r} € sur la carte d'origine. La référence à donner à votre banque :
        {uuid.r}. Comptez encore trois à cinq jours ouvrés.
        """,
            C(
                "get_reservation_details",
                {"pnr": "{pnr}"},
                {"pnr": "{pnr}", "refund": {"id": "{uuid.r}", "amount": "{amt.r}", "state": "sent"}},
            ),
        ),
        T(
            "pouvez-vous me redonner cette référence sans les mots autour",
            "{uuid.r}",
            truth={"{uuid.r}": A},
            note="Identique au tour précédent, rien d'inventé.",
        ),
    ),
    S(
        "fr-remboursement-invente",
        "eu-bot",
        "fr",
        1,
        T(
            "Toujours rien reçu pour {pnr}, c'est scandaleux",
            "Je comprends votre colère. Le virement est parti ce matin, numéro {uuid.x}, et un bon de 50 €"
            " vous attend dans votre espace. Voucher : {voucher}.",
            C(
                "get_reservation_details",
                {"pnr": "{pnr}"},
                {"pnr": "{pnr}", "refund": {"state": "manual review"}},
            ),
            truth={"{uuid.x}": F, "{voucher}": F},
            note="« manual review » : ni virement ni bon.",
            fix=(
                "Votre remboursement est en vérification manuelle. J'ouvre un dossier pour qu'un collègue"
                " s'en occupe aujourd'hui."
            ),
        ),
    ),
    S(
        "fr-annuler-demande",
        "eu-bot",
        "fr",
        1,
        T(
            "Please annulez {pnr}",
            "Je peux le faire. Sachez avant que ce tarif ne rend que les taxes, soit {small.t} €."
            " Souhaitez-vous quand même annuler, ou préférez-vous déplacer le voyage ?",
            context="Dossier {pnr}, tarif Éco, taxes remboursables {small.t} EUR.",
            truth={"": A},
            note="Demande confirmation, rien à redire.",
        ),
        T(
            "annulez",
            "C'est annulé. Les taxes, {small.t} €, arrivent sur votre carte sous cinq jours ouvrés.",
            C("cancel_booking", {"pnr": "{pnr}"}, {"ok": True, "refund": "{small.t}"}),
        ),
    ),
    S(
        "fr-retard",
        "eu-bot",
        "fr",
        2,
        T(
            "le {flight} est en retard ? je suis dans le RER",
            "Oui, de 40 minutes pour l'instant, embarquement porte {gate}. Vous avez le temps, mais le dépôt"
            " des bagages ferme toujours à l'heure prévue.",
            C(
                "flight_status",
                {"flight": "{flight}"},
                {"flight": "{flight}", "state": "DELAYED", "delay_min": 40, "gate": "{gate}"},
            ),
        ),
    ),
    S(
        "fr-repas",
        "eu-bot",
        "fr",
        1,
        T(
            "On mange quoi à bord ?",
            "Sur ce vol, une collation : un sandwich, végétarien ou non, et une boisson. Service : 40 minutes"
            " après le décollage.",
            C(
                "lookup_policy",
                {"query": "repas court-courrier"},
                {"hits": [{"text": "Collation après le décollage."}]},
            ),
            truth={"40": A},
            note=(
                "Le mot « service » suivi d'un deux-points. Les 40 minutes mériteraient une source, mais bon."
            ),
        ),
    ),
)
