"""What of a web page is its content: all of it, and nothing of what stands around it."""

import pytest
from lxml import etree
from planted import pages_of, passages

from kb.engine.ingest.extract import Source, extract
from kb.engine.ingest.extract.web.page import read_page

PROSE = "The pump is started by hand, and stops by itself when the tank is full to the brim. "
PAGE = (
    "<html><head><title>Pumps</title></head><body>{before}<main><h1>Pumps</h1>"
    f"<p>{PROSE * 3}</p>{{inside}}</main>{{after}}</body></html>"
)


def text(before="", inside="", after="", page=PAGE):
    return read_page(page.format(before=before, inside=inside, after=after)).markdown


def of_body(body, head=""):
    return read_page(f"<html><head>{head}</head><body>{body}</body></html>").markdown


LINKS = "".join(f'<li><a href="{n}.html">Chapter {n} word</a></li>' for n in range(8))


@pytest.mark.parametrize(
    "part",
    [
        "<dl><dt>--word</dt><dd>sets the pressure</dd></dl>",
        "<p>There are three:</p><ul><li>word</li><li>two</li></ul>",
        "<details><summary>Why?</summary><p>word</p></details>",
        "<figure><img src='a.png'><figcaption>word</figcaption></figure>",
        "<img src='a.png' alt='word'>",
        "<table><caption>word</caption><tr><td>1</td><td>2</td></tr></table>",
        "<table><tr><th>word</th><td>2</td></tr></table>",
        "<aside class='footnote'><p>word, as the maker calls it</p></aside>",
        "<section><h3>See also</h3><a href='b.html'>word</a>, <a href='c.html'>c</a></section>",
        f"<ul class='menu'>{LINKS}</ul>",  # of the chapters of a manual
        f"<div class='related-pumps'><p>word</p><ul>{LINKS}</ul></div>",
        "<form><label>Name of the word</label><input></form>",
        "<div role='tabpanel' hidden><p>word</p></div>",
        "<a href='#more'>More</a><div id='more' style='display:none'><p>word</p></div>",
        "<div class='accordion'><div style='display: none'><p>word</p></div></div>",
        "<article><header><p>word</p></header><footer>signed</footer></article>",
        "<button aria-expanded='false'>What is a word?</button>",
        "<div role='note' class='navigation-not-searchable'>See <a href='b.html'>word</a></div>",
    ],
)
def test_everything_in_the_main_part_is_kept(part):
    assert "word" in text(inside=part)


@pytest.mark.parametrize(
    "part",
    [
        "<nav><a href='/'>word</a></nav>",
        "<div role='navigation'><a href='/'>word</a></div>",
        "<div role='banner'>Our word</div>",
        "<div role='dialog'>We use cookies: word <button>Yes</button></div>",
        "<header><a href='/'>word</a> <a href='/b'>Shop</a></header>",
        "<footer><p>© word</p></footer>",
        "<div class='footer'>Made with word</div>",
        f"<div><ul>{LINKS}</ul></div>",
        "<div class='breadcrumbs'><a href='/'>word</a> › <a href='/b'>Pumps</a></div>",
        "<div class='sidebar-login'><a href='/in'>word</a> Welcome</div>",
        "<div><a rel='prev' href='a'>Valves word</a> <a rel='next' href='b'>Pipes</a></div>",
        "<div hidden><p>word</p></div>",
        "<div style='display: none'><p>word</p></div>",
        "<script>word()</script><style>.word {}</style><template>word</template>",
    ],
)
@pytest.mark.parametrize("place", ["before", "after"])
def test_what_stands_around_it_is_left_out(part, place):
    found = text(**{place: part})
    assert "word" not in found
    assert found == text()


def test_a_list_of_links_to_the_headings_of_the_page_is_left_out_for_it_says_everything_twice():
    contents = (
        "<ul><li><a href='#a'>1 Oil</a><li><a href='#b'>2 Rope</a><li><a href='#c'>3 Sand</a></ul>"
    )
    headings = "<h2 id='a'>1 Oil</h2><h2 id='b'>2 Rope</h2><h2 id='c'>3 Sand</h2>"
    assert text(inside=contents + headings).count("Rope") == 1
    elsewhere = contents.replace("Rope", "Said nowhere else").replace("Sand", "Nor this")
    assert "Said nowhere else" in text(inside=elsewhere + headings)


@pytest.mark.parametrize(
    "body",
    [
        f"<h1>Index</h1><table><tr><td><ul>{LINKS}</ul></td></tr></table>"
        f"<div class='footer'>{PROSE * 3}</div>",
        f"<nav><h1>Index</h1><ul>{LINKS}</ul></nav>",
        f"<div id='content'><h1>Index</h1><div><ul>{LINKS}</ul></div></div><p>{PROSE}</p>",
    ],
    ids=["table", "nav", "content"],
)
def test_a_page_that_is_a_list_of_links_keeps_them(body):
    assert of_body(body).count("word") == 8


@pytest.mark.parametrize(
    "header",
    [
        "<header><h1>Pumps</h1></header>",
        "<div><a href='/'><img alt='The logo of us'></a><div><h1>Pumps</h1></div></div>",
    ],
)
def test_a_title_beside_the_content_is_kept_where_it_is_the_only_one(header):
    body = f"{header}<div><p>{PROSE}</p><p>{PROSE}</p></div>"
    assert "# Pumps\n" in of_body(body)


