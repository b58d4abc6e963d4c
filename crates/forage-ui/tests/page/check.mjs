// Looks at the page of a `forage ui` that runs, in a real browser: node check.mjs ADDRESS [OPTIONS]
//
// ADDRESS is what `forage ui` prints, with its token. What the page must show is worked out here from /api/calls and its
// like, by other means than the page's own, so that an empty page fails. One line a check; 1 is returned after any fault.
//
//   --screenshots DIR    a picture of each view, at 360 and 1440 pixels, light and dark
//   --live COMMAND       a shell command that makes one call; its row must be there --live-ms after the call has ended
//   --query TEXT         what is ranked, instead of the last query of search_index
//   --first-ms N         bound of the first view (1000), --switch-ms of another view (100), --typing-ms of a letter in the
//                        filter (100), --map-ms of the first map with its reading (5000), --live-ms (300)
//   --calls N            calls that are looked at one by one (12)
//
// CHROMIUM names the browser; without it, /usr/bin/chromium.

import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import http from 'node:http';
import { isDeepStrictEqual, parseArgs } from 'node:util';

import axe from 'axe-core';
import { chromium } from 'playwright-core';

const { values: given, positionals: [address] } = parseArgs({
  allowPositionals: true,
  options: {
    screenshots: { type: 'string' }, live: { type: 'string' }, query: { type: 'string' },
    'first-ms': { type: 'string', default: '1000' }, 'switch-ms': { type: 'string', default: '100' },
    'typing-ms': { type: 'string', default: '100' }, 'map-ms': { type: 'string', default: '5000' },
    'live-ms': { type: 'string', default: '300' }, calls: { type: 'string', default: '12' },
  },
});
if (!address) {
  console.error('usage: node check.mjs ADDRESS [OPTIONS]; the options stand in this file');
  process.exit(2);
}
const { origin, host, searchParams } = new URL(address);
const TOKEN = searchParams.get('token');
const VIEWS = ['timeline', 'map', 'ranking', 'cost', 'health'];
// Reorders or hides text, so none of it may stand in the page; line feeds and tabs of texts may.
const HIDING = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u00AD\u061C\u200B-\u200F\u2028-\u202E\u2060-\u206F\uFEFF]/u;

// ---- Telling -------------------------------------------------------------------------------------------------------

let faults = 0;

function tell(name, isRight, seen) {
  if (!isRight) faults += 1;
  console.log(`${isRight ? 'ok   ' : 'FAULT'} ${name}: ${visible(String(seen).replace(/\s+/g, ' ').slice(0, 400))}`);
}

/** A part of the checks; one that throws is a fault and not the end. */
async function part(name, run) {
  try {
    await run();
  } catch (error) {
    tell(name, false, error.stack?.split('\n').slice(0, 4).join(' | ') ?? error);
  }
}

const bound = (name, ms, option) => tell(name, ms <= Number(given[option]), `${ms.toFixed(0)} ms of ${given[option]}`);

// ---- The server ----------------------------------------------------------------------------------------------------

async function api(path, query = {}) {
  const response = await fetch(`${origin}/api/${path}?${new URLSearchParams(query)}`, { headers: { Authorization: `Bearer ${TOKEN}` } });
  return response.json();
}

/** The status of a request with headers of any kind, which `fetch` would not send. */
const status = (path, headers, method = 'GET') => new Promise((resolve, reject) => {
  const { hostname, port } = new URL(origin);
  const request = http.request({ hostname, port, path, method, headers }, (response) => {
    response.resume();
    response.on('end', () => resolve(response));
  });
  request.on('error', reject).end();
});

async function refusals() {
  const bearer = { Authorization: `Bearer ${TOKEN}` };
  const cases = [
    ['a wrong token in the address', '/?token=wrong', {}, [401]],
    ['no token', '/', {}, [401]],
    ['a wrong token at the interface', '/api/calls?after=0', { Authorization: 'Bearer wrong' }, [401]],
    ['the token in the address of the interface', `/api/calls?after=0&token=${TOKEN}`, {}, [401]],
    ['another name of the host', '/api/calls?after=0', { ...bearer, Host: 'example.com' }, [403, 421]],
    ['another origin', '/api/calls?after=0', { ...bearer, Origin: 'http://example.com' }, [403]],
  ];
  for (const [name, path, headers, right] of cases) {
    const { statusCode } = await status(path, { Host: host, ...headers });
    tell(`refused: ${name}`, right.includes(statusCode), statusCode);
  }
  const posted = await status('/api/calls?after=0', { Host: host, ...bearer }, 'POST');
  tell('refused: POST', posted.statusCode === 405, posted.statusCode);
  const control = await status('/api/calls?after=0', { Host: host, ...bearer });
  tell('let in: the same with the token', control.statusCode === 200, control.statusCode);
}

