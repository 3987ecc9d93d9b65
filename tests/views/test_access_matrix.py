"""Every page route × method × role, a stranger and nobody: who gets in. A route missing here fails."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from reviews.models import Delivery, Job, ReviewDecision, Tenant, Turn, User
from reviews.models.tenants import Role, Scope
from reviews.services import keys, review, skill_bulk, skills
from reviews.services.publishing import save_draft
from reviews.services.skill_queue import SkillFilter
from tests.factories import make_member, make_turn
from tests.views.skilled import make_draft
from tests.views.suggesting import make_suggestion

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]
V, R, M, O = Role.VIEWER, Role.REVIEWER, Role.MANAGER, Role.OWNER  # noqa: E741
READ = ("GET", "HEAD")
#: Looking at the address of an action leads to the page that it belongs to, for whoever may see that.
LOOK = dict.fromkeys(READ, V)

#: Routes of a tenant: which role each method needs. A method that is not named is refused to everyone.
TENANT_ROUTES: dict[str, dict[str, Role]] = {
    "overview": dict.fromkeys(READ, V),
    "skills": dict.fromkeys(READ, V),
    "learn-skills": {**LOOK, "POST": M},
    "reject-skills": {**dict.fromkeys(READ, M), "POST": M},
    "undo-skill-batch": {"POST": M, **dict.fromkeys(READ, M)},
    "undo-skill": {"POST": M, **LOOK},  # of somebody else's decision, as for turns
    "skill": LOOK,
    "next-skill": LOOK,
    "previous-skill": LOOK,
    "approve-skill": {"POST": R, **LOOK},
    "edit-skill": {"POST": R, **LOOK},
    "reject-skill": {"POST": R, **LOOK},
    "merge-skill": {"POST": R, **LOOK},
    "retire-skill": {"POST": R, **LOOK},
    "replay-skill": {"POST": R, **LOOK},
    "runtime": {**dict.fromkeys(READ, M), "POST": M},
    "remove-runtime": {"POST": M, **dict.fromkeys(READ, M)},
    "pull-drafts": {"POST": M, **dict.fromkeys(READ, M)},
    "retry-delivery": {"POST": R, **dict.fromkeys(READ, R)},
    "critic": dict.fromkeys(READ, V),
    "close-circuit": {"POST": M, **dict.fromkeys(READ, M)},
    "critic-trials": {"POST": M, **dict.fromkeys(READ, M)},
    "critic-trial": dict.fromkeys(READ, V),
    "cancel-trial": {"POST": M, **dict.fromkeys(READ, M)},
    "assertions": dict.fromkeys(READ, V),
    "new-suite": {**dict.fromkeys(READ, M), "POST": M},
    "suite": {**dict.fromkeys(READ, M), "POST": M},
    "queue": dict.fromkeys(READ, V),
    "turn": dict.fromkeys(READ, V),
    "next": dict.fromkeys(READ, V),
    "previous": dict.fromkeys(READ, V),
    "reviewers": dict.fromkeys(READ, R),
    "label": {"POST": R},
    "note": {"POST": R},
    "correct": {"POST": R},
    "assign": {"POST": R},
    "turn-critic": dict.fromkeys(READ, V),
    "judge-critic": {"POST": R},
    "undo": {"POST": M},  # of somebody else's decision; one's own needs the reviewer's role only
    "settings": {**dict.fromkeys(READ, V), "POST": M},
    "members": {**dict.fromkeys(READ, V), "POST": O},
    "member-role": {"POST": O},
    "remove-member": {"POST": O},
    "api-keys": {**dict.fromkeys(READ, M), "POST": M},
    "revoke-key": {"POST": M},
    "audit": dict.fromkeys(READ, M),
    "policy-versions": dict.fromkeys(READ, V),
    "policy-compare": dict.fromkeys(READ, V),
    "policy-version": dict.fromkeys(READ, V),
    "publish-version": {"POST": M, **LOOK},
    "discard-version": {"POST": M, **LOOK},
    "shadow-version": {"POST": M, **LOOK},
    "end-shadow": {"POST": M, **LOOK},
    "roll-back": {"POST": M, **LOOK},
    "thresholds": {**dict.fromkeys(READ, V), "POST": M},
    "simulate": dict.fromkeys(READ, V),
    "learn": {**dict.fromkeys(READ, V), "POST": M},
    "accept-suggestion": {"POST": M, **LOOK},
    "dismiss-suggestion": {"POST": M, **LOOK},
}
SUITES = {
    "assertion_suites": [
        {"name": "claims", "assertions": [{"type": "response_does_not_contradict_recall"}]},
    ],
}
#: Routes outside of tenants: methods for anyone logged in, and for anyone at all.
OWN_ROUTES = {
    "home": READ,
    "account": (*READ, "POST"),
    "password": (*READ, "POST", "PUT"),
    "help": READ,
}
OPEN_ROUTES = {
    "login": (*READ, "POST"),
    "logout": ("POST",),
    "healthz": READ,
    "readyz": READ,
    "metrics": READ,
}
CASES = [(name, method) for name in TENANT_ROUTES for method in METHODS]


def _names(patterns: list[Any]) -> Iterator[str]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from _names(pattern.url_patterns)
        elif isinstance(pattern, URLPattern):
            yield str(pattern.name)


def test_every_route_is_listed():
    pages = [p for p in get_resolver().url_patterns if getattr(p, "namespace", "") == "reviews"]
    assert sorted(_names(pages)) == sorted([*TENANT_ROUTES, *OWN_ROUTES, *OPEN_ROUTES])


def _skill_ids(tenant: Tenant, owner: User) -> dict[str, Any]:
    """A draft, a decision about another skill, a batch, and a message that was given up."""
    skill, decided, many = (make_draft(tenant, subject=n) for n in range(3))
    by = {"tenant": tenant, "actor": owner}
    done = skills.reject_skill(skill_id=decided.pk, reason="wrong", seen_version=0, **by)
    wanted = SkillFilter(text=many.trigger)
    digest = skill_bulk.preview_reject(tenant=tenant, wanted=wanted).ids_digest
    batch = skill_bulk.reject_many(wanted=wanted, ids_digest=digest, reason="wrong", **by)
    message = Delivery(tenant=tenant, skill=skill, action="approve", state="dead")
    message.save()
    return {
        "skill_id": skill.pk,
        "skill_decision_id": done.decision.pk,
        "batch": batch,
        "delivery_id": message.pk,
    }


def _trial(tenant: Tenant, turn: Turn) -> int:
    """A trial of the critic that waits for a worker."""
    parameters = {"variants": [{"model": "m", "policy": 0, "template": ""}], "ids": [turn.pk]}
    job = Job(tenant=tenant, kind="trial", parameters={**parameters, "source": "recent", "budget": 1})
    job.save()
    return job.pk


@pytest.fixture
def address(tenant):
    """The path of a route, with ids of things that are really there."""
    owner = make_member(tenant, Role.OWNER, "olga")
    turn = make_turn(tenant)
    review.label_finding(
        tenant=tenant, actor=owner, turn_id=turn.pk, position=0, label="unsure", seen_version=0
    )
    key = keys.create_key(tenant=tenant, author=owner, name="bot", scopes=[Scope.INGEST]).key
    ids = {
        "turn_id": turn.pk,
        "decision_id": ReviewDecision.objects.for_tenant(tenant).get().pk,
        "user_id": make_member(tenant, Role.VIEWER, "victor").pk,
        "key_id": key.pk,
        # A draft: the other tenant has no second version, and no suite.
        "number": save_draft(tenant=tenant, author=owner, values=SUITES, based_on=0).number,
        "position": 0,
        "suggestion_id": make_suggestion(tenant).pk,
        "job_id": _trial(tenant, turn),
        **_skill_ids(tenant, owner),
    }
    needs = {
        **dict.fromkeys(
            [
                *("turn", "next", "previous", "reviewers", "label", "note", "correct", "assign"),
                *("turn-critic", "judge-critic"),
            ],
            "turn_id",
        ),
        "undo": "decision_id",
        **dict.fromkeys(["member-role", "remove-member"], "user_id"),
        "revoke-key": "key_id",
        **dict.fromkeys(
            [
                "policy-version",
                "publish-version",
                "discard-version",
                "shadow-version",
                "end-shadow",
                "roll-back",
            ],
            "number",
        ),
        **dict.fromkeys(["accept-suggestion", "dismiss-suggestion"], "suggestion_id"),
        **dict.fromkeys([name for name in TENANT_ROUTES if name.endswith("-skill")], "skill_id"),
        "skill": "skill_id",
        "undo-skill": "skill_decision_id",
        "undo-skill-batch": "batch",
        "retry-delivery": "delivery_id",
        "suite": "position",
        "critic-trial": "job_id",
        "cancel-trial": "job_id",
    }
    #: Parts of addresses that two routes use for different things, and those that are no numbers.
    parts = {"skill_decision_id": "decision_id"}
    nothing: dict[str, Any] = {"batch": "0" * 32}

    def path(name: str, slug: str = tenant.slug, missing: bool = False) -> str:
        kwargs: dict[str, Any] = {"slug": slug}
        if name in needs:
            what = needs[name]
            kwargs[parts.get(what, what)] = nothing.get(what, 999_999) if missing else ids[what]
        return reverse(f"reviews:{name}", kwargs=kwargs)

    return path


@pytest.mark.parametrize(("name", "method"), CASES)
def test_nobody_is_sent_to_the_login(client, address, name, method):
    response = client.generic(method, address(name))
    assert response.status_code == 302
    assert response.headers["Location"].startswith("/login/?next=")


@pytest.mark.parametrize(("name", "method"), CASES)
def test_a_stranger_cannot_tell_the_tenant_from_a_missing_one(client, address, other_tenant, name, method):
    client.force_login(make_member(other_tenant, Role.OWNER))
    foreign = client.generic(method, address(name))
    missing = client.generic(method, address(name, slug="no-such-tenant"))
    if method in TENANT_ROUTES[name]:
        assert foreign.status_code == missing.status_code == 404
    else:
        assert foreign.status_code == missing.status_code in (404, 405)
    assert foreign.content == missing.content


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize(("name", "method"), CASES)
def test_a_member_needs_the_role(client, tenant, address, name, method, role):
    client.force_login(make_member(tenant, role, f"{role}-member"))
    response = client.generic(method, address(name))
    needed = TENANT_ROUTES[name].get(method)
    if needed is None:
        assert response.status_code == 405
    elif role.includes(needed):
        assert response.status_code in (200, 302, 409, 422)
    else:
        assert response.status_code == 403


#: Pages and actions that are about the tenant as a whole: no ids of anything.
WHOLE_TENANT = (
    "overview",
    "critic",
    "close-circuit",
    "critic-trials",
    "assertions",
    "new-suite",
    "queue",
    "settings",
    "policy-versions",
    "policy-compare",
    "thresholds",
    "simulate",
    "learn",
    "skills",
    "learn-skills",
    "reject-skills",
    "runtime",
    "remove-runtime",
    "pull-drafts",
)


@pytest.mark.parametrize("name", [n for n in TENANT_ROUTES if n not in WHOLE_TENANT])
def test_what_belongs_to_another_tenant_looks_like_what_is_missing(client, address, other_tenant, name):
    """An owner of one tenant puts another tenant's ids behind their own address."""
    client.force_login(make_member(other_tenant, Role.OWNER))
    method = next(iter(TENANT_ROUTES[name]))
    foreign = client.generic(method, address(name, slug=other_tenant.slug))
    missing = client.generic(method, address(name, slug=other_tenant.slug, missing=True))
    if foreign.status_code == 200:
        assert name in ("members", "api-keys", "audit")
        return
    # 422: the empty form is refused before anything is looked up, in the same words.
    assert foreign.status_code == missing.status_code in (404, 422)
    if foreign.status_code == 404:
        assert foreign.content == missing.content


@pytest.mark.parametrize("name", OWN_ROUTES)
@pytest.mark.parametrize("method", METHODS)
def test_own_pages_need_a_login(client, tenant, name, method):
    path = reverse(f"reviews:{name}")
    assert client.generic(method, path).status_code == 302
    client.force_login(make_member(tenant, Role.VIEWER))
    # Django answers OPTIONS itself where a page is a class.
    options = (200, 405) if method == "OPTIONS" else (405,)
    expected = (200, 302, 422) if method in OWN_ROUTES[name] else options
    assert client.generic(method, path).status_code in expected


@pytest.mark.parametrize("name", OPEN_ROUTES)
@pytest.mark.parametrize("method", METHODS)
def test_open_pages_take_their_methods_only(client, db, name, method):
    status = client.generic(method, reverse(f"reviews:{name}")).status_code
    if name == "metrics":
        # Without METRICS_TOKEN it does not exist.
        assert status in (404, 405)
    elif method in OPEN_ROUTES[name]:
        assert status in (200, 302)
    elif name == "login" and method == "PUT":
        assert status == 200  # Django's login view takes PUT for POST
    else:
        assert status in (405, 200 if method == "OPTIONS" else 405, 302 if name == "logout" else 405)
