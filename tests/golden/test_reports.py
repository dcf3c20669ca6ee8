"""The committed reports are what the code writes."""

import importlib.util
from types import ModuleType

from tests.conftest import ROOT


def regenerate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("regenerate", ROOT / "reports" / "regenerate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_reports_do_not_drift() -> None:
    assert regenerate().stale() == [], "run `make reports` and look at what changed"
