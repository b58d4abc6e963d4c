// Looks at the page of a `forage ui` that runs, in a real browser: node check.mjs ADDRESS [OPTIONS]
//
// ADDRESS is what `forage ui` prints, with its token. This script works out from /api/calls and its like what the page must
// show, by other means than the page's own, so that an empty page fails. One line a check; 1 is returned after any fault.
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
const VIEWS = ['session', 'map', 'cost', 'health', 'advanced'];
// The page begins another session after a longer pause.
const IDLE_US = 600e6;
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
/** Backticks mark code in our messages, and the page makes elements of them. */
const plain = (text) => squeezed(text).replaceAll('`', '');
const lineCount = (number) => `${number.toLocaleString('en')} ${number === 1 ? 'line' : 'lines'}`;
const ended = (call) => call.began_us + call.elapsed_us;
const place = (call, file) => JSON.stringify([call.process, call.roots[file.root], file.path]);

/** The arguments as text, whatever the order of their keys. */
const ordered = (value) => (value === null || typeof value !== 'object' ? JSON.stringify(value)
  : `{${Object.keys(value).sort().map((key) => `${key}:${ordered(value[key])}`).join()}}`);

/** The sessions of the calls, in the order of their first calls: a client of a process, up to a long pause. */
function sessionsOf(calls) {
  const made = [];
  for (const call of calls) {
    const last = made.findLast((it) => it[0].process === call.process && it[0].client === call.client);
    if (last && call.began_us - Math.max(...last.map(ended)) <= IDLE_US) last.push(call);
    else made.push([call]);
  }
  return made;
}

/** By the names of calls: the first answer that showed lines of the file before its first read, or else that named it. */
function threads(calls) {
  const from = new Map();
  const has = (call, file, kind) => call.shown.some((other) => other.kind === kind && place(call, other) === place(file.call, file));
  const foundBy = (file) => {
    const opening = calls.find((it) => has(it, file, 'read'));
    const earlier = calls.slice(0, calls.indexOf(opening)).filter((it) => ended(it) <= opening.began_us);
    return earlier.find((it) => has(it, file, 'lines')) ?? earlier.find((it) => has(it, file, 'named'));
  };
  for (const call of calls.filter((it) => it.tool === 'read_file')) {
    const answer = call.shown.filter((file) => file.kind === 'read').map((file) => foundBy({ ...file, call })).find(Boolean);
    if (answer) from.set(call.id, answer);
  }
  return from;
}

/** The calls that read a file of an answer, the next for each file. */
function readersOf(call, calls) {
  const reads = (it, file) => call !== it && ended(call) <= it.began_us && it.shown.some((other) => other.kind === 'read' && place(it, other) === place(call, file));
  const next = call.shown.filter((file) => file.kind !== 'read').map((file) => calls.slice(calls.indexOf(call) + 1).find((it) => reads(it, file)));
  return calls.filter((it) => next.includes(it));
}

const findings = new Map();

/** The title of the finding that a call must have, or '' for none. */
function wanted(call, calls) {
  if (!findings.has(call)) findings.set(call, finding(call, calls));
  return findings.get(call);
}

