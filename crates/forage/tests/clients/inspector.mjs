// Checks Forage's server with the command line of MCP Inspector, as a developer would.
//
//     inspector.mjs FORAGE FIXTURES TREE
//
// The Inspector exits with status 6 for a schema that not every provider accepts, and with 5 for a tool error.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const [forage, fixtures, tree] = process.argv.slice(2);
const inspector = join(process.env.PEERS, '@modelcontextprotocol/inspector/clients/launcher/build/index.js');
const env = { PATH: process.env.PATH, HOME: join(tree, 'home'), FORAGE_FILTER: 'lexical' };
const server = [forage, 'mcp', '--root', join(tree, 'project')];

function inspect(target, args, status) {
  const options = ['--format', 'json', '-q'];
  // A server command is last, after a double dash. An address is first.
  const command = target.length > 1 ? [...args, ...options, '--', ...target] : [...target, ...args, ...options];
  const run = spawnSync(process.execPath, [inspector, '--cli', ...command], { env, encoding: 'utf8', timeout: 60_000 });
  assert.equal(run.status, status, `${command.join(' ')}\n${run.stdout}\n${run.stderr}`);
  return run;
}

function check(target, era) {
  const list = inspect(target, ['--protocol-era', era, '--method', 'tools/list', '--strict'], 0);
  // Warnings do not change the exit status.
  assert(!/warning|error/i.test(list.stderr), list.stderr);
  const call = (name, args, status) =>
    inspect(
      target,
      ['--protocol-era', era, '--method', 'tools/call', '--tool-name', name, '--tool-args-json', JSON.stringify(args)],
      status,
    );
  assert(call('grep_search', { pattern: 'retry' }, 0).stdout.includes('src/retry.rs'));
  assert(call('grep_search', { pattern: '[' }, 5).stdout.includes('pattern'));
  console.log(`ok: ${target.length > 1 ? 'stdio' : 'http'} ${era}: strict list, call, a tool error exits with 5`);
}

for (const era of ['legacy', 'modern']) check(server, era);

// Positive control: the strict list must detect a schema that is not portable.
inspect([fixtures, '--unportable'], ['--method', 'tools/list', '--strict'], 6);

const listening = spawn(server[0], [...server.slice(1), '--http', '127.0.0.1:0'], {
  env,
  stdio: ['ignore', 'ignore', 'pipe'],
});
try {
  for await (const line of createInterface({ input: listening.stderr })) {
    const address = line.match(/listening on (\S+)/);
    if (!address) continue;
    check([address[1]], 'modern');
    break;
  }
} finally {
  listening.kill();
  await once(listening, 'exit');
}
console.log('inspector: all checks passed');
