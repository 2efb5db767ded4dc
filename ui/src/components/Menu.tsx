/* A button with a menu under it, by the ARIA pattern: arrows move, Escape closes and gives the focus back. */
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { Icon, type Glyph } from "@/components/Icon";

export interface MenuItem {
  label: string;
  icon?: Glyph;
  hint?: string;
  danger?: boolean;
  disabled?: boolean;
  checked?: boolean;
  run: () => void;
}

interface Props {
  label: string;
  items: readonly MenuItem[];
  children: ReactNode;
  className?: string;
  align?: "start" | "end";
  title?: string;
}

export function Menu({ label, items, children, className = "icon", align = "start", title }: Props) {
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLSpanElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();

  useEffect(() => {
    if (!isOpen) return;
    const list = box.current?.querySelectorAll<HTMLElement>("[role^=menuitem]");
    list?.[0]?.focus();
    const close = (event: Event) => {
      if (!box.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener("pointerdown", close);
    return () => document.removeEventListener("pointerdown", close);
  }, [isOpen]);

  const onKeyDown = (event: React.KeyboardEvent) => {
    if (!isOpen) return;
    const list = [...(box.current?.querySelectorAll<HTMLElement>("[role^=menuitem]") ?? [])];
    const at = list.indexOf(document.activeElement as HTMLElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) list[(at + step + list.length) % list.length]?.focus();
    else if (event.key === "Home") list[0]?.focus();
    else if (event.key === "End") list.at(-1)?.focus();
    else if (event.key === "Escape" || event.key === "Tab") {
      setOpen(false);
      if (event.key === "Escape") button.current?.focus();
    } else return;
    if (event.key !== "Tab") event.preventDefault();
    event.stopPropagation();
  };

  return (
    <span className="menubox" ref={box} onKeyDown={onKeyDown}>
      <button
        ref={button}
        className={className}
        aria-label={label}
        title={title}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        onClick={() => setOpen(!isOpen)}
      >
        {children}
      </button>
      {isOpen && (
        <ul className={`menu ${align}`} role="menu" id={id} aria-label={label}>
          {items.map((item) => (
            <li
              key={item.label}
              role={item.checked === undefined ? "menuitem" : "menuitemradio"}
              aria-checked={item.checked}
              aria-disabled={item.disabled}
              tabIndex={-1}
              className={item.danger ? "bad" : undefined}
              onClick={() => {
                if (item.disabled) return;
                setOpen(false);
                button.current?.focus();
                item.run();
              }}
              onKeyDown={(event) => {
                if (event.key !== "Enter" && event.key !== " ") return;
                event.preventDefault();
                event.currentTarget.click();
              }}
            >
              {item.checked !== undefined ? <span className="tick">{item.checked && <Icon name="check" size={12} />}</span> : item.icon && <Icon name={item.icon} size={14} />}
              <span className="cut">{item.label}</span>
              {item.hint && <span className="rt">{item.hint}</span>}
            </li>
          ))}
        </ul>
      )}
    </span>
  );
}
