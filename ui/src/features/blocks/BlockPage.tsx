/* One block: its text, who holds it, and the way to its history. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Link, useLocation } from "wouter";
import { searchAgents } from "@/api/agents";
import { attachBlock, type Block, blockQuery, changeBlock, deleteBlock, detachBlock, holdersQuery } from "@/api/blocks";
import { describe, statusOf } from "@/api/errors";
import { ConfirmButton } from "@/components/ConfirmButton";
import { CopyButton, NumberField, Select, Switch } from "@/components/controls";
import { Failure } from "@/components/Failure";
import { Icon } from "@/components/Icon";
import { paths } from "@/components/links";
import { Loading } from "@/components/Loading";
import { Note } from "@/components/Note";
import { count, plural, shortId } from "@/lib/format";
import { showKeys, useKeys } from "@/lib/keys";
import { toast } from "@/lib/toasts";

export function BlockPage({ id }: { id: string }) {
  const found = useQuery(blockQuery(id));
  if (found.isPending) return <Loading lines={4} />;
  if (found.error) return <div className="wrap"><Failure what="This block cannot be read." error={found.error} onRetry={() => void found.refetch()} /><p className="backline"><Link href={paths.blocks}>All blocks</Link></p></div>;
  return <Editor block={found.data} />;
}

function Editor({ block }: { block: Block }) {
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const [text, setText] = useState(block.value);
  const [base, setBase] = useState(block);
  const isChanged = text !== base.value;
  // What others write arrives while nothing is being typed; else saving will tell.
  useEffect(() => {
    if (isChanged || base.revision === block.revision) return;
    setText(block.value);
    setBase(block);
  }, [block, base, isChanged]);
  const taken = (saved: Block) => {
    queries.setQueryData(blockQuery(block.id).queryKey, saved);
    void queries.invalidateQueries({ queryKey: ["block", block.id] });
    void queries.invalidateQueries({ queryKey: ["blocks"] });
  };
  const save = useMutation({
    // Kept against what others wrote: it begins from what there is at this moment, and says so.
    mutationFn: async ({ keepsMine }: { keepsMine: boolean }) => {
      const from = keepsMine ? await queries.fetchQuery({ ...blockQuery(block.id), staleTime: 0 }) : base;
      return changeBlock(block.id, { value: text, base_revision: from.revision });
    },
    onSuccess: (saved) => {
      setText(saved.value);
      setBase(saved);
      taken(saved);
      toast(`Saved as r${saved.revision}.`);
    },
    onError: () => void queries.invalidateQueries({ queryKey: ["block", block.id] }),
  });
  const change = useMutation({ mutationFn: (changes: Partial<Block>) => changeBlock(block.id, changes), onSuccess: (saved) => { taken(saved); if (!isChanged) setBase(saved); toast("Saved."); }, onError: (error) => toast(`Not saved. ${describe(error)}`, { tone: "bad" }) });
  const remove = useMutation({
    mutationFn: () => deleteBlock(block.id),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["blocks"] });
      navigate(paths.blocks);
      toast(`${block.label} is deleted. Its history stays: restore it from there.`, { action: { label: "History", run: () => navigate(paths.blockHistory(block.id)) } });
    },
    onError: (error) => toast(`Not deleted. ${describe(error)}`, { tone: "bad" }),
  });
  const isOver = text.length > block.limit;
  const hasConflict = statusOf(save.error) === 409;
  useKeys([
    { group: "Block", keys: "mod+s", label: "Save", run: () => isChanged && !isOver && save.mutate({ keepsMine: false }) },
    { group: "Block", keys: "h", label: "History", run: () => navigate(paths.blockHistory(block.id)) },
  ]);
  return (
    <div className="wrap blockpage">
      <nav className="crumbs" aria-label="Where this is"><Link href={paths.blocks}>Blocks</Link><Icon name="right" size={12} /><b><code>{block.label}</code></b></nav>
      <div className="pagehead">
        <h1><code>{block.label}</code></h1>
        <span className="mono small mut">{shortId(block.id)}</span><CopyButton text={block.id} label="Copy id" />
        <span className="end" />
        <Link className="btn" href={paths.blockHistory(block.id)}><Icon name="history" size={14} />History, r{block.revision}</Link>
        <ConfirmButton className="btn bad" question="Delete it everywhere?" disabled={remove.isPending} onConfirm={() => remove.mutate()}>Delete</ConfirmButton>
      </div>
      <div className="blockcols">
        <div>
          <textarea className={`field blocktext ${isOver ? "bad" : ""}`} aria-label="Text of the block" aria-invalid={isOver} value={text} onChange={(event) => setText(event.target.value)} />
          <div className="row under">
            <button className="btn primary" disabled={!isChanged || isOver || save.isPending} onClick={() => save.mutate({ keepsMine: false })}>{save.isPending ? "Saving…" : "Save"} <kbd>{showKeys("mod+s")}</kbd></button>
            {isChanged && <button className="btn quiet" onClick={() => { setText(block.value); setBase(block); save.reset(); }}>Discard</button>}
            <span className={`end num ${isOver ? "danger" : "mut"}`}>{count(text.length)} of {count(block.limit)} characters{isOver && ": too long by " + count(text.length - block.limit)}</span>
          </div>
          {hasConflict ? (
            <Note tone="warn" role="alert"><b>Somebody wrote to the same lines meanwhile.</b> It is r{block.revision} now; yours began from r{base.revision}. <button className="link" onClick={() => save.mutate({ keepsMine: true })}>Keep mine and save over it</button>, or <Link href={paths.blockHistory(block.id)}>see what they wrote</Link>.</Note>
          ) : save.error && <Failure what="Not saved." error={save.error} />}
        </div>
        <div className="side">
          <div className="panel">
            <h2>What it is for</h2>
            <Description block={block} onSave={(description) => change.mutate({ description })} />
            <div className="pair"><span>Limit</span><NumberField label="Limit" value={block.limit} min={1} onSave={(limit) => limit && change.mutate({ limit })} /></div>
            <div className="pair"><span>Read-only for agents</span><Switch label="Read-only for agents" checked={block.read_only} onChange={(read_only) => change.mutate({ read_only })} /></div>
          </div>
          <Holders block={block} />
        </div>
      </div>
    </div>
  );
}

function Description({ block, onSave }: { block: Block; onSave: (text: string) => void }) {
  const [text, setText] = useState(block.description ?? "");
  useEffect(() => setText(block.description ?? ""), [block.description]);
  return <textarea className="field" rows={3} aria-label="What it is for" placeholder="The agent reads this to know what belongs here" value={text} onChange={(event) => setText(event.target.value)} onBlur={() => text !== (block.description ?? "") && onSave(text)} />;
}

function Holders({ block }: { block: Block }) {
  const queries = useQueryClient();
  const holders = useQuery(holdersQuery(block.id));
  const agents = useQuery({ queryKey: ["agents", "choice"], queryFn: () => searchAgents("", 200), staleTime: 30_000 });
  const [agent, setAgent] = useState("");
  const change = useMutation({
    mutationFn: ({ id, on }: { id: string; on: boolean }) => (on ? attachBlock(id, block.id) : detachBlock(id, block.id)),
    onSuccess: (_, { id }) => {
      setAgent("");
      void queries.invalidateQueries({ queryKey: ["block", block.id] });
      void queries.invalidateQueries({ queryKey: ["agent", id] });
    },
  });
  return (
    <div className="panel">
      <h2>Held by {holders.data ? (holders.data.length ? plural(holders.data.length, "agent") : "nobody") : "…"}</h2>
      <ul className="plainlist">
        {holders.data?.map((each) => <li key={each.id}><Icon name="agent" size={14} className="mut" /><Link href={paths.agent(each.id)} className="cut">{each.name}</Link><button className="btn sm quiet end" disabled={change.isPending} onClick={() => change.mutate({ id: each.id, on: false })}>Detach</button></li>)}
      </ul>
      <div className="row give">
        <Select label="Agent" icon="agent" value={agent} options={[["", "Give it to…"], ...(agents.data ?? []).filter((each) => !holders.data?.some((other) => other.id === each.id)).map((each) => [each.id, each.name] as const)]} onChange={setAgent} />
        <button className="btn" disabled={!agent || change.isPending} onClick={() => change.mutate({ id: agent, on: true })}>Attach</button>
      </div>
      {change.error && <Failure what="Not changed." error={change.error} />}
    </div>
  );
}
