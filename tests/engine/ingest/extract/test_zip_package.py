import struct
import sys
import zipfile
from pathlib import Path

import pytest
from small_office import links, zipped

from kb.engine.errors import ContentTooLarge, DamagedFile, NestedTooDeep, PasswordNeeded
from kb.engine.ingest.extract import zip_package as package_module
from kb.engine.ingest.extract.zip_package import Package, forget, is_encrypted_office
from programs import ended

DEEP = "<a>" * 20_000 + "</a>" * 20_000
LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))


@pytest.fixture
def opened(tmp_path):
    def opened(parts: dict[str, str | bytes]) -> Package:
        return Package(zipped(tmp_path / "stored", parts), "a.docx")

    return opened


def test_parts_are_read_by_name_in_capitals_or_small_letters_and_with_any_slash(opened):
    package = opened({"word/Document.xml": "<a/>", "xl\\book.xml": "<b/>"})
    assert package.names == ("word/Document.xml", "xl/book.xml")
    assert package.read("WORD/document.xml") == b"<a/>"
    assert package.xml("xl/book.xml").tag == "b"
    assert "xl/BOOK.xml" in package
    assert "other.xml" not in package


def test_a_part_that_is_missing_is_named(opened):
    with pytest.raises(DamagedFile, match=r"a\.docx is damaged: its part word/x\.xml is missing"):
        opened({"a": ""}).read("word/x.xml")


def test_relations_lead_to_parts_wherever_they_start_and_never_outside(opened):
    package = opened(
        {
            "word/_rels/document.xml.rels": links(
                styles="styles.xml",
                header="/word/header.xml",
                image="../media/a%20b.png",
                comments="..\\notes\\comments.xml",
            ).replace(
                "</Relationships>",
                '<Relationship Id="x" Type="t/hyperlink" Target="http://x" TargetMode="External"/>'
                "</Relationships>",
            ),
            "media/a b.png": "",
        }
    )
    relations = package.relations("word/document.xml")
    assert {relation.kind: relation.target for relation in relations.values()} == {
        "styles": "word/styles.xml",
        "header": "word/header.xml",
        "image": "media/a b.png",
        "comments": "notes/comments.xml",
    }
    assert package.relations("word/styles.xml") == {}


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"PK\x05\x06" + bytes(17), b"text" * 1000])
def test_what_is_no_archive_is_damaged(tmp_path, data):
    path = tmp_path / "stored"
    path.write_bytes(data)
    with pytest.raises(DamagedFile, match=r"a\.docx"):
        Package(path, "a.docx")


def test_an_archive_that_is_cut_off_is_damaged(tmp_path):
    path = zipped(tmp_path / "stored", {"a.xml": "<a/>" * 1000})
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DamagedFile):
        Package(path, "a.docx")


def _change_a_byte(data):
    data[45] ^= 0xFF


def _begin_before_the_file(data):
    data[data.rindex(b"PK\x05\x06") + 16] += 5  # where the list of contents is


def _ask_for_a_password(data):
    data[data.index(b"PK\x01\x02") + 8] |= 1


@pytest.mark.parametrize(
    ("spoil", "error", "told"),
    [
        (_change_a_byte, DamagedFile, "cannot be unpacked"),
        (_begin_before_the_file, DamagedFile, "cannot be unpacked"),
        (_ask_for_a_password, PasswordNeeded, r"a\.docx is protected by a password"),
    ],
)
def test_a_part_that_cannot_be_unpacked_says_why(tmp_path, spoil, error, told):
    path = zipped(tmp_path / "stored", {"a.xml": "<a>some text</a>"})
    data = bytearray(path.read_bytes())
    spoil(data)
    path.write_bytes(data)
    with pytest.raises(error, match=told):
        Package(path, "a.docx").read("a.xml")


def test_only_the_ways_to_pack_that_can_be_bounded_are_unpacked(tmp_path):
    path = tmp_path / "stored"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("a.xml", "<a/>" * 1000)
    with pytest.raises(DamagedFile, match="unknown way"):
        Package(path, "a.docx").read("a.xml")


