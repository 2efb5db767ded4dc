/* All blocks, and who holds each. */
import { useQuery, useQueryClient, useMutation } from "@tanstack/react-query";
import { useDeferredValue, useState } from "react";
import { Link, useLocation } from "wouter";
import { type Block, type BlockScope, createBlock, holdersQuery, listBlocks } from "@/api/blocks";
import { useCommands } from "@/components/commands";
import { Segments } from "@/components/controls";
import { Dialog } from "@/components/Dialog";
import { Failure } from "@/components/Failure";
import { Icon } from "@/components/Icon";
import { paths } from "@/components/links";
import { Loading } from "@/components/Loading";
import { Empty } from "@/components/Note";
import { count } from "@/lib/format";
import { useKeys } from "@/lib/keys";

const SCOPES = [["all", "All"], ["shared", "Shared"], ["loose", "Held by nobody"]] as const;

export function BlockTable() {
  const [scope, setScope] = useState<BlockScope>("all");
  const [text, setText] = useState("");
  const [isAdding, setAdding] = useState(false);
  const later = useDeferredValue(text);
  const list = useQuery({ queryKey: ["blocks", scope, later], queryFn: () => listBlocks(scope, later), placeholderData: (old) => old });
  useKeys([{ group: "Blocks", keys: "n b", label: "New block", run: () => setAdding(true) }]);
  useCommands([{ id: "new block", group: "Here", label: "New block", icon: "plus", keys: "n b", run: () => setAdding(true) }]);
  return (
    <div className="wrap">
      <div className="pagehead">
        <h1>Blocks</h1>
        <span className="mut">pieces of memory that are always in the prompt of who holds them</span>
        <span className="end" />
        <button className="btn primary" onClick={() => setAdding(true)}><Icon name="plus" size={14} />New block</button>
      </div>
      <div className="toolbar">
        <label className="field blockfind"><Icon name="search" size={14} /><input placeholder="Find by label" aria-label="Find by label" value={text} onChange={(event) => setText(event.target.value)} /></label>
        <Segments label="Which blocks" value={scope} options={SCOPES} onChange={setScope} />
      </div>
      {list.error && <Failure what="The blocks cannot be read." error={list.error} onRetry={() => void list.refetch()} />}
      {list.isPending && <Loading lines={4} />}
      {list.data && !list.data.length && (
        <Empty title={scope === "shared" ? "No block is shared" : text || scope === "loose" ? "No such block" : "No blocks yet"} action={<button className="btn" onClick={() => setAdding(true)}>New block</button>}>
          {scope === "shared" ? "Attach one block to several agents, and what one writes the others know." : "Agents bring blocks with them. One made here can be given to several agents, which then share it."}
        </Empty>
      )}
      {!!list.data?.length && (
        <div className="panel">
          <table className="table blocktable">
            <thead><tr><th>Label</th><th>Text</th><th className="r">Characters</th><th className="r">Revision</th><th>Held by</th></tr></thead>
            <tbody>{list.data.map((block) => <BlockRow key={block.id} block={block} />)}</tbody>
          </table>
        </div>
      )}
      {isAdding && <NewBlock onClose={() => setAdding(false)} />}
    </div>
  );
}

function BlockRow({ block }: { block: Block }) {
  const [, navigate] = useLocation();
  const holders = useQuery(holdersQuery(block.id));
  const full = block.value.length / block.limit;
  return (
    <tr className="opens" onClick={() => navigate(paths.block(block.id))}>
      <td className="nowrap"><Link href={paths.block(block.id)} onClick={(event) => event.stopPropagation()}><code>{block.label}</code></Link> {block.read_only && <span className="tag">read-only</span>}</td>
      <td className="text dim"><span className="cut">{block.value || "empty"}</span></td>
      <td className="r nowrap"><span className="row num_"><span className={`meter ${full > 1 ? "over" : full >= 0.9 ? "high" : ""}`}><i style={{ width: `${Math.min(100, full * 100)}%` }} /></span>{count(block.value.length)} / {count(block.limit)}</span></td>
      <td className="r"><Link className="rev" href={paths.blockHistory(block.id)} onClick={(event) => event.stopPropagation()}><Icon name="history" size={12} />r{block.revision}</Link></td>
      <td className="holders">{holders.data && (holders.data.length ? holders.data.map((each, at) => <span key={each.id}>{at > 0 && ", "}<Link href={paths.agent(each.id)} onClick={(event) => event.stopPropagation()}>{each.name}</Link></span>) : <span className="mut">nobody</span>)}</td>
    </tr>
  );
}

function NewBlock({ onClose }: { onClose: () => void }) {
  const [label, setLabel] = useState("");
  const [value, setValue] = useState("");
  const [description, setDescription] = useState("");
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const make = useMutation({
    mutationFn: () => createBlock({ label: label.trim(), value, description: description.trim() || null }),
    onSuccess: (made) => {
      void queries.invalidateQueries({ queryKey: ["blocks"] });
      navigate(paths.block(made.id));
    },
  });
  return (
    <Dialog label="New block" onClose={onClose}>
      <form onSubmit={(event) => { event.preventDefault(); make.mutate(); }}>
        <div className="body form">
          <label><span className="formlab">Label</span><span className="field"><input className="mono" autoFocus required value={label} placeholder="house_rules" onChange={(event) => setLabel(event.target.value)} /></span></label>
          <label><span className="formlab">What it is for <span className="mut">the agent reads this too</span></span><span className="field"><input value={description} placeholder="What everybody in the house agreed on" onChange={(event) => setDescription(event.target.value)} /></span></label>
          <label><span className="formlab">Text</span><textarea className="field" rows={5} value={value} onChange={(event) => setValue(event.target.value)} /></label>
          {make.error && <Failure what="Not made." error={make.error} />}
        </div>
        <div className="foot"><button className="btn primary" disabled={!label.trim() || make.isPending}>{make.isPending ? "Making…" : "Make the block"}</button><button type="button" className="btn quiet" onClick={onClose}>Cancel</button></div>
      </form>
    </Dialog>
  );
}
