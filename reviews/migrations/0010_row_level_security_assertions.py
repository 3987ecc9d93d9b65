"""Row-level security on the tables of the migration before (PostgreSQL only)."""

from importlib import import_module

from django.db import migrations

TABLES = [
    "reviews_assertioncount",
    "reviews_assertionresult",
]
walls = import_module("reviews.migrations.0002_row_level_security")


def _on_new_tables(schema_editor, statements):
    if schema_editor.connection.vendor == "postgresql":
        for table in TABLES:
            schema_editor.execute(statements.format(table=table))


def build(apps, schema_editor):
    _on_new_tables(schema_editor, walls.POLICY)


def tear_down(apps, schema_editor):
    _on_new_tables(schema_editor, walls.NO_POLICY)


class Migration(migrations.Migration):
    dependencies = [("reviews", "0009_assertions")]
    operations = [migrations.RunPython(build, tear_down)]
