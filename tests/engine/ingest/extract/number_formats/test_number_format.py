import pytest

from kb.engine.ingest.extract.number_formats.number_format import (
    built_in,
    plain,
    reader_of,
    text_reader_of,
)

ACCOUNTING = '_($* #,##0.00_);_($* (#,##0.00);_($* "-"??_);_(@_)'
THOUSANDS = '[<1000]0;[<1000000]0.0,"k";0.0,,"M"'
PHONE = "[<=9999999]###-####;(###) ###-####"

# What LibreOffice 7.4 shows, in English, but for white space at the ends.
SHOWN = [
    ("00000", 1234, "01234"),
    ("000-00-0000", 123456789, "123-45-6789"),
    ("(000) 000-0000", 5551234567, "(555) 123-4567"),
    ("0000 0000 0000 0000", 1234567890123456, "1234 5678 9012 3456"),
    (PHONE, 5551234, "555-1234"),
    (PHONE, 2125551234, "(212) 555-1234"),
    ('"SN-"000000', 42, "SN-000042"),
    ("0%", 0.125, "13%"),
    ("0.0%", 0.12345, "12.3%"),
    ("0.00%;[Red]-0.00%", -0.0512, "-5.12%"),
    ("0.00", 2.675, "2.68"),
    ("0.00", 1.005, "1.01"),
    ("0", -0.4, "0"),
    ("0.0#", 12.5, "12.5"),
    ("#.##", 0.5, ".5"),
    ("#", 0, ""),
    ("#,##0", 1234567.891, "1,234,568"),
    ("#,##0.00", -1234.5, "-1,234.50"),
    ("000,000", 1234, "001,234"),
    ("#\\ ##0", 1234, "1 234"),
    ("$#,##0.00", -1234.5, "-$1,234.50"),
    ("[$€-407] #,##0.00", 1234.5, "€ 1,234.50"),
    ('#,##0\\ "€";[Red]\\-#,##0\\ "€"', -1234.5, "-1,235 €"),
    (ACCOUNTING, 1234.5, "$1,234.50"),
    (ACCOUNTING, -1234.5, "$(1,234.50)"),
    (ACCOUNTING, 0, "$-"),
    ("0,", 1234567, "1235"),
    ('0.0,,"M"', 1234567, "1.2M"),
    (THOUSANDS, 950, "950"),
    (THOUSANDS, 95000, "95.0k"),
    (THOUSANDS, 9500000, "9.5M"),
    ("[<50][Red]0.0;[>100][Blue]0;[Green]0.00", 75, "75.00"),
    ('[=1]"yes";[=0]"no";0', 0, "no"),
    ('"up "0;"down "0;"flat"', -5, "down 5"),
    ('"up "0;"down "0;"flat"', 0, "flat"),
    (";;;", 5, ""),
    ("0.00E+00", 0.00012345, "1.23E-04"),
    ("##0.0E+0", 12345.678, "12.3E+3"),
    ("0.0E+0", 9.99, "1.0E+1"),
    ("# ?/?", 1.25, "1 1/4"),
    ("# ?/?", 2, "2"),
    ("# ??/??", 3.14159265, "3 14/99"),
    ("# ?/8", 1.625, "1 5/8"),
    ("?/?", 1.5, "3/2"),
    ("dd.mm.yyyy", 45000, "15.03.2023"),
    ("d-mmm-yy", 45000, "15-Mar-23"),
    ("dddd, d mmmm yyyy", 45000, "Wednesday, 15 March 2023"),
    ("[$-407]dddd, d. mmmm yyyy", 45000, "Mittwoch, 15. März 2023"),
    ("[$-40C]d mmmm yyyy", 45000, "15 mars 2023"),
    ("[$-415]d mmmm yyyy", 45000, "15 marca 2023"),
    ("[$-F800]dddd, mmmm dd, yyyy", 45000, "Wednesday, March 15, 2023"),
    ("[$-409]h:mm:ss AM/PM;@", 0.5, "12:00:00 PM"),
    ('yyyy"年"m"月"d"日"', 45000, "2023年3月15日"),
    ("m/d/yyyy h:mm AM/PM", 45000, "3/15/2023 12:00 AM"),
    ("h:mm", 45000.299999999996, "7:12"),
    ("mm:ss.0", 0.0123456, "17:46.7"),
    ("[h]:mm", 1.5, "36:00"),
    ("[mm]:ss", 0.5, "720:00"),
    ('h "h" mm "min"', 0.3, "7 h 12 min"),
    ('General" kg"', 12.5, "12.5 kg"),
    (".0", 1234.567, "1234.6"),
    (".00", 0.25, ".25"),
    ("[Yellow]\\>@", 1234.5, "1234.5"),
    ("[<=-25]General;[>=25]General;General", -30, "-30"),
    ("[$-F800]dddd\\,\\ mmmm\\ dd\\,\\ yyyy", 40123, "Friday, November 6, 2009"),
    ('0\\ "dollars and"\\ .00\\ "cents"', 12.34, "12 dollars and .34 cents"),
    ("#,_);\\(#,\\)", -98765, "(99)"),
]


