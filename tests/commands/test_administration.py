"""The small commands of an installation: tenants, keys, the audit log and the sweep."""

from __future__ import annotations

import sys
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from reviews.models import AuditEvent, Membership, Tenant, Turn, User
from reviews.models.tenants import Role, Scope
from reviews.models.turns import AnalysisState
from reviews.services.audit import record_event
from reviews.services.keys import find_key
from reviews.services.policies import current_policy
from tests.factories import make_member, make_turn

PASSWORD = "correct horse battery"


def run(*arguments: str) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command(*arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Put text on standard input."""
    return lambda text: monkeypatch.setattr(sys, "stdin", StringIO(text))


class TestCreateTenant:
    ARGUMENTS = ("create_tenant", "--name", "Acme Ltd", "--slug", "acme", "--owner", "olga")

    def test_it_makes_tenant_policy_and_an_owner_who_can_log_in(self, db, typed):
        typed(PASSWORD + "\n")
        out, _ = run(*self.ARGUMENTS, "--password-stdin")
        tenant = Tenant.objects.get(slug="acme")
        member = Membership.objects.for_tenant(tenant).get()
        assert (tenant.name, member.user.username, member.role) == ("Acme Ltd", "olga", Role.OWNER)
        assert member.user.check_password(PASSWORD)
        assert current_policy(tenant=tenant).number == 1
        assert "a new account" in out
        assert PASSWORD not in out

    def test_an_account_that_exists_is_kept(self, other_tenant, typed):
        olga = make_member(other_tenant, Role.VIEWER, "olga")
        out, _ = run(*self.ARGUMENTS)
        assert User.objects.get(username="olga").password == olga.password
        assert "keeps its password" in out

    def test_a_new_owner_needs_a_password(self, db, typed):
        typed("")
        with pytest.raises(CommandError, match="--password-stdin"):
            run(*self.ARGUMENTS)
        assert not Tenant.objects.exists()

    def test_a_weak_password_is_refused_and_nothing_is_made(self, db, typed):
        typed("short\n")
        with pytest.raises(CommandError, match="too short"):
            run(*self.ARGUMENTS, "--password-stdin")
        assert not User.objects.exists()

    def test_a_slug_that_is_taken_makes_no_account_either(self, tenant, typed):
        typed(PASSWORD)
        with pytest.raises(CommandError, match="already"):
            run(*self.ARGUMENTS, "--password-stdin")
        assert not User.objects.exists()


class TestCreateKey:
    def test_the_secret_alone_is_on_standard_output_and_works(self, tenant):
        out, err = run("create_key", "--tenant", "acme", "--name", "support-bot")
        key = find_key(out.strip())
        assert key is not None
        assert (key.tenant, key.name, key.scope_list) == (tenant, "support-bot", [Scope.INGEST])
        assert out.strip() not in err

    def test_scopes_and_days(self, tenant):
        out, _ = run(
            "create_key",
            "--tenant",
            "acme",
            "--name",
            "x",
            "--scope",
            "read",
            "--scope",
            "policy",
            "--days",
            "7",
        )
        key = find_key(out.strip())
        assert key is not None
        assert key.scope_list == [Scope.READ, Scope.POLICY]
        assert key.expires_at is not None

    def test_a_wrong_value_is_told(self, tenant):
        with pytest.raises(CommandError, match="name"):
            run("create_key", "--tenant", "acme", "--name", " ")
        with pytest.raises(CommandError, match="--days"):
            run("create_key", "--tenant", "acme", "--name", "x", "--days", "0")


class TestVerifyAudit:
    def test_whole_chains_are_said_to_be_whole(self, tenant, other_tenant):
        record_event(tenant=tenant, actor=None, action="tested")
        out, err = run("verify_audit")
        assert out.splitlines() == ["acme: 2 events, all as written", "globex: 1 events, all as written"]
        assert err == ""

    def test_a_changed_event_ends_with_code_1_and_names_its_tenant(self, tenant, other_tenant):
        AuditEvent.objects.for_tenant(tenant).update(actor_name="somebody else")
        out, err = StringIO(), StringIO()
        with pytest.raises(SystemExit) as ended:
            call_command("verify_audit", stdout=out, stderr=err)
        assert ended.value.code == 1
        assert "acme: event 1 (policy.published) is not as it was written" in err.getvalue()
        assert "globex" in out.getvalue()

    def test_one_tenant_alone(self, tenant, other_tenant):
        assert run("verify_audit", "--tenant", "globex")[0].count("\n") == 1


def test_sweep_analyses_what_waits_and_what_a_dead_worker_left(tenant):
    make_turn(tenant, analysed=False)
    left = make_turn(tenant, analysed=False)
    Turn.objects.for_tenant(tenant).filter(pk=left.pk).update(
        analysis_state=AnalysisState.CLAIMED, attempts=1, claim="gone", lease_until=left.received_at
    )
    assert run("sweep")[0] == "1 released, 2 analysed, 0 failed\n"
    assert run("sweep")[0] == "0 released, 0 analysed, 0 failed\n"
