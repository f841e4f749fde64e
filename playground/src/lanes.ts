// The lanes of an instruction: inputs, results under each semantics, and pictures.

import type { Context } from './panels';
import { type Evaluation, SEMANTICS, type Semantics, type Word } from './vptx';

const ROLES = ['a', 'b', 'c'] as const;

/** The stages of a picture, in the order in which an instruction computes. */
const STAGES = ['sources', 'extract', 'compute', 'saturate', 'secondary', 'merge', 'write'];

const TITLES: Record<Semantics, string> = {
    'manual': 'Manual', 'ptxas-12': 'ptxas 12', 'ptxas-13': 'ptxas 13',
};

const TEMPLATE = `
<fieldset class="inputs" hidden><legend>Inputs</legend></fieldset>
<p class="nothing"></p>
<p class="trouble" id="value-trouble" role="alert"></p>
<div class="computed" hidden>
<div class="scroll" tabindex="0" role="region" aria-label="Results">
<table class="results">
    <thead><tr><th scope="col">Semantics</th><th scope="col">d</th><th scope="col">unsigned</th><th scope="col">signed</th></tr></thead>
    <tbody></tbody>
</table>
</div>
<div class="stages">
    <button type="button" name="back" aria-label="Stage before">◀</button>
    <input type="range" min="0" aria-label="Stages shown">
    <button type="button" name="on" aria-label="Next stage">▶</button>
    <output></output>
</div>
<div class="pictures"></div>
<details class="trace"><summary>Every step, with its value</summary><pre tabindex="0" role="region" aria-label="Steps"></pre></details>
</div>
`;

interface Picture {
    /** Each element with the number of its stage. */
    elements: { element: SVGElement; stage: number }[];
}

/** The stage of each element of a picture: a text belongs to the box before it, an arrow to the
 * box after it. */
function stagesOf(svg: SVGElement): Picture {
    const drawn = [...svg.children].filter((it): it is SVGElement => ['rect', 'text', 'path'].includes(it.tagName));
    const stageOf = (box: string) => {
        const name = /, (\w+)$/.exec(box)?.[1] ?? box;
        return STAGES.includes(name) ? STAGES.indexOf(name) : /^d(\.|$)/.test(box) ? STAGES.length - 1 : 0;
    };
    let stage = 0;
    const elements = drawn.map((element) => {
        stage = element.dataset.box === undefined ? stage : stageOf(element.dataset.box);
        return { element, stage };
    });
    let next = 0;
    for (const own of elements.toReversed()) {
        if (own.element.tagName === 'path') {
            own.stage = next;
        } else if (own.element.tagName === 'rect') {
            next = own.stage;
        }
    }
    return { elements };
}

export class Lanes {
    private readonly inputs: HTMLInputElement[];
    private readonly names: HTMLElement[];
    private readonly range: HTMLInputElement;
    /** What belongs to an instruction with values. */
    private readonly computed: HTMLElement;
    private pictures: Picture[] = [];
    private stages: number[] = [];
    /** All pictures as last drawn. */
    private drawn = '';

    constructor(private readonly panel: HTMLElement, private readonly context: Context) {
        panel.innerHTML = TEMPLATE;
        this.computed = panel.querySelector('.computed')!;
        const fieldset = panel.querySelector('fieldset')!;
        const rows = ROLES.map((role, at) => {
            const label = document.createElement('label');
            const name = document.createElement('span');
            const input = document.createElement('input');
            Object.assign(input, { name: role, spellcheck: false, autocomplete: 'off', value: context.state.values[at] });
            input.addEventListener('input', () => {
                context.state.values[at] = input.value;
                context.changed();
            });
            label.append(name, input);
            fieldset.append(label);
            return { name, input };
        });
        this.inputs = rows.map(({ input }) => input);
        this.names = rows.map(({ name }) => name);
        const random = document.createElement('button');
        Object.assign(random, { type: 'button', textContent: 'Random' });
        random.addEventListener('click', () => {
            const words = crypto.getRandomValues(new Uint32Array(3));
            words.forEach((word, at) => {
                context.state.values[at] = `0x${word.toString(16).padStart(8, '0')}`;
            });
            context.changed();
        });
        fieldset.append(random);
        this.range = panel.querySelector('input[type=range]')!;
        this.range.addEventListener('input', () => this.step());
        for (const [name, by] of [['back', -1], ['on', 1]] as const) {
            panel.querySelector(`[name=${name}]`)!.addEventListener('click', () => {
                this.range.value = String(Number(this.range.value) + by);
                this.step();
            });
        }
        panel.querySelector('details')!.addEventListener('toggle', () => context.changed());
    }

    /** Says why there is nothing to show. */
    clear(nothing: string): void {
        this.panel.querySelector('.nothing')!.textContent = nothing;
        this.trouble('');
        this.name([]);
        this.computed.hidden = true;
    }

    private trouble(text: string): void {
        this.panel.querySelector('.trouble')!.textContent = text;
    }

