"""Connections in Postgres."""

from __future__ import annotations

import uuid

from django.db import models


class Connection(models.Model):
    """A configured, named use of a provider."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    name = models.CharField(max_length=100, unique=True)
    provider = models.CharField(max_length=100)
    #: As JSON, with a mask in the place of each secret (`secret_settings`).
    settings = models.JSONField(default=dict)
    #: The secrets in the same shape, encrypted (`sealing`); null where there are none.
    secrets = models.BinaryField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name"]

    #: It belongs to the whole server: to no collection.
    collection = None

    def __str__(self) -> str:
        return self.name
