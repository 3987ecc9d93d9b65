"""Words beside a claim that say what it is about."""

from __future__ import annotations

from typing import Final

from reviews.core.evidence_profile.vocabulary import listed

__all__ = ["AT_HAND", "FINDS", "OWN_WORK", "READ_NOUNS", "SEARCHES", "SHOWN"]

# What a first-person look-up may be of without any call: it was in front of the assistant.
AT_HAND: Final = listed(
    "policy policies guideline guidelines rules instructions message request question conversation "
    "information details context prompt text code snippet document file files image images pdf attachment "
    "attached provided shared above history terms log logs data input answer chat situation case concern "
    "concerns issue problem options notes you política políticas reglas instrucciones mensaje solicitud "
    "pregunta información datos contexto texto código documento archivo imagen adjunto conversación caso "
    "situación opciones regras mensagem pedido pergunta informação informações dados arquivo imagem "
    "conversa politique règles demande informations données contexte texte fichier richtlinie richtlinien "
    "regeln nachricht anfrage frage informationen daten kontext datei bild gespräch politica regole "
    "messaggio richiesta domanda informazioni dati contesto testo codice immagine conversazione"
)
# Texts that the draft itself is: writing them needs no tool.
OWN_WORK: Final = listed(
    "example sample email message function script snippet summary table list draft poem story outline "
    "query regex essay paragraph version explanation comparison breakdown template recipe itinerary "
    "response answer reply haiku song joke letter article comments comment tests test class code section "
    "plan note notes steps step sentence text markdown json yaml sql ejemplo función resumen tabla lista "
    "borrador poema plantilla código respuesta texto exemplo função resumo tabela rascunho modelo exemple "
    "fonction résumé tableau liste brouillon modèle réponse texte beispiel funktion zusammenfassung "
    "tabelle entwurf vorlage esempio funzione riassunto tabella bozza modello testo"
)
# Where in the draft such a text is.
SHOWN: Final = listed(
    "below above here abajo arriba aquí abaixo acima aqui ci-dessous ci-dessus unten oben sotto sopra"
)
# A finished look-up ("I've completed the search") is one of the readings.
READ_NOUNS: Final = listed(
    "search review check lookup analysis verification investigation research calculation comparison query "
    "búsqueda revisión verificación consulta análisis cálculo pesquisa verificação busca recherche "
    "vérification analyse prüfung suche überprüfung ricerca verifica analisi"
)
# Forms that tell of something found, and parts of the names of tools that search.
FINDS: Final = listed(
    "found located retrieved encontré encontrado encontrei trouvé gefunden trovato obtained"
)
SEARCHES: Final = listed("search find lookup query browse web buscar busca recherche suche cerca")
