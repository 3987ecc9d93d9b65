"""Italian."""

from __future__ import annotations

from typing import Final

from reviews.core.evidence_profile.actions import Action
from reviews.core.evidence_profile.languages.grammar import Grammar, words
from reviews.core.evidence_profile.languages.morphology import inflected, italian_participles, verbs

__all__ = ["ITALIAN"]

_VERBS: Final[dict[Action, str]] = {
    "book": "prenotare programmare riprogrammare fissare ordinare acquistare iscrivere riservare pianificare",
    "cancel": "annullare disdire revocare disattivare",
    "confirm": "confermare approvare autorizzare convalidare",
    "create": "creare generare aggiungere registrare aprire emettere inserire redigere allegare compilare",
    "delete": "eliminare cancellare rimuovere togliere archiviare",
    "finish": "completare finalizzare elaborare effettuare terminare fare risolvere concludere",
    "pay": "rimborsare pagare addebitare accreditare fatturare",
    "publish": "pubblicare caricare condividere distribuire",
    "read": "verificare controllare cercare trovare consultare recuperare esaminare leggere individuare",
    "run": "eseguire avviare riavviare lanciare testare installare",
    "save": "salvare memorizzare annotare",
    "send": "inviare mandare spedire inoltrare notificare consegnare trasmettere rispedire avvisare",
    "stop": "fermare arrestare interrompere sospendere bloccare",
    "transfer": "trasferire assegnare passare",
    "update": "aggiornare modificare cambiare correggere configurare attivare sostituire spostare rinominare "
    "prorogare rinnovare applicare impostare mettere ripristinare",
}
_IRREGULAR: Final[dict[str, str]] = {
    "aggiungere": "aggiunto aggiunta aggiunti aggiunte",
    "aprire": "aperto aperta aperti aperte",
    "concludere": "concluso conclusa conclusi concluse",
    "condividere": "condiviso condivisa condivisi condivise",
    "correggere": "corretto corretta corretti corrette",
    "disdire": "disdetto disdetta disdetti disdette",
    "emettere": "emesso emessa emessi emesse",
    "fare": "fatto fatta fatti fatte",
    "interrompere": "interrotto interrotta interrotti interrotte",
    "iscrivere": "iscritto iscritta iscritti iscritte",
    "leggere": "letto letta letti lette",
    "mettere": "messo messa messi messe",
    "redigere": "redatto redatta redatti redatte",
    "rimuovere": "rimosso rimossa rimossi rimosse",
    "risolvere": "risolto risolta risolti risolte",
    "sospendere": "sospeso sospesa sospesi sospese",
    "togliere": "tolto tolta tolti tolte",
    "trasmettere": "trasmesso trasmessa trasmessi trasmesse",
}
_INFINITIVES = verbs(_VERBS)

ITALIAN: Final = Grammar(
    code="it",
    participles=inflected(_INFINITIVES, italian_participles, _IRREGULAR),
    infinitives=_INFINITIVES,
    extra={"usato": "use", "utilizzato": "use"},
    first=words("ho abbiamo l'ho gliel'ho te_l'ho le_ho li_ho vi_ho ti_ho"),
    perfect=words("è_stato è_stata sono_stati sono_state è_già_stato è_già_stata"),
    past=words("fu furono"),
    stative=words("è sono risulta"),
    adverbs=words(
        "già appena anche ora adesso correttamente automaticamente finalmente regolarmente stato stata"
    ),
    negations=words("non mai nulla niente nessun nessuna nessuno senza né impossibile"),
    conditions=words("se quando una_volta finché prima dopo appena_avrò nel_caso qualora mentre"),
    modals=words(
        "posso può possono possiamo potrei potrebbe sarà saranno vado deve devono dovrebbe voglio vuole "
        "vorrei per sia siano avrà esempio favore"
    ),
    reports=words("capisco detto sembra mi_dispiace secondo"),
    relatives=words("che cui chi dove come quale quali"),
    finite=words("è sono ha hanno ho può sarà se quando che per non come deve si"),
    done=words("fatto ecco_fatto tutto_fatto è_fatto"),
    success=words("successo correttamente ora adesso"),
    own=words("tuo tua tuoi tue suo sua suoi sue vostro vostra"),
    conjunctions=words("e ed poi"),
    user=words("lei tu voi cliente utente"),
    recent=words("ho_appena_finito_di"),
    agents=words("da_me"),
    openers=words("ok sì certo perfetto fatto capito va_bene benissimo"),
)
