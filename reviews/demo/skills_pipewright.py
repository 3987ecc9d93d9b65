"""Skills of Pipewright's agents."""

from __future__ import annotations

from reviews.demo.skills import DemoDecision as D
from reviews.demo.skills import DemoSkill as S

__all__ = ["SKILLS"]

SKILLS = (
    S(
        "preflight",
        "before restart_service in production",
        "call get_service_health and ask for an approver by name",
        "Production needs an approver; one restart was claimed without either.",
        0.92,
        ("restart-real", "health-check"),
        precondition=["get_service_health"],
        decisions=(D("approve", "june"),),
    ),
    S(
        "guardrail",
        "a service hangs",
        "never call restart_service without an approver",
        "The runbook asks for one, and the agent skipped it.",
        0.85,
        ("restart-invented", "de-neustart"),
    ),
    S(
        "action",
        "a service hangs in production",
        "call restart_service with the service's name",
        "Restarting helped in both cases that were tried.",
        0.58,
        ("restart-real", "health-check", "slow-dashboard"),
    ),
    S(
        "preflight",
        "before trigger_deploy",
        "call get_build and check that its state is green, then call trigger_deploy",
        "Three clean deploys began with the build.",
        0.8,
        ("deploy-clean", "commit-hash-context"),
        precondition="get_build",
        decisions=(D("approve", "otto"), D("approve", "june")),
    ),
    S(
        "recovery",
        "a deploy raises the error rate",
        "call rollback_deploy, then post_status_update with the time of the rollback",
        "Both rollbacks were followed by a line on the status page.",
        0.78,
        ("rollback-real", "status-page"),
        decisions=(D("approve", "otto"),),
    ),
    S(
        "recovery",
        "a deploy raises errors",
        "call fetch_logs and open an incident with create_incident",
        "The logs named the cause within minutes.",
        0.62,
        ("logs-pulled",),
    ),
    S(
        "action",
        "a customer was charged twice",
        "call list_invoices, then refund_charge for the later of the two",
        "Both double charges were settled like this.",
        0.82,
        ("double-charge",),
        reworded=(
            "A customer was charged twice",
            "list_invoices, then call refund_charge for the later",
        ),
        decisions=(D("approve", "june"),),
    ),
    S(
        "guardrail",
        "a customer asks for a credit",
        "never promise a credit above 200; a manager decides",
        "A credit was promised that nobody had approved.",
        0.75,
        ("credit-promised", "credit-applied"),
    ),
    S(
        "action",
        "somebody asks how to rotate a key",
        "call rotate_key and say that the old one keeps working for an hour",
        "The grace hour was what people asked about next.",
        0.71,
        ("docs-key-rotation", "docs-service-key"),
        decisions=(D("reject", "otto", "harmful", "Explain it; do not rotate anybody's key unasked."),),
    ),
    S(
        "action",
        "a dashboard is slow",
        "call query_metrics for p95 of the last two hours, then job_status of the nightly roll-up",
        "Six turns found the roll-up to be the cause.",
        0.67,
        ("slow-dashboard",),
    ),
)
