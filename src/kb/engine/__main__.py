"""`python -m kb.engine`: settings from the environment, then the API until a signal."""

import logging
import sys
import tempfile
from typing import TYPE_CHECKING

from kb import __version__
from kb.engine.errors import StartupError
from kb.engine.settings import Settings
from kb.serving import CannotServe, garbage, logs
from kb.settings import BadSetting, read_settings, refuse_if_strict, secrets

if TYPE_CHECKING:
    from kb.engine.ingest.sandbox import SandboxState

logger = logging.getLogger(__name__)


def main() -> None:
    garbage.leave_for_later()
    try:
        settings = Settings.from_values(read_settings(secrets.take(), reader="engine"))
        refuse_if_strict(settings.key_risk, settings.strict)
        logs.configure(settings.log_level, secrets=(settings.api_key,))
        _run(settings)
    except (BadSetting, StartupError, CannotServe) as error:
        print(f"kb: {error}", file=sys.stderr)
        sys.exit(2)


def _run(settings: Settings) -> None:
    # Imported here so that a bad setting is reported before anything heavy is loaded.
    from kb.engine.api.guard import REFUSALS
    from kb.engine.app import build_engine, guarded
    from kb.engine.data_folder.folder import DataFolder, open_to_others
    from kb.serving.memory import share_arenas
    from kb.serving.server import Server, bind, serve

    share_arenas()
    folder = DataFolder(settings.data_dir)
    try:
        for left in folder.incoming.iterdir():
            left.unlink()
        tempfile.tempdir = str(folder.incoming)  # uploads are spooled beside the data, not in /tmp
        engine = build_engine(settings, folder)
    except OSError as error:
        raise StartupError(f"The data folder {folder.path} cannot be used: {error}") from error
    for issue in open_to_others(folder.path):
        logger.warning("%s", issue.message)
    app = guarded(engine)
    _warn(settings, engine.sandbox.state)

    def ready(port: int) -> None:
        garbage.settle()
        logger.info("kb engine %s listens on http://%s:%s", __version__, settings.host, port)

    def drain() -> None:
        app.drain()
        engine.events.close()
        engine.worker.let_go()
        engine.renewal.let_go()
        engine.backups.let_go()

    sockets = bind(settings.host, settings.port, "KB_PORT")
    serve(Server(app, refusals=REFUSALS, on_ready=ready, on_drain=drain), sockets)


def _warn(settings: Settings, sandbox: "SandboxState") -> None:
    if settings.embedder == "hash":
        logger.warning("KB_EMBEDDER=hash is for tests: searches by meaning will not work")
    if settings.key_risk:
        logger.warning("%s", settings.key_risk.message)
    if not sandbox.complete:
        told = "Readers of files are not locked in" if sandbox.reads_files else "No file is read"
        logger.warning("%s: %s", told, sandbox.problem)


if __name__ == "__main__":
    main()
