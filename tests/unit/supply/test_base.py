"""The base image is pinned in one line, and what is not pinned is not released."""

import pytest

from supply.base import DOCKERFILE, BaseError, pinned, tagged, with_digest

DIGEST = "sha256:" + "0123456789abcdef" * 4
OTHER = "sha256:" + "fedcba9876543210" * 4
TEXT = (
    "ARG PYTHON_IMAGE=pinned\nFROM python:3.13-slim{} AS pinned\nFROM ${{PYTHON_IMAGE}} AS build\n"
)


def test_the_image_is_printed_with_its_digest():
    assert pinned(TEXT.format(f"@{DIGEST}")) == f"python:3.13-slim@{DIGEST}"


@pytest.mark.parametrize("digest", ["", "@sha256:0123", f"@{DIGEST.upper()}", "@DIGEST"])
def test_an_image_without_a_digest_is_an_error_that_says_what_to_do(digest):
    with pytest.raises(BaseError, match=r"does not pin python:3\.13-slim .* `make base-image`"):
        pinned(TEXT.format(digest))


@pytest.mark.parametrize("before", ["", f"@{OTHER}"])
def test_a_digest_is_written_and_nothing_else_changes(before):
    assert with_digest(TEXT.format(before), DIGEST) == TEXT.format(f"@{DIGEST}")


@pytest.mark.parametrize("digest", ["", "latest", "sha256:12", f"{DIGEST} AS x", f"{DIGEST}\n"])
def test_what_is_no_digest_is_not_written(digest):
    with pytest.raises(BaseError, match="is no digest"):
        with_digest(TEXT.format(""), digest)


def test_a_dockerfile_without_the_line_is_an_error():
    with pytest.raises(BaseError, match="no line `FROM IMAGE:TAG AS pinned`"):
        tagged("FROM python:3.13-slim\n")


def test_the_dockerfile_has_the_line():
    assert tagged(DOCKERFILE.read_text(encoding="utf-8")) == "python:3.13-slim"