async function policy() {
  const { headers } = await status(`/?token=${TOKEN}`, { Host: host });
  const text = headers['content-security-policy'] ?? '';
  const wanted = ["default-src 'none'", "script-src 'sha256-", "style-src 'sha256-", "frame-ancestors 'none'", "base-uri 'none'"];
  tell('content security policy', wanted.every((it) => text.includes(it)) && !/unsafe|\*/.test(text), text);
}

/** A page of another origin, opened in the same browser, gets nothing even with the token. */
async function otherOrigin(browser) {
  const server = http.createServer((_, response) => response.setHeader('content-type', 'text/html').end('<!doctype html><title>other</title>'));
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  const got = await page.evaluate(async ([target, token]) => {
    const read = async (options) => {
      try {
        const response = await fetch(`${target}/api/calls?after=0`, options);
        return `${response.type} ${(await response.text()).length}`;
      } catch {
        return 'nothing';
      }
    };
    return [await read({ headers: { Authorization: `Bearer ${token}` } }), await read({ mode: 'no-cors' })];
  }, [origin, TOKEN]);
  tell('a page of another origin gets nothing', got[0] === 'nothing' && ['nothing', 'opaque 0'].includes(got[1]), got.join(', '));
  const framed = await page.evaluate((target) => new Promise((resolve) => {
    const frame = document.createElement('iframe');
    frame.src = target;
    frame.onload = () => resolve(frame.contentWindow.length === 0 && !frame.contentDocument);
    document.body.append(frame);
  }), address);
  const inside = page.frames().find((it) => it !== page.mainFrame());
  const shown = await inside?.evaluate(() => document.getElementById('views') !== null).catch(() => false);
  tell('and can not put it into a frame', framed && !shown, shown ? 'it is shown' : 'it is not shown');
  await page.close();
  server.close();
}

// ---- What must be seen ---------------------------------------------------------------------------------------------

const codePoint = (character) => `‹U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}›`;
const visible = (text) => String(text).replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, codePoint);
const squeezed = (text) => text.replace(/\s+/g, ' ');
const ended = (call) => call.began_us + call.elapsed_us;
const place = (call, file) => JSON.stringify([call.process, call.roots[file.root], file.path]);

/** The arguments as text, whatever the order of their keys. */
const ordered = (value) => (value === null || typeof value !== 'object' ? JSON.stringify(value)
  : `{${Object.keys(value).sort().map((key) => `${key}:${ordered(value[key])}`).join()}}`);

/** By the calls' names: those whose question was asked before, and the answer that a read follows. */
function relations(calls) {
  const [again, from] = [new Map(), new Map()];
  calls.forEach((call, at) => {
    const before = calls.slice(0, at).filter((it) => it.process === call.process);
    const same = before.findLast((it) => it.tool === call.tool && ordered(it.arguments) === ordered(call.arguments));
    if (same) again.set(call.id, same);
    const read = new Set(call.shown.filter((file) => file.kind === 'read').map((file) => place(call, file)));
    const named = (it) => it.shown.some((file) => file.kind !== 'read' && read.has(place(it, file)));
    const answer = call.tool === 'read_file' && before.findLast((it) => ended(it) <= call.began_us && named(it));
    if (answer) from.set(call.id, answer);
  });
  return { again, from };
}

/** A word that the row of a call must have. */
function verdict(call) {
  if (call.status === 'error') return 'error';
  if (call.status === 'cancelled') return 'cancelled';
  if (call.status === 'partial') return 'partial';
  if (call.status === 'nothing') return call.absent && !call.hidden_matches.length ? 'none: absent' : 'none';
  return call.results ? call.results.toLocaleString('en') : '';
}

// ---- The page ------------------------------------------------------------------------------------------------------

const said = [];
const foreign = [];

