"""Text of strangers inside a prompt: shown as data, between marks that nobody can guess.

Two walls keep it data. The marks hold a fence that is drawn for each prompt, so that no text can repeat them;
and what stands between them is JSON without line ends, so that no text can stand on a line of its own as a
mark or an instruction does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Final

__all__ = ["fenced", "json_line"]

# Written as JSON escapes, so that nothing is lost: what ends a line for some reader (C1 controls, U+2028,
# U+2029), what turns the direction of writing, invisible tag characters, and halves of surrogate pairs,
# which have no UTF-8 form.
_ESCAPED: Final = re.compile(
    "[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def fenced(name: str, lines: Iterable[str], *, fence: str) -> str:
    """``lines``, each made by ``json_line`` or as harmless, between the two marks of ``fence``."""
    return "\n".join([f"[{fence} BEGIN {name}]", *lines, f"[{fence} END {name}]"])


def json_line(value: Any) -> str:
    """``value`` as JSON on one line, whatever a reader takes for a line end; reads back as it was."""
    return _ESCAPED.sub(lambda found: json.dumps(found[0])[1:-1], json.dumps(value, ensure_ascii=False))
