"""URLs of a policy and its versions."""

from django.urls import URLPattern, URLResolver, path

from reviews.views import policies, policy_history

urlpatterns: list[URLPattern | URLResolver] = [
    path("versions/", policy_history.versions, name="policy-versions"),
    path("compare/", policy_history.compare, name="policy-compare"),
    path("versions/<int:number>/", policies.version_view, name="policy-version"),
    path("versions/<int:number>/publish", policies.publish, name="publish-version"),
    path("versions/<int:number>/discard", policies.discard, name="discard-version"),
    path("versions/<int:number>/shadow", policies.start_shadow, name="shadow-version"),
    path("versions/<int:number>/end-shadow", policies.end_shadow, name="end-shadow"),
    path("versions/<int:number>/roll-back", policies.roll_back, name="roll-back"),
]
