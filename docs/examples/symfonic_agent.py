"""A symfonic agent whose turns are reviewed, and which obeys the policy that people publish.

    REVIEWS_URL=http://127.0.0.1:8000 REVIEWS_KEY=sr_… python docs/examples/symfonic_agent.py

The key needs the scopes ingest and policy. The model is symfonic's stand-in, and makes something up.
"""

import asyncio
import os

from symfonic.agent.config import FrameworkConfig
from symfonic.agent.engine import SymfonicAgent
from symfonic.core.testing import MockModelProvider

from reviews.client import ReviewClient
from reviews.client.handlers import SymfonicReviewHandler


async def main(client: ReviewClient) -> None:
    review = SymfonicReviewHandler(client, "acme", agent="exporter")
    agent = SymfonicAgent(
        model_provider=MockModelProvider(response="I ran the export, task_id=9f2b1e47c0ffee00."),
        config=FrameworkConfig(**review.policy_overrides()),
    )
    response = await review.run(agent, "Please export the orders")
    print(response.final_response)
    review.close()


if __name__ == "__main__":
    with ReviewClient(os.environ["REVIEWS_URL"], os.environ["REVIEWS_KEY"]) as client:
        asyncio.run(main(client))
