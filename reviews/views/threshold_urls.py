"""URLs of the Thresholds screen."""

from django.urls import URLPattern, URLResolver, path

from reviews.views import suggestions, thresholds

urlpatterns: list[URLPattern | URLResolver] = [
    path("", thresholds.thresholds, name="thresholds"),
    path("simulate", thresholds.simulate, name="simulate"),
    path("learn", suggestions.learn, name="learn"),
    path("suggestions/<int:suggestion_id>/accept", suggestions.accept, name="accept-suggestion"),
    path("suggestions/<int:suggestion_id>/dismiss", suggestions.dismiss, name="dismiss-suggestion"),
]
