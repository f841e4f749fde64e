// The page: the editor on the left, views of the instruction at the cursor on the right.

import type { ChangeDesc } from '@codemirror/state';
import { Editor, type Found, oneAtATime, reason } from './editor';
import { EXAMPLES } from './examples';
import { Findings } from './findings';
import { type LanguageName, LONGEST, otherLanguage, read, START, type State, written } from './link';
import { type Context, Panels } from './panels';
import { Vptx } from './vptx';

const find = <T extends HTMLElement>(id: string) => document.querySelector<T>(`#${id}`)!;

const status = find('status');

/** Shows a message until the next edit or example; one with a button stays until that is used. */
function say(text: string, ...more: HTMLElement[]): void {
    if (more.length > 0 || !status.querySelector('button')) {
        status.replaceChildren(text, ...more);
    }
}

/** Shows a message with a button. */
function offer(text: string, title: string, action: () => void): void {
    const button = Object.assign(document.createElement('button'), { type: 'button', textContent: title });
    button.addEventListener('click', () => {
        status.replaceChildren();
        action();
    });
    say(`${text} `, button);
}

const state: State = { ...START };
const vptx: Vptx = new Vptx(
    (why, isLost) => offer(`A part of the page could not be loaded (${why}).`, 'Retry', () => {
        if (isLost) {
            vptx.restart();
            editor.reconnect(vptx);
        }
        soon();
    }),
    (why) => offer(why, 'Load the page again', () => window.location.reload()),
);
/** The first answer names the version of vptx. */
function version(message: string): void {
    const own = JSON.parse(message).result?.serverInfo?.version;
    if (own) {
        find('version').textContent = own;
        vptx.unsubscribe(version);
    }
}
vptx.subscribe(version);

/** The instruction that the views show. */
let found: Found | undefined;

const editor: Editor = new Editor(find('editor'), vptx, {
    changed,
    found: (all) => {
        findings.show(all);
        document.body.dataset.findings = String(all.length);
    },
    checking: () => findings.say('Checking…'),
    unchecked: (why) => findings.say(`Not checked: ${why}`),
    toFindings: () => findings.focus(),
    format: () => find('format').click(),
    say,
});
const findings = new Findings(() => editor, (code) => run(() => about(code)));

const context: Context = {
    vptx,
    state,
    instruction: '',
    changed: () => {
        void panels.show();
        remember();
    },
    replacement: async () => found && editor.replacement(found),
    replace: () => run(async () => {
        if (!found || !await editor.replace(found)) {
            say('The text has changed.');
        }
    }),
    cursor: () => new TextEncoder().encode(editor.text.slice(0, editor.view.state.selection.main.head)).length,
};
const panels = new Panels(context);

/** Puts the text and the line of the cursor into the state; runs after a pause, not at each key. */
function take(): void {
    state.text = editor.text;
    state.line = editor.line;
}

function changed(changes: ChangeDesc): void {
    if (!changes.empty) {
        found &&= editor.kept(found, changes);
        say('');
    }
    soon();
}

let due = 0;
/** Shows the instruction at the cursor after a short pause without keys. */
function soon(): void {
    window.clearTimeout(due);
    due = window.setTimeout(() => {
        take();
        findings.follow();
        void look();
        remember();
        hint();
    }, 40);
}

/** Finds the instruction at the cursor and shows it; where there is none, the last one stays if it
 * is still in the text. */
const look = oneAtATime(async () => {
    const { doc } = editor.view.state;
    try {
        const isSame = () => editor.view.state.doc === doc;
        let here = await editor.instruction(false) ?? found;
        if (!here && isSame()) {
            here = await editor.instruction(true);
        }
        if (!isSame()) {
            // This runs again for the new text.
            return;
        }
        found = here;
    } catch (error) {
        say(`The instruction at the cursor is not known: ${reason(error)}`);
        return;
    }
    context.instruction = found?.text ?? '';
    const heading = find('instruction');
    heading.textContent = context.instruction;
    heading.hidden = !found;
    await panels.show();
    if (!document.body.dataset.ready) {
        document.body.dataset.ready = 'yes';
        performance.mark('ready');
    }
});

