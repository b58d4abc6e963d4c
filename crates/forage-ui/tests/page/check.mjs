// Checks the page of a running `forage ui` in a real browser: node check.mjs ADDRESS [OPTIONS]
//
// ADDRESS is the address that `forage ui` prints, with its token. This script computes the expected content of the page from
// /api/calls and other endpoints, with other code than the page's own, so that an empty page fails. Prints a line for each
// check. The exit status is 1 after a failure.
//
//   --screenshots DIR    save a screenshot of each view, at 360 and 1440 pixels, light and dark
//   --live COMMAND       a shell command that makes one call; its session must be listed --live-ms after the call has ended
//   --query TEXT         the query to rank, instead of the last query of search_index
//   --first-ms N         time limit of the first view (1000), --switch-ms of another view (100), --typing-ms of a letter in
//                        the filter (100), --map-ms of the first map with its files (5000), --live-ms (300)
//   --calls N            number of calls to check one by one (12)
//
// CHROMIUM names the browser (default: /usr/bin/chromium).

import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import http from 'node:http';
import { isDeepStrictEqual, parseArgs } from 'node:util';

import axe from 'axe-core';
import { chromium } from 'playwright-core';

const { values: cliOptions, positionals: [address] } = parseArgs({
  allowPositionals: true,
  options: {
    screenshots: { type: 'string' }, live: { type: 'string' }, query: { type: 'string' },
    'first-ms': { type: 'string', default: '1000' }, 'switch-ms': { type: 'string', default: '100' },
    'typing-ms': { type: 'string', default: '100' }, 'map-ms': { type: 'string', default: '5000' },
    'live-ms': { type: 'string', default: '300' }, calls: { type: 'string', default: '12' },
  },
});
if (!address) {
  console.error('usage: node check.mjs ADDRESS [OPTIONS]; see this file for the options');
  process.exit(2);
}
const { origin, host, searchParams } = new URL(address);
const TOKEN = searchParams.get('token');
const VIEWS = ['session', 'map', 'cost', 'health', 'advanced'];
// The page starts a new session after a longer pause.
const IDLE_US = 600e6;
// Characters that reorder or hide text. The page must not contain them, except for line feeds and tabs of texts.
const HIDING = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u00AD\u061C\u200B-\u200F\u2028-\u202E\u2060-\u206F\uFEFF]/u;

// ---- Reports -------------------------------------------------------------------------------------------------------

let failureCount = 0;

function report(name, isOk, detail) {
  if (!isOk) failureCount += 1;
  console.log(`${isOk ? 'ok  ' : 'FAIL'} ${name}: ${visible(String(detail).replace(/\s+/g, ' ').slice(0, 400))}`);
}

/** Runs a group of checks. An exception is a failure, and the next group still runs. */
async function group(name, run) {
  try {
    await run();
  } catch (error) {
    report(name, false, error.stack?.split('\n').slice(0, 4).join(' | ') ?? error);
  }
}

const checkTime = (name, ms, option) => report(name, ms <= Number(cliOptions[option]), `${ms.toFixed(0)} ms of ${cliOptions[option]}`);

// ---- The server ----------------------------------------------------------------------------------------------------

async function api(path, query = {}) {
  const response = await fetch(`${origin}/api/${path}?${new URLSearchParams(query)}`, { headers: { Authorization: `Bearer ${TOKEN}` } });
  return response.json();
}

/** Sends a request with any headers, including those that `fetch` refuses. */
const send = (path, headers, method = 'GET') => new Promise((resolve, reject) => {
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
    ['wrong token in the address', '/?token=wrong', {}, [401]],
    ['no token', '/', {}, [401]],
    ['wrong token for the API', '/api/calls?after=0', { Authorization: 'Bearer wrong' }, [401]],
    ['token in the address of the API', `/api/calls?after=0&token=${TOKEN}`, {}, [401]],
    ['another host name', '/api/calls?after=0', { ...bearer, Host: 'example.com' }, [403, 421]],
    ['another origin', '/api/calls?after=0', { ...bearer, Origin: 'http://example.com' }, [403]],
  ];
  for (const [name, path, headers, expected] of cases) {
    const { statusCode } = await send(path, { Host: host, ...headers });
    report(`refused: ${name}`, expected.includes(statusCode), statusCode);
  }
  const posted = await send('/api/calls?after=0', { Host: host, ...bearer }, 'POST');
  report('refused: POST', posted.statusCode === 405, posted.statusCode);
  const control = await send('/api/calls?after=0', { Host: host, ...bearer });
  report('accepted: the same request with the token', control.statusCode === 200, control.statusCode);
}

async function policy() {
  const { headers } = await send(`/?token=${TOKEN}`, { Host: host });
  const text = headers['content-security-policy'] ?? '';
  const directives = ["default-src 'none'", "script-src 'sha256-", "style-src 'sha256-", "frame-ancestors 'none'", "base-uri 'none'"];
  report('content security policy', directives.every((it) => text.includes(it)) && !/unsafe|\*/.test(text), text);
}