def test_a_title_that_is_no_heading_is_kept():
    links = "<div><a href='#f'>Functions</a></div>"
    head = f"<div class='header'>{links}<div class='title'>pump.h</div></div>"
    body = f"{head}<div class='contents'><p>{PROSE}</p><p>{PROSE}</p></div>"
    assert "pump.h" in of_body(body)


ARTICLE = "<title>Flood - The Daily</title><meta property='og:type' content='article'>"


def article(after="", kind=ARTICLE, before="", inside=""):
    text = f"{f'<p>{PROSE * 2}</p>' * 3}{inside}<p>{PROSE * 2}</p>"
    body = f"{before}<h1>Flood</h1><p>By Mara</p><div>{text}</div>"
    return of_body(f"<div>{body}{after}</div>", kind)


def test_what_follows_an_article_is_left_out_and_its_author_kept():
    teasers = f"<div><p>{PROSE} Other news.</p></div>"
    assert "Other news" not in article(teasers)
    assert "By Mara" in article(teasers)
    assert "Other news" in article(teasers, kind="")  # a page that is no article by its own word


HEADLINES = "".join(f'<li><a href="{n}">The word of day {n} is known</a></li>' for n in range(4))


@pytest.mark.parametrize(
    "part",
    [
        "<p><a href='/b'>The other word that you should know</a></p>",
        "<p>READ MORE: <a href='/b'>The other word that you should know</a></p>",
        f"<ul>{HEADLINES}</ul>",
        "<div class='related-stories'><p>The word of the day is rain, and lots of it.</p></div>",
        "<div class='newsletterSignup'><p>The best word of each day, in your inbox.</p></div>",
        "<form><p>Give us the word where letters reach you.</p><input></form>",
        "<aside><h4>A word</h4><p>on the river</p><a href='/b'>Read on</a></aside>",
        "<article><h4>The word of the day</h4><p>It is rain.</p><a href='/b'>Read on</a></article>",
        f"<div class='author-box'><p>Mara's word is read by many. {PROSE * 2}</p></div>",
        "<div class='box hidden'><p>The last word for those who came by a letter.</p></div>",
        "<div class='d-none d-print-block'><p>A word about copies of this page.</p></div>",
        "<div class='popup-box'><p>A word about those who check what we write.</p></div>",
        "<header><dl><dt>By</dt><dd>Mara</dd></dl></header>" + f"<ul>{HEADLINES}</ul>",
        "<div><a href='/b'>Read more of the words</a></div>",
    ],
)
def test_what_leads_away_from_an_article_is_left_out(part):
    assert article(inside=part).replace("By\n\n: Mara\n\n", "") == article()
    assert "word" in article(inside=part, kind="")


def test_other_posts_within_one_are_left_out_though_they_be_most_of_it():
    others = f"<article class='post'><p>The word of another. {PROSE * 2}</p></article>" * 9
    for length, is_kept in ((3, False), (1, True)):
        post = f"<article class='post'><p>{PROSE * length}</p>{others}</article>"
        assert ("another" in of_body(post, ARTICLE)) is is_kept


def test_the_only_post_of_a_page_that_says_more_around_it_is_kept():
    post = f"<article class='post'><p>The word of the day. {PROSE * 4}</p></article>"
    rest = "".join(f"<div><p>{PROSE * 2} {n}</p></div>" for n in range(9))
    page = f"<html><head>{ARTICLE}</head><body class='single-post'><div>{post}{rest}</div></body>"
    assert "word of the day" in read_page(f"{page}</html>").markdown


def test_a_list_of_articles_that_is_called_one_itself_is_kept_whole():
    each = f"<article><h3>Flood</h3><p>{PROSE} The word of {{}}. <a href='/b'>On</a></p></article>"
    rows = "".join(map(each.format, range(30)))
    intro = f"<header><h1>Flood</h1><section>{PROSE * 4}</section></header>"
    found = of_body(f"<article>{intro}{rows}</article>", ARTICLE)
    assert all(f"word of {n}." in found for n in range(30))


def test_an_article_may_tell_its_readers_to_do_something():
    line = "<p>Say the word or <a href='/login'>ask</a>.</p>"
    told = article(inside=f"<h3>Contact us</h3><p>By the last word.</p>{line}")
    assert "Contact us" in told
    assert "Say the word" in told


def test_the_heading_of_what_leads_away_is_left_out_with_it():
    rest = "<h3>The water falls</h3>"
    trending = f"<h3>Trending</h3><ul>{HEADLINES}</ul>"
    assert article(inside=trending + rest) == article(inside=rest)


@pytest.mark.parametrize(
    "part",
    [
        "<p>These are all of the stations where the water is measured:</p><ul>"
        + HEADLINES
        + "</ul>",
        "<h2><a href='/b'>The word of the mayor</a></h2><p>He went home.</p>",
        "<p>The mayor's <a href='/b'>word</a> was heard by all who had come to the market.</p>",
        "<pre>word = 1</pre><ul>" + HEADLINES + "</ul>",
        "<aside><p>His word was law.</p></aside>",
        "<h3 class='anchorWithStickyNavbar'>The word</h3>",  # named after a menu that sticks
        "<div id='share-the-work-of-the-pumps'><p>The last word.</p></div>",  # a whole heading
        f"<div class='reply topic-author'><p>That was my word. {PROSE * 2}</p></div>",
    ],
)
def test_what_belongs_to_an_article_is_kept(part):
    assert "word" in article(inside=part)


