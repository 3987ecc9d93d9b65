"""URLs of the pages: nouns, grouped by what they are about."""

from django.urls import include, path

from reviews.views import accounts, health, help, overview, queue, review, settings

app_name = "reviews"

turn_urls = [
    path("", review.turn_view, name="turn"),
    path("label", review.label, name="label"),
    path("note", review.note, name="note"),
    path("correct", review.correct, name="correct"),
    path("assign", review.assign, name="assign"),
]

settings_urls = [
    path("", settings.detection, name="settings"),
]

tenant_urls = [
    path("", overview.overview_view, name="overview"),
    path("settings/", include(settings_urls)),
    path("queue/", queue.queue_view, name="queue"),
    path("turns/<int:turn_id>/", include(turn_urls)),
    path("decisions/<int:decision_id>/undo", review.undo, name="undo"),
]

urlpatterns = [
    path("", queue.home, name="home"),
    path("login/", accounts.Login.as_view(), name="login"),
    path("logout/", accounts.Logout.as_view(), name="logout"),
    path("account/", accounts.account, name="account"),
    path("help/", help.help_view, name="help"),
    path("t/<slug:slug>/", include(tenant_urls)),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
]