/** Checks that a page of another origin in the same browser gets nothing, even with the token. */
async function otherOrigin(browser) {
  const server = http.createServer((_, response) => response.setHeader('content-type', 'text/html').end('<!doctype html><title>other</title>'));
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  const results = await page.evaluate(async ([target, token]) => {
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
  report('another origin gets no data', results[0] === 'nothing' && ['nothing', 'opaque 0'].includes(results[1]), results.join(', '));
  const isBlocked = await page.evaluate((target) => new Promise((resolve) => {
    const frame = document.createElement('iframe');
    frame.src = target;
    frame.onload = () => resolve(frame.contentWindow.length === 0 && !frame.contentDocument);
    document.body.append(frame);
  }), address);
  const inside = page.frames().find((it) => it !== page.mainFrame());
  const shown = await inside?.evaluate(() => document.getElementById('views') !== null).catch(() => false);
  report('another origin can not frame the page', isBlocked && !shown, shown ? 'it is shown' : 'it is not shown');
  await page.close();
  server.close();
}

// ---- Expected content ----------------------------------------------------------------------------------------------

const codePoint = (character) => `‹U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}›`;
const visible = (text) => String(text).replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, codePoint);
const collapse = (text) => text.replace(/\s+/g, ' ');
/** Removes the backticks that mark code in our messages, because the page converts them to elements. */
const plain = (text) => collapse(text).replaceAll('`', '');
const lineCount = (number) => `${number.toLocaleString('en')} ${number === 1 ? 'line' : 'lines'}`;
const endOf = (call) => call.began_us + call.elapsed_us;
const fileKey = (call, file) => JSON.stringify([call.process, call.roots[file.root], file.path]);

/** Formats arguments independently of the order of their keys. */
const ordered = (value) => (value === null || typeof value !== 'object' ? JSON.stringify(value)
  : `{${Object.keys(value).sort().map((key) => `${key}:${ordered(value[key])}`).join()}}`);

/** Groups calls into sessions by process, client and long pauses, in the order of their first calls. */
function sessionsOf(calls) {
  const sessions = [];
  for (const call of calls) {
    const last = sessions.findLast((it) => it[0].process === call.process && it[0].client === call.client);
    if (last && call.began_us - Math.max(...last.map(endOf)) <= IDLE_US) last.push(call);
    else sessions.push([call]);
  }
  return sessions;
}

/** Maps the ids of reads to the first answer that showed lines of the file before its first read, or else named it. */
function firstAnswers(calls) {
  const from = new Map();
  const has = (call, file, kind) => call.shown.some((other) => other.kind === kind && fileKey(call, other) === fileKey(file.call, file));
  const foundBy = (file) => {
    const firstRead = calls.find((it) => has(it, file, 'read'));
    const earlier = calls.slice(0, calls.indexOf(firstRead)).filter((it) => endOf(it) <= firstRead.began_us);
    return earlier.find((it) => has(it, file, 'lines')) ?? earlier.find((it) => has(it, file, 'named'));
  };
  for (const call of calls.filter((it) => it.tool === 'read_file')) {
    const answer = call.shown.filter((file) => file.kind === 'read').map((file) => foundBy({ ...file, call })).find(Boolean);
    if (answer) from.set(call.id, answer);
  }
  return from;
}

/** Returns the next calls that read the files of an answer. */
function readersOf(call, calls) {
  const reads = (it, file) => call !== it && endOf(call) <= it.began_us && it.shown.some((other) => other.kind === 'read' && fileKey(it, other) === fileKey(call, file));
  const next = call.shown.filter((file) => file.kind !== 'read').map((file) => calls.slice(calls.indexOf(call) + 1).find((it) => reads(it, file)));
  return calls.filter((it) => next.includes(it));
}

const findings = new Map();

/** Returns the title of the expected finding of a call, or '' for none. */
function expectedFinding(call, calls) {
  if (!findings.has(call)) findings.set(call, finding(call, calls));
  return findings.get(call);
}

function finding(call, calls) {
  const before = calls.slice(0, calls.indexOf(call));
  if (call.status === 'error') return call.code === 'path' ? 'Wrong path' : 'Failed';
  if (['cancelled', 'partial'].includes(call.status)) return 'Stopped early';
  if (call.hidden_matches.length) return 'Excluded';
  // Case and word order are only ignored in natural-language queries, because they are significant in patterns and paths.
  const words = (text) => String(text).toLowerCase().split(/\s+/).filter(Boolean).sort().join(' ');
  const loose = (it) => (['search_index', 'keyword_search'].includes(it.tool) ? ordered({ ...it.arguments, query: words(it.arguments.query) }) : ordered(it.arguments));
  const sameTool = before.filter((it) => it.tool === call.tool);
  const same = sameTool.findLast((it) => ordered(it.arguments) === ordered(call.arguments)) ?? sameTool.findLast((it) => loose(it) === loose(call));
  if (same && (call.depends_on_session || (same.results === call.results && isDeepStrictEqual(same.shown, call.shown)))) return 'Repeated';
  const has = (it, file, line) => endOf(it) <= call.began_us && it.shown.some((other) => other.kind === 'read' && fileKey(it, other) === fileKey(call, file) && other.ranges.some(([from, to]) => from <= line && line <= to));
  const isReread = call.shown.length && call.shown.every((file) => file.kind === 'read' && file.ranges.every(([from, to]) => before.some((it) => has(it, file, from) && has(it, file, to))));
  if (isReread) return 'Repeated';
  const shown = call.shown.reduce((sum, file) => sum + file.matches, 0);
  const isLimited = call.text_cut || (call.truncated_by && !['search_index', 'keyword_lookup'].includes(call.tool));
  const isWhole = call.results_of === 'matches' && !call.at_least && shown >= call.results;
  const continues = (it) => it.tool === call.tool && it.status !== 'error' && ordered(it.arguments) !== ordered(call.arguments) && ['pattern', 'query'].some((name) => call.arguments[name] && it.arguments[name] === call.arguments[name]);
  if (isLimited && !isWhole && !calls.slice(calls.indexOf(call) + 1).some(continues)) return 'Cut';
  return call.status === 'nothing' ? 'Nothing found' : '';
}

/** Whether the agent corrected what a finding says: it read a file of the name, or searched the excluded files. */
function mended(call, calls) {
  const later = calls.filter((it) => it.began_us > call.began_us);
  const last = (path) => String(path ?? '').split('/').filter(Boolean).at(-1);
  if (expectedFinding(call, calls) === 'Wrong path') return later.some((it) => it.shown.some((file) => file.kind === 'read' && last(file.path) === last(call.arguments.path)));
  if (expectedFinding(call, calls) !== 'Excluded') return false;
  const subject = (it) => it.tool + (it.arguments.pattern ?? it.arguments.query);
  return later.some((it) => (subject(it) === subject(call) && includesExcluded(it)) || it.shown.some(({ path }) => call.hidden_matches.some((rule) => rule.endsWith(` ${path}`))));
}

const includesExcluded = ({ arguments: options }) => Boolean(options.include_ignored || options.no_ignore || options.hidden);

// ---- The page ------------------------------------------------------------------------------------------------------

const messages = [];
const foreign = [];

async function open(browser, options = {}, path = '') {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, permissions: ['clipboard-read', 'clipboard-write'], ...options });
  const page = await context.newPage();
  page.on('console', (message) => messages.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => messages.push(`error: ${error.stack}`));
  page.on('dialog', (dialog) => {
    messages.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.origin !== origin && url.protocol !== 'data:') foreign.push(request.url());
  });
  await page.addInitScript(() => {
    // The time when the first row, or the message that there is none, is visible.
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
  await waitUntilSettled(page);
};

const waitUntilSettled = async (page) => {
  await page.evaluate(() => new Promise((resolve) => { requestAnimationFrame(() => setTimeout(resolve, 30)); }));
  await page.waitForFunction(() => ![...document.querySelectorAll('#view [role=status]')].some((it) => /…$/.test(it.textContent)), null, { timeout: 60_000 });
};

const sessionAddress = (calls) => `session=${encodeURIComponent(calls[0].id)}`;

/** Checks the list of sessions, and the last three sessions. */
async function session(page, calls) {
  const all = sessionsOf(calls);
  if (!all.length) {
    await go(page, 'session');
    const shown = await page.textContent('#view');
    return report('session: instructions if there is no call', shown.includes('forage setup --write') && !shown.includes('U+'), shown);
  }
  const listed = await page.$$eval('#sessions a', (links) => links.map((it) => it.dataset.id));
  const expected = all.map((it) => it[0].id).reverse();
  report('sessions: list, newest first', isDeepStrictEqual(listed, expected.slice(0, 60)), `${listed.length} of ${all.length}`);
  for (const own of all.slice(-3)) await oneSession(page, own);
}

async function oneSession(page, own) {
  await go(page, sessionAddress(own));
  const name = `session ${visible(own[0].id)}`;
  const rows = await page.$$eval('.call', (all) => all.map((it) => {
    const [lane, gap, run] = ['.lane', '.gap', '.run'].map((part) => it.querySelector(part).getBoundingClientRect());
    return { id: it.dataset.id, text: it.textContent, chip: it.querySelector('.chip')?.textContent ?? '', isBad: it.classList.contains('bad'), from: it.querySelector('.thread')?.getAttribute('href') ?? null,
      left: (run.left - lane.left) / lane.width, gap: gap.width / lane.width, lane: lane.width, came: it.querySelector('.came').textContent };
  }));
  const shown = own.slice(0, 500);
  report(`${name}: one row per call, in order`, isDeepStrictEqual(rows.map((it) => it.id), shown.map((it) => it.id)), `${rows.length} rows for ${own.length} calls`);
  const span = Math.max(...own.map(endOf)) - own[0].began_us;
  const wrong = { tool: [], findings: [], outcome: [], thread: [], axis: [], gap: [] };
  const from = firstAnswers(own);
  let end = own[0].began_us;
  shown.forEach((call, at) => {
    const row = rows[at];
    if (!collapse(row.text).includes(collapse(visible(call.tool)))) wrong.tool.push(call.id);
    if (row.chip !== expectedFinding(call, own)) wrong.findings.push(`${call.id}: ${row.chip}, expected ${expectedFinding(call, own)}`);
    if (row.isBad !== (BAD.includes(row.chip) && !mended(call, own))) wrong.findings.push(`${call.id}: ${row.chip}, red: ${row.isBad}`);
    const before = row.came.slice(0, row.came.length - row.chip.length).trim().toLowerCase();
    if (row.chip && before && row.chip.toLowerCase().startsWith(before)) wrong.outcome.push(`${call.id}, the same twice: ${row.came}`);
    if (call.results_of === 'matches' && expectedFinding(call, own) === 'Cut' && !row.came.startsWith(`${shownMatches(call).toLocaleString('en')} of ${call.results.toLocaleString('en')}`)) wrong.outcome.push(`${call.id}: ${row.came}`);
    const answer = from.get(call.id);
    if (row.from !== (answer ? `#call=${encodeURIComponent(answer.id)}` : null)) wrong.thread.push(`${call.id}: ${row.from}, expected ${answer?.id}`);
    // A mark at the end is moved inwards by its own width.
    const pixel = 5 / row.lane;
    if (Math.abs(row.left - (call.began_us - own[0].began_us) / span) > pixel) wrong.axis.push(`${call.id} at ${row.left}`);
    if (Math.abs(row.gap - Math.max(0, call.began_us - end) / span) > pixel) wrong.gap.push(`${call.id}: ${row.gap}`);
    end = Math.max(end, endOf(call));
  });
  for (const [what, list] of Object.entries(wrong)) report(`${name}: ${what}`, !list.length, list.length ? list.slice(0, 3).join('; ') : 'right in every row');
  const found = own.filter((call) => expectedFinding(call, own));
  const number = found.filter((call) => !mended(call, own)).length;
  const heading = await page.textContent('#look h2');
  const items = await page.$$eval('.findings > li', (all) => all.map((it) => ({ length: it.textContent.length, isDone: Boolean(it.querySelector('.chip.done')), says: [...it.lastChild.childNodes].slice(5).map((node) => node.textContent).join('') })));
  const isListed = heading.startsWith(number ? `${number.toLocaleString('en')} to check` : 'Nothing to check') && items.length === found.length && items.every((it) => it.length > 30);
  report(`${name}: each finding is listed with its consequence`, isListed, `${heading}, ${items.length} items`);
  report(`${name}: what the agent corrected comes last`, items.every((it, at) => it.isDone === (at >= number)) && (number === found.length || heading.includes(`${found.length - number} corrected later`)), heading);
  report(`${name}: no sentence twice in a row`, items.every((it, at) => !at || it.says !== items[at - 1].says || it.says.startsWith('As above')), `${items.length} items`);
  await cutAnswers(page, name, found.filter((call) => expectedFinding(call, own) === 'Cut' && call.tool === 'grep_search'), own);
  const { read, shown: lined } = seenFiles(own);
  const looked = collapse(await page.textContent('#looked'));
  const missed = [fileCount(read, 'file'), `${fileCount(lined, 'other file')} shown, not read`].filter((it) => !looked.includes(it));
  const searched = Math.max(0, ...own.filter((call) => !includesExcluded(call)).map((call) => call.funnel.find((it) => it.step === 'searched')?.files ?? 0));
  if (searched) missed.push(...[` of ${fileCount(searched, 'searched file')}: no line seen`].filter((it) => !looked.includes(it)));
  missed.push(...[bestFiles(own)].filter((it) => !looked.includes(it)));
  report(`${name}: where it looked`, !missed.length, missed.length ? `lacks ${missed.join(' | ')}: ${looked}` : looked);
}

const BAD = ['Wrong path', 'Failed', 'Stopped early', 'Excluded'];

/** A cut answer has a link to what it left out, and the number of files with the rest. */
async function cutAnswers(page, name, cut, own) {
  const [call] = cut;
  if (!call) return;
  const { cursor, max_results: most, context_lines: context, ...rest } = call.arguments;
  const reply = await api('tools/grep_search', { root: call.roots[0], arguments: JSON.stringify({ ...rest, output: 'counts', max_results: 1000 }) });
  const hidden = reply.files.filter((file) => file.match_count > (call.shown.find((it) => it.path === file.path)?.matches ?? 0)).map((file) => file.path);
  const unseen = hidden.filter((path) => !own.some((it) => it.shown.some((file) => file.path === path && file.kind !== 'named')));
  const address = `#call=${encodeURIComponent(call.id)}`;
  const item = page.locator('.findings > li', { has: page.locator(`a[href="${address}"]`, { hasText: 'See what it left out' }) });
  // Only items that are open at once say more.
  const isFolded = await page.locator(`details .findings a[href="${address}"]`).count() > 0;
  const wanted = hidden.length && !isFolded ? `The rest is in ${fileCount(hidden.length, 'file')}. The agent ${unseen.length ? 'never saw' : 'saw lines of'}` : 'See what it left out';
  await item.getByText(wanted).first().waitFor({ state: 'attached', timeout: 20_000 });
  report(`${name}: the consequence of a cut answer`, true, collapse(await item.first().textContent()));
}

/** How many of the best files of the first question were read. */
function bestFiles(own) {
  const asking = own.find((call) => call.tool === 'search_index' && call.shown.length);
  if (!asking) return '';
  const best = asking.shown.slice(0, 3).map((file) => fileKey(asking, file));
  const read = best.filter((it) => own.some((call) => call.shown.some((file) => file.kind === 'read' && fileKey(call, file) === it))).length;
  const name = `for the question of call ${own.indexOf(asking) + 1}`;
  if (best.length === 1) return `It ${read ? 'read' : 'did not read'} the best file ${name}.`;
  return `Of the best ${best.length} files ${name}, it read ${read === best.length ? 'all' : read || 'none'}.`;
}

const shownMatches = (call) => call.shown.reduce((sum, file) => sum + file.matches, 0);
const fileCount = (number, name) => `${number.toLocaleString('en')} ${name}${number === 1 ? '' : 's'}`;

/** Counts the files that calls read, and the files whose lines they only showed. */
function seenFiles(calls, isCounted = () => true) {
  const files = (kind) => new Set(calls.flatMap((call) => call.shown.filter((file) => file.kind === kind && isCounted(call, file)).map((file) => fileKey(call, file))));
  const read = files('read');
  return { read: read.size, shown: [...files('lines')].filter((it) => !read.has(it)).length };
}

/** Returns the words after `forage` as a shell parses the command. */
function shellWords(text) {
  const script = `forage() { printf '%s\\0' "$@"; }\n${text}`;
  return execFileSync('bash', ['-c', script], { encoding: 'utf8', env: { ...process.env, LC_ALL: 'C.UTF-8' } }).split('\0').slice(0, -1);
}

/** Selects a few calls of each kind, because there can be thousands. */
function sample(calls) {
  const kinds = new Map();
  for (const call of calls) kinds.set(`${call.tool} ${call.status} ${call.truncated_by} ${HIDING.test(JSON.stringify(call.arguments))}`, call);
  const rest = calls.filter((call) => HIDING.test(JSON.stringify(JSON.stringify(call.arguments))) || JSON.stringify(call.arguments).includes('<'));
  return [...new Set([...kinds.values(), ...rest])].slice(0, Number(cliOptions.calls));
}

async function oneCall(page, call, calls) {
  const name = `call ${visible(call.id)}`;
  await go(page, `call=${encodeURIComponent(call.id)}`);
  const text = plain(await page.textContent('#view'));
  const listed = await page.$$eval('.of-call .searched li', (all) => all.map((it) => it.textContent));
  const lacks = [call.tool, call.error ?? '', ...call.not_entered, ...call.hidden_matches, ...call.funnel.map((it) => it.files.toLocaleString('en'))].filter((it) => !text.includes(plain(visible(it))));
  lacks.push(...Object.entries(call.skipped).filter(([, number]) => !listed.some((it) => it.startsWith(`${number.toLocaleString('en')} `))).map(([reason]) => reason));
  report(`${name}: all that is known of it`, !lacks.length, lacks.length ? `lacks ${lacks.join(' | ')}` : `${call.funnel.length} steps, ${Object.keys(call.skipped).length} reasons`);
  const files = await page.$$eval('.files-of a.mono', (all) => all.map((it) => it.textContent));
  report(`${name}: files in the order of the answer`, isDeepStrictEqual(files, call.shown.map((file) => visible(file.path))), `${files.length} files`);
  const readers = await page.$$eval('.stats a', (all) => all.filter((it) => it.parentElement.textContent.startsWith('Then read in')).map((it) => it.getAttribute('href')));
  const expected = readersOf(call, calls).map((it) => `#call=${encodeURIComponent(it.id)}`).slice(0, 8);
  report(`${name}: next reads of its files`, isDeepStrictEqual(readers, expected), readers.join(' ') || 'none');
  await seenText(page, call, name);
  const [json, command] = await page.$$eval('.copied pre', (all) => all.map((it) => it.textContent));
  report(`${name}: arguments`, isDeepStrictEqual(JSON.parse(json), call.arguments), json);
  const words = shellWords(command);
  const isCall = ['call', call.tool].every((word, at) => words[at] === word) && isDeepStrictEqual(JSON.parse(words[2]), call.arguments);
  report(`${name}: command as parsed by a shell`, isCall && isDeepStrictEqual(words.slice(3), call.roots.flatMap((root) => ['--root', root])), command);
}

/** Checks that a call starts with the text that the agent saw. */
async function seenText(page, call, name) {
  const first = await page.textContent('#view section h2');
  const shown = await page.textContent('#view section');
  // Only a text with the same bytes may be shown as what the agent saw.
  const title = (reply) => (reply.type === 'error' ? 'The answer' : reply.same === true ? 'What the agent saw' : 'The answer now');
  if (call.status === 'error') return report(`${name}: starts with the error`, first === 'What the agent saw' && shown.includes(visible(call.error)), call.error);
  const reply = await api('text', { id: call.id });
  const lines = (reply.text ?? '').replace(/\r\n/g, '\n').split('\n').map((it) => visible(it).replaceAll('‹U+0009›', '\t'));
  const isShown = reply.type === 'error' ? shown.toLowerCase().includes(visible(reply.error).toLowerCase()) : shown.includes(lines.join('\n').trimEnd());
  const isMarked = reply.same === true ? shown.includes('the same bytes') : reply.same === false ? shown.includes('not what the agent saw') : true;
  report(`${name}: starts with the text that the agent saw`, first === title(reply) && isShown && isMarked, reply.type === 'error' ? reply.error : `${reply.bytes} bytes, same: ${reply.same}`);
}

/** Counts the lines that the calls read, showed and named, one by one. */
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
    return report('map: instructions if there is no call', (await page.textContent('#view')).includes('forage setup'), 'no root');
  }
  await go(page, sessionAddress(own));
  const [root] = own[0].roots;
  const start = Date.now();
  await go(page, 'map');
  await page.waitForSelector('#plan, .note.bad', { timeout: 60_000 });
  checkTime('time of the first map with its files', Date.now() - start, 'map-ms');
  const tree = await api('map', { root });
  if (tree.type === 'error') return report('map: error of the tree', (await page.textContent('#view')).includes(visible(tree.error)), tree.error);
  const expected = shadesOf(tree, own);
  const legend = await page.$$eval('.legend [data-shade]', (all) => Object.fromEntries(all.map((it) => [it.dataset.shade, it.textContent])));
  for (const shade of ['read', 'shown', 'named', 'never']) {
    report(`map: lines ${shade}`, legend[shade]?.endsWith(` · ${lineCount(expected[shade])}`), `${legend[shade]}, counted ${expected[shade]} of ${expected.all}`);
  }
  const counted = seenFiles(own, (call, file) => call.roots[file.root] === root && tree.paths.includes(file.path));
  const share = collapse(await page.textContent('#share'));
  const rest = tree.paths.length - counted.read - counted.shown;
  const sentence = rest ? `no line of the ${rest === tree.paths.length ? '' : 'other '}${rest === 1 ? 'searchable file' : `${rest.toLocaleString('en')} searchable files`}.` : `It saw lines of ${tree.paths.length === 1 ? 'the only searchable file' : `all ${fileCount(tree.paths.length, 'searchable file')}`}.`;
  const isRead = rest === tree.paths.length || share.includes(`in ${fileCount(counted.read, 'file')} and`);
  report('map: numbers of files', isRead && share.includes(sentence), `${share} Expected: ${sentence}`);
  const absent = new Set(own.flatMap((call) => call.shown.filter((file) => call.roots[file.root] === root && !tree.paths.includes(file.path)).map((file) => file.path)));
  const noted = await page.$$eval('#legend .note', (all) => all.map((it) => it.textContent));
  const excluded = [...absent].filter((path) => tree.unsearched.some((it) => path === it.path || path.startsWith(`${it.path}/`)));
  report('map: files of answers that are missing on the map', (absent.size > 0) === noted.some((it) => it.includes('not on this map')) && (excluded.length > 0) === noted.some((it) => it.includes('(not searched by default)')), `${absent.size}, ${excluded.length} of them excluded: ${noted.join(' ') || 'no note'}`);
  const empty = await page.$$eval('#lists h2', (all) => all.filter((it) => !it.nextElementSibling?.textContent).map((it) => it.textContent));
  report('map: no list is empty', !empty.length, empty.join(', ') || 'none');
  const [area, covered] = await page.$eval('#plan', (plan) => [plan.clientWidth * plan.clientHeight, [...plan.querySelectorAll('.leaf')].reduce((sum, it) => sum + it.offsetWidth * it.offsetHeight, 0)]);
  report('map: files cover a third of the area', covered > area / 3, `${Math.round((100 * covered) / area)} %, ${tree.paths.length} files`);
  const seen = [...expected.files].filter(([, marks]) => marks.includes(3)).map(([path]) => visible(path));
  const listed = await page.$$eval('#lists section:first-child a.mono', (all) => all.map((it) => it.textContent));
  report('map: files that were read come first', isDeepStrictEqual([...listed.slice(0, seen.length)].sort(), [...seen].sort()), `${seen.length} files`);
  // Of several files without a cell of their own, one has the name.
  const named = await page.$$eval('#plan a.read', (all) => all.map((it) => ({ name: it.querySelector('span')?.textContent, label: it.getAttribute('aria-label'), box: it.querySelector('span')?.getBoundingClientRect().toJSON(), plan: it.parentElement.getBoundingClientRect().toJSON() })));
  const bad = named.filter(({ name, box, plan }) => !name || box.left < plan.left - 1 || box.right > plan.right + 1 || box.bottom > plan.bottom + 1);
  report('map: what was read has a name', (named.length > 0 || !seen.length) && !bad.length, bad.length ? JSON.stringify(bad[0]) : named.map((it) => it.label).join(' | ') || 'nothing was read');
  await mapByKeys(page);
  const path = [...expected.files].find(([, marks]) => marks.includes(3) || marks.includes(2))?.[0];
  if (path) await file(page, root, path, expected.files.get(path));
}

