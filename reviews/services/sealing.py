"""Secrets of others that we must be able to use again, such as the Authorization header of a runtime.

They are encrypted with a key derived from ``SECRET_KEY`` and kept nowhere else: not logged, not in the audit
log, never shown again. Whoever has the database alone cannot read them.
"""

from __future__ import annotations

import base64

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

#: Sets these keys apart from every other use of the same secret (RFC 5869, section 3.2).
_PURPOSE = b"reviews.services.sealing"
_KEY_BYTES = 32


class UnsealError(Exception):
    """What is stored was sealed under another ``SECRET_KEY``, or has been changed."""


def seal(text: str) -> bytes:
    """Encrypt and sign a text under the current ``SECRET_KEY``."""
    return _box().encrypt(text.encode())


def unseal(sealed: bytes) -> str:
    """The text again, also of one sealed under a key in ``SECRET_KEY_FALLBACKS``. Raises UnsealError."""
    try:
        return _box().decrypt(sealed).decode()
    except InvalidToken:
        raise UnsealError("It was stored under another SECRET_KEY.") from None


def _box() -> MultiFernet:
    # The first one writes, all of them read.
    return MultiFernet([_fernet(secret) for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)])


def _fernet(secret: str) -> Fernet:
    key = HKDF(algorithm=SHA256(), length=_KEY_BYTES, salt=None, info=_PURPOSE).derive(secret.encode())
    return Fernet(base64.urlsafe_b64encode(key))
