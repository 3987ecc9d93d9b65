"""Which claims a turn makes, how confidently, and beside which tools: all that a threshold can tell apart.

Turns with an equal profile meet the same fate under every policy, so a simulation counts profiles, not turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, NamedTuple, Protocol

import msgspec

__all__ = [
    "MANY_TOOLS",
    "UNKNOWN_TOOLS",
    "Claim",
    "Group",
    "Profile",
    "profile_of",
    "subject_of",
    "thousandths",
    "tools_of",
]

#: Confidences and thresholds are compared in thousandths: a policy's thresholds have three decimals.
UNIT: Final = 1000
#: Past so many distinct tools a combination hardly ever recurs, so there is nothing to learn from it.
TOOLS_TOLD_APART: Final = 3
MANY_TOOLS: Final = "*"
#: Of a turn known from a runtime's event only, nobody has said which tools ran.
UNKNOWN_TOOLS: Final = "?"
TOOL_NAME_LENGTH: Final = 64
SUBJECT_LENGTH: Final = 32


class ClaimLike(Protocol):
    """What a finding of the detector and a stored one have in common."""

    @property
    def kind(self) -> str: ...
    @property
    def identifier(self) -> str: ...
    @property
    def key(self) -> str | None: ...
    @property
    def confidence(self) -> float: ...


class Group(NamedTuple):
    """Findings that are likely to be right or wrong together.

    ``subject`` is the claim's verb or key, lower-cased ("" for kinds without one); ``tools`` the tools that
    fired in the turn, as ``tools_of`` writes them.
    """

    kind: str
    subject: str
    tools: str


class Claim(NamedTuple):
    """A kind of claim in a turn. ``raw`` is its detector's confidence in whole thousandths, rounded down."""

    kind: str
    subject: str
    raw: int


@dataclass(frozen=True)
class Profile:
    """The distinct claims of a turn, sorted, and the tools that fired."""

    tools: str
    claims: tuple[Claim, ...]

    @property
    def digest(self) -> bytes:
        """16 bytes, equal for equal profiles."""
        return blake2b(msgspec.json.encode(self.to_json()), digest_size=16, person=b"profile").digest()

    def to_json(self) -> dict[str, Any]:
        return {"tools": self.tools, "claims": [list(claim) for claim in self.claims]}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Profile:
        return cls(content["tools"], tuple(Claim(*claim) for claim in content["claims"]))

    def group(self, claim: Claim) -> Group:
        return Group(claim.kind, claim.subject, self.tools)


def profile_of(findings: Sequence[ClaimLike], tool_names: Iterable[str] | None) -> Profile | None:
    """The profile of a turn with these findings; None without any. ``tool_names`` None: not known."""
    if not findings:
        return None
    claims = {Claim(f.kind, subject_of(f), thousandths(f.confidence)) for f in findings}
    return Profile(tools_of(tool_names), tuple(sorted(claims)))


def subject_of(finding: ClaimLike) -> str:
    """The verb of a claimed action, else the key before an identifier, lower-cased; "" without either."""
    if finding.kind == "verb_claim":
        words = finding.identifier.split()
        return words[-1].lower()[:SUBJECT_LENGTH] if words else ""
    return (finding.key or "").lower()[:SUBJECT_LENGTH]


def tools_of(names: Iterable[str] | None) -> str:
    """Distinct tool names, lower-cased, sorted, a line each; ``MANY_TOOLS`` for more than three."""
    if names is None:
        return UNKNOWN_TOOLS
    distinct = {" ".join(name.lower().split())[:TOOL_NAME_LENGTH] for name in names}
    return MANY_TOOLS if len(distinct) > TOOLS_TOLD_APART else "\n".join(sorted(distinct))


def thousandths(confidence: float) -> int:
    """The largest whole n with n / 1000 <= confidence, 0 to 1000.

    So ``confidence >= t`` holds for a threshold t of three decimals exactly when n >= 1000 t.
    """
    n = round(confidence * UNIT)
    return n - 1 if n / UNIT > confidence else n
