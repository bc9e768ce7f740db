"""`python -m kb.engine`: settings from the environment, then the API until a signal."""

import logging
import sys
import tempfile

from kb import __version__
from kb.engine.errors import StartupError
from kb.engine.settings import Settings
from kb.serving import CannotServe, garbage, logs
from kb.serving.hosts import only_this_machine
from kb.settings import BadSetting, read_settings

logger = logging.getLogger(__name__)

SHORTEST_KEY = 16


def main() -> None:
    garbage.leave_for_later()
    try:
        settings = Settings.from_values(read_settings(reader="engine"))
        _check_key(settings)
        logs.configure(settings.log_level, secrets=(settings.api_key,))
        _run(settings)
    except (BadSetting, StartupError, CannotServe) as error:
        print(f"kb: {error}", file=sys.stderr)
        sys.exit(2)


def _run(settings: Settings) -> None:
    # Imported here so that a bad setting is reported before anything heavy is loaded.
    from kb.engine.api.guard import REFUSALS
    from kb.engine.app import build_engine, guarded
    from kb.engine.folder import DataFolder
    from kb.serving.memory import share_arenas
    from kb.serving.server import bind, serve

    share_arenas()
    folder = DataFolder(settings.data_dir)
    _warn(settings)
    try:
        for left in folder.incoming.iterdir():
            left.unlink()
        tempfile.tempdir = str(folder.incoming)  # uploads are spooled beside the data, not in /tmp
        engine = build_engine(settings, folder)
    except OSError as error:
        raise StartupError(f"The data folder {folder.path} cannot be used: {error}") from error
    app = guarded(engine)

    def ready(port: int) -> None:
        garbage.settle()
        logger.info("kb engine %s listens on http://%s:%s", __version__, settings.host, port)

    def drain() -> None:
        app.drain()
        engine.events.close()
        engine.worker.let_go()
        engine.renewal.let_go()

    sockets = bind(settings.host, settings.port, "KB_PORT")
    serve(app, sockets, refusals=REFUSALS, on_ready=ready, on_drain=drain)


def _check_key(settings: Settings) -> None:
    if not only_this_machine(settings.host) and 0 < len(settings.api_key) < SHORTEST_KEY:
        raise StartupError(
            f"KB_API_KEY is shorter than {SHORTEST_KEY} characters and KB_HOST={settings.host} is "
            "reachable by others: make a key with `kb keygen`"
        )


def _warn(settings: Settings) -> None:
    if settings.embedder == "hash":
        logger.warning("KB_EMBEDDER=hash is for tests: searches by meaning will not work")
    if not only_this_machine(settings.host) and not settings.api_key:
        logger.warning(
            "KB_API_KEY is not set and KB_HOST=%s: everyone who can reach this machine can read, "
            "change and delete everything. Set KB_API_KEY (kb keygen makes one)",
            settings.host,
        )


if __name__ == "__main__":
    main()