async function mapByKeys(page) {
  await page.focus('#plan [tabindex="0"]');
  const focusedLabel = () => page.evaluate(() => document.activeElement.getAttribute('aria-label'));
  const seen = new Set([await focusedLabel()]);
  for (const key of ['ArrowRight', 'ArrowDown', 'ArrowRight', 'ArrowLeft', 'ArrowUp', 'End', 'Home']) {
    await page.keyboard.press(key);
    seen.add(await focusedLabel());
  }
  report('map: arrow keys move to neighbors', seen.size > 1 && !seen.has(null), [...seen].slice(0, 3).join(' | '));
  await page.keyboard.press('Enter');
  await waitUntilSettled(page);
  const inside = await page.evaluate(() => location.hash);
  await page.keyboard.press('Escape');
  await waitUntilSettled(page);
  const outside = await page.evaluate(() => [location.hash, document.activeElement.parentElement.id]);
  report('map: Enter opens, Escape goes up', inside.startsWith('#map=') && outside[0] === '#map' && outside[1] === 'plan', `${inside}, ${outside}`);
  await page.goBack();
  await waitUntilSettled(page);
  report('map: back button', await page.evaluate(() => location.hash) === inside, inside);
  await go(page, 'map');
}

async function file(page, root, path, marks) {
  await go(page, `map=${encodeURIComponent(path)}`);
  const ranges = await page.$$eval('#stretches li', (all) => all.map((it) => it.textContent));
  report('map: line ranges of a file', ranges.length > 0 && ranges.every((it) => /: (read|shown) by call \d/.test(it)), `${visible(path)}: ${ranges.join(' | ')}`);
  await page.waitForSelector('.lines, #text .note');
  const shown = await page.$$eval('.lines div', (all) => all.map((it) => ({ number: Number(it.querySelector('b').textContent), shade: it.querySelector('i').className, text: it.querySelector('code').firstChild?.data ?? '' })));
  if (!shown.length) {
    const reply = await api('tools/read_file', { root, arguments: JSON.stringify({ path }) });
    return report('map: error of a file', (await page.textContent('#text')).includes(visible(reply.error)), reply.error);
  }
  const names = { 1: 's-named', 2: 's-shown', 3: 's-read' };
  const wrong = shown.filter(({ number, shade }) => number <= marks.length && names[marks[number - 1]] !== shade);
  report('map: shades of the lines of a file', !wrong.length, wrong.length ? `line ${wrong[0].number} is ${wrong[0].shade}` : `${shown.length} lines`);
  const reply = await api('tools/read_file', { root, arguments: JSON.stringify({ path, start_line: shown[0].number, end_line: shown[0].number }) });
  report('map: text of a line', shown[0].text === visible(reply.lines[0]).replaceAll('‹U+0009›', '\t'), shown[0].text);
}

