// The page of `forage ui`: what agents asked of Forage, what they saw, and what they never looked at.
// Whatever comes from a repository or an agent is hostile: it is put into the page by `visible` and text nodes alone.

const TOKEN = new URLSearchParams(location.search).get('token') ?? '';
// An estimate: nobody here knows the tokenizer of the model.
const BYTES_PER_TOKEN = 4;
const COST_BATCH = 100;
const COST_CALLS = 500;
const ROW_CHARACTERS = 300;
const TITLE_CHARACTERS = 400;

// ---- Text

// What hides or reorders text: controls, formats (bidi among them), lone surrogates, separators, blank letters.
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u034F\u115F\u1160\u17B4\u17B5\u3164\uFFA0]/gu;
const codePoint = (character) => character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0');
const escaped = (character) => `‹U+${codePoint(character)}›`;

/** Returns text on one line in which nothing hides. */
const visible = (text) => String(text).replace(HIDDEN, escaped);

/** The same of text that has lines. */
const visibleLines = (text) => String(text).replace(/\r\n/g, '\n').replace(HIDDEN, (it) => (it === '\n' || it === '\t' ? it : escaped(it)));

const clip = (text, length = ROW_CHARACTERS) => (text.length > length ? `${text.slice(0, length)}…` : text);

// Made once: that takes longer than a row.
const NUMBER = new Intl.NumberFormat('en');
const count = (number) => NUMBER.format(number);
const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

function bytes(number) {
	if (number < 1000) return `${number} B`;
	const [size, unit] = number < 999_500 ? [number / 1000, 'kB'] : [number / 1e6, 'MB'];
	return `${size < 9.95 ? size.toFixed(1).replace(/\.0$/, '') : count(Math.round(size))} ${unit}`;
}

function tokens(number) {
	const estimate = Math.round(number / BYTES_PER_TOKEN);
	return estimate < 10_000 ? count(estimate) : `${count(Math.round(estimate / 1000))}k`;
}

