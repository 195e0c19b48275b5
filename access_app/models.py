"""Staff users of the console and what they reach, the keys that applications send, and what was changed by whom."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser, Group
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from access_app.acting import Door

MAX_PATTERN_LENGTH = 512


def patterns_field() -> ArrayField[list[str], list[str]]:
    """Names of collections or patterns such as `team-*`; `*` means all. Empty means none."""
    return ArrayField(models.CharField(max_length=MAX_PATTERN_LENGTH), default=list, blank=True)


class User(AbstractUser):
    """A person who logs in to the console. Custom from the first migration, so that it can grow."""

    #: Where the permissions hold that are given to the user directly; those of groups hold where the groups' do.
    collections = patterns_field()


class Reach(models.Model):
    """Where the permissions of a group hold. A group without one reaches nothing."""

    group = models.OneToOneField(Group, primary_key=True, on_delete=models.CASCADE, related_name="reach")
    collections = patterns_field()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.group}: {', '.join(self.collections) or 'nothing'}"


class BuiltInGroup(models.Model):
    """A group that Ragsite made, and what it has ever given it: what was taken away since stays away."""

    role = models.CharField(max_length=32, primary_key=True)
    #: Null once an administrator has deleted it: it is not made again.
    group = models.OneToOneField(Group, null=True, on_delete=models.SET_NULL, related_name="built_in")
    #: As `app.codename`.
    given = ArrayField(models.CharField(max_length=200), default=list)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.role


class Verb(models.TextChoices):
    """What a key allows; every view names the one it needs."""

    READ = "read", _("Read")
    SEARCH = "search", _("Search")
    WRITE = "write", _("Write")
    DELETE = "delete", _("Delete")
    ADMIN = "admin", _("Administer")
    #: The tool `researchTopic` of the door for agents, which is many searches at once; not the address of that name.
    RESEARCH = "research", _("Research by agents")


class ApiKey(models.Model):
    """A secret that an application sends. Only its SHA-256 is kept; the prefix finds the row."""

    name = models.CharField(max_length=200)
    prefix = models.CharField(max_length=16, unique=True)
    secret_hash = models.BinaryField(max_length=32)
    verbs = ArrayField(models.CharField(max_length=16, choices=Verb.choices))
    #: Names or patterns such as `team-*`; `*` means all. Empty means none.
    collections = ArrayField(models.CharField(max_length=512))
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("API key")
        ordering = ("name", "id")

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix})"


class AuditEntry(models.Model):
    """One change: who, when, by which door, to what, and what it was before and after. Written once, by `audit.record`.

    Names and ids only, no foreign keys: what was changed may go, and that it was changed is still known. A trigger
    refuses UPDATE.
    """

    class Outcome(models.TextChoices):
        """What came of it."""

        DONE = "done", _("Done")
        FAILED = "failed", _("Failed")

    at = models.DateTimeField(default=timezone.now)
    #: The user's name, the key's name and prefix, `cli:` and the name at the operating system, or the task.
    actor = models.TextField()
    door = models.CharField(max_length=8, choices=Door.choices)
    request_id = models.CharField(max_length=64, blank=True)
    #: What was done, as `subject.verb`; `audit_words.ACTIONS` has the words for people.
    action = models.CharField(max_length=64)
    #: As `app.model`, with its key and what it was called.
    object_type = models.CharField(max_length=100)
    object_id = models.CharField(max_length=64, blank=True)
    object_name = models.TextField(blank=True)
    #: The name that its collection had then; empty where it belongs to none.
    collection = models.TextField(blank=True)
    #: What changed, bounded in size; null where there was or is nothing.
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    outcome = models.CharField(max_length=8, choices=Outcome.choices, default=Outcome.DONE)

    class Meta:
        verbose_name = _("audit entry")
        verbose_name_plural = _("audit log")
        default_permissions = ("view",)
        ordering = ("-at", "-id")
        indexes = [
            # Each list of the console, newest first, in keyset pages.
            models.Index(fields=["at", "id"], name="audit_newest"),
            models.Index(fields=["object_type", "object_id", "at", "id"], name="audit_of_object"),
            models.Index(fields=["collection", "at", "id"], name="audit_of_collection"),
            models.Index(fields=["actor", "at", "id"], name="audit_of_actor"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.object_name}"
