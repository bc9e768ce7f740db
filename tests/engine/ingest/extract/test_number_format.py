import pytest

from kb.engine.ingest.extract.number_format import built_in, plain, reader_of


@pytest.mark.parametrize(
    ("code", "raw", "shown"),
    [
        ("General", "12", "12"),
        ("General", "0.30000000000000004", "0.3"),
        ("General", "1E-3", "0.001"),
        ("General", "123456789012345", "123456789012345"),
        ("0%", "0.25", "25%"),
        ("0.0%", "0.2567", "25.7%"),
        ("#,##0.00", "1234.5", "1234.5"),
        ('"$"#,##0.00', "1234.5", "$1234.5"),
        ('_("$"* #,##0.00_);_("$"* \\(#,##0.00\\)', "-3", "$-3"),
        ("#,##0.00\\ [$€-407]", "1234.5", "1234.5 €"),
        ('0 "kg"', "5", "5 kg"),
        ('General "units"', "7", "7 units"),
        ('#,##0,,"M"', "5000000", "5000000"),  # shown in millions, which "M" is right for only then
        ("[Red]0.00", "1.25", "1.25"),
        ('[>100]0 "big";0', "7", "7"),
        ('"Yes";"No"', "1", "1"),
        (";;;", "5", "5"),
        ("@", "7", "7"),
        ("0.00E+00", "1.5E+20", "1.5e+20"),
        ("yyyy\\-mm\\-dd", "45000", "2023-03-15"),
        ("[$-409]d\\-mmm\\-yy;@", "45000.5", "2023-03-15"),
        ("m/d/yy h:mm", "45000.5", "2023-03-15 12:00"),
        ("m/d/yy h:mm", "45000", "2023-03-15"),
        ("mmmm", "45000", "2023-03-15"),
        ("hh:mm", "0.75", "18:00"),
        ("hh:mm:ss AM/PM", "45000.000011574", "00:00:01"),
        ("[h]:mm:ss", "1.5", "36:00:00"),
        ("dd.mm.yyyy", "1", "1900-01-01"),
        ("dd.mm.yyyy", "59", "1900-02-28"),
        ("dd.mm.yyyy", "61", "1900-03-01"),
        ("dd.mm.yyyy", "-1", "-1"),
        ("dd.mm.yyyy", "1e300", "1e300"),
        ("dd.mm.yyyy", "words", "words"),
        ("dd.mm.yyyy", "nan", "nan"),
        ("0%", "9" * 500, "9" * 500),
    ],
)
def test_numbers_are_shown_as_their_format_says(code, raw, shown):
    assert (reader_of(code) or plain)(raw) == shown


def test_days_may_be_counted_from_1904_on():
    read = reader_of("yyyy-mm-dd", True)
    assert read is not None
    assert read("43538") == "2023-03-15"


@pytest.mark.parametrize(
    ("number", "raw", "shown"),
    [(0, "1.5", "1.5"), (9, "0.5", "50%"), (14, "45000", "2023-03-15"), (21, "0.5", "12:00")],
)
def test_formats_without_a_code_have_a_number(number, raw, shown):
    assert (reader_of(built_in(number)) or plain)(raw) == shown
