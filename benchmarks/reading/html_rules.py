"""The makers of web pages, and what each of them puts around its content.

Written by looking at pages of each, not at kb's reader. `known` are selectors of which one must be
there (a `generator:` is the beginning of what the page says about its maker), `content` those that
hold all of the content, `around` what is in there and is none.
"""

from typing import NamedTuple


class Rule(NamedTuple):
    maker: str
    known: str
    content: str = ""
    around: str = ""


RULES = (
    Rule("Docusaurus", "generator:Docusaurus", "article .blog-post-page main", "nav .theme-doc-toc-mobile .theme-doc-toc-desktop .theme-doc-breadcrumbs .theme-doc-footer .pagination-nav .hash-link"),
    Rule("MkDocs Material", "generator:mkdocs .md-content", "article.md-content__inner", ".headerlink .md-source-file"),
    Rule("MkDocs", "#mkdocs_search_modal #mkdocs-search-results", "[role=main]", ".headerlink .rst-footer-buttons footer"),
    Rule("SQLAlchemy's manual", "#docs-body-container", "#docs-body", ".headerlink"),
    Rule("Sphinx", ".sphinxsidebar .wy-nav-content .bodywrapper", "div.body [itemprop=articleBody]", ".headerlink .viewcode-link .related nav.contents div.contents footer #hd #ft .nav .sphinxsidebar #sidebar"),
    Rule("Doxygen", "generator:Doxygen", "div.header div.contents", ".summary .permalink #nav-path .navpath .dynheader .center"),
    Rule("Javadoc", "generator:javadoc .topNav", "main .header .contentContainer #overviewBody", ".topNav .subNav .bottomNav .sub-nav .sub-nav-list nav .skip-nav .toc"),
    Rule("rustdoc", "nav.sidebar .rustdoc", "#main-content #main .content", "nav .sidebar .srclink .src .out-of-band #copy-path #toggle-all-docs .anchor"),
    Rule("Libxml2's manual", "[bgcolor=#8b7765]", "", "td[width=200] td[width=120] td[width=180]"),
    Rule("gtk-doc", "generator:GTK-Doc table.navigation", "", ".navigation .footer .shortcuts .gallery-float"),
    Rule("gi-docgen", "#main.content section.content", "section.content #main", "nav .sidebar .toc #toc .toggle-wrapper a.anchor h4.toggle"),
    Rule("Boost's manual", ".spirit-nav", "", ".spirit-nav table[cellpadding=2]"),
    Rule("DocBook", "generator:DocBook generator:Modular .navheader .NAVHEADER .titlepage .refentry", "", ".navheader .navfooter .spirit-nav .navtop .docnav .breadcrumbs #banner"),
    Rule("Exim's manual", "#nav_flow", "#content", ""),
    Rule("Erlang's manual", "#leftnav", "#content", "#leftnav .footer"),
    Rule("AsciiDoc", "generator:Asciidoctor generator:AsciiDoc", "", "#toc #footer #toctitle"),
    Rule("Texinfo", "generator:makeinfo generator:texi2html generator:texi2any generator:GNU .settitle", "", ".header .nav-panel .nav_table #tocframe #footer .contents .SectionTOC .Contents_element .region-contents .copiable-link .copiable-anchor .summary-letter-printindex .node"),
    Rule("LaTeX2HTML", "generator:LaTeX2HTML", "", ".navigation .navigate address .ChildLinks"),
    Rule("LibreOffice Help", "#DisplayArea", "#DisplayArea", "#donation .embedded-donation"),
    Rule("Haddock", "#package-header", "#content", "#package-header #footer #alphabet #table-of-contents .selflink .link"),
    Rule("GAPDoc", "generator:GAPDoc2HTML", "", ".chlinktop .chlinkprevnexttop .chlinkbot .chlinkprevnextbot .ContSect .ChapSects #mathjaxlink hr"),
    Rule("Apache's manual", "#manual-page .toplang", "#page-content", "#quickview .toplang .bottomlang #toc .top .lang-toggle #comments_section .category .permalink"),
    Rule("SQLite's manual", ".nosearch", "", ".logo .menu .searchmenu .tagline .toc_menu #toc_sub"),
    Rule("Tomcat's manual", "#mainLeft", "#mainRight", "#footer .noPrint"),
    Rule("PlDoc", ".navigate", "", ".navigate .toc"),
    Rule("Wikipedia and other MediaWikis", ".mw-parser-output #mw-content-text generator:MediaWiki", "#firstHeading #bodyContent #mw-content-text", "#siteSub #contentSub #jump-to-nav .mw-editsection .toc #toc .navbox .printfooter .catlinks .mw-jump-link .noprint .mw-jump .metadata .sidebar .vertical-navbox"),
    Rule("vBulletin", "generator:vBulletin", "#postlist #threadlist #forums #forumbits", ".postcontrols .postfoot .threadcontrols .popupmenu .popupbody .popupctrl #pagination_top .pagination .conversation-toolbar .widget-tabs-nav .b-sharing-menu .usertitle .b-userinfo__additional-info-block #footer-copyright #notices .h-hide-imp .js-privacy-consent-banner__banner"),
    Rule("phpBB", "#phpbb .postbody", "#page-body", ".pagination .topic-actions .action-bar .profile-icons .post-buttons .jumpbox #jumpbox fieldset .back2top .linklist .navbar .stat-block"),
    Rule("XenForo", "[id=XenForo] html[data-app=public]", ".messageList .discussionList .p-body-pageContent", ".PageNav .pageNav .publicControls .messageMeta .muted .secondaryContent .likesSummary .reactionsBar .bbCodeBlock-expandLink .block-outer .shareButtons .message-userExtras .userTitle .userBanner"),
    Rule("Discourse and Stack Exchange", "generator:Discourse #question .crawler-post", "#question #answers .crawler-post h1", ".js-vote-count .post-menu .js-post-menu .votecell .js-voting-container .bottom-notice .js-bottom-notice .answers-subheader .user-info .comments-link"),
    Rule("PrestaShop", "generator:PrestaShop", "#center_column", ".breadcrumb .sortPagiBar .pagination #usefull_link_block .compare #pagination #more_info_tabs #product_comments_block_extra #thumbs_list"),
    Rule("WordPress", "generator:WordPress", "article .entry-content", ".sharedaddy .sd-sharing .jp-relatedposts .navigation .nav-links .comment-reply-link .comment-respond #respond .edit-link"),
    Rule("fpdoc", "table.bar", "", ".bar"),
    Rule("haproxy's manual", "#keyboardNavStatus", "", "#sidebar .dropdown-menu"),
    Rule("man2html", "generator:man2html", "", ""),
    Rule("groff", "generator:groff", "", ""),
)  # fmt: skip
OTHER = Rule("other", "")
