import { describe, expect, it } from "vitest";
import { diffWords, gather } from "@/lib/diff";
import { duration, money, shortId, when } from "@/lib/format";
import { splitEvents } from "@/lib/sse";

describe("numbers and times", () => {
  it("are written with their unit, and an unknown is a dash", () => {
    expect([duration(412), duration(2600), duration(64_000), duration(null)]).toEqual(["412 ms", "2.6 s", "1 min 4 s", "–"]);
    expect([money(0.0142), money(3), money(0.00004), money(undefined)]).toEqual(["$0.014", "$3.00", "$0.00004", "–"]);
    expect(shortId("agent-5b1e0000-0000-4000-8000-00000000c20f")).toBe("agent-5b1e…c20f");
  });

  it("get shorter the longer they are ago", () => {
    const now = new Date("2026-11-16T12:00:00");
    expect(["2026-11-16T09:12:00", "2026-11-15T21:40:00", "2026-11-13T20:51:00", "2026-11-06T08:00:00", "2025-11-06T08:00:00", "2026-11-17T07:00:00", "2026-11-20T07:00:00"].map((each) => when(each, now))).toEqual(["09:12", "yesterday 21:40", "Fri 20:51", "6 Nov", "6 Nov 2025", "tomorrow 07:00", "Fri 07:00"]);
  });
});

describe("a diff", () => {
  it("is by words", () => {
    expect(diffWords("beds: three, water", "beds: four, water")).toEqual([
      { kind: "same", text: "beds: " },
      { kind: "del", text: "three" },
      { kind: "ins", text: "four" },
      { kind: "same", text: ", water" },
    ]);
  });

  it("is read as one where changes stand close together", () => {
    const pieces = gather(diffWords("I eat no meat at all, ever.", "I am a vegetarian at heart, ever."));
    expect(pieces).toEqual([
      { kind: "same", text: "I " },
      { kind: "del", text: "eat no meat at all" },
      { kind: "ins", text: "am a vegetarian at heart" },
      { kind: "same", text: ", ever." },
    ]);
  });

  it("puts both texts together again", () => {
    const [a, b] = ["one two\nthree  four", "one 2\nthree four five"];
    const pieces = diffWords(a, b);
    const side = (left: string) => pieces.filter((each) => each.kind === "same" || each.kind === left).map((each) => each.text).join("");
    expect([side("del"), side("ins")]).toEqual([a, b]);
  });
});

describe("an event stream", () => {
  it("is split into whole events, and the rest waits", () => {
    expect(splitEvents("data: {\"a\":1}\r\n\r\nevent: error\ndata: x\ndata: y\n\n: note\n\ndata: ha")).toEqual({
      events: [{ event: "message", data: '{"a":1}' }, { event: "error", data: "x\ny" }],
      rest: "data: ha",
    });
  });
});
