import { expect, it } from "vitest";

const files = import.meta.glob("./**/*.{ts,tsx}", { query: "?raw", import: "default", eager: true }) as Record<string, string>;
const FLOORS = ["lib", "api", "components", "features", "routes"];

function placeOf(path: string): { floor: number; feature: string | undefined } {
  const [folder = "", name] = path.split("/");
  return { floor: FLOORS.indexOf(folder), feature: folder === "features" ? name : undefined };
}

it("imports go downwards only, and features do not know each other", () => {
  const wrong: string[] = [];
  for (const [file, text] of Object.entries(files)) {
    const here = placeOf(file.slice(2));
    if (here.floor < 0) continue; // main.tsx, which joins everything
    for (const [, target = ""] of text.matchAll(/from "@\/([^"]+)"|import\("@\/([^"]+)"\)/g)) {
      const there = placeOf(target);
      if (there.floor > here.floor || (here.feature && there.feature && here.feature !== there.feature)) wrong.push(`${file} → ${target}`);
    }
  }
  expect(wrong).toEqual([]);
});

it("files stay readable in one go", () => {
  expect(Object.entries(files).filter(([, text]) => text.split("\n").length > 300).map(([file]) => file)).toEqual([]);
});