function finding(call, calls) {
  const before = calls.slice(0, calls.indexOf(call));
  if (call.status === 'error') return call.code === 'path' ? 'Wrong path' : 'Failed';
  if (['cancelled', 'partial'].includes(call.status)) return 'Stopped early';
  if (call.hidden_matches.length) return 'Excluded';
  // Only questions in words may differ in case and order: patterns, paths and options mean something else then.
  const words = (text) => String(text).toLowerCase().split(/\s+/).filter(Boolean).sort().join(' ');
  const loose = (it) => (['search_index', 'keyword_search'].includes(it.tool) ? ordered({ ...it.arguments, query: words(it.arguments.query) }) : ordered(it.arguments));
  const alike = before.filter((it) => it.tool === call.tool);
  const same = alike.findLast((it) => ordered(it.arguments) === ordered(call.arguments)) ?? alike.findLast((it) => loose(it) === loose(call));
  if (same && (call.depends_on_session || (same.results === call.results && isDeepStrictEqual(same.shown, call.shown)))) return 'Repeated';
  const has = (it, file, line) => ended(it) <= call.began_us && it.shown.some((other) => other.kind === 'read' && place(it, other) === place(call, file) && other.ranges.some(([from, to]) => from <= line && line <= to));
  const isReread = call.shown.length && call.shown.every((file) => file.kind === 'read' && file.ranges.every(([from, to]) => before.some((it) => has(it, file, from) && has(it, file, to))));
  if (isReread) return 'Repeated';
  const shown = call.shown.reduce((sum, file) => sum + file.matches, 0);
  const isLimited = call.text_cut || (call.truncated_by && !['search_index', 'keyword_lookup'].includes(call.tool));
  const isWhole = call.results_of === 'matches' && !call.at_least && shown >= call.results;
  const goesOn = (it) => it.tool === call.tool && it.status !== 'error' && ordered(it.arguments) !== ordered(call.arguments) && ['pattern', 'query'].some((name) => call.arguments[name] && it.arguments[name] === call.arguments[name]);
  if (isLimited && !isWhole && !calls.slice(calls.indexOf(call) + 1).some(goesOn)) return 'Cut';
  return call.status === 'nothing' ? 'Nothing found' : '';
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
  await page.waitForSelector('.call, .empty h2');
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

const sessionAddress = (calls) => `session=${encodeURIComponent(calls[0].id)}`;

/** The sessions that the page lists, and all of one of them. */
async function session(page, calls) {
  const all = sessionsOf(calls);
  if (!all.length) {
    await go(page, 'session');
    const shown = await page.textContent('#view');
    return tell('session: says what to do when there is no call', shown.includes('forage setup --write') && !shown.includes('U+'), shown);
  }
  const listed = await page.$$eval('#sessions a', (links) => links.map((it) => it.dataset.id));
  const expected = all.map((it) => it[0].id).reverse();
  tell('sessions: listed, newest first', isDeepStrictEqual(listed, expected.slice(0, 60)), `${listed.length} of ${all.length}`);
  for (const own of all.slice(-3)) await oneSession(page, own);
}

async function oneSession(page, own) {
  await go(page, sessionAddress(own));
  const name = `session ${visible(own[0].id)}`;
  const rows = await page.$$eval('.call', (all) => all.map((it) => {
    const [lane, gap, run] = ['.lane', '.gap', '.run'].map((part) => it.querySelector(part).getBoundingClientRect());
    return { id: it.dataset.id, text: it.textContent, chip: it.querySelector('.chip')?.textContent ?? '', from: it.querySelector('.thread')?.getAttribute('href') ?? null,
      left: (run.left - lane.left) / lane.width, gap: gap.width / lane.width, lane: lane.width, came: it.querySelector('.came').textContent };
  }));
  const shown = own.slice(0, 500);
  tell(`${name}: a row for each call, in order`, isDeepStrictEqual(rows.map((it) => it.id), shown.map((it) => it.id)), `${rows.length} rows for ${own.length} calls`);
  const span = Math.max(...own.map(ended)) - own[0].began_us;
  const wrong = { tool: [], findings: [], outcome: [], thread: [], axis: [], gap: [] };
  const from = threads(own);
  let end = own[0].began_us;
  shown.forEach((call, at) => {
    const row = rows[at];
    if (!squeezed(row.text).includes(squeezed(visible(call.tool)))) wrong.tool.push(call.id);
    if (row.chip !== wanted(call, own)) wrong.findings.push(`${call.id}: ${row.chip}, expected ${wanted(call, own)}`);
    if (call.results_of === 'matches' && wanted(call, own) === 'Cut' && !row.came.startsWith(`${shownMatches(call).toLocaleString('en')} of ${call.results.toLocaleString('en')}`)) wrong.outcome.push(`${call.id}: ${row.came}`);
    const answer = from.get(call.id);
    if (row.from !== (answer ? `#call=${encodeURIComponent(answer.id)}` : null)) wrong.thread.push(`${call.id}: ${row.from}, expected ${answer?.id}`);
    // A mark at the end is moved in by its own width.
    const pixel = 5 / row.lane;
    if (Math.abs(row.left - (call.began_us - own[0].began_us) / span) > pixel) wrong.axis.push(`${call.id} at ${row.left}`);
    if (Math.abs(row.gap - Math.max(0, call.began_us - end) / span) > pixel) wrong.gap.push(`${call.id}: ${row.gap}`);
    end = Math.max(end, ended(call));
  });
  for (const [what, list] of Object.entries(wrong)) tell(`${name}: ${what}`, !list.length, list.length ? list.slice(0, 3).join('; ') : 'right in every row');
  const number = own.filter((call) => wanted(call, own)).length;
  const heading = await page.textContent('#look h2');
  const items = await page.$$eval('.findings > li', (all) => all.map((it) => it.textContent.length));
  tell(`${name}: each finding is listed with its consequence`, heading.startsWith(number ? `${number.toLocaleString('en')} to check` : 'Nothing to check') && items.length === number && items.every((it) => it > 30), `${heading}, ${items.length} items`);
  const { read, shown: lined } = seenFiles(own);
  const looked = squeezed(await page.textContent('#looked'));
  const missed = [fileCount(read, 'file'), `${fileCount(lined, 'other file')} shown, not read`].filter((it) => !looked.includes(it));
  if (own.some((call) => call.hidden_matches.length) && !looked.includes('Only excluded files had matches for call')) missed.push('the calls with matches in excluded files');
  tell(`${name}: where it looked`, !missed.length, missed.length ? `lacks ${missed.join(' | ')}: ${looked}` : looked);
}

const shownMatches = (call) => call.shown.reduce((sum, file) => sum + file.matches, 0);
const fileCount = (number, name) => `${number.toLocaleString('en')} ${name}${number === 1 ? '' : 's'}`;

/** Numbers of files that calls read, and of those that they only showed lines of. */
function seenFiles(calls, isCounted = () => true) {
  const files = (kind) => new Set(calls.flatMap((call) => call.shown.filter((file) => file.kind === kind && isCounted(call, file)).map((file) => place(call, file))));
  const read = files('read');
  return { read: read.size, shown: [...files('lines')].filter((it) => !read.has(it)).length };
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

async function oneCall(page, call, calls) {
  const name = `call ${visible(call.id)}`;
  await go(page, `call=${encodeURIComponent(call.id)}`);
  const text = plain(await page.textContent('#view'));
  const listed = await page.$$eval('.of-call > div > section:first-child li', (all) => all.map((it) => it.textContent));
  const lacks = [call.tool, call.error ?? '', ...call.not_entered, ...call.hidden_matches, ...call.funnel.map((it) => it.files.toLocaleString('en'))].filter((it) => !text.includes(plain(visible(it))));
  lacks.push(...Object.entries(call.skipped).filter(([, number]) => !listed.some((it) => it.startsWith(`${number.toLocaleString('en')} `))).map(([reason]) => reason));
  tell(`${name}: all that is known of it`, !lacks.length, lacks.length ? `lacks ${lacks.join(' | ')}` : `${call.funnel.length} steps, ${Object.keys(call.skipped).length} reasons`);
  const files = await page.$$eval('.files-of a.mono', (all) => all.map((it) => it.textContent));
  tell(`${name}: files in the order of the answer`, isDeepStrictEqual(files, call.shown.map((file) => visible(file.path))), `${files.length} files`);
  const readers = await page.$$eval('.stats a', (all) => all.filter((it) => it.parentElement.textContent.startsWith('Then read in')).map((it) => it.getAttribute('href')));
  const expected = readersOf(call, calls).map((it) => `#call=${encodeURIComponent(it.id)}`).slice(0, 8);
  tell(`${name}: the next reads of its files`, isDeepStrictEqual(readers, expected), readers.join(' ') || 'none');
  await seenText(page, call, name);
  const [json, command] = await page.$$eval('.copied pre', (all) => all.map((it) => it.textContent));
  tell(`${name}: arguments`, isDeepStrictEqual(JSON.parse(json), call.arguments), json);
  const words = shellWords(command);
  const asked = ['call', call.tool].every((word, at) => words[at] === word) && isDeepStrictEqual(JSON.parse(words[2]), call.arguments);
  tell(`${name}: the command, as a shell takes it`, asked && isDeepStrictEqual(words.slice(3), call.roots.flatMap((root) => ['--root', root])), command);
}

/** A call opens with the text that the agent saw. */
async function seenText(page, call, name) {
  const first = await page.textContent('#view section h2');
  const shown = await page.textContent('#view section');
  // Only a text with the same bytes is what the agent saw.
  const title = (reply) => (reply.type === 'error' ? 'The answer' : reply.same === true ? 'What the agent saw' : 'The answer now');
  if (call.status === 'error') return tell(`${name}: opens with the error`, first === 'What the agent saw' && shown.includes(visible(call.error)), call.error);
  const reply = await api('text', { id: call.id });
  const lines = (reply.text ?? '').replace(/\r\n/g, '\n').split('\n').map((it) => visible(it).replaceAll('‹U+0009›', '\t'));
  const isThere = reply.type === 'error' ? shown.toLowerCase().includes(visible(reply.error).toLowerCase()) : shown.includes(lines.join('\n').trimEnd());
  const isMarked = reply.same === true ? shown.includes('the same bytes') : reply.same === false ? shown.includes('not what the agent saw') : true;
  tell(`${name}: opens with the text that the agent saw`, first === title(reply) && isThere && isMarked, reply.type === 'error' ? reply.error : `${reply.bytes} bytes, same: ${reply.same}`);
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
  const own = sessionsOf(calls).at(-1);
  if (!own) {
    await go(page, 'map');
    return tell('map: says what to do when there is no call', (await page.textContent('#view')).includes('forage setup'), 'no root');
  }
  await go(page, sessionAddress(own));
  const [root] = own[0].roots;
  const began = Date.now();
  await go(page, 'map');
  await page.waitForSelector('#plan, .note.bad', { timeout: 60_000 });
  bound('time of the first map, with its reading', Date.now() - began, 'map-ms');
  const tree = await api('map', { root });
  if (tree.type === 'error') return tell('map: why there is none', (await page.textContent('#view')).includes(visible(tree.error)), tree.error);
  const expected = shadesOf(tree, own);
  const legend = await page.$$eval('.legend [data-shade]', (all) => Object.fromEntries(all.map((it) => [it.dataset.shade, it.textContent])));
  for (const shade of ['read', 'shown', 'named', 'never']) {
    tell(`map: lines ${shade}`, legend[shade]?.endsWith(` · ${lineCount(expected[shade])}`), `${legend[shade]}, counted ${expected[shade]} of ${expected.all}`);
  }
  const counted = seenFiles(own, (call, file) => call.roots[file.root] === root && tree.paths.includes(file.path));
  const share = squeezed(await page.textContent('#share'));
  const rest = tree.paths.length - counted.read - counted.shown;
  const says = rest ? `no line of the ${rest === tree.paths.length ? '' : 'other '}${rest === 1 ? 'searchable file' : `${rest.toLocaleString('en')} searchable files`}.` : `It saw lines of ${tree.paths.length === 1 ? 'the only searchable file' : `all ${fileCount(tree.paths.length, 'searchable file')}`}.`;
  const isRead = rest === tree.paths.length || share.includes(`in ${fileCount(counted.read, 'file')} and`);
  tell('map: files as the session counts them', isRead && share.includes(says), `${share} Expected: ${says}`);
  const absent = new Set(own.flatMap((call) => call.shown.filter((file) => call.roots[file.root] === root && !tree.paths.includes(file.path)).map((file) => file.path)));
  const noted = await page.$$eval('#legend .note', (all) => all.map((it) => it.textContent));
  const excluded = [...absent].filter((path) => tree.unsearched.some((it) => path === it.path || path.startsWith(`${it.path}/`)));
  tell('map: files of answers that are not on it', (absent.size > 0) === noted.some((it) => it.includes('not on this map')) && (excluded.length > 0) === noted.some((it) => it.includes('(not searched by default)')), `${absent.size}, ${excluded.length} of them excluded: ${noted.join(' ') || 'no note'}`);
  const bare = await page.$$eval('#lists h2', (all) => all.filter((it) => !it.nextElementSibling?.textContent).map((it) => it.textContent));
  tell('map: no list is empty', !bare.length, bare.join(', ') || 'none');
  const [area, covered] = await page.$eval('#plan', (plan) => [plan.clientWidth * plan.clientHeight, [...plan.querySelectorAll('.leaf')].reduce((sum, it) => sum + it.offsetWidth * it.offsetHeight, 0)]);
  tell('map: it is drawn', covered > area / 3, `${Math.round((100 * covered) / area)} % of it are files, ${tree.paths.length} in all`);
  const seen = [...expected.files].filter(([, marks]) => marks.includes(3)).map(([path]) => visible(path));
  const listed = await page.$$eval('#lists section:first-child a.mono', (all) => all.map((it) => it.textContent));
  tell('map: files that were read come first', isDeepStrictEqual([...listed.slice(0, seen.length)].sort(), [...seen].sort()), `${seen.length} files`);
  await mapByKeys(page);
  const path = [...expected.files].find(([, marks]) => marks.includes(3) || marks.includes(2))?.[0];
  if (path) await file(page, root, path, expected.files.get(path));
}

async function mapByKeys(page) {
  await page.focus('#plan [tabindex="0"]');
  const told = () => page.evaluate(() => document.activeElement.getAttribute('aria-label'));
  const seen = new Set([await told()]);
  for (const key of ['ArrowRight', 'ArrowDown', 'ArrowRight', 'ArrowLeft', 'ArrowUp', 'End', 'Home']) {
    await page.keyboard.press(key);
    seen.add(await told());
  }
  tell('map: arrow keys go to neighbours', seen.size > 1 && !seen.has(null), [...seen].slice(0, 3).join(' | '));
  await page.keyboard.press('Enter');
  await settled(page);
  const inside = await page.evaluate(() => location.hash);
  await page.keyboard.press('Escape');
  await settled(page);
  const outside = await page.evaluate(() => [location.hash, document.activeElement.parentElement.id]);
  tell('map: Enter goes in, Escape out', inside.startsWith('#map=') && outside[0] === '#map' && outside[1] === 'plan', `${inside}, ${outside}`);
  await page.goBack();
  await settled(page);
  tell('map: the way back', await page.evaluate(() => location.hash) === inside, inside);
  await go(page, 'map');
}

async function file(page, root, path, marks) {
  await go(page, `map=${encodeURIComponent(path)}`);
  const stretches = await page.$$eval('#stretches li', (all) => all.map((it) => it.textContent));
  tell('map: the stretches of a file', stretches.length > 0 && stretches.every((it) => /: (read|shown) by call \d/.test(it)), `${visible(path)}: ${stretches.join(' | ')}`);
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

async function advanced(page, calls) {
  const call = calls.findLast((it) => it.tool === 'search_index');
  const query = given.query ?? call?.arguments.query;
  const root = (call ?? calls[0])?.roots[0];
  if (!root || !query) return;
  await go(page, 'advanced');
  const reply = await api('rank', { root, query });
  const files = reply.answer?.files ?? [];
  const expected = files[Math.min(2, files.length - 1)];
  await page.fill('[name=query]', query);
  await page.fill('[name=expected]', expected?.path ?? '');
  if (await page.$('[name=root]')) await page.selectOption('[name=root]', root);
  await page.press('[name=query]', 'Enter');
  // The question of the last call is ranked at once, without a file that is expected.
  await page.waitForFunction((selector) => document.querySelector(selector), expected ? '#expected' : '.ranked li, #ranked .note', { timeout: 60_000 });
  if (reply.type === 'error') return tell('advanced: why there is no ranking', (await page.textContent('#ranked')).includes(visible(reply.error)), reply.error);
  const shown = await page.$$eval('.ranked > li', (all) => all.map((it) => ({ text: it.textContent, isOpen: it.querySelector('details').open })));
  const wrong = files.filter((it, at) => !shown[at]?.text.includes(visible(it.path)) || it.reasons.some(({ rule }) => !shown[at].text.includes(rule)) || shown[at].isOpen);
  tell('advanced: each file, its rules folded', shown.length >= files.length && files.length > 0 && !wrong.length, `${shown.length} files, ${shown[0]?.text}`);
  if (!expected) return;
  tell('advanced: the expected file', (await page.textContent('#expected')).includes(`number ${files.indexOf(expected) + 1}`), await page.textContent('#expected'));
  const kept = await page.textContent('#ranked .copied pre');
  tell('advanced: a query to keep', isDeepStrictEqual(JSON.parse(kept), { query, relevant: [expected.path] }), kept);
}

/** Bytes as the page shows them in tokens. */
function tokens(size) {
  const number = Math.round(size / 4);
  return number < 1000 ? String(number) : number < 9950 ? `${Number((number / 1000).toFixed(1))}k` : `${Math.round(number / 1000).toLocaleString('en')}k`;
}

async function cost(page, calls) {
  const own = sessionsOf(calls).at(-1);
  if (own) await go(page, sessionAddress(own));
  await go(page, 'cost');
  if (!own) return;
  const sum = (list, value) => list.reduce((all, it) => all + value(it), 0);
  const lead = await page.textContent('.lead');
  tell('cost: tokens of the session', lead.includes(`${tokens(sum(own, (call) => call.bytes))} tokens`), lead);
  const told = [];
  for (let at = 0; at < own.length; at += 100) told.push(...(await api('cost', { ids: own.slice(at, at + 100).map((call) => call.id).join() })).calls);
  const sizes = new Map();
  own.forEach((call, nth) => call.shown.forEach((file, at) => file.kind !== 'named' && sizes.set(place(call, file), told[nth].file_bytes[at])));
  const patterns = told.filter((it) => it.grep_bytes !== null);
  const expected = [sum(own.filter((call) => call.shown.some((file) => file.kind !== 'named')), (call) => call.bytes), sum([...sizes.values()], (it) => it),
    sum(own.filter((_, at) => told[at].grep_bytes !== null), (call) => call.bytes), sum(patterns, (it) => it.grep_bytes), sum(patterns, (it) => it.context_bytes)].map((it) => `≈ ${tokens(it)} tokens`);
  const bars = await page.$$eval('.bars b', (all) => all.map((it) => it.textContent));
  tell('cost: beside whole files and rg', isDeepStrictEqual(bars, expected), `${bars.join(', ')}; expected ${expected.join(', ')}`);
  const compared = `${patterns.length.toLocaleString('en')} of ${told.filter((it) => it.line_search).length.toLocaleString('en')} line search`;
  const costs = await page.textContent('#costs');
  tell('cost: line searches compared', costs.includes(compared), compared);
  const byTool = await page.$$eval('#costs table', ([first]) => [...first.querySelectorAll('tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent)));
  const wrong = [...new Set(own.map((call) => call.tool))].filter((tool) => byTool.find(([name]) => name === visible(tool))?.[1] !== own.filter((call) => call.tool === tool).length.toLocaleString('en'));
  tell('cost: calls by tool', !wrong.length, byTool.map((row) => row.slice(0, 3).join(' ')).join(' | '));
  tell('cost: nothing is said to be saved', !/\bsav(ed|es|ings)\b/i.test(await page.textContent('#costs')), 'no such word');
}

async function health(page) {
  const record = await api('health');
  await go(page, 'health');
  await page.waitForSelector('.says', { timeout: 60_000 });
  const says = await page.$$eval('.says li', (all) => all.map((it) => it.textContent));
  const text = plain(await page.textContent('#state'));
  const lacks = [record.versions.forage, ...record.problems, ...record.warnings, ...record.roots.roots.map((it) => it.root), ...record.clients.map((it) => it.file)].filter((it) => !text.includes(plain(visible(it))));
  const odd = says.filter((it) => !/^([\p{Lu}\d/]|forage ).*[.:!]?$/su.test(it) || it.split(' ').length < 3 || /undefined|null|NaN|\[object/.test(it));
  tell('health: sentences, and all that doctor says', !lacks.length && !odd.length && says.length > 5, [...lacks, ...odd].join(' | ') || `${says.length} sentences, ${record.problems.length} problems, ${record.warnings.length} warnings`);
}

// ---- All views -----------------------------------------------------------------------------------------------------

async function filters(page, calls) {
  const own = sessionsOf(calls).at(-1);
  if (!own) return;
  await go(page, sessionAddress(own));
  const { tool } = own.at(-1);
  await page.fill('#filter', tool);
  const rows = await page.$$eval('.call', (all) => all.map((it) => it.dataset.id));
  const right = own.filter((call) => call.tool === tool).every((call) => rows.includes(call.id));
  tell('filter by tool', right, `${rows.length} of ${own.length} calls`);
  await page.fill('#filter', 'no call has these words: qqxzz');
  tell('filter that nothing passes', (await page.textContent('#more')).includes('No call') && !(await page.$('.call')), await page.textContent('#more'));
  await page.press('#filter', 'Escape');
  tell('filter cleared by Escape', (await page.$$('.call')).length === Math.min(500, own.length), `${own.length} calls`);
}

async function keyboard(page, calls) {
  await go(page, 'session');
  await page.reload();
  await page.waitForSelector('.call, .empty h2');
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
    tell(`keyboard: ${view}`, hash === `#${view}` && focused === 'H1' && current === (view === 'advanced' ? 'Ranking' : view[0].toUpperCase() + view.slice(1)) && !stops.unseen.length && stops.number > 6, `${stops.number} stops; without a mark of focus: ${stops.unseen.join(', ') || 'none'}`);
  }
  await page.keyboard.press('?');
  const opened = await page.evaluate(() => document.getElementById('keys').open);
  await page.keyboard.press('Escape');
  tell('keyboard: ? lists the keys, Escape closes', opened && !await page.evaluate(() => document.getElementById('keys').open), opened);
  const own = sessionsOf(calls).at(-1) ?? [];
  if (own.length < 2) return;
  await page.keyboard.press('3');
  await settled(page);
  await page.keyboard.press('s');
  await page.keyboard.press('Home');
  await page.keyboard.press('Enter');
  await settled(page);
  tell('keyboard: another session keeps the view', await page.evaluate(() => location.hash) === '#cost', await page.evaluate(() => location.hash));
  await page.keyboard.press('1');
  await settled(page);
  await page.keyboard.press('s');
  const listed = await page.evaluate(() => document.activeElement.closest('#sessions') !== null);
  await page.keyboard.press('Home');
  await page.keyboard.press('Enter');
  await settled(page);
  tell('keyboard: s leads to the sessions', listed && await page.evaluate(() => location.hash) === `#${sessionAddress(own)}`, await page.evaluate(() => location.hash));
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
  tell('keyboard: rows, a call, its neighbour and back', row === own[1].id && shown === hash(own[1]) && next === hash(own[2] ?? own[1]) && back === row, `${row}, ${shown}, ${next}, ${back}`);
}

/** Goes through stops of Tab, and names those at which focus can't be seen. */
async function focusStops(page) {
  const unseen = [];
  let number = 0;
  // After the last stop comes the first one again.
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
  const detail = violations.map((it) => `${it.id} (${it.impact}, ${it.nodes.length}): ${it.nodes[0].html.slice(0, 120)}`).join('; ');
  tell(`axe: ${where}`, !violations.length, detail || 'no finding');
}

/** Each view at each width and in each scheme: no sideways scrolling, no finding by axe, text as text, a picture. */
async function looks(browser, calls) {
  const own = sessionsOf(calls).findLast((it) => it.some((call) => wanted(call, it))) ?? calls;
  const path = own.flatMap((call) => call.shown.filter((file) => file.kind === 'read')).at(-1)?.path;
  const views = { session: own.length ? sessionAddress(own) : 'session', ...(own.length ? { call: `call=${encodeURIComponent(own[0].id)}` } : {}), map: 'map', ...(path ? { file: `map=${encodeURIComponent(path)}` } : {}), cost: 'cost', health: 'health', advanced: 'advanced' };
  const kinds = [[1440, 'light'], [1440, 'dark'], [360, 'light'], [360, 'dark']];
  for (const [width, colorScheme] of kinds) {
    const page = await open(browser, { colorScheme, viewport: { width, height: width < 500 ? 780 : 900 } });
    for (const [view, hash] of Object.entries(views)) {
      const where = `${view} at ${width} pixels, ${colorScheme}`;
      await go(page, hash);
      await dressed(page, view, calls);
      const needed = await page.evaluate(() => document.documentElement.scrollWidth);
      tell(`no sideways scrolling: ${where}`, needed <= width, `${needed} of ${width}`);
      await drawn(page, where);
      await accessible(page, where);
      await hostile(page, where);
      if (given.screenshots) await page.screenshot({ path: `${given.screenshots}/${view}-${width}-${colorScheme}.png` });
    }
    await page.context().close();
  }
}

/** Nothing below the view, no bar for zero, and no mark-up as text. */
async function drawn(page, where) {
  const found = await page.evaluate(() => ({
    height: document.documentElement.scrollHeight,
    end: Math.ceil(Math.max(innerHeight, scrollY + document.querySelector('.frame').getBoundingClientRect().bottom)),
    bars: [...document.querySelectorAll('.meter i')].filter((it) => !parseFloat(it.style.width)).length,
    raw: [...document.querySelectorAll('.note, .findings li')].filter((it) => it.textContent.includes('`')).map((it) => it.textContent),
  }));
  tell(`nothing blank below, no bar for zero, no backtick: ${where}`, found.height <= found.end + 2 && !found.bars && !found.raw.length, JSON.stringify(found));
}

/** What a reader would ask of a view before looking at it. */
async function dressed(page, view, calls) {
  if (view === 'file') await page.waitForSelector('.lines, #text .note, #view > .note');
  const query = given.query ?? calls.findLast((call) => call.tool === 'search_index')?.arguments.query;
  if (view === 'advanced' && query) {
    await page.fill('[name=query]', query);
    await page.click('#rank');
    await page.waitForSelector('.ranked li, #ranked .note', { timeout: 60_000 });
  }
  if (view === 'health') await page.waitForSelector('.says', { timeout: 60_000 });
}

async function otherLooks(browser) {
  for (const [name, options] of Object.entries({ 'forced-colors': { forcedColors: 'active' }, 'reduced-motion': { reducedMotion: 'reduce' } })) {
    const page = await open(browser, options);
    await go(page, 'map');
    const moving = await page.evaluate(() => document.getAnimations().length);
    const underlines = await page.$$eval('#views a', (all) => all.map((it) => [it.hasAttribute('aria-current'), getComputedStyle(it).borderBottomColor]));
    const [[, own]] = underlines.filter(([isCurrent]) => isCurrent);
    tell(`${name}: only the current view is underlined`, underlines.every(([isCurrent, color]) => isCurrent === (color === own)), underlines.join(' '));
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
  if (await page.$('#sessions a')) {
    await go(page, 'session');
    const slowest = await page.evaluate(async () => {
      const field = document.getElementById('filter');
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
    bound('time of a letter in the filter', slowest, 'typing-ms');
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
  await page.waitForSelector('.call, .empty h2', { timeout: 20_000 });
  await page.waitForFunction(() => !document.querySelector('#link.gone'), null, { timeout: 20_000 });
  tell('a server that is gone is reported, and asked again', /does not answer/.test(gone), `${gone} Then: ${await page.textContent('#link')}`);
  said.splice(0, said.length, ...said.filter((it) => !it.includes('ERR_FAILED')));
  await page.context().close();
}

const run = () => new Promise((resolve) => { spawn('sh', ['-c', given.live], { stdio: ['ignore', 'ignore', 'inherit'] }).on('exit', resolve); });

/** The command begins a session of its own: it is listed, and the reader of another one is not moved. */
async function live(browser, number) {
  const page = await open(browser);
  await page.evaluate(() => {
    window.listed = new Map();
    new MutationObserver(() => {
      for (const { dataset } of document.querySelectorAll('#sessions a')) if (!window.listed.has(dataset.id)) window.listed.set(dataset.id, Date.now());
    }).observe(document.getElementById('sessions'), { childList: true, subtree: true });
  });
  const middle = () => page.evaluate(() => [location.hash, scrollY, document.querySelector('.call')?.dataset.id].join());
  const before = await middle();
  // The long question has to be on its way before the call is made.
  await page.waitForTimeout(300);
  const began = Date.now();
  await run();
  const ran = Date.now() - began;
  const { calls } = await api('calls', { after: number });
  const { id } = calls.at(-1);
  await page.waitForSelector(`#sessions [data-id="${id}"]`, { timeout: 20_000 });
  await settled(page);
  const seen = await page.evaluate((it) => window.listed.get(it), id);
  bound(`time until a live call is there (the command ran ${ran} ms)`, seen ? seen - ended(calls.at(-1)) / 1000 : Infinity, 'live-ms');
  tell('a live session moves nobody who reads another', before === await middle(), before);
  await go(page, `session=${encodeURIComponent(id)}`);
  tell('and is one step away', await page.$$eval('.call', (all) => all.length) === 1, id);
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
await part('session', () => session(page, calls));
for (const call of some(calls)) await part(`call ${visible(call.id)}`, () => oneCall(page, call, sessionsOf(calls).find((own) => own.includes(call))));
await part('map', () => map(page, calls));
await part('cost', () => cost(page, calls));
await part('health', () => health(page));
await part('advanced', () => advanced(page, calls));
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
