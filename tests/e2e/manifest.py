"""What the REST API promises, each behaviour under an id; tests cite ids with `@pytest.mark.promise("…")`.

One dict per area, so that an area can grow without touching the others: a new area is a new dict and a line
in `PROMISES`. `GAPS` says what is promised but not kept yet: an entry there is cited by no test, and leaves
when a test cites it. `test_manifest.py` sees to both.
"""

AGENTS_CREATE = {
    "agents.create.atomic": "A refused create leaves nothing behind: no agent, block, tag or message.",
    "agents.create.base-rules": "Base tools bring exit and continue rules, by kind, or as asked for.",
    "agents.create.base-tools": "include_base_tools=false leaves only what was asked for.",
    "agents.create.block-ids": "Blocks given by id are shared; an unknown one is a 404.",
    "agents.create.blocks": "memory_blocks are made in order, with default limit, metadata and description.",
    "agents.create.compaction": "compaction_settings are filled with defaults; each mode has its prompt.",
    "agents.create.default-model": "Without a model the server's default is taken.",
    "agents.create.default-name": "Without a name an agent gets two words in CamelCase.",
    "agents.create.embedding": "An embedding handle is resolved into a configuration.",
    "agents.create.errors": "The SDK raises the error class of each status.",
    "agents.create.file-limits": "Open files are bounded by the window's size, or as chosen up to a maximum.",
    "agents.create.hidden": "hidden, or the tag role:subagent, hides an agent.",
    "agents.create.initial-messages": "initial_message_sequence replaces the default start after the system message.",
    "agents.create.kinds": "Each agent_type has its tools, prompt, first messages and settings.",
    "agents.create.llm-config": "llm_config and embedding_config given in full are taken as they are.",
    "agents.create.minimal": "A model is enough; the kind defaults to letta_v1_agent, the timezone to UTC.",
    "agents.create.model": "A handle is resolved into a whole configuration.",
    "agents.create.model-errors": "No model or no slash 400, unknown model 404, unknown embedding 400.",
    "agents.create.name": "Names hold letters of any script, digits, spaces and _ - '; all else is a 422.",
    "agents.create.response-format": "response_format is kept in each of its three shapes.",
    "agents.create.rules": "The nine rules round-trip; rules that cannot work are a 400.",
    "agents.create.secrets": "Secrets are shown in clear, under their new and their older key.",
    "agents.create.secrets-at-rest": "Secrets are encrypted in the database, and the cipher is never shown.",
    "agents.create.settings": "model_settings and llm_config are two views of one truth.",
    "agents.create.sleeptime-helper": "enable_sleeptime makes a helper that shares the blocks, and its group.",
    "agents.create.sleeptime": "With enable_sleeptime an agent gets the tools of a helped one.",
    "agents.create.tags": "Tags keep their order, each once; a tag that cannot be indexed is a 422.",
    "agents.create.texts": "system, description, metadata, project and template ids are kept as given.",
    "agents.create.timezone": "A timezone is an IANA name, else 422; prompts show its time.",
    "agents.create.tools": "Tools by name and by id are joined with the base tools; unknown ones are a 400.",
    "agents.create.window": "context_window_limit becomes the configuration's window.",
}

AGENTS_READ = {
    "agents.context": "The overview of the context tells the tokens of each part, and they add up.",
    "agents.core-memory": "core-memory is the memory of the agent state alone.",
    "agents.list.cursors": "before and after follow the order asked for; an unknown cursor is a 404.",
    "agents.list.filters": "Every filter narrows the list and the count alike.",
    "agents.list.hidden": "Hidden agents are left out of lists and counts, but can be read.",
    "agents.list.limit": "A page holds 50 unless told otherwise.",
    "agents.list.order": "Newest first by default; by creation, change or last run, either way.",
    "agents.list.paging": "The SDK's automatic paging yields each agent once.",
    "agents.list.sdk": "Lists load for the SDK only the relations in include.",
    "agents.retrieve.errors": "An unknown agent is a 404.",
    "agents.retrieve.include": "include loads what it names and nothing else.",
    "agents.retrieve.plain": "Clients other than the SDK get all relations unless they choose.",
    "agents.retrieve.sdk": "The SDK gets empty relations without include.",
    "agents.state.keys": "The keys of an agent, block, tool and secret, and their order.",
    "agents.state.times": "Times have microseconds and end in Z.",
}

AGENTS_CHANGE = {
    "agents.delete": "Delete answers a message; afterwards everything about the agent is a 404.",
    "agents.recompile": "recompile gives the compiled text; dry_run stores nothing, update_timestamp renews the time.",
    "agents.reset": "Reset clears the context and keeps the history; it adds the first messages if asked.",
    "agents.update.at-once": "Changes of different settings that come at once are all kept.",
    "agents.update.compaction": "compaction_settings merge by field; another mode brings its prompt.",
    "agents.update.errors": "A refused change changes nothing.",
    "agents.update.hidden": "hidden is applied.",
    "agents.update.lists": "Lists and maps replace the whole set.",
    "agents.update.message-ids": "message_ids choose the context; the system message stays first.",
    "agents.update.model": "Another model is resolved anew; settings change what they mention.",
    "agents.update.nulls": "Null and absent fields are untouched.",
    "agents.update.recompiles": "A change that shows in the system message recompiles it, under the same id.",
    "agents.update.scalars": "Each field changes alone.",
    "agents.update.sdk": "The answer to a change has all relations, also for the SDK.",
}

