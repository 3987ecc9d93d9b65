"""Pipewright: a software-as-a-service company whose agents answer billing questions and run operations."""

from __future__ import annotations

from reviews.demo.model import DemoUser
from reviews.demo.pipewright import billing, everyday, languages, operations, releases
from reviews.demo.pipewright.tools import AGENT_TOOLS, MEMORY, NOTES, TOOLS
from reviews.demo.script import Script
from reviews.demo.skills_pipewright import SKILLS

__all__ = ["PIPEWRIGHT"]

PIPEWRIGHT = Script(
    slug="pipewright",
    name="Pipewright Cloud",
    identifier_keys=(
        "invoice",
        "charge_id",
        "incident",
        "deploy",
        "build",
        "commit",
        "subscription",
        "digest",
    ),
    tool_trigger_keywords={
        "restart_service": ["restart", "neustart", "reinici", "redémarr"],
        "trigger_deploy": ["deploy", "release"],
        "rollback_deploy": ["rollback", "roll back"],
        "send_invoice": ["invoice", "factura", "rechnung", "facture", "fatura"],
        "run_job": ["backup", "export", "job", "sync"],
        "update_subscription": ["upgrade", "downgrade", "subscription", "seats"],
        "create_incident": ["incident", "störung"],
    },
    mode="revise",
    refuse_min_confidence=0.8,
    users=(
        DemoUser("ravi", "Ravi Menon", "owner"),
        DemoUser("ana", "Ana Belmonte", "manager"),
        DemoUser("june", "June Pallister", "reviewer"),
        DemoUser("otto", "Otto Wendt", "reviewer"),
        DemoUser("mia", "Mia Osterberg", "viewer"),
    ),
    models={
        "billing-bot": "kestrel-mini-2",
        "ops-bot": "wren-code-14b",
        "deploy-bot": "wren-code-14b",
        "docs-bot": "kestrel-mini-2",
    },
    tools=TOOLS,
    agent_tools=AGENT_TOOLS,
    memory_nodes=MEMORY,
    memory_notes=NOTES,
    channels=("chatops", "chatops", "support portal", "email"),
    skills=SKILLS,
    scenarios=(
        *billing.SCENARIOS,
        *operations.SCENARIOS,
        *releases.SCENARIOS,
        *everyday.SCENARIOS,
        *languages.SCENARIOS,
    ),
    open_share=0.25,
    detector="evidence",
)