@pytest.mark.parametrize("box", ["<div class='comments'>{}</div>", "<form>{}</form>"])
def test_what_readers_write_is_left_out_though_it_is_nearly_half_of_the_page(box):
    remarks = f"<p>My word on that. {PROSE}</p>" * 5
    assert article(inside=box.format(remarks)) == article()


def test_what_an_article_says_twice_for_two_widths_of_a_screen_is_said_once():
    box = f"<div class='{{}}'><p>The word of the mayor. {PROSE * 3}</p></div>"
    found = article(inside=box.format("narrow") + box.format("wide"))
    assert found.count("word of the mayor") == 1
    assert article(inside=box.format("narrow") * 2, kind="").count("word of the mayor") == 2


@pytest.mark.parametrize(
    "kind",
    [
        "<link rel='canonical' href='https://daily.example/blog/the-flood-of-may'>",
        "<link rel='canonical' href='https://daily.example/news-and-views/a/the-flood-of-may/'>",
        "<meta property='og:url' content='https://daily.example/2019/11/flood-may.html?a=/docs/'>",
        "</head><body class='page-node-type-article'>",
        "</head><body class='wp-singular single single-post'>",
    ],
)
def test_a_page_is_an_article_that_is_called_so_by_its_address_or_its_body(kind):
    teasers = f"<div><p>{PROSE} Other news.</p></div>"
    assert "Other news" not in article(teasers, kind=f"<title>Flood - The Daily</title>{kind}")


@pytest.mark.parametrize(
    "kind",
    [
        "<link rel='canonical' href='https://daily.example/manual/the-flood-of-may'>",
        "<link rel='canonical' href='https://daily.example/blog/'>",
        "<link rel='canonical' href='https://news.example/the-flood-of-may'>",
        "</head><body class='article'>",  # AsciiDoc says that of all pages
    ],
)
def test_other_pages_are_no_articles(kind):
    assert "Other notes" in article(f"<div><p>{PROSE} Other notes.</p></div>", kind=kind)


@pytest.mark.parametrize(
    "around",
    [
        "<dialog><p>A word before you read on.</p></dialog>",
        "<div><a href='#pumps'>Past the word</a></div>",
        "<svg><title>The word for left</title><path d='M0 0'/></svg>",
    ],
)
def test_what_is_for_the_page_and_not_for_its_reader_is_left_out(around):
    assert text(before=around) == text()


@pytest.mark.parametrize(
    "address",
    ["valves.html#top", "https://valves.example/#top", "#top", "https://x.example/edit/1"],
)
def test_a_link_within_a_sentence_is_part_of_it(address):
    told = text(inside=f"<p>Pumps need no <a href='{address}'>valves of brass</a>. Not one.</p>")
    assert "Pumps need no valves of brass. Not one." in told


LANGUAGES = "".join(
    f"<li><a href='/{n}' hreflang='{n}'>word {n}</a></li>" for n in ("de", "fr", "is")
)


@pytest.mark.parametrize(
    "part",
    [
        f"<ul>{LANGUAGES}</ul>",
        "<form><p>A word each day, in your letters.</p><input type='email'></form>",
        "<div class='pagination'>48 of a word, page 1 <a href='2'>2</a> <a href='3'>3</a></div>",
        "<a href='#top'>The word above</a>",
        "<a href='https://git.example/pumps/edit/main/pumps.md'>Change this word</a>",
        "<div class='toc-mobile'><button>The word here</button></div><h2 id='b'>B</h2>",
        "<div class='table-of-contents'><ul><li><a href='#a'>A word</a></li></ul></div>"
        "<h2 id='a'>A word</h2>",
    ],
)
def test_help_within_the_main_part_is_left_out(part):
    assert "word" not in text(inside=part).replace("## A word", "")


def test_the_title_of_a_dialog_is_not_that_of_the_page():
    dialog = "<div role='dialog'><h4 class='title'>Search</h4><p>Search for a word here.</p></div>"
    body = f"<div><p>{PROSE * 5}</p></div>{dialog}"
    assert "Search" not in of_body(body)


def test_what_a_script_puts_into_its_place_is_kept():
    late = f"<div hidden id='S:0'><p>{PROSE * 3} The word.</p></div>"
    assert "The word" in text(after=late)


def test_a_step_that_begins_with_code_has_its_number_above_it():
    steps = "<ol><li><pre>pump on</pre> and wait</li><li>Stop.</li></ol>"
    assert "1.\n\n```\npump on\n```\n\nand wait\n\n2. Stop." in text(inside=steps)


def test_sections_behind_that_are_called_like_the_article_belong_to_it():
    page = f"<div class='part'><p>{PROSE * 9}</p></div>"
    rest = f"<div class='part'><p>{PROSE * 2} The last word.</p></div>"
    assert "last word" in of_body(f"<div><h1>Flood</h1>{page}{rest}</div>", ARTICLE)


