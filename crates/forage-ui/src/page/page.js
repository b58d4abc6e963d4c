// The page of `forage ui`. Shows one session of an agent at a time, and whether it searched in the right place.
// Data from a repository or an agent is hostile. It must only enter the page through `visible` and text nodes.

const TOKEN = new URLSearchParams(location.search).get('token') ?? '';
// An estimate: we do not know the tokenizer of the model.
const BYTES_PER_TOKEN = 4;
const COST_BATCH = 100;
const ROW_CHARACTERS = 300;
const TITLE_CHARACTERS = 400;
// A longer pause between two calls of a process starts a new session.
const IDLE_US = 10 * 60e6;

// ---- Text

// Characters that hide or reorder text: controls, formats (such as bidi), lone surrogates, separators, blanks.
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u034F\u115F\u1160\u17B4\u17B5\u3164\uFFA0]/gu;
const codePoint = (character) => character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0');
const escaped = (character) => `‹U+${codePoint(character)}›`;

/** Returns text on one line without hidden characters. */
const visible = (text) => String(text).replace(HIDDEN, escaped);

/** Like `visible`, but keeps lines. */
const visibleLines = (text) => String(text).replace(/\r\n/g, '\n').replace(HIDDEN, (it) => (it === '\n' || it === '\t' ? it : escaped(it)));

const clip = (text, length = ROW_CHARACTERS) => (text.length > length ? `${text.slice(0, length)}…` : text);

// Reused, because it is slow to create.
const NUMBER = new Intl.NumberFormat('en');
const count = (number) => NUMBER.format(number);
const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

function bytes(number) {
	if (number < 1000) return `${number} B`;
	const [size, unit] = number < 999_500 ? [number / 1000, 'kB'] : [number / 1e6, 'MB'];
	return `${size < 9.95 ? size.toFixed(1).replace(/\.0$/, '') : count(Math.round(size))} ${unit}`;
}

/** Formats bytes as estimated tokens: 940, 1.2k, 25k. */
function tokens(number) {
	const estimate = Math.round(number / BYTES_PER_TOKEN);
	if (estimate < 1000) return count(estimate);
	return estimate < 9950 ? `${(estimate / 1000).toFixed(1).replace(/\.0$/, '')}k` : `${count(Math.round(estimate / 1000))}k`;
}

function duration(us) {
	if (us < 50) return '<0.1 ms';
	if (us < 1e6) return us < 10_000 ? `${(us / 1000).toFixed(1)} ms` : `${Math.round(us / 1000)} ms`;
	const seconds = Math.round(us / 1e6);
	if (seconds < 60) return us < 9_950_000 ? `${(us / 1e6).toFixed(1)} s` : `${seconds} s`;
	if (seconds < 3600) return `${Math.floor(seconds / 60)} min${seconds % 60 ? ` ${seconds % 60} s` : ''}`;
	return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`;
}

function percent(part, whole) {
	if (!whole || !part) return '0 %';
	const share = (100 * part) / whole;
	if (share < 0.1) return '<0.1 %';
	return share < 9.95 ? `${share.toFixed(1).replace(/\.0$/, '')} %` : `${Math.min(part < whole ? 99 : 100, Math.round(share))} %`;
}

const sumOf = (list, value) => list.reduce((sum, it) => sum + value(it), 0);
const sizeOf = (calls) => sumOf(calls, (call) => call.bytes);
const timeOf = (calls) => sumOf(calls, (call) => call.elapsed_us);

const local = (us) => new Date(us / 1000 - 60_000 * new Date(us / 1000).getTimezoneOffset()).toISOString();
const clock = (us) => local(us).slice(11, 19);
const day = (us) => local(us).slice(0, 10);

/** Formats JSON with escapes for hidden characters, so that the copied text equals the visible text. */
const json = (value, indent) =>
	JSON.stringify(value, null, indent).replace(HIDDEN, (it) => (it === '\n' && indent ? it : it.split('')
		.map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')));

/** Quotes a word for a shell, as `$'…'` if it has hidden characters. */
function shellWord(text) {
	if (/^[\w@%+=:,./-]+$/.test(text)) return text;
	if (text.search(HIDDEN) < 0) return `'${text.replaceAll("'", "'\\''")}'`;
	const escape = (it) => `\\U${it.codePointAt(0).toString(16).padStart(8, '0')}`;
	return `$'${text.replace(/[\\']/g, '\\$&').replace(HIDDEN, escape)}'`;
}

const command = (call) =>
	`forage call ${shellWord(call.tool)} ${shellWord(json(call.arguments))}${call.roots.map((root) => ` --root ${shellWord(root)}`).join('')}`;

// ---- Elements

// The elements of the initial page by id.
const page = Object.fromEntries([...document.querySelectorAll('[id]')].map((it) => [it.id, it]));
const DECORATIVE = { 'aria-hidden': 'true' };
const byId = (id) => document.getElementById(id);

/** Creates an element from `name.class`, optional properties and children. Strings become visible text nodes. */
function h(name, ...children) {
	const [tag, ...classes] = name.split('.');
	const element = document.createElement(tag);
	if (classes.length) element.className = classes.join(' ');
	if (children[0]?.constructor === Object) for (const [key, value] of Object.entries(children.shift())) setProperty(element, key, value);
	element.append(...nodes(children));
	return element;
}

function setProperty(element, key, value) {
	if (value === null || value === undefined || value === false) return;
	if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
	else if (key === 'style') Object.assign(element.style, value);
	else if (key === 'title' || key.startsWith('aria-')) element.setAttribute(key, clip(visible(value), TITLE_CHARACTERS));
	else if (key === 'class') element.classList.add(...value.split(' ').filter(Boolean));
	else element.setAttribute(key, value === true ? '' : value);
}

const nodes = (children) =>
	children.flat(Infinity).filter((it) => it !== null && it !== undefined && it !== false)
		.map((it) => (it instanceof Node ? it : document.createTextNode(visible(it))));

const fill = (element, ...children) => {
	element.replaceChildren(...nodes(children));
	return element;
};

const mono = (text, properties) => h('span.mono', { ...properties }, text);
const spoken = (key) => key.replaceAll('_', ' ');
const soft = (...children) => h('span.soft', children);
const hint = (...children) => h('p.soft', children);
const section = (title, ...what) => h('section', h('h2', title), what);
const lines = (text, properties) => h('pre', { tabindex: '0', ...properties }, document.createTextNode(visibleLines(text)));
const button = (text, act, properties) => h('button', { type: 'button', onclick: act, ...properties }, text);
/** Our messages mark code with backticks. */
const prose = (text) => {
	const parts = typeof text === 'string' ? text.split('`') : [];
	return parts.length % 2 ? parts.map((part, at) => (at % 2 ? h('code', part) : part)) : text;
};
const fullStop = (text) => text.replace(/([^.?!:])$/, '$1.');
const note = (text, kind = '') => h('p', { class: `note ${kind}` }, prose(text));
const heading = (text, ...more) => h('div.head', h('h1', { tabindex: '-1' }, text), more);
const facts = (pairs) => h('dl.facts', pairs.filter((it) => it && it[1] !== null && it[1] !== '')
	.map(([name, ...value]) => [h('dt', name), h('dd', value)]));
const callAddress = (call) => `#call=${encodeURIComponent(call.id)}`;
const callLink = (call, text = `call ${call.ui.number}`) =>
	h('a', { href: callAddress(call), title: `${call.tool}: ${call.ui.question}` }, text);

const callLinks = (calls, max = 8) => [calls.slice(0, max).map((it, at) => [at > 0 && ', ', callLink(it)]),
	calls.length > max && soft(` and ${count(calls.length - max)} more`)];

function say(text) {
	// Cleared first, so that a repeated sentence is announced again.
	page.said.textContent = '';
	setTimeout(() => { page.said.textContent = visible(text); }, 60);
}

function copied(name, text) {
	const copied = () => {
		act.textContent = 'Copied';
		say('Copied');
	};
	const copy = () => navigator.clipboard.writeText(text).then(copied, () => getSelection().selectAllChildren(shown));
	const act = button('Copy', copy, { 'aria-label': `Copy: ${name}` });
	const shown = lines(text, { 'aria-label': name, role: 'region' });
	return h('div.copied', h('div', name, act), shown);
}

/** Creates a table. Titles of numeric columns start with `#`. Cells are text or nodes. */
function table(caption, columns, rows, kind = 'scroll') {
	const right = columns.map((title) => (title.startsWith('#') ? 'right' : ''));
	const cell = (it, at) => h(at ? 'td' : 'th', { class: right[at], scope: at ? null : 'row' }, it);
	const head = columns.map((title, at) => h('th', { scope: 'col', class: right[at] }, title.replace('#', '')));
	return h('div', { class: kind, tabindex: '0', role: 'region', 'aria-label': caption },
		h('table', h('caption.unseen', caption), h('thead', h('tr', head)), h('tbody', rows.map((row) => h('tr', row.map(cell))))));
}

const meter = (part, whole, kind = '') =>
	h('span', { class: `meter ${kind}`, ...DECORATIVE }, part > 0 && whole > 0 && h('i', { style: { width: `${(100 * part) / whole}%` } }));

// ---- The server

class Refused extends Error {
	constructor(message, status) {
		super(message);
		this.status = status;
	}
}

/** Sends a request to the server. Throws a `Refused` with the message if it fails. */
async function ask(path, query = {}) {
	const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== '');
	const response = await fetch(`/api/${path}?${new URLSearchParams(given)}`, { headers: { Authorization: `Bearer ${TOKEN}` }, cache: 'no-store' })
		.catch(() => { throw new Refused('the server does not answer'); });
	const record = await response.json().catch(() => { throw new Refused(`can't read the server's answer (status ${response.status})`); });
	if (!response.ok || record?.type === 'error') throw new Refused(record?.error ?? `status ${response.status}`, response.status);
	return record;
}

const sentence = (error) => (error instanceof Refused ? error.message : `a bug in this page: ${error}`);


// ---- Calls and sessions

const known = { calls: [], byId: new Map(), processes: [], notes: [], next: 0, loaded: false };
// The sessions, newest first, and the selected one.
let sessions = [];
let current = null;

const endOf = (call) => call.began_us + call.elapsed_us;
const processOf = (name) => known.processes.find((it) => it.process === name);

/** Returns the main argument of a call as text. */
function question(call) {
	const given = call.arguments ?? {};
	if (typeof given !== 'object') return String(given);
	const path = given.path ?? given.file_path ?? given.paths;
	const main = given.pattern ?? given.query ?? given.search_terms ?? given.terms ?? given.question ?? given.name ?? null;
	const word = (value) => (Array.isArray(value) ? value.map(word).join(' · ') : typeof value === 'string' ? value : JSON.stringify(value));
	if (main !== null) return word(main) + (path && path !== '.' ? `  in ${word(path)}` : '');
	if (path === undefined || path === null) return Object.keys(given).length ? JSON.stringify(given) : '.';
	const symbol = given.symbol ? ` ${word(given.symbol)}` : '';
	const range = given.start_line ? ` ${given.start_line}–${given.end_line ?? ''}` : '';
	return word(path) + symbol + range;
}

/** Returns a value with sorted keys. */
function ordered(value) {
	if (Array.isArray(value)) return value.map(ordered);
	if (value === null || typeof value !== 'object') return value;
	return Object.fromEntries(Object.keys(value).sort().map((key) => [key, ordered(value[key])]));
}

const requestKey = (call, given = call.arguments) => call.tool + JSON.stringify(ordered(given));

/** Like `requestKey`, but ignores case and word order in natural-language queries. */
function looseKey(call) {
	const { query } = call.arguments ?? {};
	if (!['search_index', 'keyword_search'].includes(call.tool) || typeof query !== 'string') return null;
	return requestKey(call, { ...call.arguments, query: query.toLowerCase().split(/\s+/).filter(Boolean).sort().join(' ') });
}

/** Returns the subject of a call without paging arguments. A later call with the same topic continues it. */
function topic(call) {
	const { pattern, query, search_terms: terms, path } = call.arguments ?? {};
	return JSON.stringify([call.tool, pattern ?? query ?? terms ?? (call.tool === 'read_file' ? path : null)]);
}

const fileKey = (call, file) => `${call.roots[file.root] ?? ''}\0${file.path}`;

