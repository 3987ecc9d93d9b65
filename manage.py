#!/usr/bin/env python
"""Command line of an installation: ``python manage.py serve``, ``demo``, ``migrate``, …"""

import os
import sys

#: Commands whose ``--data DIR`` chooses the data folder, which the settings read when they load.
COMMANDS_WITH_DATA = ("serve", "demo")


def data_folder(arguments: list[str]) -> str | None:
    """The value of ``--data`` in ``arguments``, for the commands that know it."""
    if len(arguments) < 2 or arguments[1] not in COMMANDS_WITH_DATA:
        return None
    for position, argument in enumerate(arguments):
        if argument == "--data" and position + 1 < len(arguments):
            return arguments[position + 1]
        if argument.startswith("--data="):
            return argument.removeprefix("--data=")
    return None


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reviews.server.settings")
    if folder := data_folder(sys.argv):
        os.environ["REVIEWS_DATA_DIR"] = folder

    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
    except KeyboardInterrupt:
        # What was committed stays; the same command again goes on from there.
        sys.exit("Stopped.")


if __name__ == "__main__":
    main()
