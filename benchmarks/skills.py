"""How taking drafts in, looking for conflicts and replaying cope with many skills and many turns.

    python benchmarks/skills.py [--skills 5000] [--sizes 100000] [--database-url postgres://…]

Uses the database of ``benchmarks/stored.py`` of that size. Prints seconds to build the indexes of a tenant's
skills, p50 and p95 in milliseconds of taking a draft in (new, folded, unchanged), of a skill's page, and the
seconds a replay and an extraction by patterns take.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.stored import add_options, built  # noqa: E402

SAMPLES = 100
#: A tool that many of the stored turns call.
TOOL = "get_status"
KINDS = ("action", "preflight", "recovery", "guardrail")
VERBS = ("get", "list", "update", "cancel", "refund", "send", "create", "verify", "restart", "track")
NOUNS = (
    *("order", "invoice", "booking", "customer", "parcel", "ticket", "payment", "seat", "voucher", "claim"),
    *("service", "deploy", "metric", "policy", "case", "address", "subscription", "report", "key", "slot"),
)
WORDS = (
    *("urgent", "late", "missing", "double", "foreign", "first", "open", "partial", "blocked", "gold"),
    *("weekend", "night", "group", "refused", "expired", "renewed", "priority", "corporate", "silent", "old"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser, sizes="100000")
    parser.add_argument("--skills", default=5_000, type=int)
    options = parser.parse_args()
    for size in options.sizes:
        environment = built(options, size)
        code = f"from benchmarks.skills import in_process; in_process({options.skills})"
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True
        )
        print(f"{size:,} turns, {options.skills:,} skills:")
        for name, figure in json.loads(done.stdout.splitlines()[-1]).items():
            print(f"  {name:<42} {figure}")


def in_process(wanted: int) -> None:
    """Fill the tenant up to so many skills, then time; prints one line of JSON."""
    import django

    django.setup()
    from django.core.management import call_command

    from reviews.models import Skill, Tenant
    from reviews.services import skill_index
    from reviews.services.skill_evidence import page_of

    call_command("migrate", verbosity=0)
    tenant = Tenant.objects.get(slug="bench")
    rng = random.Random(5)
    facts: dict[str, str] = {}
    have = Skill.objects.for_tenant(tenant).count()
    began = time.perf_counter()
    made = 0
    while (left := wanted - have - made) > 0:
        made += sum(
            each.status == "new" for each in _take(tenant, [_rule(rng) for _ in range(min(500, left))])
        )
    if made:
        facts["taking them in"] = f"{made / (time.perf_counter() - began):,.0f} a second"
    skill_index._similar._values.clear()
    skill_index._conflicts._values.clear()
    facts["building the index of similar skills"] = _seconds(lambda: skill_index.known_skills(tenant))
    facts["building the index of conflicts"] = _seconds(lambda: skill_index.conflict_index(tenant))
    fresh = [_rule(rng) for _ in range(SAMPLES)]
    facts["a draft"] = _timed([lambda rule=rule: _take(tenant, [rule]) for rule in fresh])
    more = [{**rule, "source_episode_ids": [f"later-{rng.random()}"]} for rule in fresh]
    facts["the same with another episode"] = _timed(
        [lambda rule=rule: _take(tenant, [rule]) for rule in more]
    )
    facts["the very same"] = _timed([lambda rule=rule: _take(tenant, [rule]) for rule in fresh])
    skill_index.conflict_index(tenant)
    ids = list(Skill.objects.for_tenant(tenant).order_by("id").values_list("id", flat=True))
    shown = rng.sample(ids, SAMPLES)
    facts["a skill's page"] = _timed([lambda pk=pk: page_of(tenant=tenant, skill_id=pk) for pk in shown])
    facts |= _jobs(tenant)
    print(json.dumps(facts))


def _jobs(tenant) -> dict[str, str]:
    from reviews.services import jobs
    from reviews.services.policies import current_policy
    from reviews.services.publishing import publish_settings

    found = {}
    for kind, action in (("action", f"call {TOOL}"), ("guardrail", f"never call {TOOL}")):
        rule = {**_rule(random.Random(6)), "kind": kind, "trigger": "a replay", "action": action}
        (taken,) = _take(tenant, [rule])
        for turns in (10_000, 100_000):
            parameters = {"skill": taken.skill.pk, "turns": turns}
            job = jobs.start_job(tenant=tenant, kind="replay", parameters=parameters, actor=None)
            seconds = _seconds(jobs.run_jobs)
            job.refresh_from_db()
            assert job.state == "done", job.error
            looked, touched = job.result["looked_at"], job.result["touched"]
            found[f"replay: {kind}, {looked:,} turns"] = f"{seconds}, {touched:,} touched"
    days = 3650  # the stored turns end some weeks ago
    if current_policy(tenant=tenant).settings.promotion_recency_days != days:
        publish_settings(tenant=tenant, author=None, values={"promotion_recency_days": days})
    job = jobs.start_job(tenant=tenant, kind="extract", parameters={}, actor=None)
    seconds = _seconds(jobs.run_jobs)
    job.refresh_from_db()
    assert job.state == "done", job.error
    found["extraction by patterns"] = f"{seconds}, {job.done:,} turns read"
    return found


def _rule(rng: random.Random) -> dict:
    tool, other = (f"{rng.choice(VERBS)}_{rng.choice(NOUNS)}" for _ in range(2))
    about = f"{rng.choice(WORDS)} {rng.choice(NOUNS)} of a {rng.choice(WORDS)} {rng.choice(NOUNS)}"
    kind = rng.choice(KINDS)
    action = f"never call {tool} for the {rng.choice(WORDS)} {rng.choice(NOUNS)}"
    if kind != "guardrail":
        action = f"call {tool} and tell the {rng.choice(WORDS)} {rng.choice(NOUNS)}"
    return {
        "kind": kind,
        "trigger": f"somebody asks about the {about}",
        "precondition": other if kind == "preflight" else None,
        "action": action,
        "rationale": "Seen in the turns of the benchmark.",
        "confidence": round(rng.random(), 2),
        "source_episode_ids": [f"bench-{rng.randrange(100_000):08d}" for _ in range(5)],
    }


def _take(tenant, rules: list[dict]):
    from reviews.formats.skill_draft import read_draft
    from reviews.services.drafts import NewDraft, take_drafts

    drafts = [NewDraft(read_draft(rule).extracted) for rule in rules]
    return take_drafts(tenant=tenant, drafts=drafts, origin="api")


def _seconds(work) -> str:
    began = time.perf_counter()
    work()
    return f"{time.perf_counter() - began:.2f} s"


def _timed(calls) -> str:
    timings = []
    for call in calls:
        began = time.perf_counter()
        call()
        timings.append((time.perf_counter() - began) * 1e3)
    ordered = sorted(timings)
    return f"p50 {ordered[len(ordered) // 2]:.1f} ms, p95 {ordered[int(len(ordered) * 0.95)]:.1f} ms"


if __name__ == "__main__":
    main()
