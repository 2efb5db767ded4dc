/* The amber line under the header: lost, and what happens next; or a page older than its server. */
import { useEffect, useState } from "react";
import { connection, tryNow } from "@/api/connection";
import { Icon } from "@/components/Icon";
import { useStore } from "@/lib/store";

export function ConnectionLine() {
  const { status, retryAt, isNew } = useStore(connection);
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (status !== "lost") return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [status, retryAt]);
  if (status === "lost") {
    return (
      <div className="banner" role="status">
        <Icon name="warn" size={14} />
        <span className="grow">Connection lost. Trying again in {Math.max(1, Math.ceil((retryAt - now) / 1000))} s. What runs goes on without this page.</span>
        <button className="btn sm" onClick={() => void tryNow()}>
          Try now
        </button>
      </div>
    );
  }
  if (!isNew) return null;
  return (
    <div className="banner" role="status">
      <Icon name="warn" size={14} />
      <span className="grow">The server has another version than this page.</span>
      <button className="btn sm" onClick={() => location.reload()}>
        Reload for the new version
      </button>
    </div>
  );
}