BLOCKS = {
    "agents.blocks.attach": "Attach and detach are idempotent, recompile, and answer the agent.",
    "agents.blocks.by-label": "A block is read and changed by its label, which may hold a slash.",
    "agents.blocks.labels": "Two blocks of one label on one agent are a 409.",
    "agents.blocks.list": "The blocks of an agent, newest first, by pages.",
    "blocks.create": "A block needs a label; all else has defaults; what cannot be is a 422.",
    "blocks.delete": "Delete answers null and takes the block from all holders.",
    "blocks.limit": "A value over its limit is a 422 that changes nothing, by id and by label.",
    "blocks.list": "Oldest first by default; every filter narrows list and count.",
    "blocks.read-only": "read_only binds agents, not the API.",
    "blocks.shared": "A shared block is one for all who hold it.",
    "blocks.update": "A change is partial.",
}

TOOLS = {
    "agents.tools.approval-by-default": "A tool that asks for approval by default brings its rule at create and attach.",
    "agents.tools.attach": "Attach and detach are idempotent; null to the SDK, the agent to others.",
    "agents.tools.list": "Ten tools of an agent by default.",
    "tools.create": "A tool is made from its source alone; a name that exists is changed in place, by POST and by PUT.",
    "tools.delete": "Delete answers null and takes the tool from all holders.",
    "tools.generate-schema": "The schema of a source, without a tool being made.",
    "tools.languages": "TypeScript and JavaScript tools have their schema from types and comments, or as given.",
    "tools.refused": "A source that cannot be a tool is a 400 that says why, and changes nothing.",
    "tools.run": "A source is run once: a return message, or an error that says what went wrong.",
    "tools.run.agent": "A tool is run for an agent outside its conversation; one it does not hold is a 404.",
    "tools.run.arguments": "Arguments become what the function asks for: enums, models, dates; those that do not fit are told.",
    "tools.run.called": "An agent calls its own tools in the loop; errors, output and cuts are told to the model.",
    "tools.run.cancelled": "A call of a tool that is cut by a cancel is an error return, and the agent goes on.",
    "tools.run.client": "A tool that may calls this server with a token for its agent alone.",
    "tools.run.killed": "A server killed in the middle of a tool's call tells the model that nobody knows what came of it.",
    "tools.run.packages": "Packages are installed once per set; what cannot be installed is an error return.",
    "tools.run.scripts": "TypeScript and JavaScript tools are run by node.",
    "tools.run.secrets": "What tools are trusted with is in no log, and in no list that did not ask.",
    "tools.run.together": "Tools of one's own that may are run at once, and return in the order of their calls.",
    "tools.run.variables": "Secrets of the agent and variables of the sandbox reach the tool, and nothing else does.",
    "tools.search": "Tools are found by the words of their names, descriptions and parameters.",
    "tools.update": "A change is partial; a new source alone keeps the schema.",
    "tools.list": "Built-in tools are listed, filtered and counted.",
    "tools.retrieve": "A tool is read by its id.",
}

IDENTITIES = {
    "agents.state.identities": "An agent shows the identities it belongs to, where it is asked for them.",
    "identities.belongings": "Agents and blocks are attached to identities, listed and found by them, and stay when they go.",
    "identities.crud": "Identities are made, read, changed, listed by every filter, counted and deleted.",
    "identities.key": "A key is taken once in a project; PUT changes the one that has it, also when many come at once.",
    "identities.properties": "Properties fit their types, and are changed one by one or all together.",
    "identities.refused": "What cannot be is refused and changes nothing.",
}

CHAT = {
    "chat.answer": "An agent answers OpenAI's client as a model would, and remembers; only what is new is sent on.",
    "chat.errors": "Errors have the shape that OpenAI's clients read, before and within a stream.",
    "chat.images": "Images in OpenAI's form reach the agent.",
    "chat.names": "An agent is named as the model by its id or its name, a conversation by its id.",
    "chat.stream": "Answers are streamed as chunks, with usage if asked for; who leaves takes the run along.",
    "chat.tools": "Tools that the client offers are called and answered in OpenAI's form.",
}

GENERATING = {
    "agents.generate": "One bare call of an agent's model, or of another, with a schema if asked; nothing is remembered.",
    "tools.generate-tool": "A model writes a tool, is told of its faults, and is refused if it cannot; nothing is kept.",
}

TEMPLATES = {
    "templates.create": "An agent or a file becomes a template; agents are made from it, filled with variables, helpers too.",
    "templates.delete": "Agents outlive their template.",
    "templates.migrate": "Agents are brought to a new version, all or none, and keep what is theirs or is to be kept.",
    "templates.refused": "What cannot be is refused and changes nothing.",
    "templates.tools": "Tools of a file replace those here only if that is asked for.",
    "templates.versions": "Versions are saved, chosen by number or name, listed, and gone back to without losing changes.",
}

ARCHIVES = {
    "archival.delete": "What is deleted from archival memory is found no more.",
    "archival.insert": "The first insert makes the agent an archive; with two attached an insert is a 400.",
    "archival.list": "Passages of an agent, oldest first, by pages, filtered by a part of their text.",
    "archival.search": "By meaning and words, tags and dates in the agent's zone, with scores and ranks.",
    "archival.tools": "An agent keeps notes with the step that made them, and finds them.",
    "archival.tools.errors": "A note that cannot be kept is answered with the reason.",
    "archival.without-vectors": "Where the embedding model does not answer, words are enough.",
    "archives.reembed": "An archive that is given another embedding model is embedded anew.",
    "archives.agents": "An archive is attached, shared, detached, and outlives its agents.",
    "archives.crud": "Archives are made, read, changed, listed and deleted with their passages.",
    "archives.errors": "What cannot be is refused and changes nothing.",
    "archives.organisations": "No archive is seen from another organisation.",
    "archives.passages": "Passages keep text, tags, metadata and time, and come with their vectors.",
    "passages.search": "All archives or one, by meaning, words, tags and dates, with real scores.",
}

