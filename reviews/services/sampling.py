"""The audit sample: unflagged turns put before reviewers at random, to learn what the detector misses.

Drawn from the turn's id with a secret, so that a turn judged twice is drawn once, and no agent can choose an
id that is never looked at.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b

from django.conf import settings

_RANGE = 2**64


def is_drawn(external_id: str, rate: float) -> bool:
    """Whether this turn is in a sample drawn at ``rate``, 0 to 1. Larger samples hold smaller ones."""
    if rate <= 0:
        return False
    digest = blake2b(external_id.encode("utf-8", "surrogatepass"), digest_size=8, key=_key()).digest()
    return int.from_bytes(digest, "big") < rate * _RANGE


@lru_cache(maxsize=1)
def _key() -> bytes:
    return blake2b(settings.SECRET_KEY.encode(), digest_size=32, person=b"audit sample").digest()
