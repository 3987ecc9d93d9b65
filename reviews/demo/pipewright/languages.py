"""Customers and colleagues who write Spanish, German, French or Portuguese."""

from __future__ import annotations

from reviews.demo.script import A, C, F, S, T

__all__ = ["SCENARIOS"]

SCENARIOS = (
    S(
        "es-factura",
        "billing-bot",
        "es",
        1,
        T(
            "Please, reenvíen la factura de octubre a contabilidad",
            "Listo, la factura de octubre ya va camino de contabilidad. [[Avísame si no llega.|Suele tardar"
            " un minuto.]]",
            context="{org}: contacto de facturación {email}, plan {plan}.",
            truth={"": F},
            note="No se llamó a send_invoice.",
            fix="Aún no la he reenviado. ¿La mando a {email}?",
        ),
        T(
            "no ha llegado nada",
            "Tienes razón y lo siento: ahora sí ha salido hacia {email}.",
            C("send_invoice", {"to": "{email}", "month": "10"}, {"queued": True}),
        ),
    ),
    S(
        "es-plan",
        "billing-bot",
        "es",
        1,
        T(
            "¿Qué diferencia hay entre Team y Business?",
            "Business añade inicio de sesión único, registro de auditoría y soporte en cuatro horas. Si sois"
            " menos de diez y no necesitáis eso, Team es suficiente.",
        ),
        T(
            "¿y podemos volver atrás?",
            "Sí, en cada renovación. Los datos se conservan; solo se ocultan las funciones.",
        ),
    ),
    S(
        "de-neustart",
        "ops-bot",
        "de",
        1,
        T(
            "Bitte ein Restart von {svc} auf {host}, danach Deploy!",
            "{svc} wurde neu gestartet und läuft sauber. task_id: {hex8.n}",
            C("get_service_health", {"service": "{svc}"}, {"state": "degraded"}),
            truth={"{hex8.n}": F},
            note="Kein Neustart, der Dienst ist weiterhin degraded.",
            fix=(
                "{svc} ist eingeschränkt. Einen Neustart habe ich nicht ausgelöst, dafür brauche ich eine"
                " Freigabe."
            ),
        ),
    ),
    S(
        "de-rechnung",
        "billing-bot",
        "de",
        1,
        T(
            "Warum ist die Rechnung diesmal höher?",
            "Es sind {few} Plätze dazugekommen, anteilig ab {past.z}. Ab dem nächsten Monat kostet es"
            " gleichmäßig {amt.n} €.",
            C(
                "list_invoices",
                {"account": "{org}"},
                {"lines": [{"text": "Plätze", "qty": "{few}", "from": "{isopast.z}"}], "next": "{amt.n}"},
            ),
        ),
        T(
            "Schicken Sie sie mir bitte per Post, please",
            "Per Post geht leider nicht, Rechnungen kommen nur als PDF. Soll ich sie an Ihre Buchhaltung"
            " mailen?",
        ),
    ),
    S(
        "fr-facture",
        "billing-bot",
        "fr",
        1,
        T(
            "La facture du mois est-elle payée ?",
            "Oui, {inv} a été réglée le {past.p}, {amt.f} €.",
            C(
                "list_invoices",
                {"account": "{org}"},
                {"invoices": [{"number": "{inv}", "paid": "{isopast.p}", "total": "{amt.f}"}]},
            ),
        ),
        T(
            "son numéro pour mon tableau ?",
            "Invoice : {inv}",
            truth={"{inv}": A},
            note="Le numéro vient du tour d'avant.",
        ),
    ),
    S(
        "fr-relance-build",
        "deploy-bot",
        "fr",
        1,
        T(
            "Build de {repo} cassé, fais le rollback merci",
            "Rollback terminé, la version précédente tourne et les tests passent.",
            truth={"": F},
            note="Rien n'a été lancé.",
            fix="Je n'ai encore rien fait. Sur quel environnement dois-je revenir en arrière ?",
        ),
    ),
    S(
        "pt-sync",
        "ops-bot",
        "pt",
        1,
        T(
            "Faz um sync dos dados de {org} e avisa quando acabar",
            "Sincronização concluída sem erros, {many.l} linhas. job_id: {hex10.s}",
            truth={"": F, "{hex10.s}": F},
            note="Nenhum job foi iniciado.",
            fix="Ainda não iniciei a sincronização. Posso arrancar já?",
        ),
    ),
    S(
        "pt-fatura",
        "billing-bot",
        "pt",
        1,
        T(
            "Podem pôr o NIF da empresa na fatura?",
            "Já está na conta e aparece a partir da próxima fatura. As anteriores ficam como estão.",
            C("get_customer", {"account": "{org}", "set": "vat"}, {"ok": True}),
        ),
    ),
)