SEARCHING = {
    "messages.search": "Messages are found by words at once and by meaning soon, with scores and ranks.",
    "messages.search.depth": "Facts told 500 messages ago are among the first five hits of 10,000 messages.",
    "messages.search.errors": "A search that cannot be is refused.",
    "messages.search.filters": "Agents, roles, dates and conversations filter before ranking.",
    "messages.search.model-change": "Another embedding model embeds everything anew, each text once, with progress.",
    "messages.search.tool": "An agent finds what was meant, not only what was said.",
}

SANDBOX = {
    "builtins.fetch": "Pages are read as text; those inside this network are refused, by name and by number.",
    "builtins.run-code": "Programs in several languages are run, and what they print and return is told.",
    "builtins.run-code-with-tools": "A program calls the agent's tools, but none that a person must approve.",
    "builtins.search": "Without a key a search is an error return that says which one is missing.",
    "sandbox.config": "The local configuration is made, shown with the isolation in force, changed and deleted.",
    "sandbox.e2b": "Settings of a hosted sandbox are kept as data; what is shown with them says how tools are run.",
    "sandbox.variables": "Variables are made, listed, changed and deleted, and are encrypted at rest.",
}

CATALOGUES = {
    "models.embeddings": "Embedding models are listed.",
    "models.list": "Models are listed with new and old keys, filtered by provider.",
    "tags.list": "Tags of agents and blocks, sorted; cursors are tags.",
}

DOORS = {
    "doors.errors": "Every refusal is JSON with a text in detail.",
    "doors.health": "Health and readiness tell version and status.",
    "doors.ids": "A malformed id is a 422 with an example of a good one.",
    "doors.latest": "/latest serves what /v1 serves.",
    "doors.odd-bodies": "What is no JSON, or cannot be stored, is a 422 on every route.",
    "doors.odd-fields": "No value in any field makes a route or a later list fail.",
    "doors.odd-queries": "No parameter in path or query makes a route fail.",
    "doors.open": "Without a password any key is accepted.",
    "doors.organisations": "No route shows, changes or joins what belongs to another organisation.",
    "doors.targets": "Where others reach the server, no link, callback or model's address of theirs leads inside.",
    "doors.server": "The server tells what it is: version, database, sandbox, what it keeps.",
    "doors.password": "With a password all but health answers 401 without it; either header opens.",
    "doors.request-id": "Every answer has an id in its header, every refusal in its body; a given one is kept.",
    "doors.slash": "The other form of an address gets a 307 to the exact one.",
    "doors.user": "user_id names the actor; malformed 400, unknown means the default user.",
}

ADMIN = {
    "admin.delete": "A deleted user or organisation opens nothing and passes for nobody; the defaults stay.",
    "admin.only": "Only admins who are confined to no organisation come in.",
    "admin.orgs": "Organisations are made, listed, renamed.",
    "admin.users": "Users are made, listed, renamed and moved; a move leaves keys behind.",
    "audit.log": "Changes, sign-ins and refusals are written down: who, by which key, what, how it went, from where.",
    "doors.cors": "Pages of other origins are let in only if their origin is named, and never with cookies.",
    "doors.isolation": "What exists elsewhere is answered like what never existed, to every role, by every route.",
    "session.csrf": "Signed in by a cookie, a change needs a header that other pages cannot send.",
    "session.sign-in": "The password or a key, shown once, becomes an http-only cookie that may what they may and ends with them.",
    "session.sign-out": "Signing out ends the session itself.",
}

KEYS = {
    "keys.create": "A key is shown once and kept as a digest; nobody hands on more than he has.",
    "keys.expiry": "A key with an end opens nothing after it.",
    "keys.open": "A key opens by either header and names its user; what looks like one must be one.",
    "keys.revoke": "A revoked key opens nothing, at other replicas within seconds.",
    "keys.roles": "read_only reads and searches, user writes, admin administers; a 403 says what a key may do.",
    "keys.scope-agent": "A key for an agent opens it and what belongs to it, and joins nothing else to it.",
    "keys.scope-project": "A key for a project opens what is of that project.",
    "keys.rate": "A key that asks too often gets a 429 that says when to ask again.",
    "keys.tokens": "access_tokens are short-lived keys for agents, with what they may do, for one origin.",
    "keys.user": "Only an admin's key acts as somebody else, and within its organisation if it has one.",
}

SENDING = {
    "cancel.others-runs": "An agent's cancel does not reach the runs of another.",
    "send.client-skills": "Skills of the client are told to the model for one request.",
    "send.logprobs": "The weights of the tokens come with the answer where they are asked for.",
    "mcp.broken": "An MCP server that dies, floods or is not there costs its caller an error and nobody else anything.",
    "mcp.crud": "MCP servers are listed, changed and deleted with their tools.",
    "mcp.environment": "The process of an MCP server sees what it was given, and none of our secrets.",
    "mcp.oauth": "A server that asks for it is signed in to by a person once, and the tokens are kept.",
    "mcp.older-routes": "The older routes go by the server's name and mean the same.",
    "mcp.per-agent": "Placeholders are filled with the secrets of the agent that calls.",
    "mcp.published": "Published servers work: two from PyPI over stdio, one from npm over HTTP.",
    "mcp.refresh": "A refresh brings what is new, takes what is gone, and a changed tool asks again.",
    "mcp.transports": "The tools of a server, over stdio, SSE and HTTP, are there at once, and agents call them.",
    "agents.create.multi-agent-tools": "include_multi_agent_tools adds the three tools that reach other agents.",
    "multi-agent.ask": "An agent asks another, which sees who asks, and goes on with its answer.",
    "multi-agent.cancel": "Cancelling an agent's run cancels the runs that it waits for, however deep.",
    "multi-agent.bounds": "Unknown agents, oneself, questions back, too many agents and too long rows are error returns.",
    "multi-agent.no-deadlock": "Two agents that ask each other at once both come to an end.",
    "multi-agent.tags": "All agents with certain tags are asked, but not the sender.",
    "multi-agent.tell": "A message without waiting is a background run of the other agent.",
    "send.answer": "A blocking answer holds messages, stop reason and usage, with the keys that clients know.",
    "send.failed-input": "The input of a failed run is kept with it, but is no part of the conversation.",
    "send.ids": "What is answered, streamed and listed has the same ids; otids derive from them.",
    "send.images": "Images given in full or by link reach the model; one that cannot be fetched is a 400.",
    "send.in-turn": "Sends to one agent wait for each other.",
    "send.inputs": "messages, with roles, parts, names and otids, or one input; what makes no sense is a 422.",
    "send.not-found": "An agent that is not there, or another organisation's, is a 404.",
    "send.override-model": "override_model answers one message.",
    "send.override-system": "override_system, or system, holds for one message.",
    "send.provider-errors": "A failing provider is told by status and type, once trying again did not help.",
    "send.sdk": "The SDK sends messages or one input, reads the answer and raises refusals.",
    "send.streaming": "streaming=true on the plain route is for the SDK; stream options need a stream.",
    "send.types": "include_return_message_types filters answers and streams, not what is stored.",
    "send.usage": "Tokens are summed over the steps; context_tokens are the last step's.",
}

