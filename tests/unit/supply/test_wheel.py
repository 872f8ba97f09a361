"""The wheel holds all of the service."""

import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[3]
IMPORT_ALL = """
import importlib, sys
sys.path[:0] = [wheel, packages] = sys.argv[1:3]
for name in sys.argv[3:]:
    importlib.import_module(name)
"""


def test_every_module_in_it_can_be_imported_without_the_repository(tmp_path):
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    [wheel] = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {f"app/page/page.{kind}" for kind in ("html", "css", "js")} <= {*names}
    files = [Path(name) for name in names if name.endswith(".py")]
    modules = [".".join(file.with_suffix("").parts) for file in files]
    assert "app.instance.service" in modules

    # -I and -S keep out the folder of the tests and what points from the environment to it.
    command = [sys.executable, "-I", "-S", "-c", IMPORT_ALL, str(wheel)]
    imported = subprocess.run(
        [*command, sysconfig.get_path("purelib"), *modules],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (imported.returncode, imported.stderr) == (0, "")
