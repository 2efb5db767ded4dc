import { useQuery } from "@tanstack/react-query";
import { type Block, getBlock } from "@/api/agentBlocks";
import { Dialog } from "@/components/Dialog";
import { Loading } from "@/components/Loading";
import { diffWords } from "@/lib/diff";

/** Theirs against yours: what yours would take away and add. */
export function CompareDialog({ block, mine, onClose }: { block: Block; mine: string; onClose: () => void }) {
  const theirs = useQuery({ queryKey: ["block", block.id, "now"], queryFn: () => getBlock(block.id), staleTime: 0 });
  return (
    <Dialog label={`${block.label}: theirs against yours`} onClose={onClose}>
      <div className="body">
        {theirs.data ? (
          <div className="diff">
            {diffWords(theirs.data.value, mine).map((piece, at) => (piece.kind === "ins" ? <ins key={at}>{piece.text}</ins> : piece.kind === "del" ? <del key={at}>{piece.text}</del> : <span key={at}>{piece.text}</span>))}
          </div>
        ) : (
          <Loading />
        )}
        <p className="small mut">Struck out: only in r{theirs.data?.revision}. Underlined: only in yours.</p>
      </div>
    </Dialog>
  );
}
