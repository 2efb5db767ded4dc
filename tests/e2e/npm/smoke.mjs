// The life of an agent through the published npm client; prints what it saw as one JSON object.
// Usage: node smoke.mjs BASE_URL USER_ID

import Letta from '@letta-ai/letta-client';

const [baseURL, userId] = process.argv.slice(2);
const client = new Letta({ baseURL, apiKey: 'none', maxRetries: 0, defaultHeaders: { user_id: userId } });
const seen = {};

async function all(page) {
  const items = [];
  for await (const item of page) items.push(item);
  return items;
}

seen.health = (await client.health()).status;

const agent = await client.agents.create({
  name: 'Smoke',
  model: 'openai/gpt-4o-mini',
  memory_blocks: [{ label: 'human', value: 'Name: Eve' }],
  tags: ['npm'],
});
seen.created = { name: agent.name, labels: agent.blocks.map((block) => block.label), tags: agent.tags };
seen.listed = (await all(client.agents.list({ tags: ['npm'] }))).map((each) => each.id === agent.id);
seen.bare = (await client.agents.retrieve(agent.id)).tags;
seen.retrieved = (await client.agents.retrieve(agent.id, { include: ['agent.tags'] })).tags;
seen.updated = (await client.agents.update(agent.id, { description: 'A smoke test' })).description;

const shared = await client.blocks.create({ label: 'city', value: 'Lisbon' });
await client.agents.blocks.attach(shared.id, { agent_id: agent.id });
seen.blocks = (await all(client.agents.blocks.list(agent.id))).map((block) => block.label).sort();
seen.edited = (await client.agents.blocks.update('city', { agent_id: agent.id, value: 'Porto' })).value;
seen.block = (await client.blocks.retrieve(shared.id)).value;
await client.agents.blocks.detach(shared.id, { agent_id: agent.id });
seen.tools = (await all(client.agents.tools.list(agent.id))).map((tool) => tool.name).sort();

const answer = await client.agents.messages.create(agent.id, {
  messages: [{ role: 'user', content: 'Hello' }],
});
seen.answer = answer.messages.map((message) => message.content);
seen.stop_reason = answer.stop_reason.stop_reason;

const stream = await client.agents.messages.create(agent.id, {
  input: 'I like figs',
  streaming: true,
  stream_tokens: true,
});
seen.streamed = [];
seen.words = '';
for await (const chunk of stream) {
  if (seen.streamed.at(-1) !== chunk.message_type) seen.streamed.push(chunk.message_type);
  if (chunk.message_type === 'assistant_message') seen.words += chunk.content;
}
seen.human = (await client.agents.blocks.retrieve('human', { agent_id: agent.id })).value;

seen.history = (await all(client.agents.messages.list(agent.id, { order: 'asc', limit: 3 }))).map(
  (message) => message.message_type,
);
const run = (await all(client.runs.list({ agent_id: agent.id })))[0];
seen.run = run.status;
seen.steps = (await all(client.runs.steps.list(run.id))).length;

const compacted = await client.agents.messages.compact(agent.id, { compaction_settings: { mode: 'all' } });
seen.compacted = [compacted.summary, compacted.num_messages_after < compacted.num_messages_before];
seen.found = (await client.messages.search({ query: 'figs' })).length > 0;

await client.agents.delete(agent.id);
try {
  await client.agents.retrieve(agent.id);
} catch (error) {
  seen.gone = [error.constructor.name, error.status];
}

console.log(JSON.stringify(seen));
