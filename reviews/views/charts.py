"""Geometry of the small charts. Templates only print it, as SVG attributes with plain numbers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from reviews.services.overview import Day, Precision

#: Units of the drawing; the browser stretches them to the width there is.
DAY_WIDTH = 10
RATE_HEIGHT = 100
VOLUME_HEIGHT = 30
VOLUME_TOP = RATE_HEIGHT + 8
RANGE_WIDTH = 200
#: A rate of fewer turns than this is drawn pale and does not stretch the axis: it is mostly chance.
FEW_TURNS = 10


class Bar(NamedTuple):
    """One day: where its bars stand and what they say."""

    x: int
    rate_y: float
    rate_height: float
    volume_y: float
    volume_height: float
    title: str
    day: date
    turns: int
    flagged: int
    rate: str
    is_few: bool


class RateChart(NamedTuple):
    """``top`` is the rate at the upper edge, in per cent; ``summary`` says the chart in a sentence."""

    bars: list[Bar]
    width: int
    height: int
    top: int
    most: int
    summary: str
    few: int
    has_few: bool


def rate_chart(days: Sequence[Day]) -> RateChart:
    """A bar for each day's flagged rate, and beneath it one for how many turns that was."""
    telling = [day for day in days if day.turns >= FEW_TURNS] or days
    top = _round_up(max((day.rate or 0.0 for day in telling), default=0.0) * 100)
    most = max((day.turns for day in days), default=0)
    bars = []
    for n, day in enumerate(days):
        rate_height = _tenths(min((day.rate or 0.0) * 100 / top, 1.0) * RATE_HEIGHT)
        volume_height = _tenths(day.turns / most * VOLUME_HEIGHT) if most else 0.0
        rate = percent(day.rate) if day.rate is not None else ""
        said = f"{day.flagged:,} of {day.turns:,} flagged, {rate}" if rate else "no turns"
        bars.append(
            Bar(
                x=n * DAY_WIDTH + 1,
                rate_y=_tenths(RATE_HEIGHT - rate_height),
                rate_height=rate_height,
                volume_y=_tenths(VOLUME_TOP + VOLUME_HEIGHT - volume_height),
                volume_height=volume_height,
                title=f"{_day(day.day)}: {said}",
                day=day.day,
                turns=day.turns,
                flagged=day.flagged,
                rate=rate,
                is_few=0 < day.turns < FEW_TURNS,
            )
        )
    return RateChart(
        bars=bars,
        width=len(days) * DAY_WIDTH,
        height=VOLUME_TOP + VOLUME_HEIGHT,
        top=top,
        most=most,
        summary=_summary(days),
        few=FEW_TURNS,
        has_few=any(bar.is_few and bar.flagged for bar in bars),
    )


def _summary(days: Sequence[Day]) -> str:
    turns, flagged = sum(day.turns for day in days), sum(day.flagged for day in days)
    if not turns:
        return f"No turns in the last {len(days)} days."
    rate = percent(flagged / turns)
    words = f"{flagged:,} of {turns:,} turns were flagged in the last {len(days)} days, {rate}."
    telling = [day for day in days if day.flagged and day.turns >= FEW_TURNS]
    if telling:
        worst = max(telling, key=lambda day: day.flagged / day.turns)
        words += f" Most on {_day(worst.day)}: {percent(worst.flagged / worst.turns)} of {worst.turns:,}."
    return words


class Range(NamedTuple):
    """The precision of one kind: in words, and where its interval and its point stand on a track."""

    name: str
    words: str
    detail: str
    start: float
    width: float
    point: float
    known: bool


def precision_range(name: str, precision: Precision) -> Range:
    found = precision.interval
    alarms = "false alarm" if precision.false_alarms == 1 else "false alarms"
    detail = f"{precision.fabricated:,} fabricated, {precision.false_alarms:,} {alarms}"
    if precision.unsure:
        detail += f", {precision.unsure:,} unsure"
    if found is None or precision.share is None:
        return Range(name, "too few labels", detail, 0, 0, 0, False)
    low, high = found.low * RANGE_WIDTH, found.high * RANGE_WIDTH
    words = f"{percent(precision.share)} [{found.low * 100:.0f}–{found.high * 100:.0f}]"
    point = precision.share * RANGE_WIDTH
    return Range(name, words, detail, _tenths(low), _tenths(high - low), _tenths(point), True)


def percent(share: float) -> str:
    """One decimal where it says something: "6.7 %", but "41 %" and "0 %"."""
    value = share * 100
    return f"{value:.1f} %" if 0 < value < 10 else f"{value:.0f} %"


def _round_up(value: float) -> int:
    """The next even edge for an axis in per cent."""
    return next((edge for edge in (1, 2, 5, 10, 20, 30, 40, 50, 60, 80) if value <= edge), 100)


def _tenths(value: float) -> float:
    return round(value, 1)


def _day(day: date) -> str:
    return f"{day.day} {day:%b}"
