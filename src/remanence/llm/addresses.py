"""Base URLs in the shapes people type, made one."""

import ipaddress
import re

from yarl import URL

from remanence.errors import BadArgument

# People paste the address of the call instead of the base.
_CALLS = re.compile(r"(/chat/completions|/completions|/responses|/messages|/embeddings|/models)+$")
_ENDS_IN_VERSION = re.compile(r"/v\d[^/]*$")
_HAS_SCHEME = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]*://")


def normalise_base_url(typed: str, *, default: str = "", version: str = "") -> str:
    """`localhost:11434` → `http://localhost:11434/v1`; a path that was typed is kept.

    `default` is the vendor's own base URL: on its host, a path that stops short of the vendor's
    is completed. `version` is what a path must end in, for formats whose servers all have one
    there. Raises `BadArgument` for what is no web address.
    """
    text = typed.strip()
    if not _HAS_SCHEME.match(text):
        text = f"{_fitting_scheme(text)}://{text}"
    try:
        url = URL(text)
    except ValueError as error:
        raise BadArgument(f"'{typed}' is not a web address: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise BadArgument(f"'{typed}' is not a web address; one like https://host/v1 is expected")
    path = _CALLS.sub("", url.raw_path.rstrip("/")).rstrip("/")
    known = URL(default) if default else None
    if known is not None and url.host == known.host and _is_start(path, known.raw_path):
        path = known.raw_path
    if version and not _ENDS_IN_VERSION.search(path):
        path = f"{path.removesuffix('/' + version.partition('/')[0])}/{version}"
    return str(url.with_path(path or "/v1", encoded=True).with_query(None).with_fragment(None))


def is_same_origin(one: str, other: str) -> bool:
    """Whether both addresses reach the same server, which may then see the same key."""
    return URL(one).origin() == URL(other).origin()


def _is_start(path: str, whole: str) -> bool:
    return path in ("", "/v1") or whole.startswith(f"{path}/")


def _fitting_scheme(text: str) -> str:
    """Plain HTTP for servers on this machine or network, and on ports that are not HTTPS's."""
    host = text.partition("/")[0].rpartition("@")[2]
    name, _, port = host.rpartition(":") if re.search(r":\d+$", host) else (host, "", "")
    if port:
        return "https" if port == "443" else "http"
    name = name.strip("[]").lower()
    if name == "localhost" or name.endswith((".local", ".localhost", ".internal")) or "." not in name:
        return "http"
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return "https"
    return "http" if address.is_private or address.is_loopback else "https"
