"""Row-level security on every table of a tenant (PostgreSQL only; see reviews.models.confinement)."""

from django.db import migrations

POLICY = """
ALTER TABLE "{table}" ENABLE ROW LEVEL SECURITY;
ALTER TABLE "{table}" FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_wall ON "{table}" USING (
    CASE current_setting('reviews.tenant', true)
        WHEN '*' THEN true
        WHEN '' THEN false
        ELSE tenant_id = current_setting('reviews.tenant', true)::bigint
    END
);
"""
NO_POLICY = """
DROP POLICY tenant_wall ON "{table}";
ALTER TABLE "{table}" NO FORCE ROW LEVEL SECURITY;
ALTER TABLE "{table}" DISABLE ROW LEVEL SECURITY;
"""


def _execute(schema_editor, statements, tables):
    if schema_editor.connection.vendor == "postgresql":
        for table in tables:
            schema_editor.execute(statements.format(table=table))


def _tables_of_tenants(apps):
    for model in apps.get_app_config("reviews").get_models():
        if any(field.column == "tenant_id" for field in model._meta.local_concrete_fields):
            yield model._meta.db_table


def build(apps, schema_editor):
    _execute(schema_editor, POLICY, _tables_of_tenants(apps))


def tear_down(apps, schema_editor):
    _execute(schema_editor, NO_POLICY, _tables_of_tenants(apps))


def wall_in(tables):
    """The operation of a later migration, for the tables it names."""
    return migrations.RunPython(
        lambda apps, schema_editor: _execute(schema_editor, POLICY, tables),
        lambda apps, schema_editor: _execute(schema_editor, NO_POLICY, tables),
    )


class Migration(migrations.Migration):
    dependencies = [("reviews", "0001_initial")]
    operations = [migrations.RunPython(build, tear_down)]
