"""Sealed texts are unreadable without the secret key, and outlive its rotation while the old one is named."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest
from cryptography.fernet import Fernet

from reviews.services.sealing import UnsealError, seal, unseal

SECRET = "Bearer sk-éèß-4711"


def test_what_was_sealed_is_read_again():
    assert unseal(seal(SECRET)) == SECRET
    assert unseal(seal("")) == ""


def test_nothing_of_the_text_shows_and_equal_texts_are_sealed_differently():
    first, second = seal(SECRET), seal(SECRET)
    assert first != second
    assert b"sk-" not in first
    assert b"sk-" not in base64.urlsafe_b64decode(first)


def test_the_key_is_derived_by_hkdf_and_is_not_the_secret_itself(settings):
    """Computed here from RFC 5869: extract with a salt of zeros, expand by one block."""
    settings.SECRET_KEY = "correct horse battery staple"
    extracted = hmac.digest(bytes(32), settings.SECRET_KEY.encode(), hashlib.sha256)
    key = hmac.digest(extracted, b"reviews.services.sealing\x01", hashlib.sha256)
    assert Fernet(base64.urlsafe_b64encode(key)).decrypt(seal(SECRET)).decode() == SECRET


def test_an_old_secret_key_still_reads_and_no_longer_writes(settings):
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "old", []
    sealed = seal(SECRET)
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "new", ["older", "old"]
    assert unseal(sealed) == SECRET
    rotated = seal(SECRET)
    settings.SECRET_KEY_FALLBACKS = []
    assert unseal(rotated) == SECRET
    with pytest.raises(UnsealError):
        unseal(sealed)


@pytest.mark.parametrize("broken", [b"", b"not a token", b"gAAAAA=="])
def test_what_was_never_sealed_is_refused(broken):
    with pytest.raises(UnsealError):
        unseal(broken)


def test_a_sealed_text_that_was_changed_is_refused():
    sealed = bytearray(base64.urlsafe_b64decode(seal(SECRET)))
    sealed[-40] ^= 1
    with pytest.raises(UnsealError):
        unseal(base64.urlsafe_b64encode(bytes(sealed)))


def test_the_error_tells_nothing_of_the_secret():
    sealed = seal(SECRET)
    with pytest.raises(UnsealError) as refused:
        unseal(sealed[:-4] + b"AAAA")
    assert "sk-" not in str(refused.value)
    assert refused.value.__cause__ is None
