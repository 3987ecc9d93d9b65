"""The Django application."""

from django.apps import AppConfig


class ReviewsConfig(AppConfig):
    name = "reviews"
    verbose_name = "Symfonic Review"

    def ready(self) -> None:
        from reviews import checks  # noqa: F401  (registers the system checks)
        from reviews.server import celery  # noqa: F401  (tasks sent from the web find their broker)
