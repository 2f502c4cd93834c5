"""Files that problems need and their source lacks: from a folder that the user fills, or fetched into it."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import httpx

from posttrain.errors import InfrastructureError
from posttrain.euler.found import Found, Reference
from posttrain.euler.problem_page import BASE
from posttrain.files import replacing
from posttrain.progress import Progress

MAX_BYTES = 8 * 2**20
Get = Callable[[str], bytes]


def fill_resources(found: Found, cache: Path, get: Get | None) -> None:
    """Adds the missing documents that lie in `cache` as `<problem>/<name>`; with `get` it fetches the others first.

    A file that cannot be fetched stays missing and becomes an issue.
    """
    missing = [
        (number, reference)
        for number, draft in sorted(found.drafts.items())
        for reference in draft.references
        if reference.kind == "document" and (number, reference.name) not in found.files
    ]
    with Progress("resources", len(missing), "files") as progress:
        for number, reference in missing:
            path = cache / str(number) / reference.name
            if get is not None and not path.exists():
                _fetch(found, number, reference, path, get)
            if path.is_file():
                found.files[number, reference.name] = path.read_bytes()
            progress.advance()


def http_get(url: str) -> bytes:
    """The body of a page, of at most 8 MiB.

    Raises:
        InfrastructureError: no answer, another status than 200, or more than that.
    """
    content = b""
    try:
        with httpx.stream("GET", url, timeout=30, follow_redirects=False) as response:
            if response.status_code != 200:
                raise InfrastructureError(f"{url} gave status {response.status_code}; fetch it yourself")
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > MAX_BYTES:
                    raise InfrastructureError(f"{url} is longer than {MAX_BYTES} bytes; fetch it yourself")
    except httpx.HTTPError as error:
        raise InfrastructureError(f"{url} cannot be fetched: {error}; try again, or fetch it yourself") from error
    return content


def _fetch(found: Found, number: int, reference: Reference, path: Path, get: Get) -> None:
    url = urljoin(BASE, reference.target)
    if urlsplit(url).scheme != "https" or urlsplit(url).netloc != urlsplit(BASE).netloc:
        found.tell("not_fetched", f"problem {number}", f"{url} is not on {BASE}")
        return
    try:
        content = get(url)
    except InfrastructureError as error:
        found.tell("not_fetched", f"problem {number}", str(error))
        return
    with replacing(path) as temporary:
        temporary.write_bytes(content)
