"""A real Chromium against the real application."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator

import pytest

# Playwright keeps an event loop running in the test's thread; Django would refuse the database there.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "1")

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser() -> Iterator:
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        if os.environ.get("CI"):
            pytest.fail("Chromium is needed for the browser tests.")
        pytest.skip("no Chromium on this machine (set CHROMIUM to its path)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def log_in(browser, live_server) -> Iterator[Callable]:
    """``log_in("rita")`` gives a page of a fresh browser window in which Rita is logged in."""
    contexts, problems = [], []

    def open_page(username: str, **options):
        context = browser.new_context(base_url=live_server.url, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.goto("/login/")
        page.fill("#id_username", username)
        page.fill("#id_password", username)
        page.click("button:has-text('Log in')")
        page.wait_for_url("**/t/**")
        return page

    open_page.problems = problems
    yield open_page
    for context in contexts:
        context.close()
    # A conflict is answered with 409 and a wrong form with 422, which Chromium logs as errors.
    assert [p for p in problems if "409" not in p and "422" not in p] == []