function duration(us) {
	if (us < 1000) return `${(us / 1000).toFixed(1)} ms`;
	if (us < 1e6) return us < 10_000 ? `${(us / 1000).toFixed(1)} ms` : `${Math.round(us / 1000)} ms`;
	return us < 60e6 ? `${(us / 1e6).toFixed(1)} s` : `${Math.floor(us / 60e6)} min ${Math.round((us % 60e6) / 1e6)} s`;
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

/** JSON in which what would hide is written as JSON's own escapes, so that what is copied is what is seen. */
const json = (value, indent) =>
	JSON.stringify(value, null, indent).replace(HIDDEN, (it) => (it === '\n' && indent ? it : it.split('')
		.map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')));

/** A word for a shell: in single quotes, or as `$'…'` where it holds what would hide. */
function shellWord(text) {
	if (/^[\w@%+=:,./-]+$/.test(text)) return text;
	if (text.search(HIDDEN) < 0) return `'${text.replaceAll("'", "'\\''")}'`;
	const escape = (it) => `\\U${it.codePointAt(0).toString(16).padStart(8, '0')}`;
	return `$'${text.replace(/[\\']/g, '\\$&').replace(HIDDEN, escape)}'`;
}

const command = (call) =>
	`forage call ${shellWord(call.tool)} ${shellWord(json(call.arguments))}${call.roots.map((root) => ` --root ${shellWord(root)}`).join('')}`;

// ---- Elements

// What the page has from its beginning, by its id.
const page = Object.fromEntries([...document.querySelectorAll('[id]')].map((it) => [it.id, it]));
const UNHEARD = { 'aria-hidden': 'true' };
const byId = (id) => document.getElementById(id);

/** Makes an element of `name.class`, perhaps with properties; strings become text nodes in which nothing hides. */
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
	children.flat(3).filter((it) => it !== null && it !== undefined && it !== false)
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
const note = (text, kind = '') => h('p', { class: `note ${kind}` }, text);
const heading = (text, ...beside) => h('div.head', h('h1', { tabindex: '-1' }, text), beside);
const facts = (pairs) => h('dl.facts', pairs.filter((it) => it && it[1] !== null && it[1] !== '')
	.map(([name, ...value]) => [h('dt', name), h('dd', value)]));
const callAddress = (call) => `#call=${encodeURIComponent(call.id)}`;
const callLink = (call, text = `call ${call.sequence}`) =>
	h('a', { href: callAddress(call), title: `${call.tool}: ${call.ui.question}` }, text);

function say(text) {
	// Emptied first: the same sentence twice is said twice.
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

/** A table: the titles of columns of numbers begin with `#`, a cell is text or nodes. */
function table(caption, columns, rows, kind = 'scroll') {
	const right = columns.map((title) => (title.startsWith('#') ? 'right' : ''));
	const cell = (it, at) => h(at ? 'td' : 'th', { class: right[at], scope: at ? null : 'row' }, it);
	const head = columns.map((title, at) => h('th', { scope: 'col', class: right[at] }, title.replace('#', '')));
	return h('div', { class: kind, tabindex: '0', role: 'region', 'aria-label': caption },
		h('table', h('caption.unseen', caption), h('thead', h('tr', head)), h('tbody', rows.map((row) => h('tr', row.map(cell))))));
}

const meter = (part, whole, properties) =>
	h('span.meter', { ...UNHEARD, ...properties }, h('i', { style: { width: `${whole ? (100 * part) / whole : 0}%` } }));

// ---- The server

class Refused extends Error {
	constructor(message, status) {
		super(message);
		this.status = status;
	}
}

/** Asks the server; throws a `Refused` with its sentence, also when it does not answer. */
async function ask(path, query = {}) {
	const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== '');
	const response = await fetch(`/api/${path}?${new URLSearchParams(given)}`, { headers: { Authorization: `Bearer ${TOKEN}` }, cache: 'no-store' })
		.catch(() => { throw new Refused('the server does not answer'); });
	const record = await response.json().catch(() => { throw new Refused(`the answer of the server is not understood (status ${response.status})`); });
	if (!response.ok || record?.type === 'error') throw new Refused(record?.error ?? `status ${response.status}`, response.status);
	return record;
}

const sentence = (error) => (error instanceof Refused ? error.message : `a fault of this page: ${error}`);

// ---- What is known of calls

const known = { calls: [], byId: new Map(), processes: [], notes: [], next: 0, loaded: false };
const FILTERS = ['process', 'root', 'tool', 'text'].map((name) => [name, `by-${name}`]);
const filters = { process: '', root: '', tool: '', text: '' };
let selectedCalls = null;

const ended = (call) => call.began_us + call.elapsed_us;

/** The argument that says what a call is about. */
function question(call) {
	const given = call.arguments ?? {};
	if (typeof given !== 'object') return String(given);
	const path = given.path ?? given.file_path ?? given.paths;
	const main = given.pattern ?? given.query ?? given.search_terms ?? given.terms ?? given.question ?? given.name ?? null;
	const word = (value) => (Array.isArray(value) ? value.map(word).join(' · ') : typeof value === 'string' ? value : JSON.stringify(value));
	if (main !== null) return word(main) + (path && path !== '.' ? `  in ${word(path)}` : '');
	if (path === undefined || path === null) return Object.keys(given).length ? JSON.stringify(given) : '.';
	const symbol = given.symbol ? `#${word(given.symbol)}` : '';
	const range = given.start_line ? ` ${given.start_line}–${given.end_line ?? ''}` : '';
	return word(path) + symbol + range;
}

/** What only turns the page of an answer, or sets its size. */
const PAGING = new Set(['cursor', 'page', 'offset', 'limit', 'max_results', 'max_files', 'head_limit', 'ignore_case', 'case_sensitive']);

/** A value with its keys in order; what is alike has the same words in any order and case, on any page. */
function ordered(value, isAlike) {
	if (isAlike && typeof value === 'string') return value.toLowerCase().split(/\s+/).filter(Boolean).sort().join(' ');
	if (Array.isArray(value)) return value.map((it) => ordered(it, isAlike));
	if (value === null || typeof value !== 'object') return value;
	const keys = Object.keys(value).filter((key) => !(isAlike && (PAGING.has(key) || value[key] === null))).sort();
	return Object.fromEntries(keys.map((key) => [key, ordered(value[key], isAlike)]));
}

const place = (call, file) => `${call.roots[file.root] ?? ''}\0${file.path}`;

/** Marks what was asked before, and threads what was read to the answer that named it. */
function relate() {
	const asked = new Map();
	const named = new Map();
	for (const call of known.calls) {
		const ui = call.ui;
		Object.assign(ui, { again: null, nearly: null, from: null, readers: [] });
		const [same, near] = [`${call.process}\0=${ui.same}`, `${call.process}\0~${ui.near}`];
		ui.again = asked.get(same) ?? null;
		ui.nearly = ui.again ? null : asked.get(near) ?? null;
		asked.set(same, call).set(near, call);
		for (const file of call.shown) {
			const key = `${call.process}\0${place(call, file)}`;
			if (file.kind !== 'read') named.has(key) ? named.get(key).push(call) : named.set(key, [call]);
			else if (call.tool === 'read_file' && !ui.from) ui.from = named.get(key)?.findLast((earlier) => ended(earlier) <= call.began_us) ?? null;
		}
		ui.from?.ui.readers.push(call);
	}
}

function take(news) {
	if (news.next < known.next) Object.assign(known, { calls: [], byId: new Map(), next: 0 });
	const fresh = news.calls.filter((call) => !known.byId.has(call.id));
	for (const call of fresh) {
		known.byId.set(call.id, call);
		call.ui = {
			question: question(call), hay: null,
			same: call.tool + JSON.stringify(ordered(call.arguments)), near: call.tool + JSON.stringify(ordered(call.arguments, true)),
		};
	}
	known.calls.push(...fresh);
	known.calls.sort((one, other) => one.began_us - other.began_us || one.sequence - other.sequence);
	Object.assign(known, { processes: news.processes, notes: news.notes ?? [], next: news.next, loaded: true });
	if (fresh.length) relate();
	selectedCalls = null;
	return fresh;
}

const hay = (call) => (call.ui.hay ??= [call.tool, call.status, call.code, call.error, JSON.stringify(call.arguments), call.client,
	...chips(call).map(([, text]) => text), ...call.shown.map((file) => file.path)].join('\n').toLowerCase());

function passes(call) {
	const words = filters.text.toLowerCase().split(/\s+/).filter(Boolean);
	return (!filters.process || call.process === filters.process) && (!filters.tool || call.tool === filters.tool)
		&& (!filters.root || call.roots.includes(filters.root)) && words.every((word) => hay(call).includes(word));
}

/** The calls that the filters let through, in the order in which they began. */
const selected = () => (selectedCalls ??= known.calls.filter(passes));

const roots = () => [...new Set([...known.processes.flatMap((it) => it.roots), ...known.calls.flatMap((call) => call.roots)])];
const isFiltered = () => Object.values(filters).some(Boolean);
const step = (call, name) => call.funnel.find((it) => it.step === name)?.files;

// ---- What came of a call

const LIMITS = {
	max_results: ['cut at max_results', 'As many as were asked for, and there is at least one more.'],
	file_bytes: ['cut within a file', 'Of a file more lines were found than are kept.'],
	text_bytes: ['cut', 'The text may have no more bytes.'],
	timeout: ['stopped by its time limit', 'The call was ended by its deadline.'],
	cancelled: ['stopped by the caller', 'Whoever asked did not wait.'],
	entries: ['cut at its bound of entries', 'The tree has more entries than are shown.'],
	engine: ['an engine failed', 'Matches may be missing.'],
	root: ['a root is missing', 'It could not be looked at.'],
	unavailable: ['no answer from a store', 'What has to be asked did not answer.'],
};

const SKIPPED = {
	ignored: 'by a rule of an ignore file; a directory counts once',
	hidden: 'by a name that begins with a dot; a directory counts once',
	pruned: 'dependencies, build output or version control',
	binary: 'they hold a NUL byte',
	too_large: 'larger than the limit on one file',
	unreadable: 'the system refused to open or read them',
	denied: 'may hold secrets, and stay closed',
	outside_root: 'links that lead out of the root',
	symlink: 'links, which are not followed',
	special: 'pipes, sockets and devices',
	too_deep: 'below the deepest level that is walked',
	line_too_long: 'a line is too long',
	kernel_file_system: 'made by the kernel, such as procfs',
};

/** `2 matching lines in 1 file hidden by `build/` in src/.gitignore, such as …` as `[2, '.gitignore']`. */
function hiddenBy(text) {
	const [, number, rule] = /^(\d+)[^`]*?\bby (.+?)(?:, such as .*)?$/.exec(text) ?? [];
	if (!rule) return null;
	const file = /` in (?:.*\/)?([^/]+)$/.exec(rule)?.[1] ?? (rule.includes('begins with a dot') ? 'a dot name' : rule.replace(/`/g, '').split(',')[0]);
	return [Number(number), file];
}

function nothing(call) {
	if (call.absent) return ['', 'none: absent', 'All was looked at: it is nowhere.'];
	const hidden = call.hidden_matches.map(hiddenBy);
	if (!hidden.length) return call.absent === false ? ['warn', 'none: not all searched', 'Something was left out.'] : ['', 'none', 'Nobody knows whether it is anywhere else.'];
	const title = call.hidden_matches.join('; ');
	if (hidden.includes(null)) return ['warn', `none: hidden: ${call.hidden_matches[0]}`, title];
	const rules = new Set(hidden.map(([, rule]) => rule));
	return ['warn', `none: ${sumOf(hidden, ([number]) => number)} hidden by ${rules.size > 1 ? `${rules.size} rules` : hidden[0][1]}`, title];
}

function found(call) {
	const number = `${count(call.results)}${call.at_least ? '+' : ''}`;
	const made = (text) => ['good', text, call.at_least ? 'There may be more than were counted.' : null];
	const of = call.results_of === 'files' ? step(call, 'visited') ?? step(call, 'searched') : null;
	if (call.results_of === 'matches') return made(`${number} in ${plural(call.files, 'file')}`);
	if (of) return made(`${number} of ${plural(of, 'file')}`);
	return made(`${number} ${number === '1' ? call.results_of.replace(/ies$/, 'y').replace(/s$/, '') : call.results_of}${call.results_of === 'hits' && call.files ? ` in ${plural(call.files, 'file')}` : ''}`);
}

/** What came of a call, as a kind, a few words and a title each; colour only repeats them. */
function chips(call) {
	const made = [];
	const add = (...it) => made.push(it);
	const { status, truncated_by: limit } = call;
	if (status === 'error') add('bad', `error${call.code ? `: ${call.code}` : ''}`, call.error);
	else if (status === 'cancelled') add('warn', 'cancelled', call.error);
	else {
		if (status === 'partial') add('warn', 'partial', call.error ?? 'Only a part was looked at.');
		if (call.results > 0) made.push(found(call));
		else if (status === 'nothing' || call.hidden_matches.length) made.push(nothing(call));
	}
	const [cut, title] = LIMITS[limit] ?? [`cut: ${limit}`];
	if (limit && limit !== 'text_bytes' && limit !== status) add('warn', cut, title);
	if (call.text_cut || limit === 'text_bytes') add('warn', `cut at ${bytes(call.bytes)}`, 'The text shows less than was found.');
	if (call.redacted) add('warn', `${plural(call.redacted, 'secret')} hidden`, 'They were taken out of the text.');
	return made;
}

function marks({ ui: { again, nearly } }) {
	if (again) return [['mark', 'again', `The question of call ${again.sequence}`]];
	return nearly ? [['mark', 'nearly again', `Nearly the question of call ${nearly.sequence}: the same words, another case or page`]] : [];
}

const chip = ([kind, text, title]) => [h('span', { class: `chip ${kind}`, title: title ?? text }, clip(text, 120)), ' '];
const allChips = (call) => [...chips(call), ...marks(call)].map(chip);

// ---- Timeline

const OVERSCAN = 8;
const AXIS_US = 50_000;
const timeline = { body: null, rows: new Map(), at: 0, follow: false, newer: 0, scroll: 0 };

/** Calls that follow each other at once share an axis of time: where it begins and how long it is. */
function neighbourhoods(calls) {
	let first = 0;
	let end = 0;
	const close = (last) => {
		const began = calls[first].began_us;
		const span = Math.max(end - began, AXIS_US);
		for (let at = first; at < last; at += 1) Object.assign(calls[at].ui, { axis: began, span, together: 0 });
		for (let at = first; at < last; at += 1) overlap(calls, at, last);
	};
	calls.forEach((call, at) => {
		if (at > first && (call.began_us > end + AXIS_US || at - first >= 60)) {
			close(at);
			first = at;
			end = 0;
		}
		end = Math.max(end, ended(call));
	});
	if (calls.length) close(calls.length);
}

function overlap(calls, at, last) {
	for (let other = at + 1; other < last && calls[other].began_us < ended(calls[at]); other += 1) {
		calls[at].ui.together += 1;
		calls[other].ui.together += 1;
	}
}

function noCalls() {
	if (!known.loaded) return h('p.empty.soft', 'Asking the server…');
	if (known.calls.length) return h('div.empty', h('p', 'No call fits these filters.'), button('Clear the filters', clearFilters));
	return h('div.empty', h('h2', 'No calls yet'),
		h('p', 'Start an agent that has Forage, and let it search: its calls appear here as they are made.'),
		lines('forage setup claude-code      # or another client\nforage mcp --root ~/src/shop  # what the client runs', { role: 'region', 'aria-label': 'Commands' }),
		hint('Earlier calls are in a journal, if one is kept (', h('code', '[journal] path'), '), and in transcripts: ', h('code', 'forage ui FILE'), '.'));
}

function showTimeline(view) {
	const names = ['#', 'Began', 'By', 'Tool', 'Asked for', 'What came of it', 'Bytes', 'Took', 'Side by side'];
	timeline.rows.clear();
	timeline.body = h('div', { role: 'rowgroup', onkeydown: rowKeys });
	fill(view, h('h1.unseen', { tabindex: '-1' }, 'Timeline'), h('div', { id: 'no-calls' }),
		h('div', { id: 'calls', class: 'calls', role: 'table', 'aria-label': 'Calls' },
			h('div', { role: 'rowgroup' }, h('div', { role: 'row', class: 'heads', 'aria-rowindex': '1' },
				names.map((name) => h('span', { role: 'columnheader', class: { '#': 'right', By: 'who', Bytes: 'right', Took: 'right' }[name] }, name)))),
			timeline.body));
	// There before any row is made: else rows are made twice.
	timeline.body.style.paddingBottom = `${selected().length * rowHeight()}px`;
	timeline.follow ? toEnd() : scrollTo(0, timeline.scroll);
	updateTimeline();
}

function updateTimeline() {
	const calls = selected();
	neighbourhoods(calls);
	fill(byId('no-calls'), calls.length ? null : noCalls());
	byId('calls').hidden = !calls.length;
	byId('calls').setAttribute('aria-rowcount', calls.length + 1);
	timeline.at = Math.min(timeline.at, Math.max(0, calls.length - 1));
	drawRows();
}

const rowHeight = () => parseFloat(getComputedStyle(document.documentElement).getPropertyValue('--row'));

/** Puts the rows near the window into the page, and room for all others around them. */
function drawRows() {
	const { body, rows } = timeline;
	const calls = selected();
	const height = rowHeight();
	const above = -body.getBoundingClientRect().top;
	const first = Math.max(0, Math.min(Math.floor(above / height) - OVERSCAN, calls.length - 1));
	const last = Math.min(calls.length, Math.max(first, Math.ceil((above + innerHeight) / height) + OVERSCAN));
	const wanted = new Map(calls.slice(first, last).map((call, at) => [call.id, first + at]));
	for (const [id, row] of rows) {
		if (wanted.has(id)) continue;
		row.remove();
		rows.delete(id);
	}
	let next = body.firstChild;
	for (const [id, at] of wanted) {
		const row = rows.get(id) ?? makeRow(calls[at]);
		rows.set(id, row);
		if (row === next) next = row.nextSibling;
		else body.insertBefore(row, next);
		refreshRow(row, calls[at], at);
	}
	Object.assign(body.style, { paddingTop: `${first * height}px`, paddingBottom: `${(calls.length - last) * height}px` });
}

const cell = (kind, ...children) => h('span', { role: 'cell', class: kind }, children);

const processOf = (name) => known.processes.find((it) => it.process === name);
const processName = (it) => (it ? `${it.client ?? it.surface} ${it.pid ?? it.process}` : 'unknown');

function makeRow(call) {
	const { ui } = call;
	const by = processName(processOf(call.process));
	const thread = ui.from && h('a.thread', { href: callAddress(ui.from), tabindex: '-1', title: `Its path was in the answer of call ${ui.from.sequence}: ${ui.from.tool} ${ui.from.ui.question}` }, `← from call ${ui.from.sequence}`);
	const about = h('a.open.mono', { href: callAddress(call), tabindex: '-1', title: ui.question }, clip(ui.question) || '(nothing)');
	const row = h('div', { role: 'row', class: `call${ui.fresh ? ' new' : ''}`, 'data-id': call.id },
		cell('n soft right', String(call.sequence)),
		h('span', { role: 'cell', class: 'time soft', title: call.began }, clock(call.began_us)),
		cell('who soft', h('span', { title: by }, by)),
		cell('tool', call.tool), cell('what', about), cell('came', allChips(call), thread),
		h('span', { role: 'cell', class: 'size right', title: `${count(call.bytes)} bytes ≈ ${tokens(call.bytes)} tokens, an estimate` }, bytes(call.bytes)),
		cell('took right', duration(call.elapsed_us)), h('span', { role: 'cell', class: 'lane' }));
	ui.fresh = false;
	return row;
}

function refreshRow(row, call, at) {
	const { axis, span, together } = call.ui;
	row.setAttribute('aria-rowindex', at + 2);
	row.querySelector('.open').tabIndex = at === timeline.at ? 0 : -1;
	const drawn = `${axis} ${span} ${together}`;
	if (row.dataset.drawn === drawn) return;
	row.dataset.drawn = drawn;
	const lane = row.lastChild;
	const share = (us) => `${Math.min(99, (100 * us) / span).toFixed(2)}%`;
	lane.classList.toggle('alone', !together);
	lane.title = `${duration(call.elapsed_us)}, from ${duration(call.began_us - axis)} on of ${duration(span)}`;
	fill(lane, h('i', { style: { left: share(call.began_us - axis), width: share(call.elapsed_us) } }),
		together ? h('span', `∥ ${together}`, h('span.unseen', ' at the same time')) : h('span.unseen', 'alone'));
}

const isChord = (event) => event.ctrlKey || event.altKey || event.metaKey;
const MOVES = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };

function rowKeys(event) {
	const move = MOVES[event.key];
	if (move === undefined || isChord(event)) return;
	event.preventDefault();
	focusRow(Math.max(0, Math.min(selected().length - 1, timeline.at + move)));
}

function focusRow(at) {
	timeline.at = at;
	const height = rowHeight();
	const top = timeline.body.getBoundingClientRect().top + at * height;
	const under = page.views.getBoundingClientRect().bottom;
	if (top < under + 4) scrollBy(0, top - Math.max(under, 0) - 4);
	else if (top + height > innerHeight - 8) scrollBy(0, top + height - innerHeight + 8);
	drawRows();
	timeline.rows.get(selected()[at]?.id)?.querySelector('.open').focus({ preventScroll: true });
}

const atEnd = () => innerHeight + scrollY >= document.documentElement.scrollHeight - 60;
const toEnd = () => scrollTo(0, document.documentElement.scrollHeight);

/** New calls stand below what is looked at: only who was at the end is moved along. */
function arrived(fresh) {
	const shown = fresh.filter(passes);
	if (!shown.length) return;
	announce(shown.length);
	if (route.view !== 'timeline') return;
	if (timeline.follow) toEnd();
	else timeline.newer += shown.length;
	showNewer();
}

function showNewer() {
	const it = page.newer;
	it.hidden = route.view !== 'timeline' || !timeline.newer;
	it.textContent = `↓ ${plural(timeline.newer, 'new call')}`;
}

let unsaid = 0;
/** A busy agent must not talk without end: counts are said together. */
function announce(number) {
	unsaid += number;
	clearTimeout(announce.timer);
	announce.timer = setTimeout(() => {
		say(`${plural(unsaid, 'new call')}, ${count(selected().length)} in all`);
		unsaid = 0;
	}, 1000);
}

function scrolled() {
	if (route.view !== 'timeline' || !timeline.body) return;
	timeline.follow = atEnd();
	if (timeline.follow && timeline.newer) {
		timeline.newer = 0;
		showNewer();
	}
	drawRows();
}

// ---- Call

function showCall(view, id) {
	const call = known.byId.get(id);
	const back = h('a', { href: '#timeline' }, '← Timeline');
	if (!call) {
		return fill(view, heading('Call', back), known.loaded ? note('This call is not known here: its process has forgotten it.', 'bad') : soft('Asking the server…'));
	}
	const calls = selected();
	const at = calls.indexOf(call);
	const beside = (other, text) => other && h('a', { href: callAddress(other) }, text);
	fill(view, heading(`Call ${call.sequence}: ${call.tool}`, h('span.soft', allChips(call)), back,
		at >= 0 && beside(calls[at - 1], '[ before'), at >= 0 && beside(calls[at + 1], 'after ]')),
	call.error && note(call.error, call.status === 'error' ? 'bad' : ''),
	h('div.columns',
		section('What happened', facts(callFacts(call))),
		section('From the files of the root to lines shown', funnel(call)),
		h('section.wide', h('h2', 'What was asked'), call.arguments_cut && note('The arguments were too long to be kept whole: neither is complete.'),
			copied('Arguments', json(call.arguments, 2)), copied('The same as a command', command(call))),
		h('section.wide', h('h2', 'What was shown'), shownFiles(call)),
		h('section.wide', textAgain(call))));
}

function callFacts(call) {
	const { again, nearly, from, readers } = call.ui;
	const process = processOf(call.process);
	return [
		['Began', h('span', { title: call.began }, `${day(call.began_us)} ${clock(call.began_us)}`)],
		['Took', duration(call.elapsed_us)],
		['Answer', `${bytes(call.bytes)} ≈ ${tokens(call.bytes)} tokens (an estimate: bytes / ${BYTES_PER_TOKEN})`],
		['Asked by', `${processName(processOf(call.process))}, ${call.surface}${process?.version ? `, Forage ${process.version}` : ''}`],
		['Roots', mono(call.roots.join('  '))],
		again && ['Repeats', callLink(again), ', the same question'],
		nearly && ['Repeats', callLink(nearly), ', nearly the same question'],
		from && ['Thread', '← from ', callLink(from), soft(', whose answer has this path')],
		readers.length && ['Read after it', h('span.links', readers.map((it) => callLink(it, `→ call ${it.sequence}: ${clip(it.ui.question, 80)}`)))],
		...call.models.map((it) => ['Model', told(it, 'Model')]),
		call.trace && ['Trace', mono(`${call.trace.trace_id} / ${call.trace.parent_id}`)],
	].filter(Boolean);
}

const STEPS = { visited: 'files of the root', by_glob: 'that fit the glob', by_index: 'left by the index', searched: 'whose text was searched', matched: 'with what was asked for', shown: 'shown' };

function funnel(call) {
	const most = Math.max(1, ...call.funnel.map((it) => it.files));
	const rows = call.funnel.map((it, at) => {
		const lost = at ? call.funnel[at - 1].files - it.files : 0;
		return [STEPS[it.step] ?? it.step, count(it.files), lost > 0 ? `−${count(lost)}` : '', meter(it.files, most)];
	});
	const left = leftOut(call);
	return [
		rows.length ? table('Files at each step', ['Step', '#Files', '#Fewer', 'Share'], rows) : hint('It searched no files.'),
		h('h3', 'Left out'),
		left.length ? h('ul', left.map((it) => h('li', it))) : hint('Nothing that it knows of.'),
	];
}

/** What an answer has left out, and by which rule. */
function leftOut(call) {
	const cut = LIMITS[call.truncated_by];
	return [
		...Object.entries(call.skipped).map(([reason, number]) => `${count(number)} ${spoken(reason)}${SKIPPED[reason] ? `: ${SKIPPED[reason]}` : ''}`),
		call.not_entered.length && ['not entered: ', mono(call.not_entered.join(', '))],
		...call.hidden_matches.map((it) => ['matches that a rule hides: ', it]),
		call.truncated_by && `${call.truncated_by}: ${cut?.[1] ?? 'a limit cut the answer.'}`,
		call.text_cut && `text_cut: the text shows less than was found, in ${bytes(call.bytes)}`,
		call.has_more && 'a cursor leads on',
		call.redacted && `${plural(call.redacted, 'secret')} taken out of the text`,
		call.depends_on_session && 'lines that an earlier answer had shown',
	].filter(Boolean);
}

const ranges = (file) => file.ranges.map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`)).join(', ');

function shownFiles(call) {
	if (!call.shown.length) return hint('No file.');
	const several = call.roots.length > 1;
	const row = (file) => [
		h('a.mono', { href: mapAddress(file.path), onclick: () => { map.root = call.roots[file.root]; } }, file.path),
		file.kind, mono(ranges(file)), file.matches ? count(file.matches) : '', several ? mono(call.roots[file.root]) : null];
	const columns = ['File', 'What', 'Lines', '#Matches', ...(several ? ['Root'] : [])];
	return table('Files that were shown', columns, call.shown.map((file) => row(file).slice(0, columns.length)));
}

/** Puts what a question brings into a place, or why there is no answer. */
async function put(place, waiting, bring) {
	fill(place, soft(waiting));
	try {
		fill(place, await bring());
	} catch (error) {
		fill(place, note(sentence(error), 'bad'));
	}
}

function textAgain(call) {
	const place = h('div', { 'aria-live': 'polite' });
	const bring = async () => {
		const made = await ask('text', { id: call.id });
		return [note(likeness(made), { true: 'good', false: 'bad' }[made.same] ?? ''), lines(made.text, { class: 'tall', role: 'region', 'aria-label': 'Text of the answer' })];
	};
	const act = button('Make the text again', () => put(place, 'Making it…', bring), { id: 'again' });
	return [h('h2', 'The text', act), hint('No text is kept: it is made anew from the files as they are now.'), place];
}

const likeness = ({ bytes: size, same, note: said }) => `${bytes(size)}. ${{ true: 'The same bytes as then.', false: 'Not the same as then: the tree or the settings have changed since.' }[same]
	?? "Whether it is the same as then can't be told."} ${said ?? ''}`;

// ---- Map: the tree

const SHADES = [
	{ name: 'read', title: 'read', says: 'lines that read_file has shown' },
	{ name: 'shown', title: 'shown', says: 'lines that stood in an answer of a search' },
	{ name: 'named', title: 'named', says: 'other lines of files whose path stood in an answer' },
	{ name: 'never', title: 'never touched', says: 'lines of files that no answer named' },
	{ name: 'closed', title: 'not searchable', says: 'no search reads them and nobody counts their lines, so they are drawn at a token size' },
];
const [READ, SHOWN, NAMED, NEVER, CLOSED] = [0, 1, 2, 3, 4];
const map = { root: null, trees: new Map(), tree: null, node: null, base: null, at: 0 };

const mapAddress = (path) => `#map${path ? `=${encodeURIComponent(path)}` : ''}`;

function newNode(name, parent) {
	const path = parent?.path ? `${parent.path}/${name}` : name;
	return { name, path, parent, children: null, sorted: null, lines: 0, weight: 0, files: 0, closed: 0, reason: null, seen: [0, 0, 0] };
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

/** Forage quotes a path that is no plain text; its directories are those of the path within. */
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
		// A directory of which a part is searched after all keeps its files.
		if (!node.children && !node.files) Object.assign(node, { reason, closed: 1, isDirectory: directory });
	}
	sumUp(root);
	return { root, reply, files, touched: new Map(), gone: new Set() };
}

function sumUp(node) {
	if (!node.children) return;
	const shut = [];
	for (const child of node.children.values()) {
		sumUp(child);
		if (child.reason) shut.push(child);
		node.lines += child.lines;
		node.files += child.files;
		node.closed += child.closed;
		node.weight += child.weight;
	}
	// Together at most a sixteenth of the directory: their true size is not known.
	for (const child of shut) {
		child.weight = Math.max(0.5, node.weight / 16 / shut.length);
	}
	node.weight += sumOf(shut, (it) => it.weight);
	node.sorted = [...node.children.values()].sort((one, other) => other.weight - one.weight);
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

/** Returns the ranges of lines that marks are over, sorted and apart. */
function merged(marks) {
	const made = [];
	for (const { from, to } of [...marks].sort((one, other) => one.from - other.from)) {
		const last = made.at(-1);
		if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to);
		else made.push([from, to]);
	}
	return made;
}

const total = (list) => sumOf(list, ([from, to]) => to - from + 1);

/** Counts each line of the tree once, by the strongest that the selected calls did with it. */
function shade() {
	const { tree } = map;
	if (tree.calls === selected()) return;
	tree.calls = selected();
	for (const { node } of tree.touched.values()) {
		for (let up = node; up; up = up.parent) up.seen.fill(0);
	}
	tree.touched.clear();
	tree.gone.clear();
	for (const call of selected()) {
		for (const file of call.shown) if (call.roots[file.root] === map.root) touch(tree, call, file);
	}
	tree.touched.forEach(countLines);
}

function touch(tree, call, file) {
	let it = tree.touched.get(file.path);
	if (!it) {
		const node = tree.files.get(file.path);
		if (!node) return tree.gone.add(file.path);
		tree.touched.set(file.path, it = { node, calls: [], marks: [] });
	}
	if (it.calls.at(-1) !== call) it.calls.push(call);
	const shade = { read: READ, lines: SHOWN }[file.kind];
	if (shade === undefined) return;
	for (const [from, to] of file.ranges) it.marks.push({ from: Math.max(1, from), to: Math.min(to, it.node.lines), shade, call });
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

function callsBelow(node) {
	const found = new Set();
	const below = node.path ? `${node.path}/` : '';
	for (const [path, it] of map.tree.touched) {
		if (path === node.path || (node.children && bare(path).startsWith(below))) it.calls.forEach((call) => found.add(call));
	}
	return [...found].sort((one, other) => one.began_us - other.began_us);
}

// ---- Map: drawing

/** Lays out items, the heaviest first (Bruls, Huizing, van Wijk: Squarified Treemaps). */
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

/** The end of the next row, which grows for as long as its cells get squarer, and its weight. */
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

function palette(context) {
	const style = getComputedStyle(document.documentElement);
	const colour = (name) => style.getPropertyValue(`--${name}`).trim();
	const tile = (size, base, ink, ...dots) => {
		const canvas = new OffscreenCanvas(size, size);
		const it = canvas.getContext('2d');
		it.fillStyle = colour(base);
		it.fillRect(0, 0, size, size);
		it.fillStyle = colour(ink);
		for (const [x, y] of dots) it.fillRect(x, y, 1, 1);
		return context.createPattern(canvas, 'repeat');
	};
	const slope = (size) => Array.from({ length: size }, (_, at) => [at, size - 1 - at]);
	const fills = [colour('read'), tile(5, 'shown', 'paper', ...slope(5)), tile(4, 'named', 'ink', [1, 1]), colour('never'),
		tile(8, 'paper', 'closed', ...slope(8), ...slope(8).map(([x, y]) => [x, 7 - y]))];
	return { fills, paper: colour('paper'), ink: colour('ink'), line: colour('line'), raised: colour('raised') };
}

/** Draws what no call changes once, and over it what calls have touched. */
function drawMap() {
	const canvas = byId('plan');
	if (!canvas) return;
	const width = canvas.clientWidth;
	const height = Math.round(Math.max(260, Math.min(width * 0.62, innerHeight - 250)));
	const scale = devicePixelRatio || 1;
	const [wide, high] = [Math.round(width * scale), Math.round(height * scale)];
	if (canvas.width !== wide || canvas.height !== high) Object.assign(canvas, { width: wide, height: high });
	canvas.style.height = `${height}px`;
	const context = canvas.getContext('2d', { alpha: false });
	const colours = palette(context);
	const key = [map.root, map.node.path, wide, high, colours.paper, colours.ink].join();
	if (map.base?.key !== key || map.base.node !== map.node) map.base = drawBase(key, width, height, scale);
	context.setTransform(1, 0, 0, 1, 0, 0);
	context.drawImage(map.base.canvas, 0, 0);
	context.scale(scale, scale);
	for (const { node, cell } of touchedLeaves(map.base.leaves)) drawLeaf({ context, colours }, node, cell);
	pick(Math.min(map.at, map.base.cells.length - 1), false);
}

/** The cells of touched files, or of what was too small to be divided. */
function touchedLeaves(leaves) {
	const found = new Set();
	for (let { node } of map.tree.touched.values()) {
		while (node && !leaves.has(node)) node = node.parent;
		if (node) found.add(leaves.get(node));
	}
	return found;
}

function drawBase(key, width, height, scale) {
	const canvas = new OffscreenCanvas(Math.round(width * scale), Math.round(height * scale));
	const context = canvas.getContext('2d', { alpha: false });
	context.scale(scale, scale);
	const painter = { context, colours: palette(context), isBase: true, cells: [], drawn: [], leaves: new Map() };
	context.fillStyle = painter.colours.paper;
	context.fillRect(0, 0, width, height);
	drawNode(painter, map.node, { x: 0, y: 0, w: width, h: height }, 0);
	return { ...painter, key, node: map.node, canvas };
}

function drawNode(painter, node, cell, depth) {
	const found = { node, cell };
	if (depth === 1) painter.cells.push(found);
	painter.drawn.push(found);
	const isSmall = cell.w < 6 || cell.h < 6 || cell.w * cell.h < 60;
	if (Array.isArray(node) || isSmall || !node.children) {
		for (const it of [node].flat()) painter.leaves.set(it, found);
		return drawLeaf(painter, node, cell);
	}
	const inner = depth ? frame(painter, node, cell) : cell;
	squarify(node.sorted, inner, (child, rectangle) => drawNode(painter, child, rectangle, depth + 1));
}

/** Draws a directory's edge and name; returns what is left for what it holds. */
function frame({ context, colours }, node, { x, y, w, h: height }) {
	const top = w > 46 && height > 34 ? 15 : 1;
	context.fillStyle = colours.raised;
	context.fillRect(x, y, w, height);
	context.strokeStyle = colours.line;
	context.strokeRect(x + 0.5, y + 0.5, w - 1, height - 1);
	if (top > 1) label(context, colours.ink, nameOf(node), x + 4, y + 11, w - 8);
	return { x: x + 1, y: y + top, w: w - 2, h: height - top - 1 };
}

function label(context, ink, name, x, y, width, paper) {
	context.font = '11px system-ui, sans-serif';
	const most = Math.floor(width / 6);
	const shown = visible(name);
	const text = shown.length > most ? `${shown.slice(0, most - 1)}…` : shown;
	if (paper) {
		// On a pattern no letter could be read.
		context.fillStyle = paper;
		context.fillRect(x - 2, y - 10, Math.min(width, text.length * 6) + 4, 13);
	}
	context.fillStyle = ink;
	context.fillText(text, x, y, width);
}

function drawLeaf({ context, colours, isBase }, node, { x, y, w, h: height }) {
	const gap = w > 8 && height > 8 ? 1 : 0;
	const cell = { x, y, w: Math.max(0.5, w - gap), h: Math.max(0.5, height - gap) };
	const paint = (shade, left, top, wide, high) => {
		context.fillStyle = colours.fills[shade];
		context.fillRect(left, top, wide, high);
	};
	if (isBase) {
		const isClosed = Array.isArray(node) ? node.every((it) => it.reason) : node.reason;
		paint(isClosed ? CLOSED : NEVER, x, y, cell.w, cell.h);
	} else {
		const it = map.tree.touched.get(node.path);
		it && cell.h >= 16 ? drawLines(paint, it, cell) : drawShares(paint, node, cell);
	}
	if (w > 52 && height > 17 && !Array.isArray(node)) label(context, colours.ink, nameOf(node), x + 4, y + 12, w - 8, colours.paper);
}

/** The lines of a file where they are in it, the first on top. */
function drawLines(paint, it, { x, y, w, h: height }) {
	const { lines } = it.node;
	paint(NAMED, x, y, w, height);
	const stripe = (shade) => ([from, to]) => paint(shade, x, y + (height * (from - 1)) / lines, w, Math.max(1, (height * (to - from + 1)) / lines));
	it.both.forEach(stripe(SHOWN));
	it.read.forEach(stripe(READ));
}

function drawShares(paint, node, { x, y, w, h: height }) {
	const several = Array.isArray(node) ? node : [node];
	const lines = sumOf(several, (it) => it.lines);
	let left = x;
	for (const shade of [READ, SHOWN, NAMED]) {
		const seen = sumOf(several, (it) => it.seen[shade]);
		const wide = lines ? (w * seen) / lines : 0;
		if (wide > 0) paint(shade, left, y, Math.max(wide, 0.7), height);
		left += wide;
	}
}

// ---- Map: the view

async function showMap(view, path) {
	const all = roots();
	if (!all.includes(map.root)) map.root = null;
	map.root = filters.root || map.root || selected().at(-1)?.roots[0] || all[0] || null;
	if (!map.root) return fill(view, heading('Map'), noCalls());
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
		// Its reader may have gone on.
		if (route !== wanted || map.root !== root) return;
	}
	map.tree = map.trees.get(root);
	shade();
	map.node = nodeAt(path);
	map.at = 0;
	if (!map.node) return fill(view, heading('Map', rootChoice()), crumbs(path), missing(path));
	drawMapView(view);
}

function missing(path) {
	const calls = selected().filter((call) => call.shown.some((file) => call.roots[file.root] === map.root && file.path === path));
	return [note(`${path} is not among the files that a search reads now: it is gone, or a rule leaves it out.`), touching(calls)];
}

function rootChoice() {
	const show = (root, isRead) => {
		map.root = root;
		if (isRead) map.trees.delete(root);
		go(isRead ? location.hash : '#map');
	};
	const option = (root) => h('option', { value: root, selected: root === map.root }, root);
	return [roots().length > 1 && !filters.root && h('label', 'Root ', h('select', { onchange: (event) => show(event.target.value) }, roots().map(option))),
		button('Read the tree again', () => show(map.root, true))];
}

function drawMapView(view) {
	const isFile = !map.node.children;
	fill(view, heading('Map', h('span.soft', { id: 'of' }), rootChoice()), crumbs(map.node.path), h('div', { id: 'legend' }), isFile ? h('div', { id: 'file' }) : directoryView(map.node));
	drawShades();
}

/** What is drawn again when other calls are selected. */
function drawShades() {
	const { node, tree: { reply, gone } } = map;
	byId('of').textContent = `of ${isFiltered() ? 'the' : 'all'} ${plural(selected().length, 'call')}${isFiltered() ? ' that the filters let through' : ''}`;
	fill(byId('legend'), legend(node),
		!reply.complete && note('There are more files than are shown here: the percentages are those of what is shown.'),
		reply.more_unsearched > 0 && note(`${plural(reply.more_unsearched, 'more entry', 'more entries')} that no search reads are not shown.`),
		gone.size > 0 && note(`${plural(gone.size, 'file')} of answers that are no longer in the tree, such as ${[...gone][0]}, are not shown.`));
	if (!node.children) return fill(byId('file'), fileView(node));
	fill(byId('entries'), entries(node, ENTRIES));
	fill(byId('touching'), touching(callsBelow(node)));
	drawMap();
}

function crumbs(path) {
	const names = path ? bare(path).split('/') : [];
	const address = (at) => mapAddress(names.slice(0, at).join('/'));
	const items = [map.root, ...names].map((name, at) => h('li', at === names.length ? h('span', { 'aria-current': 'page' }, name) : h('a', { href: address(at) }, name)));
	return h('nav', { 'aria-label': 'Where the map is' }, h('ol.crumbs', items));
}

const swatch = (shade) => h('span', { class: `swatch s-${SHADES[shade].name}`, ...UNHEARD });

function legend(node) {
	const numbers = counts(node);
	const item = (shade, at) => h('li', { title: shade.says, 'data-shade': shade.name }, swatch(at), `${shade.title} `,
		h('b', at === CLOSED ? plural(node.closed, 'entry', 'entries') : percent(numbers[at], node.lines)),
		at === CLOSED ? null : soft(` ${count(numbers[at])}`));
	return h('ul.legend', { 'aria-label': `Lines of ${node.path || 'the repository'}` }, SHADES.map(item),
		h('li', soft(`of ${plural(node.lines, 'line')} in ${plural(node.files, 'file')}`)));
}

function sharesText(node) {
	if (node.reason) return `not searchable: ${spoken(node.reason)}, ${SKIPPED[node.reason] ?? ''}`;
	const numbers = counts(node);
	const said = [READ, SHOWN, NAMED].filter((it) => numbers[it]).map((it) => `${SHADES[it].title} ${percent(numbers[it], node.lines)}`);
	return said.length ? said.join(', ') : 'never touched';
}

function shares(node) {
	const parts = node.reason ? [h('i.s-closed', { style: { width: '100%' } })] : [READ, SHOWN, NAMED].map((shade) =>
		node.seen[shade] > 0 && h('i', { class: `s-${SHADES[shade].name}`, style: { width: `${Math.max(1, (100 * node.seen[shade]) / node.lines)}%` } }));
	return h('span.shares', UNHEARD, parts);
}

const ENTRIES = 150;

function directoryView(node) {
	const under = h('div.under.soft', { id: 'under' });
	const plan = h('canvas', {
		id: 'plan', tabindex: '0', role: 'application', 'aria-describedby': 'map-keys',
		'aria-label': `Treemap of ${node.path || map.root}, by lines`, onkeydown: mapKeys, onclick: mapClick, onpointermove: hover, onpointerleave: () => pick(map.at, false), onfocus: () => pick(map.at, true),
	});
	return h('div.map',
		h('div', h('p.unseen', { id: 'map-keys' }, 'Arrow keys go to neighbours, Enter goes in, Escape out. The table has the same.'),
			h('div.plan', plan, h('div', { id: 'pick', class: 'pick', hidden: true })), under),
		h('div.side', section(node.path ? `${node.name}/` : 'The root', h('div', { id: 'entries' })),
			h('section', { id: 'touching' })));
}

function entries(node, most) {
	const list = [...node.sorted].sort((one, other) => seenMost(other) - seenMost(one) || other.weight - one.weight);
	const line = (it) => [
		it.reason ? mono(nameOf(it), { 'data-path': it.path }) : h('a.mono', { href: mapAddress(it.path), 'data-path': it.path }, nameOf(it)),
		it.reason ? '–' : count(it.lines), [shares(it), h('small.soft', sharesText(it))]];
	const more = list.length > most && button(`Show all ${count(list.length)}`, () => fill(byId('entries'), entries(node, Infinity)));
	return [table('Entries, those first of which most was seen', ['Name', '#Lines', 'Seen'], list.slice(0, most).map(line), 'scroll entries'), more];
}

const seenMost = (node) => (node.lines ? (4 * node.seen[READ] + 2 * node.seen[SHOWN] + node.seen[NAMED] / 1000) : 0);

function touching(calls) {
	const most = 40;
	const item = (call) => h('li', callLink(call), ` ${call.tool} `, mono(clip(call.ui.question, 60)));
	return [h('h2', `Touched by ${plural(calls.length, 'call')}`),
		calls.length ? h('ul', calls.slice(-most).map(item)) : hint('No selected call has shown or named it.'),
		calls.length > most && soft(`and ${count(calls.length - most)} earlier ones`)];
}

const cellAt = (cells, x, y) => cells.findLast(({ cell }) => x >= cell.x && x < cell.x + cell.w && y >= cell.y && y < cell.y + cell.h);

function describe(node) {
	if (Array.isArray(node)) return `${plural(node.length, 'small entry', 'small entries')} of ${node[0].parent.path || 'the root'}`;
	const size = node.reason ? '' : `${plural(node.lines, 'line')}${node.children ? ` in ${plural(node.files, 'file')}` : ''}, `;
	return `${node.path}${node.children ? '/' : ''}: ${size}${sharesText(node)}`;
}

/** Marks a cell; who has chosen it is told of it and of its calls. */
function pick(index, chosen) {
	const found = map.base?.cells[index];
	const frame = byId('pick');
	if (!found || !frame) return;
	map.at = index;
	const { node, cell } = found;
	frame.hidden = document.activeElement !== byId('plan');
	Object.assign(frame.style, { left: `${cell.x}px`, top: `${cell.y}px`, width: `${cell.w}px`, height: `${cell.h}px` });
	byId('under').textContent = visible(frame.hidden ? 'Point at a cell, or go to it by Tab and arrow keys.' : describe(node));
	if (!chosen) return;
	for (const it of document.querySelectorAll('.entries [data-path]')) it.closest('tr').classList.toggle('chosen', it.dataset.path === node.path);
	clearTimeout(pick.timer);
	// Moving through cells is faster than listing their calls.
	pick.timer = setTimeout(() => {
		say(describe(node));
		const place = byId('touching');
		if (place && !Array.isArray(node)) fill(place, soft(node.path), touching(callsBelow(node)));
	}, 120);
}

function hover(event) {
	const found = cellAt(map.base.drawn, event.offsetX, event.offsetY);
	if (found) byId('under').textContent = visible(describe(found.node));
}

function enter(node) {
	if (Array.isArray(node)) return byId('under').textContent = 'Too small to draw: the table has them.';
	if (node.reason) return say(describe(node));
	go(mapAddress(node.path));
}

function mapClick(event) {
	const { cells } = map.base;
	const found = cellAt(cells, event.offsetX, event.offsetY);
	if (!found) return;
	pick(cells.indexOf(found), true);
	enter(found.node);
}

const SIDES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function mapKeys(event) {
	if (isChord(event)) return;
	const side = SIDES[event.key];
	if (side) pick(neighbour(map.at, side), true);
	else if (event.key === 'Home') pick(0, true);
	else if (event.key === 'End') pick(map.base.cells.length - 1, true);
	else if (event.key === 'Enter' && map.base.cells.length) {
		map.keep = true;
		enter(map.base.cells[map.at].node);
	} else return;
	event.preventDefault();
}

/** The nearest cell on a side; the same where there is none. */
function neighbour(from, [dx, dy]) {
	const middle = ({ cell }) => [cell.x + cell.w / 2, cell.y + cell.h / 2];
	if (!map.base.cells.length) return from;
	const [x, y] = middle(map.base.cells[from]);
	let [best, least] = [from, Infinity];
	map.base.cells.forEach((it, index) => {
		const [ox, oy] = middle(it);
		const ahead = dx ? (ox - x) * dx : (oy - y) * dy;
		const aside = dx ? Math.abs(oy - y) : Math.abs(ox - x);
		if (index === from || ahead <= 0.5) return;
		const far = ahead + 2 * aside;
		if (far < least) [best, least] = [index, far];
	});
	return best;
}

function out() {
	if (!map.node) return go('#map');
	if (!map.node.parent) return;
	map.keep = document.activeElement === byId('plan');
	const { path, parent } = map.node;
	map.back = path;
	go(mapAddress(parent.path));
}

// ---- Map: one file

/** The stretches of a file's lines, each with its shade and the calls that made it so. */
function stretches(node) {
	const it = map.tree.touched.get(node.path);
	const rest = it ? NAMED : NEVER;
	if (!node.lines) return [];
	const marks = (it?.marks ?? []).filter(({ from, to }) => from <= to);
	const edges = [...new Set([1, node.lines + 1, ...marks.flatMap(({ from, to }) => [from, to + 1])])].sort((one, other) => one - other);
	const made = [];
	for (let nth = 0; nth + 1 < edges.length; nth += 1) {
		const [from, to] = [edges[nth], edges[nth + 1] - 1];
		const over = marks.filter((mark) => mark.from <= from && mark.to >= to);
		const shade = Math.min(rest, ...over.map((mark) => mark.shade));
		const calls = [...new Set(over.map((mark) => mark.call))];
		const last = made.at(-1);
		if (last?.shade === shade && String(last.calls.map((call) => call.id)) === String(calls.map((call) => call.id))) last.to = to;
		else made.push({ from, to, shade, calls });
	}
	return made;
}

function fileView(node) {
	const parts = stretches(node);
	const text = h('div', { id: 'text' });
	const show = (from, to) => () => showLines(node, parts, text, from, to);
	const most = 60;
	const line = ({ from, to, shade, calls }) => [
		h('button', { type: 'button', class: 'text mono', onclick: show(Math.max(1, from - 3), Math.min(to + 3, from + LINES)) }, from === to ? `${from}` : `${from}–${to}`),
		[swatch(shade), SHADES[shade].title], count(to - from + 1), h('span.links', calls.slice(0, 12).map((call) => callLink(call)))];
	const strip = parts.map(({ from, to, shade }) => h('i', { class: `s-${SHADES[shade].name}`, style: { width: `${(100 * (to - from + 1)) / node.lines}%` } }));
	const first = parts.find((it) => it.shade < NAMED)?.from ?? 1;
	return [
		h('div.shares.strip', { role: 'img', 'aria-label': `The ${plural(node.lines, 'line')} of the file from left to right: ${sharesText(node)}` }, strip),
		h('div.map',
			section(['Lines', button('Show the text', show(Math.max(1, first - 20), first + LINES - 20), { id: 'show-text' })], text),
			h('div.side', section('Stretches', table('Stretches of lines', ['Lines', 'What became of them', '#Number', 'By'], parts.slice(0, most).map(line)),
				parts.length > most && soft(`and ${count(parts.length - most)} more`)), h('section', touching(map.tree.touched.get(node.path)?.calls ?? []))))];
}

const LINES = 400;

const showLines = (node, parts, place, from, to) => put(place, 'Reading…', async () => {
	const asked = JSON.stringify({ path: node.path, start_line: from, end_line: Math.max(from, to) });
	const records = await ask('tools/read_file', { arguments: asked, root: map.root });
	if (records.error && !records.lines?.length) throw new Refused(records.error);
	return [linesOf(records, parts), around(node, parts, place, records)];
});

function linesOf(records, parts) {
	const line = (text, nth) => {
		const number = records.start_line + nth;
		const { shade } = parts.find((it) => it.from <= number && it.to >= number) ?? { shade: NEVER };
		return h('div', h('i', { class: `s-${SHADES[shade].name}`, title: SHADES[shade].title, ...UNHEARD }), h('b', String(number)),
			h('code', document.createTextNode(visibleLines(text)), shade <= SHOWN && h('span.unseen', ` (${SHADES[shade].title})`)));
	};
	return h('div.lines', { tabindex: '0', role: 'region', 'aria-label': `Text of ${records.path}` }, records.lines.map(line));
}

function around(node, parts, place, { start_line: from, end_line: to }) {
	const show = (start, end) => () => showLines(node, parts, place, start, end);
	return h('p', from > 1 && button(`Lines before ${from}`, show(Math.max(1, from - LINES), from - 1)), ' ',
		to < node.lines && button(`Lines after ${to}`, show(to + 1, Math.min(node.lines, to + LINES))));
}

// ---- Ranking

const ranking = { query: '', expected: '', root: null, reply: null, error: null, asked: 0 };

function showRanking(view) {
	const all = roots();
	if (!all.includes(ranking.root)) ranking.root = filters.root || all[0] || null;
	ranking.query ||= selected().findLast((call) => call.tool === 'search_index')?.arguments?.query ?? '';
	const field = (name, label, kind, value) => h('label', { class: kind }, label, h('input', { type: 'text', name, value, spellcheck: 'false', autocomplete: 'off' }));
	const submit = (event) => {
		event.preventDefault();
		const given = new FormData(event.target);
		Object.assign(ranking, { query: given.get('query').trim(), expected: given.get('expected').trim(), root: given.get('root') ?? ranking.root });
		rank();
	};
	fill(view, heading('Ranking', soft('why a file is first, and another is not')),
		h('form.ask', { onsubmit: submit }, field('query', 'Query', 'grow', ranking.query), field('expected', 'Expected file (its path below the root)', 'some', ranking.expected),
			all.length > 1 && h('label', 'Root', h('select', { name: 'root' }, all.map((root) => h('option', { value: root, selected: root === ranking.root }, root)))),
			h('button', { id: 'rank' }, 'Rank')),
		h('section', { id: 'ranked', 'aria-live': 'polite' }));
	drawRanking();
}

async function rank() {
	if (!ranking.query) {
		Object.assign(ranking, { reply: null, error: null });
		return drawRanking();
	}
	const asked = ranking.asked += 1;
	byId('ranked')?.setAttribute('aria-busy', 'true');
	try {
		const reply = await ask('rank', { root: ranking.root, query: ranking.query, expected: ranking.expected });
		if (asked !== ranking.asked) return;
		Object.assign(ranking, { reply, error: null });
	} catch (error) {
		if (asked !== ranking.asked) return;
		ranking.error = sentence(error);
	}
	drawRanking();
}

const number = (value) => Number(value).toLocaleString('en', { maximumSignificantDigits: 3 });
const signed = ({ gives }) => (gives < 0 ? `−${Math.round(-100 * gives)} %` : number(gives));
const given = (reasons) => sumOf(reasons, (it) => Math.max(0, it.gives));

function drawRanking() {
	const place = byId('ranked');
	if (!place) return;
	place.removeAttribute('aria-busy');
	const { reply, error } = ranking;
	if (error) return fill(place, note(error, 'bad'));
	if (!reply) return fill(place, h('p.empty.soft', 'Write a query, as an agent would ask search_index, and perhaps the file that you expect.'));
	const { answer, expected } = reply;
	const files = answer.files ?? [];
	const most = Math.max(1e-9, ...files.map((it) => given(it.reasons ?? [])), given(expected?.reasons ?? []));
	const colours = coloursOf(files);
	const item = (file, at) => h('li', { class: expected?.path === file.path ? 'expected' : null }, h('b.right', `${at}.`),
		h('span', h('a.mono', { href: mapAddress(file.path), onclick: () => { map.root = ranking.root; } }, file.path), expected?.path === file.path && ' (expected)'),
		h('span.right', number(file.score)), h('div.rest', bar(file, most, colours)));
	const beyond = expected?.rank && expected.rank > files.length;
	fill(place, h('h2', `${plural(files.length, 'file')} of ${count(answer.matching_files ?? files.length)} that have something of it`),
		answer.error && note(answer.error, 'bad'), (answer.warnings ?? []).map((it) => note(it)), answer.weak && note('Even the best file has little of what is asked for.'),
		expected && expectedFile(expected),
		files.length ? h('ol.ranked', files.map((file, at) => item(file, at + 1)), beyond && item(expected, expected.rank)) : h('p', 'No file has anything of it.'), keep(reply.keep));
}

/** The rules that give most get colours of their own, all others the last. */
function coloursOf(files) {
	const sums = new Map();
	for (const { rule, gives } of files.flatMap((file) => file.reasons ?? [])) sums.set(rule, (sums.get(rule) ?? 0) + Math.max(0, gives));
	const strongest = [...sums].sort((one, other) => other[1] - one[1]).slice(0, 7);
	return new Map(strongest.map(([rule], at) => [rule, at]));
}

function bar(file, most, colours) {
	const reasons = file.reasons ?? [];
	const sum = given(reasons);
	const kind = (rule) => `c${colours.get(rule) ?? 7}`;
	const place = (rule) => colours.get(rule) ?? 7;
	const share = (value) => `${(100 * value) / most}%`;
	const positive = reasons.filter((it) => it.gives > 0).sort((one, other) => place(one.rule) - place(other.rule));
	const parts = positive.map((it) => h('i', { class: kind(it.rule), title: `${it.rule} ${signed(it)}: ${it.about ?? ''}`, style: { width: share(it.gives) } }));
	const off = reasons.some((it) => it.gives < 0) && sum > file.score && h('i.off', { title: 'taken off', style: { left: share(file.score), width: share(sum - file.score) } });
	const text = (it) => h('span', { class: it.gives < 0 ? 'off' : null, title: it.about }, it.gives > 0 && h('i', { class: `key ${kind(it.rule)}`, ...UNHEARD }), `${it.rule} ${signed(it)}`);
	const told = [...reasons].sort((one, other) => Math.abs(other.gives) - Math.abs(one.gives));
	const few = 6;
	return [h('div.stack', UNHEARD, parts, off), h('div.rules', told.slice(0, few).map(text)),
		told.length > few && h('details', h('summary.soft', `${told.length - few} more rules`), h('div.rules', told.slice(few).map(text)))];
}

function expectedFile({ path, rank: at, score, lacks, note: said }) {
	return h('p', { class: `note ${at ? 'good' : 'bad'}`, id: 'expected' }, mono(path), at ? ` is number ${at}, with a score of ${number(score)}.` : ` is not there. ${said ?? ''}`,
		at && said && ` ${said}`, lacks.length > 0 && [' It lacks ', lacks.map((rule, nth) => [nth > 0 && ', ', h('b', rule)]), '.']);
}

function keep(kept) {
	if (!kept) return hint('Name an expected file to get a line for a set of queries.');
	return [h('h2', 'To keep'), hint('This page saves nothing: copy the line into a file.'), copied('A query of a set for forage eval', kept)];
}

// ---- Cost

const cost = { known: new Map(), busy: false, error: null };

function showCost(view) {
	fill(view, heading('Cost', soft(isFiltered() ? 'of the calls that the filters let through' : 'of all calls that are known')), h('div', { id: 'costs' }));
	drawCost();
	askCost();
}

/** Asks for what is not known yet of the last calls, a batch at a time. */
async function askCost() {
	if (cost.busy) return;
	cost.busy = true;
	cost.error = null;
	try {
		for (;;) {
			const wanted = selected().slice(-COST_CALLS).filter((call) => !cost.known.has(call.id)).slice(0, COST_BATCH);
			if (!wanted.length || route.view !== 'cost') break;
			const reply = await ask('cost', { ids: wanted.map((call) => call.id).join(',') });
			// What is not told is not asked for again.
			for (const call of wanted) cost.known.set(call.id, { whole_bytes: null, grep_bytes: null });
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
	for (const call of calls) {
		const name = key(call);
		groups.has(name) ? groups.get(name).push(call) : groups.set(name, [call]);
	}
	return [...groups];
}


function drawCost() {
	const place = byId('costs');
	if (!place) return;
	const calls = selected();
	if (!calls.length) return fill(place, noCalls());
	const whole = sizeOf(calls);
	const plain = ([name, list]) => [name, count(list.length), bytes(sizeOf(list)), tokens(sizeOf(list)), duration(timeOf(list)), duration(timeOf(list) / list.length), meter(sizeOf(list), whole)];
	const columns = (first) => [first, '#Calls', '#Bytes', '#≈ Tokens', '#Time', '#Mean', 'Share of bytes'];
	const byBytes = ([, one], [, other]) => sizeOf(other) - sizeOf(one);
	const tools = grouped(calls, (call) => call.tool).sort(byBytes);
	const days = grouped(calls, (call) => day(call.began_us));
	fill(place, h('div.columns',
		section('By tool', table('Cost by tool', columns('Tool'), [...tools.map(plain), plain(['All', calls])])),
		section('By day', table('Cost by day', columns('Day'), days.map(plain))),
		h('section.wide', h('h2', 'Beside other ways to the same', cost.error && button('Ask again', askCost)), cost.error && note(cost.error, 'bad'), besides(tools, calls))),
	hint(`Tokens are an estimate: bytes / ${BYTES_PER_TOKEN}. Time is that of the calls, not of the model.`));
}

function besides(tools, calls) {
	const last = new Set(calls.slice(-COST_CALLS));
	const known = (list, name) => list.filter((call) => last.has(call) && (cost.known.get(call.id)?.[name] ?? null) !== null);
	const pair = (list, name) => {
		const compared = known(list, name);
		if (!compared.length) return ['–', '–', '–'];
		return [count(compared.length), bytes(sizeOf(compared)), bytes(sumOf(compared, (call) => cost.known.get(call.id)[name]))];
	};
	const rows = [...tools, ['All', calls]].map(([tool, list]) => [tool, ...pair(list, 'whole_bytes'), ...pair(list, 'grep_bytes')]);
	const missing = [...last].filter((call) => !cost.known.has(call.id)).length;
	return [
		h('ul.soft',
			h('li', h('b', 'Files whole'), ': bytes of the files of which something was shown, each read whole, as they are now.'),
			h('li', h('b', 'rg -C 10'), ': bytes of what a search with ten lines of context would print for the same patterns, over the tree as it is now.'),
			h('li', 'Each stands beside the answers to the same calls. What an agent would have done without Forage, nobody knows.')),
		missing > 0 && !cost.error && h('p', { role: 'status' }, `Counting: ${plural(missing, 'call')} to go…`),
		calls.length > COST_CALLS && note(`Counted for the last ${count(COST_CALLS)} calls.`),
		table('Bytes beside other ways', ['Tool', '#Calls that show files', '#Their answers', '#Files whole', '#Calls with a pattern', '#Their answers', '#rg -C 10'], rows)];
}

// ---- Health

const health = { record: null, error: null, busy: false };

function showHealth(view) {
	fill(view, heading('Health', soft('what forage doctor says'), button('Ask again', askHealth)), h('div', { id: 'state' }));
	health.record ? drawHealth() : askHealth();
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
	const place = byId('state');
	if (place) fill(place, section('Processes', told(known.processes.map(({ type, ...it }) => it), 'Processes')), error && note(error, 'bad'), busy && h('p', { role: 'status' }, 'Asking…'), record && diagnosis(record));
}

const NAMED_APART = new Set(['problems', 'warnings', 'usable', 'error', 'code']);

function diagnosis(record) {
	const absent = (it) => it?.state === 'absent';
	const part = (key) => {
		const value = record[key];
		const isWide = Array.isArray(value);
		return h('section', { class: isWide ? 'wide' : '' }, h('h2', key[0].toUpperCase() + spoken(key.slice(1))), told(isWide ? [...value].sort((one, other) => absent(one) - absent(other)) : value, key));
	};
	return [note(record.usable ? 'Forage works here.' : 'Something keeps Forage from working.', record.usable ? 'good' : 'bad'),
		record.error && note(record.error, 'bad'), record.problems.map((text) => note(text, 'bad')), record.warnings.map((text) => note(text)),
		h('div.columns', Object.keys(record).filter((key) => !NAMED_APART.has(key)).map(part))];
}

/** A value of whatever form: what doctor says tomorrow is shown, too. */
function told(value, title, key) {
	if (value === null || value === undefined || value === '') return '–';
	if (typeof value === 'boolean') return value ? 'yes' : 'no';
	if (typeof value === 'number') return key === 'bytes' ? bytes(value) : String(value);
	if (typeof value !== 'object') return value;
	if (!Array.isArray(value)) return Object.keys(value).length ? facts(Object.entries(value).map(([name, it]) => [spoken(name), told(it, `${title}: ${spoken(name)}`, name)])) : '–';
	if (!value.length) return 'none';
	if (typeof value[0] !== 'object') return value.some((it) => it.length > 30) ? h('ul', value.map((it) => h('li', it))) : value.join(', ');
	const keys = Object.keys(value[0]).filter((name) => value.some((it) => it[name] !== null));
	return table(title, keys.map(spoken), value.map((it) => keys.map((name) => told(it[name], title, name))));
}

// ---- The frame: header, filters, addresses, keys

let route = { view: 'timeline', argument: '' };
const VIEWS = { timeline: showTimeline, call: showCall, map: showMap, ranking: showRanking, cost: showCost, health: showHealth };

function parseRoute() {
	const [, view, argument] = /^#(\w+)(?:=(.*))?$/s.exec(location.hash) ?? [];
	let decoded = '';
	try {
		decoded = decodeURIComponent(argument ?? '');
	} catch {
		// Somebody cut the address: its view is shown.
	}
	return { view: view in VIEWS ? view : 'timeline', argument: decoded };
}

function go(hash) {
	if (location.hash === hash) routed();
	else location.hash = hash;
}

async function showView() {
	const { view, argument } = route;
	for (const link of page.views.children) {
		const current = link.hash === `#${view}` || (view === 'call' && link.hash === '#timeline');
		current ? link.setAttribute('aria-current', 'page') : link.removeAttribute('aria-current');
	}
	document.title = `${view[0].toUpperCase()}${view.slice(1)} · Forage`;
	showNewer();
	await VIEWS[view](page.view, argument);
}

async function routed() {
	const last = route;
	if (last.view === 'timeline') timeline.scroll = scrollY;
	route = parseRoute();
	const shown = route;
	await showView();
	if (route !== shown) return;
	if (route.view === 'timeline') return returned(last);
	if (route.view === 'map' && last.view === 'map' && map.keep) {
		map.keep = false;
		const back = (map.base?.cells ?? []).findIndex(({ node }) => node.path === map.back);
		(byId('plan') ?? byId('show-text'))?.focus({ preventScroll: true });
		return back >= 0 && pick(back, true);
	}
	scrollTo(0, 0);
	page.view.querySelector('h1')?.focus({ preventScroll: true });
}

/** The timeline as it was left, at the call that was looked at. */
function returned(last) {
	const at = last.view === 'call' ? selected().findIndex((call) => call.id === last.argument) : -1;
	if (at >= 0) focusRow(at);
	else page.view.querySelector('h1')?.focus({ preventScroll: true });
}

function options(select, all, pairs) {
	const given = select.value;
	const wanted = JSON.stringify(pairs);
	if (select.dataset.options === wanted) return;
	select.dataset.options = wanted;
	fill(select, h('option', { value: '' }, all), pairs.map(([value, text]) => h('option', { value, selected: value === given }, clip(text, 60))));
}

function drawFrame() {
	const calls = selected();
	options(page['by-process'], 'All processes', known.processes.map((it) => [it.process, `${processName(it)}${it.live ? '' : ' (ended)'}`]));
	options(page['by-root'], 'All roots', roots().map((root) => [root, root]));
	options(page['by-tool'], 'All tools', [...new Set(known.calls.map((call) => call.tool))].sort().map((tool) => [tool, tool]));
	page.clear.hidden = !isFiltered();
	const live = known.processes.filter((it) => it.live).length;
	const over = known.processes.length - live;
	const all = roots();
	page.where.textContent = visible(all.length > 2 ? `${all.slice(0, 2).join('  ')} and ${all.length - 2} more` : all.join('  '));
	const size = sizeOf(calls);
	const pairs = [['Processes', `${live} running, ${over} ended`], ['Clients', [...new Set(known.processes.map((it) => it.client).filter(Boolean))].join(', ') || 'unknown'],
		['Calls', isFiltered() ? `${count(calls.length)} of ${count(known.calls.length)}` : count(calls.length)],
		['Answers', `${bytes(size)} ≈ ${tokens(size)} tokens (estimate)`], ['Time', duration(timeOf(calls))]];
	const forgotten = sumOf(known.processes, (it) => it.forgotten);
	fill(page.totals, pairs.map(([name, value]) => h('div', h('dt', name), h('dd', value))));
	fill(page.notes, known.notes.map((text) => note(text)), forgotten > 0 && note(`${plural(forgotten, 'earlier call')} no longer kept: a process keeps its last ones, a journal all.`));
}

/** Draws again what has changed with calls or filters; what a reader is in stays. */
function refresh(isNews) {
	drawFrame();
	const { view } = route;
	if (view === 'timeline') updateTimeline();
	else if (view === 'cost') {
		drawCost();
		askCost();
	} else if (view === 'health') drawHealth();
	else if (view === 'call' && !isNews) showView();
	else if (view === 'map') refreshMap(isNews);
}

/** Soon after the last of several calls. */
function refreshMap(isNews) {
	clearTimeout(refreshMap.timer);
	const draw = () => {
		if (route.view !== 'map') return;
		const isOther = !map.tree || (filters.root && filters.root !== map.root);
		if (isOther || !byId('legend')) return showView();
		// The text of a file is being read.
		if (isNews && !map.node.children && byId('text').childElementCount) return;
		shade();
		drawShades();
	};
	if (isNews) refreshMap.timer = setTimeout(draw, 500);
	else draw();
}

function filtered() {
	for (const [name, id] of FILTERS) filters[name] = page[id].value;
	selectedCalls = null;
	timeline.newer = 0;
	timeline.at = 0;
	refresh(false);
	clearTimeout(filtered.timer);
	filtered.timer = setTimeout(() => say(plural(selected().length, 'call')), 600);
}

function clearFilters() {
	for (const [, id] of FILTERS) page[id].value = '';
	filtered();
	page['by-text'].focus();
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

const besideCall = (step) => () => {
	const calls = selected();
	const other = calls[calls.findIndex((call) => call.id === route.argument) + step];
	if (route.view === 'call' && other) go(callAddress(other));
};

const keyActs = {
	'/': () => page['by-text'].focus(), '?': () => page.keys.showModal(), '[': besideCall(-1), ']': besideCall(1),
	...Object.fromEntries(['timeline', 'map', 'ranking', 'cost', 'health'].map((view, at) => [at + 1, () => go(`#${view}`)])),
};

function escape(event) {
	if (event.target === page['by-text']) {
		if (page['by-text'].value) {
			page['by-text'].value = '';
			filtered();
		} else event.target.blur();
	} else if (isTyping(event.target)) return;
	else if (route.view === 'map') out();
	else if (route.view === 'call') go('#timeline');
}

// ---- Live

const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

function linkState(text, kind = '') {
	Object.assign(page.link, { className: `link ${kind}` });
	if (page.link.textContent !== text) page.link.textContent = text;
}

function news(reply, isFirst) {
	const fresh = take(reply);
	if (isFirst) timeline.follow = known.processes.some((it) => it.live);
	else for (const call of fresh) call.ui.fresh = true;
	const live = known.processes.filter((it) => it.live).length;
	linkState(live ? 'live' : known.processes.length ? 'nothing runs' : 'waiting for calls', live ? 'live' : '');
	if (isFirst) {
		drawFrame();
		showView();
	} else {
		refresh(true);
		arrived(fresh);
	}
}

/** Asks for news as long as the page is open; a server that is gone, less and less often. */
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
	const text = error.status === 401 ? 'this address has not the token of the server: use the address that it printed last' : `${sentence(error)}: is forage ui still running?`;
	linkState(`${text} Asked again in ${wait} s.`, 'gone');
	if (!known.loaded) fill(page.view, note(`${text[0].toUpperCase()}${text.slice(1)}`, 'bad'));
	await pause(1000 * wait);
}

function start() {
	history.scrollRestoration = 'manual';
	addEventListener('hashchange', routed);
	addEventListener('keydown', keyed);
	addEventListener('scroll', scrolled, { passive: true });
	const redraw = () => route.view === 'map' && map.node?.children && drawMap();
	addEventListener('resize', () => requestAnimationFrame(() => {
		scrolled();
		redraw();
	}));
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
	for (const [, id] of FILTERS) page[id].addEventListener('input', filtered);
	page.clear.addEventListener('click', clearFilters);
	page.help.addEventListener('click', () => page.keys.showModal());
	page.newer.addEventListener('click', () => {
		timeline.newer = 0;
		toEnd();
		focusRow(selected().length - 1);
		showNewer();
	});
	page.skip.addEventListener('click', (event) => {
		event.preventDefault();
		page.main.focus();
	});
	route = parseRoute();
	showView();
	listen();
}

start();
