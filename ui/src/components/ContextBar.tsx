/* The context window as a picture: the same order, colours and patterns everywhere. */
import { count } from "@/lib/format";

export const SECTIONS = ["system", "tools", "blocks", "files", "summary", "messages", "free"] as const;
export type SectionName = (typeof SECTIONS)[number];
export type Sections = Record<SectionName, number>;

export const SECTION_LABELS: Record<SectionName, string> = {
  system: "System",
  tools: "Tools",
  blocks: "Blocks",
  files: "Files",
  summary: "Summary",
  messages: "Messages",
  free: "Free",
};

interface Props {
  sections: Sections;
  used: number;
  max: number;
  /** Share of the window at which older messages leave it. */
  mark?: number;
  chosen?: SectionName | null;
  onHover?: (name: SectionName | null) => void;
  onOpen?: (name: SectionName) => void;
  mini?: boolean;
}

export function ContextBar({ sections, used, max, mark, chosen = null, onHover, onOpen, mini }: Props) {
  const label = `Context window: ${count(used)} of ${count(max)} tokens`;
  return (
    <div className={`ctx ${mini ? "mini" : ""} ${chosen ? "hovering" : ""}`} role="img" aria-label={label} onPointerLeave={() => onHover?.(null)}>
      {SECTIONS.filter((name) => sections[name] > 0).map((name) => (
        <span
          key={name}
          className={`c-${name} ${chosen === name ? "on" : ""}`}
          style={{ flex: `${sections[name]} 1 0` }}
          title={mini || onHover ? undefined : `${SECTION_LABELS[name]} ${count(sections[name])}`}
          onPointerEnter={() => onHover?.(name)}
          onClick={() => onOpen?.(name)}
        />
      ))}
      {mark !== undefined && <span className="tick" style={{ left: `${mark * 100}%` }} />}
    </div>
  );
}
