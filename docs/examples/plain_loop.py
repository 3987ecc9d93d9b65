"""An agent written by hand: one function, its tool calls noted, its answers asked about before they go out.

    REVIEWS_URL=http://127.0.0.1:8000 REVIEWS_KEY=sr_… python docs/examples/plain_loop.py

The key needs the scope ingest.
"""

import os

from reviews.client import ReviewClient
from reviews.client.handlers import current_turn, reviewed

client = ReviewClient(os.environ["REVIEWS_URL"], os.environ["REVIEWS_KEY"])


def find_order(number: int) -> dict[str, str]:
    return {"order": f"A-{number}", "state": "packed"}


@reviewed(client, agent="exporter", check=True)
def answer(question: str) -> str:
    found = current_turn().tool(find_order)(4711)
    # A model would write this. It has found the order, and sent nothing.
    return f"Order {found['order']} is {found['state']}. I sent the invoice, invoice_id=9f2b1e47c0ffee00."


if __name__ == "__main__":
    with client:
        print(answer("Where is my order, and did you send the invoice?"))