async function open(browser, options = {}, path = '') {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, permissions: ['clipboard-read', 'clipboard-write'], ...options });
  const page = await context.newPage();
  page.on('console', (message) => said.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => said.push(`error: ${error.stack}`));
  page.on('dialog', (dialog) => {
    said.push(`a dialog of the page: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.origin !== origin && url.protocol !== 'data:') foreign.push(request.url());
  });
  await page.addInitScript(() => {
    // When the first row, or the sentence that there is none, can be seen.
    const seen = new MutationObserver(() => {
      if (!document.querySelector('.call, .empty h2')) return;
      seen.disconnect();
      requestAnimationFrame(() => setTimeout(() => { window.firstView = performance.now(); }));
    });
    seen.observe(document, { childList: true, subtree: true });
  });
  await page.goto(address + path);
  await page.waitForFunction(() => document.querySelector('#totals dd') && document.querySelector('#view').childElementCount > 0);
  return page;
}

const go = async (page, hash) => {
  await page.evaluate((to) => { location.hash = to; }, hash);
  await settled(page);
};

const settled = async (page) => {
  await page.evaluate(() => new Promise((resolve) => { requestAnimationFrame(() => setTimeout(resolve, 30)); }));
  await page.waitForFunction(() => ![...document.querySelectorAll('#view [role=status]')].some((it) => /…$/.test(it.textContent)), null, { timeout: 60_000 });
};

/** Rows of the timeline by the calls' names, gathered by scrolling through all of it. */
const rowsOf = (page) => page.evaluate(async () => {
  const rows = {};
  const frame = () => new Promise((resolve) => { requestAnimationFrame(() => setTimeout(resolve)); });
  for (let top = 0; ; top += innerHeight / 2) {
    scrollTo(0, top);
    await frame();
    for (const row of document.querySelectorAll('.call')) {
      const bar = row.querySelector('.lane i').getBoundingClientRect();
      rows[row.dataset.id] ??= { text: row.textContent, from: row.querySelector('.thread')?.getAttribute('href') ?? null, left: bar.left, right: bar.right, index: Number(row.getAttribute('aria-rowindex')) };
    }
    if (top + innerHeight >= document.documentElement.scrollHeight) return rows;
  }
});

async function timeline(page, calls) {
  await go(page, 'timeline');
  if (!calls.length) {
    const shown = await page.textContent('#view');
    tell('timeline: says what to do when there is no call', shown.includes('forage mcp') && !shown.includes('U+'), shown);
    return;
  }
  const number = await page.getAttribute('#calls', 'aria-rowcount');
  tell('timeline: number of rows', Number(number) === calls.length + 1, `${number} with the head, for ${calls.length} calls`);
  const rows = await rowsOf(page);
  const { again, from } = relations(calls);
  const wrong = { missing: [], tool: [], verdict: [], order: [], again: [], thread: [] };
  calls.forEach((call, at) => {
    const row = rows[call.id];
    if (!row) return wrong.missing.push(call.id);
    const text = squeezed(row.text);
    if (!text.includes(squeezed(visible(call.tool)))) wrong.tool.push(call.id);
    if (!text.includes(verdict(call))) wrong.verdict.push(`${call.id} ${verdict(call)}: ${text}`);
    if (row.index !== at + 2) wrong.order.push(`${call.id} is row ${row.index}`);
    if (/(?<!nearly )again/.test(text.replaceAll(squeezed(visible(JSON.stringify(call.arguments))), '')) !== again.has(call.id) && !/again/.test(ordered(call.arguments))) wrong.again.push(call.id);
    const expected = from.get(call.id);
    if ((row.from ?? null) !== (expected ? `#call=${encodeURIComponent(expected.id)}` : null)) wrong.thread.push(`${call.id}: ${row.from}, expected ${expected?.id}`);
  });
  for (const [name, list] of Object.entries(wrong)) tell(`timeline: ${name}`, !list.length, list.length ? list.slice(0, 3).join('; ') : 'right in every row');
  tell('timeline: marked as again, threaded', true, `${again.size} and ${from.size} of ${calls.length}`);
  const apart = calls.filter((call, at) => at && call.began_us < ended(calls[at - 1]) && rows[call.id].left < rows[calls[at - 1].id].left - 0.5 && call.began_us >= calls[at - 1].began_us);
  tell('timeline: what began later is further right, side by side', !apart.length, apart.map((call) => call.id).join() || `${calls.filter((call, at) => at && call.began_us < ended(calls[at - 1])).length} overlap`);
}

/** What a shell makes of the command: the words after `forage`. */
function shellWords(text) {
  const script = `forage() { printf '%s\\0' "$@"; }\n${text}`;
  return execFileSync('bash', ['-c', script], { encoding: 'utf8', env: { ...process.env, LC_ALL: 'C.UTF-8' } }).split('\0').slice(0, -1);
}

/** A few calls of each kind, as there can be thousands. */
function some(calls) {
  const kinds = new Map();
  for (const call of calls) kinds.set(`${call.tool} ${call.status} ${call.truncated_by} ${HIDING.test(JSON.stringify(call.arguments))}`, call);
  const rest = calls.filter((call) => HIDING.test(JSON.stringify(JSON.stringify(call.arguments))) || JSON.stringify(call.arguments).includes('<'));
  return [...new Set([...kinds.values(), ...rest])].slice(0, Number(given.calls));
}

async function oneCall(page, call) {
  const name = `call ${visible(call.id)}`;
  await go(page, `call=${encodeURIComponent(call.id)}`);
  const text = squeezed(await page.textContent('#view'));
  const lacks = [call.tool, String(call.sequence), call.error ?? '', ...call.not_entered, ...call.hidden_matches, ...Object.keys(call.skipped).map((it) => it.replaceAll('_', ' ')),
    ...call.shown.map((file) => file.path), ...call.funnel.map((it) => it.files.toLocaleString('en'))].filter((it) => !text.includes(squeezed(visible(it))));
  tell(`${name}: all that is known of it`, !lacks.length, lacks.length ? `lacks ${lacks.join(' | ')}` : `${call.shown.length} files, ${call.funnel.length} steps, ${Object.keys(call.skipped).length} reasons`);
  const [json, command] = await page.$$eval('.copied pre', (all) => all.map((it) => it.textContent));
  tell(`${name}: arguments`, isDeepStrictEqual(JSON.parse(json), call.arguments), json);
  const words = shellWords(command);
  const asked = ['call', call.tool].every((word, at) => words[at] === word) && isDeepStrictEqual(JSON.parse(words[2]), call.arguments);
  tell(`${name}: the command, as a shell takes it`, asked && isDeepStrictEqual(words.slice(3), call.roots.flatMap((root) => ['--root', root])), command);
}

