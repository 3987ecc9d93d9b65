"""Geometry of the charts on the Thresholds screen. Templates only print it, as SVG attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from reviews.core.calibration import Quality, ReliabilityBin
from reviews.core.curve import Point
from reviews.core.histogram import Bin
from reviews.core.labelled import Counts
from reviews.core.simulation import Effect
from reviews.services.judge import Policy
from reviews.services.simulation import Simulation
from reviews.views.charts import percent
from reviews.views.estimates import REFUSES_NOTHING, interval_words, rounded_down

#: Units of the drawings, which keep their proportions.
BIN_WIDTH = 20
LABELLED_HEIGHT = 180
GAP = 6
UNLABELLED_HEIGHT = 64
SQUARE_WIDTH = 300
SQUARE_HEIGHT = 200

#: The labels from the ground up: what ``Counts`` calls them, and how they are drawn.
LABELS = (("fabricated", "fabricated"), ("false_alarms", "false_alarm"), ("unsure", "unsure"))


class Segment(NamedTuple):
    css: str
    y: float
    height: float


class BinBars(NamedTuple):
    """The bars of one bin: labelled turns stacked upwards, unlabelled ones hanging below the line."""

    x: int
    segments: list[Segment]
    unlabelled: float
    title: str
    span: str
    counts: Counts


class Line(NamedTuple):
    """A threshold: where it stands, and how the legend calls it."""

    x: float
    words: str


class HistogramChart(NamedTuple):
    """``now`` is missing where the policy in force reads other confidences than the axis shows."""

    bars: list[BinBars]
    width: int
    height: int
    ground: int
    below: int
    most_labelled: int
    most_unlabelled: int
    now: Line | None
    then: Line
    axis: str
    summary: str


def histogram_chart(found: Simulation) -> HistogramChart:
    """Turns by the confidence of their strongest claim, as what is tried reads it."""
    bins = found.histogram
    most = max((_labelled(bin_.turns) for bin_ in bins), default=0)
    most_unlabelled = max((bin_.turns.unlabelled for bin_ in bins), default=0)
    width = len(bins) * BIN_WIDTH
    source = _source(found.candidate)
    same_axis = source == _source(found.current) and (
        source == "raw" or found.current.calibration == found.candidate.calibration
    )
    return HistogramChart(
        bars=[_bars(n, bin_, most, most_unlabelled) for n, bin_ in enumerate(bins)],
        width=width,
        height=LABELLED_HEIGHT + GAP + UNLABELLED_HEIGHT,
        ground=LABELLED_HEIGHT,
        below=LABELLED_HEIGHT + GAP,
        most_labelled=most,
        most_unlabelled=most_unlabelled,
        now=_line(found.current, width) if same_axis else None,
        then=_line(found.candidate, width),
        axis=source,
        summary=_histogram_summary(bins),
    )


def _bars(n: int, bin_: Bin, most: int, most_unlabelled: int) -> BinBars:
    counts, y, segments = bin_.turns, float(LABELLED_HEIGHT), []
    for name, css in LABELS:
        height = getattr(counts, name) / most * LABELLED_HEIGHT if most else 0.0
        if height:
            y -= height
            segments.append(Segment(css, _tenths(y), _tenths(height)))
    span = f"{bin_.low:.2f}–{bin_.high:.2f}"
    return BinBars(
        x=n * BIN_WIDTH + 1,
        segments=segments,
        unlabelled=_tenths(counts.unlabelled / most_unlabelled * UNLABELLED_HEIGHT)
        if most_unlabelled
        else 0.0,
        title=(
            f"{span}: {counts.fabricated:,} fabricated, {counts.false_alarms:,} false alarms, "
            f"{counts.unsure:,} unsure, {counts.unlabelled:,} not labelled"
        ),
        span=span,
        counts=counts,
    )


def _labelled(counts: Counts) -> int:
    return counts.fabricated + counts.false_alarms + counts.unsure


def _source(policy: Policy) -> str:
    """The confidences a policy reads; without a calibration there are only raw ones."""
    wanted = policy.settings.fabrication_confidence_source
    return wanted if policy.calibration is not None else "raw"


def _line(policy: Policy, width: int) -> Line:
    threshold = policy.settings.fabrication_refuse_min_confidence
    return Line(_tenths(threshold * width), f"{threshold:g}")


def _histogram_summary(bins: Sequence[Bin]) -> str:
    sums = [sum(getattr(bin_.turns, name) for bin_ in bins) for name in Counts._fields]
    fabricated, false_alarms, unsure, unlabelled = sums
    return (
        f"{sum(sums):,} flagged turns: {fabricated:,} fabricated, {false_alarms:,} false alarms, "
        f"{unsure:,} unsure, {unlabelled:,} not labelled."
    )


class Mark(NamedTuple):
    """A policy's place in the plot, or why it has none (``words``)."""

    x: float
    y: float
    words: str
    known: bool


