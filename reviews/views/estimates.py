"""Estimates and outcomes in words: the same ones on Thresholds, on a version's page and on the overview."""

from __future__ import annotations

from math import ceil, floor
from typing import Any, NamedTuple

from reviews.core.estimates import Among, Estimate, NotEnough

#: What becomes of a turn, and what it costs.
REFUSED = "Refused"
REVISED = "Sent for revision"
OBSERVED = "Only observed"
CRITIC = "Critic calls a day"

#: Why a policy has no precision at all: its mode, or its thresholds, refuse no turn.
REFUSES_NOTHING = "refuses nothing"
NO_TURN = "no turn yet"

AMONG: dict[Among, str] = {
    "refused": "among the turns refused",
    "let_through": "among the flagged turns let through",
    "unflagged": "in the audit sample of unflagged turns",
}
#: 0.29 * 100 is a little less than 29; a share that is truly below a whole number is further away.
_SLACK = 1e-9


class Said(NamedTuple):
    """What a cell says. ``is_range``: a share with its interval, which must not be broken into two lines."""

    words: str
    is_range: bool = False


def estimate_words(estimate: Estimate, goal: float | None = None) -> str:
    """ "93 % [88–96]": the share and its 95 % interval, with as many decimals as ``goal`` (0 to 1) has.

    The interval is rounded outwards, and the share never up to the goal or to 100 %: so what is read does not
    say that something is reached when it is not.
    """
    digits = 0 if goal is None else decimals_of(goal)
    value = _share(estimate.value, digits, [1.0] if goal is None else [1.0, goal])
    return f"{value} % {interval_words(estimate.low, estimate.high, digits)}"


def interval_words(low: float, high: float, digits: int = 0) -> str:
    """ "[88–96]", rounded outwards."""
    return f"[{rounded_down(low, digits)}–{_scaled(ceil, high, digits, -_SLACK)}]"


def rounded_down(share: float, digits: int = 0) -> str:
    """Per cent without the sign, so that "at least" holds."""
    return _scaled(floor, share, digits, _SLACK)


def goal_words(goal: float) -> str:
    """A goal as it was typed: "90 %", "85.5 %"."""
    return f"{goal * 100:.10g} %"


def decimals_of(goal: float) -> int:
    """How many decimals a goal has in per cent."""
    return len(goal_words(goal).removesuffix(" %").partition(".")[2])


def missing_words(found: NotEnough) -> str:
    """Why there is no estimate."""
    if found.among == "fabricated":
        return "no turn is known to be fabricated yet"
    return f"not enough labels: {found.labelled:,} of {found.needed:,} ({AMONG[found.among]})"


def said_of(estimate: Estimate | NotEnough, *, refuses: bool = True) -> Said:
    """An estimate, or why there is none; ``refuses``: whether any turn is refused at all."""
    if isinstance(estimate, Estimate):
        return Said(estimate_words(estimate), True)
    return Said(missing_words(estimate) if refuses else REFUSES_NOTHING)


def rate_words(value: float) -> str:
    """Three figures are enough: "0.4", "13.1", "1,204"."""
    return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def agreement_words(agree: int, turns: int) -> str:
    """In per cent; 100 is kept for when there is no exception."""
    if not turns:
        return "–"
    return "100 %" if agree == turns else f"{min(floor(agree / turns * 1000) / 10, 99.9):.1f} %"


def not_counted_words(turns: int) -> str:
    """What the numbers leave out; empty for nothing."""
    if turns == 1:
        return "1 flagged turn is still being counted; the numbers leave it out."
    return f"{turns:,} flagged turns are still being counted; the numbers leave them out." if turns else ""


class ShadowWords(NamedTuple):
    """How a version did in shadow."""

    turns: str
    agreement: str
    extra: str
    fewer: str
    precision: Said


def shadow_words(
    *, turns: int, agree: int, extra: int, fewer: int, precision: Estimate | NotEnough, mode: str
) -> ShadowWords:
    """Numbers as ``services.shadow.ShadowReport`` has them; ``mode`` is that of the version in shadow."""
    return ShadowWords(
        turns=f"{turns:,}",
        agreement=agreement_words(agree, turns),
        extra=f"{extra:,}",
        fewer=f"{fewer:,}",
        precision=said_of(precision, refuses=mode == "refuse") if turns else Said(NO_TURN),
    )


def _share(share: float, digits: int, never_up_to: list[float]) -> str:
    # One decimal where it says something, as charts.percent has it.
    digits = max(digits, 1) if 0 < share < 0.1 else digits
    text = f"{share * 100:.{digits}f}"
    if any(share < limit and float(text) >= limit * 100 - _SLACK for limit in never_up_to):
        return rounded_down(share, digits)
    return _tidy(text)


def _scaled(whole: Any, share: float, digits: int, slack: float) -> str:
    return _tidy(f"{whole(share * 100 * 10**digits + slack) / 10**digits:.{digits}f}")


def _tidy(text: str) -> str:
    """ "0" and "100" need no decimals."""
    return f"{float(text):g}" if float(text) in (0, 100) else text
