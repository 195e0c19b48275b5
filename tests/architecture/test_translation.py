"""Whatever people read in the console can be translated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.apps import apps
from django.utils.functional import Promise
from django.utils.translation.template import templatize

from access_app.models import Verb
from tests.architecture.test_rooms import ROOT
from tests.architecture.wording import in_python, in_template

TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
MODULES = sorted((ROOT / "console_app").rglob("*.py"))


def findings(path: Path) -> list[tuple[int, str]]:
    scan: Callable[[str], list[tuple[int, str]]] = in_template if path.suffix == ".html" else in_python
    return scan(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", [*TEMPLATES, *MODULES], ids=lambda path: str(path.relative_to(ROOT)))
def test_what_people_read_is_marked_for_translation(path: Path) -> None:
    assert findings(path) == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT)))
def test_makemessages_can_read_every_template(path: Path) -> None:
    templatize(path.read_text(encoding="utf-8"), origin=str(path))


@pytest.mark.parametrize(
    ("template", "found"),
    [
        ("<p>\n{% if x %}Nothing{% endif %}</p>", (2, "Nothing")),
        ("<p>{{ count }} ms</p>", (1, "ms")),
        ('<a title="To the top">{{ x }}</a>', (1, "title: To the top")),
        ('<input placeholder="Name" {% if x %}disabled{% endif %}>', (1, "placeholder: Name")),
        ('<img alt="A duck">', (1, "alt: A duck")),
        ('<a aria-label="Remove {{ x }}">&times;</a>', (1, "aria-label: Remove")),
        ('<input type="submit" value="Save">', (1, "value: Save")),
        ('{{ x|default:"never" }}', (1, "default: never")),
        ('{{ x|yesno:"on,off" }}', (1, "yesno: on,off")),
        ("{{ x }}{{ x|pluralize }}", (1, "pluralize: use {% blocktranslate count %}")),
        ('{% label "Failed" "danger" %}', (1, "label: Failed")),
        ('{% include "x.html" with title="Nothing" %}', (1, "title: Nothing")),
        ("{% blocktranslate %}\nIn\n{% endblocktranslate %}\n<p>Out</p>", (4, "Out")),
        ('<span class="material-symbols-outlined">sync</span>Run', (1, "Run")),
        ("{% if x %}<div>{% else %}<div>{% endif %}</div>Words", (1, "Words")),
    ],
)
def test_words_in_a_template_are_found(template: str, found: tuple[int, str]) -> None:
    assert in_template(template) == [found]


@pytest.mark.parametrize(
    "template",
    [
        '{% translate "Nothing" %}',
        '<a title="{% translate "To the top" %}">{{ x }}</a>',
        "{% blocktranslate count n=x %}{{ n }} job{% plural %}{{ n }} jobs{% endblocktranslate %}",
        '{{ x|default:_("never") }} · {{ x|default:"--" }} &nbsp;',
        "{# A comment #}{% comment %}Another{% endcomment %}<!-- and this -->",
        '<span class="material-symbols-outlined">sync</span><code>X-Api-Key: KEY</code>',
        '<input type="hidden" value="save"><title>{{ title }} | Ragsite</title>',
        "<pre>curl http://127.0.0.1/</pre><td>{{ at }} UTC, {{ name }}</td><h3>Python</h3>",
    ],
)
def test_what_is_marked_or_no_word_is_left_alone(template: str) -> None:
    assert in_template(template) == []


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ('messages.success(request, "Saved")', "Saved"),
        ('messages.error(request, f"{name} is gone")', "{} is gone"),
        ('forms.CharField(label="name")', "name"),
        ('x = forms.CharField(label=_("Name"), help_text="short")', "short"),
        ("x = forms.CharField()", "x: a field without a label= is called by its name"),
        ('empty_title = "nothing"', "nothing"),
        ('page(title="jobs" if x else _("Job"))', "jobs"),
        ('@admin.display(description="state")\ndef f(): ...', "state"),
        ('{"title": "jobs"}', "jobs"),
        ('class Meta:\n    verbose_name = "job"', "job"),
        ("x = forms.CharField(widget=TextInput())", "x: a field without a label= is called by its name"),
        ('page(title=names["Old"] or "Old")', "Old"),
        ('x = "import a file first"', "import a file first"),
        ('form.add_error(None, "bad")', "bad"),
        ('raise forms.ValidationError("bad")', "bad"),
        ('label("on" if x else "off", "danger")', "off"),
        ('STATES = {1: "Every hour"}', "Every hour"),
        ("def f():\n    return 'Waiting.'", "Waiting."),
        ("""x = format_html('<b title="Hashed">{}</b>', y)""", "title: Hashed"),
        ("""x = format_html("<b>{} ms</b>", y)""", "ms"),
        ('x = _(f"{n} jobs")', "_() takes one whole string"),
        ('x = _("a") + y', "glued from translated pieces: use one string with %(name)s in it"),
        ("x = f\"{_('a')} {y}\"", "glued from translated pieces: use one string with %(name)s in it"),
    ],
)
def test_words_in_python_are_found(code: str, found: str) -> None:
    assert found in [words for _, words in in_python(code)]


@pytest.mark.parametrize(
    "code",
    [
        '"""A module that says why."""\ndef f():\n    """And a function."""',
        'messages.success(request, _("%(name)s is gone.") % {"name": name})',
        'words = ngettext("%(n)s job", "%(n)s jobs", n)',
        'x = forms.CharField(label=_("Name"), widget=Text(attrs={"autocomplete": "off"}))',
        'logger.error("the database failed", exc_info=error)',
        'raise InvalidInput("Errors are English.")',
        """x = format_html('<span class="rs-number rs-bad">{}</span>', y)""",
        'label(_("Failed"), "danger")\nurl = reverse("admin:index")',
        'class ConsoleConfig(AppConfig):\n    label = "console"',
        'form.add_error("name", _("Choose another."))',
        'page(title=given["title"])\nmessages.error(request, said % {"name": given["name"]})',
        "seen = forms.CharField(required=False, widget=forms.HiddenInput())",
        'assert x, "whoever came as far has logged in"',
        'route("<int:case_id>/run/", self.run_view, "run")',
        'Row = TypeVar("Row")',
        'reject_unstorable(given, "Metadata")\nx = error.detail.replace("The body", "This")',
        'PROGRAM = "import json\\nimport os\\nprint(json.load(answer))"',
    ],
)
def test_python_that_tells_nobody_anything_is_left_alone(code: str) -> None:
    assert in_python(code) == []


def test_labels_of_choices_are_marked_for_translation() -> None:
    """Labels that the models of all rooms give to states, kinds and verbs."""
    rooms = {config.name for config in apps.get_app_configs() if (ROOT / config.name).is_dir()}
    unmarked = [
        f"{model._meta.label}.{field.name}: {label}"
        for model in apps.get_models()
        if model.__module__.split(".")[0] in rooms
        for field in model._meta.get_fields()
        for _value, label in getattr(field, "choices", None) or ()
        if not isinstance(label, Promise)
    ]
    assert unmarked == []
    assert isinstance(Verb.READ.label, Promise)