async function textAgain(page, calls) {
  const call = calls.findLast((it) => it.status === 'found' && !it.models.length);
  if (!call) return;
  await go(page, `call=${encodeURIComponent(call.id)}`);
  const reply = await api('text', { id: call.id });
  await page.click('#again');
  await page.waitForSelector('section:has(#again) .note');
  const shown = await page.textContent('section:has(#again)');
  // A tab stands in the page as it is.
  const right = reply.type === 'error' ? shown.includes(visible(reply.error)) : shown.includes(visible(reply.text.slice(0, 60).split('\n')[0].split('\t').at(-1))) && shown.includes({ true: 'The same bytes', false: 'Not the same', null: "can't be told" }[reply.same]);
  tell('call: the text made again', right, reply.type === 'error' ? reply.error : `${reply.bytes} bytes, same: ${reply.same}`);
}

/** Lines that the calls read, showed and named, counted one by one. */
function shadesOf(tree, calls) {
  const lines = new Map(tree.paths.map((path, at) => [path, tree.lines[at]]));
  const files = new Map();
  for (const call of calls) {
    for (const file of call.shown) {
      if (call.roots[file.root] !== tree.root || !lines.has(file.path)) continue;
      const marks = files.get(file.path) ?? files.set(file.path, new Uint8Array(lines.get(file.path)).fill(1)).get(file.path);
      const level = { read: 3, lines: 2 }[file.kind] ?? 1;
      if (level > 1) for (const [from, to] of file.ranges) for (let at = from; at <= Math.min(to, marks.length); at += 1) marks[at - 1] = Math.max(marks[at - 1], level);
    }
  }
  const totals = [0, 0, 0, 0];
  for (const marks of files.values()) for (const level of marks) totals[level] += 1;
  const all = tree.lines.reduce((sum, it) => sum + it, 0);
  return { read: totals[3], shown: totals[2], named: totals[1], never: all - totals[1] - totals[2] - totals[3], all, files };
}

async function map(page, calls) {
  const root = calls.at(-1)?.roots[0];
  const began = Date.now();
  await go(page, 'map');
  if (!root) return tell('map: says what to do when there is no call', (await page.textContent('#view')).includes('forage mcp'), 'no root');
  await page.waitForSelector('#plan, .note.bad', { timeout: 60_000 });
  bound('time of the first map, with its reading', Date.now() - began, 'map-ms');
  const tree = await api('map', { root });
  if (tree.type === 'error') return tell('map: why there is none', (await page.textContent('#view')).includes(visible(tree.error)), tree.error);
  const expected = shadesOf(tree, calls);
  const legend = await page.$$eval('.legend [data-shade]', (all) => Object.fromEntries(all.map((it) => [it.dataset.shade, it.textContent])));
  for (const shade of ['read', 'shown', 'named', 'never']) {
    tell(`map: lines ${shade}`, legend[shade]?.endsWith(` ${expected[shade].toLocaleString('en')}`), `${legend[shade]}, counted ${expected[shade]} of ${expected.all}`);
  }
  const colours = await page.$eval('#plan', (canvas) => {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
  });
  tell('map: it is drawn', colours > 4, `${colours} colours, ${tree.paths.length} files`);
  await mapByKeys(page);
  const path = [...expected.files].find(([, marks]) => marks.includes(3) || marks.includes(2))?.[0];
  if (path) await file(page, root, path, expected.files.get(path));
}

async function mapByKeys(page) {
  await page.focus('#plan');
  const told = () => page.textContent('#under');
  const first = await told();
  const seen = new Set([first]);
  for (const key of ['ArrowRight', 'ArrowDown', 'ArrowRight', 'ArrowLeft', 'ArrowUp', 'End', 'Home']) {
    await page.keyboard.press(key);
    seen.add(await told());
  }
  tell('map: arrow keys go to neighbours', seen.size > 1 || (await page.$$('.entries tbody tr')).length < 2, [...seen].slice(0, 3).join(' | '));
  await page.keyboard.press('Enter');
  await settled(page);
  const inside = await page.evaluate(() => location.hash);
  await page.keyboard.press('Escape');
  await settled(page);
  const outside = await page.evaluate(() => [location.hash, document.activeElement.id]);
  tell('map: Enter goes in, Escape out', inside.startsWith('#map=') && outside[0] === '#map' && outside[1] === 'plan', `${inside}, ${outside}`);
  await page.goBack();
  await settled(page);
  tell('map: the way back', await page.evaluate(() => location.hash) === inside, inside);
  await go(page, 'map');
}