@pytest.mark.parametrize(("code", "number", "shown"), SHOWN)
def test_a_cell_shows_what_libreoffice_shows(code, number, shown):
    assert (reader_of(code) or plain)(repr(number)) == shown


@pytest.mark.parametrize(
    ("code", "raw", "shown"),
    [
        ("General", "12", "12"),
        ("General", "0.30000000000000004", "0.3"),
        ("General", "1E-3", "0.001"),
        ("General", "123456789012345", "123456789012345"),
        ("@", "7", "7"),
        ("[Red]0.00", "-1.25", "-1.25"),
        ('[=0]"-";0.0', "-2", "-2.0"),
        ('[>1]"many"', "-2", "-2"),  # no section is for that number
        ("dd.mm.yyyy", "1", "01.01.1900"),
        ("dd.mm.yyyy", "59", "28.02.1900"),
        ("dd.mm.yyyy", "61", "01.03.1900"),
        ("dd.mm.yyyy", "-1", "-1"),
        ("dd.mm.yyyy", "1e300", "1e300"),
        ("dd.mm.yyyy", "words", "words"),
        ("dd.mm.yyyy", "nan", "nan"),
        ("0%", "9" * 500, "9" * 500),
        ("0" * 900, "7", "7".rjust(900, "0")),
        ("0." + "0" * 900, "inf", "inf"),
        ("# ?/" + "9" * 900, "0.5", "1/2"),
        ("yyyyyyyy", "45000", "2023"),
    ],
)
def test_what_is_odd_or_no_number_is_shown_too(code, raw, shown):
    assert (reader_of(code) or plain)(raw) == shown


def test_days_may_be_counted_from_1904_on():
    read = reader_of("yyyy-mm-dd", True)
    assert read is not None
    assert read("43538") == "2023-03-15"


@pytest.mark.parametrize(
    ("number", "raw", "shown"),
    [
        (0, "1.5", "1.5"),
        (4, "1234.567", "1,234.57"),
        (8, "-1234.567", "($1,234.57)"),
        (9, "0.5", "50%"),
        (12, "1234.567", "1234 4/7"),
        (14, "45000", "3/15/2023"),
        (22, "45000.7512", "3/15/2023 18:01"),
        (44, "-1234.567", "$(1,234.57)"),
        (48, "1234.567", "1.2E+3"),
    ],
)
def test_formats_without_a_code_have_a_number(number, raw, shown):
    assert (reader_of(built_in(number)) or plain)(raw) == shown


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ('"Item "@', "Item oak"),
        ('0;-0;0;@" (draft)"', "oak (draft)"),
        (ACCOUNTING, "oak"),
        ("0.00", "oak"),
        (";;;", "oak"),
        ("@", "oak"),
    ],
)
def test_texts_get_what_their_format_puts_around_them(code, shown):
    assert (text_reader_of(code) or str)("oak") == shown


@pytest.mark.parametrize("code", ['"Q"0" "yyyy', "0 days"])
def test_a_format_that_mixes_digits_and_dates_shows_the_number(code):
    show = reader_of(code)
    assert show is not None
    assert show("2") == "2"
