/* A section that is shut still says its value; whether it is open is kept. */
import type { ReactNode } from "react";
import { Icon } from "@/components/Icon";
import { usePersisted } from "@/lib/persisted";

interface Props {
  name: string;
  value: ReactNode;
  isSaved: boolean;
  opened?: boolean;
  children: ReactNode;
}

export function Section({ name, value, isSaved, opened = false, children }: Props) {
  const [isOpen, setOpen] = usePersisted(`section.${name}`, opened);
  return (
    <details className="sect" open={isOpen} onToggle={(event) => event.currentTarget.open !== isOpen && setOpen(event.currentTarget.open)}>
      <summary>
        <Icon name="right" size={12} />
        {name}
        <span className="val" role={isSaved ? "status" : undefined}>{isSaved ? <span className="ok row"><Icon name="check" size={12} />Saved</span> : isOpen ? null : value}</span>
      </summary>
      {isOpen && <div className="in">{children}</div>}
    </details>
  );
}