async function file(page, root, path, marks) {
  await go(page, `map=${encodeURIComponent(path)}`);
  const stretches = await page.$$eval('.side tbody tr', (all) => all.map((it) => it.textContent));
  tell('map: the stretches of a file', stretches.length > 0 && stretches.some((it) => /read|shown/.test(it)), `${visible(path)}: ${stretches.join(' | ')}`);
  await page.click('#show-text');
  await page.waitForSelector('.lines, #text .note');
  const shown = await page.$$eval('.lines div', (all) => all.map((it) => ({ number: Number(it.querySelector('b').textContent), shade: it.querySelector('i').className, text: it.querySelector('code').firstChild?.data ?? '' })));
  if (!shown.length) {
    const reply = await api('tools/read_file', { root, arguments: JSON.stringify({ path }) });
    return tell('map: why the text of a file can not be had', (await page.textContent('#text')).includes(visible(reply.error)), reply.error);
  }
  const names = { 1: 's-named', 2: 's-shown', 3: 's-read' };
  const wrong = shown.filter(({ number, shade }) => number <= marks.length && names[marks[number - 1]] !== shade);
  tell('map: lines of a file with their shades', !wrong.length, wrong.length ? `line ${wrong[0].number} is ${wrong[0].shade}` : `${shown.length} lines`);
  const reply = await api('tools/read_file', { root, arguments: JSON.stringify({ path, start_line: shown[0].number, end_line: shown[0].number }) });
  tell('map: the text of a line', shown[0].text === visible(reply.lines[0]).replaceAll('‹U+0009›', '\t'), shown[0].text);
}

async function ranking(page, calls) {
  const root = calls[0]?.roots[0];
  const query = given.query ?? calls.findLast((call) => call.tool === 'search_index')?.arguments.query;
  if (!root || !query) return;
  await go(page, 'ranking');
  const reply = await api('rank', { root, query });
  const files = reply.answer?.files ?? [];
  const expected = files[Math.min(2, files.length - 1)];
  await page.fill('[name=query]', query);
  await page.fill('[name=expected]', expected?.path ?? '');
  if (await page.$('[name=root]')) await page.selectOption('[name=root]', root);
  await page.press('[name=query]', 'Enter');
  await page.waitForFunction(() => document.querySelector('.ranked li, #ranked .note'), null, { timeout: 60_000 });
  if (reply.type === 'error') return tell('ranking: why there is none', (await page.textContent('#ranked')).includes(visible(reply.error)), reply.error);
  const shown = await page.$$eval('.ranked > li', (all) => all.map((it) => ({ text: it.textContent, parts: it.querySelectorAll('.stack i').length })));
  const wrong = files.filter((it, at) => !shown[at]?.text.includes(visible(it.path)) || it.reasons.some(({ rule }) => !shown[at].text.includes(rule)) || !shown[at].parts);
  tell('ranking: each file with each of its rules', shown.length >= files.length && files.length > 0 && !wrong.length, `${shown.length} files, ${shown[0]?.text}`);
  if (!expected) return;
  tell('ranking: the expected file', (await page.textContent('#expected')).includes(`number ${files.indexOf(expected) + 1}`), await page.textContent('#expected'));
  const kept = await page.textContent('#ranked .copied pre');
  tell('ranking: a query to keep', isDeepStrictEqual(JSON.parse(kept), { query, relevant: [expected.path] }), kept);
}

