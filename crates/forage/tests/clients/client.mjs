// Tests Forage's server over stdio and HTTP with the official TypeScript SDK, version 1 or 2.
//
//     client.mjs FORAGE FIXTURES TREE LINE
//
// TREE contains `project` (the root), `home` (with `home/client`, a root that clients may choose) and `elsewhere` (which
// they may not). LINE is 1 for @modelcontextprotocol/sdk and 2 for @modelcontextprotocol/client. The environment variable
// PEERS names the folder with these modules. Prints each check that passes, and stops with a stack trace at the first failure.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

const [forage, fixtures, tree, line] = process.argv.slice(2);
const isSecond = line === '2';
const load = createRequire(join(process.env.PEERS, 'x.js'));
const sdk = isSecond
  ? { ...load('@modelcontextprotocol/client'), ...load('@modelcontextprotocol/client/stdio') }
  : {
      ...load('@modelcontextprotocol/sdk/types.js'),
      ...load('@modelcontextprotocol/sdk/client/index.js'),
      ...load('@modelcontextprotocol/sdk/client/stdio.js'),
      ...load('@modelcontextprotocol/sdk/client/streamableHttp.js'),
    };
const logs = mkdtempSync(join(tmpdir(), 'forage-clients-'));

const search = { query: 'where are requests retried?', search_terms: ['retry', 'backoff'] };
const tools = {
  keyword_search: search,
  grep_search: { pattern: 'retry' },
  search_index: { query: 'retry' },
  list_project_directory: { path: 'src' },
  read_project_file: { path: 'src/retry.rs' },
};
// Milliseconds in which a cancelled call must have ended. It usually takes a few, but more on a busy machine.
const maxCancelMs = 500;
// Bytes of a large answer, twice the product's maximum.
const largeBytes = 200_000;

const passed = (check) => console.log(`ok: ${check}`);
const text = (result) => result.content.map((block) => block.text).join('\n');

/** A server command. Over stdio each client starts its own process. Over HTTP all clients share one. */
class Server {
  static count = 0;

  static async run(transport, [command, ...args], environment, use) {
    const server = new Server();
    Object.assign(server, { transport, command, args, log: join(logs, `${Server.count++}`) });
    server.stderr = openSync(server.log, 'a');
    server.environment = {
      PATH: process.env.PATH,
      HOME: join(tree, 'home'),
      // The tests must not use models that run on this machine.
      OLLAMA_HOST: '127.0.0.1:9',
      LM_STUDIO_API_BASE: 'http://127.0.0.1:9/v1',
      ...environment,
    };
    if (transport === 'stdio') return use(server);
    const child = spawn(command, [...args, '--http', '127.0.0.1:0', '--sessions', '16'], {
      env: server.environment,
      cwd: join(tree, 'project'),
      stdio: ['ignore', 'inherit', server.stderr],
    });
    // If another check fails, this program exits before `finally`, and the server would keep the output open.
    process.once('exit', () => child.kill());
    try {
      server.url = await server.awaitStderr(/listening on (\S+)\n/);
      await use(server);
    } finally {
      child.kill();
    }
  }

  stderrText() {
    return readFileSync(this.log, 'utf8');
  }

  async awaitStderr(pattern) {
    for (const end = Date.now() + 10_000; ; await sleep(5)) {
      const found = this.stderrText().match(pattern);
      if (found) return found[1];
      assert(Date.now() < end, `stderr never matched ${pattern}: ${this.stderrText()}`);
    }
  }

  /** Connects a client. This includes the handshake if the protocol version needs one. */
  async client(era, { roots, model }, use) {
    const capabilities = { ...(roots && { roots: {} }), ...(model && { sampling: {} }) };
    const versionNegotiation = { mode: era };
    const client = new sdk.Client({ name: 'tests', version: '1' }, { capabilities, versionNegotiation });
    const handle = (method, schema, handler) => client.setRequestHandler(isSecond ? method : schema, handler);
    if (roots) {
      const rootsResult = { roots: roots.map((root) => ({ uri: pathToFileURL(root).href })) };
      handle('roots/list', sdk.ListRootsRequestSchema, () => rootsResult);
    }
    if (model) handle('sampling/createMessage', sdk.CreateMessageRequestSchema, model);
    const { command, args, stderr, environment: env } = this;
    await client.connect(
      this.transport === 'http'
        ? new sdk.StreamableHTTPClientTransport(new URL(this.url))
        : new sdk.StdioClientTransport({ command, args, env, stderr, cwd: join(tree, 'project') }),
    );
    if (isSecond) {
      assert.equal(client.getNegotiatedProtocolVersion(), era === 'auto' ? '2026-07-28' : '2025-11-25');
    }
    try {
      await use(client);
    } finally {
      await client.close();
    }
  }
}

const call = (client, name, args, options) => {
  const parameters = { name, arguments: args };
  return isSecond ? client.callTool(parameters, options) : client.callTool(parameters, undefined, options);
};

