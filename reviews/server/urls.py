"""All URLs of the installation."""

from django.urls import include, path

urlpatterns = [
    path("api/v1/", include("reviews.api.urls")),
    path("", include("reviews.views.urls")),
]

handler400 = "reviews.views.errors.bad_request"
handler403 = "reviews.views.errors.forbidden"
handler404 = "reviews.views.errors.not_found"
handler500 = "reviews.views.errors.failed"
