"""URLs of the critic's page and its trials."""

from django.urls import URLPattern, URLResolver, path

from reviews.views import critic, critic_trials

urlpatterns: list[URLPattern | URLResolver] = [
    path("", critic.critic_view, name="critic"),
    path("circuit", critic.close_circuit, name="close-circuit"),
    path("trials/", critic_trials.start, name="critic-trials"),
    path("trials/<int:job_id>/", critic_trials.trial_view, name="critic-trial"),
    path("trials/<int:job_id>/cancel", critic_trials.cancel, name="cancel-trial"),
]
