import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from "react";
import { describe } from "@/api/errors";
import { Icon } from "@/components/Icon";
import { type Attachment, readAttachment, toContent } from "@/features/chat/attachments";
import { bytes, duration } from "@/lib/format";
import { showKeys } from "@/lib/keys";
import { keep, readKept } from "@/lib/persisted";
import { toast } from "@/lib/toasts";

interface Props {
  /** Under which a draft is kept. */
  place: string;
  agentName: string;
  isRunning: boolean;
  since: number;
  isCancelling: boolean;
  field: RefObject<HTMLTextAreaElement | null>;
  onSend: (content: unknown, shown: { text: string; images: readonly string[] }) => Promise<boolean>;
  onCancel: () => void;
}

export function Composer({ place, agentName, isRunning, since, isCancelling, field, onSend, onCancel }: Props) {
  const [text, setText] = useState(() => readKept(`draft.${place}`, "session") ?? "");
  const [files, setFiles] = useState<readonly Attachment[]>([]);
  const picker = useRef<HTMLInputElement>(null);
  useEffect(() => keep(`draft.${place}`, text || null, "session"), [place, text]);
  useLayoutEffect(() => {
    const area = field.current;
    if (!area) return;
    area.style.height = "0";
    area.style.height = `${Math.min(area.scrollHeight, 240)}px`;
  }, [text, field]);

  const attach = async (list: Iterable<File>) => {
    for (const file of list) {
      try {
        const read = await readAttachment(file);
        setFiles((now) => [...now, read]);
      } catch (error) {
        toast(describe(error), { tone: "bad" });
      }
    }
  };

  const submit = async () => {
    const said = text.trim();
    if (!said && !files.length) return;
    const [oldText, oldFiles] = [text, files];
    setText("");
    setFiles([]);
    const taken = await onSend(toContent(said, oldFiles), { text: said, images: oldFiles.flatMap((each) => each.picture ?? []) });
    if (!taken) {
      setText((now) => now || oldText);
      setFiles((now) => (now.length ? now : oldFiles));
    }
  };

  return (
    <div
      className="cmp"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        void attach(event.dataTransfer.files);
      }}
    >
      <form
        className="cmpbox"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        {files.map((file, at) => (
          <span key={at} className="att">
            {file.picture ? <img src={file.picture} alt="" /> : <Icon name="file" size={14} />}
            {file.name} <span className="mut">{bytes(file.size)}</span>
            <button type="button" className="icon sm" aria-label={`Leave out ${file.name}`} onClick={() => setFiles(files.filter((_, other) => other !== at))}>
              <Icon name="x" size={12} />
            </button>
          </span>
        ))}
        <textarea
          ref={field}
          className="ta filled"
          rows={1}
          autoFocus
          aria-label={`Message to ${agentName}`}
          placeholder={`Message ${agentName}`}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onPaste={(event) => {
            const pasted = [...event.clipboardData.files];
            if (!pasted.length) return;
            event.preventDefault();
            void attach(pasted);
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
              event.preventDefault();
              void submit();
            } else if (event.key === "Escape") {
              event.currentTarget.blur();
            }
          }}
        />
        <div className="bar">
          <button type="button" className="icon" aria-label="Attach pictures or text files" title="Attach pictures or text files" onClick={() => picker.current?.click()}>
            <Icon name="clip" />
          </button>
          <input ref={picker} type="file" multiple hidden aria-label="Files" onChange={(event) => { void attach([...(event.target.files ?? [])]); event.target.value = ""; }} />
          {isRunning && <span className="small mut">Sent when this run ends</span>}
          <span className="end row">
            {isRunning && (
              <button type="button" className="btn" disabled={isCancelling} onClick={onCancel}>
                <Icon name="stop" size={12} />
                {isCancelling ? "Stopping…" : "Stop"}
              </button>
            )}
            <button className={`btn ${isRunning ? "" : "primary"}`} disabled={!text.trim() && !files.length}>
              {isRunning ? "Queue" : "Send"}
              <Icon name="send" size={12} />
            </button>
          </span>
        </div>
      </form>
      <div className="under">
        <span className="keyline"><span><kbd>Enter</kbd> send</span><span><kbd>Shift Enter</kbd> new line</span>{isRunning && <span><kbd>{showKeys("mod+.")}</kbd> stop</span>}</span>
        {isRunning && <Clock since={since} />}
      </div>
    </div>
  );
}

function Clock({ since }: { since: number }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.max(0, Math.floor((now - since) / 1000));
  return <span className="meta">at work for {seconds < 60 ? `${seconds} s` : duration(seconds * 1000)}</span>;
}
