/* What changed between two texts, by words. */

export interface Piece {
  kind: "same" | "ins" | "del";
  text: string;
}

const MAX_CELLS = 4_000_000;

/** A diff by words and white space; texts too long for that are compared by lines. */
export function diffWords(before: string, after: string): Piece[] {
  const words = /\s+|[\p{L}\p{N}_]+(?:[.,][\p{N}]+)*|[^\s\p{L}\p{N}_]/gu;
  const a = before.match(words) ?? [];
  const b = after.match(words) ?? [];
  if (a.length * b.length <= MAX_CELLS) return diffTokens(a, b);
  return diffTokens(before.split(/(?<=\n)/), after.split(/(?<=\n)/));
}

export function diffTokens(a: readonly string[], b: readonly string[]): Piece[] {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const left = a.slice(start, a.length - end);
  const right = b.slice(start, b.length - end);
  const pieces: Piece[] = [];
  push(pieces, "same", a.slice(0, start));
  if (left.length * right.length > MAX_CELLS) {
    push(pieces, "del", left);
    push(pieces, "ins", right);
  } else {
    walk(left, right, pieces);
  }
  push(pieces, "same", a.slice(a.length - end));
  return pieces;
}

function walk(a: readonly string[], b: readonly string[], pieces: Piece[]): void {
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * width + j] =
        a[i] === b[j]
          ? (lengths[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(lengths[(i + 1) * width + j] ?? 0, lengths[i * width + j + 1] ?? 0);
    }
  }
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      push(pieces, "same", [a[i++] ?? ""]);
      j++;
    } else if (i < a.length && (j >= b.length || (lengths[(i + 1) * width + j] ?? 0) >= (lengths[i * width + j + 1] ?? 0))) {
      push(pieces, "del", [a[i++] ?? ""]);
    } else {
      push(pieces, "ins", [b[j++] ?? ""]);
    }
  }
}

function push(pieces: Piece[], kind: Piece["kind"], tokens: readonly string[]): void {
  if (!tokens.length) return;
  const last = pieces.at(-1);
  if (last?.kind === kind) last.text += tokens.join("");
  else pieces.push({ kind, text: tokens.join("") });
}

/** The same for people: changes with only a word or two between them are read as one. */
export function gather(pieces: readonly Piece[], leastWords = 3): Piece[] {
  const made: Piece[] = [];
  let [del, ins] = ["", ""];
  const flush = () => {
    push(made, "del", del ? [del] : []);
    push(made, "ins", ins ? [ins] : []);
    [del, ins] = ["", ""];
  };
  pieces.forEach((each, at) => {
    if (each.kind === "del") del += each.text;
    else if (each.kind === "ins") ins += each.text;
    else if (del && ins && at < pieces.length - 1 && !each.text.includes("\n") && (each.text.match(/[\p{L}\p{N}]+/gu) ?? []).length < leastWords) {
      del += each.text;
      ins += each.text;
    } else {
      flush();
      push(made, "same", [each.text]);
    }
  });
  flush();
  return made;
}
