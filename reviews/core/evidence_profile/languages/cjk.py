"""Chinese and Japanese, whose words have no spaces between them.

A claim is a verb with a mark of completion in its clause: 已创建, 创建成功, 予約しました.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from reviews.core.evidence_profile.actions import Action
from reviews.core.evidence_profile.languages.morphology import verbs

__all__ = ["CHINESE", "JAPANESE", "Unspaced"]


@dataclass(frozen=True, kw_only=True)
class Unspaced:
    """A language without spaces.

    ``verbs``: verb -> class. ``before``: marks of completion that may stand anywhere in the clause before the
    verb; ``after``: those that follow it, ``particles`` between. ``blockers``: what unmakes a claim in its
    clause; ``user``: the user as the one who acts. ``done``: whole answers.
    """

    code: str
    verbs: Mapping[str, Action]
    before: tuple[str, ...]
    after: tuple[str, ...]
    particles: tuple[str, ...]
    blockers: tuple[str, ...]
    user: tuple[str, ...]
    first: tuple[str, ...]
    done: tuple[str, ...]


CHINESE: Final = Unspaced(
    code="zh",
    verbs=verbs(
        {
            "book": "预订 预定 预约 安排 下单 订购 购买 报名 订好 约好",
            "cancel": "取消 退订 撤销 注销 作废",
            "confirm": "确认 批准 审核通过",
            "create": "创建 新建 添加 生成 登记 建立 新增 开具 录入 注册 提交 加入",
            "delete": "删除 清除 移除 清空 归档 删掉",
            "finish": "完成 处理 办理 办好 搞定 执行完",
            "pay": "退款 支付 扣款 付款 转账 充值 扣除 退还",
            "publish": "发布 上传 部署 发表 推送 分享",
            "read": "查询 查看 检查 搜索 核实 查找 检索 查到 找到 核对 分析 读取 获取 查阅",
            "run": "执行 运行 启动 重启 调用 触发 安装 测试",
            "save": "保存 记录 备份 存储 记住 记下",
            "send": "发送 发给 寄出 通知 发出 转发 发到 邮寄 送达 发货",
            "stop": "停止 关闭 暂停 终止 停用 冻结",
            "transfer": "转接 升级处理 转交 移交 分配 转给",
            "update": "更新 修改 更改 变更 调整 改签 设置 启用 修复 替换 开通 激活 改为 改成 升级 延长",
        }
    ),
    before=("已", "成功", "刚刚", "刚才", "我刚", "均已"),
    after=("了", "完成", "成功", "完毕", "好了", "完了"),
    particles=("到", "好", "给您", "给你"),
    blockers=(
        "没",
        "未",
        "不",
        "无法",
        "尚",
        "如果",
        "若",
        "假如",
        "可以",
        "能否",
        "需要",
        "请",
        "是否",
        "要不要",
        "想要",
        "希望",
        "稍后",
        "等待",
        "待",
        "一旦",
        "可能",
        "应该",
        "会在",
        "将会",
        "例如",
        "比如",
        "吗",
        "准备",
        "正在",
        "之前",
        "必须",
        "为了",
    ),
    user=("您已", "你已", "您之前", "你之前", "用户已", "客户已"),
    first=("我",),
    done=("搞定了", "已完成", "完成了", "办好了", "弄好了", "搞定"),
)

JAPANESE: Final = Unspaced(
    code="ja",
    verbs=verbs(
        {
            "book": "予約 手配 注文 購入 スケジュール 取り 申し込み 申込み",
            "cancel": "キャンセル 取り消し 取消 解約 取消し",
            "confirm": "承認 確定",
            "create": "作成 追加 登録 発行 生成 作り 起票 新規作成 付け加え",
            "delete": "削除 消去 消し 除去 アーカイブ",
            "finish": "完了 処理 実施 対応 済ませ 終え",
            "pay": "返金 支払い 決済 請求 振り込み 払い戻し 入金",
            "publish": "公開 アップロード デプロイ 投稿 共有 掲載",
            "read": "確認 検索 調べ 見つけ 取得 照会 調査 検証 閲覧 参照 チェック 読み",
            "run": "実行 起動 再起動 開始 インストール テスト 動かし",
            "save": "保存 記録 メモ バックアップ 覚え",
            "send": "送信 送り 通知 発送 転送 送付 連絡 配信 メール",
            "stop": "停止 終了 中止 無効化 止め",
            "transfer": "引き継ぎ 転送 割り当て エスカレーション エスカレート",
            "update": "更新 変更 修正 設定 編集 有効化 調整 差し替え 直し 変え 反映 延長 適用",
        }
    ),
    before=(),
    after=(
        "しました",
        "いたしました",
        "致しました",
        "ました",
        "されました",
        "済みです",
        "済みました",
        "しておきました",
        "ておきました",
        "が完了しました",
        "は完了しました",
        "完了しました",
        "完了です",
        "できました",
        "しました",
        "されています",
        "してあります",
        "済み。",
        "した。",
    ),
    particles=("を", "が", "は", "も", "に"),
    blockers=(
        "もし",
        "場合",
        "れば",
        "たら",
        "ください",
        "ですか",
        "ますか",
        "ましたか",
        "でしょうか",
        "例えば",
        "ません",
    ),
    user=("お客様が", "あなたが", "ユーザーが", "お客様は"),
    first=("私", "こちらで", "当方"),
    done=("完了しました", "できました", "終わりました", "完了です"),
)
