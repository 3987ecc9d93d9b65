"""Logging in and out, and a person's own preferences."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView, LogoutView, PasswordChangeView
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_http_methods

from reviews.access import memberships_of
from reviews.htmx import render_page
from reviews.models import User


@method_decorator(login_not_required, name="dispatch")
class Login(LoginView):
    template_name = "reviews/login.html"
    redirect_authenticated_user = True


class Logout(LogoutView):
    http_method_names = ["post", "options"]


class ChangePassword(PasswordChangeView):
    """A new password, for which the old one is needed; other sessions of the person end with it."""

    template_name = "reviews/password.html"
    success_url = reverse_lazy("reviews:account")

    def form_invalid(self, form: BaseForm) -> HttpResponse:
        return self.render_to_response(self.get_context_data(form=form), status=422)


@require_http_methods(["GET", "HEAD", "POST"])
def account(request: HttpRequest) -> HttpResponse:
    """Theme and shortcuts."""
    user = request.user
    assert isinstance(user, User)
    if request.method == "POST":
        theme = request.POST.get("theme", "")
        if theme in User.Theme.values:
            user.theme = theme
        user.shortcuts = request.POST.get("shortcuts") == "on"
        user.save(update_fields=["theme", "shortcuts"])
        return redirect("reviews:account")
    memberships = memberships_of(user)
    return render_page(
        request, "reviews/account.html", {"themes": User.Theme.choices, "memberships": memberships}
    )
