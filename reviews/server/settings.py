"""Django settings. Every variable read here is listed in the README's settings table and in .env.example.

Two modes: ``embedded`` (the default: SQLite, a broker of files, secrets made in the data folder) and
``production`` (``REVIEWS_ENV=production``: secrets and addresses must come from the environment).
"""

from __future__ import annotations

from pathlib import Path

from celery.schedules import crontab
from django.core.exceptions import ImproperlyConfigured

from reviews.server.env import env, models, names, prices, stored_secret
from reviews.server.sqlite import use_current_sqlite

SQLITE_IS_FIXED = use_current_sqlite()

BASE_DIR = Path(__file__).resolve().parent.parent.parent
DATA_DIR = Path(env.str("REVIEWS_DATA_DIR", "data")).resolve()

MODE = env.str("REVIEWS_ENV", "embedded")
if MODE not in ("embedded", "production"):
    raise ImproperlyConfigured(f"REVIEWS_ENV is {MODE!r}; it must be 'embedded' or 'production'.")
PRODUCTION = MODE == "production"

DEBUG = env.bool("REVIEWS_DEBUG", False)
if DEBUG and PRODUCTION:
    raise ImproperlyConfigured("REVIEWS_DEBUG must not be set in production.")

if PRODUCTION:
    SECRET_KEY = env.str("SECRET_KEY")
    ALLOWED_HOSTS = names("ALLOWED_HOSTS")
else:
    SECRET_KEY = env.str("SECRET_KEY", "") or stored_secret(DATA_DIR / "secret-key")
    ALLOWED_HOSTS = names("ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"])
# Former secrets: what was signed or sealed under them is still read, nothing new is written with them.
SECRET_KEY_FALLBACKS = names("SECRET_KEY_FALLBACKS", [])
CSRF_TRUSTED_ORIGINS = names("CSRF_TRUSTED_ORIGINS", [])

# -- Applications and middleware

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "django_htmx",
    "template_partials",
    "reviews.apps.ReviewsConfig",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "reviews.views.middleware.security_headers",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "reviews.views.middleware.htmx_login_redirect",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
]

ROOT_URLCONF = "reviews.server.urls"
WSGI_APPLICATION = "reviews.server.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
            ],
        },
    }
]

# -- Databases: SQLite in the data folder until DATABASE_URL says otherwise

SQLITE_OPTIONS = {
    # A writer takes its lock at once, so two never deadlock half-way; readers are not held up under WAL.
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    # FULL: what was answered "accepted" survives a power cut, not only a killed process.
    "init_command": (
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-65536; "
        "PRAGMA mmap_size=268435456; PRAGMA temp_store=MEMORY; PRAGMA journal_size_limit=67108864;"
    ),
}

if env.str("DATABASE_URL", ""):
    DATABASES = {"default": env.dj_db_url("DATABASE_URL", conn_max_age=600, conn_health_checks=True)}
    if DATABASES["default"]["ENGINE"] == "django.db.backends.postgresql":
        # Where a connection stands until a request confines it to a tenant (reviews.models.confinement).
        _options = DATABASES["default"].setdefault("OPTIONS", {})
        _options["options"] = f"{_options.get('options', '')} -c reviews.tenant=*".strip()
else:
    DATABASES = {
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": DATA_DIR / "reviews.sqlite3",
            "CONN_MAX_AGE": None,
        }
    }
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATABASES["default"]["OPTIONS"] = SQLITE_OPTIONS
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# -- Accounts and sessions

AUTH_USER_MODEL = "reviews.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "reviews:login"
LOGIN_REDIRECT_URL = "reviews:home"
LOGOUT_REDIRECT_URL = "reviews:login"
SESSION_COOKIE_AGE = env.int("SESSION_HOURS", 12) * 3600

# -- Security

# X-Frame-Options is set by reviews.views.middleware, beside the policy that goes with it.
SILENCED_SYSTEM_CHECKS = ["security.W002"]
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CSRF_FAILURE_VIEW = "reviews.views.errors.csrf_failure"
SECURE_SSL_REDIRECT = PRODUCTION and env.bool("SECURE_SSL_REDIRECT", True)
# Load balancers and monitors ask over plain HTTP from inside.
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
SECURE_HSTS_SECONDS = env.int("SECURE_HSTS_SECONDS", 31_536_000) if PRODUCTION else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = PRODUCTION
SECURE_HSTS_PRELOAD = PRODUCTION
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = PRODUCTION
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
if env.bool("BEHIND_PROXY", False):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# The intake reads its own bodies with its own limit (16 MiB); forms stay small.
DATA_UPLOAD_MAX_MEMORY_SIZE = 17 * 1024 * 1024

# -- Static files: served by WhiteNoise under hashed names

STATIC_URL = "/static/"
STATIC_ROOT = Path(env.str("STATIC_ROOT", str(DATA_DIR / "static")))
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

# -- Language and time: stored in UTC, shown in the time zone of the installation

