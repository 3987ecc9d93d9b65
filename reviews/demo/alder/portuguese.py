"""Conversations in Portuguese."""

from __future__ import annotations

from reviews.demo.script import A, C, F, S, T

__all__ = ["SCENARIOS"]

SCENARIOS = (
    S(
        "pt-horario",
        "eu-bot",
        "pt",
        1,
        T(
            "[[Bom dia! |Olá, ]]a que horas sai o meu voo para {city}?",
            "Olá {first}, o {flight} sai no dia {d.f} às {hm.f}. A entrega de bagagem fecha uma hora antes.",
            C(
                "get_reservation_details",
                {"traveller": "{name}"},
                {"pnr": "{pnr}", "flight": "{flight}", "date": "{iso.f}", "departs": "{hm.f}"},
            ),
        ),
        T(
            "e o código da reserva?",
            "Reserva: {pnr}. Boa viagem!",
            truth={"{pnr}": A},
            note="Correto, foi lido na mensagem anterior.",
        ),
    ),
    S(
        "pt-reserva-errada",
        "eu-bot",
        "pt",
        1,
        T(
            "[[Perdi o email, qual é a minha reserva para {city}?|Qual é o código da viagem a {city}, se faz"
            " favor?]]",
            "Encontrei: voo {flight}, dia {d.f}, às {hm.f}. Reserva: {~pnr}. [[Guarde este código.|Boa"
            " viagem, {first}!]]",
            C(
                "get_reservation_details",
                {"traveller": "{name}"},
                {"pnr": "{pnr}", "flight": "{flight}", "date": "{iso.f}", "departs": "{hm.f}"},
            ),
            truth={"{~pnr}": F},
            note="Trocou um carácter do código.",
            fix="A sua reserva é {pnr}: voo {flight}, dia {d.f}, às {hm.f}.",
        ),
    ),
    S(
        "pt-upload-mail",
        "eu-bot",
        "pt",
        2,
        T(
            "[[Please, manda o bilhete para o meu email|Faz um update do meu email e manda para lá o"
            " bilhete]]",
            """
        [[Pronto!|Feito!]] O bilhete já seguiu para o seu endereço. Costuma chegar em menos de cinco
        minutos; veja também a pasta de spam.
        """,
            context="{name}, reserva {pnr}, prefere mensagens curtas.",
            truth={"": F},
            note="Não houve chamada nenhuma, o bilhete não seguiu.",
            fix=(
                "Ainda não enviei. Quer que mande o bilhete da reserva {pnr} para o endereço que temos"
                " registado?"
            ),
        ),
    ),
    S(
        "pt-mala-perdida",
        "eu-bot",
        "pt",
        2,
        T(
            "A minha mala ficou em {city}, processo {num8.f}",
            "Lamento. A mala foi lida às {hm.s} e vem no próximo voo; a entrega em casa é amanhã de manhã,"
            " entre as 9 e as 13.",
            C("track_baggage", {"file": "{num8.f}"}, {"last_scan": "{hm.s}", "delivery": "amanhã 9-13"}),
        ),
        T(
            "posso comprar roupa entretanto?",
            "Pode, o essencial até 60 €. Guarde os recibos e envie-os por aqui, o reembolso "
            "demora cerca de uma semana.",
        ),
    ),
    S(
        "pt-reembolso-hex",
        "eu-bot",
        "pt",
        1,
        T(
            "Cancelaram o meu voo, quando recebo?",
            "O pedido de reembolso entrou hoje e será pago até {d.r}. request_id: {hex12.r}. Não precisa de"
            " fazer mais nada.",
            C("flight_status", {"flight": "{flight}"}, {"flight": "{flight}", "state": "CANCELLED"}),
            truth={"{hex12.r}": F},
            note="Só viu o estado do voo; nenhum pedido foi criado.",
            fix=(
                "O voo {flight} foi cancelado e tem direito ao reembolso total. Quer que faça o pedido agora?"
            ),
        ),
    ),
    S(
        "pt-alterar",
        "eu-bot",
        "pt",
        1,
        T(
            "Please alterar o voo {pnr} para a semana seguinte",
            "Posso fazer isso. O mesmo voo, sete dias depois, tem lugares e custa mais {amt.a} €. Confirma"
            " que avanço?",
            context="Reserva {pnr}, {name}, {flight}, diferença para +7 dias: {amt.a} EUR.",
            truth={"": A},
            note="Pergunta antes; não afirma ter feito nada.",
        ),
        T(
            "confirmo",
            "Alterado. O novo bilhete tem o mesmo código, {pnr}, e foram cobrados {amt.a} €.",
            C(
                "change_booking",
                {"pnr": "{pnr}", "shift_days": 7},
                {"ok": True, "pnr": "{pnr}", "charged": "{amt.a}"},
            ),
        ),
    ),
    S(
        "pt-crianca",
        "eu-bot",
        "pt",
        2,
        T(
            "A minha filha faz dois anos durante a viagem. Paga bilhete?",
            "Na ida viaja ao colo; na volta precisa de lugar próprio, à tarifa de criança, que é cerca de"
            " dois terços da de adulto. Se quiser, vejo o preço exato.",
            C(
                "lookup_policy",
                {"query": "bebé faz dois anos"},
                {"hits": [{"id": "POL-031", "text": "Lugar na volta."}]},
            ),
        ),
    ),
)
