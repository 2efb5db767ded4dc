/* A memory block: read in place, edited in place, and true about what the prompt holds. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { Link } from "wouter";
import { type Block, holds, newestRevisionQuery, staleRevisionQuery } from "@/api/agentBlocks";
import { Icon } from "@/components/Icon";
import { paths } from "@/components/links";
import { Menu } from "@/components/Menu";
import { CompareDialog } from "@/features/mind/CompareDialog";
import { useBlockEdit } from "@/features/mind/useBlockEdit";
import { count, exactly, when } from "@/lib/format";
import { showKeys } from "@/lib/keys";

interface Props {
  block: Block;
  agentName: string;
  /** The memory section of the compiled prompt. */
  prompt: string | null;
  isChanged: boolean;
  onSeen: () => void;
  onDetach: () => void;
}

const CLAMPED = 420;

export function BlockCard({ block, agentName, prompt, isChanged, onSeen, onDetach }: Props) {
  const edit = useBlockEdit(block);
  const [isWhole, setWhole] = useState(false);
  const [isComparing, setComparing] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const text = edit.draft ?? block.value;
  const over = text.length - block.limit;
  const share = Math.min(1, text.length / Math.max(1, block.limit));
  const isEditing = edit.draft !== null;
  useEffect(() => {
    if (isEditing) field.current?.focus();
  }, [isEditing]);
  useLayoutEffect(() => {
    if (!field.current) return;
    field.current.style.height = "0";
    field.current.style.height = `${field.current.scrollHeight}px`;
  }, [text, isEditing]);

  const discard = () => {
    if (edit.isDirty && !window.confirm(`Discard your changes to ${block.label}?`)) return;
    edit.discard();
  };
  const classes = ["blk", isEditing && over <= 0 ? "editing" : "", isEditing && over > 0 ? "bad" : "", isChanged && !isEditing ? "changed" : ""].join(" ");
  return (
    <section className={classes} aria-label={`Block ${block.label}`} onPointerLeave={onSeen} onFocus={onSeen}>
      <div className="hd">
        <code className="cut">{block.label}</code>
        {block.read_only && <span className="tag" title="The agent may not edit this block"><Icon name="lock" size={12} />read-only</span>}
        <span className="cnt">
          <span className={`meter ${over > 0 ? "over" : share >= 0.9 ? "high" : ""}`}><i style={{ width: `${share * 100}%` }} /></span>
          {count(text.length)} / {count(block.limit)}{over <= 0 && share >= 0.9 ? `, ${count(-over)} left` : ""}
        </span>
        <Link className="rev" href={paths.blockHistory(block.id)} title="Revision history"><Icon name="history" size={12} />r{block.revision}</Link>
        <Menu label={`More for ${block.label}`} className="icon sm" align="end" items={[{ label: "Edit", icon: "pencil", run: edit.start }, { label: "Detach from this agent", icon: "x", danger: true, run: onDetach }]}>
          <Icon name="dots" size={14} />
        </Menu>
      </div>
      {isEditing ? (
        <textarea
          ref={field}
          className="val"
          aria-label={`Text of ${block.label}`}
          value={text}
          onChange={(event) => edit.write(event.target.value)}
          onKeyDown={(event) => {
            if ((event.ctrlKey || event.metaKey) && event.key === "s") {
              event.preventDefault();
              void edit.save();
            } else if (event.key === "Escape") {
              event.stopPropagation();
              discard();
            }
          }}
        />
      ) : (
        <button className={`val ${!isWhole && text.length > CLAMPED ? "clamp" : ""}`} onClick={edit.start} title={`Edit ${block.label}`}>
          {text || <span className="mut">Empty. {block.read_only ? "You" : `You or ${agentName}`} can write here.</span>}
        </button>
      )}
      {!isEditing && text.length > CLAMPED && <button className="link more" onClick={() => setWhole(!isWhole)}>{isWhole ? "Less" : "All of it"}</button>}
      {isEditing ? (
        <div className="ft">
          {edit.conflict ? (
            <span className="warn row"><Icon name="warn" size={12} />r{edit.conflict} came in meanwhile</span>
          ) : over > 0 ? (
            <span className="danger">{count(over)} characters over. Shorten it or raise the limit.</span>
          ) : edit.error ? (
            <span className="danger cut" title={edit.error}>{edit.error}</span>
          ) : (
            <span className="cut">{edit.isDirty ? `Unsaved. Saving makes r${block.revision + 1}.` : "Not changed yet."}</span>
          )}
          <span className="end row">
            {edit.conflict ? (
              <>
                <button className="btn sm" onClick={() => setComparing(true)}>Compare</button>
                <button className="btn sm" onClick={() => void edit.keepMine()}>Keep mine</button>
                <button className="btn sm quiet" onClick={edit.discard}>Take theirs</button>
              </>
            ) : (
              <>
                <button className="btn sm quiet" onClick={discard}>Discard</button>
                <button className="btn sm primary" disabled={over > 0 || !edit.isDirty || edit.isSaving} onClick={() => void edit.save()}>
                  {edit.isSaving ? "Saving…" : "Save"} <kbd className="on">{showKeys("mod+s")}</kbd>
                </button>
              </>
            )}
          </span>
        </div>
      ) : (
        <Foot block={block} agentName={agentName} prompt={prompt} />
      )}
      {isComparing && <CompareDialog block={block} mine={text} onClose={() => setComparing(false)} />}
    </section>
  );
}

const AUTHORS: Record<string, string> = { user: "You", api: "API", import: "Import", sleeptime: "Sleep-time helper" };

function Foot({ block, agentName, prompt }: { block: Block; agentName: string; prompt: string | null }) {
  const newest = useQuery(newestRevisionQuery(block)).data;
  const isStale = prompt !== null && block.value !== "" && !holds(prompt, block.value);
  const stale = useQuery({ ...staleRevisionQuery(block, prompt ?? ""), enabled: isStale });
  if (!newest || (newest.action === "create" && !isStale)) return null;
  const who = newest.author.kind === "agent" ? agentName : (AUTHORS[newest.author.kind] ?? newest.author.kind);
  return (
    <div className="ft">
      <span className="cut" title={exactly(newest.created_at)}>
        {who}, {when(newest.created_at)}
        {newest.run_id && <>, <Link href={paths.run(newest.run_id)}>run</Link></>}
      </span>
      {isStale && (
        <span className="tag end" title="The compiled system message still holds the older value. It is rebuilt after compaction, when you edit a block, or now with Recompile.">
          prompt still has {stale.data ? `r${stale.data}` : "older text"}
        </span>
      )}
    </div>
  );
}
