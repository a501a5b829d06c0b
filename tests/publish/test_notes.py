"""Release notes can be read by anybody, and whatever vendors' names are, they stay text."""

from dataclasses import replace

import pytest
from markdown_it import MarkdownIt

from hwprices.publish.notes import as_markdown, changelog_entry
from hwprices.release import notes as release_notes
from hwprices.release.notes import Collected, GateNote, Move, ProviderNote, ReleaseNotes, Sold

HOSTILE = [
    "<script>alert(1)</script>",
    "[click](https://evil.example/)",
    "![x](https://evil.example/x.png)",
    "https://evil.example/",
    "www.evil.example",
    "a | b\n# heading\n- list",
    "`code` **bold** _em_",
    "\x1b[31mred\u202etxet",
    "x" * 5000,
]

PROVIDER = ProviderNote(
    title="AWS",
    origin="live",
    status="fresh",
    kept_from=None,
    observed_from="2026-10-01T04:00:00+00:00",
    observed_to="2026-10-01T05:00:00+00:00",
    prices={"on_demand": 2557, "spot": 12},
    quarantined={"duplicate_key": 2},
    failed_units=(),
    checks_passed=12,
)

NOTHING_NEW = ReleaseNotes(version="20261002T041700Z", previous=None, providers={})


def notes(text="p5.48xlarge"):
    move = Move("aws", text, text, "on_demand", "linux", 0, "USD", "55.04", "44", -20.0582)
    return ReleaseNotes(
        version="20261002T041700Z",
        previous="20261001T041700Z",
        providers={"aws": PROVIDER},
        changes={"price_down": 1, "removed": 3},
        moves=(move,),
        instance_types=(Sold("aws", text, "removed", 3),),
        regions=(Sold("aws", text, "added", 1),),
        collection=(Collected("aws", text, "not_collected", 7),),
        gate=(GateNote("aws", "types_retired", "warn", text),),
        problems={"aws": text},
    )


def test_the_notes_say_what_is_new():
    text = as_markdown(notes())
    assert "- Prices: 3 gone, 1 cheaper." in text
    assert "- Machine types: 1 gone." in text
    move = "- AWS p5.48xlarge in p5.48xlarge, on demand, linux: 55.04 to 44 USD/h (-20.1 %)"
    assert move in text
    assert move in changelog_entry(notes())
    assert "| AWS | on demand | 2,557 | live, seen 2026-10-01 |" in text
    assert "| AWS | duplicate\\_key | 2 |" in text
    assert "12 checks passed, 1 did not." in text
    ids = [line for line in text.splitlines() if "aws" in line]
    assert ids == ["- Not collected: aws/p5.48xlarge. Left as before: 7 prices."]  # a unit's name


@pytest.mark.parametrize("hostile", HOSTILE)
def test_texts_of_vendors_stay_text(hostile):
    """Rendered as GitHub does, they make no element, no link and no line of their own."""
    plain = notes("harmless")
    for write in (as_markdown, changelog_entry):
        text = write(notes(hostile))
        assert text.count("\n") == write(plain).count("\n")
        assert all(character.isprintable() for character in text.replace("\n", ""))
        assert "://" not in text
        assert "www." not in text  # which GitHub makes a link of
        tokens = MarkdownIt("commonmark").enable("table").parse(text)
        kinds = {child.type for token in tokens for child in [token, *(token.children or [])]}
        assert not kinds & {"html_block", "html_inline", "link_open", "image", "code_inline"}
        assert [t.type for t in tokens] == [
            t.type for t in MarkdownIt("commonmark").enable("table").parse(write(plain))
        ]


def test_nothing_new_is_said():
    none = replace(NOTHING_NEW, previous="20261001T041700Z")
    assert release_notes.lines(none) == ["No price changed."]


def test_the_first_release_is_one_line_and_providers_that_are_new_later_are_named():
    both = {"aws": PROVIDER, "lambda": replace(PROVIDER, title="Lambda", prices={"on_demand": 22})}
    first = replace(NOTHING_NEW, providers=both, new_providers=("aws", "lambda"))
    assert release_notes.lines(first) == ["First release: 2,591 prices of 2 providers."]
    assert "\n\n- First release: 2,591 prices of 2 providers.\n\n" in as_markdown(first)

    later = replace(first, previous="20261001T041700Z", new_providers=("lambda",))
    assert release_notes.lines(later) == ["Lambda is in a release for the first time: 22 prices."]
    both_later = replace(later, new_providers=("aws", "lambda"))
    assert release_notes.lines(both_later) == [
        "AWS, Lambda are in a release for the first time: 2,591 prices."
    ]
