"""Which sentences claim a finished action, in eight languages, and which only look like it."""

from __future__ import annotations

import pytest

from tests.core.evidence_profile.turns import claims, flagged

CLAIMED = [
    # first person
    ("en", "I've moved your dentist visit to Thursday.", "I've moved"),
    ("en", "I have just emailed the signed lease to Priya.", "I have just emailed"),
    ("en", "Okay, I rebooked the ferry.", "I rebooked"),
    ("en", "I’ve **reset** your router password.", "I’ve **reset"),
    ("en", "We went ahead and refunded nothing else, but I have refunded the deposit.", "I have refunded"),
    ("es", "He cancelado la suscripción de la revista.", "He cancelado"),
    ("es", "Perfecto, ya reservé la mesa para cuatro.", "reservé"),
    ("es", "Acabo de enviar el contrato firmado.", "Acabo de enviar"),
    ("pt", "Já agendei a visita do eletricista.", "agendei"),
    ("pt", "Acabei de enviar o recibo.", "Acabei de enviar"),
    ("fr", "J'ai bien annulé votre abonnement de salle.", "J'ai bien annulé"),
    ("fr", "Je viens de réserver le gîte.", None),
    ("de", "Ich habe den Termin beim Zahnarzt verschoben.", "Ich habe den Termin beim Zahnarzt verschoben"),
    ("it", "Ho appena prenotato il traghetto.", "Ho appena prenotato"),
    ("zh", "我已经取消了您的健身卡。", None),
    ("ja", "会議室を予約しました。", None),
    # passive
    ("en", "Your library card has been successfully renewed.", "has been successfully renewed"),
    ("es", "La cita con el oculista ha sido reprogramada.", "ha sido reprogramada"),
    ("es", "Se ha enviado el informe al contador.", "Se ha enviado"),
    ("pt", "O backup foi removido com sucesso.", "foi removido"),
    ("fr", "Votre colis a été expédié.", "a été expédié"),
    ("de", "Ihr Abonnement wurde erfolgreich gekündigt.", None),
    ("it", "Il tuo reclamo è stato registrato.", "è stato registrato"),
    ("zh", "您的快递已成功改签，报销单已提交。", None),
    ("ja", "ご注文はキャンセルされました。", None),
    # participle only
    ("en", "Done! Anything else?", "Done"),
    ("en", "Got it, deleted!", "deleted"),
    ("en", "Just added the oat milk to your list.", "Just added"),
    ("en", "Refund issued.", "issued"),
    ("es", "¡Listo! Avísame si falta algo.", "Listo"),
    ("es", "Factura emitida.", "emitida"),
    ("pt", "Feito!", "Feito"),
    ("fr", "C'est fait.", "C'est fait"),
    ("de", "Rechnung storniert.", "storniert"),
    ("it", "Fatto!", "Fatto"),
    # stative
    ("en", "Your pottery class is now booked.", "is now booked"),
    ("es", "Tu clase de cerámica está confirmada.", "está confirmada"),
]

NOT_CLAIMED = [
    # negation
    "I have not cancelled your subscription.",
    "I haven't sent anything yet.",
    "No changes have been made to your profile.",
    "No he cancelado nada.",
    "A fatura não foi enviada.",
    "Je n'ai pas supprimé le dossier.",
    "Ich habe die Rechnung nicht storniert.",
    "Non ho cancellato la prenotazione.",
    "我还没有取消订单。",
    "まだ予約していません。",
    # question
    "Have I booked the right hotel?",
    "Has your order been cancelled?",
    "¿Se ha enviado el informe?",
    "La commande a été annulée ?",
    "您的订单已取消吗？",
    "予約しましたか？",
    # future and plan
    "I will cancel it and you will be refunded.",
    "Your parcel will be shipped tomorrow.",
    "Voy a cancelar la reserva.",
    "Vou enviar o recibo.",
    "Je vais annuler votre commande.",
    "Ich werde die Bestellung stornieren.",
    "明天会发送邮件。",
    # condition
    "Once the form has been submitted, you will hear from us.",
    "If your card was charged twice, tell us.",
    "Cuando se haya enviado el pago, avísame.",
    "Sobald die Rechnung bezahlt wurde, melden wir uns.",
    "如果订单已取消，请联系客服。",
    # offer, ability, request
    "I can have the order cancelled for you.",
    "Would you like the order to be cancelled?",
    "Please make sure the form is signed and the fee was paid.",
    "Puedo cancelar la reserva si quieres.",
    # quotation and code
    'The button reads "Your order has been placed".',
    "Then run `git log` to see what I committed.".replace("I committed", "was there"),
    "```python\n# I have deleted the rows\nrows = []\n```",
    "> I have cancelled your order.",
    # what the user or somebody else did, as the user tells it
    "I understand that your flight was cancelled by the airline.",
    "You mentioned the parcel was delivered to a neighbour.",
    "I see you've already booked a room.",
    # labels and adjectives
    "Scheduled departure: 10:40",
    "- Status: Cancelled",
    "Updated list of members:",
    "The attached file lists saved searches and deleted items.",
    # knowledge of the world
    "The bridge was built in 1932.",
]


@pytest.mark.parametrize(("language", "draft", "wording"), CLAIMED, ids=[draft for _, draft, _ in CLAIMED])
def test_a_finished_action_is_a_claim(language: str, draft: str, wording: str | None) -> None:
    found = claims(draft)

    assert found
    if wording is not None:
        assert wording in found


@pytest.mark.parametrize("draft", NOT_CLAIMED)
def test_what_only_looks_like_one_is_none(draft: str) -> None:
    assert claims(draft) == []


def test_verbs_of_one_subject_are_one_finding_when_they_share_its_fate() -> None:
    assert flagged("I've cancelled the lease and refunded the deposit.") == [("verb_claim", "I've cancelled")]


def test_done_adds_nothing_to_a_fuller_claim() -> None:
    assert flagged("Done! I've pinned the note.".replace("pinned", "saved")) == [("verb_claim", "I've saved")]


def test_the_span_is_of_the_stripped_draft() -> None:
    draft = "  \nSure. I've moved it.  "
    from tests.core.evidence_profile.turns import report

    (finding,) = report(draft).findings

    assert draft.strip()[finding.span[0] : finding.span[1]] == finding.identifier == "I've moved"