TURNS = {
    "heartbeat.arguments": "Tools take a thought and a heartbeat; the decision taken is stored with the call.",
    "heartbeat.chain": "request_heartbeat and rules chain steps; one call a step counts.",
    "heartbeat.notices": "Login, heartbeat and other notices are packed, and listed as user messages.",
    "heartbeat.speech": "send_message is shown as an assistant message, or as a call if asked for.",
    "heartbeat.start": "The first messages of a heartbeat agent, or the sequence given instead.",
    "heartbeat.stops": "How a turn of a heartbeat agent ends, and for what reason.",
    "heartbeat.thoughts": "Thoughts are reasoning messages, the model's own before those in arguments.",
    "kinds.react": "A react agent has no memory section and works with the tools it is given.",
    "kinds.sleeptime": "A sleeptime agent ends its turn with memory_finish_edits.",
    "kinds.workflow": "A workflow agent begins each turn anew; its history stays.",
    "native.cut": "An answer cut at the output limit stops with max_tokens_exceeded.",
    "native.max-steps": "The last step ends the turn with max_steps.",
    "native.parallel": "Several calls in one step, where they are allowed; else the first alone.",
    "native.reasoning": "Reasoning is told before the words, as the model's own.",
    "native.text": "Words beside a call are told, stored and sent back to the model.",
    "native.tool-errors": "A tool that fails, is unknown or cannot be called so is an error return; the loop goes on.",
    "native.tools": "A call, its return and the answer.",
    "window.edits": "Memory edits are in the block at once, and in the system message when it is compiled anew.",
    "window.fresh": "What others change meanwhile, the next step knows; nothing of theirs is overwritten.",
    "window.form": "The model sees the system message first, then the history with packed returns.",
    "window.limits": "Limits and read-only blocks are error returns that change nothing.",
    "window.notes": "What others change in an agent's memory reaches it as a note behind the history, once.",
    "window.folded": "Changed memory is compiled into the system message when that is read anew anyway.",
    "window.prefix": "Prompts only grow at their end, over steps and turns.",
    "window.storable": "Odd letters and odd ids in a reply break nothing.",
}

COMPACTION = {
    "compaction.after-step": "A step that fills the window is followed by a summary of what then leaves it.",
    "compaction.again": "A summary is carried over into the next one.",
    "compaction.asked": "summarize and compact make room at once, in their turn; with nothing to leave out nothing changes.",
    "compaction.before-call": "What would not fit makes room before the model is asked.",
    "compaction.conversations": "Every conversation has a window of its own.",
    "compaction.heartbeat": "It works for every kind of agent.",
    "compaction.killed": "A process that dies while room is made loses nothing, and the next one goes on.",
    "compaction.long-turn": "Within a turn its question stays, and calls keep their returns.",
    "compaction.messages": "A reply holds an event and a summary message if asked for, else the packed notice.",
    "compaction.modes": "Each of the four modes leaves what it says.",
    "compaction.going-back": "One can go back to, and branch off at, a message that has left the window.",
    "compaction.next-prompt": "The model sees the summary behind the system message, in place of what left.",
    "compaction.no-model": "Where no model writes a summary, excerpts stand in.",
    "compaction.overflow": "A provider that finds the prompt too long is asked again with less.",
    "compaction.recall": "What left the window is listed, and found by search.",
    "compaction.recompiled": "The system message is compiled anew and keeps its id.",
    "compaction.replicas": "One process makes room, another goes on from there.",
    "compaction.settings": "clip_chars and thresholds hold.",
    "compaction.smaller": "What comes in place of messages is smaller than they were.",
    "compaction.summariser": "The model in the settings writes the summary, or else the agent's own.",
    "compaction.too-large": "A block, tool or message that alone is too large is named, and the agent works when it is mended.",
    "compaction.usage": "What summaries cost is counted.",
    "compaction.warning": "An agent whose window fills up is told, once per fill.",
}

RULES = {
    "rules.children": "constrain_child_tools: only the children may follow, and one must.",
    "rules.conditional": "conditional: the child is chosen by what was returned.",
    "rules.continue-loop": "continue_loop: the turn goes on.",
    "rules.exit-loop": "exit_loop: the turn ends once the call has worked.",
    "rules.max-count": "max_count_per_step: hidden once called that often in a turn.",
    "rules.parent": "parent_last_tool: the children may be called only right after it.",
    "rules.prefill": "Prefilled arguments override the model's; those that do not fit end the turn.",
    "rules.refusal": "A call that is not allowed is not run, and the loop goes on.",
    "rules.required": "required_before_exit: the turn cannot end before.",
    "rules.run-first": "run_first: the turn begins with it, every time.",
    "rules.together": "Rules hold together, and forbid parallel calls.",
    "rules.told": "The rules are told to the model in the system message.",
}