def test_too_many_members_are_refused(tmp_path, monkeypatch):
    path = zipped(tmp_path / "stored", {f"{n}": "" for n in range(11)})
    Package(path, "a.docx")
    monkeypatch.setattr(package_module, "MAX_MEMBERS", 10)
    with pytest.raises(ContentTooLarge, match="more than 10 files"):
        Package(path, "a.docx")


def test_a_list_of_members_that_is_too_long_is_not_even_read(tmp_path, monkeypatch):
    path = zipped(tmp_path / "stored", {f"{n}": "" for n in range(100)})
    monkeypatch.setattr(package_module._Directory, "most", 1_000)
    with pytest.raises(ContentTooLarge, match="list of contents"):
        Package(path, "a.docx")


def test_a_part_is_read_up_to_the_limit_whatever_size_it_states(tmp_path, monkeypatch):
    path = zipped(tmp_path / "stored", {"a.xml": b"a" * 5_000})
    path.write_bytes(path.read_bytes().replace(struct.pack("<I", 5_000), struct.pack("<I", 10)))
    monkeypatch.setattr(package_module, "MAX_PART", 4_000)
    with pytest.raises((ContentTooLarge, DamagedFile)):
        Package(path, "a.docx").read("a.xml")


def test_a_part_and_all_parts_together_have_a_limit(opened, monkeypatch):
    monkeypatch.setattr(package_module, "MAX_PART", 2 * 2**20)
    monkeypatch.setattr(package_module, "MAX_TOTAL", 3 * 2**20)
    package = opened({"a": bytes(2 * 2**20), "b": bytes(2 * 2**20), "c": bytes(2 * 2**20 + 1)})
    with pytest.raises(ContentTooLarge, match="c unpacks to more than 2 MB"):
        package.read("c")
    assert len(package.read("a")) == 2 * 2**20
    with pytest.raises(ContentTooLarge, match="its parts unpack to more than 1 MB"):
        package.read("b")


