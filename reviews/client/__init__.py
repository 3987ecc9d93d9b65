"""What an agent's process imports. Needs the standard library and httpx, nothing else."""

from reviews.client.checking import CheckResult
from reviews.client.client import AsyncReviewClient, ReviewClient
from reviews.client.counters import Counters, Refusal
from reviews.client.errors import ReviewClientError
from reviews.client.policy import PolicyInForce

__all__ = [
    "AsyncReviewClient",
    "CheckResult",
    "Counters",
    "PolicyInForce",
    "Refusal",
    "ReviewClient",
    "ReviewClientError",
]
