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


def _on_every_table(apps, schema_editor, statements):
    if schema_editor.connection.vendor != "postgresql":
        return
    for model in apps.get_app_config("reviews").get_models():
        if any(field.column == "tenant_id" for field in model._meta.local_concrete_fields):
            schema_editor.execute(statements.format(table=model._meta.db_table))


def build(apps, schema_editor):
    _on_every_table(apps, schema_editor, POLICY)


def tear_down(apps, schema_editor):
    _on_every_table(apps, schema_editor, NO_POLICY)


class Migration(migrations.Migration):
    dependencies = [("reviews", "0001_initial")]
    operations = [migrations.RunPython(build, tear_down)]