/** Groups the calls of each process by client, split at long pauses. */
function buildSessions() {
	const [result, open] = [[], new Map()];
	for (const call of known.calls) {
		const key = `${call.process}\0${call.client}`;
		let session = open.get(key);
		if (!session || call.began_us - session.end > IDLE_US) {
			session = { id: call.id, process: call.process, calls: [], end: 0, findings: null };
			open.set(key, session);
			result.push(session);
		}
		session.calls.push(call);
		session.end = Math.max(session.end, endOf(call));
		Object.assign(call.ui, { session, number: session.calls.length });
	}
	result.forEach(relate);
	sessions = result.sort((one, other) => other.calls[0].began_us - one.calls[0].began_us);
	current = sessions.find((it) => it.id === current?.id) ?? sessions[0] ?? null;
}

const append = (lists, key, value) => (lists.has(key) ? lists.get(key).push(value) : lists.set(key, [value]));

/**
 * Links repeated questions (`again`), the reads of a file to the first earlier answer that showed lines of it or else named it
 * (`from`, `how`), and each answer to the next reads of its files (`readIn`, by file).
 */
function relate({ calls }) {
	const [earlier, lined, named, foundBy, unread, read] = Array.from({ length: 6 }, () => new Map());
	let end = 0;
	calls.forEach((call, at) => {
		const { ui } = call;
		Object.assign(ui, { again: null, isNearly: false, reread: null, from: null, how: '', readIn: new Map(), gap: at ? call.began_us - end : 0 });
		end = Math.max(end, endOf(call));
		const same = earlier.get(`=${ui.same}`);
		ui.again = same ?? (ui.near && earlier.get(`~${ui.near}`)) ?? null;
		ui.isNearly = Boolean(ui.again) && !same;
		earlier.set(`=${ui.same}`, call).set(`~${ui.near}`, call);
		const seen = [];
		const isBefore = (answer) => answer !== call && endOf(answer) <= call.began_us;
		for (const file of call.shown) {
			const key = fileKey(call, file);
			if (file.kind !== 'read') {
				append(file.kind === 'lines' ? lined : named, key, call);
				append(unread, key, call);
			} else {
				seen.push(...file.ranges.map(([from, to]) => (read.get(key) ?? []).findLast((it) => it.from <= from && it.to >= to && endOf(it.call) <= call.began_us)));
				read.set(key, [...read.get(key) ?? [], ...file.ranges.map(([from, to]) => ({ from, to, call }))]);
				if (!foundBy.has(key)) {
					const [showed, named_] = [lined, named].map((answers) => answers.get(key)?.find(isBefore));
					foundBy.set(key, { from: showed ?? named_ ?? null, how: showed ? 'shown' : 'named' });
				}
				if (call.tool === 'read_file' && !ui.from) Object.assign(ui, foundBy.get(key));
				const waiting = unread.get(key) ?? [];
				waiting.filter(isBefore).forEach((answer) => answer.ui.readIn.set(key, call));
				unread.set(key, waiting.filter((answer) => !isBefore(answer)));
			}
		}
		if (seen.length && seen.every(Boolean) && call.shown.every((file) => file.kind === 'read')) ui.reread = seen[0].call;
	});
}

function store(news) {
	if (news.next < known.next) Object.assign(known, { calls: [], byId: new Map(), next: 0 });
	const fresh = news.calls.filter((call) => !known.byId.has(call.id));
	for (const call of fresh) {
		known.byId.set(call.id, call);
		call.ui = { question: question(call), same: requestKey(call), near: looseKey(call), topic: topic(call) };
	}
	known.calls.push(...fresh);
	known.calls.sort((one, other) => one.began_us - other.began_us || one.sequence - other.sequence);
	Object.assign(known, { processes: news.processes, notes: news.notes ?? [], next: news.next, loaded: true });
	if (fresh.length || !sessions.length) buildSessions();
	return fresh;
}

/** Returns the client's name. A server reports only known clients. */
function agentOf({ process, calls }) {
	const it = processOf(process);
	return calls?.at(-1).client ?? it?.client ?? (it?.surface === 'mcp' ? 'unknown agent' : `forage ${it?.surface ?? ''}`);
}
const isLive = (session) => Boolean(processOf(session.process)?.live) && session === sessions.find((it) => it.process === session.process);
const rootsOf = (session) => [...new Set(session.calls.flatMap((call) => call.roots))];
const lastName = (path) => path.split('/').filter(Boolean).at(-1) ?? path;
// A transcript has durations but no dates.
const isDated = (session) => session.calls[0].began_us > 1e15;

/** Returns the task, or else the first question with a label. */
function titleOf(session, length) {
	const asking = session.calls.find((call) => ['search_index', 'keyword_search'].includes(call.tool));
	const words = asking?.arguments?.query ?? asking?.arguments?.question;
	const task = processOf(session.process)?.task;
	if (task) return clip(task, length);
	return [soft(typeof words === 'string' ? 'First question: ' : 'First call: '), clip(typeof words === 'string' ? words : session.calls[0].ui.question || session.calls[0].tool, length)];
}

const firstSeen = ({ from, how }, first = 'first') => `${first} ${how} by call ${from.ui.number}`;

const searching = (session) => sumOf(merged(session.calls.map((call) => ({ from: call.began_us, to: endOf(call) }))), ([from, to]) => to - from);
const spanOf = ({ calls, end }) => end - calls[0].began_us;

// ---- Findings

const KINDS = {
	path: { title: 'Wrong path', many: 'wrong paths', kind: 'bad' },
	failed: { title: 'Failed', many: 'failed', kind: 'bad' },
	early: { title: 'Stopped early', many: 'stopped early', kind: 'bad' },
	hidden: { title: 'Excluded', many: 'with matches only in excluded files', kind: 'bad' },
	cut: { title: 'Cut', many: 'cut', kind: 'warn' },
	none: { title: 'Nothing found', many: 'found nothing', kind: 'warn' },
	again: { title: 'Repeated', many: 'repeated', kind: 'warn' },
};
const ORDER = Object.keys(KINDS);

/** Returns true if a later call of the agent corrected the finding. */
const isMended = ({ kind, other }) => Boolean(other) && kind !== 'again';
const tone = (found) => (isMended(found) ? 'done' : KINDS[found.kind].kind);

const STOPPED = {
	timeout: 'The time limit ended this call', cancelled: 'The agent did not wait for the answer', engine: 'The search engine failed',
	root: 'A root could not be searched', unavailable: 'The store did not answer',
};

/** Returns the problems in a session, most important first. Each one has a consequence for the agent. */
function findings(session) {
	session.findings ??= session.calls.map((call) => (call.ui.finding = { call, ...finding(call, session) })).filter((it) => it.kind)
		.sort((one, other) => isMended(one) - isMended(other) || ORDER.indexOf(one.kind) - ORDER.indexOf(other.kind) || one.call.began_us - other.call.began_us);
	return session.findings;
}

const openFindings = (session) => findings(session).filter((it) => !isMended(it));

/** "7 to check", in red if one of them is bad. */
function toCheck(session) {
	const open = openFindings(session);
	return open.length > 0 && h('span.few', { class: open.some((it) => tone(it) === 'bad') ? 'bad' : '' }, `${count(open.length)} to check`);
}

function finding(call, session) {
	const { status, error, truncated_by: limit } = call;
	if (status === 'error') return call.code === 'path' ? wrongPath(call, session) : { kind: 'failed', text: fullStop(error ?? 'There is no answer.') };
	if (status === 'cancelled' || status === 'partial' || STOPPED[limit]) return { kind: 'early', text: `${STOPPED[limit] ?? STOPPED[status] ?? 'Not everything was searched'}: matches may be missing.` };
	if (call.hidden_matches.length) return excluded(call, session);
	return repeated(call) ?? cut(call, session) ?? empty(call) ?? {};
}

const searchesExcluded = ({ arguments: given }) => ['include_ignored', 'no_ignore', 'hidden'].some((name) => given?.[name] === true);

/** Matches in excluded files only, and the later call that searched such files. */
function excluded(call, session) {
	const rules = call.hidden_matches;
	const isIn = ({ path }) => rules.some((rule) => rule.endsWith(`such as ${path}`));
	const other = session.calls.find((it) => it.began_us > call.began_us && ((it.ui.topic === call.ui.topic && searchesExcluded(it)) || it.shown.some(isIn)));
	return { kind: 'hidden', other, text: `All matches are in excluded files: ${fullStop(rules.join('; '))} The agent ${other ? 'searched or read' : 'did not search'} them later.` };
}

/** Reports a path that does not exist, with the later call that read a file of this name. */
function wrongPath(call, session) {
	const name = lastName(String(call.arguments?.path ?? ''));
	const other = session.calls.find((it) => it.began_us > call.began_us && it.shown.some((file) => file.kind === 'read' && lastName(file.path) === name));
	const text = fullStop((call.error ?? '').replace(/^`\w+`: /, ''));
	return { kind: 'path', other, text: other ? `${text} A later call read a file of this name.` : text };
}

function repeated(call) {
	const { again, isNearly, reread } = call.ui;
	const spent = `${tokens(call.bytes)} tokens`;
	// Other lines for the same question are new. Notes at the end may differ.
	const amount = (it) => JSON.stringify([it.results, it.shown]);
	const isSame = again && (call.depends_on_session || amount(again) === amount(call));
	if (isSame) return { kind: 'again', other: again, text: `${isNearly ? 'Nearly the same question as' : 'The same question as'} call ${again.ui.number}: ${spent} again.` };
	return reread ? { kind: 'again', other: reread, text: `Call ${reread.ui.number} had already read these lines: ${spent} again.` } : null;
}

const shownMatches = (call) => sumOf(call.shown, (file) => file.matches);

/** Reports an answer that left out results, unless a later call continued it. */
function cut(call, session) {
	const { truncated_by: limit, results } = call;
	// A ranking is always limited: its last files are the least relevant.
	const isRanking = call.tool === 'search_index' || call.tool === 'keyword_lookup';
	if (!call.text_cut && (!limit || isRanking)) return null;
	const shown = shownMatches(call);
	const isCounted = call.results_of === 'matches' && !call.at_least;
	if (isCounted && shown >= results) return null;
	const next = session.calls.find((it) => it.began_us > call.began_us && it.status !== 'error' && it.ui.topic === call.ui.topic && it.ui.same !== call.ui.same);
	if (next) return null;
	const all = `${call.at_least ? 'at least ' : ''}${count(Math.max(results, shown + (call.at_least ? 1 : 0)))}`;
	if (call.results_of === 'matches') return { kind: 'cut', text: `The answer showed ${count(Math.min(shown, results))} of ${all} matches, and the agent did not ask for the rest.` };
	return { kind: 'cut', text: `The answer left out some of its ${all} ${call.results_of}, and the agent did not ask for the rest.` };
}

function empty(call) {
	if (call.results || call.status !== 'nothing') return null;
	if (!call.absent) return { kind: 'none', text: 'Some files were not checked, so it may still exist.' };
	const where = ['file_pattern', 'glob', 'include', 'type', 'changed'].some((name) => call.arguments?.[name]) ? 'that its filters select' : 'under the searched path';
	return { kind: 'none', text: `No text file ${where} has it, ignored and hidden ones included. Files that may hold secrets were not read.` };
}

const upper = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const step = (call, name) => call.funnel.find((it) => it.step === name)?.files;
const findingOf = (call) => (findings(call.ui.session), call.ui.finding.kind ? call.ui.finding : null);

const FAILED = {
	pattern: 'invalid pattern', argument: 'invalid argument', request: 'invalid arguments', too_broad: 'its root is too broad', no_model: 'it needs a model', models_failed: 'no model answered',
	no_engine: 'no search engine', engine: 'the search engine failed', index: 'the index failed', collection: 'the collection failed', internal: 'a bug in Forage', failed: 'no answer',
};

/** Describes the outcome of a call. */
function outcome(call) {
	if (call.status === 'error') return call.code === 'path' ? 'wrong path' : `failed${call.code ? `: ${FAILED[call.code] ?? spoken(call.code)}` : ''}`;
	if (call.status === 'cancelled') return 'cancelled';
	// Transcripts of other programs have no counts.
	if (!call.results) return call.status === 'nothing' ? 'nothing' : 'answered';
	const number = `${count(call.results)}${call.at_least ? '+' : ''}`;
	const of = call.results_of;
	if (of === 'matches' && (call.text_cut || call.truncated_by) && shownMatches(call) < call.results) return `${count(shownMatches(call))} of ${number} matches`;
	if (of === 'matches') return `${number} ${number === '1' ? 'match' : 'matches'} in ${plural(call.files, 'file')}`;
	if (of === 'files' && call.shown.length && call.shown.length < call.results) return `${count(call.shown.length)} of ${number} files`;
	return `${number} ${number === '1' ? of.replace(/ies$/, 'y').replace(/s$/, '') : of}`;
}

const chip = (found) => h('span', { class: `chip ${tone(found)}` }, KINDS[found.kind].title);

// ---- The list of sessions

