/* One thing found: its score with both halves, when, by whom, and the words that were sought. */
import { type ReactNode, useMemo } from "react";
import type { Hit } from "@/api/memory";
import { exactly, when } from "@/lib/format";

export function Score({ hit }: { hit: Hit }) {
  const words = hit.wordShare ?? (hit.isByMeaning ? 0 : 1);
  const percent = (share: number) => `${Math.round(hit.score * share * 100)}%`;
  return (
    <span className="score" title={`${Math.round(words * 100)} % by words, ${Math.round((1 - words) * 100)} % by meaning`}>
      {hit.score.toFixed(2)} <span className="two"><i style={{ width: percent(words) }} /><i style={{ width: percent(1 - words) }} /></span>
    </span>
  );
}

export function HitHead({ hit, who, children }: { hit: Hit; who?: string; children?: ReactNode }) {
  return (
    <div className="hd">
      {hit.score > 0 && <Score hit={hit} />}
      <time dateTime={hit.date} title={exactly(hit.date)}>{when(hit.date)}</time>
      {who && <span>{who}</span>}
      {children}
    </div>
  );
}

const LITTLE = new Set("the and for with you are was were that this from what not but his her its our can has had who".split(" "));

/** The text with what was sought marked: whole words that begin as a sought one does. */
export function Marked({ text, query }: { text: string; query: string }) {
  const pieces = useMemo(() => {
    const roots = (query.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? []).filter((word) => !LITTLE.has(word)).map((word) => (word.length > 5 ? word.slice(0, -2) : word));
    return text.split(/([\p{L}\p{N}]+)/u).map((part) => ({ part, isSought: roots.some((root) => part.toLowerCase().startsWith(root)) }));
  }, [text, query]);
  return <>{pieces.map(({ part, isSought }, at) => (isSought ? <mark key={at} className="mark">{part}</mark> : part))}</>;
}

export function HitKey({ found, all, ms, hasMeaning }: { found: number; all: string; ms: number | null; hasMeaning: boolean }) {
  return (
    <div className="keyline">
      <span><i />words</span>
      {hasMeaning ? <span><i className="v" />meaning</span> : <span>no embedding model: words alone</span>}
      <span className="end num">{found} {all}{ms !== null && `, ${Math.max(1, Math.round(ms))} ms`}</span>
    </div>
  );
}
