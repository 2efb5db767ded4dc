/* The one way to the server: the published client, and a plain typed fetch for what we add to its API. */
import Letta from "@letta-ai/letta-client";
import { connectionLost, connectionWorks, OWN_PAGE, signInCount, signInNeeded } from "@/api/connection";
import { ApiError } from "@/api/errors";

/** "" at the root, "/prefix" behind a proxy that puts one before us. */
export const BASE = new URL(document.baseURI).pathname.replace(/\/$/, "");

/** Tells of lost connections and of being signed out, and says that it is our own page that asks. */
export async function watchedFetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const headers = new Headers(init?.headers);
  headers.delete("authorization");
  headers.set(OWN_PAGE, "1");
  const signIns = signInCount();
  let response: Response;
  try {
    response = await fetch(input, { ...init, headers });
  } catch (error) {
    if (!init?.signal?.aborted) connectionLost();
    throw error;
  }
  connectionWorks();
  if (response.status === 401 && !response.headers.get("x-provider")) await noticeSignIn(response, signIns);
  return response;
}

/** A provider's 401 has another body than our own; one that comes late is about a session that was replaced since. */
async function noticeSignIn(response: Response, signIns: number): Promise<void> {
  const body = (await response.clone().json().catch(() => null)) as { detail?: unknown } | null;
  if (body?.detail === "Unauthorized" && signInCount() === signIns) signInNeeded();
}

export const letta = new Letta({
  baseURL: location.origin + BASE,
  apiKey: null,
  fetch: watchedFetch as typeof fetch,
  maxRetries: 0,
  timeout: 120_000,
  logLevel: "off",
});

export interface Asking {
  query?: Record<string, string | number | boolean | readonly string[] | null | undefined>;
  body?: unknown;
  signal?: AbortSignal | undefined;
}

/** The answer as it comes, for streams. Raises ApiError. */
export async function send(method: string, path: string, asking: Asking = {}): Promise<Response> {
  const url = new URL(location.origin + BASE + path);
  for (const [name, value] of Object.entries(asking.query ?? {})) {
    if (value === null || value === undefined) continue;
    for (const each of Array.isArray(value) ? (value as readonly string[]) : [value]) url.searchParams.append(name, String(each));
  }
  // The mark of the published clients, whose habits of the API we want everywhere.
  const headers: Record<string, string> = { "x-stainless-package-version": "1.12.1" };
  const isForm = asking.body instanceof FormData; // says by itself what it is
  if (asking.body !== undefined && !isForm) headers["content-type"] = "application/json";
  const init: RequestInit = { method, headers, signal: asking.signal ?? null };
  if (asking.body !== undefined) init.body = isForm ? (asking.body as FormData) : JSON.stringify(asking.body);
  const response = await watchedFetch(url, init);
  if (!response.ok) throw await ApiError.from(response);
  return response;
}

/** For what the published client does not know: revisions, probes, sums. Raises ApiError. */
export async function ask<T>(method: string, path: string, asking: Asking = {}): Promise<T> {
  const response = await send(method, path, asking);
  const text = await response.text();
  return (text ? JSON.parse(text) : null) as T;
}
