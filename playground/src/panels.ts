// The views of an instruction, each in a tab.

import { Lanes } from './lanes';
import { ARCHITECTURES, type State, TABS, type TabName } from './link';
import { type Cost, SEMANTICS, type Vptx } from './vptx';

export interface Context {
    vptx: Vptx;
    state: State;
    /** The instruction that the views show. */
    instruction: string;
    /** Is called after the user has changed the state in a panel. */
    changed: () => void;
    /** What `replace` writes, if it can. */
    replacement: () => Promise<string | undefined>;
    /** Replaces the instruction in the text by ordinary PTX. */
    replace: () => void;
    /** The place of the cursor, in bytes. */
    cursor: () => number;
}

const TITLES: Record<TabName, string> = {
    lanes: 'Lanes', ptx: 'Ordinary PTX', program: 'Program', c: 'C', llvm: 'LLVM IR', tree: 'Tree',
};

/** The largest text whose whole tree is shown, in characters. */
const LARGE = 50_000;

function make<K extends keyof HTMLElementTagNameMap>(
    name: K, properties: Partial<HTMLElementTagNameMap[K]> = {}, ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
}

/** A text that can be copied. */
function output(label: string, text: string): HTMLElement {
    const copy = make('button', { type: 'button', className: 'copy', textContent: 'Copy' });
    copy.setAttribute('aria-label', `Copy: ${label}`);
    copy.addEventListener('click', async () => {
        try {
            await navigator.clipboard.writeText(text);
            copy.textContent = 'Copied';
        } catch {
            getSelection()!.selectAllChildren(pre);
            copy.textContent = 'The browser refuses. It is selected: copy it with keys';
        }
    });
    const pre = make('pre', { tabIndex: 0 }, make('code', {}, text.replace(/\n$/, '')));
    pre.setAttribute('aria-label', label);
    pre.setAttribute('role', 'region');
    return make('div', { className: 'output' }, copy, pre);
}

/** A text that is scrolled to its end: all headers start with the same lines. */
function fromEnd(shown: HTMLElement): HTMLElement {
    const pre = shown.querySelector('pre')!;
    requestAnimationFrame(() => {
        pre.scrollTop = pre.scrollHeight;
    });
    return shown;
}

function trouble(error: unknown): HTMLElement {
    return make('p', { className: 'trouble' }, error instanceof Error ? error.message : String(error));
}

/** A choice that is part of the state. */
function choice<K extends 'semantics' | 'target' | 'architecture'>(
    context: Context, key: K, label: string, values: readonly State[K][],
): HTMLElement {
    const options = values.map((value) => new Option(value, value, false, value === context.state[key]));
    const select = make('select', {}, ...options);
    select.name = key;
    select.addEventListener('change', () => {
        context.state[key] = select.value as State[K];
        context.changed();
    });
    return make('label', {}, `${label} `, select);
}

function chosenSemantics(context: Context): HTMLElement {
    return choice(context, 'semantics', 'Semantics', SEMANTICS);
}

/** A text that is made when the user opens it. */
function later(title: string, made: () => Promise<HTMLElement[]>): HTMLDetailsElement {
    const details = make('details', { className: 'later' }, make('summary', {}, title));
    details.addEventListener('toggle', async () => {
        if (details.open && details.children.length === 1) {
            details.append(...await made().catch((error) => [trouble(error)]));
        }
    });
    return details;
}

/** The costs on all targets, as bars: before and after rewriting. */
function bars(costs: Cost[], own: string): HTMLElement {
    const most = Math.max(...costs.map(({ ptxas }) => ptxas));
    const bar = (name: string, count: number) => {
        const made = make('span', { className: `bar ${name}` });
        made.style.width = `${100 * count / most}%`;
        return make('td', {}, make('span', { className: 'track' }, made), make('span', { className: 'count' }, `${count}`));
    };
    const rows = costs.map(({ target, ptxas, rewritten }) => {
        const head = make('th', { scope: 'row' }, target);
        const row = make('tr', {}, head, bar('before', ptxas), bar('after', Math.min(ptxas, rewritten)));
        if (target === own) {
            row.classList.add('own');
        }
        return row;
    });
    const heads = ['GPU', 'by ptxas', 'rewritten'].map((text) => make('th', { scope: 'col' }, text));
    return make('table', { className: 'costs' },
        make('caption', {}, 'Machine instructions of ptxas 13.5'),
        make('thead', {}, make('tr', {}, ...heads)), make('tbody', {}, ...rows));
}

