/* Small controls by the ARIA patterns. */
import { type ReactNode, useEffect, useState } from "react";
import { Icon, type Glyph } from "@/components/Icon";

export function Switch({ label, checked, onChange, disabled }: { label: string; checked: boolean; onChange: (next: boolean) => void; disabled?: boolean }) {
  return <button className="switch" role="switch" aria-checked={checked} aria-label={label} disabled={disabled} onClick={() => onChange(!checked)} />;
}

export function Segments<T extends string>({ label, value, options, onChange }: { label: string; value: T; options: readonly (readonly [T, string])[]; onChange: (next: T) => void }) {
  return (
    <span className="seg" role="group" aria-label={label}>
      {options.map(([name, text]) => (
        <button key={name} type="button" aria-pressed={name === value} onClick={() => onChange(name)}>
          {text}
        </button>
      ))}
    </span>
  );
}

/** The browser's own list, in our clothes: it is right on every machine and every phone. */
export function Select({ label, value, options, onChange, icon, disabled }: { label: string; value: string; options: readonly (readonly [string, string])[]; onChange: (next: string) => void; icon?: Glyph; disabled?: boolean }) {
  return (
    <span className="field select">
      {icon && <Icon name={icon} size={14} />}
      <select aria-label={label} value={value} disabled={disabled} onChange={(event) => onChange(event.target.value)}>
        {options.map(([name, text]) => (
          <option key={name} value={name}>
            {text}
          </option>
        ))}
      </select>
      <Icon name="down" size={12} />
    </span>
  );
}

/** Saves when it is left or on Enter; Escape brings the old value back. */
export function NumberField({ label, value, onSave, min, max, step = 1, unit, placeholder = "–" }: { label: string; value: number | null; onSave: (next: number | null) => void; min?: number; max?: number; step?: number; unit?: string; placeholder?: string }) {
  const shown = value === null ? "" : value.toLocaleString("en-GB", { maximumFractionDigits: 6 });
  const [text, setText] = useState(shown);
  useEffect(() => setText(shown), [shown]);
  const parsed = text.trim() === "" ? null : Number(text.replaceAll(",", ""));
  const isBad = parsed !== null && (Number.isNaN(parsed) || (min !== undefined && parsed < min) || (max !== undefined && parsed > max));
  const save = () => {
    if (isBad) return;
    if (parsed !== value) onSave(parsed);
  };
  return (
    <span>
      <label className={`field ${isBad ? "bad" : ""}`}>
        <input
          aria-label={label}
          aria-invalid={isBad}
          inputMode="decimal"
          step={step}
          value={text}
          placeholder={placeholder}
          onChange={(event) => setText(event.target.value)}
          onBlur={save}
          onKeyDown={(event) => {
            if (event.key === "Enter") save();
            if (event.key === "Escape") setText(shown);
          }}
        />
        {unit && <span className="mut">{unit}</span>}
      </label>
      {isBad && <span className="small danger">Use a number{min !== undefined ? ` from ${min}` : ""}{max !== undefined ? ` to ${max}` : ""}.</span>}
    </span>
  );
}

export function Tabs<T extends string>({ label, value, tabs, onChange }: { label: string; value: T; tabs: readonly { id: T; label: string; count?: ReactNode }[]; onChange: (next: T) => void }) {
  return (
    <div
      className="tabs"
      role="tablist"
      aria-label={label}
      onKeyDown={(event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (step === undefined) return;
        const at = tabs.findIndex((each) => each.id === value);
        const next = tabs[(at + step + tabs.length) % tabs.length];
        if (next) onChange(next.id);
        (event.currentTarget.children[(at + step + tabs.length) % tabs.length] as HTMLElement | undefined)?.focus();
      }}
    >
      {tabs.map((each) => (
        <button key={each.id} role="tab" id={`tab-${each.id}`} aria-selected={each.id === value} aria-controls={`panel-${each.id}`} tabIndex={each.id === value ? 0 : -1} onClick={() => onChange(each.id)}>
          {each.label} {each.count !== undefined && <span className="n">{each.count}</span>}
        </button>
      ))}
    </div>
  );
}

export function CopyButton({ text, label, className = "icon sm", children }: { text: string; label: string; className?: string; children?: ReactNode }) {
  const [done, setDone] = useState(false);
  return (
    <button
      className={className}
      aria-label={children ? undefined : label}
      title={label}
      onClick={() => {
        void navigator.clipboard.writeText(text).then(() => {
          setDone(true);
          setTimeout(() => setDone(false), 1500);
        });
      }}
    >
      {children} <Icon name={done ? "check" : "copy"} size={12} />
    </button>
  );
}
