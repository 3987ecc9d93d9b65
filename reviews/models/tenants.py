"""Who there is: tenants, people, their roles, and the keys of agents."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models import Q
from django.utils import timezone

from reviews.models.scoping import TenantModel


class User(AbstractUser):
    """A person. What they may do in a tenant is said by their membership, never here."""

    class Theme(models.TextChoices):
        SYSTEM = "system", "As the system"
        LIGHT = "light", "Light"
        DARK = "dark", "Dark"

    theme = models.CharField(max_length=6, choices=Theme, default=Theme.SYSTEM)
    shortcuts = models.BooleanField("single-key shortcuts", default=True)

    @property
    def display_name(self) -> str:
        return self.get_full_name() or self.username


class Tenant(models.Model):
    """One organisation's turns, people, policy and history, apart from everyone else's."""

    slug = models.SlugField(max_length=50, unique=True)
    name = models.CharField(max_length=100)
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.name


class Role(models.TextChoices):
    """What a member may do; each role includes those before it."""

    VIEWER = "viewer", "Viewer"
    REVIEWER = "reviewer", "Reviewer"
    MANAGER = "manager", "Manager"
    OWNER = "owner", "Owner"

    def includes(self, other: Role) -> bool:
        order = list(Role)
        return order.index(self) >= order.index(other)


class Membership(TenantModel):
    """A person's role in a tenant."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=8, choices=Role, default=Role.REVIEWER)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "user"], name="membership_once"),
            models.CheckConstraint(condition=Q(role__in=Role.values), name="membership_role_known"),
        ]

    def __str__(self) -> str:
        return f"{self.user} as {self.role}"

    def may(self, role: Role) -> bool:
        return Role(self.role).includes(role)


class Scope(models.TextChoices):
    """What an API key may be used for."""

    INGEST = "ingest", "Send turns and have drafts checked"
    READ = "read", "Read turns and findings"
    POLICY = "policy", "Read the policy in force"
    SKILLS = "skills", "Read and report skills"
    SUITES = "suites", "Read and propose suites of memory assertions"


class ApiKey(TenantModel):
    """A key of an agent's process. Only its SHA-256 is kept; the prefix tells keys apart."""

    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=12, unique=True)
    digest = models.BinaryField(max_length=32)
    scopes = models.CharField(max_length=100, help_text="Space-separated scopes.")
    created_at = models.DateTimeField(default=timezone.now)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["tenant", "-created_at"], name="apikey_tenant")]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @property
    def scope_list(self) -> list[str]:
        return self.scopes.split()

    @property
    def usable(self) -> bool:
        """Neither revoked nor past its expiry."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > timezone.now())


class AgentName(TenantModel):
    """The agents seen in a tenant, so that a filter can offer them without scanning the turns."""

    name = models.CharField(max_length=200)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["tenant", "name"], name="agentname_once")]

    def __str__(self) -> str:
        return self.name


__all__ = ["AgentName", "ApiKey", "Membership", "Role", "Scope", "Tenant", "User"]
