"""Row-level security on the tables of the migration before (PostgreSQL only)."""

from importlib import import_module

from django.db import migrations

TABLES = [
    "reviews_delivery",
    "reviews_runtime",
    "reviews_skill",
    "reviews_skilldecision",
    "reviews_skillevidence",
    "reviews_skillreplay",
    "reviews_skillrevision",
]
walls = import_module("reviews.migrations.0002_row_level_security")


class Migration(migrations.Migration):
    dependencies = [("reviews", "0005_skills")]
    operations = [walls.wall_in(TABLES)]
