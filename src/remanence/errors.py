"""The exception tree.

    AppError ── NotFound · Conflict (AgentBusy, AlreadyExists, ApprovalPending, EditConflict) · Invalid (BadArgument, TooLarge, UnknownType)
             │  Forbidden · Unauthenticated · NotAllowed · Gone · TooManyRequests
             ├─ ProviderError (ProviderAuth, ProviderCredits, RateLimited, ContextOverflow, ProviderTimeout,
             │                 ProviderRefused, BadReply, EmptyReply, ModelUnavailable)
             └─ LeaseLost · RunCancelled · McpUnavailable

An error says what happened and what to do about it; it knows no HTTP.
"""

from typing import ClassVar


class AppError(Exception):
    """Something the caller can understand. `code` is for machines, `message` for people."""

    code: ClassVar[str] = "INTERNAL_SERVER_ERROR"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class NotFound(AppError):
    code = "NOT_FOUND"


class Conflict(AppError):
    code = "CONFLICT"


class AlreadyExists(Conflict):
    """A unique name or key is taken."""


class AgentBusy(Conflict):
    """Another request is running on this conversation."""

    def __init__(self, message: str, run_id: str | None = None) -> None:
        super().__init__(message)
        self.run_id = run_id


class ApprovalPending(Conflict):
    """The agent waits for a person's answer before it can go on."""

    code = "PENDING_APPROVAL"

    def __init__(self, message: str, pending_request_id: str) -> None:
        super().__init__(message)
        self.pending_request_id = pending_request_id


class EditConflict(Conflict):
    """What is to be changed was changed by somebody else, in the same place."""

    def __init__(self, message: str, revision: int) -> None:
        super().__init__(message)
        self.revision = revision


class Gone(AppError):
    """It was here once and is kept no longer."""

    code = "EXPIRED"


class Invalid(AppError):
    """The request is well formed but its content cannot be accepted."""

    code = "INVALID_ARGUMENT"


class BadArgument(Invalid):
    """A value names something that does not fit: an unknown tool, a handle without a provider."""


class TooLarge(Invalid):
    """More than this server takes at once."""


class UnknownType(Invalid):
    """A file of a kind that this server cannot read."""


class Forbidden(AppError):
    code = "PERMISSION_DENIED"


class TooManyRequests(AppError):
    """The caller asks more often than he may."""

    code = "RATE_LIMIT_EXCEEDED"

    def __init__(self, message: str, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Unauthenticated(AppError):
    code = "UNAUTHENTICATED"


class NotAllowed(AppError):
    """The operation is never possible on this resource."""

    code = "METHOD_NOT_ALLOWED"


class LeaseLost(AppError):
    """Another process took this work over; what was not saved here is dropped."""

    code = "CONFLICT"


class McpUnavailable(AppError):
    """An MCP server could not be reached, or broke off, or took too long."""

    code = "MCPServerUnavailable"


class ProviderError(AppError):
    """A model provider failed. `message` holds the provider's own words."""

    error_type: ClassVar[str] = "llm_error"

    def __init__(self, message: str, *, status: int | None = None, provider: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.provider = provider


class ProviderRefused(ProviderError):
    """The provider says that the request is wrong."""

    code = "INVALID_ARGUMENT"
    error_type = "llm_bad_request"


class ProviderAuth(ProviderError):
    code = "UNAUTHENTICATED"
    error_type = "llm_authentication"


class ProviderCredits(ProviderError):
    code = "PAYMENT_REQUIRED"
    error_type = "llm_insufficient_credits"


class RateLimited(ProviderError):
    code = "RATE_LIMIT_EXCEEDED"
    error_type = "llm_rate_limit"

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        provider: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message, status=status, provider=provider)
        self.retry_after_s = retry_after_s


class ContextOverflow(ProviderError):
    """The prompt is larger than the model's context window."""

    code = "CONTEXT_WINDOW_EXCEEDED"


class ProviderTimeout(ProviderError):
    code = "TIMEOUT"
    error_type = "llm_timeout"


class ModelUnavailable(ProviderError):
    """No connection to the provider, or the model cannot be loaded."""


class BadReply(ProviderError):
    """The provider's answer cannot be understood."""


class EmptyReply(BadReply):
    """The provider answered with neither text nor a tool call."""

    error_type = "llm_empty_response"
