"""URLs of the Skills screen."""

from django.urls import URLPattern, URLResolver, include, path

from reviews.views import skill_acts, skills

skill_urls = [
    path("", skill_acts.skill_view, name="skill"),
    path("next", skill_acts.step, {"forward": True}, name="next-skill"),
    path("previous", skill_acts.step, {"forward": False}, name="previous-skill"),
    path("approve", skill_acts.approve, name="approve-skill"),
    path("edit", skill_acts.edit, name="edit-skill"),
    path("reject", skill_acts.reject, name="reject-skill"),
    path("merge", skill_acts.merge, name="merge-skill"),
    path("retire", skill_acts.retire, name="retire-skill"),
    path("replay", skill_acts.replay, name="replay-skill"),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("", skills.skills_view, name="skills"),
    path("learn", skills.learn, name="learn-skills"),
    path("reject", skills.reject_all, name="reject-skills"),
    path("batches/<slug:batch>/undo", skills.undo_all, name="undo-skill-batch"),
    path("decisions/<int:decision_id>/undo", skill_acts.undo, name="undo-skill"),
    path("<int:skill_id>/", include(skill_urls)),
]