async function advanced(page, calls) {
  const call = calls.findLast((it) => it.tool === 'search_index');
  const query = cliOptions.query ?? call?.arguments.query;
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
  // The page ranks the query of the last call immediately, but without an expected file.
  await page.waitForFunction((selector) => document.querySelector(selector), expected ? '#expected' : '.ranked li, #ranked .note', { timeout: 60_000 });
  if (reply.type === 'error') return report('advanced: error of the ranking', (await page.textContent('#ranked')).includes(visible(reply.error)), reply.error);
  const shown = await page.$$eval('.ranked > li', (all) => all.map((it) => ({ text: it.textContent, isOpen: it.querySelector('details').open })));
  const wrong = files.filter((it, at) => !shown[at]?.text.includes(visible(it.path)) || it.reasons.some(({ rule }) => !shown[at].text.includes(rule)) || shown[at].isOpen);
  report('advanced: each file with collapsed rules', shown.length >= files.length && files.length > 0 && !wrong.length, `${shown.length} files, ${shown[0]?.text}`);
  if (!expected) return;
  report('advanced: expected file', (await page.textContent('#expected')).includes(`number ${files.indexOf(expected) + 1}`), await page.textContent('#expected'));
  const line = await page.textContent('#ranked .copied pre');
  report('advanced: line for forage eval', isDeepStrictEqual(JSON.parse(line), { query, relevant: [expected.path] }), line);
}

