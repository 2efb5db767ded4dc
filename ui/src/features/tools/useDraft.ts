/* A tool as it stands in the editor: what was changed, and the schema that the server reads from it. */
import { useEffect, useRef, useState } from "react";
import { describe } from "@/api/errors";
import { generateSchema, type JsonSchema, type Package, type Tool, type ToolFields } from "@/api/tools";
import { PYTHON_START, SCRIPT_START } from "@/features/tools/groups";

const QUIET_MS = 400;

export interface Draft {
  code: string;
  language: string;
  packages: Package[];
  settings: Pick<Tool, "default_requires_approval" | "enable_parallel_execution" | "return_char_limit" | "tags">;
}

export interface SchemaState {
  schema: JsonSchema | null;
  error: string | null;
  isPending: boolean;
}

export function draftOf(tool: Tool | null, language: string): Draft {
  const spoken = tool?.source_type ?? language;
  return {
    code: tool ? (tool.source_code ?? "") : spoken === "python" ? PYTHON_START : SCRIPT_START,
    language: spoken,
    packages: (spoken === "python" ? tool?.pip_requirements : tool?.npm_requirements) ?? [],
    settings: {
      default_requires_approval: tool?.default_requires_approval ?? null,
      enable_parallel_execution: tool?.enable_parallel_execution ?? false,
      return_char_limit: tool?.return_char_limit ?? 50_000,
      tags: tool?.tags ?? [],
    },
  };
}

export function isSame(a: Draft, b: Draft): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

export function fieldsOf(draft: Draft, schema: JsonSchema | null): ToolFields {
  const packages = draft.language === "python" ? { pip_requirements: draft.packages } : { npm_requirements: draft.packages };
  return { source_code: draft.code, source_type: draft.language, ...packages, ...draft.settings, ...(schema && { json_schema: schema }) };
}

/** What the model will see, read anew when typing has stopped. While it does not parse, the last one stays. */
export function useSchema(code: string, language: string, known: JsonSchema | null, isOn: boolean): SchemaState {
  const [state, setState] = useState<SchemaState>({ schema: known, error: null, isPending: false });
  const first = useRef(code);
  useEffect(() => {
    if (!isOn || (known && code === first.current)) {
      setState({ schema: known, error: null, isPending: false });
      return;
    }
    const stop = new AbortController();
    setState((now) => ({ ...now, isPending: true }));
    const timer = setTimeout(() => {
      generateSchema(code, language, stop.signal).then(
        (schema) => setState({ schema, error: null, isPending: false }),
        (error: unknown) => {
          if (!stop.signal.aborted) setState((now) => ({ ...now, error: describe(error), isPending: false }));
        },
      );
    }, QUIET_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [code, language, known, isOn]);
  return state;
}
