/* Whether the server is there, and whether it wants us to sign in. Told by every request, asked again when lost. */
import { createStore } from "@/lib/store";

export interface Connection {
  status: "ok" | "lost" | "sign-in";
  /** When the next attempt is made, while lost. */
  retryAt: number;
  /** Of the server; another one than at first means that this page is old. */
  version: string | null;
  isNew: boolean;
  wasRefused: boolean;
}

const DELAYS_S = [1, 2, 4, 8, 15];
export const connection = createStore<Connection>({ status: "ok", retryAt: 0, version: null, isNew: false, wasRefused: false });

let attempt = 0;
let timer: ReturnType<typeof setTimeout> | undefined;
const returns = new Set<() => void>();

/** Told when the server is there again, or lets us in. */
export function onReturn(listener: () => void): () => void {
  returns.add(listener);
  return () => returns.delete(listener);
}

export function connectionLost(): void {
  if (connection.get().status === "lost") return;
  plan();
}

function plan(): void {
  const delay = DELAYS_S[Math.min(attempt++, DELAYS_S.length - 1)] ?? 15;
  clearTimeout(timer);
  timer = setTimeout(() => void tryNow(), delay * 1000);
  connection.set((now) => ({ ...now, status: "lost", retryAt: Date.now() + delay * 1000 }));
}

export async function tryNow(): Promise<void> {
  clearTimeout(timer);
  try {
    const response = await fetch(new URL("v1/health/", document.baseURI), { cache: "no-store" });
    const { version } = (await response.json()) as { version: string };
    connection.set((now) => ({ ...now, version: now.version ?? version, isNew: now.version !== null && now.version !== version }));
    connectionWorks();
  } catch {
    plan();
  }
}

export function connectionWorks(): void {
  if (connection.get().status !== "lost") return;
  clearTimeout(timer);
  attempt = 0;
  connection.set((now) => ({ ...now, status: "ok" }));
  for (const listener of [...returns]) listener();
}

let signIns = 0;

/** Grows with each sign-in, by which a refusal that comes late is known. */
export function signInCount(): number {
  return signIns;
}

export function signInNeeded(): void {
  connection.set((now) => ({ ...now, status: "sign-in", wasRefused: false }));
}

/** The password or key is sent once; what stands for it is a cookie that no script can read. */
export async function signIn(password: string): Promise<void> {
  let response: Response;
  try {
    response = await fetch(new URL("v1/session/", document.baseURI), {
      method: "POST",
      headers: { "content-type": "application/json", [OWN_PAGE]: "1" },
      body: JSON.stringify({ password }),
    });
  } catch {
    return connectionLost();
  }
  if (!response.ok) {
    connection.set((now) => ({ ...now, status: "sign-in", wasRefused: true }));
    return;
  }
  signIns += 1;
  connection.set((now) => ({ ...now, status: "ok", wasRefused: false }));
  for (const listener of [...returns]) listener();
}

/** Without it the server changes nothing for a cookie; pages of other origins cannot send it. */
export const OWN_PAGE = "x-remanence-page";
