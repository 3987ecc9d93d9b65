"""Typed readers for the environment, and secrets that are made once and kept in the data folder."""

from __future__ import annotations

import os
import secrets
from math import inf
from pathlib import Path

from environs import Env, EnvError

env = Env()


def names(variable: str, default: list[str] | None = None) -> list[str]:
    """A list separated by commas, with or without spaces. Raises when it is required and empty."""
    found = [name for entry in (env.list(variable, default) or []) if (name := str(entry).strip())]
    if default is None and not found:
        raise EnvError(f"{variable} must name at least one.")
    return found


def prices(variable: str) -> tuple[float, float] | None:
    """Two prices separated by a comma; None when there are none. Raises for anything else."""
    found = names(variable, [])
    if not found:
        return None
    try:
        tokens_in, tokens_out = map(float, found)
    except ValueError:
        raise EnvError(f"{variable} must be two numbers, such as 0.15,0.60.") from None
    if not (0 <= tokens_in < inf and 0 <= tokens_out < inf):
        raise EnvError(f"{variable} must be prices of 0 or more.")
    return tokens_in, tokens_out


def models(variable: str) -> dict[str, tuple[float, float] | None]:
    """Models by name, each perhaps with its prices: ``small, large=0.15/0.60``. Raises for anything else."""
    found: dict[str, tuple[float, float] | None] = {}
    for entry in names(variable, []):
        name, has_prices, text = entry.partition("=")
        try:
            tokens_in, tokens_out = map(float, text.split("/")) if has_prices else (0.0, 0.0)
        except ValueError:
            raise EnvError(f"{variable} must be names, each perhaps with =0.15/0.60 behind it.") from None
        if not name.strip() or not (0 <= tokens_in < inf and 0 <= tokens_out < inf):
            raise EnvError(f"{variable} must be names, and prices of 0 or more.")
        found[name.strip()] = (tokens_in, tokens_out) if has_prices else None
    return found


def stored_secret(path: Path) -> str:
    """Return the secret kept in ``path``, making it first (mode 0600) when there is none.

    Two processes that start together agree: the file is created exclusively, the loser reads the winner's.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(48))
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text().strip()