STREAMS = {
    "streams.errors": "A failure in a stream is its stop reason, an error event and [DONE].",
    "streams.left": "A reader who leaves takes the run along, and the next send works.",
    "streams.pings": "A ping first and in silence, unless they are left out.",
    "streams.sdk": "The SDK reads streams of steps and of tokens.",
    "streams.steps": "Whole messages as each step ends, then stop reason, usage and [DONE].",
    "streams.sums": "The pieces of a stream add up to what is stored.",
    "streams.tokens": "Words, thoughts and calls in pieces, as the model gives them.",
}

HISTORY = {
    "messages.edit": "Editing a message is a 405.",
    "messages.list.all": "The messages of all agents of an organisation are one list.",
    "messages.list.cursors": "A cursor that does not exist is a 404.",
    "messages.list.types": "With a filter on types the limit counts what is returned.",
    "messages.list.window": "before is older, after is newer; the order says from which end the limit takes.",
    "messages.preview": "The preview is what the model then receives.",
    "messages.retrieve": "A message is read as the list of its typed messages.",
    "messages.sdk": "The SDK pages through histories.",
}

RUNS = {
    "runs.delete": "A run that is over can be deleted; its messages stay.",
    "runs.list": "Runs are found by agent, status, reason and more, in either order, by pages.",
    "runs.messages": "The messages of a run begin with its input.",
    "runs.gist": "A list of runs tells, if asked, whose they are, what was said, their steps, tokens and cost.",
    "runs.record": "Every send leaves a run, and the agent remembers its last one.",
    "runs.trace": "A run is shown as a tree of spans: steps, and the model, tools and database in each.",
    "steps.trace": "The exact exchange with the model is kept if the operator wants it, without keys and secrets.",
    "steps.trace-errors": "By default the exchange of failed steps is kept, and of no others.",
    "steps.trace-ids": "Steps are found by the id that the provider gave its answer.",
    "approvals.expiry": "A request that nobody answers in time lets the next message pass; its calls are not made.",
    "runs.retrieve": "A run that is not there, or another organisation's, is a 404.",
    "runs.sdk": "The SDK reads runs and steps.",
    "runs.steps": "The steps of a run, newest first.",
    "runs.usage": "Usage and metrics of a run.",
    "steps.feedback": "Feedback and tags on a step.",
    "steps.list": "Steps are found by agent, model, feedback, tags and dates.",
    "steps.retrieve": "A step, its messages and its metrics.",
}

APPROVALS = {
    "approvals.approve": "An approved call is run, in the step that asked and in a run of its own.",
    "approvals.cancel": "Cancelling denies every open call; the request is gone.",
    "approvals.deny": "A denial becomes an error return with its reason, and the loop goes on.",
    "approvals.further": "Messages after an answer are heard after it.",
    "approvals.heartbeat": "Agents that speak through tools ask as well, and go on as they wished.",
    "approvals.match": "An answer must cover exactly what was asked; else 400, and nothing changes.",
    "approvals.mixed": "Text and free calls of the step are shown beside the request; the calls wait too.",
    "approvals.never-stuck": "A tool that was taken away meanwhile is refused, and the agent goes on.",
    "approvals.older-form": "approve and approval_request_id answer all calls at once.",
    "approvals.pending": "Other messages are a 409 PENDING_APPROVAL with x-should-retry: false.",
    "approvals.request": "A gated call stops the loop with a request, shown as pending_approval.",
    "approvals.retry": "An answer given again only makes the agent go on.",
    "approvals.streams": "Requests stream token by token, with explicit nulls and the id they are stored under.",
    "approvals.toggle": "The gate of a tool is put up and taken down by its route.",
    "client-tools.call": "A call of a client's tool stops the loop and is left to the client.",
    "client-tools.hides": "A client's tool hides the server's tool of the same name.",
    "client-tools.limit": "A result too long for the window is cut.",
    "client-tools.mixed": "Calls of the client and of the server in one step are answered together.",
    "client-tools.parts": "A result may be parts with images, and the model sees them.",
    "client-tools.result": "Results come as tool_return or as items of an approval.",
}

LASTING = {
    "background.async": "An async send answers with its run at once, found as active and background.",
    "background.callback": "A callback tells of the end, signed, tried again, and noted on the run.",
    "background.crash": "A run whose process was killed is carried on within 30 s, each step once.",
    "background.crash-queue": "Those who waited behind it are served after it, in order.",
    "background.crash-untold": "What was saved and not told before a crash is told after it, callback included.",
    "background.expiry": "A stream is a 410 three hours after its end; the messages stay.",
    "background.failure": "A failure ends a background stream with an error frame and [DONE].",
    "background.follow": "A run is followed live from any server on the database.",
    "background.foreground": "A stream that was not in the background is a 400.",
    "background.otids": "Messages sent again are answered by the run they started, from any server.",
    "background.resume": "A stream is read again from any frame, byte for byte.",
    "cancel.before-words": "Cancelled before it spoke, a run leaves its input aside.",
    "cancel.elsewhere": "A run is cancelled through any server on the database.",
    "cancel.nothing": "With nothing to cancel it is a 409.",
    "cancel.outcomes": "Unknown runs are failed, those that are over cancelled and unchanged.",
    "cancel.queued": "A run in line is cancelled without disturbing the one before it.",
    "cancel.steps": "Steps saved before the cancel stand.",
    "cancel.streaming": "Cancelled while the model speaks: the provider is left at once, what was said is kept.",
    "lasting.any-order": "In whatever order things happen and processes die, histories hold what was foretold.",
    "lasting.kills": "Killed at the edge of any commit, a server leaves nothing lost, half done or stuck.",
    "regressions.broken-arguments": "Arguments that cannot be read are told to the model, never half run.",
    "regressions.call-and-return": "A call and its return in two runs are one step and one history.",
    "regressions.cancel-ends": "A cancelled stream has stop reason, usage and [DONE].",
    "regressions.cut": "A provider that hangs up leaves no half message.",
    "regressions.dangling-call": "A dangling call in the past does not brick the agent.",
    "regressions.duplicates": "A request tried again is heard once.",
    "regressions.empty-reply": "An empty reply is an error, never an empty message.",
    "regressions.interleaved": "Concurrent sends to one agent do not mix.",
    "regressions.open-approval": "An approval that nobody answers is no dead end.",
    "regressions.stop-in-a-stream": "A server told to stop ends its streams properly, however long they would take.",
    "regressions.silent-stream": "A stream always shows what was said.",
    "regressions.tool-timeout": "A tool that never answers is given up, told to the model, and cancelled at once.",
}