@pytest.mark.parametrize(
    ("xml", "error"),
    [
        (DEEP, NestedTooDeep),
        (f"<a>{'x' * 11_000_000}</a>", ContentTooLarge),
        (f'<a b="{"x" * 11_000_000}"/>', ContentTooLarge),
        ("<a><b></a>", DamagedFile),
        ("", DamagedFile),
        ("plain text", DamagedFile),
        ('<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>', DamagedFile),
        ('<!DOCTYPE a SYSTEM "http://example.com/a.dtd"><a/>', DamagedFile),
        (f'<!DOCTYPE a [<!ENTITY l0 "lol">{LAUGHS}]><a>&l9;</a>', (DamagedFile, ContentTooLarge)),
        (f'<!DOCTYPE a [<!ENTITY l0 "lol">{LAUGHS}]><a b="&l9;"/>', (DamagedFile, ContentTooLarge)),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_hostile_xml_is_refused_as_a_tree_and_as_a_stream(opened, xml, error):
    with pytest.raises(error):
        opened({"a.xml": xml}).xml("a.xml")
    with pytest.raises(error):
        list(opened({"a.xml": xml}).stream("a.xml", ("a",)))


def test_a_document_type_that_declares_nothing_can_be_permitted(opened):
    named = '<!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "http://x/ncx.dtd"><ncx>toc</ncx>'
    assert opened({"a.xml": named}).xml("a.xml", doctype=True).text == "toc"
    declaring = '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>'
    with pytest.raises(DamagedFile, match="document type"):
        opened({"a.xml": declaring}).xml("a.xml", doctype=True)


def test_a_tree_of_too_many_tags_is_refused_but_can_be_streamed(opened, monkeypatch):
    monkeypatch.setattr(package_module, "_MAX_MARKUP", 1_000)
    package = opened({"a.xml": f"<a>{'<b/>' * 1_000}</a>"})
    with pytest.raises(ContentTooLarge, match="1,000 tags"):
        package.xml("a.xml")
    assert sum(1 for _ in package.stream("a.xml", ("b",))) == 1_000


def test_a_stream_holds_no_more_than_it_has_read_ahead(opened):
    rows = f"<row>{'<c>x</c>' * 10}</row>" * 10_000
    kept = []
    for _, element in opened({"a.xml": f"<a>{rows}</a>"}).stream("a.xml", ("row",)):
        kept.append(len(element.getparent()))
        forget(element)
    assert len(kept) == 10_000
    assert max(kept) < 1_000


def test_an_element_that_never_ends_is_refused(opened, monkeypatch):
    monkeypatch.setattr(package_module, "_MAX_ELEMENT", 100_000)
    xml = f"<a><row/><row>{'<c/>' * 100_000}</row></a>"
    with pytest.raises(ContentTooLarge, match="an element of more than"):
        list(opened({"a.xml": xml}).stream("a.xml", ("row",)))


def test_the_strict_form_of_office_files_reads_like_the_usual_one(opened):
    strict = '<w:p xmlns:w="http://purl.oclc.org/ooxml/wordprocessingml/main"/>'
    tag = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}p"
    package = opened({"a.xml": strict})
    assert package.xml("a.xml").tag == tag
    assert [element.tag for _, element in package.stream("a.xml", (tag,))] == [tag]


def test_of_what_is_stored_in_several_forms_the_first_is_kept(opened):
    compatibility = "http://schemas.openxmlformats.org/markup-compatibility/2006"
    xml = (
        f'<a xmlns:mc="{compatibility}"><mc:AlternateContent><mc:Choice>new</mc:Choice>'
        "<mc:Fallback>old</mc:Fallback></mc:AlternateContent>"
        "<mc:AlternateContent><mc:Fallback>only</mc:Fallback></mc:AlternateContent></a>"
    )
    assert list(opened({"a.xml": xml}).xml("a.xml").itertext()) == ["new", "only"]


def container(*names: str, following: int = 0xFFFFFFFE) -> bytes:
    """An old Office container: header, sector 0 with the chain of sectors, then the directory, four
    entries in each sector."""
    header = bytearray(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504))
    struct.pack_into("<H", header, 30, 9)
    struct.pack_into("<I", header, 48, 1)
    struct.pack_into("<109I", header, 76, 0, *[0xFFFFFFFF] * 108)
    entries = [name.encode("utf-16-le").ljust(64, b"\0") + bytes(64) for name in names]
    sectors = [b"".join(entries[at : at + 4]).ljust(512, b"\0") for at in range(0, len(entries), 4)]
    chain = [0xFFFFFFFD, *range(2, len(sectors) + 1), following]
    allocation = struct.pack("<128I", *chain, *[0] * (128 - len(chain)))
    return bytes(header) + allocation + b"".join(sectors)


@pytest.mark.parametrize(
    ("data", "encrypted"),
    [
        (container("Root Entry", "EncryptionInfo", "EncryptedPackage"), True),
        (container("Root Entry", "a", "b", "c", "d", "e", "f", "EncryptedPackage"), True),
        (container("Root Entry", "WordDocument", "EncryptedPackages"), False),
        (container("Root Entry", following=1), False),  # a circle
        (container("Root Entry")[:700], False),
        (container("Root Entry")[:100], False),
        (b"PK\x03\x04" + bytes(1000), False),
        (b"", False),
    ],
)
def test_an_office_file_behind_a_password_is_known_by_its_container(tmp_path, data, encrypted):
    path = tmp_path / "stored"
    path.write_bytes(data)
    assert is_encrypted_office(path) is encrypted


def test_reading_office_files_needs_nothing_that_is_not_loaded_before():
    """A confined reader cannot open the files that an import would open."""
    program = """
import sys
from pathlib import Path
from kb.engine.ingest.extract.ooxml import docx
from kb.engine.ingest.extract.ooxml import pptx
from kb.engine.ingest.extract.ooxml import xlsx
from kb.engine.ingest.extract.extraction import Source
before = set(sys.modules)
for path in sorted(Path(sys.argv[1]).iterdir()):
    reader = {".docx": docx, ".pptx": pptx, ".xlsx": xlsx}.get(path.suffix)
    if reader is not None:
        list(reader.extract(Source(path, path.name)).pages)
print(sorted(set(sys.modules) - before))
"""
    documents = Path(__file__).parents[3] / "fixtures" / "documents"
    done = ended(sys.executable, "-c", program, documents, check=True)
    assert done.stdout.strip() == "[]"
