/* Editing one block against the revision it was read at. */
import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { bodyOf, describe, statusOf } from "@/api/errors";
import { type Block, saveBlock, undoBlock } from "@/api/agentBlocks";
import { toast } from "@/lib/toasts";

export function useBlockEdit(block: Block) {
  const queries = useQueryClient();
  const [draft, setDraft] = useState<string | null>(null);
  const [isSaving, setSaving] = useState(false);
  const [conflict, setConflict] = useState<number | null>(null);
  const [error, setError] = useState<string | null>(null);
  /** What the draft started from. */
  const base = useRef({ revision: block.revision, value: block.value });

  const refresh = () => queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] === "agent" || queryKey[0] === "block" || queryKey[0] === "blocks" });
  const discard = () => {
    setDraft(null);
    setConflict(null);
    setError(null);
  };

  const saveOver = async (revision: number) => {
    if (draft === null) return;
    setSaving(true);
    setError(null);
    try {
      const saved = await saveBlock(block.id, draft, revision);
      await refresh();
      discard();
      toast(`Saved as r${saved.revision}.`, { action: { label: "Undo", run: () => void undoBlock(block.id).then(refresh) } });
    } catch (failure) {
      const newest = bodyOf(failure)["revision"];
      if (statusOf(failure) === 409 && typeof newest === "number") {
        setConflict(newest);
        await refresh();
      } else {
        setError(`Not saved. ${describe(failure)}`);
      }
    } finally {
      setSaving(false);
    }
  };

  return {
    draft,
    isSaving,
    conflict,
    error,
    isDirty: draft !== null && draft !== base.current.value,
    start: () => {
      base.current = { revision: block.revision, value: block.value };
      setDraft(block.value);
    },
    write: setDraft,
    discard,
    save: () => saveOver(base.current.revision),
    keepMine: () => saveOver(conflict ?? block.revision),
  };
}
