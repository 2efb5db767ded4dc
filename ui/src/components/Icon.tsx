/* The glyphs: 16 by 16, drawn with the current colour. Written into the page, since references by `#id` break under a <base>. */
import type { ReactNode } from "react";

const GLYPHS = {
  "agent": (<><path d="M2.2 12.4c3.6 0 3.9-1.7 4.7-4.4C7.8 5.2 8.6 3.6 13.8 3.6M2.2 12.4c5.2 0 6-1.6 6.9-4.4.8-2.7 1.1-4.4 4.7-4.4"/></>),
  "archive": (<><rect x="2.2" y="3" width="11.6" height="3.2" rx=".8"/><path d="M3.2 6.2v5.8c0 .6.4 1 1 1h7.6c.6 0 1-.4 1-1V6.2M6.6 8.6h2.8"/></>),
  "block": (<><rect x="2.5" y="3" width="11" height="10" rx="1.4"/><path d="M5 6h6M5 8.2h6M5 10.4h3.4"/></>),
  "chat": (<><path d="M2.6 4c0-.7.5-1.2 1.2-1.2h8.4c.7 0 1.2.5 1.2 1.2v5.6c0 .7-.5 1.2-1.2 1.2H7.4L4.4 13.2v-2.4h-.6c-.7 0-1.2-.5-1.2-1.2V4Z"/></>),
  "check": (<><path d="m3 8.5 3.2 3.2L13 4.8"/></>),
  "chip": (<><rect x="4" y="4" width="8" height="8" rx="1.2"/><path d="M6.4 4V2M9.6 4V2M6.4 14v-2M9.6 14v-2M4 6.4H2M4 9.6H2M14 6.4h-2M14 9.6h-2"/></>),
  "clip": (<><path d="m12.8 7.4-5 5a3 3 0 0 1-4.3-4.2l5.4-5.4a2 2 0 0 1 2.8 2.8l-5.2 5.2a1 1 0 0 1-1.4-1.4l4.6-4.6"/></>),
  "copy": (<><rect x="5.5" y="5.5" width="7.5" height="7.5" rx="1.2"/><path d="M3.6 10.4H3V3h7.4v.6"/></>),
  "dl": (<><path d="M8 2.8v7M5 7.2l3 3 3-3M3 13.2h10"/></>),
  "dots": (<><path d="M3.5 8h.1M8 8h.1M12.5 8h.1" strokeWidth="2.2"/></>),
  "down": (<><path d="M3.5 6 8 10.5 12.5 6"/></>),
  "eye": (<><path d="M1.8 8S4 3.8 8 3.8 14.2 8 14.2 8 12 12.2 8 12.2 1.8 8 1.8 8Z"/><circle cx="8" cy="8" r="1.9"/></>),
  "file": (<><path d="M4 2.2h5l3 3v8.6H4V2.2Z"/><path d="M8.8 2.4v3h3"/></>),
  "filter": (<><path d="M2.5 4h11M4.5 8h7M6.5 12h3"/></>),
  "folder": (<><path d="M2.2 4.2c0-.6.4-1 1-1h3l1.5 1.8h5c.6 0 1 .4 1 1v5.8c0 .6-.4 1-1 1H3.2c-.6 0-1-.4-1-1V4.2Z"/></>),
  "fork": (<><circle cx="4.5" cy="3.8" r="1.6"/><circle cx="4.5" cy="12.2" r="1.6"/><circle cx="11.5" cy="5.8" r="1.6"/><path d="M4.5 5.4v5.2M11.5 7.4c0 2-3.4 2-5.4 3.4"/></>),
  "history": (<><path d="M2.6 8A5.4 5.4 0 1 0 4.4 4L2.6 5.6M2.6 2.8v2.8h2.8"/><path d="M8 5.2V8l2 1.4"/></>),
  "info": (<><circle cx="8" cy="8" r="5.75"/><path d="M8 7.4v3.4M8 5.2v.1"/></>),
  "key": (<><circle cx="5" cy="11" r="2.4"/><path d="m6.8 9.2 6-6M10.6 5.4l1.8 1.8"/></>),
  "lock": (<><rect x="3.5" y="7" width="9" height="6.2" rx="1.2"/><path d="M5.4 7V5.2a2.6 2.6 0 0 1 5.2 0V7"/></>),
  "minus": (<><path d="M4 8h8"/></>),
  "moon": (<><path d="M13 9.6A5.4 5.4 0 0 1 6.4 3 5.4 5.4 0 1 0 13 9.6Z"/></>),
  "out": (<><path d="M9 3h4v4M13 3 7.5 8.5M11.5 9.5V13H3V4.5h3.5"/></>),
  "panel-l": (<><rect x="2.2" y="3" width="11.6" height="10" rx="1.2"/><path d="M6.2 3v10"/></>),
  "panel-r": (<><rect x="2.2" y="3" width="11.6" height="10" rx="1.2"/><path d="M9.8 3v10"/></>),
  "pencil": (<><path d="m3 13 .6-2.6 7-7a1.3 1.3 0 0 1 1.9 1.9l-7 7L3 13Z"/></>),
  "play": (<><path d="M5 3.2v9.6L12.6 8 5 3.2Z"/></>),
  "plug": (<><path d="M5.6 2.6v3M10.4 2.6v3M4 5.6h8v2a4 4 0 0 1-8 0v-2ZM8 11.6v2"/></>),
  "plus": (<><path d="M8 3v10M3 8h10"/></>),
  "q": (<><path d="M6 6.2a2 2 0 1 1 2.8 1.9c-.5.2-.8.6-.8 1.1v.3M8 11.7v.1"/></>),
  "recall": (<><path d="M2.5 4h8M2.5 7.5h4M2.5 11h3.2"/><circle cx="10.4" cy="9.6" r="2.6"/><path d="m12.3 11.5 1.6 1.6"/></>),
  "refresh": (<><path d="M13 8a5 5 0 0 1-9 3M3 8a5 5 0 0 1 9-3"/><path d="M12.3 2.4V5.2H9.5M3.7 13.6v-2.8h2.8"/></>),
  "right": (<><path d="m6 3.5 4.5 4.5L6 12.5"/></>),
  "search": (<><circle cx="7" cy="7" r="4.25"/><path d="m10.2 10.2 3.3 3.3"/></>),
  "send": (<><path d="M8 13V3.4M3.8 7.4 8 3.2l4.2 4.2"/></>),
  "shield": (<><path d="M8 2.2 13 4v4c0 3-2.2 5-5 5.9C5.2 13 3 11 3 8V4l5-1.8Z"/></>),
  "sliders": (<><path d="M2.5 5h5M11 5h2.5M2.5 11h2M8 11h5.5"/><circle cx="9.2" cy="5" r="1.6"/><circle cx="6.2" cy="11" r="1.6"/></>),
  "squeeze": (<><path d="M3 2.8h10M3 13.2h10M8 4.6v2.6M6.6 6 8 7.4 9.4 6M8 11.4V8.8M6.6 10 8 8.6 9.4 10"/></>),
  "stop": (<><rect x="4" y="4" width="8" height="8" rx="1" fill="currentColor"/></>),
  "theme": (<><circle cx="8" cy="8" r="5.5"/><path d="M8 2.5v11a5.5 5.5 0 0 0 0-11Z" fill="currentColor" stroke="none"/></>),
  "thought": (<><path d="M3 4.2h10M3 8h10M3 11.8h5" strokeDasharray=".1 2.6" strokeWidth="2"/></>),
  "tool": (<><path d="M10.2 2.8a3.2 3.2 0 0 0-3 4.3l-4.5 4.5 1.7 1.7 4.5-4.5a3.2 3.2 0 0 0 4-4.2L11 6.5 9.5 5l1.9-1.9a3 3 0 0 0-1.2-.3Z"/></>),
  "undo": (<><path d="M3 6.4h6.4a3.4 3.4 0 0 1 0 6.8H6M5.8 3.4 2.8 6.4l3 3"/></>),
  "user": (<><circle cx="8" cy="5.4" r="2.6"/><path d="M2.9 13.2c.6-2.6 2.5-3.9 5.1-3.9s4.5 1.3 5.1 3.9"/></>),
  "warn": (<><path d="M8 2.4 14.2 13H1.8L8 2.4Z"/><path d="M8 6.4v3M8 11.2v.1"/></>),
  "x": (<><path d="m4 4 8 8M12 4l-8 8"/></>),
} satisfies Record<string, ReactNode>;

export type Glyph = keyof typeof GLYPHS;

export function Icon({ name, size, className }: { name: Glyph; size?: 12 | 14; className?: string | undefined }) {
  const classes = ["i", size ? `s${size}` : "", className ?? ""].filter(Boolean).join(" ");
  return (
    <svg className={classes} viewBox="0 0 16 16" aria-hidden="true">
      {GLYPHS[name]}
    </svg>
  );
}