function when(session) {
	if (!isDated(session)) return duration(spanOf(session));
	const [first, last] = [session.calls[0].began_us, session.end];
	const today = day(Date.now() * 1000) === day(first);
	const [from, to] = [clock(first).slice(0, 5), clock(last).slice(0, 5)];
	return `${today ? '' : `${day(first)} `}${from}${from === to ? '' : `–${to}`}`;
}

const SESSIONS = 60;

function drawSessions(max = SESSIONS) {
	const item = (session) => {
		return h('li', h('a', { href: `#session=${encodeURIComponent(session.id)}`, 'data-id': session.id, 'data-process': session.process, 'aria-current': session === current ? 'true' : null, onclick: (event) => chooseSession(event, session) },
			h('span.line', h('b', agentOf(session)), isLive(session) && h('span.live', 'live'), h('span.soft', when(session))),
			h('span.task', titleOf(session, 140)),
			h('span.line', h('span.soft', `${rootsOf(session).map(lastName).join(', ')} · ${plural(session.calls.length, 'call')}`), toCheck(session))));
	};
	const focused = document.activeElement?.closest?.('#sessions a')?.dataset.id;
	fill(page.sessions, h('ol', { onkeydown: (event) => moveKeys(event, '#sessions a') }, sessions.slice(0, max).map(item)),
		sessions.length > max && button(`Show all ${count(sessions.length)} sessions`, () => drawSessions(Infinity)),
		!sessions.length && hint(known.loaded ? 'No session yet.' : 'Connecting…'));
	if (focused) page.sessions.querySelector(`[data-id="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
	fill(page.chosen, current ? [`${agentOf(current)}, ${when(current)}`, openFindings(current).length > 0 && [' · ', toCheck(current)], sessions.length > 1 && ` · ${count(sessions.length)} sessions`] : 'Sessions');
}

/** Keeps the view if it shows a session. */
function chooseSession(event, session) {
	if (!['map', 'cost', 'advanced'].includes(route.view) || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
	event.preventDefault();
	current = session;
	drawSessions();
	go(`#${route.view}`);
}

const isChord = (event) => event.ctrlKey || event.altKey || event.metaKey;
const MOVES = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity };

/** Moves through the links of a list with the arrow keys. */
function moveKeys(event, selector) {
	const move = MOVES[event.key];
	if (move === undefined || isChord(event)) return;
	const links = [...document.querySelectorAll(selector)].filter((it) => it.offsetParent);
	const at = links.indexOf(event.target.closest(selector));
	if (at < 0) return;
	event.preventDefault();
	links[Math.max(0, Math.min(links.length - 1, at + move))].focus();
}

function noCalls() {
	if (!known.loaded) return h('p.empty.soft', 'Connecting…');
	return h('div.empty', h('h2', 'No calls yet'),
		h('p', 'Connect Forage to your agent and ask the agent something about your code. Its calls appear here as they are made.'),
		lines('forage setup --write              # every agent on this machine\nforage setup claude-code --write  # or one of them', { role: 'region', 'aria-label': 'Commands' }),
		hint('To see earlier sessions, keep a journal (', h('code', '[journal] path'), ' in the configuration), or open a transcript: ', h('code', 'forage ui FILE'), '.'));
}

// ---- Session

function showSession(view, id) {
	const chosen = sessions.find((it) => it.id === id);
	if (chosen && chosen !== current) {
		current = chosen;
		drawSessions();
	}
	if (id && !chosen && known.loaded) return fill(view, heading('Session'), note('This session is no longer known: its process keeps only its last calls.', 'bad'));
	if (!current) return fill(view, h('h1.unseen', { tabindex: '-1' }, 'Session'), noCalls());
	fill(view, h('div', { id: 'summary' }), h('div.split.of-session', h('section', { id: 'looked', 'aria-label': 'Where it looked' }), h('section', { id: 'look', 'aria-label': 'Calls to check' })),
		h('section', h('h2', 'Calls', soft(h('span.key.s-run', DECORATIVE), 'in Forage', h('span.key.s-gap', DECORATIVE), 'between calls'), h('input', { id: 'filter', type: 'search', 'aria-label': 'Filter the calls', placeholder: 'Filter  ( / )', autocomplete: 'off', spellcheck: 'false', oninput: drawRows })),
			h('div.axis-head', DECORATIVE, h('span', 'Call'), h('span', 'Outcome'), h('span.right', 'Tokens'), h('span.ticks', { id: 'ticks' })),
			h('ol', { id: 'calls', class: 'calls', onkeydown: (event) => moveKeys(event, '#calls .open') }), h('div', { id: 'more' })));
	showSession.rows = new Map();
	showSession.max = ROWS;
	drawSession();
}

const ROWS = 500;

function drawSession() {
	const session = current;
	const where = rootsOf(session);
	const [all, between] = [spanOf(session), spanOf(session) - searching(session)];
	const focused = document.activeElement?.tagName === 'H1';
	fill(byId('summary'),
		h('p.over', h('b', agentOf(session)), ` in `, h('span', { title: where.join('  ') }, where.map(lastName).join(', ')), ` · ${when(session)}`),
		h('h1', { tabindex: '-1' }, titleOf(session, 200)),
		h('ul.stats',
			h('li', h('b', plural(session.calls.length, 'call')), soft(` in ${duration(all)}`)),
			h('li', h('b', `${duration(searching(session))} in Forage`), soft(`, ${duration(Math.max(0, between))} between calls`)),
			h('li', h('b', `≈ ${tokens(sizeOf(session.calls))} tokens`), soft(' of answers '), h('a', { href: '#cost' }, 'Compare with rg'))));
	fill(byId('looked'), looked(session));
	if (focused) byId('summary').querySelector('h1').focus({ preventScroll: true });
	fill(byId('look'), look(session));
	drawRows();
}

/** Returns the files that a session's calls read, showed and named. */
function filesOf(session) {
	const files = new Map();
	for (const call of session.calls) {
		for (const file of call.shown) {
			const key = fileKey(call, file);
			const it = files.get(key) ?? files.set(key, { path: file.path, root: call.roots[file.root], kind: 'named', read: [], first: null, lined: [] }).get(key);
			if (file.kind === 'lines') it.lined.push(call);
			if (file.kind === 'read') {
				it.first ??= call.ui;
				it.read.push(...file.ranges.map(([from, to]) => ({ from, to })));
			}
			it.kind = file.kind === 'read' || it.kind === 'read' ? 'read' : file.kind === 'lines' || it.kind === 'lines' ? 'lines' : 'named';
		}
	}
	return [...files.values()];
}

function looked(session) {
	const files = filesOf(session);
	const [read, shown] = [files.filter((it) => it.kind === 'read'), files.filter((it) => it.kind === 'lines')];
	// Those that the map shows as well: a search of excluded files has more.
	const all = Math.max(0, ...session.calls.map((call) => (searchesExcluded(call) ? 0 : step(call, 'searched') ?? 0)));
	const untouched = Math.max(0, all - read.length - shown.length);
	const [maxRead, maxShown] = isWide.matches ? [8, 5] : [4, 3];
	const link = (it) => h('a.mono', { href: mapAddress(it.path), onclick: () => { map.root = it.root; } }, it.path);
	const readItem = (it) => h('li', link(it), soft(` ${plural(total(merged(it.read)), 'line')}, `), it.first.from ? callLink(it.first.from, firstSeen(it.first)) : soft('path guessed'));
	const shownItem = (it) => h('li', link(it), soft(' lines shown by '), callLinks(it.lined, 3));
	const more = (list, max) => list.length > max && h('p', h('a', { href: '#map' }, `and ${plural(list.length - max, 'other file')}`));
	const part = (shade, number, text) => h('li', h('span', { class: `key s-${shade}`, ...DECORATIVE }), h('b', number), text);
	return [h('h2', 'Where it looked', h('a', { href: '#map' }, 'Open the map')),
		all > 0 && h('div.strip.thin', DECORATIVE, [['read', read], ['shown', shown]].map(([shade, list]) => list.length > 0 && h('i', { class: `s-${shade}`, style: { width: `${(100 * list.length) / (read.length + shown.length + untouched)}%` } }))),
		h('ul.parts', part('read', plural(read.length, 'file'), ' read'), part('shown', plural(shown.length, 'other file'), ' shown, not read'), all > 0 && part('never', count(untouched), ` of ${plural(all, 'searched file')}: no line seen`)),
		bestFiles(session, link),
		read.length ? h('ul.files', read.slice(0, maxRead).map(readItem)) : hint('The agent read no file: it saw only what searches showed.'),
		more(read, maxRead),
		shown.length > 0 && [h('h3', 'Shown, not read'), h('ul.files', { id: 'shown-only' }, shown.slice(0, maxShown).map(shownItem)), more(shown, maxShown)]];
}

/** Whether the agent read the best files for its first question. */
function bestFiles(session, link) {
	const asking = session.calls.find((call) => call.tool === 'search_index' && call.shown.length);
	if (!asking) return null;
	const read = new Set(session.calls.flatMap((call) => call.shown.filter((file) => file.kind === 'read').map((file) => fileKey(call, file))));
	const best = asking.shown.slice(0, 3);
	const unread = best.filter((file) => !read.has(fileKey(asking, file)));
	const number = best.length - unread.length;
	const asked = [' for the question of ', callLink(asking)];
	return h('p', { id: 'best' }, best.length === 1 ? [`It ${number ? 'read' : 'did not read'} the best file`, asked, '.']
		: [`Of the best ${best.length} files`, asked, `, it read ${unread.length ? number || 'none' : 'all'}.`],
	unread.length > 0 && [' Not read: ', unread.map((file, at) => [at > 0 && ', ', link({ path: file.path, root: asking.roots[file.root] })]), '.']);
}

function look(session) {
	const all = findings(session);
	if (!all.length) return [h('h2', 'Nothing to check'), hint('No question was repeated, no path was wrong, every search found something, and the agent asked later for all matches that an answer left out.')];
	const open = openFindings(session);
	const kinds = ORDER.map((kind) => [kind, open.filter((it) => it.kind === kind).length]).filter(([, number]) => number);
	const says = kinds.map(([kind, number]) => `${count(number)} ${number === 1 ? KINDS[kind].title.toLowerCase() : KINDS[kind].many}`);
	if (open.length < all.length) says.push(`${count(all.length - open.length)} corrected later`);
	const few = all.length > 5 ? 4 : 5;
	const item = (found, at, list) => {
		const { call, kind, text, other } = found;
		return h('li', chip(found), h('span', callLink(call), ' ', soft(call.tool), ' ', mono(clip(call.ui.question, 120)), h('br'),
			text === list[at - 1]?.text ? 'As above.' : prose(text),
			other && [' ', callLink(other, `See call ${other.ui.number}`)],
			kind === 'cut' && canRepeat(call) && [list.length <= 5 && unseenFiles(call), ' ', callLink(call, 'See what it left out')]));
	};
	return [h('h2', open.length ? `${count(open.length)} to check` : 'Nothing to check', soft(says.join(' · '))),
		h('ul.findings', all.slice(0, few).map(item)),
		all.length > few && h('details', h('summary', `${count(all.length - few)} more`), h('ul.findings', all.slice(few).map(item)))];
}

const haystack = (call) => [call.tool, outcome(call), call.error, JSON.stringify(call.arguments), ...call.shown.map((file) => file.path)].join('\n').toLowerCase();

function passing(session) {
	const words = (byId('filter')?.value ?? '').toLowerCase().split(/\s+/).filter(Boolean);
	return words.length ? session.calls.filter((call) => words.every((word) => haystack(call).includes(word))) : session.calls;
}

/** Creates rows for new calls, and positions all rows on the time axis. */
function drawRows() {
	const list = byId('calls');
	if (!list || !current) return;
	const all = passing(current);
	const calls = all.slice(0, showSession.max);
	const { rows } = showSession;
	const wanted = new Set(calls);
	for (const [call, row] of rows) {
		if (wanted.has(call)) continue;
		row.remove();
		rows.delete(call);
	}
	let next = list.firstChild;
	for (const call of calls) {
		let row = rows.get(call);
		if (!row) rows.set(call, row = makeRow(call));
		if (row === next) next = row.nextSibling;
		else list.insertBefore(row, next);
	}
	const width = list.firstChild?.lastChild.clientWidth ?? 0;
	for (const call of calls) placeOnAxis(rows.get(call), call, width);
	fill(byId('more'), all.length > calls.length && button(`Show all ${count(all.length)} calls`, () => {
		showSession.max = Infinity;
		drawRows();
	}), !all.length && hint('No call contains these words.'));
	drawTicks();
}