async function toolsAndErrors(transport, era) {
  const command = [forage, 'mcp', '--root', join(tree, 'project')];
  await Server.run(transport, command, { FORAGE_FILTER: 'lexical' }, (server) =>
    server.client(era, {}, async (client) => {
      const listed = (await client.listTools()).tools;
      assert.deepEqual(listed.map((tool) => tool.name).sort(), Object.keys(tools).sort());
      for (const tool of listed) assert(tool.title && tool.description && tool.annotations, tool.name);
      for (const [name, args] of Object.entries(tools)) {
        const result = await call(client, name, args);
        assert(!result.isError && text(result).includes('retry'), JSON.stringify(result));
        assert.equal(result.structuredContent, undefined);
      }
      for (const [name, args, advice] of [
        ['read_file', { path: '../elsewhere/secret.txt' }, 'path'],
        ['grep_search', { pattern: '[' }, 'pattern'],
        ['grep_search', { patern: 'x' }, 'pattern'],
      ]) {
        const result = await call(client, name, args);
        assert(result.isError && text(result).includes(advice), JSON.stringify(result));
      }
      await assert.rejects(call(client, 'no_such_tool', {}), (error) => {
        assert.equal(error.code, -32602);
        return error.message.includes('grep_search');
      });
    }),
  );
  passed(`${transport} ${era}: tools are listed and answer, errors give advice, an unknown tool is -32602`);
}

async function records(transport, era) {
  const command = [forage, 'mcp', '--output', 'structured', '--root', join(tree, 'project')];
  await Server.run(transport, command, { FORAGE_FILTER: 'lexical' }, (server) =>
    server.client(era, {}, async (client) => {
      // The SDK takes the schemas from the list, validates the records of later calls, and throws if they don't match.
      assert((await client.listTools()).tools.every((tool) => tool.outputSchema));
      for (const [name, args] of Object.entries(tools)) {
        const result = await call(client, name, args);
        assert.equal(result.structuredContent.truncated, false, name);
      }
    }),
  );
  passed(`${transport} ${era}: records of every tool pass the SDK's validation against the schema`);
}

async function progressAndCancellation(transport, era) {
  await Server.run(transport, [fixtures], {}, (server) =>
    server.client(era, {}, async (client) => {
      const updates = [];
      const result = await call(client, 'slow', { ms: 1700 }, { onprogress: (progress) => updates.push(progress) });
      assert.equal(text(result), '1700 ms');
      assert(updates.length >= 2 && updates[0].progress < updates[1].progress);
      passed(`${transport} ${era}: a call of 1.7 s reports its progress: ${updates.map((each) => each.message)}`);

      const before = server.stderrText().split('slow: began').length;
      const controller = new AbortController();
      const slow = assert.rejects(call(client, 'slow', { ms: 20_000 }, { signal: controller.signal }));
      while (server.stderrText().split('slow: began').length === before) await sleep(5);
      const cancelled = Date.now();
      controller.abort();
      await slow;
      const elapsed = Number(await server.awaitStderr(/slow: stopped at (\d+)/)) - cancelled;
      assert(elapsed < maxCancelMs, `the work continued for ${elapsed} ms`);
      // The session is still usable.
      assert.equal(text(await call(client, 'noop', {})), 'done');
      passed(`${transport} ${era}: a cancelled call ends ${elapsed} ms later`);

      const panic = await call(client, 'panics', {});
      assert(panic.isError && text(panic).includes('panicked'), JSON.stringify(panic));
      assert.equal(text(await call(client, 'large', { bytes: largeBytes })).length, largeBytes);
      passed(`${transport} ${era}: a panic is an error of its call, and ${largeBytes} bytes arrive completely`);
    }),
  );
}

async function rootsAndModel(transport, era) {
  const [project, elsewhere] = [join(tree, 'project'), join(tree, 'elsewhere')];
  const clientRoot = join(tree, 'home', 'client');
  await Server.run(transport, [forage, 'mcp'], {}, async (server) => {
    await server.client(era, { roots: [clientRoot] }, async (client) => {
      const result = await call(client, 'read_file', { path: 'hello.txt' });
      assert(!result.isError && text(result).includes("from the client's root"), JSON.stringify(result));
    });
    await server.client(era, { roots: [elsewhere] }, async (client) => {
      const result = await call(client, 'read_file', { path: 'secret.txt' });
      assert(result.isError && text(result).includes('mcp.client_roots'), JSON.stringify(result));
    });
    passed(`${transport} ${era}: a client's root is accepted where it may choose, and refused elsewhere`);

    await server.client(era, {}, async (client) => {
      const result = await call(client, 'keyword_search', search);
      assert(result.isError && text(result).includes('no usable model is configured'), JSON.stringify(result));
    });
    for (const roots of [undefined, [project, clientRoot]]) {
      let requests = 0;
      const model = (request) => {
        requests += 1;
        assert(JSON.stringify(request.params.messages).includes('retry_request'));
        const content = { type: 'text', text: 'src/retry.rs: it retries requests' };
        return { role: 'assistant', content, model: 'a-model', stopReason: 'endTurn' };
      };
      await server.client(era, { roots, model }, async (client) => {
        const result = await call(client, 'keyword_search', search);
        assert(!result.isError && text(result).includes('src/retry.rs: it retries requests'), JSON.stringify(result));
        assert.equal(requests, 1);
      });
    }
    passed(`${transport} ${era}: the client's model filters, even if the client has roots too`);
  });
}

async function allChecks(transport, era) {
  for (const check of [toolsAndErrors, records, progressAndCancellation, rootsAndModel]) await check(transport, era);
}

// A hanging check must fail.
setTimeout(() => {
  console.error('not finished in two minutes');
  process.exit(1);
}, 120_000).unref();

// We run the checks concurrently because they mostly wait.
const eras = isSecond ? ['legacy', 'auto'] : ['legacy'];
await Promise.all(['stdio', 'http'].flatMap((transport) => eras.map((era) => allChecks(transport, era))));
rmSync(logs, { recursive: true });
console.log(`line ${line}: all checks passed`);
