"""English."""

from __future__ import annotations

from typing import Final

from reviews.core.evidence_profile.actions import Action
from reviews.core.evidence_profile.languages.grammar import Grammar, words
from reviews.core.evidence_profile.languages.morphology import english_past, inflected, verbs

__all__ = ["ENGLISH"]

_VERBS: Final[dict[Action, str]] = {
    "book": "book rebook re-book reserve schedule reschedule arrange order reorder purchase buy enroll enrol",
    "cancel": "cancel void terminate revoke annul unsubscribe deactivate abort withdraw",
    "confirm": "confirm approve authorize authorise",
    "create": "create recreate add generate register log open reopen issue insert provision initiate raise "
    "establish file draft set_up sign_up build append attach compose write rewrite document assemble submit "
    "resubmit",
    "delete": "delete remove erase clear purge wipe drop archive uninstall unassign detach deduplicate",
    "finish": "complete finish process handle perform implement finalize finalise accomplish resolve "
    "carry_out take_care_of fulfill fulfil conclude",
    "pay": "charge refund pay reimburse credit bill debit deduct compensate waive",
    "publish": "post publish upload push release share merge commit tweet print",
    "read": "check recheck re-check double-check verify review retrieve fetch find search locate query "
    "inspect "
    "examine access scan consult investigate look_up look_into pull_up pull read look view "
    "validate browse download research test visit scrape crawl debug measure "
    "cross-check cross-reference",
    "run": "run rerun re-run execute launch start restart invoke trigger deploy spawn install compile "
    "reboot boot "
    "initialize initialise migrate train",
    "save": "save store record memorize memorise back_up bookmark persist",
    "send": "send resend email e-mail mail forward notify message deliver dispatch text transmit "
    "ship reply alert page fax ping",
    "stop": "stop kill halt pause disable shut_down suspend block mute",
    "transfer": "transfer escalate re-escalate route reroute refer reassign hand_over assign triage",
    "update": "update change modify edit rename move adjust upgrade downgrade correct fix configure "
    "reconfigure enable activate reactivate reset replace swap switch extend patch increase decrease renew "
    "convert alter amend apply rotate tag label mark unlock lock upsert refactor sync restore format set "
    "turn_on "
    "turn_off put bump toggle react",
}
_IRREGULAR: Final[dict[str, str]] = {
    "back up": "backed_up",
    "build": "built",
    "buy": "bought",
    "cancel": "canceled cancelled",
    "commit": "committed",
    "debug": "debugged",
    "drop": "dropped",
    "enrol": "enrolled",
    "find": "found",
    "format": "formatted",
    "hand over": "handed_over",
    "label": "labeled labelled",
    "log": "logged",
    "pay": "paid",
    "ping": "pinged",
    "put": "put",
    "re-run": "re-ran re-run",
    "read": "read",
    "refer": "referred",
    "rerun": "reran rerun",
    "resend": "resent",
    "reset": "reset",
    "resubmit": "resubmitted",
    "rewrite": "rewrote rewritten",
    "run": "ran run",
    "scan": "scanned",
    "send": "sent",
    "set": "set",
    "set up": "set_up",
    "ship": "shipped",
    "shut down": "shut_down",
    "stop": "stopped",
    "submit": "submitted",
    "swap": "swapped",
    "tag": "tagged",
    "take care of": "took_care_of taken_care_of",
    "transfer": "transferred",
    "transmit": "transmitted",
    "withdraw": "withdrew withdrawn",
    "write": "wrote written",
}
_INFINITIVES = verbs(_VERBS)
_PARTICIPLES = inflected(_INFINITIVES, english_past, _IRREGULAR)

ENGLISH: Final = Grammar(
    code="en",
    participles=_PARTICIPLES,
    infinitives=_INFINITIVES,
    extra={
        "used": "use",
        "tried": "use",
        "called": "use",
        "made": "finish",
        "done": "finish",
        "gotten": "read",
        "placed": "book",
    },
    first=words(
        "i i've i_have i'd ive we we've we_have i_just we_just i_had i_did i_went_ahead_and "
        "i've_gone_ahead_and "
        "i_have_gone_ahead_and we've_gone_ahead_and i_was_able_to_get"
    ),
    perfect=words(
        "has_been have_been had_been it's_been 've_been has_now_been have_now_been has_already_been "
        "have_already_been has_just_been have_just_been has_also_been have_also_been has_successfully_been "
        "have_successfully_been have_all_been have_both_been has_since_been"
    ),
    past=words("was were got"),
    stative=words("is are 's 're"),
    adverbs=words(
        "already just now also successfully since then both all finally recently fully manually officially "
        "automatically properly promptly indeed even correctly thoroughly carefully quickly again "
        "immediately actually personally safely too even double newly partially permanently easily again "
        "formally duly"
    ),
    negations=words(
        "not no never n't nothing none neither nor without unable failed cannot can't cant couldn't didn't "
        "don't "
        "doesn't isn't aren't wasn't weren't hasn't haven't hadn't won't wouldn't hardly nobody fails "
        "unless yet "
        "before instead"
    ),
    conditions=words(
        "if once when whenever unless until till after before assuming whether should provided suppose "
        "in_case "
        "as_soon_as while"
    ),
    modals=words(
        "can could will would shall may might must should 'll i'll we'll you'll it'll he'll they'll to "
        "going let let's i'd we'd need needs want wants please ensure make_sure be being cannot ought wish "
        "hope "
        "ready able trying about example imagine like"
    ),
    reports=words(
        "understand understood said mentioned told believe think thought believes seems seem appears appear "
        "sorry "
        "apologize apologise apologies claims claimed stated says say reported assume assumed looks sounds "
        "ask asked asking asks noted hear requires means meaning suggest suggests indicate expected expects "
        "confirm "
        "verify check shows states supposed intended"
    ),
    relatives=words("that which who whose whom what where how why"),
    finite=words(
        "is are was were be has have had do does did will can could would should may might must am isn't "
        "aren't "
        "need needs want i you we he she they it's i'm i've i'll there here please let if when because as "
        "that "
        "which who what how where see use keep get gets got make makes find go if to"
    ),
    done=words("done all_done it's_done it_is_done all_set completed"),
    success=words("successfully just now hereby"),
    own=words("your"),
    conjunctions=words("and then & or but"),
    user=words("you you've you'd u customer client user passenger they he she your_bank"),
    zero_relative=True,
    recent=words("finished"),
    agents=words("by_me by_us"),
    openers=words(
        "ok okay yes yep yeah sure got great alright right perfect absolutely certainly understood "
        "so good thanks thank_you fixed nice all_right"
    ),
)