/** The outcome without what the chip says. */
function restOfOutcome(call, found) {
	const text = outcome(call);
	if (!found) return text;
	return KINDS[found.kind].title.toLowerCase().startsWith(text) ? '' : text.replace(/^failed: /, '');
}

function makeRow(call) {
	const { ui } = call;
	const found = findingOf(call);
	const said = restOfOutcome(call, found);
	return h('li', { class: `call ${found ? tone(found) : ''}`, 'data-id': call.id },
		h('span.number.soft', String(ui.number)),
		h('span.what', h('a.open', { href: callAddress(call), title: ui.question }, h('span.tool', call.tool), ' ', h('span.mono', clip(ui.question) || '(nothing)')),
			ui.from && h('a.thread', { href: callAddress(ui.from) }, firstSeen(ui))),
		h('span.came', said && h('span', said), ' ', found && chip(found)),
		h('span.size.right', { title: `${count(call.bytes)} bytes` }, tokens(call.bytes)),
		h('span.lane', h('i.gap'), h('i.run'), h('span.took')));
}

function betweenCalls({ elapsed_us: took, ui: { gap } }) {
	return `${duration(took)} in Forage${gap > 500_000 ? `, after ${duration(gap)} between calls` : ''}`;
}

function placeOnAxis(row, call, width) {
	const span = Math.max(spanOf(current), 1);
	const from = current.calls[0].began_us;
	const drawn = `${span} ${call.ui.gap} ${width}`;
	if (row.dataset.drawn === drawn) return;
	row.dataset.drawn = drawn;
	const lane = row.lastChild;
	const [pause, run, took] = lane.children;
	const share = (us) => (100 * us) / span;
	const [left, gap] = [share(call.began_us - from), Math.max(0, call.ui.gap)];
	Object.assign(pause.style, { left: `${left - share(gap)}%`, width: `${share(gap)}%` });
	Object.assign(run.style, { left: `min(${left}%, 100% - 4px)`, width: `${share(call.elapsed_us)}%` });
	const own = duration(call.elapsed_us);
	const both = `${own}${gap > 500_000 ? `, after ${duration(gap)}` : ''}`;
	// After the call if there is room, else before the time between calls, else over that.
	const [before, after] = [left - share(gap), left + share(call.elapsed_us)];
	const roomOf = (text) => (100 * (text.length * 5.5 + 16)) / Math.max(1, width);
	const text = after + roomOf(both) < 100 || left >= roomOf(both) ? both : own;
	const room = roomOf(text);
	Object.assign(took.style, after + room < 100 ? { left: `${after}%`, right: 'auto' } : { left: 'auto', right: `${100 - (before > room ? before : left)}%` });
	took.textContent = text;
	lane.title = `${betweenCalls(call)}, ${duration(call.began_us - from)} after the first call`;
}

const TICKS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200].map((seconds) => seconds * 1e6);

function drawTicks() {
	const span = spanOf(current);
	const each = TICKS.find((it) => span / it <= 5) ?? span;
	const result = [];
	for (let at = 0; at <= span; at += each) result.push(h('span', { style: { left: `${(100 * at) / Math.max(span, 1)}%` } }, at ? duration(at).replace('.0 ', ' ') : '0'));
	fill(byId('ticks'), result);
	// Tick lines in every lane.
	byId('calls').style.setProperty('--tick', `${(100 * each) / Math.max(span, 1)}%`);
}

// ---- Call

/** Shows the result of a request in an element, or its error. */
async function put(element, waiting, bring) {
	fill(element, h('p.soft', { role: 'status' }, waiting));
	try {
		fill(element, await bring());
	} catch (error) {
		fill(element, note(upper(sentence(error)), 'bad'));
	}
}

function showCall(view, id) {
	const call = known.byId.get(id);
	if (!call) {
		return fill(view, heading('Call', h('a', { href: '#session' }, '← Session')), known.loaded ? note('This call is no longer known: its process keeps only its last calls.', 'bad') : soft('Connecting…'));
	}
	const { session, number, again, from, readIn } = call.ui;
	if (session !== current) {
		current = session;
		drawSessions();
	}
	const neighbour = (other, text) => other && h('a', { href: callAddress(other) }, text);
	const found = findingOf(call);
	const readers = [...new Set(readIn.values())];
	const [text, files, missing] = [h('section'), h('section.files-of'), h('section')];
	fill(view,
		h('p.over.step', h('a', { href: `#session=${encodeURIComponent(session.id)}` }, '← Session'), h('span', `Call ${number} of ${session.calls.length}`), neighbour(session.calls[number - 2], '‹ Previous'), neighbour(session.calls[number], 'Next ›')),
		h('h1', { tabindex: '-1' }, soft(`${call.tool} `), h('span.mono', clip(call.ui.question, 200) || '(nothing)')),
		h('ul.stats', h('li', h('b', outcome(call))), h('li', h('b', `≈ ${tokens(call.bytes)} tokens`)), h('li', betweenCalls(call)),
			from && h('li', callLink(from, firstSeen(call.ui, 'First'))),
			readers.length > 0 && h('li', 'Then read in ', callLinks(readers))),
		found && h('p', { class: `note ${tone(found)}` }, h('b', `${KINDS[found.kind].title}. `), prose(found.text), found.other && [' ', callLink(found.other, `See call ${found.other.ui.number}`)]),
		!found && again && note(`Call ${again.ui.number} asked ${call.ui.isNearly ? 'nearly ' : ''}the same and saw other lines.`),
		h('div.split.of-call',
			text,
			h('div', missing, h('section.searched', h('h2', 'What was searched'), searched(call)), files),
			h('section', h('h2', 'The call'), call.arguments_cut && note('The arguments were too long to be stored completely.'), copied('Arguments', json(call.arguments, 2)), copied('The same call as a command', command(call)))));
	seenText(call, text);
	fill(files, h('h2', 'Files, in the order of the answer', call.tool === 'search_index' && h('a', { href: `#advanced=${encodeURIComponent(call.arguments?.query ?? '')}`, onclick: () => { ranking.root = call.roots[0]; } }, 'Why this order?')), shownFiles(call));
	leftOut(call, found, missing);
}

const SAW = 'What the agent saw';

function seenText(call, section) {
	const [title, text] = [h('h2', call.status === 'error' ? SAW : 'The answer'), h('div', { 'aria-live': 'polite' })];
	fill(section, title, text);
	if (call.status === 'error') {
		// The error is the answer.
		return fill(text, lines(call.error ?? '', { class: 'tall', role: 'region', 'aria-label': 'Text of the answer' }));
	}
	put(text, 'Repeating the call…', async () => {
		const reply = await ask('text', { id: call.id });
		fill(title, reply.same ? SAW : 'The answer now');
		const message = { true: 'Forage stores no text, so the call was repeated. Its answer has the same bytes.', false: 'Files or settings have changed since then: this is the current answer, not what the agent saw.' }[reply.same]
			?? `The call was repeated. Note that ${fullStop(reply.note ?? 'it may differ from what the agent saw')}`;
		return [reply.same ? hint(message) : note(message), answerText(reply.text, call)];
	});
}

/** Formats the text of an answer with marked paths, line numbers and notes. */
function answerText(text, call) {
	const paths = new Set(call.shown.map((file) => file.path));
	const line = (whole) => {
		const [, number, mark, rest] = /^(\s*\d+(?:-\d+)?)([:\t-])(.*)$/s.exec(whole) ?? [];
		if (number) return [h('span.at', document.createTextNode(visibleLines(number + mark))), h(mark === '-' ? 'span.soft' : 'span', document.createTextNode(visibleLines(rest))), '\n'];
		const kind = paths.has(whole.replace(/^@@ | [\d-]+$|:$/g, '')) ? 'b' : /^\[.*\]$/.test(whole) ? 'span.soft' : 'span';
		return [h(kind, document.createTextNode(visibleLines(whole))), '\n'];
	};
	const result = text.replace(/\n$/, '').split('\n').flatMap(line).map((it) => (it === '\n' ? document.createTextNode(it) : it));
	return h('pre.answer.tall', { tabindex: '0', role: 'region', 'aria-label': 'Text of the answer' }, result);
}

