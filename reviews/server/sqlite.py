"""Which SQLite the process uses.

SQLite before 3.51.3 can lose a committed transaction when a WAL file is reset at the wrong moment, so an
older system library is replaced by the one the ``pysqlite3`` package bundles. Call ``use_current_sqlite``
before anything imports ``sqlite3`` through Django.
"""

from __future__ import annotations

import sqlite3
import sys

#: First release that carries the fix for the WAL-reset race.
FIXED_VERSION = (3, 51, 3)


def use_current_sqlite() -> bool:
    """Put pysqlite3 in sqlite3's place when the system's is too old; True when a fixed one is in use."""
    if sqlite3.sqlite_version_info >= FIXED_VERSION:
        return True
    try:
        import pysqlite3
        import pysqlite3.dbapi2
    except ImportError:
        return False
    if pysqlite3.sqlite_version_info < FIXED_VERSION:
        return False
    sys.modules["sqlite3"] = pysqlite3
    sys.modules["sqlite3.dbapi2"] = pysqlite3.dbapi2
    return True
