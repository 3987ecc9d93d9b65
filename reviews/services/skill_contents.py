"""The text of a skill: what a person may write into it, its revisions, and how a runtime is told of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple, cast

from django.db.models import Max

from reviews.core.drafts import ProceduralDraft, ProceduralKind, draft_label, draft_to_memory_entry
from reviews.models import Skill, SkillRevision, User
from reviews.services.errors import InvalidError

#: Of a trigger, an action, a rationale, one precondition or one step.
MAX_TEXT_LENGTH = 10_000
MAX_ITEMS = 50
#: What a revision keeps.
CONTENT_FIELDS: Final = ("trigger", "action", "rationale", "precondition", "steps", "label")


class _Scope(NamedTuple):
    tenant_id: str


def content_of(skill: Skill) -> dict[str, Any]:
    """The skill's text as a revision keeps it."""
    return {name: getattr(skill, name) for name in CONTENT_FIELDS}


def edited(skill: Skill, content: Mapping[str, Any]) -> dict[str, Any]:
    """What of the skill's text changes when ``content`` is written into it; fields left out stay.

    ``trigger``, ``action`` and ``rationale`` are texts, ``precondition`` is nothing, a text or a list of
    texts, ``steps`` a list of texts. A label that was made from the trigger is made anew, and steps that only
    repeat the action go on doing so. The kind is not a person's to edit: it says how many have to approve.

    Raises:
        InvalidError: ``details['fields']`` names each field that is unknown or cannot be used; no field when
            nothing changes.
    """
    problems = {name: "A skill has no such text." for name in content if name not in _CHECKS}
    values: dict[str, Any] = {}
    for name, check in _CHECKS.items():
        if name in content:
            try:
                values[name] = check(content[name])
            except _WrongError as wrong:
                problems[name] = str(wrong)
    if problems:
        raise InvalidError("This text cannot be kept.", fields=problems)
    if skill.steps == [skill.action] and values.get("steps", skill.steps) == skill.steps:
        values["steps"] = [values.get("action", skill.action)]
    if "trigger" in values:
        values["label"] = _label(skill, values["trigger"])
    changed = {name: value for name, value in values.items() if value != getattr(skill, name)}
    if not changed:
        raise InvalidError("Nothing was changed.", fields={})
    return changed


def add_revision(*, skill: Skill, author: User, at: datetime) -> SkillRevision:
    """Keep the skill's text as an edit left it, under the next number; 0 is the text as it came."""
    last = skill.revisions.aggregate(last=Max("number"))["last"]
    revision = SkillRevision(
        tenant_id=skill.tenant_id,
        skill=skill,
        number=last + 1,
        content=content_of(skill),
        author=author,
        created_at=at,
    )
    revision.save(force_insert=True)
    return revision


def patch_of(skill: Skill) -> dict[str, Any]:
    """The skill's text as the body of the runtime's PATCH, under the names its memory keeps it by."""
    draft = ProceduralDraft(
        kind=cast(ProceduralKind, skill.kind),
        trigger=skill.trigger,
        action=skill.action,
        rationale=skill.rationale,
        precondition=skill.precondition,
    )
    return {
        "steps": skill.steps or [skill.action],
        "properties": {
            "content": draft_to_memory_entry(draft, _Scope("")).content,
            "context": skill.rationale,
            "label": skill.label,
            "trigger": skill.trigger,
            "rationale": skill.rationale,
            # Sent also when there is none (any more): properties left out of a PATCH stay.
            "precondition": skill.precondition,
        },
    }


# -- Reading what a person wrote


class _WrongError(Exception):
    """What is wrong with a value, in a sentence."""


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _WrongError("Must be a text.")
    text = storable(value).strip()
    if not text:
        raise _WrongError("Write something first.")
    return text


def storable(text: str) -> str:
    """The text, when either database can keep it."""
    if len(text) > MAX_TEXT_LENGTH:
        raise _WrongError(f"At most {MAX_TEXT_LENGTH:,} characters.")
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise _WrongError("NUL and halves of surrogate pairs are no characters.")
    return text


def reason_text(text: str) -> str:
    """Free text beside a decision. Raises InvalidError naming ``text``."""
    try:
        return storable(text.strip())
    except _WrongError as wrong:
        raise InvalidError("This text cannot be kept.", fields={"text": str(wrong)}) from None


def _texts(value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _WrongError("Must be a list of texts.")
    if len(value) > MAX_ITEMS:
        raise _WrongError(f"At most {MAX_ITEMS} of them.")
    return [storable(item).strip() for item in value if item.strip()]


def _steps(value: object) -> list[str] | None:
    return None if value is None else _texts(value) or None


def _precondition(value: object) -> str | list[str] | None:
    """As the extractors write it: blank is none, and a list of one is that one."""
    if value is None or isinstance(value, str):
        return storable(value or "").strip() or None
    texts = _texts(value)
    return texts if len(texts) > 1 else texts[0] if texts else None


_CHECKS: Final[dict[str, Callable[[object], Any]]] = {
    "trigger": _text,
    "action": _text,
    "rationale": _text,
    "precondition": _precondition,
    "steps": _steps,
}


def _label(skill: Skill, trigger: str) -> str:
    """The label for another trigger: the agent reads it, so it must not go on saying the old one."""
    for make in (_label_of_model, _label_of_pattern):
        if skill.label == make(skill.kind, skill.trigger):
            return make(skill.kind, trigger)
    return skill.label


def _label_of_model(kind: str, trigger: str) -> str:
    return draft_label(ProceduralDraft(cast(ProceduralKind, kind), trigger, "", ""))


def _label_of_pattern(_kind: str, trigger: str) -> str:
    longest = Skill._meta.get_field("label").max_length
    return f"Auto-learned: {trigger}"[:longest]
