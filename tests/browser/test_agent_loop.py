"""The loop closed by a person: an agent makes something up, a reviewer says so in the browser and publishes a
policy, the agent reads it, and its next invention reaches nobody."""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

if not os.environ.get("CI"):
    # There a skipped test would look like a passed one: the import error itself fails the run.
    pytest.importorskip("symfonic")

from benchmarks.installation import Installation
from reviews.client import ReviewClient
from reviews.client.handlers import SymfonicReviewHandler
from tests.client.handlers.agents import FABRICATED, QUESTION, SCOPE, symfonic_agent

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PATIENCE = 30.0


def test_a_reviewers_word_and_a_managers_policy_stop_the_next_invention(browser, tmp_path: Path) -> None:
    with Installation(tmp_path / "data", environment={"SWEEP_SECONDS": "1"}) as installation:
        scopes = ("ingest", "policy")
        key = installation.manage(
            "create_key", "--tenant", "acme", "--name", "agent", *(f"--scope={scope}" for scope in scopes)
        ).strip()
        installation.manage("collectstatic", "--no-input", "--verbosity", "0")
        installation.start()
        installation.wait_until_up()
        url = f"http://127.0.0.1:{installation.port}"
        page = browser.new_page(base_url=url)
        page.set_default_timeout(PATIENCE * 1000)
        with ReviewClient(url, key, agent="exporter", policy_max_age=0.0) as client:
            handler = SymfonicReviewHandler(client, "acme")

            def answer() -> str:
                agent = symfonic_agent(**handler.policy_overrides())
                # Playwright keeps an event loop in this thread.
                with ThreadPoolExecutor(1) as aside:
                    response = aside.submit(
                        lambda: asyncio.run(handler.run(agent, QUESTION, scope=SCOPE))
                    ).result(PATIENCE)
                assert client.flush(PATIENCE)
                return str(response.final_response)

            assert answer() == FABRICATED
            installation.wait_for(
                "SELECT count(*) FROM reviews_turn WHERE analysis_state = 'done' AND source = 'turn'",
                "the turn's analysis",
            )

            page.goto("/login/")
            page.fill("#id_username", "olga")
            page.fill("#id_password", "correct horse battery")
            page.click("button:has-text('Log in')")
            page.wait_for_url("**/t/acme/**")
            page.goto("/t/acme/queue/")
            page.click("a.row")
            page.wait_for_selector("[data-claim]")
            page.click("form.claim-row:last-of-type button.fabricated")
            installation.wait_for(
                "SELECT count(*) FROM reviews_turn WHERE verdict = 'fabricated'", "the reviewer's word"
            )

            page.goto("/t/acme/settings/")
            page.check("input[name=fabrication_check_mode][value=refuse]")
            page.fill("input[name=fabrication_refuse_min_confidence]", "0.6")
            page.fill("input[name=note]", "It says it ran the export.")
            page.click("button:has-text('Save as draft')")
            page.wait_for_url("**/policy/versions/**")
            page.click("button:has-text('Publish')")
            page.wait_for_url("**done=published**")
            page.close()

            assert handler.policy_overrides()["fabrication_check_mode"] == "refuse"
            assert answer() != FABRICATED
            installation.wait_for(
                "SELECT count(*) FROM reviews_turn WHERE outcome = 'refuse_replaced'", "the refusal"
            )