const ranges = (file) => {
	const isOne = file.ranges.length === 1 && file.ranges[0][0] === file.ranges[0][1];
	const few = file.ranges.slice(0, 8).map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`)).join(', ');
	return `${isOne ? 'line' : 'lines'} ${few}${file.ranges.length > 8 ? ` and ${file.ranges.length - 8} more` : ''}`;
};

const SEEN_AS = { read: 'read', lines: 'shown', named: 'path only' };

function shownFiles(call) {
	if (!call.shown.length) return hint('The answer names no file.');
	const max = 40;
	const item = (file) => {
		const later = file.kind !== 'read' && call.ui.readIn.get(fileKey(call, file));
		return h('li', h('a.mono', { href: mapAddress(file.path), onclick: () => { map.root = call.roots[file.root]; } }, file.path),
			h('span.soft', ` ${SEEN_AS[file.kind]}`, file.ranges.length > 0 && `, ${ranges(file)}`), call.roots.length > 1 && soft(` in ${lastName(call.roots[file.root] ?? '')}`),
			later && [' ', callLink(later, `read in call ${later.ui.number}`)]);
	};
	return [h('ol.files', call.shown.slice(0, max).map(item)),
		call.shown.length > max && h('details', h('summary', `${count(call.shown.length - max)} more`), h('ol.files', { start: max + 1 }, call.shown.slice(max).map(item)))];
}

const canRepeat = (call) => call.tool === 'grep_search' && !call.arguments_cut;

/** Returns the files with matches that an answer left out, those that the agent never saw first. It asks again without limits. */
async function leftOutFiles(call) {
	const { cursor, max_results: max, context_lines: context, ...rest } = call.arguments;
	call.ui.counts ??= ask('tools/grep_search', { root: call.roots[0], arguments: JSON.stringify({ ...rest, output: 'counts', max_results: 1000 }) })
		.catch((error) => {
			call.ui.counts = null;
			throw error;
		});
	const { files = [] } = await call.ui.counts;
	const [own, seen] = [new Map(call.shown.map((file) => [file.path, file.matches])), new Map()];
	for (const it of call.ui.session.calls) for (const file of it.shown) if (file.kind !== 'named') append(seen, file.path, it);
	return files.map(({ path, match_count: all }) => ({ path, matches: all - (own.get(path) ?? 0), isNew: !own.has(path), isUnseen: !seen.has(path), later: seen.get(path)?.find((it) => it.began_us > call.began_us) }))
		.filter((it) => it.matches > 0).sort((one, other) => other.isUnseen - one.isUnseen || other.matches - one.matches);
}

/** A sentence on files with matches that the agent never saw, which follows later. */
function unseenFiles(call) {
	const label = h('span');
	leftOutFiles(call).then((all) => {
		const paths = all.filter((it) => it.isUnseen).map((it) => it.path);
		if (!all.length) return;
		fill(label, ` The rest is in ${plural(all.length, 'file')}. `, paths.length ? [`The agent never saw ${paths.length === 1 ? '' : `${count(paths.length)} of them, such as `}`, mono(paths[0]), '.'] : `The agent saw lines of ${all.length === 1 ? 'it' : 'all of them'}.`);
	}, () => {});
	return label;
}

function leftOut(call, found, element) {
	if (found?.kind !== 'cut' || !canRepeat(call)) return;
	const results = h('div', { id: 'left-out', 'aria-live': 'polite' });
	fill(element, h('h2', 'What it left out'), results);
	put(results, 'Searching again without limits…', async () => {
		const hidden = await leftOutFiles(call);
		if (!hidden.length) return hint('The current answer leaves out nothing: files have changed since then.');
		const unseen = hidden.filter((it) => it.isUnseen).length;
		const item = ({ path, matches, isNew, later }) => h('li', h('a.mono', { href: mapAddress(path) }, path), soft(` ${isNew ? plural(matches, 'match', 'matches') : `${count(matches)} more`}`), later && [' ', callLink(later, `seen in call ${later.ui.number}`)]);
		const few = 12;
		return [h('p', `${plural(sumOf(hidden, (it) => it.matches), 'match', 'matches')} in ${plural(hidden.length, 'file')}. `, unseen ? h('b', `The agent never saw ${unseen === hidden.length ? (unseen === 1 ? 'this file' : 'any of these files') : `${count(unseen)} of these files`}.`) : `The agent saw lines of ${hidden.length === 1 ? 'this file' : 'all of these files'}.`),
			h('ul.files', hidden.slice(0, few).map(item)), hidden.length > few && h('details', h('summary', `${count(hidden.length - few)} more`), h('ul.files', hidden.slice(few).map(item)))];
	});
}

// Why a path is left out, for one path or several. The second value is when: the walk does not reach it, the search does
// not read it, or reads only a part of it.
const [BEFORE, UNREAD, IN_PART] = ['Before the search', 'Considered, not searched', 'Searched in part'];
const SKIPPED = {
	ignored: ['by an ignore file', BEFORE], hidden: ['by a name that begins with a dot', BEFORE], pruned: ['as dependencies, build output or version control', BEFORE],
	binary: ['as binary', UNREAD], too_large: ['by the size limit', UNREAD], denied: ['as possible secrets', UNREAD], unreadable: ['because the system refused access', UNREAD],
	outside_root: ['as links out of the root', BEFORE], symlink: ['as links', BEFORE], special: ['as pipes, sockets or devices', BEFORE], too_deep: ['by the depth limit', BEFORE],
	kernel_file_system: ['as virtual files of the kernel', BEFORE], line_too_long: ['by the limit on the length of a line', IN_PART], too_slow: ['by the limit on time for one file', IN_PART], notebook_outputs: ['as outputs of notebooks', IN_PART],
};
const whySkipped = (reason) => SKIPPED[reason]?.[0] ?? spoken(reason);

const STEPS = { visited: 'considered', searched: 'searched', matched: 'with results', shown: 'in the answer' };

function searched(call) {
	const max = Math.max(1, ...call.funnel.map((it) => it.files));
	const skipped = (when) => {
		const list = Object.entries(call.skipped).filter(([reason]) => (SKIPPED[reason]?.[1] ?? BEFORE) === when);
		const names = when === BEFORE && call.not_entered.length > 0 && h('li', 'Directories: ', mono(call.not_entered.join(', ')));
		return (list.length > 0 || names) && [h('h3', when), h('ul', list.map(([reason, number]) => h('li', `${count(number)} left out ${whySkipped(reason)}`)), names), when === BEFORE && list.length > 0 && hint('A directory counts once.')];
	};
	return [
		call.funnel.length > 0 && h('ul.funnel', call.funnel.map((it) => h('li', h('b.right', count(it.files)), h('span', STEPS[it.step] ?? it.step), meter(it.files, max)))),
		[BEFORE, UNREAD, IN_PART].map(skipped),
		!call.funnel.length && !Object.keys(call.skipped).length && hint('This call searched no files.'),
		call.redacted > 0 && hint(`${plural(call.redacted, 'secret')} replaced in the text.`),
		facts([['Began', isDated(call.ui.session) ? `${day(call.began_us)} ${clock(call.began_us)}` : null], ['Roots', mono(call.roots.join('  '))], ['Process', `${call.surface} ${processOf(call.process)?.pid ?? ''}`],
			...call.models.map((it) => ['Model', valueNode(it, 'Model')]), call.trace && ['Trace', mono(`${call.trace.trace_id} / ${call.trace.parent_id}`)]]),
	];
}

// ---- Map: the tree

const SHADES = [
	{ name: 'read', title: 'Read', label: 'lines that read_file showed' },
	{ name: 'shown', title: 'Shown', label: 'lines in the answer of a search' },
	{ name: 'named', title: 'Other lines of these files', label: 'lines not seen, of files that an answer shows or names' },
	{ name: 'never', title: 'Files in no answer', label: 'lines of files that no answer names' },
];
const [READ, SHOWN, NAMED, NEVER] = [0, 1, 2, 3];
const map = { root: null, trees: new Map(), tree: null, node: null, cells: [], back: null };

const mapAddress = (path) => `#map${path ? `=${encodeURIComponent(path)}` : ''}`;

function newNode(name, parent) {
	const path = parent?.path ? `${parent.path}/${name}` : name;
	return { name, path, parent, children: null, sorted: null, lines: 0, weight: 0, files: 0, reason: null, seen: [0, 0, 0] };
}

const nameOf = (node) => node.name + (node.children || node.isDirectory ? '/' : '');

function descend(root, path) {
	let node = root;
	for (const name of path.split('/')) {
		node.children ??= new Map();
		let next = node.children.get(name);
		if (!next) node.children.set(name, next = newNode(name, node));
		node = next;
	}
	return node;
}

/** Removes the quotes that Forage adds to paths that are not plain text. */
const bare = (path) => (path.startsWith('"') ? path.slice(1, -1) : path);

function buildTree(reply) {
	const root = newNode('', null);
	root.children = new Map();
	const files = new Map();
	reply.paths.forEach((path, at) => {
		const node = descend(root, bare(path));
		node.path = path;
		node.lines = reply.lines[at];
		node.weight = Math.max(1, node.lines);
		node.files = 1;
		files.set(path, node);
	});
	for (const { path, reason, directory } of reply.unsearched) {
		const node = descend(root, bare(path));
		// A directory with searched files keeps them.
		if (!node.children && !node.files) Object.assign(node, { reason, isDirectory: directory });
	}
	sumUp(root);
	return { root, reply, files, touched: new Map(), missing: new Map() };
}

function sumUp(node) {
	if (!node.children) return;
	for (const child of node.children.values()) {
		sumUp(child);
		node.lines += child.lines;
		node.files += child.files;
		node.weight += child.weight;
	}
	// Paths that no search reads have no known size, so they are listed and not drawn.
	node.sorted = [...node.children.values()].filter((it) => it.weight > 0).sort((one, other) => other.weight - one.weight);
}

function nodeAt(path) {
	let node = map.tree.files.get(path);
	if (node) return node;
	node = map.tree.root;
	for (const name of path ? path.split('/') : []) {
		node = node?.children?.get(name);
	}
	return node ?? null;
}

/** Returns the union of the marks' lines as sorted, disjoint ranges. */
function merged(marks) {
	const result = [];
	for (const { from, to } of [...marks].sort((one, other) => one.from - other.from)) {
		const last = result.at(-1);
		if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to);
		else result.push([from, to]);
	}
	return result;
}

const total = (list) => sumOf(list, ([from, to]) => to - from + 1);

/** Counts each line of the tree once: as read, else shown, else named. */
function shade() {
	const { tree } = map;
	const calls = current?.calls ?? [];
	if (tree.session === current && tree.number === calls.length) return;
	Object.assign(tree, { session: current, number: calls.length });
	for (const { node } of tree.touched.values()) {
		for (let up = node; up; up = up.parent) up.seen.fill(0);
	}
	tree.touched.clear();
	tree.missing.clear();
	for (const call of calls) {
		for (const file of call.shown) if (call.roots[file.root] === map.root) touch(tree, call, file);
	}
	tree.touched.forEach(countLines);
}

function touch(tree, call, file) {
	let it = tree.touched.get(file.path);
	if (!it) {
		const node = tree.files.get(file.path);
		if (!node) return tree.missing.set(file.path, whyMissing(tree, file.path));
		tree.touched.set(file.path, it = { node, calls: [], marks: [], best: NAMED });
	}
	if (it.calls.at(-1) !== call) it.calls.push(call);
	const shade = { read: READ, lines: SHOWN }[file.kind] ?? NAMED;
	it.best = Math.min(it.best, shade);
	for (const [from, to] of file.ranges) it.marks.push({ from: Math.max(1, from), to: Math.min(to, it.node.lines), shade, call });
}

const [EXCLUDED, UNLISTED, GONE] = ['not searched by default', 'no longer there, not searched by default, or beyond the limit of this map', 'no longer there'];

/** Returns why a file of an answer is not on the map. */
function whyMissing({ root, reply }, path) {
	let node = root;
	for (const name of bare(path).split('/')) {
		node = node?.children?.get(name);
		if (node?.reason) return EXCLUDED;
	}
	return reply.complete && !reply.more_unsearched ? GONE : UNLISTED;
}

function countLines(it) {
	const marks = it.marks.filter(({ from, to }) => from <= to);
	it.read = merged(marks.filter((mark) => mark.shade === READ));
	it.both = merged(marks);
	const read = total(it.read);
	const both = total(it.both);
	const numbers = [read, both - read, it.node.lines - both];
	for (let up = it.node; up; up = up.parent) numbers.forEach((number, at) => { up.seen[at] += number; });
}

const counts = (node) => [...node.seen, node.lines - node.seen[0] - node.seen[1] - node.seen[2]];

// ---- Map: drawing

/** Lays out items, largest first (Bruls, Huizing, van Wijk: Squarified Treemaps). */
function squarify(items, rectangle, emit) {
	let { x, y, w, h: height } = rectangle;
	let left = sumOf(items, (it) => it.weight);
	let at = 0;
	while (at < items.length && w > 0 && height > 0) {
		const area = (w * height) / left;
		if (items[at].weight * area < 4) {
			emit(items.slice(at), { x, y, w, h: height });
			return;
		}
		const side = Math.min(w, height);
		const [end, sum] = row(items, at, area, side);
		const thick = (sum * area) / side;
		let along = 0;
		for (; at < end; at += 1) {
			const length = (items[at].weight * area) / thick;
			emit(items[at], w < height ? { x: x + along, y, w: length, h: thick } : { x, y: y + along, w: thick, h: length });
			along += length;
		}
		if (w < height) [y, height] = [y + thick, height - thick];
		else [x, w] = [x + thick, w - thick];
		left -= sum;
	}
}

/** Returns the end and weight of the next row. It grows while its cells get squarer. */
function row(items, at, area, side) {
	let sum = 0;
	let worst = Infinity;
	let end = at;
	for (; end < items.length; end += 1) {
		const next = sum + items[end].weight;
		const thick = (next * area) / side;
		const ratio = Math.max(thick ** 2 / (items[end].weight * area), (items[at].weight * area) / thick ** 2);
		if (ratio > worst) break;
		[sum, worst] = [next, ratio];
	}
	return [end, sum];
}

/** Draws the directory as nested boxes. Each file is a link. */
function drawMap() {
	const plan = byId('plan');
	if (!plan) return;
	const width = plan.clientWidth;
	const height = Math.round(Math.max(280, Math.min(width * 0.66, innerHeight - 300)));
	plan.style.height = `${height}px`;
	Object.assign(map, { cells: [], width, height });
	const result = [];
	squarify(map.node.sorted, { x: 0, y: 0, w: width, h: height }, (child, cell) => drawNode(result, child, cell));
	plan.replaceChildren(...result);
	const first = map.cells.findIndex(({ node }) => node.path === map.back);
	rove(Math.max(0, first), false);
}

const box = ({ x, y, w, h: height }) => ({ left: `${x}px`, top: `${y}px`, width: `${Math.max(1, w - 1)}px`, height: `${Math.max(1, height - 1)}px` });

function drawNode(result, node, cell) {
	const several = [node].flat();
	const isSmall = Array.isArray(node) || cell.w < 9 || cell.h < 9 || cell.w * cell.h < 150;
	// What was read has a link and a name, however small it is.
	const target = isSmall ? several.find((it) => it.seen[READ]) : node;
	if (!target) {
		result.push(h('i', { class: 'leaf', ...DECORATIVE, title: Array.isArray(node) ? `${node.length} small files` : node.path, style: { ...box(cell), background: sharesPaint(several, 'to right') } }));
		return;
	}
	const isFolder = target.children && !isSmall;
	const isRead = target.seen[READ] > 0 && !isFolder;
	const isTouched = target.seen[READ] + target.seen[SHOWN] > 0;
	const kind = `${isFolder ? 'folder' : 'leaf'}${isRead ? ' read' : ''}${isTouched ? ' touched' : target.seen[NAMED] ? ' named' : ''}`;
	const name = nameOf(target);
	const needed = 12 + 7 * name.length;
	const hasName = isRead || (cell.w > Math.min(64, needed) && cell.h > (isFolder ? 34 : 15));
	const label = `${target.path}${target.children ? '/' : ''}: ${describe(target)}`;
	const link = h('a', { href: mapAddress(target.path), class: kind, tabindex: '-1', title: label, 'aria-label': label, style: { ...box(cell), background: isFolder ? null : isSmall ? sharesPaint(several, 'to right') : filePaint(target, cell) } },
		hasName && h('span', { ...DECORATIVE, style: isRead && labelPlace(cell, needed) }, name));
	result.push(link);
	map.cells.push({ node: target, cell, link });
	if (!isFolder) return;
	const top = hasName ? 17 : 2;
	const inner = { x: cell.x + 2, y: cell.y + top, w: cell.w - 5, h: cell.h - top - 3 };
	squarify(node.sorted, inner, (child, rectangle) => drawNode(result, child, rectangle));
}

/** The place of a name that may be larger than its cell: below the cell, so that its shade stays visible, but inside the map. */
function labelPlace({ x, y, w, h: height }, needed) {
	const isInside = w > needed && height > 34;
	return { [x + needed > map.width ? 'right' : 'left']: 0, [isInside || y + height + 16 < map.height ? 'top' : 'bottom']: isInside ? 0 : '100%' };
}

