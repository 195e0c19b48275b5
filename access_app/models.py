"""Staff users of the console and the keys that applications send."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.contrib.postgres.fields import ArrayField
from django.db import models


class User(AbstractUser):
    """A person who logs in to the console. Custom from the first migration, so that it can grow."""


class Verb(models.TextChoices):
    """What a key allows; every view names the one it needs."""

    READ = "read", "Read"
    SEARCH = "search", "Search"
    WRITE = "write", "Write"
    DELETE = "delete", "Delete"
    ADMIN = "admin", "Administer"


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
        verbose_name = "API key"
        ordering = ("name", "id")

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix})"
