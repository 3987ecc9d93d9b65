"""Spanish."""

from __future__ import annotations

from typing import Final

from reviews.core.evidence_profile.actions import Action
from reviews.core.evidence_profile.languages.grammar import Grammar, words
from reviews.core.evidence_profile.languages.morphology import (
    inflected,
    spanish_participles,
    spanish_preterite,
    spanish_reported,
    verbs,
)

__all__ = ["SPANISH"]

_VERBS: Final[dict[Action, str]] = {
    "book": "reservar agendar programar reprogramar reagendar ordenar pedir encargar comprar matricular "
    "inscribir",
    "cancel": "cancelar anular revocar rescindir desactivar",
    "confirm": "confirmar aprobar autorizar validar",
    "create": "crear generar registrar añadir agregar abrir emitir insertar redactar elaborar tramitar "
    "anotar "
    "incorporar adjuntar levantar iniciar solicitar",
    "delete": "eliminar borrar quitar suprimir remover archivar retirar",
    "finish": "completar finalizar procesar realizar gestionar efectuar terminar concluir hacer "
    "resolver concretar",
    "pay": "cobrar reembolsar pagar abonar devolver cargar facturar reintegrar descontar",
    "publish": "publicar subir desplegar compartir",
    "read": "verificar revisar consultar buscar comprobar encontrar obtener recuperar localizar "
    "examinar leer investigar chequear identificar ubicar corroborar",
    "run": "ejecutar lanzar iniciar reiniciar probar instalar",
    "save": "guardar almacenar grabar apuntar",
    "send": "enviar mandar reenviar remitir notificar entregar despachar transmitir avisar",
    "stop": "detener parar pausar suspender bloquear",
    "transfer": "transferir escalar derivar asignar reasignar trasladar",
    "update": "actualizar modificar cambiar editar ajustar corregir configurar activar habilitar reemplazar "
    "sustituir mover renombrar extender ampliar renovar aplicar mejorar restablecer arreglar subsanar poner",
}
_PARTICIPLES: Final[dict[str, str]] = {
    "abrir": "abierto abierta abiertos abiertas",
    "devolver": "devuelto devuelta devueltos devueltas",
    "hacer": "hecho hecha hechos hechas",
    "inscribir": "inscrito inscrita inscritos inscritas inscripto inscripta",
    "poner": "puesto puesta puestos puestas",
    "resolver": "resuelto resuelta resueltos resueltas",
    "suprimir": "suprimido suprimida suprimidos suprimidas",
    "sustituir": "sustituido sustituida sustituidos sustituidas",
}
_PRETERITES: Final[dict[str, str]] = {
    "hacer": "hice",
    "obtener": "obtuve",
    "poner": "puse",
    "detener": "detuve",
}
_REPORTED: Final[dict[str, str]] = {
    "hacer": "hizo hicieron",
    "obtener": "obtuvo obtuvieron",
    "poner": "puso pusieron",
    "detener": "detuvo detuvieron",
    "transferir": "transfirió transfirieron",
    "pedir": "pidió pidieron",
    "sustituir": "sustituyó sustituyeron",
    "concluir": "concluyó concluyeron",
    "leer": "leyó leyeron",
}
_INFINITIVES = verbs(_VERBS)

SPANISH: Final = Grammar(
    code="es",
    participles=inflected(_INFINITIVES, spanish_participles, _PARTICIPLES),
    preterites=inflected(_INFINITIVES, spanish_preterite, _PRETERITES),
    reported=inflected(_INFINITIVES, spanish_reported, _REPORTED),
    infinitives=_INFINITIVES,
    extra={"usado": "use", "utilizado": "use", "llamado": "use"},
    first=words("he hemos"),
    perfect=words("ha_sido han_sido ha_quedado han_quedado se_ha se_han se_le_ha se_te_ha se_les_ha"),
    past=words("fue fueron quedó quedaron"),
    stative=words("está están queda quedan"),
    adverbs=words(
        "ya recién también ahora correctamente exitosamente satisfactoriamente automáticamente "
        "debidamente finalmente justo todo oficialmente manualmente así"
    ),
    negations=words("no nunca ni sin nada ningún ninguna ninguno tampoco aún_no jamás nadie imposible"),
    conditions=words(
        "si cuando una_vez hasta antes después después_de mientras caso salvo tras luego_de "
        "apenas en_cuanto aunque"
    ),
    modals=words(
        "puedo puede pueden podemos podría podrías podrá debe deben debería será serán va van voy vamos "
        "quiero quiere quieres necesito necesita para haya hayan sea sean habrá habría estará estarán sería "
        "podrían "
        "deberá tendrá tiene_que desea deseas gustaría favor ejemplo"
    ),
    reports=words(
        "entiendo comprendo dices dice dijiste mencionas mencionaste parece lamento siento según indicas "
        "indicaste veo sé"
    ),
    relatives=words("que quien cual cuales donde cómo cuándo qué cuál"),
    finite=words(
        "es son está están fue fueron ha han he hay tiene tienen puede pueden será va se si cuando que "
        "como para no porque debe estás tienes puedes necesito son era eran"
    ),
    done=words("listo hecho ya_está ya_quedó todo_listo"),
    success=words("exitosamente éxito correctamente satisfactoriamente ya ahora"),
    own=words("tu tus su sus"),
    conjunctions=words("y e"),
    user=words("usted tú ustedes cliente usuario"),
    reflexive=words("se se_le se_te se_les"),
    recent=words("acabo_de acabamos_de"),
    agents=words("por_mí"),
    openers=words("ok vale sí claro perfecto listo entendido excelente muy_bien genial de_acuerdo bien"),
)
