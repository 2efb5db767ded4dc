/* Shown only when there is no agent at all: what one is, and the shortest way to talk to it. */
import { useState } from "react";
import { isEmbedded } from "@/api/catalogue";
import { Icon } from "@/components/Icon";
import { NewAgent } from "@/features/agents/NewAgent";

export function FirstAgent() {
  const [model, setModel] = useState("");
  return (
    <div className="first">
      <h1>No agents yet</h1>
      <p className="lead">An agent keeps one history for life and writes its own memory. Make one here and talk to it; everything stays on this machine, save what you send to a hosted model.</p>
      <div className="firstgrid">
        <section aria-label="New agent">
          <NewAgent suggested="Agent 1" onModel={setModel} />
        </section>
        <aside className="side" aria-label="About models">
          {isEmbedded(model) && (
            <div className="panel">
              <h2><Icon name="chip" />The built-in model is small</h2>
              <p>It runs on this machine’s processor, without a key. Use it to try things. It gets facts wrong and loses long instructions; real work wants a real model. Its weights are fetched at the first use, which takes a while.</p>
            </div>
          )}
          <div className="panel">
            <h2><Icon name="plug" />{model && !isEmbedded(model) ? "Use another one" : "Use a better one"}</h2>
            <ul className="small">
              <li>A running Ollama, LM Studio or llama.cpp on this machine is found by itself.</li>
              <li>Or set the key of a provider where you start the server:
                <pre className="code">ANTHROPIC_API_KEY=… make run</pre>
              </li>
            </ul>
          </div>
        </aside>
      </div>
    </div>
  );
}