def test_an_article_that_is_parted_in_boxes_without_names_is_kept_whole():
    rest = f"<div><p>{PROSE * 2} The last word.</p></div>"
    assert "last word" in article(rest)


def test_the_beginnings_of_others_are_not_taken_for_the_article_they_outweigh():
    others = f"<article><p>{PROSE} The word of another. <a href='/b'>Read on</a></p></article>"
    one = f"<article><h1>Flood</h1><div><p>{PROSE * 12}</p></div></article>"
    assert "another" not in of_body(f"{one}<section>{others * 9}</section>", ARTICLE)


def test_what_stands_above_the_title_of_an_article_is_left_out_and_the_title_kept():
    top = "<div><p>We have a new word of the day for all who read us.</p></div>"
    assert article(before=top) == article()
    assert "new word" in article(before=top, kind="")
    title = "<title>Flood - The Daily</title>"
    assert article(before=top, kind=ARTICLE.replace(title, "<title>Water</title>")) == article()
    page = f"<h1><span>Flood</span></h1><div>{f'<p>{PROSE * 2}</p>' * 4}</div>"
    assert of_body(top + page, ARTICLE).startswith("# Flood")


def test_the_rest_of_an_article_that_stands_in_a_box_of_its_own_is_kept():
    rest = f"<div><p>{PROSE * 13}</p><p>The last word.</p></div>"
    remarks = rest.replace("<div>", "<div class='comments'>")
    assert "The last word" in article(rest, inside=f"<p>{PROSE * 9}</p>")
    assert "The last word" not in article(remarks, inside=f"<p>{PROSE * 9}</p>")


def test_answers_are_content_where_people_talk():
    kind = f"{ARTICLE}<script type='application/ld+json'>{{'@type': 'QAPage'}}</script>"
    assert "my answer" in article("<div class='comments'><p>This is my answer.</p></div>", kind)


PHPBB = "<meta name='generator' content='phpBB'>"


def forum(posts, before="", after="", head=PHPBB):
    return of_body(f"{before}<main><h1>Pumps</h1>{posts}</main>{after}", head)


POST = (
    "<div><a href='/mara'>Mara</a><div><p>{prose} See <a href='/x{n}'>here</a> for it.</p></div>"
    "<ul><li><a href='/r{n}'>Say a word</a></li></ul><button>Like</button></div>"
)


def test_what_can_be_done_with_each_post_of_a_forum_is_left_out():
    posts = "".join(POST.format(prose=PROSE, n=n) for n in range(4))
    found = forum(posts)
    assert "word" not in found
    assert "Like" not in found
    assert found.count("Mara") == found.count("here for it") == 4
    assert "Say a word" in text(inside=posts)  # of a manual


def test_other_threads_below_those_of_a_forum_are_left_out():
    posts = "".join(POST.format(prose=PROSE * 2, n=n) for n in range(4))
    rows = "".join(
        f"<tr><td><a href='/t{n}'>Word {n}</a></td><td>May {n}</td></tr>" for n in "1234"
    )
    others = f"<div id='related-topics'><table>{rows}</table></div>"
    found = forum(f"{posts}{others}")
    assert "Word 3" not in found


SHOP = PAGE.replace("<title>", "<meta property='og:type' content='product'><title>")


def shop(inside, before=""):
    return text(before, inside, page=SHOP)


@pytest.mark.parametrize(
    "part",
    [
        "<form action='/cart'><button type='submit'>Add the word</button></form>",
        "<div class='product-share'><a href='a'>word</a></div>",
        "<div class='modal'><p>Where do we send a word?</p><input></div>",
        "<p role='alert'>A word went wrong.</p>",
        "<div class='shop-footer'><p>Paid by a word.</p></div>",
        "<ul>"
        + "".join(
            f"<li><a href='/pump-{n}'><img alt='Pump' src='{n}.png'>Pump word</a> 9 EUR</li>"
            for n in range(4)
        )
        + "</ul>",
    ],
)
def test_what_a_shop_offers_beside_the_thing_itself_is_left_out(part):
    assert "word" in text(inside=part)
    assert "word" not in shop(part)


OTHERS = "".join(
    f"<li><h3>Another pump {n}</h3><p>{n}9 EUR</p><a href='/pump-{n}'></a></li>" for n in "1234"
)


def test_a_row_of_other_things_goes_with_its_heading_where_one_thing_is_sold():
    row = f"<section><h2>How about these?</h2><div><ul>{OTHERS}</ul></div></section>"
    found = shop(f"<p>{PROSE * 6}</p>{row}")
    assert "Another pump" not in found
    assert "How about these" not in found
    assert PROSE in found


def test_a_shelf_of_things_is_kept():
    shelf = f"<button class='add-to-cart'>Buy</button><ul>{OTHERS}</ul>"
    found = text(inside=shelf, page=SHOP.replace("'product'", "'product.group'"))
    assert found.count("Another pump") == 4


@pytest.mark.parametrize(("above", "kept"), [("<b>89 EUR</b>", 0), ("<a href='?p'>89 EUR</a>", 8)])
def test_much_of_a_page_goes_as_other_things_only_below_one_with_a_price(above, kept):
    inside = f"{above}<p>{PROSE}</p><ul>{OTHERS * 2}</ul>"
    assert shop(inside).count("Another pump") == kept


