/* Summaries, notices and failures, at their place in the log. */
import { memo, useState } from "react";
import { Dialog } from "@/components/Dialog";
import { Icon } from "@/components/Icon";
import { Markdown } from "@/components/Markdown";
import { Note } from "@/components/Note";
import type { Msg } from "@/features/chat/fold";
import { plural, when } from "@/lib/format";

export const Line = memo(function Line({ msg, onRetry }: { msg: Msg; onRetry: (() => void) | null }) {
  const [isOpen, setOpen] = useState(false);
  if (msg.kind === "error") {
    return (
      <Note tone="bad" role="alert">
        <b>The run failed.</b> {msg.text} Your message is kept.{" "}
        {onRetry && <button className="link" onClick={onRetry}>Send again</button>}
      </Note>
    );
  }
  if (msg.kind === "notice") return <div className="summ thin"><span>{msg.text}</span></div>;
  const stats = (msg.raw as { compaction_stats?: { messages_count_before?: number; messages_count_after?: number } } | null)?.compaction_stats;
  const folded = stats?.messages_count_before && stats.messages_count_after ? stats.messages_count_before - stats.messages_count_after + 1 : null;
  return (
    <div className="summ">
      <Icon name="squeeze" size={14} />
      <span><b>{folded ? `${plural(folded, "earlier message")} folded into a summary` : "Earlier messages folded into a summary"}</b>, {when(msg.date)}</span>
      <button className="link" onClick={() => setOpen(true)}>Read it</button>
      {isOpen && (
        <Dialog label="Summary" onClose={() => setOpen(false)}>
          <div className="body txt"><Markdown text={msg.text} /></div>
        </Dialog>
      )}
    </div>
  );
});