/** The statements of ordinary PTX: without comments, layout and the names of new registers. */
function statements(text: string): string {
    return text.replace(/\/\*[^]*?\*\/|\/\/.*|[{}\s]/g, '').replace(/%vptx\d*_/g, '%');
}

/** Replaces the instruction by the shown text, if the edit of the source would write the same. */
function replacing({ replace }: Context, shown: string, written: string | undefined): HTMLElement {
    const button = make('button', { type: 'button', textContent: 'Replace it in the source' });
    button.addEventListener('click', replace);
    if (written !== undefined && statements(written) === statements(shown)) {
        return make('p', {}, button);
    }
    const why = written === undefined
        ? 'The .version and .target of the source have no ordinary PTX for it.'
        : 'The source would get other PTX than this: for ptxas-13, and for the .version and .target of the text, or else sm_90.';
    Object.assign(button, { disabled: true, title: why });
    return make('p', {}, button, ' ', why);
}

type View = (context: Context) => Promise<HTMLElement[]>;

const ptx: View = async (context) => {
    const { vptx, state, instruction } = context;
    const { language, semantics, target } = state;
    const costs = await vptx.costs(instruction);
    const targets = costs.length > 0 ? costs.map((cost) => cost.target) : [target];
    const own = targets.includes(target) ? target : targets[0];
    const isPtx = language === 'ptx';
    const shown = await vptx.ordinary(instruction, semantics, own).then(async (made) => [
        output('Ordinary PTX', made),
        ...isPtx ? [replacing(context, made, await context.replacement())] : [],
    ], (error) => [trouble(error)]);
    return [
        make('div', { className: 'controls' }, choice(context, 'target', 'GPU', targets), chosenSemantics(context)),
        ...shown,
        costs.length > 0 ? bars(costs, own) : make('p', {}, 'Its costs were not measured.'),
        ...isPtx
            ? [later('The whole text, rewritten', async () => [
                output('The whole text, rewritten', await vptx.rewrite(state.text, semantics, own)),
            ])]
            : [],
    ];
};

const program: View = async (context) => [
    make('div', { className: 'controls' }, chosenSemantics(context)),
    output('Program', await context.vptx.program(context.instruction, context.state.semantics)),
];

const c: View = async (context) => {
    const { vptx, state, instruction } = context;
    const { semantics } = state;
    return [
        make('div', { className: 'controls' }, chosenSemantics(context)),
        fromEnd(output('C', await vptx.cFunction(instruction, semantics))),
        ...state.language === 'cuda'
            ? [later('The whole source, with calls in place of asm', async () => {
                const { text, header } = await vptx.port(state.text, semantics);
                return [output('Source', text), output('vptx_video.h', header)];
            })]
            : [],
    ];
};

const llvm: View = async (context) => {
    const { vptx, state: { semantics, architecture }, instruction } = context;
    const text = await vptx.llvmFunction(instruction, semantics, architecture);
    const chosen = choice(context, 'architecture', 'Processor', ARCHITECTURES);
    return [
        make('div', { className: 'controls' }, chosen, chosenSemantics(context)),
        output('LLVM IR', text),
    ];
};

const tree: View = async (context) => {
    const { vptx, state, instruction } = context;
    const isWhole = state.language === 'ptx' && state.text.length <= LARGE;
    const text = await vptx.tree(isWhole ? state.text : instruction);
    const shown = output('Tree', text);
    if (isWhole) {
        mark(shown.querySelector('code')!, text, context.cursor());
    }
    const what = isWhole ? 'Kinds and places, in bytes. Lines at the cursor are marked.' : 'The instruction alone.';
    return [make('p', {}, what), shown];
};