REVISIONS = {
    "conversations.isolated-deleted": "A copy deleted or renamed in its conversation does not show the original again.",
    "revisions.conflict": "base_revision keeps what others wrote since, or is a 409 that names the newest revision.",
    "revisions.find": "Writes are found by the run, the message or the agent that led to them.",
    "revisions.list": "Each write to a block tells who made it, in which run and step, with which tool and why.",
    "revisions.passages": "A passage has a history; a deleted one comes back, and what a run kept is taken back.",
    "revisions.provenance": "A write shows the messages that led to it: what was asked, what tools returned.",
    "revisions.restore": "A block goes back to any revision, or one step at a time, a deleted one too.",
    "revisions.retrieve": "A revision shows its difference to the one before it, or to any other.",
    "revisions.rewind": "Memory goes back with the messages of a rewind; what others wrote stays.",
    "revisions.two-writers": "Agents that write to one block at once keep both edits, or are told that they touch.",
    "revisions.undo-run": "What a run wrote is taken back at once, and later writes stay.",
}

VOICE = {
    "agents.create.voice-tools": "The voice kinds begin with tools of their own, and a voice agent with its helper.",
    "voice.visit": "A voice agent's helper comes when the buffer is full, and leaves the newest messages alone.",
    "voice.keeping": "What the helper keeps is in the voice agent's archive; what it knows of the user in its block.",
    "voice.search": "search_memory finds what was said and what was kept, by words and by time.",
    "voice.retired-route": "The old voice route is a 410 that says where to go.",
}

GROUPS = {
    "groups.create": "Groups of every kind are made; members and managers that do not fit are a 4xx, and change nothing.",
    "groups.blocks": "A block that is shared is held by every member; one with its label in the way is a 409.",
    "groups.delete": "A group that is deleted is silent; it goes with its manager and with its last member.",
    "groups.round-robin": "Members speak in turn, up to max_turns; each hears what was said since it spoke.",
    "groups.dynamic": "The manager names who speaks next, until it says the token or the turns are used up.",
    "groups.supervisor": "The manager asks members through a tool and answers with what they said.",
    "groups.sleeptime-talk": "What is said to a sleep-time group is said to the agent that is helped.",
    "groups.stream": "A round is one stream, with one end; each frame says which agent speaks.",
    "groups.busy": "A group hears one message at a time; another is a 409.",
    "groups.cancel": "Cancelling ends the round, and whatever its turn has asked others for.",
    "groups.leave": "A reader that leaves ends the round, unless it is in the background.",
    "groups.failure": "A turn that fails ends the round and says whose it was; what was said before stands.",
    "groups.messages": "The group's conversation is listed in order, each message once, with who said it.",
    "groups.reset": "After a reset the group lists nothing, and its members no longer see what was said.",
    "groups.crash": "A round goes on after a crash: no turn is lost, none is taken twice.",
}

SLEEPTIME = {
    "groups.modify": "A group's description, members and frequency change; what cannot is a 4xx.",
    "groups.retrieve": "Groups are listed, counted and read; an agent shows the one it manages.",
    "sleeptime.blocks": "A helper gets the blocks that came later, and sees all as they are.",
    "capture.opt-in": "With memory_capture in its metadata an agent has facts taken down after each turn, by one forced call.",
    "sleeptime.conversations": "What is said in a conversation with memory of its own is not told to the helper.",
    "sleeptime.crash": "A visit that was due when the process died is made by the next one.",
    "sleeptime.frequency": "The helper comes every so many turns, with what was said since its last visit.",
    "sleeptime.no-delay": "No reply waits for a helper.",
    "sleeptime.off": "Switching off, deleting the agent, the helper or the group cleans up.",
    "sleeptime.visit": "After a turn the helper reads it in a background run and edits the shared blocks.",
}

CLIENTS = {
    "clients.guide": "The calls of the guide work as they are printed, with curl and in Python.",
    "clients.notes": "An agent with its configurations in full corrects a name in its memory.",
    "clients.npm-contract": "Every method of the npm client is answered in the contract's shape.",
    "clients.npm": "The npm client lives through the life of an agent.",
    "clients.npm-folders": "The npm client keeps folders: it uploads, lists, attaches, opens and deletes.",
    "clients.npm-runs": "The npm client resumes, cancels, approves, runs its own tools, converses and forks.",
}