/** Formats bytes as tokens like the page. */
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
  report('cost: tokens of the session', lead.includes(`${tokens(sum(own, (call) => call.bytes))} tokens`), lead);
  const costs = [];
  for (let at = 0; at < own.length; at += 100) costs.push(...(await api('cost', { ids: own.slice(at, at + 100).map((call) => call.id).join() })).calls);
  const sizes = new Map();
  own.forEach((call, index) => call.shown.forEach((file, at) => file.kind !== 'named' && sizes.set(fileKey(call, file), costs[index].file_bytes[at])));
  const patterns = costs.filter((it) => it.grep_bytes !== null);
  const expected = [sum(own.filter((call) => call.shown.some((file) => file.kind !== 'named')), (call) => call.bytes), sum([...sizes.values()], (it) => it),
    sum(own.filter((_, at) => costs[at].grep_bytes !== null), (call) => call.bytes), sum(patterns, (it) => it.grep_bytes), sum(patterns, (it) => it.context_bytes)].map((it) => `≈ ${tokens(it)} tokens`);
  const bars = await page.$$eval('.bars b', (all) => all.map((it) => it.textContent));
  report('cost: compared with whole files and rg', isDeepStrictEqual(bars, expected), `${bars.join(', ')}; expected ${expected.join(', ')}`);
  const compared = `${patterns.length.toLocaleString('en')} of ${costs.filter((it) => it.line_search).length.toLocaleString('en')} line search`;
  const text = await page.textContent('#costs');
  report('cost: line searches compared', text.includes(compared), compared);
  const byTool = await page.$$eval('#costs table', ([first]) => [...first.querySelectorAll('tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent)));
  const wrong = [...new Set(own.map((call) => call.tool))].filter((tool) => byTool.find(([name]) => name === visible(tool))?.[1] !== own.filter((call) => call.tool === tool).length.toLocaleString('en'));
  report('cost: calls by tool', !wrong.length, byTool.map((row) => row.slice(0, 3).join(' ')).join(' | '));
  report('cost: no claim of savings', !/\bsav(ed|es|ings)\b/i.test(await page.textContent('#costs')), 'none');
}

async function health(page) {
  const record = await api('health');
  await go(page, 'health');
  await page.waitForSelector('.says', { timeout: 60_000 });
  const sentences = await page.$$eval('.says li', (all) => all.map((it) => it.textContent));
  const text = plain(await page.textContent('#state'));
  const lacks = [record.versions.forage, ...record.problems, ...record.warnings, ...record.roots.roots.map((it) => it.root), ...record.clients.map((it) => it.file)].filter((it) => !text.toLowerCase().includes(plain(visible(it)).toLowerCase()));
  const odd = sentences.filter((it) => !/^([\p{Lu}\d/]|forage ).*[.:!]?$/su.test(it) || it.split(' ').length < 3 || /undefined|null|NaN|\[object/.test(it));
  report('health: sentences, and all that doctor says', !lacks.length && !odd.length && sentences.length > 5, [...lacks, ...odd].join(' | ') || `${sentences.length} sentences, ${record.problems.length} problems, ${record.warnings.length} warnings`);
}

// ---- All views -----------------------------------------------------------------------------------------------------

async function filters(page, calls) {
  const own = sessionsOf(calls).at(-1);
  if (!own) return;
  await go(page, sessionAddress(own));
  const { tool } = own.at(-1);
  await page.fill('#filter', tool);
  const rows = await page.$$eval('.call', (all) => all.map((it) => it.dataset.id));
  const isComplete = own.filter((call) => call.tool === tool).every((call) => rows.includes(call.id));
  report('filter by tool', isComplete, `${rows.length} of ${own.length} calls`);
  await page.fill('#filter', 'no call has these words: qqxzz');
  report('filter without matches', (await page.textContent('#more')).includes('No call') && !(await page.$('.call')), await page.textContent('#more'));
  await page.press('#filter', 'Escape');
  report('filter cleared by Escape', (await page.$$('.call')).length === Math.min(500, own.length), `${own.length} calls`);
}

async function keyboard(page, calls) {
  await go(page, 'session');
  await page.reload();
  await page.waitForSelector('.call, .empty h2');
  await page.keyboard.press('Tab');
  const first = await page.evaluate(() => document.activeElement.id);
  await page.keyboard.press('Enter');
  report('keyboard: first tab stop skips to the view', first === 'skip' && await page.evaluate(() => document.activeElement.id) === 'main', first);
  for (const [at, view] of VIEWS.entries()) {
    await page.keyboard.press(String(at + 1));
    await waitUntilSettled(page);
    const [hash, focused, current] = await page.evaluate(() => [location.hash, document.activeElement.tagName, document.querySelector('#views [aria-current]')?.textContent]);
    const stops = await focusStops(page);
    // Otherwise an input field with the focus would get the next digit.
    await page.evaluate(() => document.activeElement.blur());
    report(`keyboard: ${view}`, hash === `#${view}` && focused === 'H1' && current === view[0].toUpperCase() + view.slice(1) && !stops.unseen.length && stops.number > 6, `${stops.number} stops; without a mark of focus: ${stops.unseen.join(', ') || 'none'}`);
  }
  await page.keyboard.press('?');
  const opened = await page.evaluate(() => document.getElementById('keys').open);
  await page.keyboard.press('Escape');
  report('keyboard: ? shows the keys, Escape closes', opened && !await page.evaluate(() => document.getElementById('keys').open), opened);
  const own = sessionsOf(calls).at(-1) ?? [];
  if (own.length < 2) return;
  await page.keyboard.press('3');
  await waitUntilSettled(page);
  await page.keyboard.press('s');
  await page.keyboard.press('Home');
  await page.keyboard.press('Enter');
  await waitUntilSettled(page);
  report('keyboard: another session keeps the view', await page.evaluate(() => location.hash) === '#cost', await page.evaluate(() => location.hash));
  await page.keyboard.press('1');
  await waitUntilSettled(page);
  await page.keyboard.press('s');
  const listed = await page.evaluate(() => document.activeElement.closest('#sessions') !== null);
  await page.keyboard.press('Home');
  await page.keyboard.press('Enter');
  await waitUntilSettled(page);
  report('keyboard: s moves to the sessions', listed && await page.evaluate(() => location.hash) === `#${sessionAddress(own)}`, await page.evaluate(() => location.hash));
  await page.keyboard.press('/');
  for (let at = 0; at < 4 && !await page.evaluate(() => document.activeElement.matches('.open')); at += 1) await page.keyboard.press('Tab');
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowDown');
  const row = await page.evaluate(() => document.activeElement.closest('.call')?.dataset.id);
  await page.keyboard.press('Enter');
  await waitUntilSettled(page);
  const shown = await page.evaluate(() => location.hash);
  await page.keyboard.press(']');
  await waitUntilSettled(page);
  const next = await page.evaluate(() => location.hash);
  await page.keyboard.press('[');
  await waitUntilSettled(page);
  await page.keyboard.press('Escape');
  await waitUntilSettled(page);
  const back = await page.evaluate(() => document.activeElement.closest('.call')?.dataset.id);
  const hash = (call) => `#call=${encodeURIComponent(call.id)}`;
  report('keyboard: rows, a call, its neighbor and back', row === own[1].id && shown === hash(own[1]) && next === hash(own[2] ?? own[1]) && back === row, `${row}, ${shown}, ${next}, ${back}`);
}

/** Visits tab stops. Returns their number and the stops without visible focus. */
async function focusStops(page) {
  const unseen = [];
  let number = 0;
  // The first stop follows the last one.
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

/** Checks that hostile names are text, and that no character of the page hides or reorders text. */
async function hostile(page, where) {
  const found = await page.evaluate((source) => {
    const hiding = new RegExp(source, 'u');
    const elements = [...document.querySelectorAll('#view img, #view script, #view iframe, #view svg, #view object, #view style, header img')].map((it) => it.outerHTML);
    const texts = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) if (walker.currentNode.parentElement.tagName !== 'SCRIPT' && hiding.test(walker.currentNode.data)) texts.push(walker.currentNode.data);
    for (const element of document.querySelectorAll('*')) for (const name of ['title', 'aria-label']) if (hiding.test(element.getAttribute(name) ?? '')) texts.push(element.getAttribute(name));
    const handlers = [...document.querySelectorAll('*')].filter((it) => it.getAttributeNames().some((name) => /^on/.test(name))).length;
    return { elements, texts, handlers };
  }, HIDING.source);
  const isText = !found.elements.length && !found.texts.length && !found.handlers;
  report(`hostile names are text: ${where}`, isText, isText ? 'no element, no hidden character' : JSON.stringify(found));
}

async function accessible(page, where) {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  const detail = violations.map((it) => `${it.id} (${it.impact}, ${it.nodes.length}): ${it.nodes[0].html.slice(0, 120)}`).join('; ');
  report(`axe: ${where}`, !violations.length, detail || 'no finding');
}

/** Checks each view at each width and in each color scheme. */
async function renderings(browser, calls) {
  const own = sessionsOf(calls).findLast((it) => it.some((call) => expectedFinding(call, it))) ?? calls;
  const path = own.flatMap((call) => call.shown.filter((file) => file.kind === 'read')).at(-1)?.path;
  const cut = own.find((call) => expectedFinding(call, own) === 'Cut');
  const home = own.length ? sessionAddress(own) : 'session';
  const opened = (name, call) => (call ? { [name]: `call=${encodeURIComponent(call.id)}` } : {});
  const views = { session: home, sessions: home, keys: home, ...opened('call', own[0]), ...opened('cut', cut), map: 'map', ...(path ? { file: `map=${encodeURIComponent(path)}` } : {}), cost: 'cost', health: 'health', advanced: 'advanced' };
  const kinds = [[1440, 'light'], [1440, 'dark'], [360, 'light'], [360, 'dark']];
  for (const [width, colorScheme] of kinds) {
    const page = await open(browser, { colorScheme, viewport: { width, height: width < 500 ? 780 : 900 } });
    for (const [view, hash] of Object.entries(views)) {
      const where = `${view} at ${width} pixels, ${colorScheme}`;
      await go(page, hash);
      await prepare(page, view, calls);
      const needed = await page.evaluate(() => document.documentElement.scrollWidth);
      report(`no horizontal scrolling: ${where}`, needed <= width, `${needed} of ${width}`);
      await layout(page, where);
      await accessible(page, where);
      await hostile(page, where);
      if (cliOptions.screenshots) await page.screenshot({ path: `${cliOptions.screenshots}/${view}-${width}-${colorScheme}.png`, fullPage: view !== 'keys' });
      if (view === 'keys') await page.keyboard.press('Escape');
    }
    await page.context().close();
  }
}

/** Checks that there is no blank space below the view, no bar for zero, and no markup as text. */
async function layout(page, where) {
  const found = await page.evaluate(() => ({
    height: document.documentElement.scrollHeight,
    end: Math.ceil(Math.max(innerHeight, scrollY + document.querySelector('.frame').getBoundingClientRect().bottom)),
    bars: [...document.querySelectorAll('.meter i')].filter((it) => !parseFloat(it.style.width)).length,
    raw: [...document.querySelectorAll('.note, .findings li')].filter((it) => it.textContent.includes('`')).map((it) => it.textContent),
  }));
  report(`no blank space below, no bar for zero, no backtick: ${where}`, found.height <= found.end + 2 && !found.bars && !found.raw.length, JSON.stringify(found));
}

/** What a reader would ask of a view before looking at it. */
async function prepare(page, view, calls) {
  if (view === 'sessions') await page.evaluate(() => { document.getElementById('picker').open = true; });
  if (view === 'keys') await page.keyboard.press('?');
  if (view === 'cut') await page.waitForSelector('#left-out .files, #left-out .note, #left-out .soft:not([role])', { timeout: 60_000 });
  if (view === 'file') await page.waitForSelector('.lines, #text .note, #view > .note');
  const query = cliOptions.query ?? calls.findLast((call) => call.tool === 'search_index')?.arguments.query;
  if (view === 'advanced' && query) {
    await page.fill('[name=query]', query);
    await page.click('#rank');
    await page.waitForSelector('.ranked li, #ranked .note', { timeout: 60_000 });
  }
  if (view === 'health') await page.waitForSelector('.says', { timeout: 60_000 });
}

async function otherMedia(browser) {
  for (const [name, options] of Object.entries({ 'forced-colors': { forcedColors: 'active' }, 'reduced-motion': { reducedMotion: 'reduce' } })) {
    const page = await open(browser, options);
    await go(page, 'map');
    const moving = await page.evaluate(() => document.getAnimations().length);
    const underlines = await page.$$eval('#views a', (all) => all.map((it) => [it.hasAttribute('aria-current'), getComputedStyle(it).borderBottomColor]));
    const [[, currentColor]] = underlines.filter(([isCurrent]) => isCurrent);
    report(`${name}: only the current view is underlined`, underlines.every(([isCurrent, color]) => isCurrent === (color === currentColor)), underlines.join(' '));
    report(`${name}: no animation on the map`, moving === 0, `${moving} animations`);
    if (cliOptions.screenshots) await page.screenshot({ path: `${cliOptions.screenshots}/map-1440-${name}.png` });
    await page.context().close();
  }
}

async function times(browser) {
  const page = await open(browser);
  await page.waitForFunction(() => window.firstView);
  checkTime('time of the first view', await page.evaluate(() => window.firstView), 'first-ms');
  // Visit each view once before the measurement, because the first visit loads data.
  for (const view of VIEWS) await go(page, view);
  for (const view of VIEWS) {
    const durations = [];
    // The minimum of three excludes other load on the machine.
    for (let round = 0; round < 3; round += 1) {
      await go(page, VIEWS.find((it) => it !== view));
      durations.push(await page.evaluate((to) => new Promise((resolve) => {
        const start = performance.now();
        location.hash = to;
        addEventListener('hashchange', () => requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - start))), { once: true });
      }), view));
    }
    checkTime(`time to ${view}`, Math.min(...durations), 'switch-ms');
  }
  if (await page.$('#sessions a')) {
    await go(page, 'session');
    const slowest = await page.evaluate(async () => {
      const field = document.getElementById('filter');
      const spent = {};
      for (let round = 0; round < 3; round += 1) {
        for (const text of ['r', 're', 'rea', 'read', '']) {
          const start = performance.now();
          field.value = text;
          field.dispatchEvent(new Event('input'));
          await new Promise((resolve) => { requestAnimationFrame(() => setTimeout(resolve)); });
          spent[text] = Math.min(spent[text] ?? Infinity, performance.now() - start);
        }
      }
      return Math.max(...Object.values(spent));
    });
    checkTime('time of a letter in the filter', slowest, 'typing-ms');
  }
  await page.context().close();
}

