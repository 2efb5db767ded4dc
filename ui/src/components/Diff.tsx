/* What changed between two texts, word by word. */
import { useMemo } from "react";
import { diffWords, gather, type Piece } from "@/lib/diff";

export function usePieces(before: string, after: string): Piece[] {
  return useMemo(() => gather(diffWords(before, after)), [before, after]);
}

export function Diff({ pieces }: { pieces: readonly Piece[] }) {
  return (
    <>
      {pieces.map((each, at) => (each.kind === "ins" ? <ins key={at}>{each.text}</ins> : each.kind === "del" ? <del key={at}>{each.text}</del> : <span key={at}>{each.text}</span>))}
    </>
  );
}
