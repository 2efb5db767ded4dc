// Calls every method of the published npm client once, and prints what went over the wire as a JSON array.
// Usage: node contract.mjs BASE_URL USER_ID MCP_CONFIG

import Letta, { toFile } from '@letta-ai/letta-client';

const [baseURL, userId, mcpConfig] = process.argv.slice(2);
const seen = [];
let speaking = null;

async function watched(url, init) {
  if (!String(url).startsWith(baseURL)) return fetch(url, init); // it tries out what fetch can do
  const method = init?.method ?? 'GET';
  const name = speaking;
  const response = await fetch(url, init);
  const isStream = (response.headers.get('content-type') ?? '').startsWith('text/event-stream');
  const body = isStream ? null : await response.clone().text();
  seen.push({ name, method, path: new URL(url).pathname, status: response.status, body });
  return response;
}

const client = new Letta({
  baseURL,
  apiKey: 'none',
  maxRetries: 0,
  defaultHeaders: { user_id: userId },
  fetch: watched,
});

// Pages are turned to their end, streams read to theirs.
async function call(name, ...args) {
  speaking = name;
  const parts = name.split('.');
  const method = parts.pop();
  const target = parts.reduce((found, part) => found[part], client);
  const answer = await target[method](...args);
  if (answer?.[Symbol.asyncIterator] === undefined) return answer;
  const items = [];
  for await (const item of answer) items.push(item);
  return items;
}

