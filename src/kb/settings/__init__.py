"""The settings of every program, from the environment and a file.

Every program of kb reads its settings here, so a name is written, checked and documented once.
This package needs only the standard library and platformdirs: the command line must start fast.
"""

from kb.settings.keys import Risk, key_risk, refuse_if_strict
from kb.settings.parse import Network
from kb.settings.reach import from_here, url_from_here
from kb.settings.read import MASK, BadSetting, Value, read_settings
from kb.settings.table import SETTINGS, Setting
