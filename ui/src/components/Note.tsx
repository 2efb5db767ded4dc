import type { ReactNode } from "react";
import { Icon } from "@/components/Icon";

const GLYPHS = { info: "info", warn: "warn", bad: "x", ok: "check" } as const;

export function Note({ tone = "info", children, role }: { tone?: keyof typeof GLYPHS; children: ReactNode; role?: "alert" | "status" }) {
  return (
    <div className={`note ${tone === "info" ? "" : tone}`} role={role}>
      <Icon name={GLYPHS[tone]} size={14} />
      <div className="grow">{children}</div>
    </div>
  );
}

/** What belongs here, who puts it there, and one button. */
export function Empty({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <div className="panel empty">
      <b>{title}</b>
      {children && <p className="dim">{children}</p>}
      {action}
    </div>
  );
}
