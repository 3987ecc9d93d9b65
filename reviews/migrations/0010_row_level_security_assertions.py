"""Row-level security on the tables of the migration before (PostgreSQL only)."""

from importlib import import_module

from django.db import migrations

TABLES = [
    "reviews_assertioncount",
    "reviews_assertionresult",
]
walls = import_module("reviews.migrations.0002_row_level_security")


class Migration(migrations.Migration):
    dependencies = [("reviews", "0009_assertions")]
    operations = [walls.wall_in(TABLES)]
