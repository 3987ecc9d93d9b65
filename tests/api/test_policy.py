from __future__ import annotations

import pytest
from django.test import Client

from reviews.core.settings import TenantSettings, parse_settings
from reviews.models import PolicyVersion, Tenant
from reviews.services.publishing import publish_settings

from .conftest import CONFINING

POLICY = "/api/v1/policy"


def test_tells_the_published_version(api, tenant):
    publish_settings(
        tenant=tenant, author=None, values={"fabrication_check_mode": "refuse", "identifier_keys": ["po"]}
    )
    body = api.get(POLICY).json()
    assert body.keys() == {"version", "settings", "framework_config"}
    assert body["version"] == 2
    assert parse_settings(body["settings"]) == TenantSettings("refuse", identifier_keys=("po",))


def test_suites_are_not_for_everyone_who_reads_the_policy(api, tenant, client_for):
    fragment = "swordfish"
    suite = {"name": "privacy", "assertions": [{"type": "prompt_recall_excludes", "fragments": [fragment]}]}
    publish_settings(tenant=tenant, author=None, values={"assertion_suites": [suite]})
    response = api.get(POLICY)
    assert response.status_code == 200
    assert "assertion_suites" not in response.json()["settings"]
    assert fragment not in response.content.decode()
    assert client_for(tenant, "policy").get("/api/v1/suites").status_code == 403


@pytest.mark.parity
def test_a_symfonic_runtime_is_configured_with_what_it_tells(api, tenant):
    from symfonic.agent.config import FrameworkConfig

    values = {
        "fabrication_check_mode": "refuse",
        "fabrication_refuse_min_confidence": 0.72,
        "metacognition_confidence_threshold": 0.4,
        "metacognition_sensitive_tags": ["payment"],
        "read_only_tools": ["get_order"],
        "promotion_min_pattern_count": 4,
        "phase_12_use_llm_extractor": True,
    }
    publish_settings(tenant=tenant, author=None, values=values)
    told = api.get(POLICY).json()["framework_config"]
    config = FrameworkConfig(**told)
    for name, value in values.items():
        assert getattr(config, name) == value
    assert config.skill_auto_approve is False


def test_a_tenant_without_a_version_has_the_defaults(client_for, db):
    tenant = Tenant.objects.create(slug="new", name="New")
    body = client_for(tenant).get(POLICY).json()
    assert body["version"] == 0
    assert body["settings"]["fabrication_check_mode"] == "observe"


def test_is_not_sent_again_to_who_has_it(api, tenant):
    etag = api.get(POLICY).headers["ETag"]
    for known in (etag, f"W/{etag}", f'"x", {etag}', "*"):
        response = api.get(POLICY, headers={"if-none-match": known})
        assert (response.status_code, response.content) == (304, b"")
        assert response.headers["ETag"] == etag
    publish_settings(tenant=tenant, author=None, values={})
    response = api.get(POLICY, headers={"if-none-match": etag})
    assert response.status_code == 200
    assert response.json()["version"] == 2


def test_the_etag_is_the_tenants_own(api, other_api):
    etag = api.get(POLICY).headers["ETag"]
    assert other_api.get(POLICY, headers={"if-none-match": etag}).status_code == 200


def test_a_nonsensical_condition_is_ignored(api):
    for known in ("", "nonsense", '"', ",,,", "x" * 10_000):
        assert api.get(POLICY, headers={"if-none-match": known}).status_code == 200


def test_two_queries(api, django_assert_num_queries):
    api.get(POLICY)
    with django_assert_num_queries(2 + CONFINING):
        api.get(POLICY)


def test_head_has_the_headers_only(api):
    response = api.head(POLICY)
    assert response.status_code == 200
    assert response.headers["ETag"]
    assert isinstance(api, Client)
    assert response.content == b""


def test_another_content_under_the_same_number_is_sent(api, tenant):
    """As after a database was restored to the day before."""
    publish_settings(tenant=tenant, author=None, values={"fabrication_check_mode": "revise"})
    etag = api.get(POLICY).headers["ETag"]
    version = PolicyVersion.objects.for_tenant(tenant).get(number=2)
    version.settings = {**version.settings, "fabrication_check_mode": "refuse"}
    version.created_at = version.created_at.replace(year=2020)
    version.save()
    response = api.get(POLICY, headers={"if-none-match": etag})
    assert response.status_code == 200
    assert response.json()["settings"]["fabrication_check_mode"] == "refuse"