def test_a_question_about_cookies_beside_the_main_part_goes_and_cookies_that_are_sold_stay():
    asked = "<div><p>We use cookies. Read about cookies.</p></div>"
    found = shop("<p>Cookies for cookies.</p>", asked)
    assert "We use" not in found
    assert "Cookies for cookies." in found


def test_what_a_class_hides_goes_from_a_shop_unless_a_click_opens_it():
    parts = (
        "<div class='is-hidden'>Added to it.</div>"
        "<div class='tabs'><p class='hide'>Of oak.</p></div>"
        "<p>Colour <span class='hide'>moss</span></p>"
    )
    found = shop(parts)
    assert "Added to it." not in found
    assert "Of oak." in found
    assert "Colour moss" in found


def test_other_threads_go_from_a_forum_and_a_list_of_threads_in_a_post_stays():
    head = f"{PHPBB}<link rel='canonical' href='https://x/threads/pumps.1'>"
    entry = "<li>{0}<a href='/threads/{1}.2'>{1} for all</a>{2}</li>"
    others = "".join(entry.format("<h3>", f"Bigger tanks {n}", "</h3>") for n in "123")
    listed = "".join(entry.format("", f"Harder ropes {n}", "") for n in "123")
    posts = f"<div><p>{PROSE * 9}</p><ul>{listed}</ul></div>"
    found = forum(f"{posts}<ul>{others}</ul>", head=head)
    assert "Bigger tanks" not in found
    assert "Harder ropes 3" in found
    post = f"<article><p>{PROSE * 9}</p><ul>{others}</ul></article>"
    assert "Bigger tanks" in of_body(f"<main>{post}</main>", head)


@pytest.mark.parametrize(
    "part",
    [
        "<div class='modal'><p>Width of the word: 9 cm</p></div>",
        "<button aria-expanded='false'>Sizes of a word</button>",
        "<ul>" + "<li><a href='/make'><img alt='' src='i.png'>A word</a></li>" * 4 + "</ul>",
        "<div class='related'><table><tr><td>word</td><td>9</td></tr></table></div>",
    ],
)
def test_what_a_shop_says_about_the_thing_itself_is_kept(part):
    assert "word" in shop(part)


@pytest.mark.parametrize(
    "part",
    [
        "<p><a href='/more'>Read more</a></p>",
        "<div><span>Sorted by:</span> <a href='?by=age'>Reset to default</a></div>",
        "<h3>Write a review</h3>",
        "<ul><li><a href='/share'>Share</a></li></ul>",
        "<p>Whoever has joined may go on: <a href='/login?to=3'>come in</a>.</p>",
        "<div><a href='https://www.facebook.com/sharer?u=x'>Tell friends</a></div>",
        "<p><a href='/big.png'>The pump <span class='sr-only'>in a new window</span></a></p>",
        "<p>{{price.shown}}</p>",
    ],
)
def test_lines_that_only_ask_for_something_are_left_out_of_forums_and_shops(part):
    said = ("Read more", "default", "review", "Share", "come in", "friends", "window", "{{")
    for found in (shop(part), forum(f"<p>{PROSE * 3}</p>{part}")):
        assert not any(each in found for each in said)
    assert any(each in text(inside=part) for each in said)  # of a manual


@pytest.mark.parametrize(
    "part",
    [
        "<p>Where it says <b>Learn more</b> the pump stops.</p>",
        "<p>Share</p>",  # a word of the content
        "<li>Reply with the number of the pump</li>",
        "<h2>Learn</h2>",
        "<p>He told me to read <a href='/more'>more about pumps</a>.</p>",
    ],
)
def test_what_is_said_in_a_sentence_or_a_word_is_kept_in_a_shop(part):
    said = "".join(etree.fromstring(part).itertext())
    assert said in shop(part)


@pytest.mark.parametrize(
    "said",
    [
        "Please try the other port.",
        "There was an error when the pump began",
        "You need to log in as root.",
        "Log in to the router first",
        "Click to open the valve",
        "Reaction: the water turned blue",
        "Look at <a href='http://10.0.0.1/login'>10.0.0.1/login</a> again",
    ],
)
def test_what_somebody_may_have_written_stays_in_a_forum(said):
    for post in (f"<p>{said}</p>", f"<div><span>{said}</span></div>"):
        last = " ".join(etree.fromstring(post).itertext()).split()[-1]
        assert last in forum(f"<p>{PROSE * 3}</p>{post}")


@pytest.mark.parametrize("heading", ["Similar threads", "You may also like", "Ähnliche Artikel"])
def test_what_is_headed_as_other_things_goes_with_its_heading(heading):
    rows = "".join(f"<div><a href='/{n}'>Word {n}</a> May {n}, 9 replies</div>" for n in range(5))
    for part in (f"<div><h3>{heading}</h3>{rows}</div>", f"<h3>{heading}</h3><div>{rows}</div>"):
        assert forum(f"<p>{PROSE * 3}</p>{part}").endswith("to the brim.")
        assert "Word 3" in text(inside=part)  # of a manual


