// Runs of every sort through the published npm client; prints what it saw as one JSON object.
// Usage: node runs.mjs BASE_URL USER_ID

import Letta from '@letta-ai/letta-client';

const [baseURL, userId] = process.argv.slice(2);
const client = new Letta({ baseURL, apiKey: 'none', maxRetries: 0, defaultHeaders: { user_id: userId } });
const seen = {};
const human = { label: 'human', value: 'Name: Eve' };
const sensor = {
  name: 'read_sensor',
  description: 'Reads a sensor.',
  parameters: { type: 'object', properties: { room: { type: 'string' } } },
};

async function all(page) {
  const items = [];
  for await (const item of page) items.push(item);
  return items;
}

const kinds = (messages) => messages.map((message) => message.message_type.replace(/_message$/, ''));
const words = (messages) =>
  messages
    .filter((message) => message.message_type === 'assistant_message')
    .map((message) => message.content)
    .join('');

async function over(run) {
  for (;;) {
    const found = await client.runs.retrieve(run.id);
    if (!['created', 'running'].includes(found.status)) return found;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function refused(promise) {
  try {
    await promise;
  } catch (error) {
    return [error.constructor.name, error.status];
  }
  return null;
}

const agent = await client.agents.create({ model: 'openai/gpt-4o-mini', memory_blocks: [human] });

// A reader that leaves, and comes back where it left.
const first = [];
const stream = await client.agents.messages.create(agent.id, {
  input: 'Count',
  streaming: true,
  stream_tokens: true,
  background: true,
});
for await (const chunk of stream) {
  first.push(chunk);
  if (chunk.message_type === 'assistant_message') break;
}
const last = first.at(-1);
const rest = await all(await client.runs.messages.stream(last.run_id, { starting_after: last.seq_id }));
seen.resumed = words([...first, ...rest]);
seen.numbers = [...first, ...rest].map((chunk) => chunk.seq_id).filter((number) => number);
seen.ending = kinds(rest.slice(-2));

// A run that nobody waits for, and all that is on record of it.
const run = await client.agents.messages.createAsync(agent.id, { input: 'I like figs' });
seen.async = [run.status, run.background, (await over(run)).stop_reason];
seen.messages = kinds(await all(client.runs.messages.list(run.id)));
seen.usage = (await client.runs.usage.retrieve(run.id)).total_tokens > 0;
const steps = await all(client.runs.steps.list(run.id));
seen.steps = steps.map((step) => step.status);
const step = await client.steps.retrieve(steps[0].id);
seen.step = [step.id === steps[0].id, step.model];
seen.listed = (await all(client.steps.list({ agent_id: agent.id }))).length;
seen.step_messages = kinds(await all(client.steps.messages.list(step.id)));
seen.metrics = (await client.steps.metrics.retrieve(step.id)).id === step.id;
seen.feedback = (await client.steps.feedback.create(step.id, { feedback: 'positive' })).feedback;
seen.runs = (await all(client.runs.list({ agent_id: agent.id, background: true }))).length;

// One that is cancelled while the model speaks.
const slow = await client.agents.messages.createAsync(agent.id, { input: 'Take your time', stream_tokens: true });
for await (const chunk of await client.runs.messages.stream(slow.id)) {
  if (chunk.message_type === 'assistant_message') break;
}
seen.cancel = Object.values(await client.agents.messages.cancel(agent.id, { run_ids: [slow.id] }));
seen.cancelled = (await over(slow)).stop_reason;
const after = await all(await client.runs.messages.stream(slow.id));
seen.cancelled_stream = after.at(-2).stop_reason;
seen.nothing = await refused(client.agents.messages.cancel(agent.id));

// People in the loop: allowed, and not.
const careful = await client.agents.create({
  model: 'openai/gpt-4o-mini',
  memory_blocks: [human],
  include_base_tool_rules: false,
  tool_rules: [{ type: 'requires_approval', tool_name: 'memory_insert' }],
});
async function answer(approve) {
  const asked = await client.agents.messages.create(careful.id, { input: 'I like figs' });
  const request = asked.messages.at(-1);
  const pending = await client.agents.retrieve(careful.id, { include: ['agent.pending_approval'] });
  const meanwhile = await refused(client.agents.messages.create(careful.id, { input: 'Hello?' }));
  const item = { type: 'approval', tool_call_id: request.tool_call.tool_call_id, approve, reason: 'Because' };
  const said = await client.agents.messages.create(careful.id, {
    messages: [{ type: 'approval', approvals: [item] }],
  });
  const status = said.messages.find((message) => message.message_type === 'tool_return_message').status;
  return [asked.stop_reason.stop_reason, pending.pending_approval.id === request.id, meanwhile, status, words(said.messages)];
}
seen.approved = await answer(true);
seen.denied = await answer(false);
seen.human = (await client.agents.blocks.retrieve('human', { agent_id: careful.id })).value;

// A tool that only this client has.
async function sense(reply) {
  const asked = await client.agents.messages.create(agent.id, { input: 'How warm?', client_tools: [sensor] });
  const call = asked.messages.at(-1).tool_call;
  const said = await client.agents.messages.create(agent.id, {
    messages: [reply(call.tool_call_id)],
    client_tools: [sensor],
  });
  return [asked.stop_reason.stop_reason, call.name, words(said.messages)];
}
seen.client_tool = await sense((tool_call_id) => ({
  type: 'approval',
  approvals: [{ type: 'tool', tool_call_id, tool_return: '21', status: 'success' }],
}));
seen.tool_return = await sense((tool_call_id) => ({
  type: 'tool_return',
  tool_returns: [{ type: 'tool', tool_call_id, tool_return: '21', status: 'success' }],
}));

// Conversations, and one that branches off.
const talk = await client.conversations.create({ agent_id: agent.id, summary: 'Figs' });
const told = await all(await client.conversations.messages.create(talk.id, { input: 'Hello' }));
seen.talk = [words(told), talk.agent_id === agent.id];
const history = await all(client.conversations.messages.list(talk.id, { order: 'asc' }));
seen.talk_history = kinds(history);
const branch = await client.conversations.fork(talk.id, { message_id: history[1].id });
seen.branch = kinds(await all(client.conversations.messages.list(branch.id, { order: 'asc' })));
seen.branch_talk = words(await all(await client.conversations.messages.create(branch.id, { input: 'Go on' })));
seen.talks = (await client.conversations.list({ agent_id: agent.id })).length;
seen.renamed = (await client.conversations.update(talk.id, { summary: 'Dates' })).summary;
const replayed = await client.conversations.messages.create(branch.id, { input: 'Again', background: true });
const replayedRun = (await all(replayed))[0].run_id;
seen.replayed = words(await all(await client.conversations.messages.stream(branch.id, { run_id: replayedRun })));
seen.idle = await refused(client.conversations.cancel(talk.id));
await client.conversations.delete(talk.id);
seen.gone = await refused(client.conversations.retrieve(talk.id));

console.log(JSON.stringify(seen));
