"""WSGI entry point: ``reviews.server.wsgi:application``."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reviews.server.settings")

from django.core.wsgi import get_wsgi_application

application = get_wsgi_application()
