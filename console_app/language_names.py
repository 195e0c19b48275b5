"""Languages of texts, as people call them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

#: By the names that the API has. One that is not here, of a later stemmer, is shown as it is.
LANGUAGE_NAMES: Mapping[str, Promise] = MappingProxyType(
    {
        "simple": _("Simple"),
        "arabic": _("Arabic"),
        "armenian": _("Armenian"),
        "basque": _("Basque"),
        "catalan": _("Catalan"),
        "czech": _("Czech"),
        "danish": _("Danish"),
        "dutch": _("Dutch"),
        "english": _("English"),
        "esperanto": _("Esperanto"),
        "estonian": _("Estonian"),
        "finnish": _("Finnish"),
        "french": _("French"),
        "german": _("German"),
        "greek": _("Greek"),
        "hindi": _("Hindi"),
        "hungarian": _("Hungarian"),
        "indonesian": _("Indonesian"),
        "irish": _("Irish"),
        "italian": _("Italian"),
        "lithuanian": _("Lithuanian"),
        "nepali": _("Nepali"),
        "norwegian": _("Norwegian"),
        "persian": _("Persian"),
        "polish": _("Polish"),
        "portuguese": _("Portuguese"),
        "romanian": _("Romanian"),
        "russian": _("Russian"),
        "serbian": _("Serbian"),
        "sesotho": _("Sesotho"),
        "spanish": _("Spanish"),
        "swedish": _("Swedish"),
        "tamil": _("Tamil"),
        "turkish": _("Turkish"),
        "yiddish": _("Yiddish"),
    }
)


def language_name(name: str) -> str:
    """A language in the language of the request."""
    return str(LANGUAGE_NAMES.get(name, name.capitalize()))