def test_what_a_forum_says_about_those_who_write_goes_and_their_names_stay():
    about = (
        "<h4><a href='/mara'>Mara</a></h4><h5 class='message-userTitle'>Old hand</h5>"
        "<dl><dt>Joined</dt><dd>Aug 17, 2017</dd></dl><dl><dt>Messages</dt><dd>1,204</dd></dl>"
        "<div>Join Date: May 2004</div><div>Reactions: <a href='/ove'>Ove</a> and 2 others</div>"
        "<ul><li>#3</li></ul>"
    )
    said = "<p>Location: the harbour</p><p>Messages are kept for a year.</p>"
    posts = f"<div>{about}<p>{PROSE}</p>{said}</div>" * 3
    found = forum(posts)
    for gone in ("Old hand", "2017", "1,204", "2004", "Ove", "#3"):
        assert gone not in found
    for kept in ("Mara", "Location: the harbour", "Messages are kept"):
        assert found.count(kept) == 3


def test_pictures_that_stand_at_each_post_of_a_forum_go_and_those_in_a_text_stay():
    post = (
        "<div><p>Mara</p><div><img alt='Say it is good' src='up.gif'></div>"
        f"<p>{PROSE}<img alt=':smile:' src='s.gif'></p>"
        "<p><img alt='A pump' src='{}.jpg'></p></div>"
    )
    posts = "".join(map(post.format, range(3)))
    found = forum(posts)
    assert "Say it is good" not in found
    assert found.count(":smile:") == found.count("A pump") == 3


def test_pictures_of_those_who_write_and_their_ranks_go_and_their_names_and_dates_stay():
    about = (
        "<h3>Mara</h3><ul class='cAuthorPane_info'><li>Members</li><li>17.6k</li></ul>"
        "<ul class='author-line'><li><time>2 May</time></li></ul>"
        "<div class='profile-rank'>Volunteer</div><div>410 posts · Joined 2002</div>"
        "<a class='avatar' href='/mara'><img alt='Mara, drawn' src='{}.png'></a>"
    )
    posts = "".join(f"<div>{about.format(n)}<p>{PROSE}</p></div>" for n in range(3))
    found = forum(posts)
    for gone in ("Members", "17.6k", "Volunteer", "410", "drawn"):
        assert gone not in found
    assert found.count("Mara") == found.count("2 May") == 3


@pytest.mark.parametrize(
    "part",
    [
        f"<div class='right-sidebar'><p>{PROSE * 8}</p>Word</div>",
        "<div popover><p>Word</p></div>",
        "<div class='modals'><p>Word</p></div>",
        f"<div class='custom-footer'><p>Word</p><ul>{LINKS}</ul></div>",
        "<form class='forumJump'><ul><li>Word</li><li>Old pumps of ours</li></ul></form>",
        "<div><a href='/c'>All</a> > <a href='/c/a'>Word</a> > <a href='/c/a/b'>Pumps</a></div>",
    ],
)
def test_what_stands_beside_the_posts_within_the_main_part_of_a_forum_is_left_out(part):
    posts = f"<div><p>{PROSE * 3}</p></div>" * 9
    assert "Word" not in forum(posts + part)


@pytest.mark.parametrize(
    "part",
    [
        "<a href='/maker'>Visit the word</a>",
        "<div class='filters'><p>Word</p>"
        + f"<label>{PROSE * 9}</label><input type='radio'></div>",
        "<div class='hide'>" + "<p>word_thumb: https://a.example/word/1.jpg</p>" * 30 + "</div>",
    ],
)
def test_what_is_chosen_or_clicked_in_a_shop_is_left_out(part):
    inside = f"<p>{PROSE * 40}</p><div>{part}</div>"
    found = shop(inside)
    assert "word" not in found.lower()


def test_a_box_that_is_shown_over_a_shop_is_left_out_and_one_within_it_is_kept():
    box = "<div class='region-modal'><p>Please tell us about your word.</p></div>"
    page = SHOP.replace("main>", "div>")
    assert "word" not in read_page(page.format(before="", inside="", after=box)).markdown
    assert "word" in read_page(page.format(before="", inside=box, after="")).markdown


def test_the_footer_of_a_site_is_left_out_though_it_be_within_the_main_part():
    said = "<p>We are open from nine to five.</p>"
    assert "nine" not in text(inside=f"<div class='site-footer'>{said}</div>")
    assert "nine" in text(inside=f"<div class='footer'>{said}</div>")


def test_what_no_script_can_unfold_is_left_out():
    never = "<ul style='display:none !important'><li>y_9</li></ul>"
    tab = f"<div class='tabs'><p>Nine bar</p>{never}</div>"
    assert "Nine bar" in text(inside=tab)
    assert "y_9" not in text(inside=tab)


def test_two_other_things_below_their_heading_are_left_out_of_a_shop():
    others = "<p>Guests also viewed</p><a href='/a'>A hose</a> <a href='/b'>A valve</a>"
    assert "hose" not in shop(f"<div>{others}</div>")


def test_what_the_pictures_of_a_shop_say_twice_is_kept_once():
    seen = "<div><img alt='A red pump' src='{}.jpg'></div>"
    unseen = "<noscript><img alt='A red pump' src='9.jpg'></noscript>"
    part = unseen + "".join(map(seen.format, range(4))) + "<p>It is <img alt='A red pump'>.</p>"
    assert shop(part).count("A red pump") == 2


