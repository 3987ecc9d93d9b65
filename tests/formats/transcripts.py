"""One document of each transcript format with everything in it that its reader knows."""

from __future__ import annotations

from typing import Any

from tests.formats.samples import stream

TEXT = {"type": "text", "text": "Looking."}
ASK = {"role": "user", "content": "Where?"}
PART = {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}


def otlp(value: Any) -> dict[str, Any]:
    """A value as OTLP/JSON writes it."""
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": otlp(item)} for key, item in value.items()]}}
    if isinstance(value, list):
        return {"arrayValue": {"values": [otlp(item) for item in value]}}
    return {"stringValue": value}


OTLP_MESSAGES = otlp([{"role": "user", "parts": [{"type": "text", "content": "Where?"}]}])

DOCUMENTS: dict[str, list[dict[str, Any]]] = {
    "anthropic": [
        {
            "format": "anthropic",
            "status": 200,
            "request": {
                "system": [TEXT],
                "model": "m",
                "tools": [{"name": "track", "description": "finds"}],
                "messages": [
                    {"role": "user", "content": [TEXT, {"type": "image", "source": {}}]},
                    {
                        "role": "assistant",
                        "content": [
                            TEXT,
                            {"type": "tool_use", "id": "a", "name": "track", "input": {"n": 1}},
                        ],
                    },
                    {
                        "role": "user",
                        "content": [
                            {"type": "tool_result", "tool_use_id": "a", "is_error": True, "content": [TEXT]},
                            {"type": "tool_result", "tool_use_id": "b", "content": {"return_code": 1}},
                        ],
                    },
                ],
            },
            "response": {"model": "m", "content": [TEXT]},
        },
        {
            "messages": [ASK],
            "request": {"messages": [ASK]},
            "response": stream(
                {"type": "message_start", "message": {"model": "m"}},
                {"type": "content_block_start", "index": 0, "content_block": TEXT},
                {"type": "content_block_delta", "index": 0, "delta": {"text": "x"}},
            ),
        },
    ],
    "gemini": [
        {
            "request": {
                "systemInstruction": {"parts": [{"text": "Be kind."}]},
                "tools": [{"functionDeclarations": [{"name": "track"}]}, {"googleSearch": {}}],
                "contents": [
                    {"role": "user", "parts": [{"text": "Where?"}, PART]},
                    {"role": "model", "parts": [{"functionCall": {"name": "track", "args": {"n": 1}}}]},
                    {
                        "role": "user",
                        "parts": [{"functionResponse": {"name": "track", "response": {"error": "x"}}}],
                    },
                    {
                        "role": "model",
                        "parts": [
                            {"executableCode": {"code": "1"}},
                            {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "x"}},
                            {"toolCall": {"toolType": "SEARCH", "id": "s", "args": {}}},
                            {"toolResponse": {"toolType": "SEARCH", "id": "s", "response": {}}},
                        ],
                    },
                ],
            },
            "response": {"candidates": [{"content": {"parts": [{"text": "y"}]}}], "modelVersion": "m"},
        }
    ],
    "responses": [
        {
            "request": {
                "instructions": "Be kind.",
                "input": [
                    {"role": "user", "content": [{"type": "input_text", "text": "Where?"}]},
                    {"type": "function_call", "call_id": "a", "name": "track", "arguments": '{"n": 1}'},
                    {"type": "function_call_output", "call_id": "a", "output": "x", "error": "late"},
                    {"type": "web_search_call", "id": "w", "status": "completed", "action": {"query": "x"}},
                    {"type": "mcp_call", "id": "m", "name": "ask", "error": {"message": "no"}},
                ],
            },
            "response": {
                "created_at": 1,
                "output": [{"type": "message", "role": "assistant", "content": [TEXT]}],
            },
        }
    ],
    "openai-chat": [
        {
            "request": {
                "messages": [
                    {"role": "system", "content": "Be kind."},
                    ASK,
                    {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "track"}}]},
                    {"role": "tool", "tool_call_id": "a", "content": [TEXT], "error": True},
                ]
            },
            "response": {"choices": [{"message": {"content": "y", "function_call": {"name": "x"}}}]},
        },
        {
            "request": {"messages": [ASK]},
            "response": stream(
                {"choices": [{"index": 0, "delta": {"tool_calls": [{"id": "a", "function": {"name": "t"}}]}}]}
            ),
        },
    ],
    "tau-bench": [{"id": "r", "task_id": 1, "traj": [ASK, {"role": "assistant", "content": "y"}]}],
    "tau2": [
        {
            "messages": [
                {"role": "assistant", "content": "Hi", "timestamp": "2026-01-01T00:00:00"},
                ASK,
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": "a", "name": "t", "arguments": {}}],
                },
                {"role": "tool", "id": "a", "content": "x", "requestor": "assistant", "error": False},
            ]
        }
    ],
    "hammerbench": [
        {
            "tools": ["t"],
            "messages": [ASK, {"role": "function call", "content": {"name": "t", "arguments": {}}}],
        }
    ],
    "swe-agent": [
        {
            "source_path": "x",
            "history": [
                ASK,
                {"role": "assistant", "thought": "I look.", "action": "ls", "content": ""},
                {"role": "user", "content": [TEXT]},
            ],
        }
    ],
    "otel-genai": [
        {
            "resourceSpans": [
                {
                    "scopeSpans": [
                        {
                            "spans": [
                                {
                                    "traceId": "t",
                                    "endTimeUnixNano": "1750000000000000000",
                                    "status": {"code": 2, "message": "x"},
                                    "attributes": [{"key": "gen_ai.input.messages", "value": OTLP_MESSAGES}],
                                }
                            ]
                        }
                    ]
                }
            ]
        },
        {
            "spans": [
                {
                    "trace_id": "t",
                    "attributes": {
                        "gen_ai.tool.call.id": "a",
                        "error.type": "x",
                        "gen_ai.tool.call.result": "1",
                    },
                },
                {
                    "trace_id": "t",
                    "attributes": {
                        "gen_ai.system_instructions": [{"type": "text", "content": "Be kind."}],
                        "gen_ai.input.messages": [
                            {"role": "user", "parts": [{"type": "text", "content": "Where?"}]},
                            {"role": "assistant", "parts": [{"type": "tool_call", "id": "a", "name": "t"}]},
                            {
                                "role": "tool",
                                "parts": [{"type": "tool_call_response", "id": "a", "response": "x"}],
                            },
                        ],
                        "gen_ai.output.messages": [
                            {"role": "assistant", "parts": [{"type": "blob", "modality": "image"}]}
                        ],
                    },
                },
            ]
        },
    ],
    "reports": [{"id": "r", "draft": "x", "tool_calls": [{"name": "t", "args": {}, "result": "x"}]}],
}
DOCUMENTS["provider-wire"] = [
    {"format": name, "status": 200, **{key: document[key] for key in ("request", "response")}}
    for name, format_name in [
        ("anthropic", "anthropic"),
        ("gemini", "gemini"),
        ("openai", "openai-chat"),
        ("responses", "responses"),
    ]
    for document in DOCUMENTS[format_name]
]
