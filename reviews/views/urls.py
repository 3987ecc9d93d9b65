"""URLs of the pages: nouns, grouped by what they are about."""

from django.urls import URLPattern, URLResolver, include, path

from reviews.views import (
    accounts,
    api_keys,
    audit_log,
    health,
    help,
    members,
    metrics,
    overview,
    queue,
    review,
    runtime,
    settings,
)

app_name = "reviews"

turn_urls = [
    path("", review.turn_view, name="turn"),
    path("next", review.step, {"forward": True}, name="next"),
    path("previous", review.step, {"forward": False}, name="previous"),
    path("reviewers", review.reviewers, name="reviewers"),
    path("label", review.label, name="label"),
    path("note", review.note, name="note"),
    path("correct", review.correct, name="correct"),
    path("assign", review.assign, name="assign"),
    path("critic", review.critic, name="turn-critic"),
    path("critic/judge", review.judge_critic, name="judge-critic"),
]

settings_urls = [
    path("", settings.policy, name="settings"),
    path("members/", members.members, name="members"),
    path("members/<int:user_id>/role", members.change_role, name="member-role"),
    path("members/<int:user_id>/remove", members.remove, name="remove-member"),
    path("api-keys/", api_keys.api_keys, name="api-keys"),
    path("api-keys/<int:key_id>/revoke", api_keys.revoke, name="revoke-key"),
    path("runtime/", runtime.runtime_view, name="runtime"),
    path("runtime/remove", runtime.remove, name="remove-runtime"),
    path("runtime/pull", runtime.pull, name="pull-drafts"),
    path("runtime/deliveries/<int:delivery_id>/retry", runtime.retry, name="retry-delivery"),
    path("audit/", audit_log.audit_log, name="audit"),
]

tenant_urls: list[URLPattern | URLResolver] = [
    path("", overview.overview_view, name="overview"),
    path("settings/", include(settings_urls)),
    path("policy/", include("reviews.views.policy_urls")),
    path("skills/", include("reviews.views.skill_urls")),
    path("thresholds/", include("reviews.views.threshold_urls")),
    path("critic/", include("reviews.views.critic_urls")),
    path("assertions/", include("reviews.views.assertion_urls")),
    path("queue/", queue.queue_view, name="queue"),
    path("turns/<int:turn_id>/", include(turn_urls)),
    path("decisions/<int:decision_id>/undo", review.undo, name="undo"),
]

urlpatterns = [
    path("", queue.home, name="home"),
    path("login/", accounts.Login.as_view(), name="login"),
    path("logout/", accounts.Logout.as_view(), name="logout"),
    path("account/", accounts.account, name="account"),
    path("account/password/", accounts.ChangePassword.as_view(), name="password"),
    path("help/", help.help_view, name="help"),
    path("t/<slug:slug>/", include(tenant_urls)),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", metrics.metrics, name="metrics"),
]