class CurveRow(NamedTuple):
    threshold: str
    refused: int
    labelled: int
    precision: str
    at_least: str
    caught: str


class CurveChart(NamedTuple):
    """``line`` and ``lower`` are the points of two polylines: the precision and its lower end."""

    line: str
    lower: str
    now: Mark
    then: Mark
    rows: list[CurveRow]
    width: int
    height: int
    summary: str


#: Lines of the table; the curve itself has up to a thousand points.
ROWS_SHOWN = 40


def curve_chart(found: Simulation) -> CurveChart:
    """Precision against the share of the known fabricated turns that is refused, over all thresholds."""
    points = [point for point in found.curve if point.precision is not None and point.caught is not None]
    known = sum(bin_.turns.fabricated for bin_ in found.histogram)
    now, then = _mark(found.now, known), _mark(found.then, known)
    return CurveChart(
        line=" ".join(f"{_across(p.caught)},{_up(p.precision)}" for p in points),
        lower=" ".join(f"{_across(p.caught)},{_up(p.precision_low)}" for p in points),
        now=now,
        then=then,
        rows=[_curve_row(point) for point in _thinned(points)],
        width=SQUARE_WIDTH,
        height=SQUARE_HEIGHT,
        summary=f"In force: {now.words}. Tried: {then.words}.",
    )


def _mark(effect: Effect, known: int) -> Mark:
    labelled = effect.fabricated + effect.false_alarms
    if not effect.actions.refused:
        return Mark(0, 0, REFUSES_NOTHING, False)
    if not labelled or not known:
        return Mark(0, 0, "no labels to tell", False)
    precision, caught = effect.fabricated / labelled, effect.fabricated / known
    words = f"precision {percent(precision)}, {percent(caught)} caught"
    return Mark(_across(caught), _up(precision), words, True)


def _thinned(points: Sequence[Point]) -> Sequence[Point]:
    """Evenly chosen ones, first and last among them."""
    if len(points) <= ROWS_SHOWN:
        return points
    last = len(points) - 1
    return [points[round(n * last / (ROWS_SHOWN - 1))] for n in range(ROWS_SHOWN)]


def _curve_row(point: Point) -> CurveRow:
    return CurveRow(
        threshold=f"{point.threshold / 1000:g}",
        refused=point.refused,
        labelled=point.fabricated + point.false_alarms,
        precision=percent(point.precision or 0.0),
        at_least=f"{rounded_down(point.precision_low or 0.0)} %",
        caught=percent(point.caught or 0.0),
    )


class Dot(NamedTuple):
    """A bin of the reliability diagram with its interval, ``low`` and ``high`` being heights in the plot."""

    x: float
    y: float
    low: float
    high: float
    predicted: str
    observed: str
    n: int


class ReliabilityChart(NamedTuple):
    raw: list[Dot]
    calibrated: list[Dot]
    width: int
    height: int


def reliability_chart(quality: Quality) -> ReliabilityChart:
    """What was predicted on the way across, what was observed on the way up."""
    return ReliabilityChart(
        raw=[_dot(bin_) for bin_ in quality.bins_raw],
        calibrated=[_dot(bin_) for bin_ in quality.bins_calibrated],
        width=SQUARE_WIDTH,
        height=SQUARE_HEIGHT,
    )


def _dot(found: ReliabilityBin) -> Dot:
    low, high = found.interval
    return Dot(
        x=_across(found.predicted),
        y=_up(found.observed),
        low=_up(low),
        high=_up(high),
        predicted=percent(found.predicted),
        observed=f"{percent(found.observed)} {interval_words(low, high)}",
        n=found.n,
    )


def _across(share: float | None) -> float:
    return _tenths((share or 0.0) * SQUARE_WIDTH)


def _up(share: float | None) -> float:
    return _tenths((1 - (share or 0.0)) * SQUARE_HEIGHT)


def _tenths(value: float) -> float:
    return round(value, 1)