async function serverGone(browser) {
  const page = await open(browser);
  await page.route('**/api/calls*', (route) => route.abort());
  await page.reload();
  await page.waitForSelector('#link.gone');
  const gone = await page.textContent('#link');
  // The browser logs failed requests.
  messages.splice(0, messages.length, ...messages.filter((it) => !it.includes('ERR_FAILED')));
  await page.unroute('**/api/calls*');
  await page.waitForSelector('.call, .empty h2', { timeout: 20_000 });
  await page.waitForFunction(() => !document.querySelector('#link.gone'), null, { timeout: 20_000 });
  report('an unreachable server is reported and retried', /does not answer/.test(gone), `${gone} Then: ${await page.textContent('#link')}`);
  messages.splice(0, messages.length, ...messages.filter((it) => !it.includes('ERR_FAILED')));
  await page.context().close();
}

const run = () => new Promise((resolve) => { spawn('sh', ['-c', cliOptions.live], { stdio: ['ignore', 'ignore', 'inherit'] }).on('exit', resolve); });

/** Checks that a new session is listed, and that the view of another session stays. */
async function live(browser, number) {
  const page = await open(browser);
  await page.evaluate(() => {
    window.listed = new Map();
    new MutationObserver(() => {
      for (const { dataset } of document.querySelectorAll('#sessions a')) if (!window.listed.has(dataset.id)) window.listed.set(dataset.id, Date.now());
    }).observe(document.getElementById('sessions'), { childList: true, subtree: true });
  });
  const position = () => page.evaluate(() => [location.hash, scrollY, document.querySelector('.call')?.dataset.id].join());
  const before = await position();
  // The long poll must be pending before the call is made.
  await page.waitForTimeout(300);
  const start = Date.now();
  await run();
  const elapsed = Date.now() - start;
  const { calls } = await api('calls', { after: number });
  const { id } = calls.at(-1);
  await page.waitForSelector(`#sessions [data-id="${id}"]`, { timeout: 20_000 });
  await waitUntilSettled(page);
  const seen = await page.evaluate((it) => window.listed.get(it), id);
  checkTime(`time until a live call is listed (the command ran for ${elapsed} ms)`, seen ? seen - endOf(calls.at(-1)) / 1000 : Infinity, 'live-ms');
  report('a live session does not change the view of another', before === await position(), before);
  await go(page, `session=${encodeURIComponent(id)}`);
  report('a live session can be opened', await page.$$eval('.call', (all) => all.length) === 1, id);
  await page.context().close();
}

