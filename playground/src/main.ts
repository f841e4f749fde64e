// The page: the editor on the left, views of the instruction at the cursor on the right.

import { Editor, type Found } from './editor';
import { EXAMPLES } from './examples';
import { Findings } from './findings';
import { type LanguageName, LONGEST, read, START, type State, written } from './link';
import { type Context, Panels } from './panels';
import { Vptx } from './vptx';

const find = <T extends HTMLElement>(id: string) => document.querySelector<T>(`#${id}`)!;

const status = find('status');
const say = (text: string) => {
    status.textContent = text;
};

const state: State = { ...START };
const vptx = new Vptx((why) => say(`vptx stopped at this text, which is a bug: ${why}. Load the page again.`));
let found: Found | undefined;

const editor: Editor = new Editor(find('editor'), vptx, {
    changed: soon,
    found: (all) => {
        findings.show(all);
        document.body.dataset.findings = String(all.length);
    },
    toFindings: () => findings.focus(),
});
const findings = new Findings(() => editor, about);

const context: Context = {
    vptx,
    state,
    instruction: '',
    changed: () => {
        void panels.show();
        remember();
    },
    replace: async () => {
        if (found) {
            const [action] = await editor.actions(found.range, 'refactor.rewrite');
            if (action) {
                editor.apply(action);
            } else {
                say('It is ordinary PTX already, or has none on this GPU.');
            }
        }
    },
    cursor: () => new TextEncoder().encode(editor.text.slice(0, editor.view.state.selection.main.head)).length,
};
const panels = new Panels(context);

/** Puts the text and the line of the cursor into the state; runs after a pause, not at each key. */
function take(): void {
    state.text = editor.text;
    state.line = editor.line;
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
    }, 40);
}

let looks = 0;
/** Finds the instruction at the cursor and shows it; where there is none, the last one stays. */
async function look(): Promise<void> {
    looks += 1;
    const own = looks;
    const here = await editor.instruction(false)
        ?? (context.instruction ? undefined : await editor.instruction(true));
    if (own !== looks) {
        return;
    }
    found = here ?? found;
    context.instruction = here?.text ?? context.instruction;
    find('instruction').textContent = context.instruction;
    await panels.show();
    if (!document.body.dataset.ready) {
        document.body.dataset.ready = 'yes';
        performance.mark('ready');
    }
}

let saved = '';
let saving = 0;
/** Keeps the state in the address. */
function remember(): void {
    window.clearTimeout(saving);
    if (state.text.length > LONGEST) {
        return;
    }
    saving = window.setTimeout(async () => {
        saved = `#${await written(state)}`;
        window.history.replaceState(null, '', saved);
    }, 300);
}

async function open(next: State): Promise<void> {
    Object.assign(state, next);
    find<HTMLSelectElement>('language').value = state.language;
    context.instruction = '';
    found = undefined;
    delete document.body.dataset.ready;
    await editor.open(state.text, state.language, state.line);
    soon();
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
}

const examples = find<HTMLSelectElement>('example');
examples.append(new Option('Choose…', ''), ...EXAMPLES.map(({ name }, at) => new Option(name, String(at))));
examples.addEventListener('change', () => {
    if (examples.value) {
        void open(example(Number(examples.value)));
        examples.value = '';
    }
});
find<HTMLSelectElement>('language').addEventListener('change', ({ target }) => {
    take();
    void open({ ...state, language: (target as HTMLSelectElement).value as LanguageName });
});
find('format').addEventListener('click', () => {
    if (state.language === 'ptx') {
        editor.format();
        say('');
    } else {
        say('Only PTX is formatted.');
    }
});
find('fix').addEventListener('click', async () => {
    say(await editor.fixAll() ? '' : 'No finding has a safe fix.');
});
find('share').addEventListener('click', async () => {
    take();
    if (state.text.length > LONGEST) {
        say('The text is too long for a link.');
        return;
    }
    const link = new URL(`#${await written(state)}`, window.location.href);
    window.history.replaceState(null, '', link);
    await navigator.clipboard.writeText(link.href);
    say('The link to this page as it is was copied.');
});

async function start(): Promise<void> {
    try {
        await open(await read(window.location.hash.slice(1)) ?? example(0));
    } catch (error) {
        await open(example(0));
        say(error instanceof Error ? error.message : String(error));
    }
}
window.addEventListener('hashchange', () => {
    if (window.location.hash !== saved) {
        void start();
    }
});
void start();
