/* JSON to unfold: a count where it is shut, long strings cut with a way to see all. */
import { useState } from "react";
import { count } from "@/lib/format";

const CUT = 2000;

export function Json({ value, openTo = 1, wrapped = true }: { value: unknown; openTo?: number; wrapped?: boolean }) {
  return (
    <div className={`json ${wrapped ? "wrapped" : ""}`}>
      <Value value={value} depth={0} openTo={openTo} />
    </div>
  );
}

function Value({ name, value, depth, openTo }: { name?: string; value: unknown; depth: number; openTo: number }) {
  const [isOpen, setOpen] = useState(depth < openTo);
  const key = name === undefined ? null : <><span className="k">{name}</span>: </>;
  if (value === null || typeof value !== "object") return <div className="leaf">{key}<Leaf value={value} /></div>;
  const entries = Object.entries(value);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (!entries.length) return <div className="leaf">{key}{open}{close}</div>;
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {key}{open} <span className="sum">{isOpen ? "" : `${count(entries.length)} ${close}`}</span>
      </summary>
      {isOpen && (
        <div className="kids">
          {entries.map(([each, inner]) => <Value key={each} name={each} value={inner} depth={depth + 1} openTo={openTo} />)}
        </div>
      )}
    </details>
  );
}

function Leaf({ value }: { value: unknown }) {
  const [isWhole, setWhole] = useState(false);
  if (typeof value === "number") return <span className="n_">{value}</span>;
  if (typeof value !== "string") return <span className="w">{String(value)}</span>;
  const isCut = value.length > CUT && !isWhole;
  return (
    <span className="s">
      "{isCut ? value.slice(0, CUT) : value}"
      {isCut && <button className="link" onClick={() => setWhole(true)}> show all {count(value.length)} characters</button>}
    </span>
  );
}
