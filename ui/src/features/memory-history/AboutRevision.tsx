/* Where a revision came from: its run and step, the call that wrote it, and what was thought. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import type { Agent } from "@/api/agents";
import { type Provenance, provenanceQuery, type Revision } from "@/api/blocks";
import { Icon } from "@/components/Icon";
import { Json } from "@/components/Json";
import { paths } from "@/components/links";
import { Note } from "@/components/Note";
import { authorOf, glyphOf } from "@/features/memory-history/authors";
import { count, exactly, shortId } from "@/lib/format";

export function AboutRevision({ id, revision, holders, nameOf }: { id: string; revision: Revision; holders: readonly Agent[]; nameOf: (id: string) => string | undefined }) {
  const source = useQuery({ ...provenanceQuery(id, revision.revision), enabled: revision.run_id !== null });
  const { call, thought, asked } = causeOf(source.data, revision);
  return (
    <aside className="pane scroll about" aria-label="About this revision" tabIndex={0}>
      <div>
        <div className="row"><span className="round"><Icon name={glyphOf(revision)} size={14} /></span><b>{authorOf(revision, nameOf)}{revision.restored_revision === null && ` wrote r${revision.revision}`}</b></div>
        <p className="dim under">{exactly(revision.created_at)}</p>
      </div>
      <dl className="facts small">
        {revision.run_id && <><dt>Run</dt><dd><Link className="mono" href={paths.run(revision.run_id)}>{shortId(revision.run_id)}</Link></dd></>}
        {revision.tool_name && <><dt>Tool</dt><dd className="mono">{revision.tool_name}</dd></>}
        {revision.fields.length > 0 && <><dt>Changed</dt><dd>{revision.fields.join(", ").replaceAll("_", " ")}</dd></>}
        <dt>Length</dt><dd>{count(revision.chars - revision.chars_added)} → {count(revision.chars)} characters</dd>
      </dl>
      {call !== null && <div><div className="lab">The call</div><div className="code callbox"><Json value={call} openTo={2} /></div></div>}
      {thought && <div><div className="lab">What it thought</div><div className="hit"><p>{thought}</p></div></div>}
      {asked && <div><div className="lab">What it was told</div><div className="hit"><p>{asked}</p></div></div>}
      {!revision.run_id && <p className="meta">No run led to this: it was written {revision.author.kind === "user" ? "by hand or over the API" : "from outside"}.</p>}
      {holders.length > 1 && <Note>This block is shared by {holders.map((each, at) => <span key={each.id}>{at > 0 && (at === holders.length - 1 ? " and " : ", ")}<Link href={paths.agent(each.id)}>{each.name}</Link></span>)}. A restore changes it there too.</Note>}
    </aside>
  );
}

function causeOf(source: Provenance | undefined, revision: Revision): { call: unknown; thought: string | null; asked: string | null } {
  const messages = source?.messages ?? [];
  const own = messages.filter((each) => each.id === revision.message_id);
  const written = own.find((each) => each.tool_call)?.tool_call?.arguments ?? messages.findLast((each) => each.tool_call?.name === revision.tool_name)?.tool_call?.arguments;
  const said = messages.findLast((each) => each.message_type === "user_message")?.content;
  return {
    call: parsed(written),
    thought: (own.find((each) => each.reasoning) ?? messages.findLast((each) => each.reasoning))?.reasoning ?? null,
    asked: typeof said === "string" ? said : null,
  };
}

function parsed(text: string | undefined): unknown {
  if (!text) return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
