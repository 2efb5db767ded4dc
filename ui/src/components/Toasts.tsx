import { Icon } from "@/components/Icon";
import { useStore } from "@/lib/store";
import { dismiss, toasts } from "@/lib/toasts";

export function Toasts() {
  const list = useStore(toasts);
  return (
    <div className="toasts" role="status" aria-live="polite">
      {list.map((each) => (
        <div key={each.id} className={`toast ${each.tone}`}>
          <Icon name={each.tone === "ok" ? "check" : "x"} size={14} />
          <span className="grow">{each.text}</span>
          {each.action && (
            <button
              className="btn sm quiet"
              onClick={() => {
                dismiss(each.id);
                each.action?.run();
              }}
            >
              {each.action.label}
            </button>
          )}
          <button className="icon sm" aria-label="Close this note" onClick={() => dismiss(each.id)}>
            <Icon name="x" size={12} />
          </button>
        </div>
      ))}
    </div>
  );
}