async function cost(page, calls) {
  await go(page, 'cost');
  if (!calls.length) return;
  const [byTool] = await page.$$eval('#costs table', (all) => all.map((it) => [...it.querySelectorAll('tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent))));
  const wrong = [...new Set(calls.map((call) => call.tool))].filter((tool) => {
    const row = byTool.find(([name]) => name === visible(tool));
    return row?.[1] !== calls.filter((call) => call.tool === tool).length.toLocaleString('en');
  });
  tell('cost: calls by tool', !wrong.length && byTool.at(-1)[1] === calls.length.toLocaleString('en'), byTool.map((row) => row.slice(0, 4).join(' ')).join(' | '));
  const beside = await page.$$eval('#costs table', (all) => [...all.at(-1).querySelectorAll('tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent)));
  const last = calls.slice(-500);
  const told = [];
  for (let at = 0; at < last.length; at += 100) told.push(...(await api('cost', { ids: last.slice(at, at + 100).map((call) => call.id).join() })).calls);
  const compared = (name) => told.filter((it) => it[name] !== null).length.toLocaleString('en');
  const all = beside.at(-1).map((cell) => (cell === '–' ? '0' : cell));
  tell('cost: beside other ways', all[1] === compared('whole_bytes') && all[4] === compared('grep_bytes'), beside.at(-1).join(' '));
  tell('cost: nothing is said to be saved', !/\bsav(ed|es|ings)\b/i.test(await page.textContent('#costs')), 'no such word');
}

async function health(page) {
  const record = await api('health');
  await go(page, 'health');
  await page.waitForSelector('#state .columns', { timeout: 60_000 });
  const text = await page.textContent('#state');
  const lacks = [record.versions.forage, ...record.problems, ...record.warnings, ...record.roots.roots.map((it) => it.root), ...record.clients.map((it) => it.file)].filter((it) => !text.includes(visible(it)));
  tell('health: what doctor says', !lacks.length, lacks.join(' | ') || `${record.problems.length} problems, ${record.warnings.length} warnings, ${record.clients.length} clients`);
}

// ---- All views -----------------------------------------------------------------------------------------------------

async function filters(page, calls) {
  if (!calls.length) return;
  await go(page, 'timeline');
  const { tool } = calls.at(-1);
  await page.selectOption('#by-tool', tool);
  const wanted = calls.filter((call) => call.tool === tool).length + 1;
  tell('filter by tool', Number(await page.getAttribute('#calls', 'aria-rowcount')) === wanted, `${wanted - 1} calls of ${visible(tool)}`);
  await page.fill('#by-text', 'no call has these words: qqxzz');
  tell('filter that nothing passes', (await page.textContent('#view')).includes('No call fits'), await page.textContent('#no-calls'));
  await page.click('#clear');
  tell('filters cleared', Number(await page.getAttribute('#calls', 'aria-rowcount')) === calls.length + 1, `${calls.length} calls`);
}

async function keyboard(page, calls) {
  await go(page, 'timeline');
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('Home');
  await page.evaluate(() => scrollTo(0, 0));
  await page.reload();
  await page.waitForSelector('#totals dd');
  await page.keyboard.press('Tab');
  const first = await page.evaluate(() => document.activeElement.id);
  await page.keyboard.press('Enter');
  tell('keyboard: the first stop leads to the view', first === 'skip' && await page.evaluate(() => document.activeElement.id) === 'main', first);
  for (const [at, view] of VIEWS.entries()) {
    await page.keyboard.press(String(at + 1));
    await settled(page);
    const [hash, focused, current] = await page.evaluate(() => [location.hash, document.activeElement.tagName, document.querySelector('#views [aria-current]')?.textContent]);
    const stops = await focusStops(page);
    // Wherever that ended: a digit belongs to a field that has the focus.
    await page.evaluate(() => document.activeElement.blur());
    tell(`keyboard: ${view}`, hash === `#${view}` && focused === 'H1' && current.toLowerCase() === view && !stops.unseen.length && stops.number > 8, `${stops.number} stops; without a mark of focus: ${stops.unseen.join(', ') || 'none'}`);
  }
  await page.keyboard.press('?');
  const opened = await page.evaluate(() => document.getElementById('keys').open);
  await page.keyboard.press('Escape');
  tell('keyboard: ? lists the keys, Escape closes', opened && !await page.evaluate(() => document.getElementById('keys').open), opened);
  if (calls.length < 2) return;
  await page.keyboard.press('1');
  await settled(page);
  await page.keyboard.press('/');
  for (let at = 0; at < 4 && !await page.evaluate(() => document.activeElement.matches('.open')); at += 1) await page.keyboard.press('Tab');
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowDown');
  const row = await page.evaluate(() => document.activeElement.closest('.call')?.dataset.id);
  await page.keyboard.press('Enter');
  await settled(page);
  const shown = await page.evaluate(() => location.hash);
  await page.keyboard.press(']');
  await settled(page);
  const next = await page.evaluate(() => location.hash);
  await page.keyboard.press('[');
  await settled(page);
  await page.keyboard.press('Escape');
  await settled(page);
  const back = await page.evaluate(() => document.activeElement.closest('.call')?.dataset.id);
  const hash = (call) => `#call=${encodeURIComponent(call.id)}`;
  tell('keyboard: rows, a call, its neighbour and back', row === calls[1].id && shown === hash(calls[1]) && next === hash(calls[2] ?? calls[1]) && back === row, `${row}, ${shown}, ${next}, ${back}`);
}

/** Goes through stops of Tab, and names those at which focus can't be seen. */
async function focusStops(page) {
  const unseen = [];
  let number = 0;
  // Past the last one they begin anew, at the head of the page.
  for (let at = 0; at < 30; at += 1) {
    await page.keyboard.press('Tab');
    const it = await page.evaluate(() => {
      const { activeElement: element } = document;
      if (element === document.body) return null;
      const marks = [getComputedStyle(element), getComputedStyle(element, '::after')];
      const isSeen = marks.some((style) => style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0);
      return { isSeen, name: `${element.tagName.toLowerCase()}#${element.id}.${element.className}` };
    });
    if (!it) continue;
    number += 1;
    if (!it.isSeen) unseen.push(it.name);
  }
  return { number, unseen };
}

/** Hostile names are text, and nothing in the page hides or reorders. */
async function hostile(page, where) {
  const found = await page.evaluate((source) => {
    const hiding = new RegExp(source, 'u');
    const made = [...document.querySelectorAll('#view img, #view script, #view iframe, #view svg, #view object, #view style, header img')].map((it) => it.outerHTML);
    const texts = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) if (walker.currentNode.parentElement.tagName !== 'SCRIPT' && hiding.test(walker.currentNode.data)) texts.push(walker.currentNode.data);
    for (const element of document.querySelectorAll('*')) for (const name of ['title', 'aria-label']) if (hiding.test(element.getAttribute(name) ?? '')) texts.push(element.getAttribute(name));
    const handlers = [...document.querySelectorAll('*')].filter((it) => it.getAttributeNames().some((name) => /^on/.test(name))).length;
    return { made, texts, handlers };
  }, HIDING.source);
  const isText = !found.made.length && !found.texts.length && !found.handlers;
  tell(`text is text: ${where}`, isText, isText ? 'nothing made of it, nothing hides' : JSON.stringify(found));
}

async function accessible(page, where) {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  const grave = violations.filter((it) => ['serious', 'critical'].includes(it.impact));
  const detail = grave.map((it) => `${it.id} (${it.impact}, ${it.nodes.length}): ${it.nodes[0].html.slice(0, 120)}`).join('; ');
  const light = violations.filter((it) => !grave.includes(it)).map((it) => it.id).join(', ');
  tell(`axe: ${where}`, !grave.length, detail || `nothing serious${light ? `; lesser: ${light}` : ''}`);
}

/** Each view at each width and in each scheme: no sideways scrolling, nothing serious by axe, text as text, a picture. */
async function looks(browser, calls) {
  const path = calls.flatMap((call) => call.shown.filter((file) => file.kind === 'read')).at(-1)?.path;
  const views = { timeline: 'timeline', ...(calls.length ? { call: `call=${encodeURIComponent(calls.at(Math.floor(calls.length / 2)).id)}` } : {}), map: 'map', ...(path ? { file: `map=${encodeURIComponent(path)}` } : {}), ranking: 'ranking', cost: 'cost', health: 'health' };
  const kinds = [[1440, 'light'], [1440, 'dark'], [360, 'light'], [360, 'dark']];
  for (const [width, colorScheme] of kinds) {
    const page = await open(browser, { colorScheme, viewport: { width, height: width < 500 ? 780 : 900 } });
    for (const [view, hash] of Object.entries(views)) {
      const where = `${view} at ${width} pixels, ${colorScheme}`;
      await go(page, hash);
      await dressed(page, view, calls);
      const needed = await page.evaluate(() => document.documentElement.scrollWidth);
      tell(`no sideways scrolling: ${where}`, needed <= width, `${needed} of ${width}`);
      await accessible(page, where);
      await hostile(page, where);
      if (given.screenshots) await page.screenshot({ path: `${given.screenshots}/${view}-${width}-${colorScheme}.png` });
    }
    await page.context().close();
  }
}

/** What a reader would ask of a view before looking at it. */
async function dressed(page, view, calls) {
  if (view === 'file' && await page.$('#show-text')) {
    await page.click('#show-text');
    await page.waitForSelector('.lines, #text .note');
  }
  const query = given.query ?? calls.findLast((call) => call.tool === 'search_index')?.arguments.query;
  if (view === 'ranking' && query) {
    await page.fill('[name=query]', query);
    await page.click('#rank');
    await page.waitForSelector('.ranked li, #ranked .note', { timeout: 60_000 });
  }
  if (view === 'health') await page.waitForSelector('#state .columns', { timeout: 60_000 });
}

async function otherLooks(browser) {
  for (const [name, options] of Object.entries({ 'forced-colors': { forcedColors: 'active' }, 'reduced-motion': { reducedMotion: 'reduce' } })) {
    const page = await open(browser, options);
    await go(page, 'map');
    const moving = await page.evaluate(() => document.getAnimations().length);
    tell(`${name}: nothing moves, and the map is there`, moving === 0, `${moving} animations`);
    if (given.screenshots) await page.screenshot({ path: `${given.screenshots}/map-1440-${name}.png` });
    await page.context().close();
  }
}

async function times(browser) {
  const page = await open(browser);
  await page.waitForFunction(() => window.firstView);
  bound('time of the first view', await page.evaluate(() => window.firstView), 'first-ms');
  // Once for what is read for the first time, then timed.
  for (const view of VIEWS) await go(page, view);
  for (const view of VIEWS) {
    const took = [];
    // The least of three: what the page needs, not what else the machine does.
    for (let nth = 0; nth < 3; nth += 1) {
      await go(page, VIEWS.find((it) => it !== view));
      took.push(await page.evaluate((to) => new Promise((resolve) => {
        const began = performance.now();
        location.hash = to;
        addEventListener('hashchange', () => requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - began))), { once: true });
      }), view));
    }
    bound(`time to ${view}`, Math.min(...took), 'switch-ms');
  }
  for (const view of ['timeline', 'map', 'cost']) {
    await go(page, view);
    const slowest = await page.evaluate(async () => {
      const field = document.getElementById('by-text');
      const spent = {};
      for (let nth = 0; nth < 3; nth += 1) {
        for (const text of ['r', 're', 'rea', 'read', '']) {
          const began = performance.now();
          field.value = text;
          field.dispatchEvent(new Event('input'));
          await new Promise((resolve) => { requestAnimationFrame(() => setTimeout(resolve)); });
          spent[text] = Math.min(spent[text] ?? Infinity, performance.now() - began);
        }
      }
      return Math.max(...Object.values(spent));
    });
    bound(`time of a letter in the filter, ${view}`, slowest, 'typing-ms');
  }
  await page.context().close();
}

async function serverGone(browser) {
  const page = await open(browser);
  await page.route('**/api/calls*', (route) => route.abort());
  await page.reload();
  await page.waitForSelector('#link.gone');
  const gone = await page.textContent('#link');
  // The browser itself writes of requests that fail.
  said.splice(0, said.length, ...said.filter((it) => !it.includes('ERR_FAILED')));
  await page.unroute('**/api/calls*');
  await page.waitForSelector('#totals dd', { timeout: 20_000 });
  await page.waitForFunction(() => !document.querySelector('#link.gone'), null, { timeout: 20_000 });
  tell('a server that is gone is told of, and asked again', /does not answer/.test(gone), `${gone} Then: ${await page.textContent('#link')}`);
  said.splice(0, said.length, ...said.filter((it) => !it.includes('ERR_FAILED')));
  await page.context().close();
}

const run = () => new Promise((resolve) => { spawn('sh', ['-c', given.live], { stdio: ['ignore', 'ignore', 'inherit'] }).on('exit', resolve); });

/** Who reads further up is not moved by a new call, and told of it. */
async function still(page) {
  await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight / 3));
  if (!await page.evaluate(() => innerHeight + scrollY < document.documentElement.scrollHeight - 100)) return;
  await settled(page);
  const middle = () => page.evaluate(() => {
    const row = document.elementFromPoint(300, innerHeight / 2).closest('.call');
    return [row?.dataset.id, row?.getBoundingClientRect().top].join();
  });
  const before = await middle();
  await run();
  await page.waitForSelector('#newer:not([hidden])');
  tell('a live call moves nobody who reads further up', before === await middle(), `${before}; ${await page.textContent('#newer')}`);
  await page.click('#newer');
  await settled(page);
  tell('and is one step away', await page.evaluate(() => document.activeElement.closest('.call') !== null && document.getElementById('newer').hidden), 'the last row has the focus');
}

async function live(browser, number) {
  const page = await open(browser);
  await page.evaluate(() => {
    window.rows = new Map();
    new MutationObserver((changes) => {
      for (const { addedNodes } of changes) for (const node of addedNodes) if (node.dataset?.id && !window.rows.has(node.dataset.id)) window.rows.set(node.dataset.id, Date.now());
    }).observe(document.body, { childList: true, subtree: true });
  });
  // The long question has to stand before the call is made.
  await page.waitForTimeout(300);
  const began = Date.now();
  await run();
  const ran = Date.now() - began;
  await page.waitForFunction((before) => Number(document.getElementById('calls')?.getAttribute('aria-rowcount')) > before + 1, number, { timeout: 20_000 });
  await settled(page);
  const { calls } = await api('calls', { after: number });
  const seen = await page.evaluate((id) => window.rows.get(id), calls.at(-1).id);
  bound(`time until a live call is there (the command ran ${ran} ms)`, seen ? seen - ended(calls.at(-1)) / 1000 : Infinity, 'live-ms');
  await still(page);
  await page.context().close();
}

// ---- All of it -----------------------------------------------------------------------------------------------------

if (given.screenshots) mkdirSync(given.screenshots, { recursive: true });
const { calls, next, processes } = await api('calls', { after: 0 });
calls.sort((one, other) => one.began_us - other.began_us || one.sequence - other.sequence);
console.log(`${calls.length} calls of ${processes.length} processes at ${origin}`);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  // Its own sandbox needs what containers do not give; it sees this page alone.
  args: ['--no-sandbox'],
});
await part('refusals', refusals);
await part('policy', policy);
await part('another origin', () => otherOrigin(browser));
await part('times', () => times(browser));
const page = await open(browser).catch((error) => {
  tell('the page opens', false, error.message);
  process.exit(1);
});
await part('timeline', () => timeline(page, calls));
for (const call of some(calls)) await part(`call ${visible(call.id)}`, () => oneCall(page, call));
await part('text again', () => textAgain(page, calls));
await part('map', () => map(page, calls));
await part('ranking', () => ranking(page, calls));
await part('cost', () => cost(page, calls));
await part('health', () => health(page));
await part('filters', () => filters(page, calls));
await part('keyboard', () => keyboard(page, calls));
await page.context().close();
await part('looks', () => looks(browser, calls));
await part('other looks', () => otherLooks(browser));
await part('server gone', () => serverGone(browser));
if (given.live) await part('live', () => live(browser, next));
tell('no message on the console', !said.length, said.join(' | ') || 'none');
tell('no request to another origin', !foreign.length, foreign.join(' | ') || 'none');
await browser.close();
console.log(faults ? `${faults} faults` : 'all is well');
process.exit(faults ? 1 : 0);
