"""Word lists, windows and confidences of the detection engines, in one place.

Every constant is a documented fact of the detector this product reviews (symfonic-core 9.12.0); where
`docs` and the package disagree the documentation wins. Tuning happens per tenant, in policies, not here.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "ACTION_VERBS",
    "BUILT_IN_KEYS",
    "CLAIM_VERB_HINTS",
    "CONFIDENCE_INTENT",
    "CONFIDENCE_KEY_VALUE",
    "CONFIDENCE_SHORT_HEX",
    "CONFIDENCE_UUID",
    "CONFIDENCE_VERB_CLAIM",
    "GROUNDING_FIELDS",
    "INTENT_MIN_CONFIDENCE",
    "KNOWLEDGE_VERBS",
    "NEAR_KEY_WINDOW",
    "NEAR_VERB_WINDOW",
    "TOOL_NAME_FIELDS",
]

# Claim verb -> fragments; a tool whose lower-cased name contains one of them makes the claim believable.
CLAIM_VERB_HINTS: Final[dict[str, tuple[str, ...]]] = {
    "ran": ("run", "exec", "shell", "bash"),
    "called": ("call", "invoke", "exec"),
    "invoked": ("invoke", "call", "exec"),
    "executed": ("exec", "run", "shell", "bash"),
    "queried": ("query", "search", "find", "select", "sql"),
    "triggered": ("trigger", "fire", "start", "invoke"),
    "launched": ("spawn", "launch", "start", "exec"),
    "fetched": ("fetch", "get", "download", "pull", "read"),
    "started": ("start", "spawn", "launch", "boot"),
    "stopped": ("stop", "kill", "terminate", "halt"),
    "posted": ("post", "send", "publish", "http"),
    "updated": ("update", "patch", "write", "edit"),
    "deleted": ("delete", "remove", "drop", "destroy"),
    "created": ("create", "add", "insert", "make", "provision"),
    "spawned": ("spawn", "subagent", "run_agent", "exec", "start_"),
    "sent": ("send", "messag", "sms", "email", "twilio", "post"),
    "delivered": ("send", "messag", "deliver", "post"),
    "dispatched": ("dispatch", "send", "emit"),
    "checked": ("check", "status", "verify", "inspect"),
    "retrieved": ("fetch", "get", "read", "search", "retriev"),
    "pulled": ("pull", "fetch", "download", "get"),
    "pushed": ("push", "upload", "send", "commit"),
}

# Keys whose values are identifiers in every deployment; a tenant's own keys are added to them.
BUILT_IN_KEYS: Final[frozenset[str]] = frozenset(
    [
        "task_id",
        "taskid",
        "job_id",
        "jobid",
        "pid",
        "process_id",
        "request_id",
        "req_id",
        "trace_id",
        "span_id",
        "run_id",
        "ticket_id",
        "order_id",
        "service",
        "service_name",
        "instance",
        "instance_id",
    ]
)

# Fields of a tool call that may ground an identifier, and those that may name the tool, in order.
GROUNDING_FIELDS: Final = ("result", "output", "response", "args", "input")
TOOL_NAME_FIELDS: Final = ("name", "tool", "tool_name")

# Characters between a short hex token and its anchor: the text before it that may end in `key=`, and the
# gap (on either side) to a claim such as "I ran".
NEAR_KEY_WINDOW: Final = 32
NEAR_VERB_WINDOW: Final = 60

# Prior confidences, 0..1. Short hex stays below the default refuse threshold of 0.8 on purpose.
CONFIDENCE_UUID: Final = 0.95
CONFIDENCE_VERB_CLAIM: Final = 0.8
CONFIDENCE_KEY_VALUE: Final = 0.8
CONFIDENCE_INTENT: Final = 0.7
CONFIDENCE_SHORT_HEX: Final = 0.6

# An intent verdict below this says too little to hold against a turn that called no tool.
INTENT_MIN_CONFIDENCE: Final = 0.55

ACTION_VERBS: Final[frozenset[str]] = frozenset(
    [
        "run",
        "execute",
        "launch",
        "start",
        "stop",
        "restart",
        "kill",
        "terminate",
        "trigger",
        "fire",
        "invoke",
        "call",
        "create",
        "add",
        "insert",
        "register",
        "provision",
        "update",
        "patch",
        "modify",
        "edit",
        "set",
        "change",
        "rename",
        "delete",
        "remove",
        "drop",
        "destroy",
        "purge",
        "wipe",
        "deploy",
        "rollback",
        "scale",
        "reboot",
        "build",
        "publish",
        "ship",
        "release",
        "push",
        "upload",
        "download",
        "send",
        "post",
        "fetch",
        "pull",
        "sync",
        "backup",
        "restore",
        "schedule",
        "cancel",
        "please",
        "make",
    ]
)

KNOWLEDGE_VERBS: Final[frozenset[str]] = frozenset(
    [
        "what",
        "who",
        "where",
        "when",
        "why",
        "how",
        "which",
        "explain",
        "describe",
        "tell",
        "show",
        "summarise",
        "summarize",
        "define",
        "recall",
        "remember",
        "list",
        "enumerate",
        "detail",
        "compare",
        "differentiate",
        "outline",
        "understand",
        "know",
        "mean",
        "refer",
        "think",
        "believe",
    ]
)
