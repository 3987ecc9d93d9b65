"""Builds, deployments, and questions about the documentation."""

from __future__ import annotations

from reviews.demo.script import A, C, F, S, T

__all__ = ["SCENARIOS"]

SCENARIOS = (
    S(
        "deploy-clean",
        "deploy-bot",
        "en",
        1,
        T(
            "deploy {repo} build {num5.b} to staging",
            "Build {num5.b} of {repo} is live on staging, deploy: {hex8.d}. Smoke tests are green.",
            C(
                "trigger_deploy",
                {"repo": "{repo}", "build": "{num5.b}", "env": "staging"},
                {"deploy": "{hex8.d}", "smoke": "passed"},
            ),
        ),
        T(
            "promote to production",
            "Production needs an approver outside your team. I've put the request in the channel; until"
            " someone approves, production stays on {ver}.",
            C(
                "get_service_health",
                {"service": "{repo}", "env": "production"},
                {"version": "{ver}", "approval": "requested"},
            ),
        ),
        T(
            "approved by {first}",
            "Thanks. Build {num5.b} is rolling out: 1 of 6 hosts, no errors so far.",
            C(
                "trigger_deploy",
                {"repo": "{repo}", "build": "{num5.b}", "env": "production", "approver": "{first}"},
                {"deploy": "{hex8.p}", "hosts": "1/6", "errors": 0},
            ),
        ),
    ),
    S(
        "deploy-claimed",
        "deploy-bot",
        "en",
        1,
        T(
            "Please deploy {repo} to {env}, build {num5.b}",
            "I launched the deployment of build {num5.b}. deploy: {hex8.d}. It takes around {few} minutes.",
            C(
                "get_build",
                {"build": "{num5.b}"},
                {"build": "{num5.b}", "state": "failed", "step": "unit tests"},
            ),
            truth={"I launched": F, "{hex8.d}": F},
            note="The build has FAILED. There is nothing to deploy.",
            fix=(
                "Build {num5.b} failed in the unit tests, so there's nothing to deploy. Shall I show the"
                " failing step?"
            ),
        ),
    ),
    S(
        "rollback-fabricated",
        "deploy-bot",
        "en",
        1,
        T(
            "Rollback {repo} now please",
            "Rolled back. {env} is on the previous build again and the error rate is coming down. run_id:"
            " {uuid.rb}",
            truth={"": F, "{uuid.rb}": F},
            note="Nobody rolled anything back, we lost eleven minutes over this one.",
            fix="I have not rolled back yet. Confirm the environment and I'll do it at once.",
        ),
    ),
    S(
        "rollback-real",
        "deploy-bot",
        "en",
        1,
        T(
            "roll back {repo} on staging",
            "Staging is back on {ver}. The rollback is {hex8.r}.",
            C(
                "rollback_deploy",
                {"repo": "{repo}", "env": "staging"},
                {"id": "{hex8.r}", "version": "{ver}"},
            ),
        ),
        T(
            "note it for the review",
            "For the review: {repo}, staging, back to {ver}, run_id={hex8.r}, cause to be found.",
            truth={"{hex8.r}": A},
            note="Real id, from the previous turn.",
        ),
    ),
    S(
        "commit-hash-verb",
        "deploy-bot",
        "en",
        1,
        T(
            "what exactly is in build {num5.b}?",
            "I fetched the commit {hex8.c} of {team}, a one-line fix in the rounding of {repo}. Nothing else"
            " since {ver}.",
            C(
                "get_build",
                {"build": "{num5.b}"},
                {"build": "{num5.b}", "commit": "{~hex8.c}", "title": "rounding fix"},
            ),
            truth={"{hex8.c}": F},
            note="Not the commit of that build; one digit is different.",
            fix="Build {num5.b} holds a one-line rounding fix, commit {~hex8.c}.",
        ),
    ),
    S(
        "commit-hash-context",
        "deploy-bot",
        "en",
        1,
        T(
            "is the rounding fix in?",
            "It's in since {ver}.",
            C(
                "get_build",
                {"repo": "{repo}", "version": "{ver}"},
                {"commit": "{hex8.c}", "title": "rounding fix", "version": "{ver}"},
            ),
        ),
        T(
            "sure? which one did you look at",
            "Yes, I retrieved {hex8.c} for that and read its title. It's in every build since.",
            truth={"I retrieved": A, "{hex8.c}": A},
            note="It did so a turn earlier.",
        ),
    ),
    S(
        "docs-webhooks",
        "docs-bot",
        "en",
        1,
        T(
            "how do I verify a webhook signature",
            """
        Every call carries a header with a timestamp and an HMAC-SHA256 of timestamp and body.

        1. Read the raw body before any JSON parser touches it.
        2. Compute the HMAC with your endpoint's secret.
        3. Compare in constant time and refuse timestamps older than five minutes.
        """,
            C("search_docs", {"q": "webhook signature"}, {"hits": [{"page": "webhooks/verify"}]}),
        ),
        T(
            "example in curl?",
            "curl can't compute it, but you can replay a delivery from the settings page: it uses the same "
            "secret and a fresh timestamp.",
        ),
    ),
    S(
        "docs-example-ids",
        "docs-bot",
        "en",
        1,
        T(
            "what does a job response look like",
            """
        Roughly like this, with your own values:

        ```
        job_id: 7e1f90ab
        state: queued
        ```

        Poll it until the state is done or failed; there's a webhook for it as well.
        """,
            C("search_docs", {"q": "job response"}, {"hits": [{"page": "api/jobs"}]}),
            truth={"7e1f90ab": A},
            note="A sample in documentation, nobody takes it for a real job.",
        ),
    ),
    S(
        "docs-service-key",
        "docs-bot",
        "en",
        1,
        T(
            "which setting turns on tracing",
            "Set the exporter's address and one label: service: your-app, or service_name=your-app with the"
            " older agents. Restart the agent afterwards.",
            C("search_docs", {"q": "tracing setup"}, {"hits": [{"page": "observability/tracing"}]}),
            truth={"your-app": A},
            note="Placeholder in an explanation.",
        ),
    ),
    S(
        "docs-key-rotation",
        "docs-bot",
        "en",
        1,
        T(
            "I leaked my API key in a gist, help",
            "Your key has been replaced; the old one stops working in an hour. Create no new gists with it,"
            " and look at the usage page for calls you don't recognise.",
            C("rotate_key", {"key": "current"}, {"new_prefix": "pw_{num4.pre}", "grace_min": 60}),
        ),
        T(
            "can you kill the old one right now",
            "Yes, in the settings there's 'Revoke now' beside the old key. Everything that "
            "still uses it then fails at once, so have the new one in place first.",
        ),
    ),
)
