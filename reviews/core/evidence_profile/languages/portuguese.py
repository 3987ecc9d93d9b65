"""Portuguese."""

from __future__ import annotations

from typing import Final

from reviews.core.evidence_profile.actions import Action
from reviews.core.evidence_profile.languages.grammar import Grammar, words
from reviews.core.evidence_profile.languages.morphology import (
    inflected,
    portuguese_participles,
    portuguese_preterite,
    verbs,
)

__all__ = ["PORTUGUESE"]

_VERBS: Final[dict[Action, str]] = {
    "book": "reservar agendar programar reagendar remarcar marcar encomendar comprar matricular inscrever "
    "pedir",
    "cancel": "cancelar anular revogar rescindir desativar",
    "confirm": "confirmar aprovar autorizar validar",
    "create": "criar gerar registrar registar adicionar abrir emitir inserir cadastrar anexar incluir "
    "redigir "
    "elaborar acrescentar solicitar",
    "delete": "apagar excluir eliminar remover deletar retirar limpar arquivar",
    "finish": "concluir completar finalizar processar realizar efetuar fazer resolver terminar",
    "pay": "cobrar reembolsar pagar estornar devolver debitar creditar faturar",
    "publish": "publicar postar subir implantar compartilhar partilhar",
    "read": "verificar consultar buscar pesquisar procurar checar encontrar localizar obter ler "
    "revisar conferir examinar",
    "run": "executar rodar iniciar reiniciar testar lançar instalar",
    "save": "salvar guardar armazenar gravar anotar",
    "send": "enviar mandar reenviar encaminhar notificar entregar despachar remeter avisar",
    "stop": "parar interromper pausar suspender bloquear",
    "transfer": "transferir escalar atribuir repassar",
    "update": "atualizar alterar modificar mudar editar ajustar corrigir configurar ativar habilitar "
    "substituir mover "
    "renomear estender renovar aplicar trocar consertar redefinir",
}
_PARTICIPLES: Final[dict[str, str]] = {
    "abrir": "aberto aberta abertos abertas",
    "anexar": "anexado anexada anexados anexadas",
    "fazer": "feito feita feitos feitas",
    "inscrever": "inscrito inscrita inscritos inscritas",
    "pagar": "pago paga pagos pagas pagado",
    "salvar": "salvo salva salvos salvas salvado",
    "entregar": "entregue entregues entregado",
    "emitir": "emitido emitida emitidos emitidas",
}
_PRETERITES: Final[dict[str, str]] = {"fazer": "fiz", "obter": "obtive", "ler": "acabei_de_ler"}
_INFINITIVES = verbs(_VERBS)

PORTUGUESE: Final = Grammar(
    code="pt",
    participles=inflected(_INFINITIVES, portuguese_participles, _PARTICIPLES),
    preterites=inflected(_INFINITIVES, portuguese_preterite, _PRETERITES),
    infinitives=_INFINITIVES,
    extra={"usado": "use", "utilizado": "use"},
    first=words("tenho temos"),
    perfect=words("foi foram já_foi já_foram"),
    past=words("ficou ficaram"),
    stative=words("está estão fica ficam"),
    adverbs=words("já também agora corretamente automaticamente devidamente finalmente tudo acabou_de_ser"),
    negations=words("não nunca nem sem nada nenhum nenhuma jamais ninguém"),
    conditions=words("se quando caso até antes depois assim_que após enquanto logo_que"),
    modals=words(
        "posso pode podem podemos poderia será serão vai vou vamos quer quero preciso precisa para deve "
        "devem seja sejam deveria estará favor exemplo gostaria"
    ),
    reports=words("entendo compreendo disse mencionou parece lamento sinto segundo"),
    relatives=words("que quem qual quais onde como"),
    finite=words(
        "é são está estão foi foram tem têm pode podem será vai se quando que como para não porque deve há"
    ),
    done=words("pronto feito está_feito prontinho tudo_certo"),
    success=words("sucesso corretamente já agora"),
    own=words("seu sua seus suas"),
    conjunctions=words("e"),
    user=words("você vocês cliente usuário"),
    recent=words("acabei_de acabamos_de"),
    agents=words("por_mim"),
    openers=words("ok sim claro perfeito pronto entendido certo beleza tudo_bem ótimo"),
)
