"""URLs of the API."""

from django.urls import path, re_path

from reviews.api.base import UnknownPath
from reviews.api.check import Check
from reviews.api.drafts import Drafts
from reviews.api.events import FabricationEvents, ReflectionEvents
from reviews.api.policy import CurrentPolicy
from reviews.api.skills import Skills
from reviews.api.suites import Suites
from reviews.api.turns import TurnDetail, TurnLookup, Turns

app_name = "api"

urlpatterns = [
    path("turns", Turns.as_view(), name="turns"),
    path("turns/lookup", TurnLookup.as_view(), name="turn-lookup"),
    re_path(r"^turns/(?P<turn_id>[0-9]{1,18})$", TurnDetail.as_view(), name="turn"),
    path("check", Check.as_view(), name="check"),
    path("events/fabrication", FabricationEvents.as_view(), name="fabrication-events"),
    path("events/reflection", ReflectionEvents.as_view(), name="reflection-events"),
    path("policy", CurrentPolicy.as_view(), name="policy"),
    path("drafts", Drafts.as_view(), name="drafts"),
    path("skills", Skills.as_view(), name="skills"),
    path("suites", Suites.as_view(), name="suites"),
    re_path(r"", UnknownPath.as_view(), name="unknown-path"),
]
