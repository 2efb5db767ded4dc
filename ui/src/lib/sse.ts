/* The one reader of event streams. */

export interface ServerEvent {
  event: string;
  data: string;
}

/** Splits what has arrived into whole events and the rest, which waits for more. */
export function splitEvents(text: string): { events: ServerEvent[]; rest: string } {
  const parts = text.replaceAll("\r\n", "\n").split("\n\n");
  const rest = parts.pop() ?? "";
  const events: ServerEvent[] = [];
  for (const part of parts) {
    const data: string[] = [];
    let event = "message";
    for (const line of part.split("\n")) {
      if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
      else if (line.startsWith("event:")) event = line.slice(6).trim();
    }
    if (data.length) events.push({ event, data: data.join("\n") });
  }
  return { events, rest };
}

export async function* readEvents(response: Response): AsyncGenerator<ServerEvent> {
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const split = splitEvents(rest + value);
      rest = split.rest;
      yield* split.events;
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}
