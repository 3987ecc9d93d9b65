"""URLs of the pages."""

from django.urls import path

from reviews.views import health

app_name = "reviews"

urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
]
