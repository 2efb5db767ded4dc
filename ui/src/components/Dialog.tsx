/* The browser's own modal dialog: it keeps the focus inside, closes on Escape, and gives the focus back. */
import { type ReactNode, useEffect, useRef } from "react";
import { Icon } from "@/components/Icon";

interface Props {
  label: string;
  onClose: () => void;
  children: ReactNode;
  className?: string;
  /** A head with the label and a button to close; without it the content brings its own. */
  hasHead?: boolean;
}

export function Dialog({ label, onClose, children, className = "", hasHead = true }: Props) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = box.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={box}
      className={`dialog ${className}`}
      aria-label={label}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onPointerDown={(event) => {
        if (event.target === event.currentTarget) onClose();
      }}
    >
      {hasHead && (
        <div className="panelhead">
          <h2>{label}</h2>
          <button className="icon sm end" aria-label="Close" onClick={onClose}>
            <Icon name="x" size={14} />
          </button>
        </div>
      )}
      {children}
    </dialog>
  );
}
