"""What can be done with a collection, told by its vectors and by the models of this server; and why not what cannot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _

from collections_app.models import Collection
from core_app.errors import RagsiteError
from core_app.wiring import chat_model, embedder, pair_scorer, store
from search_app.modes import MODES, ModeName


@dataclass(frozen=True, kw_only=True)
class Capability:
    """One thing that can be done, or why it cannot."""

    is_there: bool
    #: Why not, in a sentence that says what to do; empty where it can be.
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """What can be done with one collection."""

    #: Its documents are held here: they can be listed, copied, exported and changed.
    documents: Capability
    #: Texts can be embedded for it: files taken in, passages edited.
    embedding: Capability
    #: Queries can be embedded for it, once it holds something.
    query_embedding: Capability
    #: It can be searched by meaning.
    semantic_search: Capability
    #: It can be searched by words.
    word_search: Capability
    cross_encoder: Capability
    chat_model: Capability

    @property
    def hybrid_search(self) -> Capability:
        """It can be searched by meaning and by words at once."""
        lacking = [one for one in (self.semantic_search, self.word_search) if not one.is_there]
        return Capability(is_there=False, reason=" ".join(one.reason for one in lacking)) if lacking else THERE

    def of_mode(self, name: ModeName) -> Capability:
        """Whether a mode has what it expects; it works without, in a worse order."""
        mode = MODES[name]
        by_name: Mapping[str, Capability] = {"cross-encoder": self.cross_encoder, "llm": self.chat_model}
        wanted = [by_name[reranker] for reranker in mode.rerankers]
        if not mode.expects_reranker or any(capability.is_there for capability in wanted):
            return THERE
        return Capability(is_there=False, reason=" ".join(capability.reason for capability in wanted))


THERE = Capability(is_there=True)


def capabilities(collection: Collection) -> Capabilities:
    """Of a collection with its active generation. Asks no service."""
    documents, embedding = documents_of(collection), _embedding(collection)
    if embedding.is_there and collection.active_generation is None:
        reason = _("Nothing is indexed yet: send it files first.")
        semantic = Capability(is_there=False, reason=reason)
    else:
        semantic = embedding
    return Capabilities(
        documents=documents,
        embedding=embedding if documents.is_there else documents,
        query_embedding=embedding,
        semantic_search=semantic,
        word_search=_word_search(collection),
        cross_encoder=_cross_encoder(),
        chat_model=_chat_model(),
    )


def documents_of(collection: Collection) -> Capability:
    """Whether its documents are held here."""
    holder = store(collection.store).held_by(collection_id=collection.pk)
    if not holder:
        return THERE
    reason = _("Its documents are held by '%(connection)s' and not here. Change them there, or import the collection.")
    return Capability(is_there=False, reason=reason % {"connection": holder})


def rerankers() -> Mapping[str, Capability]:
    """What can put the best in order once more, by the names that a search knows them by."""
    return {"cross-encoder": _cross_encoder(), "llm": _chat_model()}


def _embedding(collection: Collection) -> Capability:
    generation = collection.active_generation
    try:
        source = embedder(collection.embedding_connection)
    except RagsiteError as error:
        return Capability(is_there=False, reason=error.detail)
    if generation is None:
        return THERE  # the first text that is ingested fixes the model
    if generation.embedding_model is None:
        return Capability(
            is_there=False,
            reason=_(
                "Its callers send vectors, and the server does not know of which model. Name the model by "
                "`embedding_model` of PATCH /collections/{name}, where it is this server's."
            ),
        )
    if (generation.embedding_connection, generation.embedding_model) != (source.connection, source.model):
        return Capability(
            is_there=False,
            reason=_(
                "Its vectors are of '%(model)s', and this server embeds with '%(ours)s'. "
                "Set Embedding:Model back, or use another collection."
            )
            % {"model": generation.embedding_model, "ours": source.model},
        )
    return THERE


def _word_search(collection: Collection) -> Capability:
    if store(collection.store).has_words:
        return THERE
    reason = _("Its words are not kept here, so it is searched by meaning alone. Import the collection for words, too.")
    return Capability(is_there=False, reason=reason)


def _cross_encoder() -> Capability:
    try:
        scorer = pair_scorer()
    except RagsiteError as error:
        return Capability(is_there=False, reason=error.detail)
    reason = _("No cross-encoder is loaded. Set Rerank:CrossEncoder to load one.")
    return THERE if scorer is not None else Capability(is_there=False, reason=reason)


def _chat_model() -> Capability:
    try:
        model = chat_model()
    except RagsiteError as error:
        return Capability(is_there=False, reason=error.detail)
    reason = _("No language model is configured. Set Llm:Provider to use one.")
    return THERE if model is not None else Capability(is_there=False, reason=reason)