LANGUAGE_CODE = "en-gb"
USE_I18N = False
USE_TZ = True
TIME_ZONE = env.str("TIME_ZONE", "UTC")

# -- API

REST_FRAMEWORK = {
    "DEFAULT_RENDERER_CLASSES": ["reviews.api.renderers.MsgspecRenderer"],
    "DEFAULT_PARSER_CLASSES": [],
    "DEFAULT_AUTHENTICATION_CLASSES": ["reviews.api.authentication.ApiKeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["reviews.api.permissions.HasScope"],
    "EXCEPTION_HANDLER": "reviews.api.errors.exception_handler",
    "UNAUTHENTICATED_USER": None,
}

# -- Celery: a broker of files in the data folder until CELERY_BROKER_URL says otherwise

CELERY_BROKER_URL = env.str("CELERY_BROKER_URL", "filesystem://")
if CELERY_BROKER_URL == "filesystem://":
    CELERY_BROKER_TRANSPORT = "reviews.server.broker:Transport"
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(DATA_DIR / "broker" / "messages"),
        "data_folder_out": str(DATA_DIR / "broker" / "messages"),
        "control_folder": str(DATA_DIR / "broker" / "control"),
        "polling_interval": 0.2,
    }
else:
    # A broker that is down must not hold up intake: the sweep finds what a lost hint left behind.
    # Without max_retries, kombu tries for six seconds before it gives a hint up.
    CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_connect_timeout": 1, "socket_timeout": 5, "max_retries": 0}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_PUBLISH_RETRY = False
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TIMEZONE = "UTC"
# A worker takes from both queues unless it is told otherwise (-Q): one that only takes from "celery" is never
# held up by a slow model.
CELERY_TASK_QUEUES = {name: {"exchange": name, "routing_key": name} for name in ("celery", "critic")}
CELERY_TASK_DEFAULT_QUEUE = "celery"
CELERY_TASK_ROUTES = {"reviews.tasks.ask_critic": {"queue": "critic"}}

#: Seconds between sweeps for turns whose hint was lost, and how long a claim is honoured before another
#: worker may take it over (a batch takes well under a second; the rest is for a stalled machine).
SWEEP_SECONDS = env.float("SWEEP_SECONDS", 5.0)
ANALYSIS_LEASE_SECONDS = env.float("ANALYSIS_LEASE_SECONDS", 30.0)
CELERY_BEAT_SCHEDULE = {
    "sweep": {
        "task": "reviews.tasks.sweep",
        "schedule": SWEEP_SECONDS,
        "options": {"expires": SWEEP_SECONDS},
    },
    # Nightly; when beat does not run at that time, at its next start. Labels change slowly.
    "learn": {"task": "reviews.tasks.learn", "schedule": crontab(hour=2, minute=30)},
    # Half an hour later, so that a small machine does one after the other.
    "extract": {"task": "reviews.tasks.extract", "schedule": crontab(hour=3, minute=0)},
    # As often as ``reviews.services.pulling`` counts on; one that comes too late is left to the next.
    "pull": {
        "task": "reviews.tasks.pull",
        "schedule": crontab(minute="*/10"),
        "options": {"expires": 600},
    },
}

# -- The language model that extracts skills where a tenant's policy asks for it: any server with OpenAI's
# chat API. Without an address and a name no model is asked.

MODEL_BASE_URL = env.str("MODEL_BASE_URL", "")
MODEL_NAME = env.str("MODEL_NAME", "")
MODEL_API_KEY = env.str("MODEL_API_KEY", "")
MODEL_TIMEOUT_SECONDS = env.float("MODEL_TIMEOUT_SECONDS", 60.0)
MODEL_RETRIES = env.int("MODEL_RETRIES", 2)
#: For a million tokens in and a million out, in a currency of the operator's choice.
MODEL_PRICES = prices("MODEL_PRICES")
#: Other models behind the same address, to compare the critic with.
MODEL_CHOICES = models("MODEL_CHOICES")

# -- Requests to runtimes and webhooks (reviews.services.outbound)

#: Whether they may lead into private networks and to this machine. Off, since members of a tenant type the
#: addresses in and are not meant to reach what stands beside the server.
OUTBOUND_ALLOW_PRIVATE = env.bool("OUTBOUND_ALLOW_PRIVATE", False)
#: From the beginning of a request to the end of its answer.
OUTBOUND_TIMEOUT_SECONDS = env.float("OUTBOUND_TIMEOUT_SECONDS", 10.0)

# -- Monitoring: /metrics answers only to this token (as a bearer), and not at all without one

METRICS_TOKEN = env.str("METRICS_TOKEN", "")

# -- Logs: one JSON object a line, ids only, never payload text

LOG_LEVEL = env.str("LOG_LEVEL", "INFO")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": "reviews.server.logs.JsonFormatter"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        "reviews": {"level": LOG_LEVEL},
        "celery": {"level": "WARNING"},
        # Says at every start that a broker of files has no host name.
        "kombu.connection": {"level": "ERROR"},
        "django.request": {"level": "ERROR"},
    },
}