// ---- Main ----------------------------------------------------------------------------------------------------------

if (cliOptions.screenshots) mkdirSync(cliOptions.screenshots, { recursive: true });
const { calls, next, processes } = await api('calls', { after: 0 });
calls.sort((one, other) => one.began_us - other.began_us || one.sequence - other.sequence);
console.log(`${calls.length} calls of ${processes.length} processes at ${origin}`);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  // The browser's sandbox does not work in containers. The browser only opens our page.
  args: ['--no-sandbox'],
});
await group('refusals', refusals);
await group('policy', policy);
await group('another origin', () => otherOrigin(browser));
await group('times', () => times(browser));
const page = await open(browser).catch((error) => {
  report('the page opens', false, error.message);
  process.exit(1);
});
await group('session', () => session(page, calls));
for (const call of sample(calls)) await group(`call ${visible(call.id)}`, () => oneCall(page, call, sessionsOf(calls).find((own) => own.includes(call))));
await group('map', () => map(page, calls));
await group('cost', () => cost(page, calls));
await group('health', () => health(page));
await group('advanced', () => advanced(page, calls));
await group('filters', () => filters(page, calls));
await group('keyboard', () => keyboard(page, calls));
await page.context().close();
await group('renderings', () => renderings(browser, calls));
await group('other media', () => otherMedia(browser));
await group('server gone', () => serverGone(browser));
if (cliOptions.live) await group('live', () => live(browser, next));
report('no console message', !messages.length, messages.join(' | ') || 'none');
report('no request to another origin', !foreign.length, foreign.join(' | ') || 'none');
await browser.close();
console.log(failureCount ? `${failureCount} failed` : 'all checks passed');
process.exit(failureCount ? 1 : 0);
