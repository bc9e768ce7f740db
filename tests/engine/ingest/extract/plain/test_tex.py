"""TeX, line by line."""

import pytest

PAPER = r"""\documentclass{article}
\usepackage{graphicx}
\title{On \emph{Tides}}
\author{M\"ara Lind}
\newcommand{\unseen}[1]{never #1}
\begin{document}
\maketitle
\section{The
  harbour} % a remark
Water at 50\% --- ``high'' \textbf{and \emph{cold}}\footnote{Measured.}.
\begin{itemize}
\item one
\item[two] second
\end{itemize}
$E = mc^2$ costs \$5.
\begin{tabular}{ll}
Port & Depth \\
Bergen & 9 m \\
\end{tabular}
\begin{verbatim}
x_1 % kept {
\end{verbatim}
\label{unseenlabel}See \cite{lind} and \url{http://x.test/a}.
\end{document}
"""


@pytest.fixture
def read(extracted):
    def read(text):
        extraction = extracted(text, "paper.tex")
        [page] = extraction.pages
        return extraction, page

    return read


def test_words_stay_in_their_lines_and_commands_go(read):
    extraction, page = read(PAPER)
    assert (extraction.doc_type, extraction.format) == ("text", "tex")
    assert extraction.title == "On Tides"
    assert extraction.metadata["author"] == "Mära Lind"
    lines = page.text.split("\n")
    assert len(lines) == len(PAPER.split("\n"))
    assert lines[2] == "# On Tides"
    assert lines[7] == "## The harbour"
    assert lines[9] == "Water at 50% — “high” and cold (Footnote: Measured.)."
    assert lines[11:13] == ["- one", "- two second"]
    assert lines[14] == "$E = mc^2$ costs $5."
    assert lines[17] == "Bergen | 9 m"
    assert lines[20] == "x_1 % kept {"
    assert lines[22] == "See [lind] and http://x.test/a."
    assert "never" not in page.text
    assert "unseenlabel" not in page.text
    assert page.lines_count


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (r"\'e \`a \^{o} \c{c} \v s \ss{} \o", "é à ô ç š ß ø"),
        (r"na\"{\i}ve \~n", "naïve ñ"),
        (r"\href{http://x.test}{here}", "http://x.test here"),
        (r"see \autoref{fig:tide}d", "see [fig:tide]d"),
        (r"5\,\% of \LaTeX", "5 % of LaTeX"),
        (r"\unknowncommand{kept} words", "kept words"),
        (r"\unknowncommand{both}{are kept} apart", "both are kept apart"),
        (r"\fontsize{12}{14}\usefont{T1}{ptm}{m}{n}words", "words"),
        (r"\setlength{\rightskip}{0pt plus 5cm}words", "words"),
        (r"\newcommand{\x}[1]{\textbf{#1} {in} it}words", "words"),
        ("a price of $5", "a price of $5"),
    ],
)
def test_what_a_reader_would_see(read, source, text):
    assert read(source)[1].text.strip() == text


@pytest.mark.parametrize(
    "source", [r"\newcommand{\x}{ never closed, and words", "{" * 50_000 + " words"]
)
def test_groups_that_never_end_lose_no_words(read, source):
    assert source.split()[-1][-5:] in read(source)[1].text


def test_a_file_of_settings_is_read_as_it_is(read):
    source = "% sizes\n\\def\\pagesize{4.8in}\n\\newcommand{\\narrow}{\\small}\n"
    assert read(source)[1].text == source


def test_a_file_of_commands_for_others_is_read_as_it_is(read):
    source = "".join(
        f"\\def\\size{n}{{\\small some of the many more words of {n}}}\nby {n}\n"
        for n in "abcdefgh"
    )
    assert read(source)[1].text == source
