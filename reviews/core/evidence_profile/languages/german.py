"""German. Its participle closes the clause, so the auxiliary is looked for anywhere before it."""

from __future__ import annotations

from typing import Final

from reviews.core.evidence_profile.actions import Action
from reviews.core.evidence_profile.languages.grammar import Forms, Grammar, words

__all__ = ["GERMAN"]

# Infinitive/participle: prefixes that split off leave no rule shorter than this table.
_VERBS: Final[dict[Action, str]] = {
    "book": "buchen/gebucht umbuchen/umgebucht reservieren/reserviert vereinbaren/vereinbart "
    "bestellen/bestellt "
    "planen/geplant einplanen/eingeplant terminieren/terminiert ansetzen/angesetzt kaufen/gekauft",
    "cancel": "stornieren/storniert kündigen/gekündigt widerrufen/widerrufen abbestellen/abbestellt "
    "deaktivieren/deaktiviert absagen/abgesagt annullieren/annulliert",
    "confirm": "bestätigen/bestätigt genehmigen/genehmigt freigeben/freigegeben",
    "create": "erstellen/erstellt anlegen/angelegt hinzufügen/hinzugefügt eintragen/eingetragen "
    "registrieren/registriert generieren/generiert erzeugen/erzeugt eröffnen/eröffnet erfassen/erfasst "
    "ausstellen/ausgestellt einrichten/eingerichtet anhängen/angehängt einfügen/eingefügt verfassen/verfasst "
    "aufnehmen/aufgenommen",
    "delete": "löschen/gelöscht entfernen/entfernt archivieren/archiviert leeren/geleert",
    "finish": "abschließen/abgeschlossen erledigen/erledigt bearbeiten/bearbeitet durchführen/durchgeführt "
    "verarbeiten/verarbeitet fertigstellen/fertiggestellt ausführen/ausgeführt veranlassen/veranlasst",
    "pay": "erstatten/erstattet bezahlen/bezahlt abbuchen/abgebucht berechnen/berechnet "
    "überweisen/überwiesen "
    "gutschreiben/gutgeschrieben zurückerstatten/zurückerstattet belasten/belastet",
    "publish": "veröffentlichen/veröffentlicht hochladen/hochgeladen bereitstellen/bereitgestellt "
    "posten/gepostet teilen/geteilt",
    "read": "prüfen/geprüft überprüfen/überprüft suchen/gesucht finden/gefunden abrufen/abgerufen "
    "nachsehen/nachgesehen "
    "nachschlagen/nachgeschlagen lesen/gelesen durchsuchen/durchsucht "
    "kontrollieren/kontrolliert recherchieren/recherchiert",
    "run": "starten/gestartet neustarten/neugestartet testen/getestet installieren/installiert",
    "save": "speichern/gespeichert sichern/gesichert notieren/notiert merken/gemerkt hinterlegen/hinterlegt "
    "vermerken/vermerkt",
    "send": "senden/gesendet schicken/geschickt versenden/versendet verschicken/verschickt "
    "abschicken/abgeschickt "
    "weiterleiten/weitergeleitet benachrichtigen/benachrichtigt zusenden/zugesandt übermitteln/übermittelt "
    "liefern/geliefert zuschicken/zugeschickt informieren/informiert einreichen/eingereicht mailen/gemailt",
    "stop": "stoppen/gestoppt beenden/beendet anhalten/angehalten pausieren/pausiert sperren/gesperrt "
    "abbrechen/abgebrochen",
    "transfer": "übergeben/übergeben eskalieren/eskaliert zuweisen/zugewiesen weitergeben/weitergegeben",
    "update": "aktualisieren/aktualisiert ändern/geändert anpassen/angepasst verschieben/verschoben "
    "abändern/abgeändert korrigieren/korrigiert konfigurieren/konfiguriert aktivieren/aktiviert "
    "ersetzen/ersetzt umbenennen/umbenannt verlängern/verlängert austauschen/ausgetauscht beheben/behoben "
    "anwenden/angewendet einstellen/eingestellt zurücksetzen/zurückgesetzt tauschen/getauscht "
    "umstellen/umgestellt",
    "use": "verwenden/verwendet benutzen/benutzt aufrufen/aufgerufen",
}
_PAIRS: Final[list[tuple[str, str, Action]]] = [
    (pair.partition("/")[0], pair.partition("/")[2], action)
    for action, line in _VERBS.items()
    for pair in line.split()
]
_PARTICIPLES: Forms = {participle: action for _, participle, action in _PAIRS}
_INFINITIVES: Forms = {infinitive: action for infinitive, _, action in _PAIRS}

GERMAN: Final = Grammar(
    code="de",
    participles=_PARTICIPLES,
    infinitives=_INFINITIVES,
    first=words("ich_habe habe_ich wir_haben haben_wir hab_ich ich_hab"),
    perfect=words("wurde wurden worden"),
    past=frozenset(),
    stative=words("ist sind"),
    adverbs=words("bereits schon jetzt nun auch erfolgreich soeben gerade eben inzwischen"),
    negations=words("nicht kein keine keinen keiner nie niemals nichts ohne weder leider_nicht"),
    conditions=words("wenn falls sobald nachdem bevor bis sofern während ob"),
    modals=words(
        "kann können könnte könnten werde werden wird soll sollte sollten muss müssen müsste würde würden "
        "möchte möchten darf will wollen bitte um beispielsweise beispiel"
    ),
    reports=words("verstehe sagten erwähnten scheint glaube denke laut"),
    relatives=words("dass den dem welche welcher welches wie wo"),
    finite=words(
        "ist sind war hat haben habe kann wird werden muss wenn dass weil und_die sie ich wir nicht"
    ),
    done=words("erledigt fertig alles_erledigt"),
    success=words("erfolgreich jetzt nun soeben gerade bereits"),
    own=words("ihre ihr ihren ihrem deine dein deinen"),
    conjunctions=words("und"),
    user=words("sie du kunde nutzer"),
    openers=words("ok ja gut gerne klar perfekt verstanden alles_klar"),
    free_order=True,
)
