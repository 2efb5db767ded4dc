"""Secrets at rest: encrypted with a key that lives beside the data, never in the database."""

import base64
import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.fernet import Fernet


KEY_FILE = "secret.key"


class Vault:
    """Encrypts and decrypts texts. The cipher is loaded on first use: most requests need none."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._cipher: Fernet | None = None

    @classmethod
    def open(cls, folder: Path, given: str | None = None) -> "Vault":
        """With the given passphrase, or else the key file of the folder, made if it is missing.

        Replicas on one database must share the key: give them the same passphrase.
        """
        if given:
            return cls(base64.urlsafe_b64encode(hashlib.sha256(given.encode()).digest()))
        path = folder / KEY_FILE
        folder.mkdir(parents=True, exist_ok=True)
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return cls(path.read_bytes().strip())
        key = base64.urlsafe_b64encode(os.urandom(32))
        with os.fdopen(handle, "wb") as file:
            file.write(key)
            file.flush()
            os.fsync(file.fileno())
        return cls(key)

    @property
    def signing_key(self) -> bytes:
        """For signatures, so that the key that encrypts is used for nothing else."""
        return hashlib.sha256(b"signing" + self._key).digest()

    @property
    def key_id(self) -> str:
        """By which the key is known again, and from which it cannot be had."""
        return hashlib.sha256(b"id" + self._key).hexdigest()[:16]

    def encrypt(self, text: str) -> str:
        return self._fernet().encrypt(text.encode()).decode()

    def decrypt(self, token: str) -> str:
        """Raises ValueError when the key is not the one it was encrypted with."""
        from cryptography.fernet import InvalidToken

        try:
            return self._fernet().decrypt(token.encode()).decode()
        except InvalidToken as error:
            raise ValueError("a stored secret cannot be read with this key file") from error

    def _fernet(self) -> "Fernet":
        if self._cipher is None:
            from cryptography.fernet import Fernet

            self._cipher = Fernet(self._key)
        return self._cipher
