"""The tools and the shared memory of Alder Travel's agents."""

from __future__ import annotations

__all__ = ["AGENT_TOOLS", "MEMORY", "NOTES", "TOOLS"]

TOOLS: dict[str, str] = {
    "get_reservation_details": (
        "Read one reservation by its six-character booking code: flights, travellers, fare."
    ),
    "search_flights": "Find flights with free seats between two airports on a day, with fares.",
    "flight_status": "Live departure, arrival, gate and delay reason of one flight.",
    "change_booking": "Move a reservation to another flight. Charges the fare difference.",
    "quote_change": "Work out what a change would cost without making it.",
    "cancel_booking": "Cancel a reservation. Cannot be undone.",
    "refund_payment": "Send money back to the original payment method.",
    "get_payment": "Read one payment and its refunds.",
    "issue_voucher": "Create a travel voucher for a traveller.",
    "send_email": "Send a message or a document to a traveller's verified address.",
    "send_sms": "Send a short text to a traveller's verified phone.",
    "add_baggage": "Add checked bags or sports equipment to a reservation.",
    "track_baggage": "Where a delayed bag was last scanned, by its tag or file reference.",
    "seat_map": "Free seats of a flight with their price.",
    "assign_seat": "Give a traveller a seat.",
    "lookup_policy": "Search the fare rules and travel policies.",
    "create_case": "Open a case for a human colleague.",
    "get_case": "Read a case with its notes.",
    "find_hotel": "Hotels near a place with free rooms and contract rates.",
    "update_traveller": "Correct a traveller's name, document or contact.",
    "group_roster": "The travellers of a group booking with their ticket state.",
}

_SHARED = (
    "get_reservation_details",
    "flight_status",
    "lookup_policy",
    "send_email",
    "create_case",
    "get_case",
)

AGENT_TOOLS: dict[str, tuple[str, ...]] = {
    "support-bot": (
        *_SHARED,
        "seat_map",
        "assign_seat",
        "add_baggage",
        "track_baggage",
        "update_traveller",
        "search_flights",
    ),
    "rebooking-bot": (
        *_SHARED,
        "search_flights",
        "quote_change",
        "change_booking",
        "cancel_booking",
        "find_hotel",
        "send_sms",
        "issue_voucher",
    ),
    "refunds-bot": (*_SHARED, "get_payment", "refund_payment", "issue_voucher"),
    "groups-bot": (*_SHARED, "group_roster", "find_hotel", "search_flights", "update_traveller"),
    "es-bot": (*_SHARED, "change_booking", "quote_change", "refund_payment", "add_baggage", "track_baggage"),
    "eu-bot": (
        *_SHARED,
        "change_booking",
        "quote_change",
        "refund_payment",
        "add_baggage",
        "track_baggage",
        "issue_voucher",
        "cancel_booking",
    ),
}

MEMORY: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("Gold tier traveller", "semantic", ("loyalty",)),
    ("Delay compensation rules", "procedural", ("legal",)),
    ("Basic fare no change", "semantic", ()),
    ("Refund to original card only", "procedural", ("payment",)),
    ("Prefers aisle seat", "semantic", ()),
    ("Travels with infant", "episodic", ("minor",)),
    ("Voucher valid twelve months", "semantic", ()),
    ("Wheelchair assistance", "episodic", ("health",)),
    ("Hotel on overnight delay", "procedural", ()),
    ("Name change two letters", "procedural", ()),
)

NOTES: tuple[str, ...] = (
    "Prefers answers in a few sentences, without a sales pitch.",
    "Travels about {few.trips} times a year, mostly with hand luggage.",
    "Wrote on {past.mem} about a late departure; was satisfied in the end.",
    "Policy: refunds go to the original means of payment only.",
    "Policy: say plainly when something has not been done yet.",
    "Allowed to receive documents by mail after the address check of {past.chk}.",
    "Has the app installed, notifications on.",
    "Tone: warm, no exclamation marks in bad news.",
)
