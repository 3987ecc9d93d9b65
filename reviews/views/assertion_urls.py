"""URLs of the page of memory assertions and its suites."""

from django.urls import URLPattern, URLResolver, path

from reviews.views import assertions, suites

urlpatterns: list[URLPattern | URLResolver] = [
    path("", assertions.assertions_view, name="assertions"),
    path("suites/new", suites.new_suite, name="new-suite"),
    path("suites/<int:position>/", suites.suite_view, name="suite"),
]
