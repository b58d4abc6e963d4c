// The official TypeScript SDK, of either line, drives Forage's server over stdio and HTTP.
//
//     client.mjs FORAGE FIXTURES TREE LINE
//
// TREE holds `project` (the root), `home` (with `home/client`, a root that clients may choose) and `elsewhere` (which
// they may not). LINE is 1 for @modelcontextprotocol/sdk, 2 for @modelcontextprotocol/client; PEERS is the folder of
// modules that holds them. Says what it has checked, and ends with a stack trace at the first failure.

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
// Milliseconds in which a cancelled call must have ended. It takes a few; a busy machine may add some.
const endedWithin = 500;
// Bytes of a large answer, twice what the product ever gives.
const large = 200_000;

const checked = (what) => console.log(`ok: ${what}`);
const text = (result) => result.content.map((block) => block.text).join('\n');

/** A command, over stdio for each client anew, or over HTTP for all of them. */
class Server {
  static count = 0;

  static async run(transport, [command, ...args], environment, use) {
    const server = new Server();
    Object.assign(server, { transport, command, args, log: join(logs, `${Server.count++}`) });
    server.stderr = openSync(server.log, 'a');
    server.environment = {
      PATH: process.env.PATH,
      HOME: join(tree, 'home'),
      // Whatever runs on this machine is no model of these tests.
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
    // Where another check fails, this program ends without coming to what stands below, and the server has its output.
    process.once('exit', () => child.kill());
    try {
      server.url = await server.awaitStderr(/listening on (\S+)\n/);
      await use(server);
    } finally {
      child.kill();
    }
  }

  said() {
    return readFileSync(this.log, 'utf8');
  }

  async awaitStderr(pattern) {
    for (const end = Date.now() + 10_000; ; await sleep(5)) {
      const found = this.said().match(pattern);
      if (found) return found[1];
      assert(Date.now() < end, `stderr never said ${pattern}: ${this.said()}`);
    }
  }

  /** A client that has shaken hands, or found that it need not. */
  async client(era, { roots, model }, use) {
    const capabilities = { ...(roots && { roots: {} }), ...(model && { sampling: {} }) };
    const versionNegotiation = { mode: era };
    const client = new sdk.Client({ name: 'tests', version: '1' }, { capabilities, versionNegotiation });
    const handle = (method, schema, handler) => client.setRequestHandler(isSecond ? method : schema, handler);
    if (roots) {
      const named = { roots: roots.map((root) => ({ uri: pathToFileURL(root).href })) };
      handle('roots/list', sdk.ListRootsRequestSchema, () => named);
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
  checked(`${transport} ${era}: tools are listed and answer, errors say what to do, an unknown tool is -32602`);
}

async function records(transport, era) {
  const command = [forage, 'mcp', '--output', 'structured', '--root', join(tree, 'project')];
  await Server.run(transport, command, { FORAGE_FILTER: 'lexical' }, (server) =>
    server.client(era, {}, async (client) => {
      // The SDK learns the schemas from the list, checks the records of later calls against them, and throws.
      assert((await client.listTools()).tools.every((tool) => tool.outputSchema));
      for (const [name, args] of Object.entries(tools)) {
        const result = await call(client, name, args);
        assert.equal(result.structuredContent.truncated, false, name);
      }
    }),
  );
  checked(`${transport} ${era}: records of every tool pass the SDK's check against the schema`);
}

async function progressAndCancellation(transport, era) {
  await Server.run(transport, [fixtures], {}, (server) =>
    server.client(era, {}, async (client) => {
      const told = [];
      const result = await call(client, 'slow', { ms: 1700 }, { onprogress: (progress) => told.push(progress) });
      assert.equal(text(result), '1700 ms');
      assert(told.length >= 2 && told[0].progress < told[1].progress);
      checked(`${transport} ${era}: a call of 1.7 s tells of its progress: ${told.map((each) => each.message)}`);

      const before = server.said().split('slow: began').length;
      const giveUp = new AbortController();
      const slow = assert.rejects(call(client, 'slow', { ms: 20_000 }, { signal: giveUp.signal }));
      while (server.said().split('slow: began').length === before) await sleep(5);
      const cancelled = Date.now();
      giveUp.abort();
      await slow;
      const took = Number(await server.awaitStderr(/slow: stopped at (\d+)/)) - cancelled;
      assert(took < endedWithin, `the work went on for ${took} ms`);
      // The session goes on.
      assert.equal(text(await call(client, 'noop', {})), 'done');
      checked(`${transport} ${era}: a cancelled call ends ${took} ms later`);

      const panic = await call(client, 'panics', {});
      assert(panic.isError && text(panic).includes('panicked'), JSON.stringify(panic));
      assert.equal(text(await call(client, 'large', { bytes: large })).length, large);
      checked(`${transport} ${era}: a panic is an error of its call, and ${large} bytes arrive whole`);
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
    checked(`${transport} ${era}: a client's root is taken where it may choose, and refused elsewhere`);

    await server.client(era, {}, async (client) => {
      const result = await call(client, 'keyword_search', search);
      assert(result.isError && text(result).includes('no model is configured'), JSON.stringify(result));
    });
    for (const roots of [undefined, [project, clientRoot]]) {
      let asked = 0;
      const model = (request) => {
        asked += 1;
        assert(JSON.stringify(request.params.messages).includes('retry_request'));
        const content = { type: 'text', text: 'src/retry.rs: it retries requests' };
        return { role: 'assistant', content, model: 'a-model', stopReason: 'endTurn' };
      };
      await server.client(era, { roots, model }, async (client) => {
        const result = await call(client, 'keyword_search', search);
        assert(!result.isError && text(result).includes('src/retry.rs: it retries requests'), JSON.stringify(result));
        assert.equal(asked, 1);
      });
    }
    checked(`${transport} ${era}: the client's model filters, also for a client that names roots as well`);
  });
}

async function allChecks(transport, era) {
  for (const check of [toolsAndErrors, records, progressAndCancellation, rootsAndModel]) await check(transport, era);
}

// What hangs fails.
setTimeout(() => {
  console.error('not done in two minutes');
  process.exit(1);
}, 120_000).unref();

// At the same time, because they wait most of it.
const eras = isSecond ? ['legacy', 'auto'] : ['legacy'];
await Promise.all(['stdio', 'http'].flatMap((transport) => eras.map((era) => allChecks(transport, era))));
rmSync(logs, { recursive: true });
console.log(`line ${line}: all checks passed`);
