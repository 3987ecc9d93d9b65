"""Conversations in which nothing is wrong."""

from __future__ import annotations

from reviews.demo.script import C, S, T

__all__ = ["SCENARIOS"]

SCENARIOS = (
    S(
        "onboarding",
        "docs-bot",
        "en",
        1,
        T(
            "New here. What's the quickest way to get events in?",
            "Take the HTTP endpoint first: one POST with a JSON list, up to 500 events each. When that works,"
            " swap in the library for your language, which batches and retries by itself.",
            C("search_docs", {"q": "getting started events"}, {"hits": [{"page": "start/http"}]}),
        ),
        T(
            "is there a sandbox",
            "Each account has one, with its own keys. It forgets everything after seven days, and it doesn't "
            "count towards usage.",
        ),
        T(
            "limits?",
            "Twenty requests a second in the sandbox, two hundred in live. Over that you get a 429 with the"
            " number of seconds to wait.",
            C("search_docs", {"q": "rate limits"}, {"hits": [{"page": "api/limits"}]}),
        ),
        T("great docs btw", "I'll pass that on, thank you!"),
    ),
    S(
        "slow-dashboard",
        "ops-bot",
        "en",
        2,
        T(
            "[[dashboards feel slow today|Dashboards take ages since this morning]]",
            "They are: the median load is {ms.a} ms instead of the usual third of it. The time goes into one"
            " query against {host}, which has been busy since 08:10.",
            C(
                "query_metrics",
                {"q": "dashboard_load_ms", "range": "8h"},
                {"median": "{ms.a}", "slow_on": "{host}", "since": "08:10"},
            ),
        ),
        T(
            "what's it busy with",
            "A customer's export of two years, in one piece. It's at 71 percent and moves steadily.",
            C("job_status", {"host": "{host}"}, {"name": "export", "progress": 0.71}),
        ),
        T(
            "can we throttle exports generally",
            "There's a setting for it, off by default: at most two per host. The runbook says to "
            "ask the {team} team first, because of contracts with a deadline.",
            context="Runbook exports: throttle setting max_per_host, default off, ask owning team.",
        ),
    ),
    S(
        "cancel-save",
        "billing-bot",
        "en",
        1,
        T(
            "what happens to our data if we leave",
            "You can export everything for 30 days after the end; then it's deleted within another 30,"
            " backups included. The export is a set of plain CSV and JSON files.",
        ),
        T(
            "and if we come back",
            "Within those first 30 days everything is as it was. After that you'd begin afresh, but the"
            " export can be read in again.",
        ),
        T(
            "who decides here? our owner left",
            "Any billing contact can name a new owner after a check. On the account of {org} that's {email}.",
            C("get_customer", {"account": "{org}"}, {"billing_contacts": ["{email}"], "owner": "inactive"}),
        ),
    ),
    S(
        "flaky-test",
        "deploy-bot",
        "en",
        1,
        T(
            "why did {num5.b} fail",
            "One test out of {many.t}: the one on leap seconds in {repo}. It passed on the second attempt of"
            " the build before.",
            C(
                "get_build",
                {"build": "{num5.b}"},
                {"state": "failed", "failed_tests": ["leap_second"], "tests": "{many.t}"},
            ),
        ),
        T(
            "flaky then",
            "Looks like it: four failures in the last thirty builds, none with a change nearby.",
            C("get_build", {"repo": "{repo}", "last": 30, "test": "leap_second"}, {"failures": 4}),
        ),
        T(
            "who owns it",
            "The {team} team, going by the owners file.",
            C("get_build", {"repo": "{repo}", "owners": "leap_second"}, {"team": "{team}"}),
        ),
    ),
    S(
        "sso-setup",
        "docs-bot",
        "en",
        1,
        T(
            "SSO with our identity provider, what do you need from us",
            "The metadata address of your provider and the e-mail domain. You'd set a text record in DNS to"
            " prove that the domain is yours, and then test with one person before it becomes mandatory.",
            C("search_docs", {"q": "sso setup"}, {"hits": [{"page": "security/sso"}]}),
        ),
        T(
            "what if it breaks and nobody gets in",
            "Owners keep a password login with a second factor, for exactly that. Do try it once a quarter.",
        ),
        T("ok", "Good luck with it; the test page shows each step of the exchange if something sticks."),
    ),
    S(
        "capacity",
        "ops-bot",
        "en",
        1,
        T(
            "will {host} survive the campaign on {d.c}?",
            "At the last campaign it peaked at {pct} percent CPU with half of the traffic you expect now. I'd"
            " add a second host for the day, the playbook has it as an option.",
            C("query_metrics", {"q": "max(cpu)", "host": "{host}", "range": "90d"}, {"max_pct": "{pct}"}),
        ),
        T(
            "cost?",
            "About the price of one host for two days, so little. The change has to be in before the freeze.",
            context="Freeze: no infrastructure changes two days before a campaign.",
        ),
    ),
    S(
        "currency",
        "billing-bot",
        "en",
        1,
        T(
            "can we pay in Swiss francs",
            "Yes, from the next invoice on. The price list in francs is fixed for a year, so there's no "
            "daily rate.",
            C("get_customer", {"account": "{org}"}, {"currency": "EUR", "options": ["CHF", "GBP", "USD"]}),
        ),
        T(
            "do it from {d.ren}",
            "Noted for {d.ren}: francs, everything else as before.",
            C(
                "update_subscription",
                {"account": "{org}", "currency": "CHF", "at": "{iso.ren}"},
                {"ok": True},
            ),
        ),
    ),
    S(
        "de-statusfrage",
        "ops-bot",
        "de",
        1,
        T(
            "Läuft {svc} wieder normal?",
            "Ja, seit etwa einer halben Stunde. Die Fehlerquote liegt bei null, die Antwortzeiten bei"
            " {ms} ms.",
            C("get_service_health", {"service": "{svc}"}, {"state": "ok", "p95_ms": "{ms}", "errors": 0}),
        ),
        T(
            "Und woran lag es?",
            "An einer vollen Warteschlange auf {host}. Ein alter Auftrag hatte sie blockiert, er ist"
            " inzwischen abgelaufen.",
            C(
                "fetch_logs",
                {"service": "{svc}", "level": "warn"},
                {"summary": "queue full on {host}, stale task expired"},
            ),
        ),
    ),
    S(
        "es-clave",
        "docs-bot",
        "es",
        1,
        T(
            "¿Dónde veo qué claves de API están en uso?",
            "En Ajustes, Claves de API: cada una muestra el último uso y la dirección. Las que llevan 90 días"
            " sin usarse aparecen en gris.",
            C("search_docs", {"q": "api keys last used"}, {"hits": [{"page": "security/keys"}]}),
        ),
        T("¿se pueden limitar por IP?", "Sí, con el plan Business o superior, hasta veinte redes por clave."),
    ),
    S(
        "fr-essai",
        "billing-bot",
        "fr",
        1,
        T(
            "L'essai gratuit finit quand ?",
            "Le {d.e}. Sans carte enregistrée, le compte passe simplement en lecture seule, rien n'est"
            " supprimé pendant un mois.",
            C("get_customer", {"account": "{org}"}, {"trial_ends": "{iso.e}", "card": False}),
        ),
        T(
            "on peut prolonger ?",
            "Une fois, de deux semaines, sur simple demande d'un responsable du compte.",
        ),
    ),
    S(
        "pt-limites",
        "docs-bot",
        "pt",
        1,
        T(
            "Qual é o tamanho máximo de um evento?",
            "256 KB por evento e 500 eventos por pedido. Acima disso o pedido é recusado inteiro, com a lista"
            " dos que não cabem.",
            C("search_docs", {"q": "event size"}, {"hits": [{"page": "api/limits"}]}),
        ),
        T("e anexos?", "Anexos vão para outro endereço, até 20 MB, e no evento fica só a referência."),
    ),
)