const paint = (shade) => `var(--${SHADES[shade].name})`;

/** Paints the lines of a file by position. */
function filePaint(node, cell) {
	const it = map.tree.touched.get(node.path);
	if (!it) return null;
	if (cell.h < 24 || it.both.length > 60) return sharesPaint([node], 'to right');
	const layer = (list, shade) => list.map(([from, to]) => {
		const top = (cell.h * (from - 1)) / node.lines;
		const high = Math.max(3, (cell.h * (to - from + 1)) / node.lines);
		return `linear-gradient(${paint(shade)}, ${paint(shade)}) 0 ${Math.min(top, cell.h - high)}px / 100% ${high}px no-repeat`;
	});
	return [...layer(it.read, READ), ...layer(it.both, SHOWN), paint(NAMED)].join(', ');
}

function sharesPaint(nodes, direction) {
	const lines = sumOf(nodes, (it) => it.lines);
	let at = 0;
	const stops = [];
	for (const shade of [READ, SHOWN, NAMED]) {
		const seen = sumOf(nodes, (it) => it.seen[shade]);
		if (!seen) continue;
		const to = at + Math.max(shade === NAMED ? 0 : 8, (100 * seen) / lines);
		stops.push(`${paint(shade)} ${at}% ${to}%`);
		at = to;
	}
	return stops.length ? `linear-gradient(${direction}, ${stops.join(', ')}, ${paint(NEVER)} ${at}%)` : null;
}

/** Makes one cell the tab stop. */
function rove(index, focus = true) {
	for (const { link } of map.cells) link.tabIndex = -1;
	const found = map.cells[index];
	if (!found) return;
	found.link.tabIndex = 0;
	if (focus) found.link.focus();
}

const SIDES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function mapKeys(event) {
	const side = SIDES[event.key];
	const from = map.cells.findIndex(({ link }) => link === event.target);
	if (isChord(event) || from < 0) return;
	if (side) rove(neighbour(from, side));
	else if (event.key === 'Home') rove(0);
	else if (event.key === 'End') rove(map.cells.length - 1);
	else return;
	event.preventDefault();
}

/** Returns the nearest cell on a side, or the same cell. */
function neighbour(from, [dx, dy]) {
	const middle = ({ cell }) => [cell.x + cell.w / 2, cell.y + cell.h / 2];
	const [x, y] = middle(map.cells[from]);
	let [best, nearest] = [from, Infinity];
	map.cells.forEach((it, index) => {
		const [ox, oy] = middle(it);
		const ahead = dx ? (ox - x) * dx : (oy - y) * dy;
		const across = dx ? Math.abs(oy - y) : Math.abs(ox - x);
		if (index === from || ahead <= 0.5) return;
		const far = ahead + 2 * across;
		if (far < nearest) [best, nearest] = [index, far];
	});
	return best;
}

// ---- Map: the view

async function showMap(view, path) {
	const all = current ? rootsOf(current) : [];
	if (!all.includes(map.root)) map.root = all[0] ?? null;
	if (!map.root) return fill(view, h('h1.unseen', { tabindex: '-1' }, 'Map'), noCalls());
	const { root } = map;
	const wanted = route;
	if (!map.trees.has(root)) {
		fill(view, heading('Map'), h('p', { role: 'status' }, `Reading the files of ${root}…`));
		try {
			map.trees.set(root, buildTree(await ask('map', { root })));
		} catch (error) {
			if (route === wanted) fill(view, heading('Map'), rootChoice(), note(sentence(error), 'bad'));
			return;
		}
		// The user may have left this view.
		if (route !== wanted || map.root !== root) return;
	}
	map.tree = map.trees.get(root);
	shade();
	map.node = nodeAt(path);
	if (!map.node) {
		return fill(view, heading('Map', rootChoice()), crumbs(path), note(`${path} is not among the files that a search reads now: it is gone, or a rule excludes it.`));
	}
	if (map.node.children) {
		fill(view, heading(map.node.path ? `${map.node.path}/` : 'Map', rootChoice()), crumbs(path), h('p', { id: 'share' }), h('div', { id: 'legend' }),
			h('p.unseen', { id: 'map-keys' }, 'Arrow keys move to the neighbour on that side, Enter opens a file or directory, Escape goes up.'),
			h('div.plan', { id: 'plan', role: 'group', 'aria-label': `Treemap of ${map.node.path || map.root}, by lines`, 'aria-describedby': 'map-keys', onkeydown: mapKeys }),
			h('div.split', { id: 'lists' }), h('div', { id: 'closed' }));
		drawShades();
	} else fill(view, heading(nameOf(map.node), rootChoice()), crumbs(path), fileView(map.node));
}

function rootChoice() {
	const all = current ? rootsOf(current) : [];
	const show = (root, isRead) => {
		map.root = root;
		if (isRead) map.trees.delete(root);
		go(isRead ? location.hash : '#map');
	};
	return h('span.tools', all.length > 1 && h('label', 'Root ', h('select', { onchange: (event) => show(event.target.value) }, all.map((root) => h('option', { value: root, selected: root === map.root }, root)))),
		button('Reload files', () => show(map.root, true)));
}

function crumbs(path) {
	const names = path ? bare(path).split('/') : [];
	const item = (name, at) => h('li', at === names.length ? h('span', { 'aria-current': 'page' }, name) : h('a', { href: mapAddress(names.slice(0, at).join('/')) }, name));
	return h('nav', { 'aria-label': 'Place in the map' }, h('ol.crumbs', [map.root, ...names].map(item)));
}

const swatch = (shade) => h('span', { class: `key s-${SHADES[shade].name}`, ...DECORATIVE });

/** The part of the view that changes with new calls. */
function drawShades() {
	const { node, tree: { reply, missing } } = map;
	const numbers = counts(node);
	const closed = closedBelow(node);
	const unsearched = closed.length + (node.parent ? 0 : reply.more_unsearched);
	const below = [...map.tree.touched.values()].filter(({ node: it }) => !node.path || bare(it.path).startsWith(`${node.path}/`));
	const [read, shown] = [READ, SHOWN].map((shade) => below.filter(({ best }) => best === shade));
	const rest = node.files - read.length - shown.length;
	const searchable = (number) => (number === 1 ? 'searchable file' : `${count(number)} searchable files`);
	fill(byId('share'), rest < node.files && ['The agent read ', h('b', plural(numbers[READ], 'line')), ` in ${plural(read.length, 'file')} and saw `, h('b', plural(numbers[SHOWN], 'other line')), ' in search results. '],
		!node.files ? 'No search reads a file here.' : rest ? `${rest < node.files ? 'It saw no line of the other' : 'The agent saw no line of the'} ${searchable(rest)}.` : `It saw lines of ${node.files === 1 ? 'the only' : 'all'} ${searchable(node.files)}.`,
		unsearched > 0 && ` ${plural(unsearched, 'path is', 'paths are')} not searched by default (below).`);
	const item = ({ name, title, label }, at) => h('li', { title: label, 'data-shade': name }, swatch(at), `${title} `, h('b', percent(numbers[at], node.lines)), soft(` · ${plural(numbers[at], 'line')}`));
	const absent = (why) => {
		const paths = [...missing].filter(([, it]) => it === why).map(([path]) => path);
		return paths.length > 0 && note(`Answers name ${plural(paths.length, 'file')} that ${paths.length === 1 ? `is not on this map: ${paths[0]}` : `are not on this map, such as ${paths[0]}`} (${why}).`);
	};
	fill(byId('legend'), h('ul.legend', { 'aria-label': 'Lines' }, SHADES.map(item)),
		!reply.complete && note('There are more files than this map shows.'), [EXCLUDED, UNLISTED, GONE].map(absent));
	const file = ({ node: it, calls }) => h('li', h('a.mono', { href: mapAddress(it.path) }, it.path), soft(` ${describe(it)}, in `), callLinks(calls));
	const list = (title, shade, items, max = 12) => [h('h2', shade !== null && swatch(shade), title), items.length ? h('ul.files', items.slice(0, max)) : hint('None.'),
		items.length > max && h('details', h('summary', `${count(items.length - max)} more`), h('ul.files', items.slice(max, 1000)))];
	const byLines = (shade) => (one, other) => other.node.seen[shade] - one.node.seen[shade];
	const never = untouched(node).sort((one, other) => other.weight - one.weight);
	const entry = (it) => h('li', h('a.mono', { href: mapAddress(it.path) }, `${it.path}${it.children ? '/' : ''}`), soft(` ${plural(it.lines, 'line')}${it.children ? ` in ${plural(it.files, 'file')}` : ''}${it.seen[NAMED] ? ', path seen' : ''}`));
	fill(byId('lists'),
		h('section', list('Read', READ, read.sort(byLines(READ)).map(file)), list('Shown, not read', SHOWN, shown.sort(byLines(SHOWN)).map(file))),
		h('section', list('No line seen', null, never.map(entry))));
	fill(byId('closed'), unsearched > 0 && h('details', h('summary', `${plural(unsearched, 'path')} not searched by default`), h('ul.files', closed.slice(0, 300).map((it) => h('li', mono(nameOf(it)), soft(` left out ${whySkipped(it.reason)}`)))),
		unsearched > 300 && hint(`and ${count(unsearched - Math.min(300, closed.length))} more`)));
	drawMap();
}

/** Returns the largest directories and files without a seen line. */
const untouched = (node) => node.sorted.flatMap((it) => (!it.seen[READ] && !it.seen[SHOWN] ? [it] : it.children ? untouched(it) : []));

function closedBelow(node) {
	const found = [];
	const visit = (it) => {
		if (it.reason) found.push({ ...it, name: it.path });
		it.children?.forEach(visit);
	};
	visit(node);
	return found;
}

function describe(node) {
	const numbers = counts(node);
	const parts = [READ, SHOWN].filter((it) => numbers[it]).map((it) => `${SHADES[it].name} ${count(numbers[it])}`);
	const all = `${plural(node.lines, 'line')}${node.children ? ` in ${plural(node.files, 'file')}` : ''}`;
	return parts.length ? `${parts.join(' and ')} of ${all}` : `${numbers[NAMED] ? 'path only' : 'in no answer'}, ${all}`;
}

function out() {
	if (!map.node?.parent) return;
	map.back = map.node.path;
	go(mapAddress(map.node.parent.path));
}

// ---- Map: one file

/** Lists the calls of marks: "read by call 5, shown by call 4". */
function doneBy(marks, words = ['read by ', 'shown by ', 'path named by ']) {
	const calls = words.map((_, shade) => [...new Set(marks.filter((mark) => mark.shade === shade).map((mark) => mark.call))].sort((one, other) => one.ui.number - other.ui.number));
	return words.map((word, shade) => calls[shade].length > 0 && [calls.slice(0, shade).some((it) => it.length) && ', ', word, callLinks(calls[shade], 6)]);
}

/** Splits a file's lines into ranges of one shade, with their marks. */
function stretches(node) {
	const it = map.tree.touched.get(node.path);
	const rest = it ? NAMED : NEVER;
	if (!node.lines) return [];
	const marks = (it?.marks ?? []).filter(({ from, to }) => from <= to);
	const edges = [...new Set([1, node.lines + 1, ...marks.flatMap(({ from, to }) => [from, to + 1])])].sort((one, other) => one - other);
	const result = [];
	for (let at = 0; at + 1 < edges.length; at += 1) {
		const [from, to] = [edges[at], edges[at + 1] - 1];
		const over = marks.filter((mark) => mark.from <= from && mark.to >= to);
		const shade = Math.min(rest, ...over.map((mark) => mark.shade));
		const last = result.at(-1);
		if (last?.shade === shade) Object.assign(last, { to, marks: [...last.marks, ...over] });
		else result.push({ from, to, shade, marks: over });
	}
	return result;
}

function fileView(node) {
	const parts = stretches(node);
	const text = h('div', { id: 'text' });
	const strip = parts.map(({ from, to, shade }) => h('i', { class: `s-${SHADES[shade].name}`, style: { width: `${(100 * (to - from + 1)) / node.lines}%` } }));
	const seen = parts.filter(({ shade }) => shade < NAMED);
	const item = ({ from, to, shade, marks }) => h('li', swatch(shade), button(from === to ? `Line ${from}` : `Lines ${from}–${to}`, () => showLines(node, parts, text, Math.max(1, from - 5), from + LINES), { class: 'text' }),
		': ', doneBy(marks));
	const { calls = [], marks = [] } = map.tree.touched.get(node.path) ?? {};
	const named = calls.filter((call) => !marks.some((mark) => mark.call === call)).map((call) => ({ call, shade: NAMED }));
	const first = (parts.find(({ shade }) => shade === READ) ?? seen[0])?.from ?? 1;
	showLines(node, parts, text, Math.max(1, first - 5), first + LINES);
	return [h('p', `${describe(node)[0].toUpperCase()}${describe(node).slice(1)}. `, !calls.length ? 'No call of this session named it.' : named.length > 0 && [doneBy(named, ['', '', 'Path named by ']), '.']),
		h('div.strip', { role: 'img', 'aria-label': `${plural(node.lines, 'line')} of the file from left to right: ${describe(node)}` }, strip),
		seen.length > 0 && h('ul.files.flow', { id: 'stretches' }, seen.slice(0, 40).map(item)), text];
}

