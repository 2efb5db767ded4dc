/* Every write to a block: who made it and why, what changed, and the way back. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useSearchParams } from "wouter";
import { searchAgents } from "@/api/agents";
import { blockQuery, holdersQuery, restoreRevision, type Revision, revisionQuery, revisionsQuery, undoRevision } from "@/api/blocks";
import { describe } from "@/api/errors";
import { CopyButton, Segments, Select } from "@/components/controls";
import { Diff, usePieces } from "@/components/Diff";
import { Failure } from "@/components/Failure";
import { Icon } from "@/components/Icon";
import { paths } from "@/components/links";
import { Loading } from "@/components/Loading";
import { Empty } from "@/components/Note";
import { AboutRevision } from "@/features/memory-history/AboutRevision";
import { type AuthorGroup, groupOf } from "@/features/memory-history/authors";
import { Growth } from "@/features/memory-history/Growth";
import { RevisionList } from "@/features/memory-history/RevisionList";
import type { Piece } from "@/lib/diff";
import { count, plural, when } from "@/lib/format";
import { useKeys } from "@/lib/keys";
import { toast } from "@/lib/toasts";

type Look = "words" | "sides" | "whole";
const LOOKS = [["words", "Words"], ["sides", "Side by side"], ["whole", "Whole text"]] as const;

export function HistoryPage({ id }: { id: string }) {
  const queries = useQueryClient();
  const block = useQuery({ ...blockQuery(id), retry: false });
  const list = useQuery(revisionsQuery(id));
  const holders = useQuery({ ...holdersQuery(id), retry: false });
  const agents = useQuery({ queryKey: ["agents", "choice"], queryFn: () => searchAgents("", 200), staleTime: 30_000 });
  const [search, setSearch] = useSearchParams();
  const [group, setGroup] = useState<AuthorGroup | null>(null);
  const [look, setLook] = useState<Look>("words");
  const [other, setOther] = useState<number | null>(null);
  const all = list.data ?? [];
  const asked = Number(search.get("r") ?? NaN);
  const chosen = all.find((each) => each.revision === asked) ?? all[0];
  const names = new Map([...(agents.data ?? []), ...(holders.data ?? [])].map((each) => [each.id, each.name]));
  const nameOf = (agentId: string) => names.get(agentId);
  const choose = (revision: Revision | undefined) => {
    if (!revision) return;
    setOther(null);
    setSearch({ r: String(revision.revision) }, { replace: true });
  };
  const shown = group ? all.filter((each) => groupOf(each) === group) : all;
  const step = (by: number) => choose(shown[Math.max(0, Math.min(shown.length - 1, shown.findIndex((each) => each.revision === chosen?.revision) + by))]);
  useKeys([
    { group: "History", keys: "ArrowDown", label: "Older revision", run: () => step(1) },
    { group: "History", keys: "ArrowUp", label: "Newer revision", run: () => step(-1) },
    { group: "History", keys: "j", label: "Older revision", run: () => step(1) },
    { group: "History", keys: "k", label: "Newer revision", run: () => step(-1) },
  ]);
  const written = (what: string) => async () => {
    await Promise.all([queries.invalidateQueries({ queryKey: ["block", id] }), queries.invalidateQueries({ queryKey: ["blocks"] }), queries.invalidateQueries({ queryKey: ["agent"] })]);
    setSearch({}, { replace: true });
    toast(what);
  };
  const restore = useMutation({ mutationFn: (number: number) => restoreRevision(id, number), onSuccess: (saved, number) => written(`r${number} is restored as r${saved.revision}.`)(), onError: (error) => toast(`Not restored. ${describe(error)}`, { tone: "bad" }) });
  const undo = useMutation({ mutationFn: (number: number) => undoRevision(id, number), onSuccess: (saved, number) => written(`r${number} is taken back as r${saved.revision}; what came after it stays.`)(), onError: (error) => toast(`Not undone. ${describe(error)}`, { tone: "bad", shownMs: 10_000 }) });

  if (list.error) return <main id="main" className="page" tabIndex={-1}><div className="wrap"><Failure what="The history cannot be read." error={list.error} onRetry={() => void list.refetch()} /></div></main>;
  if (list.isPending || !chosen) return <main id="main" className="page" tabIndex={-1}>{list.isPending ? <Loading lines={4} /> : <div className="wrap"><Empty title="No history is kept">The block says what it says; nothing was written since histories are kept.</Empty></div>}</main>;
  const newest = all[0]?.revision ?? 0;
  const isDeleted = block.error !== null;
  return (
    <>
      <div className="panebar crumbbar">
        <nav className="crumbs" aria-label="Where this is">
          <Link href={paths.blocks}>Blocks</Link><Icon name="right" size={12} />
          {isDeleted ? <span>{block.data?.label ?? "deleted block"}</span> : <Link href={paths.block(id)}><code>{block.data?.label ?? "…"}</code></Link>}
          <Icon name="right" size={12} /><b>History</b>
        </nav>
        <span className="meta">{block.data ? `${count(block.data.value.length)} of ${count(block.data.limit)} characters · ` : isDeleted ? "deleted · " : ""}{plural(all.length, "revision")} since {when(all.at(-1)?.created_at)}</span>
        <span className="end" />
        <CopyText id={id} number={chosen.revision} />
      </div>
      <main id="main" className="split blocksplit opened" tabIndex={-1}>
        <RevisionList all={shown} newest={newest} chosen={chosen.revision} group={group} onGroup={setGroup} onChoose={choose} nameOf={nameOf} />
        <section className="main" aria-label="Difference">
          <div className="panebar">
            <h1 className="h2">r{chosen.revision}</h1>
            <span className="mut nowrap">compared with</span>
            <span className="against"><Select label="Compared with" value={String(other ?? Math.max(0, chosen.revision - 1))} options={comparable(all, chosen)} onChange={(next) => setOther(Number(next))} /></span>
            <span className="end" />
            <Segments label="How to show it" value={look} options={LOOKS} onChange={setLook} />
          </div>
          <Comparison id={id} number={chosen.revision} other={other} look={look} />
          <Growth all={all} chosen={chosen.revision} onChoose={choose} />
          <div className="status acting">
            <button className="btn primary" disabled={restore.isPending || (chosen.revision === newest && !isDeleted)} onClick={() => restore.mutate(chosen.revision)}><Icon name="undo" size={14} />{restore.isPending ? "Restoring…" : `Restore r${chosen.revision}`}</button>
            <button className="btn" disabled={undo.isPending || chosen.action === "create" || isDeleted} onClick={() => undo.mutate(chosen.revision)}>{undo.isPending ? "Taking back…" : "Undo this write alone"}</button>
            <span className="dim says">{chosen.revision === newest && !isDeleted ? "This is what the block says now." : `Restoring writes it again as r${newest + 1}. Nothing is deleted.`}</span>
          </div>
        </section>
        <AboutRevision id={id} revision={chosen} holders={holders.data ?? []} nameOf={nameOf} />
      </main>
    </>
  );
}

function comparable(all: readonly Revision[], chosen: Revision): (readonly [string, string])[] {
  const before = Math.max(0, chosen.revision - 1);
  const others = all.filter((each) => each.revision !== chosen.revision && each.revision !== before).map((each) => [String(each.revision), `r${each.revision}${each.revision === all[0]?.revision ? ", current" : ""}`] as const);
  return [[String(before), before && all.some((each) => each.revision === before) ? `r${before}, the one before` : "what was before"], ...others];
}

function CopyText({ id, number }: { id: string; number: number }) {
  const found = useQuery(revisionQuery(id, number, null));
  return <CopyButton className="btn sm" label={`Copy this text, r${number}`} text={found.data?.after.value ?? ""}><span className="long">Copy this text</span></CopyButton>;
}

function Comparison({ id, number, other, look }: { id: string; number: number; other: number | null; look: Look }) {
  const found = useQuery(revisionQuery(id, number, other));
  const [before, after] = [found.data?.before.value ?? "", found.data?.after.value ?? ""];
  const pieces = usePieces(before, after);
  if (found.error) return <div className="difbox scroll grow"><Failure what="This revision cannot be read." error={found.error} onRetry={() => void found.refetch()} /></div>;
  if (!found.data) return <div className="difbox scroll grow"><Loading /></div>;
  return (
    <div className="difbox scroll grow" tabIndex={0} role="group" aria-label="Text">
      {look === "words" && <div className="diff"><Diff pieces={pieces} /></div>}
      {look === "sides" && <div className="sides"><div><div className="lab">r{found.data.against}</div><div className="diff">{before || "empty"}</div></div><div><div className="lab">r{number}</div><div className="diff">{after || "empty"}</div></div></div>}
      {look === "whole" && <div className="diff">{after || "empty"}</div>}
      <p className="meta">{summary(pieces)}</p>
    </div>
  );
}

function summary(pieces: readonly Piece[]): string {
  const words = (kind: Piece["kind"]) => pieces.filter((each) => each.kind === kind).flatMap((each) => each.text.match(/[\p{L}\p{N}]+/gu) ?? []).length;
  const [out, came] = [words("del"), words("ins")];
  if (pieces.every((each) => each.kind === "same")) return "The text is the same; something else of the block changed.";
  return `${plural(out, "word")} out, ${plural(came, "word")} in. The rest is unchanged and shown whole.`;
}
