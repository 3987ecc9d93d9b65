"""Who reviewed which flagged turn, when, how long it took, and what they said."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import datetime, timedelta

from reviews.demo.model import DemoReview, DemoTurn, Label
from reviews.demo.script import Script

__all__ = ["add_reviews"]

_OPENS, _CLOSES = 8, 18
_NOTES: dict[Label, tuple[str, ...]] = {
    "fabricated": (
        "Nothing in the calls supports this.",
        "Went through every call of the conversation, the value is nowhere.",
        "Second one of these this week from the same agent.",
        "Customer could act on this, please put it on the list for Thursday.",
        "Looks right at a glance, which is what makes it bad.",
    ),
    "false_alarm": (
        "The tool ran, its name just doesn't match the verb.",
        "Harmless wording, nothing is claimed here.",
        "Comes from earlier in the conversation.",
        "Fine as it is. Candidate for a grounding rule?",
    ),
    "unsure": (
        "Can't tell from the trace whether the write went through. Asked the team.",
        "Depends on what the nightly sync did; leaving it for someone with access.",
    ),
}

_SECOND = (
    "Second look: agreed.",
    "Had another look because of the amount. Same result.",
    "Went through it again for the calibration sample.",
    "Agreed, and told the team that owns the agent.",
)


def add_reviews(
    turns: tuple[DemoTurn, ...],
    script: Script,
    *,
    now: datetime,
    rng: random.Random,
    texts: dict[str, tuple[str, str]],
) -> tuple[DemoTurn, ...]:
    """The same turns with reviews: the oldest flagged ones mostly decided, the newest mostly open."""
    flagged = [turn for turn in turns if turn.truth]
    people = [user.username for user in script.users if user.role != "viewer"]
    weights = [
        6 if user.role == "reviewer" else 3 if user.role == "manager" else 2
        for user in script.users
        if user.role != "viewer"
    ]
    fresh = 1 - script.open_share
    chosen: dict[str, tuple[DemoReview, ...]] = {}
    for index, turn in enumerate(flagged):
        place = (index + 0.5) / len(flagged)
        likely = 0.97 if place < fresh - 0.15 else 0.8 if place < fresh else 0.12
        if rng.random() >= likely:
            continue
        first, second = _two(people, weights, rng)
        review = _review(turn, first, now=now, rng=rng, own=texts[turn.record.external_id])
        if review is None:
            continue
        reviews = [review]
        if rng.random() < 0.14:
            again = _review(turn, second, now=now, rng=rng, after=review.seconds_after)
            if again is not None:
                reviews.append(again)
        chosen[turn.record.external_id] = tuple(reviews)
    return tuple(
        replace(turn, reviews=chosen[turn.record.external_id]) if turn.record.external_id in chosen else turn
        for turn in turns
    )


def _two(people: list[str], weights: list[int], rng: random.Random) -> tuple[str, str]:
    first = rng.choices(people, weights)[0]
    second = rng.choice([person for person in people if person != first])
    return first, second


def _review(
    turn: DemoTurn,
    username: str,
    *,
    now: datetime,
    rng: random.Random,
    own: tuple[str, str] = ("", ""),
    after: float = 0.0,
) -> DemoReview | None:
    """A decision at a working hour, or None when it would still lie ahead of now.

    ``own`` is the note and the corrected answer the scenario has for it; a second look brings neither.
    """
    occurred = turn.record.occurred_at or now
    at = _working(occurred + timedelta(seconds=after + rng.lognormvariate(8.4, 1.1) + 90), rng)
    if at >= now:
        return None
    labels: dict[str, Label] = {key: _said(label, rng) for key, label in turn.truth.items()}
    length = len(turn.record.draft)
    note, fix = own
    said = note if note and rng.random() < 0.8 else ""
    if not said and rng.random() < 0.22:
        said = rng.choice(_SECOND if after else _NOTES[next(iter(labels.values()))])
    return DemoReview(
        username=username,
        seconds_after=round((at - occurred).total_seconds(), 1),
        spent_seconds=round(rng.lognormvariate(2.5, 0.55) + 3.5 * len(labels) + length / 160, 1),
        labels=labels,
        note=said,
        corrected_answer=fix if "fabricated" in labels.values() and rng.random() < 0.85 else "",
    )


def _said(truth: Label, rng: random.Random) -> Label:
    """People agree with the truth nearly always; now and then they are unsure or wrong."""
    roll = rng.random()
    if truth == "unsure":
        return "unsure" if roll < 0.8 else "fabricated"
    if roll < 0.03:
        return "unsure"
    if roll < 0.06:
        return "false_alarm" if truth == "fabricated" else "fabricated"
    return truth


def _working(at: datetime, rng: random.Random) -> datetime:
    """``at`` itself in office hours, else some minutes into the next working day."""
    opening = timedelta(minutes=rng.randint(4, 150), seconds=rng.randint(0, 59))
    if at.hour >= _CLOSES:
        at = (at + timedelta(days=1)).replace(hour=_OPENS, minute=0, second=0) + opening
    elif at.hour < _OPENS:
        at = at.replace(hour=_OPENS, minute=0, second=0) + opening
    while at.weekday() >= 5:
        at += timedelta(days=1)
    return at