    async show(isCurrent: () => boolean): Promise<void> {
        const { vptx, state, instruction } = this.context;
        // At once, because a link or an example may have brought other inputs.
        this.inputs.forEach((input, at) => {
            if (input.value !== state.values[at]) {
                input.value = state.values[at];
            }
        });
        let sources: (string | null)[] = [];
        try {
            sources = await vptx.sources(instruction);
            const values = new Map(sources.flatMap((name, at) => (name === null ? [] : [[name, state.values[at]] as const])).toReversed());
            const given = [...values].map(([name, value]) => `${name}=${value.trim()}`);
            const evaluation = await vptx.evaluate(instruction, given);
            const pictures = await Promise.all(SEMANTICS.map((one) => vptx.lanes(instruction, given, one)));
            const details = this.panel.querySelector('details')!;
            const trace = details.open ? await vptx.trace(instruction, given, state.semantics) : '';
            if (!isCurrent()) {
                return;
            }
            this.trouble('');
            this.computed.hidden = false;
            this.results(evaluation);
            this.draw(pictures);
            details.querySelector('pre')!.textContent = trace;
        } catch (error) {
            if (isCurrent()) {
                this.trouble(error instanceof Error ? error.message : String(error));
                this.computed.hidden = true;
            }
        }
        if (isCurrent()) {
            this.panel.querySelector('.nothing')!.textContent = '';
            this.name(sources);
        }
    }

    /** Names the inputs, and marks those that the trouble is about. A register that is read twice
     * has one input, a constant has none. */
    private name(sources: (string | null)[]): void {
        const trouble = this.panel.querySelector('.trouble')!.textContent!;
        this.panel.querySelector('fieldset')!.hidden = sources.every((name) => name === null);
        sources.forEach((name, at) => {
            const input = this.inputs[at];
            const first = sources.indexOf(name);
            const isShown = name !== null && first === at;
            input.parentElement!.hidden = !isShown;
            const isWrong = isShown && trouble.includes(`\`${input.value.trim()}\` for ${name} `);
            input.setAttribute('aria-invalid', String(isWrong));
            input.setAttribute('aria-describedby', isWrong ? 'value-trouble' : '');
            this.names[at].textContent = name === ROLES[at] ? ROLES[at] : `${ROLES[at]}: ${name}`;
        });
    }

    private results({ results }: Evaluation): void {
        const cells = (row: HTMLTableRowElement, { hex, unsigned, signed }: Word) => {
            for (const text of [hex, String(unsigned), String(signed)]) {
                row.insertCell().textContent = text;
            }
        };
        const body = this.panel.querySelector('tbody')!;
        body.replaceChildren();
        for (const one of SEMANTICS) {
            const row = body.insertRow();
            const head = document.createElement('th');
            head.scope = 'row';
            head.textContent = TITLES[one];
            row.append(head);
            row.dataset.semantics = one;
            cells(row, results[one]);
            if (results[one].hex !== results.manual.hex) {
                row.className = 'differs';
                head.append(' ', Object.assign(document.createElement('span'), { textContent: 'differs' }));
            }
        }
    }

    /** Draws a picture for each semantics; equal pictures are drawn once. */
    private draw(pictures: string[]): void {
        const drawn = pictures.join('\n');
        if (drawn === this.drawn) {
            return;
        }
        this.drawn = drawn;
        const groups = new Map<string, Semantics[]>();
        pictures.forEach((picture, at) => {
            groups.set(picture, [...groups.get(picture) ?? [], SEMANTICS[at]]);
        });
        const before = this.stages.map((stage) => STAGES[stage]).join();
        const figures = [...groups].map(([picture, names]) => this.figure(picture, names));
        this.panel.querySelector('.pictures')!.replaceChildren(...figures.map(({ figure }) => figure));
        this.pictures = figures.map(({ picture }) => picture);
        const all = this.pictures.flatMap(({ elements }) => elements.map(({ stage }) => stage));
        this.stages = [...new Set(all)].sort();
        this.range.max = String(Math.max(this.stages.length - 1, 0));
        if (this.stages.map((stage) => STAGES[stage]).join() !== before) {
            this.range.value = this.range.max;
        }
        this.step();
    }

    private figure(text: string, names: Semantics[]): { figure: HTMLElement; picture: Picture } {
        const figure = document.createElement('figure');
        const caption = document.createElement('figcaption');
        caption.textContent = names.map((name) => TITLES[name]).join(', ');
        const host = document.createElement('div');
        host.className = 'scroll';
        host.tabIndex = 0;
        host.setAttribute('role', 'region');
        host.setAttribute('aria-label', `Lanes: ${caption.textContent}`);
        host.dataset.semantics = names.join(' ');
        // The styles of a picture apply only inside the picture.
        const root = document.createElement('div');
        const svg = new DOMParser().parseFromString(text, 'image/svg+xml').documentElement as unknown as SVGElement;
        root.attachShadow({ mode: 'open' }).append(svg);
        // A picture may shrink a little to fit, or to stand beside another one; otherwise it
        // scrolls.
        const width = Number(svg.getAttribute('width'));
        const small = Math.round(0.78 * width);
        const least = `${small <= this.panel.clientWidth ? small : width}px`;
        Object.assign(svg.style, { width: '100%', height: 'auto', minWidth: least, maxWidth: `${width}px` });
        figure.style.flexBasis = least;
        host.append(root);
        figure.append(caption, host);
        return { figure, picture: stagesOf(svg) };
    }

    /** Hides what comes after the chosen stage. */
    private step(): void {
        const at = Number(this.range.value);
        const last = this.stages[at] ?? 0;
        for (const { elements } of this.pictures) {
            for (const { element, stage } of elements) {
                element.style.visibility = stage <= last ? '' : 'hidden';
            }
        }
        const name = at === this.stages.length - 1 ? 'all stages' : `up to: ${STAGES[last]}`;
        this.panel.querySelector('output')!.textContent = name;
        this.range.setAttribute('aria-valuetext', name);
        this.panel.querySelector<HTMLButtonElement>('[name=back]')!.disabled = at === 0;
        this.panel.querySelector<HTMLButtonElement>('[name=on]')!.disabled = at >= this.stages.length - 1;
    }
}
