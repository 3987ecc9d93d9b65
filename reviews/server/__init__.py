"""How the product runs: settings, URLs, WSGI and Celery entry points, the supervisor."""
