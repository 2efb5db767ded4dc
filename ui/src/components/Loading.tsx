/* Nothing for 200 ms, then still shapes in place. No shimmer. */
import { useEffect, useState } from "react";

const PATIENCE_MS = 200;
const WIDTHS = ["w38", "w92", "w84", "w60"];

export function Loading({ lines = 3, label = "Loading" }: { lines?: number; label?: string }) {
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, []);
  if (!isShown) return null;
  return (
    <div className="loading" role="status" aria-label={label}>
      {Array.from({ length: lines }, (_, at) => (
        <span key={at} className={`skel ${WIDTHS[at % WIDTHS.length]}`} />
      ))}
    </div>
  );
}
