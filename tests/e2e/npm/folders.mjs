// Folders and their files through the published npm client; prints what it saw as one JSON object.
// Usage: node folders.mjs BASE_URL USER_ID

import Letta, { toFile } from '@letta-ai/letta-client';

const [baseURL, userId] = process.argv.slice(2);
const client = new Letta({ baseURL, apiKey: 'none', maxRetries: 0, defaultHeaders: { user_id: userId } });
const seen = {};
const text = 'The gate is green.\nThe key hangs on the nail.\n';

async function all(page) {
  const items = [];
  for await (const item of page) items.push(item);
  return items;
}

async function over(file, folder_id) {
  for (;;) {
    const found = await client.folders.files.retrieve(file.id, { folder_id, include_content: true });
    if (['completed', 'error'].includes(found.processing_status)) return found;
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

const folder = await client.folders.create({ name: 'garden', description: 'papers' });
seen.created = [folder.name, folder.description, folder.embedding_config.handle];
seen.taken = await refused(client.folders.create({ name: 'garden' }));
seen.updated = (await client.folders.update(folder.id, { instructions: 'Read with care.' })).instructions;
seen.listed = (await all(client.folders.list({ name: 'garden' }))).map((each) => each.id === folder.id);

const upload = async (name, options) =>
  client.folders.files.upload(folder.id, { file: await toFile(Buffer.from(text), name), ...options });
const file = await upload('gate.txt');
seen.uploaded = [file.file_name, file.processing_status, file.file_size];
const read = await over(file, folder.id);
seen.read = [read.processing_status, read.content === text, read.chunks_embedded];
seen.numbered = (await upload('gate.txt')).file_name;
seen.skipped = (await upload('wall.txt', { name: 'gate.txt', duplicate_handling: 'skip' })).original_file_name;
seen.refused = await refused(upload('gate.exe'));
seen.files = (await all(client.folders.files.list(folder.id))).map((each) => each.file_name).sort();

const agent = await client.agents.create({ model: 'openai/gpt-4o-mini' });
seen.attached = await client.agents.folders.attach(folder.id, { agent_id: agent.id });
seen.holders = (await client.folders.agents.list(folder.id)).map((id) => id === agent.id);
seen.folders = (await all(client.agents.folders.list(agent.id))).map((each) => each.name);
const open = async () =>
  (await all(client.agents.files.list(agent.id, { is_open: true }))).map((each) => each.file_name);
seen.open = (await open()).includes('garden/gate.txt');
seen.closed = (await client.agents.files.closeAll(agent.id)).includes('garden/gate.txt');
seen.evicted = await client.agents.files.open(file.id, { agent_id: agent.id });
seen.opened = await open();
await client.agents.folders.detach(folder.id, { agent_id: agent.id });
seen.detached = (await all(client.agents.folders.list(agent.id))).length;

await client.folders.files.delete(file.id, { folder_id: folder.id });
seen.gone = await refused(client.folders.files.retrieve(file.id, { folder_id: folder.id }));
await client.folders.delete(folder.id);
seen.deleted = await refused(client.folders.retrieve(folder.id));

console.log(JSON.stringify(seen));
