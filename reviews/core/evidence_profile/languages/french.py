"""French."""

from __future__ import annotations

from typing import Final

from reviews.core.evidence_profile.actions import Action
from reviews.core.evidence_profile.languages.grammar import Grammar, words
from reviews.core.evidence_profile.languages.morphology import french_participles, inflected, verbs

__all__ = ["FRENCH"]

_VERBS: Final[dict[Action, str]] = {
    "book": "réserver planifier programmer reprogrammer commander acheter inscrire prendre fixer",
    "cancel": "annuler résilier révoquer désactiver",
    "confirm": "confirmer approuver autoriser valider",
    "create": "créer générer ajouter enregistrer ouvrir émettre insérer rédiger établir joindre noter "
    "consigner",
    "delete": "supprimer effacer retirer enlever archiver",
    "finish": "terminer finaliser traiter effectuer réaliser achever faire résoudre compléter",
    "pay": "rembourser payer facturer débiter créditer prélever régler",
    "publish": "publier déployer téléverser partager",
    "read": "vérifier consulter rechercher trouver récupérer chercher examiner lire contrôler identifier",
    "run": "exécuter lancer démarrer redémarrer tester installer",
    "save": "sauvegarder stocker mémoriser",
    "send": "envoyer expédier transmettre renvoyer notifier livrer adresser prévenir informer",
    "stop": "arrêter stopper interrompre suspendre bloquer",
    "transfer": "transférer escalader attribuer assigner",
    "update": "modifier changer mettre_à_jour corriger ajuster configurer activer remplacer déplacer "
    "renommer "
    "prolonger renouveler appliquer actualiser mettre éditer rectifier réinitialiser reporter",
}
_IRREGULAR: Final[dict[str, str]] = {
    "faire": "fait faite faits faites",
    "inscrire": "inscrit inscrite inscrits inscrites",
    "interrompre": "interrompu interrompue interrompus interrompues",
    "lire": "lu lue lus lues",
    "mettre": "mis mise mises",
    "mettre à jour": "mis_à_jour mise_à_jour mises_à_jour",
    "ouvrir": "ouvert ouverte ouverts ouvertes",
    "prendre": "pris prise prises",
    "résoudre": "résolu résolue résolus résolues",
    "suspendre": "suspendu suspendue suspendus suspendues",
    "transmettre": "transmis transmise transmises",
    "émettre": "émis émise émises",
}
_INFINITIVES = verbs(_VERBS)

FRENCH: Final = Grammar(
    code="fr",
    participles=inflected(_INFINITIVES, french_participles, _IRREGULAR),
    infinitives=_INFINITIVES,
    extra={"utilisé": "use", "appelé": "use"},
    first=words(
        "j'ai nous_avons j'y_ai je_l'ai je_les_ai je_vous_ai je_t'ai nous_l'avons nous_vous_avons on_a "
        "je_lui_ai je_leur_ai"
    ),
    perfect=words("a_été ont_été a_bien_été ont_bien_été"),
    past=words("fut furent"),
    stative=words("est sont"),
    adverbs=words(
        "déjà bien également aussi maintenant correctement automatiquement désormais tout finalement "
        "immédiatement été"
    ),
    negations=words("ne n'ai n'a n'ont pas jamais rien aucun aucune sans ni impossible n'est n'avons"),
    conditions=words("si quand lorsque une_fois jusqu'à avant après dès_que dès tant_que s'il s'ils"),
    modals=words(
        "peux peut peuvent pouvons pourrais pourrait sera seront vais va allons doit doivent devrait veux "
        "voulez souhaitez pour soit soient aura auront afin exemple serait"
    ),
    reports=words("comprends dit mentionné semble désolé désolée selon dites"),
    relatives=words("que qui dont où quel quelle comment"),
    finite=words(
        "est sont a ont ai avons avez peut sera va si quand que qui pour ne pas il elle je vous nous c'est "
        "fait doit"
    ),
    done=words("c'est_fait voilà_c'est_fait fait c'est_bon terminé"),
    success=words("succès bien correctement maintenant"),
    own=words("votre vos ton ta tes"),
    conjunctions=words("et puis"),
    user=words("vous tu client utilisateur"),
    recent=words("viens_de venons_de"),
    agents=words("par_moi"),
    openers=words("ok oui bien_sûr parfait entendu très_bien d'accord voilà"),
)
