/* What went wrong, in words for people. */
import { APIError } from "@letta-ai/letta-client/core/error";

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly body: unknown,
  ) {
    super(message);
  }

  static async from(response: Response): Promise<ApiError> {
    const text = await response.text().catch(() => "");
    let body: unknown = text;
    try {
      body = JSON.parse(text);
    } catch {
      /* a proxy's page */
    }
    return new ApiError(response.status, wordsOf(body) ?? `The server answered ${response.status}.`, body);
  }
}

export function statusOf(error: unknown): number | undefined {
  return error instanceof ApiError || error instanceof APIError ? error.status : undefined;
}

export function bodyOf(error: unknown): Record<string, unknown> {
  const body = error instanceof ApiError ? error.body : error instanceof APIError ? (error.error as unknown) : null;
  return body !== null && typeof body === "object" ? (body as Record<string, unknown>) : {};
}

/** One sentence: the server's own where it gave one. */
export function describe(error: unknown): string {
  if (error instanceof ApiError) return error.message;
  if (error instanceof APIError && error.status !== undefined) return wordsOf(error.error) ?? error.message;
  if (error instanceof TypeError || error instanceof APIError) return "The server cannot be reached.";
  return error instanceof Error ? error.message : String(error);
}

function wordsOf(body: unknown): string | undefined {
  if (body === null || typeof body !== "object") return undefined;
  const { detail, error, message } = body as Record<string, unknown>;
  if (typeof detail === "string") return detail.replace(/^[A-Z][A-Z_]+: /, "");
  if (detail !== undefined && detail !== null) return wordsOf(detail) ?? JSON.stringify(detail);
  if (error !== undefined) return wordsOf(error);
  return typeof message === "string" ? message : undefined;
}