/** Marks the lines of a tree whose nodes contain an offset. */
function mark(code: HTMLElement, text: string, offset: number): void {
    const lines = text.replace(/\n$/, '').split('\n').map((line) => {
        const place = /^ *[\w-]+ (\d+)\.\.(\d+)/.exec(line);
        const holds = place && Number(place[1]) <= offset && offset < Number(place[2]);
        return holds ? make('mark', {}, line) : line;
    });
    code.replaceChildren(...lines.flatMap((line) => [line, '\n']));
    const marks = code.querySelectorAll('mark');
    const last = marks[marks.length - 1];
    if (last) {
        // Only the text moves, not the page.
        requestAnimationFrame(() => {
            const pre = code.parentElement!;
            pre.scrollTop = last.offsetTop - pre.offsetTop - pre.clientHeight / 2;
        });
    }
}

export class Panels {
    private readonly tabs: HTMLElement[];
    private readonly panels: HTMLElement[];
    private readonly lanes: Lanes;
    private shows = 0;

    constructor(private readonly context: Context) {
        const list = document.querySelector('#tabs')!;
        this.tabs = TABS.map((name) => {
            const tab = make('button', { type: 'button', id: `tab-${name}`, textContent: TITLES[name] });
            tab.setAttribute('role', 'tab');
            tab.setAttribute('aria-controls', `panel-${name}`);
            tab.addEventListener('click', () => this.choose(name));
            tab.addEventListener('keydown', (event) => this.move(event, name));
            return tab;
        });
        this.panels = TABS.map((name) => {
            const panel = make('div', { id: `panel-${name}`, hidden: true });
            panel.setAttribute('role', 'tabpanel');
            panel.setAttribute('aria-labelledby', `tab-${name}`);
            return panel;
        });
        list.append(...this.tabs);
        document.querySelector('#panels')!.append(...this.panels);
        this.lanes = new Lanes(this.panels[TABS.indexOf('lanes')], context);
    }

    private choose(name: TabName): void {
        this.context.state.tab = name;
        this.context.changed();
    }

    private move(event: KeyboardEvent, name: TabName): void {
        const at = TABS.indexOf(name);
        const next = {
            ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: TABS.length - 1,
        }[event.key];
        if (next !== undefined) {
            event.preventDefault();
            const to = (next + TABS.length) % TABS.length;
            this.choose(TABS[to]);
            this.tabs[to].focus();
        }
    }

    /** Shows the chosen view of the instruction. */
    async show(): Promise<void> {
        const { state } = this.context;
        const chosen = TABS.indexOf(state.tab);
        this.tabs.forEach((tab, at) => {
            tab.setAttribute('aria-selected', String(at === chosen));
            tab.tabIndex = at === chosen ? 0 : -1;
            this.panels[at].hidden = at !== chosen;
        });
        // On a narrow screen, the list scrolls; the page stays.
        const [tab, list] = [this.tabs[chosen], this.tabs[chosen].parentElement!];
        list.scrollLeft = tab.offsetLeft - list.offsetLeft - (list.clientWidth - tab.offsetWidth) / 2;
        this.shows += 1;
        const own = this.shows;
        const isCurrent = () => own === this.shows;
        const panel = this.panels[chosen];
        const { instruction } = this.context;
        const nothing = state.text.trim() === ''
            ? 'Write an instruction, or choose an example.'
            : 'The text has no legal video instruction.';
        if (!instruction) {
            if (state.tab === 'lanes') {
                this.lanes.clear(nothing);
            } else {
                panel.replaceChildren(make('p', {}, nothing));
            }
        } else if (state.tab === 'lanes') {
            await this.lanes.show(isCurrent);
        } else {
            const made = await { ptx, program, c, llvm, tree }[state.tab](this.context)
                .catch((error) => [trouble(error)]);
            if (isCurrent()) {
                replace(panel, made);
            }
        }
        if (isCurrent()) {
            panel.dataset.instruction = instruction;
        }
    }
}

/** Replaces the contents of a panel. A focused control stays focused, and opened texts open. */
function replace(panel: HTMLElement, made: HTMLElement[]): void {
    const focused = panel.contains(document.activeElement) ? document.activeElement : null;
    const name = focused instanceof HTMLSelectElement ? focused.name : undefined;
    const isOpen = panel.querySelector('details.later')?.hasAttribute('open') ?? false;
    panel.replaceChildren(...made);
    if (name) {
        panel.querySelector<HTMLElement>(`select[name=${name}]`)?.focus();
    }
    const details = panel.querySelector<HTMLDetailsElement>('details.later');
    if (details) {
        details.open = isOpen;
    }
}