let saved = '';
let saving = 0;
let isTooLong = false;
/** Keeps the state in the address, or none. */
function remember(): void {
    window.clearTimeout(saving);
    saving = window.setTimeout(async () => {
        const wasTooLong = isTooLong;
        isTooLong = state.text.length > LONGEST;
        saved = isTooLong ? '' : `#${await written(state)}`;
        window.history.replaceState(null, '', saved || window.location.pathname + window.location.search);
        if (isTooLong && !wasTooLong) {
            say('The text is too long for the address of the page, which no longer keeps it.');
        }
    }, 300);
}

/** Offers to read the text in the language that it plainly is in. */
function hint(): void {
    const other = otherLanguage(state);
    find('other').hidden = !other;
    if (other) {
        find('switch').textContent = `Read it as ${find('language').querySelector(`[value=${other}]`)!.textContent}`;
    }
}

async function open(next: State): Promise<void> {
    say('');
    delete document.body.dataset.ready;
    if (await editor.open(next.text, next.language, next.line)) {
        Object.assign(state, next);
        find<HTMLSelectElement>('language').value = state.language;
        found = undefined;
        soon();
    }
}

function example(at: number): State {
    const { name: _, ...own } = EXAMPLES[at];
    return { ...START, values: [...START.values], ...own };
}

async function about(code: string): Promise<void> {
    const dialog = document.createElement('dialog');
    dialog.setAttribute('aria-label', `About ${code}`);
    const page = document.createElement('div');
    page.innerHTML = editor.html(await vptx.explain(code, state.target));
    const close = Object.assign(document.createElement('button'), { textContent: 'Close', autofocus: true });
    close.addEventListener('click', () => dialog.close());
    dialog.addEventListener('close', () => dialog.remove());
    dialog.append(page, close);
    document.body.append(dialog);
    dialog.showModal();
    // The button that has the focus stands at the end.
    dialog.scrollTop = 0;
}

/** Does what a button is for, or says why that failed. */
async function run(action: () => Promise<void>): Promise<void> {
    await action().catch((error) => say(`This failed: ${reason(error)}`));
}

const examples = find<HTMLSelectElement>('example');
examples.append(new Option('Choose…', ''), ...EXAMPLES.map(({ name }, at) => new Option(name, String(at))));
examples.addEventListener('change', () => {
    if (examples.value) {
        void run(() => leave(example(Number(examples.value))));
    }
});
/** Opens a state. The button Back of the browser leads to the text before. */
async function leave(next: State): Promise<void> {
    examples.value = '';
    delete document.body.dataset.ready;
    take();
    const before = state.text.length > LONGEST ? '' : `#${await written(state)}`;
    saved = `#${await written(next)}`;
    window.clearTimeout(due);
    window.clearTimeout(saving);
    if (before) {
        window.history.replaceState(null, '', before);
    }
    window.history.pushState(null, '', saved);
    await open(next);
    if (!before) {
        say('The text before was too long to be kept.');
    }
}
function reread(language: LanguageName): void {
    take();
    void open({ ...state, language });
}

find<HTMLSelectElement>('language').addEventListener('change', ({ target }) => {
    reread((target as HTMLSelectElement).value as LanguageName);
});
find('switch').addEventListener('click', () => reread(otherLanguage(state) ?? state.language));
find('format').addEventListener('click', () => run(async () => {
    if (state.language !== 'ptx') {
        say('Only PTX is formatted.');
    } else if (!await editor.format()) {
        say('The text is not formatted because it has a syntax error: see its findings.');
    }
}));
find('fix').addEventListener('click', () => run(async () => {
    if (!await editor.fixAll()) {
        say('No finding has a safe fix.');
    }
}));
find('share').addEventListener('click', async () => {
    take();
    if (state.text.length > LONGEST) {
        say('The text is too long for a link.');
        return;
    }
    const link = new URL(`#${await written(state)}`, window.location.href);
    window.history.replaceState(null, '', link);
    try {
        await navigator.clipboard.writeText(link.href);
        say('The link to this page as it is was copied.');
    } catch {
        const field = Object.assign(document.createElement('input'), { value: link.href, readOnly: true, ariaLabel: 'Link' });
        say('The browser does not let the page copy. This is the link: ', field);
        field.select();
    }
});

async function start(): Promise<void> {
    try {
        await open(await read(window.location.hash.slice(1)) ?? example(0));
    } catch (error) {
        await open(example(0));
        say(reason(error));
    }
}
window.addEventListener('hashchange', () => {
    if (window.location.hash !== saved) {
        void start();
    }
});
void start();
