/* The log: only what is in view is in the page; it stays at the end if it was there, and never jumps. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Icon } from "@/components/Icon";
import type { Row } from "@/features/chat/rows";
import { useKeys } from "@/lib/keys";

const NEAR_PX = 48;
const OLDER_PX = 800;

interface Props {
  rows: readonly Row[];
  label: string;
  draw: (row: Row) => ReactNode;
  onTop: () => void;
  head: ReactNode;
  /** The id of a message to bring into view. */
  target: string | null;
}

export function ChatLog({ rows, label, draw, onTop, head, target }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const firstKey = useRef<string | undefined>(undefined);
  const [isAway, setAway] = useState(false);
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    getItemKey: useCallback((at: number) => rows[at]?.key ?? at, [rows]),
    estimateSize: (at) => (rows[at]?.kind === "step" ? 26 : rows[at]?.kind === "thought" ? 26 : rows[at]?.kind === "call" ? 40 : 74),
    overscan: 10,
  });
  const size = list.getTotalSize();

  // Older messages came in above: what was in view stays where it is.
  useLayoutEffect(() => {
    const was = firstKey.current;
    firstKey.current = rows[0]?.key;
    if (was === undefined || was === rows[0]?.key || isAtEnd.current) return;
    const at = rows.findIndex((row) => row.key === was);
    const start = at > 0 ? list.measurementsCache[at]?.start : undefined;
    if (start && box.current) box.current.scrollTop += start;
  }, [rows, list]);

  useLayoutEffect(() => {
    if (isAtEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [rows, size]);

  const targetAt = target ? rows.findIndex((row) => row.kind !== "step" && row.msg.id === target) : -1;
  useEffect(() => {
    if (targetAt < 0) return;
    isAtEnd.current = false;
    list.scrollToIndex(targetAt, { align: "center" });
    const timer = setTimeout(() => box.current?.querySelector<HTMLElement>(`[data-index="${targetAt}"] [data-nav]`)?.focus(), 120);
    return () => clearTimeout(timer);
  }, [targetAt, list]);

  const onScroll = () => {
    const { scrollTop, scrollHeight, clientHeight } = box.current ?? document.body;
    isAtEnd.current = scrollHeight - scrollTop - clientHeight < NEAR_PX;
    setAway(!isAtEnd.current && scrollHeight - scrollTop - clientHeight > clientHeight / 2);
    if (scrollTop < OLDER_PX) onTop();
  };

  const step = (by: 1 | -1) => {
    const here = Number(document.activeElement?.closest("[data-index]")?.getAttribute("data-index") ?? rows.length);
    let at = here + by;
    while (rows[at] && (rows[at]?.kind === "step" || rows[at]?.kind === "line")) at += by;
    if (!rows[at]) return;
    isAtEnd.current = false;
    list.scrollToIndex(at, { align: "auto" });
    requestAnimationFrame(() => box.current?.querySelector<HTMLElement>(`[data-index="${at}"] :is([data-nav][tabindex], [data-nav] summary)`)?.focus());
  };
  const press = (selector: string) => document.activeElement?.closest("[data-index]")?.querySelector<HTMLElement>(selector)?.click();
  useKeys([
    { group: "Messages", keys: "j", label: "Next message", run: () => step(1) },
    { group: "Messages", keys: "k", label: "Previous message", run: () => step(-1) },
    { group: "Messages", keys: "c", label: "Copy it", run: () => press(".act-copy") },
    { group: "Messages", keys: "f", label: "Fork from it", run: () => press(".act-fork") },
    { group: "Messages", keys: "e", label: "Unfold it", run: () => press("summary, .hd") },
    { group: "Messages", keys: "r", label: "Raw", run: () => press(".act-raw") },
  ]);

  const shown = list.getVirtualItems();
  const top = shown[0]?.start ?? 0;
  const bottom = size - (shown.at(-1)?.end ?? 0);
  return (
    <div className="log" role="log" aria-label={label} aria-live="off" ref={box} onScroll={onScroll} tabIndex={0}>
      <div className="loglist" style={{ paddingTop: top, paddingBottom: bottom }}>
        {top === 0 && head}
        {shown.map((item) => {
          const row = rows[item.index];
          return (
            row && (
              <div key={row.key} data-index={item.index} ref={list.measureElement} className="vrow">
                {draw(row)}
              </div>
            )
          );
        })}
      </div>
      {isAway && (
        <button
          className="below"
          onClick={() => {
            isAtEnd.current = true;
            list.scrollToIndex(rows.length - 1, { align: "end" });
          }}
        >
          <Icon name="down" size={12} />
          To the newest
        </button>
      )}
    </div>
  );
}