async function until(holds) {
  const deadline = Date.now() + 20000;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error('what was waited for did not come about');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const embedding = 'openai/text-embedding-3-small';
const source = 'def double(n: int) -> int:\n    """Doubles.\n\n    Args:\n        n: A number.\n    """\n    return 2 * n\n';

// Agents, blocks, tools
const made = await call('agents.create', {
  model: 'openai/gpt-4o-mini',
  embedding,
  memory_blocks: [{ label: 'human', value: 'Name: Eve' }],
  tags: ['first'],
});
const agent_id = made.id;
await call('agents.list', { limit: 10 });
await call('agents.update', agent_id, { description: 'Calm.' });
await call('agents.retrieve', agent_id, { include: ['agent.blocks', 'agent.tags'] });
await call('agents.recompile', agent_id);
const exported = await call('agents.exportFile', agent_id);
const text = typeof exported === 'string' ? exported : JSON.stringify(exported);
const imported = await call('agents.importFile', { file: await toFile(Buffer.from(text), 'eve.af') });
await call('agents.delete', imported.agent_ids[0]);
await call('tags.list');
const block = await call('blocks.create', { label: 'notes', value: 'None yet.' });
await call('blocks.list');
await call('blocks.retrieve', block.id);
await call('blocks.update', block.id, { value: 'One.' });
await call('agents.blocks.attach', block.id, { agent_id });
await call('blocks.agents.list', block.id);
await call('agents.blocks.list', agent_id);
await call('agents.blocks.retrieve', 'notes', { agent_id });
await call('agents.blocks.update', 'notes', { agent_id, value: 'Two.' });
await call('agents.blocks.detach', block.id, { agent_id });
await call('blocks.delete', block.id);
const tool = await call('tools.create', { source_code: source });
await call('tools.upsert', { source_code: source });
await call('tools.list', { name: 'double' });
await call('tools.retrieve', tool.id);
await call('tools.update', tool.id, { tags: ['sums'] });
await call('tools.search', { query: 'double' });
await call('agents.tools.attach', tool.id, { agent_id });
await call('agents.tools.list', agent_id);
await call('agents.tools.updateApproval', 'double', { agent_id, body_requires_approval: false });
await call('agents.tools.run', 'double', { agent_id, args: { n: 21 } });
await call('agents.tools.detach', tool.id, { agent_id });
await call('tools.delete', tool.id);

// Messages, runs, steps
await call('agents.messages.create', agent_id, { input: 'The owl is awake.' });
await call('agents.messages.stream', agent_id, { input: 'Hello again', stream_tokens: true });
const said = await call('agents.messages.list', agent_id);
await call('messages.list');
await call('messages.retrieve', said.at(-1).id);
await call('messages.search', { query: 'owl' });
await call('agents.messages.compact', agent_id);
const run = await call('agents.messages.createAsync', agent_id, { input: 'Later' });
await until(async () => (await call('runs.retrieve', run.id)).status === 'completed');
await call('runs.list');
await call('runs.messages.list', run.id);
await call('runs.messages.stream', run.id);
await call('runs.usage.retrieve', run.id);
await call('runs.trace.retrieve', run.id);
const [step] = await call('runs.steps.list', run.id);
await call('steps.list');
await call('steps.retrieve', step.id);
await call('steps.feedback.create', step.id, { feedback: 'positive' });
await call('steps.messages.list', step.id);
await call('steps.metrics.retrieve', step.id);
await call('steps.trace.retrieve', step.id);
await call('agents.messages.createAsync', agent_id, { input: 'Wait' });
await call('agents.messages.cancel', agent_id);
await call('agents.messages.reset', agent_id, { add_default_initial_messages: false });

// Conversations
const conversation = await call('conversations.create', { agent_id });
await call('conversations.list', { agent_id });
await call('conversations.retrieve', conversation.id);
await call('conversations.update', conversation.id, { summary: 'Owls' });
for (const input of ['The owl sleeps.', 'The owl wakes.']) {
  await call('conversations.messages.create', conversation.id, { input, streaming: false });
}
await call('conversations.messages.list', conversation.id);
await call('conversations.recompile', conversation.id);
await call('conversations.fork', conversation.id);
await call('conversations.messages.compact', conversation.id);
speaking = 'conversations.messages.create';
const waiting = await client.conversations.messages.create(conversation.id, { input: 'Wait', background: true });
await call('conversations.cancel', conversation.id);
for await (const _ of waiting);
const [cancelled] = await call('runs.list', { conversation_id: conversation.id, background: true });
await call('conversations.messages.stream', conversation.id, { run_id: cancelled.id });
await call('conversations.delete', conversation.id);

// Archives, folders, identities
const archive = await call('archives.create', { name: 'owls', embedding });
await call('archives.list');
await call('archives.retrieve', archive.id);
await call('archives.update', archive.id, { description: 'About owls.' });
const passage = await call('archives.passages.create', archive.id, { text: 'Owls see in the dark.' });
await call('archives.passages.createMany', archive.id, { passages: [{ text: 'They fly without a sound.' }] });
await call('agents.archives.attach', archive.id, { agent_id });
await call('passages.search', { query: 'owls' });
const [added] = await call('agents.passages.create', agent_id, { text: 'Eve likes owls.' });
await call('agents.passages.list', agent_id);
await call('agents.passages.search', agent_id, { query: 'owls' });
await call('agents.passages.delete', added.id, { agent_id });
await call('archives.passages.delete', passage.id, { archive_id: archive.id });
await call('agents.archives.detach', archive.id, { agent_id });
await call('archives.delete', archive.id);
const folder = await call('folders.create', { name: 'owls', embedding });
const folder_id = folder.id;
const file = await call('folders.files.upload', folder_id, {
  file: await toFile(Buffer.from('Owls see in the dark.\n'), 'owls.txt'),
});
await until(
  async () => (await call('folders.files.retrieve', file.id, { folder_id })).processing_status === 'completed',
);
await call('folders.list');
await call('folders.retrieve', folder_id);
await call('folders.update', folder_id, { description: 'About owls.' });
await call('agents.folders.attach', folder_id, { agent_id });
await call('agents.folders.list', agent_id);
await call('folders.agents.list', folder_id);
await call('folders.files.list', folder_id);
await call('agents.files.list', agent_id);
await call('agents.files.close', file.id, { agent_id });
await call('agents.files.open', file.id, { agent_id });
await call('agents.files.closeAll', agent_id);
await call('agents.folders.detach', folder_id, { agent_id });
await call('folders.files.delete', file.id, { folder_id });
await call('folders.delete', folder_id);
const identity = await client.post('/v1/identities/', {
  body: { identifier_key: 'eve', name: 'Eve', identity_type: 'user' },
});
await call('agents.identities.attach', identity.id, { agent_id });
await call('agents.identities.detach', identity.id, { agent_id });

// MCP servers and models
const server = await call('mcpServers.create', { server_name: 'tiny', config: JSON.parse(mcpConfig) });
await call('mcpServers.list');
await call('mcpServers.retrieve', server.id);
await call('mcpServers.update', server.id, { server_name: 'smaller', config: JSON.parse(mcpConfig) });
await call('mcpServers.refresh', server.id);
const [offered] = await call('mcpServers.tools.list', server.id);
await call('mcpServers.tools.retrieve', offered.id, { mcp_server_id: server.id });
await call('mcpServers.tools.run', offered.id, { mcp_server_id: server.id, args: {} });
await call('mcpServers.delete', server.id);
await call('models.list');
await call('models.embeddings.list');

// Schedules, templates, access tokens
const later = await call('agents.schedule.create', agent_id, {
  messages: [{ role: 'user', content: 'Good morning' }],
  schedule: { type: 'recurring', cron_expression: '0 8 * * *' },
});
await call('agents.schedule.list', agent_id);
await call('agents.schedule.retrieve', later.id, { agent_id });
await call('agents.schedule.delete', later.id, { agent_id });
await call('templates.create', { type: 'agent', agent_id, name: 'calm' });
await call('templates.save', 'calm', { message: 'As it is.' });
await call('templates.agents.create', 'calm:latest', {});
await call('templates.update', 'calm', { agent_file_json: JSON.parse(text) });
await call('templates.rollback', 'calm', { version: '1' });
await call('templates.delete', 'calm');
const token = await call('accessTokens.create', {
  hostname: 'https://owls.example',
  policy: [{ id: agent_id, type: 'agent', access: ['read_messages'] }],
});
await call('accessTokens.list');
await call('accessTokens.delete', token.token);
await call('health');
await call('agents.delete', agent_id);

console.log(JSON.stringify(seen));
