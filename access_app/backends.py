"""Django's hook for permissions: `user.has_perm(permission, row)` knows which collections somebody reaches."""

from __future__ import annotations

from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import AnonymousUser

from access_app.models import User
from access_app.reach import has_permission, holdings


class ReachBackend(ModelBackend):
    """Users and passwords as Django has them; permissions with the collections on which they hold.

    Without a row the question is whether somebody has the permission on any collection at all.
    """

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        if not isinstance(user_obj, User) or not user_obj.is_active:
            return False
        return user_obj.is_superuser or has_permission(user_obj, perm, obj)

    def get_all_permissions(self, user_obj: User | AnonymousUser, obj: Any = None) -> set[str]:
        """What holds on the row, or anywhere."""
        if not isinstance(user_obj, User) or not user_obj.is_active:
            return set()
        if user_obj.is_superuser:
            return super().get_all_permissions(user_obj)
        return {permission for permission in holdings(user_obj) if has_permission(user_obj, permission, obj)}

    async def ahas_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        return await sync_to_async(self.has_perm)(user_obj, perm, obj)

    async def aget_all_permissions(self, user_obj: Any, obj: Any = None) -> set[str]:
        return await sync_to_async(self.get_all_permissions)(user_obj, obj)
