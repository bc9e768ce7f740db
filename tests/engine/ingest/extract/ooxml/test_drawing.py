from pathlib import Path

import pytest
from lxml import etree
from small_office import OFFICE, A, zipped

from kb.engine.errors import DamagedFile
from kb.engine.ingest.extract.markup import join
from kb.engine.ingest.extract.ooxml import drawing
from kb.engine.ingest.extract.ooxml.drawing import CX, DGM, C, drawn
from kb.engine.ingest.extract.zip_package import Package, Relation

SPACES = f'xmlns:c="{C[1:-1]}" xmlns:cx="{CX[1:-1]}" xmlns:dgm="{DGM[1:-1]}" xmlns:a="{A}"'


@pytest.fixture
def told(tmp_path: Path):
    def told(xml: str, name: str = f"{C}chart", **options: bool) -> str:
        inside = xml.replace(">", f" {SPACES}>", 1)
        package = Package(zipped(tmp_path / "stored", {"chart.xml": inside}), "a.pptx")
        attribute = "dm" if name.endswith("relIds") else "id"
        element = etree.Element(name, {f"{{{OFFICE}}}{attribute}": "r1"})
        return join(drawn(package, element, {"r1": Relation("chart", "chart.xml")}, **options))

    return told


def points(*values: str, start: int = 0) -> str:
    return "".join(
        f'<c:pt idx="{number}"><c:v>{value}</c:v></c:pt>'
        for number, value in enumerate(values, start=start)
    )


def series(name: str, places: str, values: str) -> str:
    return (
        f"<c:ser><c:tx><c:strRef><c:strCache>{points(name)}</c:strCache></c:strRef></c:tx>"
        f"<c:cat>{places}</c:cat><c:val><c:numRef><c:numCache><c:formatCode>0%</c:formatCode>"
        f"{values}</c:numCache></c:numRef></c:val></c:ser>"
    )


def test_series_with_the_same_categories_are_columns_of_one_table(told):
    years, others = points("2023", "2024"), points("north")
    assert told(
        "<c:chartSpace>"
        + series("oak", years, points("0.5", "0.25"))
        + series("elm", years, points("1", start=1))
        + series("ash", others, points("0.1"))
        + "</c:chartSpace>"
    ) == (
        "|  | oak | elm |\n| 2023 | 50% |  |\n| 2024 | 25% | 100% |\n\n|  | ash |\n| north | 10% |"
    )


def test_outer_categories_come_before_inner_ones(told):
    levels = "".join(f"<c:lvl>{level}</c:lvl>" for level in (points("Q1", "Q2"), points("2024")))
    chart = f"<c:chartSpace>{series('oak', levels, points('1', '1'))}</c:chartSpace>"
    assert told(chart) == "|  | oak |\n| 2024 Q1 | 100% |\n| Q2 | 100% |"


def test_without_data_a_chart_is_its_titles_and_the_names_of_its_series(told):
    title = "<c:title><a:p><a:r><a:t>Trees</a:t></a:r></a:p></c:title>"
    chart = f"<c:chartSpace>{title}{series('oak', '', points('1'))}</c:chartSpace>"
    assert told(chart, data=False) == "Chart: Trees; oak"


def test_a_chart_of_measurements_is_cut_off_before_it_is_held(told, monkeypatch):
    monkeypatch.setattr(drawing, "_MOST_POINTS", 3)
    chart = f"<c:chartSpace>{series('oak', '', points(*'123456789'))}</c:chartSpace>"
    assert told(chart).count("\n") == 3


def test_the_newer_kinds_of_charts_are_read(told):
    chart = (
        "<cx:chartSpace><cx:chartData><cx:strDim><cx:lvl><cx:pt idx='0'>leads</cx:pt>"
        "<cx:pt idx='1'>sales</cx:pt></cx:lvl></cx:strDim></cx:chartData><cx:chart><cx:title>"
        "<cx:tx><cx:rich><a:p><a:r><a:t>Funnel</a:t></a:r></a:p></cx:rich></cx:tx></cx:title>"
        "</cx:chart></cx:chartSpace>"
    )
    assert told(chart, f"{CX}chart") == "Chart: Funnel; leads; sales"


def test_smart_art_is_a_list_of_its_texts(told):
    def point(text: str) -> str:
        return f"<dgm:pt><dgm:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p></dgm:t></dgm:pt>"

    data = f"<dgm:dataModel>{point('plan')}<dgm:pt/>{point('do')}</dgm:dataModel>"
    assert told(data, f"{DGM}relIds") == "- plan\n- do"


def test_what_is_no_chart_is_damaged(told):
    with pytest.raises(DamagedFile, match=r"chart\.xml is no chart"):
        told("<c:other></c:other>")


def test_a_chart_that_is_not_there_says_nothing(told, tmp_path):
    element = etree.Element(f"{C}chart", {f"{{{OFFICE}}}id": "r9"})
    package = Package(zipped(tmp_path / "other", {"a": ""}), "a.pptx")
    assert drawn(package, element, {}) == []
    assert drawn(package, element, {"r9": Relation("chart", "gone.xml")}) == []