const LINES = 400;

const showLines = (node, parts, target, from, to) => put(target, 'Reading…', async () => {
	const request = JSON.stringify({ path: node.path, start_line: from, end_line: Math.max(from, to) });
	const records = await ask('tools/read_file', { arguments: request, root: map.root });
	if (records.error && !records.lines?.length) throw new Refused(records.error);
	return [linesOf(records, parts), around(node, parts, target, records)];
});

function linesOf(records, parts) {
	const line = (text, index) => {
		const number = records.start_line + index;
		const { shade } = parts.find((it) => it.from <= number && it.to >= number) ?? { shade: NEVER };
		return h('div', h('i', { class: `s-${SHADES[shade].name}`, title: SHADES[shade].title, ...DECORATIVE }), h('b', String(number)),
			h('code', document.createTextNode(visibleLines(text)), shade <= SHOWN && h('span.unseen', ` (${SHADES[shade].title})`)));
	};
	return h('div.lines', { tabindex: '0', role: 'region', 'aria-label': `Text of ${records.path}` }, records.lines.map(line));
}

function around(node, parts, target, { start_line: from, end_line: to }) {
	const show = (start, end) => () => showLines(node, parts, target, start, end);
	return h('p', from > 1 && button(`Lines before ${from}`, show(Math.max(1, from - LINES), from - 1)), ' ',
		to < node.lines && button(`Lines after ${to}`, show(to + 1, Math.min(node.lines, to + LINES))));
}

// ---- Cost

const cost = { known: new Map(), busy: false, error: null };

function showCost(view) {
	if (!current) return fill(view, h('h1.unseen', { tabindex: '-1' }, 'Cost'), noCalls());
	fill(view, heading('Cost'), h('div', { id: 'costs' }));
	drawCost();
	askCost();
}

/** Requests the alternatives to the session's calls in batches. */
async function askCost() {
	if (cost.busy) return;
	Object.assign(cost, { busy: true, error: null });
	try {
		for (;;) {
			const wanted = current.calls.filter((call) => !cost.known.has(call.id)).slice(0, COST_BATCH);
			if (!wanted.length || route.view !== 'cost') break;
			const reply = await ask('cost', { ids: wanted.map((call) => call.id).join(',') });
			for (const call of wanted) cost.known.set(call.id, {});
			for (const it of reply.calls) cost.known.set(it.id, it);
			drawCost();
		}
	} catch (error) {
		cost.error = sentence(error);
	}
	cost.busy = false;
	drawCost();
}

function grouped(calls, key) {
	const groups = new Map();
	for (const call of calls) groups.set(key(call), [...groups.get(key(call)) ?? [], call]);
	return [...groups];
}

/** Returns the sizes of all files that the calls showed or read, each counted once. The size of a deleted file is null. */
function wholeFiles(calls) {
	const files = new Map();
	for (const call of calls) call.shown.forEach((file, at) => file.kind !== 'named' && files.set(fileKey(call, file), cost.known.get(call.id)?.file_bytes?.[at]));
	const sizes = [...files.values()];
	return { number: files.size, gone: sizes.filter((it) => it === null).length, bytes: sumOf(sizes, (it) => it ?? 0) };
}

function drawCost() {
	const element = byId('costs');
	if (!element || !current) return;
	const { calls } = current;
	const missing = calls.filter((call) => !cost.known.has(call.id)).length;
	const showing = calls.filter((call) => call.shown.some((file) => file.kind !== 'named'));
	const whole = wholeFiles(showing);
	const lineSearches = calls.filter((call) => cost.known.get(call.id)?.line_search).length;
	const patterns = calls.filter((call) => Number.isFinite(cost.known.get(call.id)?.grep_bytes));
	const [plain, context] = ['grep_bytes', 'context_bytes'].map((name) => sumOf(patterns, (call) => cost.known.get(call.id)[name]));
	const tools = grouped(calls, (call) => call.tool).sort(([, one], [, other]) => sizeOf(other) - sizeOf(one));
	const again = findings(current).filter((it) => it.kind === 'again').map((it) => it.call);
	const row = ([tool, list]) => [tool, count(list.length), tokens(sizeOf(list)), tokens(sizeOf(list) / list.length), duration(timeOf(list)), meter(sizeOf(list), sizeOf(calls))];
	const gone = whole.gone > 0 && ` ${plural(whole.gone, 'file is', 'files are')} gone or can't be read, and ${whole.gone === 1 ? 'counts' : 'count'} as empty.`;
	const uncompared = lineSearches > patterns.length && ' The others failed, or rg has no such option.';
	const largest = [...calls].sort((one, other) => other.bytes - one.bytes).slice(0, 5);
	const session = (it) => [[h('a', { href: `#session=${encodeURIComponent(it.id)}` }, titleOf(it, 80)), h('br'), soft(`${agentOf(it)}, ${when(it)}`)], count(it.calls.length), tokens(sizeOf(it.calls))];
	fill(element,
		h('p.lead', 'The answers of this session cost about ', h('b', `${tokens(sizeOf(calls))} tokens`), again.length > 0 && [`, ${tokens(sizeOf(again))} of them for `, `${again.length === 1 ? 'a repeated call' : `${again.length} repeated calls`}`], '.'),
		cost.error && note(cost.error, 'bad'), missing > 0 && !cost.error && h('p.soft', { role: 'status' }, `Counting ${plural(missing, 'call')}…`),
		h('div.split',
			compared('Reading whole files', [`${plural(showing.length, 'call')} showed lines of ${plural(whole.number, 'file')}.`, gone], [['Forage', sizeOf(showing)], ['The files, each read once', whole.bytes, `the ${whole.number === 1 ? 'file' : `${count(whole.number)} files`}`]]),
			compared('Searching with rg', [`${count(patterns.length)} of ${plural(lineSearches, 'line search', 'line searches')} compared.`, uncompared, ' rg prints every match, Forage up to its limits.'], [['Forage', sizeOf(patterns)], ['rg -n', plain, 'the output of `rg -n`'], ['rg -n -C 10', context, 'the output of `rg -n -C 10`']])),
		hint(`The two groups of calls overlap. Both use the files as they are now, and tokens are estimated as bytes / ${BYTES_PER_TOKEN}. We can't know what the agent would have done without Forage.`),
		h('div.split',
			h('section', h('h2', 'By tool'), table('Cost by tool', ['Tool', '#Calls', '#Tokens', '#Tokens per call', '#Total time', 'Share of tokens'], tools.map(row), 'scroll by-tool')),
			h('section', h('h2', 'Largest answers'), h('ol.files', largest.map((call) => h('li', callLink(call), ` ≈ ${tokens(call.bytes)} tokens `, soft(call.tool), ' ', mono(clip(call.ui.question, 80))))))),
		sessions.length > 1 && h('section', h('h2', 'All sessions'), table('Cost by session', ['Session', '#Calls', '#Tokens'], sessions.slice(0, 200).map(session))));
}

/** Compares bytes as bars, labeled in tokens. */
function compared(title, label, bars) {
	const max = Math.max(1, ...bars.map(([, size]) => size));
	const [[, own], ...others] = bars;
	const item = ([name, size], at) => h('li', h('span', name), h('b.right', `≈ ${tokens(size)} tokens`), meter(size, max, at ? '' : 'run'));
	// Forage is always the subject, so that comparisons are consistent.
	const factor = (size) => (own >= 2 * size ? `${(own / size).toFixed(own / size < 9.95 ? 1 : 0)} times as long as` : `${Math.max(1, Math.round((100 * own) / size))} % as long as`);
	return h('section', h('h2', title), hint(label), h('ul.bars', bars.map(item)),
		own > 0 && grouped(others.filter(([, size]) => size > 0), ([, size]) => factor(size)).map(([text, list]) => hint(prose(`Forage's answers were ${text} ${list.map(([, , name]) => name).join(' or ')}.`))));
}

// ---- Advanced: why a file has its rank

const ranking = { query: '', expected: '', root: null, reply: null, error: null, requests: 0, isTyped: false };

const allRoots = () => [...new Set([...current ? rootsOf(current) : [], ...known.processes.flatMap((it) => it.roots)])];

function showAdvanced(view, query) {
	const all = allRoots();
	if (query && query !== ranking.query) Object.assign(ranking, { query, reply: null, error: null, isTyped: true });
	const last = current?.calls.findLast((call) => call.tool === 'search_index' && call.arguments?.query);
	if (!ranking.isTyped && last && last.arguments.query !== ranking.query) Object.assign(ranking, { query: last.arguments.query, root: last.roots[0], reply: null, error: null });
	if (!all.includes(ranking.root)) ranking.root = all[0] ?? null;
	const field = (name, label, kind, value) => h('label', { class: kind }, label, h('input', { type: 'text', name, value, spellcheck: 'false', autocomplete: 'off' }));
	const submit = (event) => {
		event.preventDefault();
		const given = new FormData(event.target);
		Object.assign(ranking, { query: given.get('query').trim(), expected: given.get('expected').trim(), root: given.get('root') ?? ranking.root, isTyped: true });
		rank();
	};
	fill(view, heading('Why is this file first?'), hint('Ranks the files for a question as search_index does, and lists the points that each rule gave.'),
		h('form.ask', { onsubmit: submit }, field('query', 'Question', 'grow', ranking.query), field('expected', 'File that you expected (optional)', 'some', ranking.expected),
			all.length > 1 && h('label', 'Root', h('select', { name: 'root' }, all.map((root) => h('option', { value: root, selected: root === ranking.root }, root)))),
			h('button.filled', { id: 'rank' }, 'Rank')),
		h('section', { id: 'ranked', 'aria-live': 'polite' }));
	drawRanking();
	if (!ranking.reply && !ranking.error) rank();
}

async function rank() {
	if (!ranking.query || !ranking.root) return drawRanking();
	const request = ranking.requests += 1;
	byId('ranked')?.setAttribute('aria-busy', 'true');
	try {
		const reply = await ask('rank', { root: ranking.root, query: ranking.query, expected: ranking.expected });
		if (request === ranking.requests) Object.assign(ranking, { reply, error: null });
	} catch (error) {
		if (request === ranking.requests) ranking.error = sentence(error);
	}
	if (request === ranking.requests) drawRanking();
}

const points = (value) => Number(value).toLocaleString('en', { maximumSignificantDigits: 3 });
const signed = ({ gives }) => (gives < 0 ? `−${Math.round(-100 * gives)} %` : points(gives));

function drawRanking() {
	const element = byId('ranked');
	if (!element) return;
	element.removeAttribute('aria-busy');
	const { reply, error } = ranking;
	if (error) return fill(element, note(error, 'bad'));
	if (!reply) return fill(element, hint(ranking.query && ranking.root ? 'Ranking…' : 'Enter a question to see how its files are ranked.'));
	const { answer, expected } = reply;
	const files = answer.files ?? [];
	const max = Math.max(1e-9, ...files.map((it) => it.score));
	const item = (file, at) => h('li', { class: expected?.path === file.path ? 'expected' : null, value: at },
		h('a.mono', { href: mapAddress(file.path), onclick: () => { map.root = ranking.root; } }, file.path), expected?.path === file.path && ' (expected)',
		h('span.right', `${points(file.score)} points`), meter(file.score, max, 'run'), reasons(file.reasons ?? []));
	const isBeyond = expected?.rank && expected.rank > files.length;
	fill(element, h('h2', `${plural(files.length, 'file')} of ${count(answer.matching_files ?? files.length)} with a match, best first`),
		answer.error && note(answer.error, 'bad'), (answer.warnings ?? []).map((it) => note(it, 'warn')), answer.weak && note('Even the best file has few words of the question.', 'warn'),
		expected && expectedFile(expected),
		files.length ? h('ol.ranked', files.map((file, at) => item(file, at + 1)), isBeyond && item(expected, expected.rank)) : hint('No file matches.'),
		reply.keep && [h('h2', 'A line for forage eval'), hint('Add it to a file of questions to measure the ranking. This page saves nothing.'), copied('A question for forage eval', reply.keep)]);
}

