"""The page on which staff see, try and change how a collection's texts are cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from collections_app.models import Collection
from console_app.failures import EXPECTED, sentence
from console_app.forms import ChunkingForm
from ingest_app.chunking import TextChunk
from ingest_app.previewing import Preview, PreviewedParent, preview_source, preview_text
from ingest_app.rechunking import ChunkingState, chunking_state, set_chunking

#: Passages shown of a preview.
SHOWN = 50


@dataclass(frozen=True, kw_only=True)
class PreviewedPassage:
    """A passage of a preview; `opens` is the parent that begins with it, if one does."""

    chunk: TextChunk
    tokens: int
    opens: PreviewedParent | None


@dataclass(frozen=True, kw_only=True)
class ChunkingPage:
    """The form, how it is now, and what was tried or saved."""

    form: ChunkingForm
    state: ChunkingState
    preview: Preview | None = None
    is_saved: bool = False

    @property
    def passages(self) -> Sequence[PreviewedPassage]:
        """The first of the preview."""
        if self.preview is None:
            return ()
        parents = {parent.first: parent for parent in self.preview.parents}
        return [
            PreviewedPassage(chunk=part, tokens=tokens, opens=parents.get(part.ordinal))
            for part, tokens in list(zip(self.preview.chunks, self.preview.tokens, strict=True))[:SHOWN]
        ]


def show_chunking(collection: Collection) -> ChunkingPage:
    """The page as it opens."""
    state = chunking_state(name=collection.name)
    return ChunkingPage(form=ChunkingForm(initial=state.chunking.as_json()), state=state)


def take_chunking(collection: Collection, data: Mapping[str, Any]) -> ChunkingPage:
    """The page after it was sent: to be saved with the button `save`, else to be tried."""
    form = ChunkingForm(data)
    preview, is_saved = None, False
    if form.is_valid():
        given = form.cleaned_data
        keys = ("strategy", "size", "overlap", "parent_size")
        own = {key: given[key] for key in keys if given[key] is not None}
        try:
            if "save" in data:
                set_chunking(name=collection.name, own=own)
                is_saved = True
            elif given["source"]:
                preview = preview_source(name=collection.name, own=own, source=given["source"])
            elif given["text"].strip():
                preview = preview_text(name=collection.name, own=own, text=given["text"])
            else:
                form.add_error(None, _("Name a document or paste a text to try this on."))
        except EXPECTED as error:
            form.add_error(None, sentence(error))
    return ChunkingPage(form=form, state=chunking_state(name=collection.name), preview=preview, is_saved=is_saved)
