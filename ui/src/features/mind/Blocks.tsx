import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { describe } from "@/api/errors";
import { addBlock, type Block, detachBlock } from "@/api/agentBlocks";
import { Dialog } from "@/components/Dialog";
import { Icon } from "@/components/Icon";
import { Empty } from "@/components/Note";
import { BlockCard } from "@/features/mind/BlockCard";
import { useKeys } from "@/lib/keys";
import { toast } from "@/lib/toasts";

interface Props {
  agentId: string;
  agentName: string;
  blocks: readonly Block[];
  prompt: string | null;
}

export function Blocks({ agentId, agentName, blocks, prompt }: Props) {
  const queries = useQueryClient();
  const [isAdding, setAdding] = useState(false);
  const { changed, see } = useChanged(blocks);
  useKeys([{ group: "Memory", keys: "n b", label: "New block", run: () => setAdding(true) }]);
  const refresh = () => queries.invalidateQueries({ queryKey: ["agent", agentId] });
  const detach = async (block: Block) => {
    try {
      await detachBlock(agentId, block.id);
      await refresh();
      toast(`${block.label} is detached; it still exists.`);
    } catch (error) {
      toast(`Not detached. ${describe(error)}`, { tone: "bad" });
    }
  };
  return (
    <>
      {blocks.map((block) => (
        <BlockCard key={block.id} block={block} agentName={agentName} prompt={prompt} isChanged={changed.has(block.id)} onSeen={() => see(block.id)} onDetach={() => void detach(block)} />
      ))}
      {blocks.length === 0 && <Empty title="No memory blocks">Blocks are always before the agent, and it can write to them. Add one for what it should never forget.</Empty>}
      <div>
        <button className="btn sm quiet" onClick={() => setAdding(true)}><Icon name="plus" size={12} />Add a block</button>
      </div>
      {isAdding && <AddBlock onClose={() => setAdding(false)} onAdd={async (given) => { await addBlock(agentId, given); await refresh(); setAdding(false); }} />}
    </>
  );
}

/** Blocks that somebody else wrote while this page was open, until they are looked at. */
function useChanged(blocks: readonly Block[]) {
  const seen = useRef(new Map(blocks.map((block) => [block.id, block.revision])));
  const [changed, setChanged] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => {
    const news = blocks.filter((block) => (seen.current.get(block.id) ?? block.revision) < block.revision).map((block) => block.id);
    for (const block of blocks) seen.current.set(block.id, block.revision);
    if (news.length) setChanged((now) => new Set([...now, ...news]));
  }, [blocks]);
  const see = (id: string) => {
    if (changed.has(id)) setChanged(new Set([...changed].filter((each) => each !== id)));
  };
  return { changed, see };
}

function AddBlock({ onClose, onAdd }: { onClose: () => void; onAdd: (given: { label: string; value: string; description: string | null }) => Promise<void> }) {
  const [error, setError] = useState<string | null>(null);
  return (
    <Dialog label="Add a block" onClose={onClose}>
      <form
        className="body stack"
        onSubmit={(event) => {
          event.preventDefault();
          const data = new FormData(event.currentTarget);
          const text = (name: string) => String(data.get(name) ?? "");
          onAdd({ label: text("label").trim(), value: text("value"), description: text("description").trim() || null }).catch((failure: unknown) => setError(describe(failure)));
        }}
      >
        <div><label className="formlab" htmlFor="b-label">Label</label><span className="field"><input id="b-label" name="label" required autoFocus placeholder="plan" /></span></div>
        <div><label className="formlab" htmlFor="b-about">What belongs in it</label><span className="field"><input id="b-about" name="description" placeholder="The agent reads this too" /></span></div>
        <div><label className="formlab" htmlFor="b-value">Text</label><textarea id="b-value" className="field" name="value" rows={5} /></div>
        {error && <p className="small danger" role="alert">{error}</p>}
        <div className="row"><button className="btn primary">Add</button></div>
      </form>
    </Dialog>
  );
}
