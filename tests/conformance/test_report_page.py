"""The HTML page in a real browser."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conformance import told
from tests.conformance.browser import CHROMIUM, Page, open_page
from tests.conformance.fakes import Raises, Spoilt, WrongState
from tests.conftest import NOT_RUN

from wayproof.conformance.report.html import html_document
from wayproof.conformance.run.verdict import Verdict

ROOT = Path(__file__).parents[2]
NEEDS_CHROMIUM = pytest.mark.skipif(
    CHROMIUM is None,
    reason=f"{NOT_RUN}the HTML report in a browser; install chromium to check it",
)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with open_page(tmp_path_factory.mktemp("chromium")) as page:
        yield page


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the pages of a wrong, a hostile, a right and a broken backend."""
    folder = tmp_path_factory.mktemp("pages")
    wrong = told.report_on(WrongState())
    (failed,) = wrong.having(Verdict.FAIL)
    assert failed.divergence is not None
    divergence = replace(failed.divergence, clauses=("deadline-07",))
    other = replace(failed, id="hand/zzz/0001", title="Another failure", divergence=divergence)
    pages = {
        "wrong": replace(wrong, entries=(*wrong.entries, other)),
        "hostile": told.report_on(told.Hostile()),
        "right": told.report_on(Spoilt()),
        "broken": told.report_on(Raises()),
    }
    for name, report in pages.items():
        (folder / name).with_suffix(".html").write_text(html_document(report), encoding="utf-8")
    return folder


def visible(page: Page, selector: str) -> list[str]:
    """The ids of the elements that fit and can be seen."""
    found: list[str] = page.run(
        f"[...document.querySelectorAll('{selector}')]"
        ".filter((e) => e.checkVisibility()).map((e) => e.id)"
    )
    return found


@NEEDS_CHROMIUM
def test_the_verdict_is_what_the_page_shows_first(page: Page, folder: Path) -> None:
    for name, background in (("wrong", "rgb(253, 230, 230)"), ("right", "rgb(222, 243, 228)")):
        page.show(folder / f"{name}.html")
        top = page.run("document.querySelector('h1').getBoundingClientRect().bottom")
        assert 0 < top < 200
        color = page.run("getComputedStyle(document.querySelector('.verdict')).backgroundColor")
        assert color == background


@NEEDS_CHROMIUM
@pytest.mark.parametrize("width", [360, 1280])
def test_the_filter_shows_what_it_is_asked_for(page: Page, folder: Path, width: int) -> None:
    page.show(folder / "wrong.html", width=width)
    assert visible(page, ".entry") == ["hand/reserved/0001", "hand/zzz/0001"]
    page.click("#search")
    page.write("deadline-07")
    assert visible(page, ".entry") == ["hand/zzz/0001"]
    assert visible(page, "tr.item") == ["clause-deadline-07"]
    told_so = page.run("document.querySelector('#shown').textContent")
    assert told_so == "shown: 1 that did not pass, 1 clause"
    page.press("Escape")
    assert len(visible(page, ".entry")) == 2

    page.click("button[data-tone=passed]")
    assert page.run("document.querySelector('[data-tone=passed]').ariaPressed") == "true"
    assert visible(page, ".entry") == []
    shown = visible(page, "tr.item")
    assert shown and "clause-reservation-01" not in shown
    assert page.run("[...document.querySelectorAll('tr.item:not([hidden])')].length") == len(shown)
    page.click("button[data-tone=passed]")
    page.click("button[data-tone=failed]")
    assert len(visible(page, ".entry")) == 2
    assert set(visible(page, "tr.item")) == {"clause-deadline-07", "clause-reservation-01"}


@NEEDS_CHROMIUM
def test_links_open_what_they_point_into(page: Page, folder: Path) -> None:
    page.show(folder / "wrong.html")
    page.run("document.querySelectorAll('.section').forEach((e) => { e.open = false; })")
    assert visible(page, "#clause-reservation-01") == []
    page.click(".entry a[href='#clause-reservation-01']")
    assert visible(page, "#clause-reservation-01") == ["clause-reservation-01"]
    page.run("document.querySelector('#clause-deadline-07').closest('details').open = true")
    page.click("#clause-deadline-07 a")
    assert visible(page, ".entry") == ["hand/zzz/0001"]


@NEEDS_CHROMIUM
def test_the_keyboard_suffices(page: Page, folder: Path) -> None:
    page.show(folder / "wrong.html")
    page.press("/")
    assert page.run("document.activeElement.id") == "search"
    for _ in range(30):
        page.press("Tab")
        if page.run("document.activeElement.matches('#hand\\\\/zzz\\\\/0001 > summary')"):
            break
    else:
        pytest.fail("the second failure is never reached")
    assert page.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert not page.run("document.activeElement.parentElement.open")
    page.press("Enter")
    assert page.run("document.activeElement.parentElement.open")


@NEEDS_CHROMIUM
@pytest.mark.parametrize("name", ["wrong", "hostile", "right", "broken"])
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [360, 800, 1280])
def test_nothing_is_wider_than_the_window(
    page: Page, folder: Path, name: str, width: int, dark: bool
) -> None:
    page.show(folder / f"{name}.html", width=width, dark=dark)
    page.run("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    assert page.run("document.documentElement.scrollWidth") == width
    ground = page.run("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(15, 19, 24)" if dark else "rgb(245, 246, 248)")


@NEEDS_CHROMIUM
def test_nothing_that_a_backend_says_runs_and_nothing_is_fetched(page: Page, folder: Path) -> None:
    page.asked.clear()
    page.complaints.clear()
    page.show(folder / "hostile.html")
    page.run("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    assert page.run("document.title").startswith("</script><script>document.title = 'owned'")
    assert page.run("document.scripts.length") == 1
    assert page.run("document.images.length") == 0
    assert page.asked == [(folder / "hostile.html").as_uri()]
    assert page.complaints == []


@NEEDS_CHROMIUM
def test_the_browser_itself_would_refuse_what_slipped_through(page: Page, folder: Path) -> None:
    spoilt = folder / "spoilt.html"
    text = (folder / "right.html").read_text(encoding="utf-8")
    spoilt.write_text(text.replace("<main", "<script>document.title = 'owned'</script><main", 1))
    page.complaints.clear()
    page.show(spoilt)
    assert page.run("document.title") != "owned"
    assert any("Content Security Policy" in complaint for complaint in page.complaints)


def test_what_was_not_run_is_said_in_the_last_lines(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text((ROOT / "tests/conftest.py").read_text())
    (tmp_path / "test_it.py").write_text(
        "import pytest\n@pytest.mark.skip(reason='NOT RUN: the page')\ndef test_it(): pass\n"
        "@pytest.mark.skip(reason='of no concern here')\ndef test_other(): pass\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    *_, last, count = done.stdout.splitlines()
    assert last == "NOT RUN: the page"
    assert count.startswith("2 skipped")
