"""Times as people read them in a list."""

from __future__ import annotations

from datetime import datetime


def age(moment: datetime, now: datetime) -> str:
    """How long ago, in the largest unit that says enough: "now", "5 min", "3 h", "12 d"."""
    seconds = (now - moment).total_seconds()
    if seconds < 60:
        return "now"
    if seconds < 3600:
        return f"{int(seconds // 60)} min"
    if seconds < 48 * 3600:
        return f"{int(seconds // 3600)} h"
    return f"{int(seconds // 86400)} d"


def ago(moment: datetime, now: datetime) -> str:
    """The same for the middle of a sentence: "just now", "5 min ago"."""
    said = age(moment, now)
    return "just now" if said == "now" else f"{said} ago"
