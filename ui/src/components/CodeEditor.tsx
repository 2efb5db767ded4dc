/* CodeMirror in a shadow root: there its styles are constructed sheets, which the page's policy allows. Load it lazily. */
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { javascript } from "@codemirror/lang-javascript";
import { python } from "@codemirror/lang-python";
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { Compartment, EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";

interface Props {
  label: string;
  value: string;
  language: string;
  readOnly?: boolean;
  onChange?: (text: string) => void;
  onCursor?: (line: number, column: number) => void;
}

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword, tags.definitionKeyword, tags.moduleKeyword, tags.bool, tags.null], color: "var(--syn-kw)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--syn-str)" },
  { tag: tags.number, color: "var(--syn-num)" },
  { tag: [tags.function(tags.definition(tags.variableName)), tags.definition(tags.className)], color: "var(--syn-fn)" },
  { tag: [tags.typeName, tags.propertyName], color: "var(--syn-key)" },
  { tag: tags.comment, color: "var(--syn-com)", fontStyle: "italic" },
]);

const look = EditorView.theme({
  "&": { height: "100%", color: "var(--text)", backgroundColor: "transparent", fontSize: "12.5px" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "20px", fontVariantLigatures: "none", scrollbarWidth: "thin" },
  ".cm-content": { padding: "8px 0", caretColor: "var(--accent)" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--text-3)", border: "none" },
  ".cm-lineNumbers .cm-gutterElement": { padding: "0 12px 0 14px", minWidth: "44px" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--canvas)" },
  ".cm-cursor": { borderLeftColor: "var(--accent)", borderLeftWidth: "2px" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { background: "var(--accent-bg)" },
  ".cm-matchingBracket": { backgroundColor: "var(--accent-bg)", outline: "1px solid var(--border-2)" },
});

const grammarOf = (language: string) => (language === "python" ? python() : javascript({ typescript: language === "typescript" }));

export default function CodeEditor({ label, value, language, readOnly = false, onChange, onCursor }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const told = useRef({ onChange, onCursor });
  told.current = { onChange, onCursor };
  const grammar = useRef(new Compartment());
  const lock = useRef(new Compartment());

  useEffect(() => {
    const host = box.current;
    if (!host) return;
    const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
    const made = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: value,
        extensions: [
          lineNumbers(), history(), drawSelection(), indentOnInput(), bracketMatching(), highlightActiveLine(), highlightActiveLineGutter(),
          indentUnit.of("    "), EditorState.tabSize.of(4),
          // Tab leaves the editor where nothing can be typed; Escape then Tab leaves it otherwise.
          keymap.of([...defaultKeymap, ...historyKeymap, ...(readOnly ? [] : [indentWithTab])]),
          grammar.current.of(grammarOf(language)), lock.current.of(lockOf(readOnly)), syntaxHighlighting(colours), look,
          EditorView.contentAttributes.of({ "aria-label": label }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) told.current.onChange?.(update.state.doc.toString());
            if (update.selectionSet || update.docChanged) {
              const head = update.state.selection.main.head;
              const line = update.state.doc.lineAt(head);
              told.current.onCursor?.(line.number, head - line.from + 1);
            }
          }),
        ],
      }),
    });
    view.current = made;
    return () => {
      made.destroy();
      view.current = null;
    };
    // One editor for the life of the component; what changes is told to it below.
  }, []);

  useEffect(() => {
    const now = view.current;
    if (now && now.state.doc.toString() !== value) now.dispatch({ changes: { from: 0, to: now.state.doc.length, insert: value } });
  }, [value]);
  useEffect(() => {
    view.current?.dispatch({ effects: [grammar.current.reconfigure(grammarOf(language)), lock.current.reconfigure(lockOf(readOnly))] });
  }, [language, readOnly]);

  return <div className="codebox" ref={box} />;
}

function lockOf(readOnly: boolean) {
  return [EditorState.readOnly.of(readOnly), EditorView.editable.of(!readOnly), EditorView.contentAttributes.of(readOnly ? { tabindex: "0", role: "textbox", "aria-readonly": "true" } : {})];
}
