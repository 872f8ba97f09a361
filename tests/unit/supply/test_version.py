"""There is one version, and each place has it."""

from pathlib import Path

import pytest

from supply.version import PLACES, ROOT, VersionError, found_in, notes, version, write


@pytest.mark.parametrize(("file", "pattern"), PLACES)
def test_every_place_has_the_version(file, pattern):
    assert {*found_in(ROOT, file, pattern)} == {version(ROOT)}


def test_the_changelog_has_a_part_for_it():
    found = notes((ROOT / "CHANGELOG.md").read_text(), version(ROOT))

    assert found.lstrip().startswith(("### ", "[Upgrading]"))
    assert "\n## " not in found


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for file, _ in PLACES:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text((ROOT / file).read_text())
    return tmp_path


def test_another_version_is_written_to_all_places(copy):
    write(copy, "10.20.30")

    assert {each for place in PLACES for each in found_in(copy, *place)} == {"10.20.30"}
    before, after = ((root / "pyproject.toml").read_text() for root in (ROOT, copy))
    assert after == before.replace(f'version = "{version(ROOT)}"', 'version = "10.20.30"')


def test_a_place_without_a_version_is_named_and_nothing_is_written(copy):
    last, _ = PLACES[-1]
    (copy / last).write_text("nothing")

    with pytest.raises(VersionError, match=last):
        write(copy, "10.20.30")
    assert version(copy) == version(ROOT)


@pytest.mark.parametrize("wrong", ["", "1.2", "v1.2.3", "1.2.3-rc1"])
def test_what_is_no_version_is_refused(copy, wrong):
    with pytest.raises(VersionError, match="three numbers"):
        write(copy, wrong)


def test_a_version_without_a_part_has_no_notes():
    with pytest.raises(VersionError, match=r"no part for 1\.2\.3"):
        notes("# Changelog\n\n## 1.2.30\n\n- It was.\n", "1.2.3")
