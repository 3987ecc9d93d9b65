"""Row-level security on the tables of the migration before (PostgreSQL only)."""

from importlib import import_module

from django.db import migrations

TABLES = [
    "reviews_calibration",
    "reviews_confidenceprofile",
    "reviews_gatecount",
    "reviews_groundingsuggestion",
    "reviews_job",
    "reviews_profilecount",
    "reviews_rejudgedturn",
    "reviews_shadowoutcome",
]
walls = import_module("reviews.migrations.0002_row_level_security")


class Migration(migrations.Migration):
    dependencies = [("reviews", "0003_thresholds")]
    operations = [walls.wall_in(TABLES)]
