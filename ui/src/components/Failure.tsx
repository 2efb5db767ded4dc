/* What happened, what is safe, what to do. */
import { describe, statusOf } from "@/api/errors";
import { Note } from "@/components/Note";

export function Failure({ error, what, onRetry }: { error: unknown; what: string; onRetry?: (() => void) | undefined }) {
  return (
    <Note tone="bad" role="alert">
      <b>{what}</b> {describe(error)}{" "}
      {onRetry && statusOf(error) !== 404 && (
        <button className="link" onClick={onRetry}>
          Try again
        </button>
      )}
    </Note>
  );
}
