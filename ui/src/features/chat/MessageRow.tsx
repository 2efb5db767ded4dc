/* What you said and what the agent said. */
import { memo, useState } from "react";
import { CopyButton } from "@/components/controls";
import { Dialog } from "@/components/Dialog";
import { Icon } from "@/components/Icon";
import { Json } from "@/components/Json";
import { Markdown } from "@/components/Markdown";
import type { Msg } from "@/features/chat/fold";
import { exactly, when } from "@/lib/format";

interface Props {
  msg: Msg;
  agentName: string;
  onFork: (msg: Msg) => void;
}

export const MessageRow = memo(function MessageRow({ msg, agentName, onFork }: Props) {
  const [isRaw, setRaw] = useState(false);
  const isUser = msg.kind === "user";
  const canFork = msg.id.startsWith("message-");
  return (
    <article className={`msg ${msg.kind} ${msg.isQueued ? "queued" : ""}`} tabIndex={0} data-nav="" aria-label={`${isUser ? "You" : agentName}, ${when(msg.date)}`}>
      <Icon name={isUser ? "user" : "agent"} />
      <div>
        <div className="by">
          {isUser ? "You" : agentName} <time title={exactly(msg.date)}>{msg.isQueued ? "waits its turn" : msg.isLive ? "now" : when(msg.date)}</time>
        </div>
        <div className="txt">
          {isUser ? <p className="said">{msg.text}</p> : <Markdown text={msg.text} caret={msg.isLive} />}
          {msg.images.map((source, at) => <img key={at} className="picture" src={source} alt="Picture that you sent" />)}
        </div>
      </div>
      {!msg.isLive && (
        <div className="acts">
          <CopyButton text={msg.text} label="Copy this message" className="act-copy">Copy</CopyButton>
          {canFork && (
            <button className="act-fork" onClick={() => onFork(msg)}>
              <Icon name="fork" size={14} />
              Fork from here
            </button>
          )}
          {msg.raw !== null && (
            <button className="act-raw" onClick={() => setRaw(true)}>
              <Icon name="eye" size={14} />
              Raw
            </button>
          )}
        </div>
      )}
      {isRaw && (
        <Dialog label="Raw message" className="wide" onClose={() => setRaw(false)}>
          <div className="body"><Json value={msg.raw} openTo={3} /></div>
        </Dialog>
      )}
    </article>
  );
});

export const ThoughtRow = memo(function ThoughtRow({ msg }: { msg: Msg }) {
  const firstLine = msg.text.trim().split("\n")[0] ?? "";
  return (
    <details className="fold" data-nav="">
      <summary>
        <Icon name="thought" />
        <span className="lead">{msg.isLive ? "Thinking" : "Thought"}</span>
        <span className="cut">{firstLine || "The provider does not show it."}</span>
      </summary>
      {msg.text && <div className="thought"><Markdown text={msg.text} /></div>}
    </details>
  );
});
