import { Dialog } from "@/components/Dialog";
import { Switch } from "@/components/controls";
import { closeOverlay } from "@/features/shell/overlays";
import { areLettersOn, bindings, showKeys, switchLetters } from "@/lib/keys";
import { useStore } from "@/lib/store";

export function KeyList() {
  const all = useStore(bindings).flat();
  const on = useStore(areLettersOn);
  const groups = [...new Set(all.map((each) => each.group))];
  return (
    <Dialog label="Keyboard" onClose={closeOverlay}>
      <div className="body">
        <div className="keylist">
          {groups.map((group) => (
            <section key={group}>
              <h3>{group}</h3>
              <dl>
                {all.filter((each) => each.group === group).map((each) => [
                  <dt key={`${each.keys} label`}>{each.label}</dt>,
                  <dd key={each.keys}><kbd>{showKeys(each.keys)}</kbd></dd>,
                ])}
              </dl>
            </section>
          ))}
        </div>
        <div className="row">
          <Switch label="Single letters as commands" checked={on} onChange={switchLetters} />
          <span className="dim">Single letters as commands</span>
        </div>
      </div>
    </Dialog>
  );
}