function reasons(list) {
	const sorted = [...list].sort((one, other) => Math.abs(other.gives) - Math.abs(one.gives));
	return h('details', h('summary.soft', `Points by ${plural(list.length, 'rule')}`),
		table('Points by rule', ['Rule', '#Points', 'About'], sorted.map((it) => [it.rule, signed(it), it.about ?? ''])));
}

function expectedFile({ path, rank: at, score, lacks, note: message }) {
	return h('p', { class: `note ${at ? 'good' : 'bad'}`, id: 'expected' }, mono(path), at ? ` is number ${at}, with ${points(score)} points.` : ` is not ranked. ${message ?? ''}`,
		at && message && ` ${message}`, lacks.length > 0 && [' Unlike the first file, it has no points for ', lacks.map((rule, at) => [at > 0 && ', ', h('b', rule)]), '.']);
}

// ---- Health

const health = { record: null, error: null, busy: false };

function showHealth(view) {
	fill(view, heading('Health', button('Check again', askHealth)), h('div', { id: 'state' }));
	drawHealth();
	if (!health.record && !health.busy) askHealth();
}

async function askHealth() {
	Object.assign(health, { error: null, busy: true });
	drawHealth();
	await ask('health').then((record) => { health.record = record; }, (error) => { health.error = sentence(error); });
	health.busy = false;
	drawHealth();
}

function drawHealth() {
	const { record, error, busy } = health;
	const element = byId('state');
	if (!element) return;
	fill(element, error && note(error, 'bad'), busy && h('p.soft', { role: 'status' }, 'Checking…'), record && diagnosis(record));
}

/** Joins words with commas and "and". */
const listed = (words) => (words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`);

function diagnosis(record) {
	const running = known.processes.filter((it) => it.live);
	return [note(record.usable ? 'Forage works here.' : 'Forage does not work here.', record.usable ? 'good' : 'bad'),
		record.error && note(record.error, 'bad'), [['bad', record.problems], ['warn', record.warnings]].map(([kind, list]) => list.map((text) => note(fullStop(upper(text)), kind))),
		h('ul.says', sentences(record, running).map((it) => h('li', it))),
		h('details', { id: 'all' }, h('summary', 'Everything that forage doctor reports'), Object.keys(record).filter((key) => !['problems', 'warnings', 'usable', 'error', 'code'].includes(key))
			.map((key) => h('section', h('h2', key[0].toUpperCase() + spoken(key.slice(1))), valueNode(record[key], key))))];
}

/** Describes the installation, one sentence for each part. */
function sentences({ versions, roots, configuration, tools, models, index, sandbox, clients, caches }, running) {
	// Without a model, keyword_search fails unless the filter is lexical.
	const needsModel = ({ tool }) => tool === 'keyword_search' && !models.chosen?.filter?.length && configuration.changed?.['filter.mode']?.value !== 'lexical';
	const on = tools.filter((it) => it.on).map((it) => `${it.name}${needsModel(it) ? ' (needs a model)' : ''}`);
	const chosen = [...models.named?.models ?? [], ...Object.values(models.chosen ?? {}).flat()];
	const setUp = clients.filter((it) => it.state === 'set_up');
	const agent = (it) => `${agentOf(it)} (process ${it.pid ?? it.process})`;
	const client = (it) => [`${it.client} is set up in `, mono(it.file), '. ', h('code', 'forage doctor'), ' starts its server to check it.'];
	return [
		running.length ? `${plural(running.length, 'agent is', 'agents are')} connected: ${listed(running.map(agent))}.` : 'No agent is connected now.',
		...roots.roots.map((it) => (it.problem ? [mono(it.root), ` can't be searched: ${it.problem}`] : ['Searches from here cover ', mono(it.root), '.'])),
		...index.roots.map(({ root, index: it }) => (it.problem ? [mono(root), ` has no index: ${it.problem}`] : [mono(root), it.state === 'there' ? ` has an index of ${bytes(it.bytes)} on disk.` : [' has no index on disk: small trees need none; ', h('code', 'forage index build'), ' makes one.']])),
		`Agents are offered ${listed(on)}.`,
		models.problem ?? (chosen.length ? `Models: ${listed([...new Set(chosen)].slice(0, 4))}.` : 'No model is configured. Only keyword_search and ask need one.'),
		sandbox.mode === 'off' ? 'The sandbox is off.' : `The sandbox is on: ${sandbox.detail}.`,
		[configuration.exists ? 'The configuration is in ' : 'There is no configuration file; it would be ', mono(configuration.file), '.'],
		...setUp.length ? setUp.map(client) : [[h('code', 'forage setup'), ' has set up no agent here. An agent that was set up by hand can still be connected.']],
		caches && (caches.problem ?? ['Caches take ', bytes(caches.bytes ?? 0), ' in ', mono(caches.directory), '.']),
		`Forage ${versions.forage}${versions.commit ? `, commit ${versions.commit}` : ''}, for ${versions.target}.`,
	].filter(Boolean);
}

/** Formats any value, so that fields of later versions are shown too. */
function valueNode(value, title, key) {
	if (value === null || value === undefined || value === '') return '–';
	if (typeof value === 'boolean') return value ? 'yes' : 'no';
	if (typeof value === 'number') return key === 'bytes' ? bytes(value) : String(value);
	if (typeof value !== 'object') return value;
	if (!Array.isArray(value)) return facts(Object.entries(value).filter(([, it]) => it !== null && it !== '' && it.length !== 0).map(([name, it]) => [spoken(name), valueNode(it, `${title}: ${spoken(name)}`, name)]));
	if (!value.length) return 'none';
	if (typeof value[0] !== 'object') return value.some((it) => it.length > 30) ? h('ul', value.map((it) => h('li', it))) : value.join(', ');
	return value.map((it) => h('div.entry', valueNode(it, title)));
}

// ---- The frame: addresses, keys

let route = { view: 'session', argument: '' };
const VIEWS = { session: showSession, call: showCall, map: showMap, cost: showCost, health: showHealth, advanced: showAdvanced };

function parseRoute() {
	const [, view, argument] = /^#(\w+)(?:=(.*))?$/s.exec(location.hash) ?? [];
	let decoded = '';
	try {
		decoded = decodeURIComponent(argument ?? '');
	} catch {
		// A truncated address shows its view.
	}
	return { view: view in VIEWS ? view : 'session', argument: decoded };
}

function go(hash) {
	if (location.hash === hash) routed();
	else location.hash = hash;
}

async function showView() {
	const { view, argument } = route;
	for (const link of page.views.children) {
		const isCurrent = link.hash === `#${view}` || (view === 'call' && link.hash === '#session');
		isCurrent ? link.setAttribute('aria-current', 'page') : link.removeAttribute('aria-current');
	}
	document.title = `${upper(view)} · Forage`;
	await VIEWS[view](page.view, argument);
}

async function routed() {
	const last = route;
	if (last.view === 'session') showSession.scroll = scrollY;
	route = parseRoute();
	const shown = route;
	if (!isWide.matches) page.picker.open = false;
	await showView();
	if (route !== shown) return;
	if (route.view === 'session' && last.view === 'call') {
		scrollTo(0, showSession.scroll ?? 0);
		const row = document.querySelector(`#calls [data-id="${CSS.escape(last.argument)}"] .open`);
		if (row) return row.focus();
	}
	if (route.view === 'map' && map.back !== null && document.querySelector('#plan [tabindex="0"]')) {
		map.back = null;
		return document.querySelector('#plan [tabindex="0"]').focus({ preventScroll: true });
	}
	scrollTo(0, 0);
	page.view.querySelector('h1')?.focus({ preventScroll: true });
}

/** Redraws the parts that new calls change. */
function refresh(fresh) {
	drawSessions();
	fill(page.notes, known.notes.map((text) => note(text)), known.processes.map((it) => it.forgotten > 0 && note(`${agentOf({ process: it.process })}: ${plural(it.forgotten, 'earlier call')} no longer stored. Keep a journal to see all.`)));
	const { view } = route;
	const isConcerned = fresh.some((call) => call.ui.session === current);
	if (view === 'session' && isConcerned) byId('calls') ? drawSession() : showView();
	else if (view === 'call' && !byId('seen') && !page.view.querySelector('.answer')) showView();
	else if (view === 'cost' && isConcerned) askCost();
	else if (view === 'map' && isConcerned && map.node?.children && byId('legend')) {
		shade();
		drawShades();
	} else if (view === 'health') drawHealth();
}

const isTyping = (target) => target.matches?.('input:not([type=checkbox]), select, textarea');

function keyed(event) {
	if (isChord(event) || event.defaultPrevented || page.keys.open) return;
	if (event.key === 'Escape') return escape(event);
	if (isTyping(event.target) || !page.single.checked) return;
	const act = keyActs[event.key];
	if (!act) return;
	event.preventDefault();
	act();
}

const toCall = (step) => () => {
	const call = route.view === 'call' && known.byId.get(route.argument);
	const other = call && call.ui.session.calls[call.ui.number - 1 + step];
	if (other) go(callAddress(other));
};

function toSessions() {
	page.picker.open = true;
	page.sessions.querySelector('[aria-current], a')?.focus();
}

const keyActs = {
	'/': () => byId('filter')?.focus(), '?': () => page.keys.showModal(), '[': toCall(-1), ']': toCall(1), s: toSessions,
	...Object.fromEntries(['session', 'map', 'cost', 'health', 'advanced'].map((view, at) => [at + 1, () => go(`#${view}`)])),
};

function escape(event) {
	if (event.target.id === 'filter') {
		event.target.value ? (event.target.value = '', drawRows()) : event.target.blur();
	} else if (isTyping(event.target)) return;
	else if (route.view === 'map') out();
	else if (route.view === 'call') go('#session');
}

// ---- Live

const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

function linkState(text, kind = '') {
	Object.assign(page.link, { className: `link ${kind}` });
	if (page.link.textContent !== text) page.link.textContent = text;
}

function news(reply, isFirst) {
	const before = sessions.length;
	const fresh = store(reply);
	const live = known.processes.filter((it) => it.live).length;
	linkState(live ? `${plural(live, 'agent')} connected` : 'no agent connected', live ? 'on' : '');
	if (isFirst) {
		refresh([]);
		showView();
	} else {
		const waited = !before && sessions.length;
		refresh(fresh);
		if (waited) showView();
		announce(fresh.length, sessions.length - before);
	}
}

let pending = 0;
/** Reports new calls together, at most once a second. */
function announce(number, newSessions) {
	pending += number;
	if (newSessions > 0) say('A new session has begun');
	clearTimeout(announce.timer);
	announce.timer = setTimeout(() => {
		if (pending) say(plural(pending, 'new call'));
		pending = 0;
	}, 1000);
}

/** Polls for new calls while the page is open, with exponential backoff if the server is gone. */
async function listen() {
	let failures = 0;
	for (;;) {
		try {
			const reply = await ask('calls', { after: known.next, wait: known.loaded ? 1 : null });
			const isFirst = !known.loaded;
			const isNew = isFirst || reply.calls.length || reply.next < known.next || JSON.stringify([reply.processes, reply.notes]) !== JSON.stringify([known.processes, known.notes]);
			if (isNew || failures) news(reply, isFirst);
			failures = 0;
		} catch (error) {
			failures += 1;
			await gone(error, failures);
		}
	}
}

async function gone(error, failures) {
	const wait = Math.min(10, 2 ** (failures - 1));
	const text = error.status === 401 ? 'this address has an old token: use the address that forage ui printed last' : `${sentence(error)}: is forage ui still running?`;
	linkState(`${text} Next attempt in ${wait} s.`, 'gone');
	if (!known.loaded) fill(page.view, note(`${text[0].toUpperCase()}${text.slice(1)}`, 'bad'));
	await pause(1000 * wait);
}

const isWide = matchMedia('(min-width: 1000px)');

function start() {
	history.scrollRestoration = 'manual';
	addEventListener('hashchange', routed);
	addEventListener('keydown', keyed);
	let width = innerWidth;
	addEventListener('resize', () => {
		if (innerWidth !== width && route.view === 'map' && map.node?.children) requestAnimationFrame(drawMap);
		if (innerWidth !== width && route.view === 'session') requestAnimationFrame(drawRows);
		width = innerWidth;
	});
	const arrange = () => { page.picker.open = isWide.matches; };
	isWide.addEventListener('change', arrange);
	arrange();
	page.help.addEventListener('click', () => page.keys.showModal());
	page.skip.addEventListener('click', (event) => {
		event.preventDefault();
		page.main.focus();
	});
	route = parseRoute();
	showView();
	listen();
}

start();
