"""All URLs of the installation."""

from django.urls import include, path

urlpatterns = [
    path("api/v1/", include("reviews.api.urls")),
    path("", include("reviews.views.urls")),
]