PROVIDERS = {
    "providers.check": "A key can be tried before it is kept, and later: 200, or the provider's refusal as 401.",
    "providers.crud": "Providers of one's own are made, listed, changed and deleted; a name is taken once.",
    "providers.errors": "An unknown type, a bad name or address is refused and nothing is left behind.",
    "providers.models": "Their models are listed as byok and can be talked to, by their organisation alone.",
    "providers.embeddings": "Archives can be embedded by an organisation's own provider.",
    "providers.secret": "Keys are encrypted at rest and never returned.",
}

MONEY = {
    "models.prices": "The prices of models are told where the table knows them.",
    "models.probe": "A probe tells which of its tasks a model can do, and which settings suit it.",
    "models.real_server": "A real llama.cpp server, named by its address, calls tools and streams.",
    "models.fallback": "A model that is out of reach is stood in for by the next; the step names who answered.",
    "money.budgets": "A budget that is spent stops runs with insufficient_credits, of its agent or organisation alone.",
    "money.cost": "Where a price is known, steps and runs tell what they cost.",
    "money.errors": "Budgets for nobody, of nothing or of another organisation are refused.",
    "money.usage": "Tokens, cost and the hit rate of caches are summed by agent, model or day.",
}

AGENT_FILES = {
    "agents.files.addresses": "No address of a model is taken from a file: it is where this server knows it to be.",
    "agents.files.conversations": "Conversations come along, or one of them is taken in place of the own history.",
    "agents.files.export": "An exported agent has ids of the file, all its history, and names of secrets without values.",
    "agents.files.folders": "Folders come along with their files, texts, and what was open of them.",
    "agents.files.groups": "An agent comes with the groups that it leads or opens, and with their members.",
    "agents.files.import": "An imported agent goes on where it was: history, blocks, tools, rules, passages.",
    "agents.files.legacy": "The older format is read.",
    "agents.files.mcp": "MCP servers come along or are found by name; programs are never taken from a file.",
    "agents.files.mended": "A history that no provider would read is mended as it is imported.",
    "agents.files.options": "Name, model, embedding, project and secrets can be chosen when importing.",
    "agents.files.refused": "A file that cannot be read is a 4xx that says why, and leaves nothing behind.",
    "agents.files.same": "An agent exported and imported again is the same agent.",
    "agents.files.scrub": "scrub_messages and strip_messages leave out all that was said.",
    "agents.files.skills": "Skills that are given stand in the file; the older format is not written.",
    "agents.files.tools": "Tools are matched by name and replaced or left; built-in ones are never replaced.",
}

FOLDERS = {
    "folders.crud": "Folders are made, read, changed, listed, counted, found by name and deleted.",
    "folders.errors": "A folder that cannot be is refused and changes nothing.",
    "folders.files": "Files are listed and read, with their text if asked for, without their folder's name.",
    "folders.files.cancelled": "A file whose job is cancelled or deleted says so; nothing waits for ever.",
    "folders.files.delete": "A file that is deleted, alone or with its folder, is found no more.",
    "folders.files.duplicates": "A name that is there gets a number, is left alone, refused or replaced.",
    "folders.files.events": "How far a file has come is told as it goes.",
    "folders.files.kinds": "Texts, code, web pages, PDFs and Office documents are read and cut by what they are.",
    "folders.files.killed": "A server killed while it reads a file goes on with it when it is back.",
    "folders.files.passages": "A file's passages have their lines, headings and vectors, and are found.",
    "folders.files.refused": "A file that cannot be taken is a 4xx that says what can; nothing is kept of it.",
    "folders.files.silence": "A file whose model stays silent says so, is found by words, and by meaning once it answers.",
    "folders.files.size": "The room that vectors take is told, in the unit that is asked for.",
    "folders.files.unreadable": "A file that cannot be read says why, and harms nobody.",
    "folders.files.upload": "An upload answers at once; the file goes from parsing to embedding to completed.",
    "folders.words": "Where the server embeds nothing, a folder that names no model is searched by words.",
    "folders.sources": "The older routes under /sources are the same folders.",
}

ATTACHED = {
    "agent-files.attach": "Attaching a folder opens its files and brings the three tools; the last one takes them along.",
    "agent-files.create": "Agents are made and changed with folder_ids and source_ids, which replace what was attached.",
    "agent-files.errors": "What cannot be attached or opened is refused with a reason, and changes nothing.",
    "agent-files.follow": "New, renamed and deleted files and folders are so for every agent that has them.",
    "agent-files.limits": "max_files_open and the characters of a view hold, also when they change.",
    "agent-files.list": "An agent's files are listed in pages, with what is visible of those that are open.",
    "agent-files.older-clients": "Older clients get the agent's state from attaching and detaching, newer ones null.",
    "agent-files.open": "Files are opened and closed; those not used for longest make room, and are named.",
    "agents.state.sources": "An agent shows the folders that are attached to it.",
    "open-files.failures": "A file that cannot be opened is a failed return that says why and names what is near.",
    "open-files.grep": "Lines are found by regular expressions, page by page, in time that no pattern can stretch.",
    "open-files.notes": "What others open, close, bring or remove is told behind the history, once in each history.",
    "open-files.prompt": "The system message lists folders and files and shows what is open; the overview adds up.",
    "open-files.search": "Passages of an agent's files are found by meaning, those of other folders are not.",
    "open-files.survive": "What is open stays in view when the history is summed up.",
    "open-files.together": "Files opened by a run, by clients and by other servers at once keep the limit and are seen.",
    "open-files.tool": "An agent opens whole files and parts of them, saved with its step.",
}

MOVING = {
    "moving.backup": "A backup of a server at work fills either database with the same, vectors and all.",
    "moving.backup.broken": "A backup that is cut off, or none, is refused, and nothing of it is kept.",
    "moving.backup.older": "A backup of an older revision is restored and brought up to date.",
    "moving.letta": "All that a Letta database holds comes in, under its ids, once however often it is read.",
    "moving.letta.files": "Files come with their passages and vectors; what has none is cut anew.",
    "moving.letta.command": "The command rehearses, tells what came and what could not, and knows a wrong database.",
    "moving.verify": "verify finds what breaks a promise, and nothing where all is well.",
}

