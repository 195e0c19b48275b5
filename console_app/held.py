"""Pages about documents, of a collection whose documents another system holds: there is nothing to do but say so."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from collections_app.models import Collection
from console_app.pages import ServiceAdmin
from search_app.capabilities import documents_of


class HeldPages(ServiceAdmin):
    """Of collections: what is answered where the documents are not here."""

    def held_elsewhere(self, request: HttpRequest, row: Collection) -> HttpResponse | None:
        """The page that says so, with status 409; None where the documents are here."""
        documents = documents_of(row)
        if documents.is_there:
            return None
        title = _("The documents of %(name)s are not here") % {"name": row.name}
        answer = self.page(request, "held_elsewhere.html", title=title, row=row, reason=documents.reason)
        answer.status_code = 409
        return answer
