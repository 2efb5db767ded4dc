/* What a new agent can start from. */
import type { AgentCreateParams } from "@letta-ai/letta-client/resources/agents/agents";

export interface Start {
  id: string;
  name: string;
  about: string;
  body: AgentCreateParams;
}

const LIMIT = 5000;

const PERSONA = "I am a calm, capable assistant. I remember what matters to the person I talk to and keep my memory tidy. I say what I do not know, and I ask one question at a time.";
const PLANNER = "I keep a project straight: what is decided, what is open, who does what by when. I keep the plan block current after every decision and say when two things collide. I act outside only after a yes.";

export const STARTS: readonly Start[] = [
  {
    id: "assistant",
    name: "Assistant",
    about: "Remembers you across weeks. Blocks: persona, human. Memory and search tools.",
    body: {
      memory_blocks: [
        { label: "persona", value: PERSONA, limit: LIMIT },
        { label: "human", value: "", limit: LIMIT },
      ],
      tools: ["archival_memory_insert", "archival_memory_search"],
    },
  },
  {
    id: "planner",
    name: "Planner",
    about: "Keeps a project straight. Adds a plan block and asks before it acts outside.",
    body: {
      memory_blocks: [
        { label: "persona", value: PLANNER, limit: LIMIT },
        { label: "human", value: "", limit: LIMIT },
        { label: "plan", value: "Decided:\nOpen:\nNext:", limit: LIMIT, description: "The state of the project: what is decided, what is open, what comes next and who does it." },
      ],
      tools: ["archival_memory_insert", "archival_memory_search"],
    },
  },
  {
    id: "empty",
    name: "Empty",
    about: "Nothing but the loop. You add blocks and tools yourself.",
    body: { include_base_tools: false, memory_blocks: [] },
  },
];