def test_a_page_with_a_button_that_puts_the_thing_into_a_cart_is_one_of_a_shop():
    part = "<button><span> Add to Cart</span></button><p><a href='/more'>Read more</a></p>"
    assert "Read more" not in text(inside=part)


def test_posts_that_a_forum_calls_recommended_are_kept():
    posts = "".join(f"<div><a href='/{n}'>Mara</a><p>Word {n} it is.</p></div>" for n in range(5))
    found = forum(f"<p>{PROSE * 9}</p><div><h2>Recommended Posts</h2>{posts}</div>")
    assert "Word 3 it is." in found


def test_a_picture_beside_its_number_is_kept_in_a_shop():
    part = "<div><img alt='A red pump' src='a.png'> Image 1 of 5</div>"
    assert "A red pump" in shop(part)


def test_an_element_of_a_makers_own_is_a_box_like_any_other():
    box = "<i-card><h4>Let us tell you</h4><p>Tap the lock beside the address.</p></i-card>"
    assert "lock" not in forum(f"<p>{PROSE * 3}</p>", after=box)


def test_boxes_beside_the_main_part_of_a_forum_are_left_out_and_dates_kept():
    posts = "".join(POST.format(prose=PROSE, n=n) for n in range(4))
    box = "<div><h4>Let us tell you</h4><ol><li>Tap the lock.</li><li>Choose it.</li></ol></div>"
    asked = "<div>Asked <time datetime='2020-01-02'>2 January</time></div>"
    found = forum(posts, before=asked, after=box)
    assert "lock" not in found
    assert "2 January" in found


def test_a_form_that_says_what_is_to_be_filled_in_is_kept_in_a_manual():
    said = "Your password has at least twelve signs; we never ask for it in a letter. " * 3
    form = f"<form><p>{said}</p><input type='password'></form>"
    assert "twelve" in text(inside=form + f"<p>{PROSE * 20}</p>")


def test_a_page_that_is_there_for_its_form_keeps_it_and_others_lose_it():
    form = "<form><p>Name of the user: <input></p><p>Their key: <input type='password'></p></form>"
    menu = f"<nav><ul>{LINKS}</ul></nav>"
    alone = of_body(f"{menu}<div><h1>Log in</h1>{form}</div>")
    assert "Their key" in alone
    assert "Chapter 3" not in alone
    assert "Their key" not in text(after=form)


DOCBOOK = (
    "<div class='navfooter'><hr><table><tr><td><a href='a.html'>Prev</a></td><td></td><td>"
    "<a href='c.html'>Next</a></td></tr><tr><td>Old pumps</td><td><a href='i.html'>Home</a></td>"
    "<td>Word for word</td></tr></table></div>"
)


@pytest.mark.parametrize("inside", ["", f"<p>{PROSE}</p>"])  # a short page, and one that is longer
def test_a_bar_goes_with_the_titles_of_the_pages_that_it_leads_to(inside):
    found = of_body(f"{inside}<p>It is.</p>{DOCBOOK}", "<title>Word for word, and more</title>")
    assert found.endswith("It is.")


def test_a_bar_to_the_pages_of_a_site_goes_and_the_line_above_it_stays():
    links = "".join(
        f"<td><a href='{e}'>{e}</a></td>" for e in ("Home Page", "Site Map", "Contacts")
    )
    bar = f"<div><h2>Example</h2><div><pre>pump on</pre><table><tr>{links}</tr></table></div></div>"
    found = text(inside=bar)
    assert "Site Map" not in found
    assert "pump on" in found


def test_contents_whose_entries_are_blocks_go_and_the_title_beside_them_stays():
    links = "".join(
        f"<div class='toc2'><a href='#s{n}'>1.{n}. Pump {n}</a></div>" for n in range(20)
    )
    parts = "".join(f"<h2 id='s{n}'>1.{n}. Pump {n}</h2><p>{PROSE}</p>" for n in range(20))
    contents = f"<div class='fancy_toc'><a>Table Of Contents</a><div>{links}</div></div>"
    found = of_body(f"<div><div>All pumps</div>{contents}</div>{parts}")
    assert "All pumps" in found
    assert "Table Of Contents" not in found
    assert found.count("Pump 7") == 1


def test_a_pager_of_pictures_goes_however_its_markup_is_indented():
    cells = "".join(f"<td><a href='{n}'>\n  <img alt='{n}'>\n</a></td>" for n in ("Prev", "Next"))
    assert "Prev" not in of_body(f"<table><tr>{cells}</tr></table><h2>Pumps</h2><p>{PROSE * 3}</p>")


def test_a_short_page_of_a_manual_loses_the_contents_of_all_of_it():
    contents = "".join(f"<li><a href='{n}'>Chapter {n} of all of it</a></li>" for n in range(300))
    page = f"<div id='main'><h1>Pumps</h1><p>{PROSE * 2}</p></div><div><ul>{contents}</ul></div>"
    assert "Chapter 7" not in of_body(page)