SCHEDULES = {
    "schedules.crash": "A server that dies as a message is due sends it exactly once all the same.",
    "schedules.cron": "A cron expression is read on the agent's wall clock, or on that of a timezone given.",
    "schedules.deleted": "A schedule goes with its agent.",
    "schedules.missed": "What was missed is left out, made up for once, or run by run, as asked.",
    "schedules.once": "A message is sent once at its time, as a background run, and its callback is called.",
    "schedules.refused": "A time that is past, or an expression that means nothing, is a 422 that says why.",
    "schedules.replicas": "Servers on one database share schedules, and none runs twice.",
    "schedules.sdk": "The SDK creates, retrieves, lists page by page and deletes schedules.",
    "schedules.turn": "A due message waits for its turn, and occurrences do not pile up behind it.",
}

BATCHES = {
    "batches.callback": "The end of a batch is told to its callback_url, signed, and the answer is noted.",
    "batches.cancel": "To cancel or delete a batch ends what is under way and what waits.",
    "batches.crash": "A server that dies in the middle of a batch begins no request twice, and loses none.",
    "batches.failed": "A request that fails is counted, and the rest goes on.",
    "batches.fair": "A few requests run at a time, never two of one agent, so that others get their turn.",
    "batches.list": "Batches are listed newest first; they are jobs of their own type.",
    "batches.messages": "The messages of a batch are read page by page, and by agent.",
    "batches.refused": "An empty or too large batch, or an unknown agent, is a 4xx and changes nothing.",
    "batches.run": "The requests of a batch become background runs of their agents, in order for each.",
}

CONTRACT = {
    "contract.fuzz": "What fits the description of the API is answered: by no error of the server's, in the right shape.",
    "contract.operations": "Every operation that clients know answers in the contract's shape, called by their methods.",
}

PROMISES = (
    AGENTS_CREATE
    | AGENTS_READ
    | AGENTS_CHANGE
    | BLOCKS
    | TOOLS
    | ARCHIVES
    | IDENTITIES
    | CHAT
    | TEMPLATES
    | GENERATING
    | SEARCHING
    | SANDBOX
    | CATALOGUES
    | DOORS
    | ADMIN
    | KEYS
    | SENDING
    | TURNS
    | COMPACTION
    | RULES
    | STREAMS
    | HISTORY
    | RUNS
    | APPROVALS
    | LASTING
    | REVISIONS
    | GROUPS
    | VOICE
    | SLEEPTIME
    | CLIENTS
    | PROVIDERS
    | MONEY
    | AGENT_FILES
    | FOLDERS
    | ATTACHED
    | MOVING
    | CONTRACT
    | SCHEDULES
    | BATCHES
)

GAPS: dict[str, str] = {}

UNSERVED: dict[str, str] = {}
"""Operations of the first priority that no route serves yet, and what they come with."""

OWN = {
    "GET /v1/agents/{agent_id}/embedding": "tells how far the embedding of an agent's messages has come",
    "POST /v1/groups/{group_id}/messages": "says something to a group and waits for the end of its round",
    "POST /v1/groups/{group_id}/messages/stream": "the same as a stream",
    "POST /v1/groups/{group_id}/messages/async": "the same in the background; the first run at once",
    "POST /v1/groups/{group_id}/messages/cancel": "ends the round that is under way",
    "GET /v1/templates": "lists templates with their versions and variables",
    "GET /v1/models/prices": "what models cost, where it is known",
    "GET /v1/server/": "what the server is: version, database, sandbox, what it keeps",
    "GET /v1/budgets/": "what agents and the organisation may spend, and have spent",
    "PUT /v1/budgets/": "sets a budget",
    "DELETE /v1/budgets/{budget_id}": "lifts a budget",
    "POST /v1/models/{handle}/probe": "tells in under a minute what a model can do",
    "GET /v1/usage/": "tokens and cost, summed",
    "GET /v1/blocks/{block_id}/revisions": "lists what was written to a block, by whom and why",
    "GET /v1/blocks/{block_id}/revisions/{number}": "shows one write with its difference",
    "GET /v1/blocks/{block_id}/revisions/{number}/provenance": "shows the messages that led to a write",
    "GET /v1/passages/{passage_id}/revisions": "lists what happened to a passage",
    "POST /v1/passages/{passage_id}/restore": "brings a deleted passage back",
    "GET /v1/revisions/": "finds what a run, a message or an agent wrote",
    "POST /v1/blocks/{block_id}/revisions/{number}/restore": "takes a block back to a revision",
    "POST /v1/blocks/{block_id}/revisions/{number}/undo": "takes one write back and keeps those after it",
    "POST /v1/blocks/{block_id}/undo": "takes a block one step back",
    "POST /v1/revisions/undo": "takes back what a run or a message led to",
    "POST /v1/agents/{agent_id}/repair": "mends a history that a provider refuses",
    "GET /v1/audit/": "who changed what, came in, or was refused",
    "GET /v1/session/": "who one is, and what one may",
    "POST /v1/session/": "signs in with the password or a key, for a cookie",
    "DELETE /v1/session/": "signs out",
    "GET /v1/keys/": "lists keys, without what opens",
    "POST /v1/keys/": "makes a key, and shows it once",
    "DELETE /v1/keys/{key_id}": "revokes a key",
    "GET /v1/folders/{folder_id}/files/{file_id}/events": "tells how far a file has come, as it goes",
    "POST /v1/conversations/{conversation_id}/rewind": "takes a conversation back to an earlier message",
}
"""Operations beyond the contract that this server adds, and what for."""
