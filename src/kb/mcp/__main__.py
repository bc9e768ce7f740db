"""`python -m kb.mcp`: settings from the environment, then the protocol until a signal.

It speaks HTTP, or standard input and output with `--stdio`.
"""

import logging
import sys

from kb import __version__
from kb.mcp.settings import McpSettings
from kb.serving import CannotServe, garbage, logs, memory
from kb.settings import BadSetting, read_settings, refuse_if_strict, secrets

# httpx brings a command of its own, with all that a terminal needs, if it can. And its connections
# look for sniffio several times in each request, to learn that this is asyncio.
UNUSED = ("httpx._main", "sniffio")

logger = logging.getLogger(__name__)


def main(arguments: list[str] | None = None) -> None:
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        if arguments not in ([], ["--stdio"]):
            raise CannotServe(f"unknown arguments: {' '.join(arguments)}; there is only --stdio")
        environ = secrets.take()
        settings = McpSettings.from_values(read_settings(environ, reader="mcp"))
        logs.configure(settings.log_level, secrets=(settings.api_key, settings.mcp_api_key))
        logging.getLogger("httpx").setLevel(logging.WARNING)  # it tells of every single request
        _load_less()
        if arguments:
            _serve_stdio(settings)
        else:
            refuse_if_strict(settings.key_risk, settings.strict)
            if settings.mcp_tools == "knowledge":  # whose clients stay connected, by WebSocket
                memory.keep_no_small_objects(environ)
            _serve_http(settings)
    except (BadSetting, CannotServe) as error:
        print(f"kb: {error}", file=sys.stderr)
        sys.exit(2)


def _load_less() -> None:
    """A sixth of the start's processor time, if it is done before anything heavy is imported."""
    garbage.leave_for_later()
    memory.share_arenas()
    for unused in UNUSED:
        sys.modules[unused] = None  # type: ignore[assignment]


def _serve_http(settings: McpSettings) -> None:
    # Imported here so that a bad setting or a taken port is reported before anything heavy loads.
    from kb.serving.server import Server, bind, serve

    sockets = bind(settings.mcp_host, settings.mcp_port, "KB_MCP_PORT")

    from kb.mcp.app import build_app
    from kb.mcp.transport.guard import REFUSALS

    app = build_app(settings)
    _warn(settings)

    def ready(port: int) -> None:
        garbage.settle()
        host = f"[{settings.mcp_host}]" if ":" in settings.mcp_host else settings.mcp_host
        logger.info("kb mcp %s listens on http://%s:%s/mcp", __version__, host, port)

    speaks = app.speaks_websocket
    serve(Server(app, refusals=REFUSALS, on_ready=ready, websockets=speaks), sockets)


def _serve_stdio(settings: McpSettings) -> None:
    from kb.mcp.transport.stdio import serve

    garbage.settle()
    serve(settings)


def _warn(settings: McpSettings) -> None:
    if settings.key_risk:
        logger.warning("%s", settings.key_risk.message)
    if settings.mcp_tools == "knowledge":
        if not settings.mcp_file_roots:
            logger.warning("KB_MCP_FILE_ROOTS is not set: knowledge-add can read no file")
        for root in settings.mcp_file_roots:
            if not root.is_dir():
                logger.warning("KB_MCP_FILE_ROOTS: %s is no folder, or not there now", root)


if __name__ == "__main__":
    main()