def test_a_page_with_little_in_it_beside_long_terms_of_use_loses_these():
    terms = f"<div role='dialog'><p>Terms. {PROSE * 1000}</p></div>"
    assert "Terms" not in text(inside=f"<p>{PROSE * 15}</p>", after=terms)


def test_a_program_that_compares_is_no_long_tag():
    script = "<script>for(i=0;i<n;i++)" + "a" * 100_001 + "</script>"
    assert "Chapter" not in text(before=f"{script}<nav>{LINKS}</nav>")


def test_posts_are_kept_whatever_they_are_called():
    posts = "".join(f"<div class='post-sidebar-left'><p>{n}. {PROSE}</p></div>" for n in range(9))
    found = text(inside=posts, page=PAGE.replace("<body>", "<body id='phpbb'>"))
    assert found.count("by hand") == 12


def test_a_forum_is_read_that_is_written_by_a_script_and_once_more_for_those_without():
    kept = "x" * 200_000  # what the script is given
    body = f"<div data-kept='{kept}'></div><noscript><nav>Home</nav>{'<p>' + PROSE * 9}</noscript>"
    assert of_body(body).startswith("The pump is started")
    assert "scripts" not in text(after="<noscript>Please turn scripts on.</noscript>")


def test_what_is_hidden_is_kept_where_it_is_nearly_all_of_the_page():
    assert "The pump is started" in of_body(f"<p>Loading</p><div hidden><p>{PROSE * 5}</p></div>")


def test_a_table_above_the_main_part_keeps_its_cells_that_are_links():
    row = "<tr><th><a href='d.html#s'>Status:</a></th><td><a href='d.html#b'>Base</a></td></tr>"
    row += f"<tr><th><a href='d.html#u'>Use:</a></th><td>{PROSE}</td></tr>"
    above = f"<div><h1>Pumps</h1><table>{row}</table></div>"
    assert "| Status: | Base |" in of_body(f"{above}<div id='content'><p>{PROSE * 9}</p></div>")


def test_sentences_of_a_language_without_spaces_are_prose():
    said = "<p>ポンプは手で始動し、タンクが満杯になると自動的に停止します。</p>" * 5
    menu = f"<div><ul>{LINKS}</ul></div>"
    body = f"<div><div class='a'>{menu}</div><div class='b'>{said}</div></div>"
    assert "Chapter" not in of_body(body)


def test_an_article_that_is_mostly_links_keeps_them():
    assert "day 3 is known" in article(inside=f"<ul>{HEADLINES * 20}</ul>")
    assert "day 3 is known" in article(
        inside=f"<ul>{HEADLINES}</ul>", kind=f"{ARTICLE}<meta name='generator' content='MediaWiki'>"
    )


def test_a_text_that_is_longer_than_what_seems_the_article_is_kept():
    assert "Other news" in article(f"<div>{(PROSE + 'Other news.<br>') * 9}</div>")


def test_a_term_stays_with_its_meaning_and_code_keeps_its_lines():
    found = text(inside="<dl><dt>-v</dt><dd>be loud</dd><dt>-q</dt><dd><p>be still</p></dd></dl>")
    assert found.endswith("\n\n-v\nbe loud\n\n-q\nbe still")
    row = "<td class='linenos'><pre>1\n2</pre></td><td><pre>a = 1\nb = 2</pre></td>"
    assert "```\na = 1\nb = 2\n```" in text(inside=f"<table><tr>{row}</tr></table>")


@pytest.mark.parametrize(
    ("heading", "place"),
    [
        ("<h2 id='oil'>Oil</h2>", "p.html#oil"),
        ("<h2>Oil<a class='headerlink' href='#oil'>¶</a></h2>", "p.html#oil"),
        ("<section id='oil'><h2>Oil</h2></section>", "p.html#oil"),
        ("<a name='oil'></a><h2>Oil</h2>", "p.html#oil"),
        ("<h2><a name='oil'>Oil</a></h2>", "p.html#oil"),
        ("<h2 id='care'>Care</h2><h3 id='oil'>Oil</h3>", "p.html#oil"),
        ("<h2>Oil</h2>", "section Oil"),
        ("<h2 id='two words'>Oil</h2>", "section Oil"),
    ],
)
def test_a_passage_is_cited_by_the_link_to_its_heading(tmp_path, heading, place):
    markup = PAGE.format(before="", inside=f"{heading}<p>Every spring. {PROSE * 9}</p>", after="")
    (tmp_path / "stored").write_text(markup)
    pages = pages_of(extract(Source(tmp_path / "stored", "p.html")))
    assert "¶" not in pages[0].text
    [found] = [passage for passage in passages(pages) if "Every spring" in passage.text]
    assert found.location == place


def test_the_place_is_known_on_the_next_page_of_a_long_text(tmp_path):
    (tmp_path / "stored").write_text(f"<h1 id='top'>Long</h1><p>{'word ' * 300_000}</p>")
    pages = pages_of(extract(Source(tmp_path / "stored", "p.html")))
    assert [page.places[-1] for page in pages] == [(0, "p.html#top"), (0, "p.html#top")]


def test_a_page_with_a_long_gap_takes_no_longer_for_it():
    gap = " " * 1_000_000  # looked at from each of its spaces it would take hours
    assert of_body(f"{gap}<p>{PROSE}</p>") == PROSE.strip()
