"""The tools and the shared memory of Pipewright's agents."""

from __future__ import annotations

__all__ = ["AGENT_TOOLS", "MEMORY", "NOTES", "TOOLS"]

TOOLS: dict[str, str] = {
    "get_customer": "Read a customer account: plan, seats, contacts, balance.",
    "list_invoices": "Invoices of an account with their state.",
    "send_invoice": "Mail one invoice as PDF to the billing contact.",
    "apply_credit": "Put a credit on an account, with a reason.",
    "refund_charge": "Refund one card charge in full or in part.",
    "update_subscription": "Change plan, seats or renewal of a subscription.",
    "get_usage": "Metered usage of an account for a period.",
    "get_service_health": "State, version and error rate of one service.",
    "restart_service": "Rolling restart of one service. Needs an approver in production.",
    "query_metrics": "Run a metrics query and return the points.",
    "fetch_logs": "Log lines of a service that match a filter.",
    "run_job": "Start a maintenance job by name.",
    "job_status": "State and output of a job.",
    "create_incident": "Open an incident and page whoever is on call.",
    "post_status_update": "Publish a line on the public status page.",
    "trigger_deploy": "Deploy a build to an environment.",
    "rollback_deploy": "Return an environment to its previous build.",
    "get_build": "State, commit and artefacts of a build.",
    "search_docs": "Search the public documentation.",
    "rotate_key": "Replace an API key; the old one keeps working for an hour.",
}

_OPS = ("get_service_health", "query_metrics", "fetch_logs", "run_job", "job_status", "create_incident")

AGENT_TOOLS: dict[str, tuple[str, ...]] = {
    "billing-bot": (
        "get_customer",
        "list_invoices",
        "send_invoice",
        "apply_credit",
        "refund_charge",
        "update_subscription",
        "get_usage",
    ),
    "ops-bot": (*_OPS, "restart_service", "post_status_update"),
    "deploy-bot": ("get_build", "trigger_deploy", "rollback_deploy", "get_service_health", "job_status"),
    "docs-bot": ("search_docs", "rotate_key"),
}

MEMORY: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("Production needs approver", "procedural", ("production",)),
    ("Freeze on Fridays after 14", "procedural", ()),
    ("Refund limit 500", "procedural", ("payment",)),
    ("Customer on annual contract", "semantic", ()),
    ("Postmortem within five days", "procedural", ()),
    ("Key rotation grace hour", "semantic", ("security",)),
    ("Usage is billed in UTC", "semantic", ()),
    ("Past outage of the ledger", "episodic", ()),
)

NOTES: tuple[str, ...] = (
    "Runbook: production changes need an approver from another team.",
    "Freeze every Friday from 14:00 UTC.",
    "Contact reads mail in the morning only.",
    "The outage of {past.out} is closed; review is public.",
    "Policy: credits above 200 are decided by a manager.",
    "House style: numbers first, then the explanation.",
)
