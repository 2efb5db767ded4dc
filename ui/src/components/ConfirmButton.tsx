/* For what destroys: the first press asks, the second does it. Asking ends by itself. */
import { type ReactNode, useEffect, useState } from "react";

const PATIENCE_MS = 5000;

export function ConfirmButton({ children, question, onConfirm, className = "btn sm bad", disabled }: { children: ReactNode; question: string; onConfirm: () => void; className?: string; disabled?: boolean }) {
  const [isAsking, setAsking] = useState(false);
  useEffect(() => {
    if (!isAsking) return;
    const timer = setTimeout(() => setAsking(false), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, [isAsking]);
  return (
    <button
      type="button"
      className={className}
      disabled={disabled}
      onBlur={() => setAsking(false)}
      onClick={() => {
        setAsking(!isAsking);
        if (isAsking) onConfirm();
      }}
    >
      {isAsking ? question : children}
    </button>
  );
}
