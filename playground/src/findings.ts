// The findings as a list: what is wrong, and what can be done about it.

import type { Editor, Finding } from './editor';

const NAMES = { 1: 'error', 2: 'warning', 3: 'note' } as const;

/** How many findings are listed; the editor marks all. */
const MOST = 200;

function element<K extends keyof HTMLElementTagNameMap>(
    name: K, className: string, ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
    const made = document.createElement(name);
    made.className = className;
    made.append(...children);
    return made;
}

export class Findings {
    private shown = '';
    private readonly list = document.querySelector<HTMLOListElement>('#findings')!;
    private readonly title = document.querySelector<HTMLElement>('#findings-title')!;
    private items: { finding: Finding; details: HTMLDetailsElement }[] = [];

    constructor(private readonly editor: () => Editor, private readonly explain: (code: string) => void) {}

    show(findings: Finding[]): void {
        const shown = JSON.stringify(findings);
        if (shown === this.shown) {
            return;
        }
        this.shown = shown;
        const open = new Set(this.items.filter(({ details }) => details.open).map(({ finding }) => finding.message));
        this.items = findings.slice(0, MOST).map((finding) => ({ finding, details: this.item(finding) }));
        this.list.replaceChildren(...this.items.map(({ details }) => element('li', '', details)));
        if (findings.length > MOST) {
            this.list.append(element('li', 'more', `and ${findings.length - MOST} more`));
        }
        const count = findings.length === 1 ? '1 finding' : `${findings.length || 'No'} findings`;
        this.title.textContent = count;
        this.items.forEach(({ finding, details }) => {
            details.open = open.has(finding.message);
        });
        this.follow();
    }

    /** Opens the finding that is nearest to the cursor in its line. */
    follow(): void {
        const distances = this.items.map(({ finding }) => this.editor().distance(finding));
        const least = Math.min(...distances);
        const here = this.items[distances.indexOf(least)];
        if (least < Infinity && !here.details.open) {
            here.details.open = true;
            here.details.scrollIntoView({ block: 'nearest' });
        }
    }

    /** Goes to the finding that is nearest to the cursor, or to the first one. */
    focus(): boolean {
        this.follow();
        const open = this.items.find(({ details }) => details.open) ?? this.items[0];
        open?.details.querySelector('summary')!.focus();
        return open !== undefined;
    }

    private item(finding: Finding): HTMLDetailsElement {
        const { code, message, range, severity } = finding;
        const [first, ...help] = message.split('\n');
        const name = NAMES[severity];
        const place = element('button', 'place', `line ${range.start.line + 1}`);
        place.type = 'button';
        place.addEventListener('click', () => {
            this.editor().select(range);
            this.editor().view.focus();
        });
        const about = element('button', '', `About ${code}`);
        about.type = 'button';
        about.addEventListener('click', () => this.explain(code));
        const actions = element('div', 'fixes', place, about);
        const summary = element('summary', '', element('span', `severity ${name}`, `${name} ${code}`), ' ', first);
        const body = help.length > 0 ? [element('p', 'help', help.join('\n'))] : [];
        const details = element('details', '', summary, ...body, actions);
        details.addEventListener('toggle', async () => {
            if (!details.open || details.dataset.asked) {
                return;
            }
            details.dataset.asked = 'yes';
            const fixes = await this.editor().fixes(finding);
            fixes.sort((one, other) => Number(other.isPreferred ?? false) - Number(one.isPreferred ?? false));
            actions.prepend(...fixes.map((fix) => {
                const button = element('button', fix.isPreferred ? 'preferred' : '', fix.title);
                button.type = 'button';
                button.addEventListener('click', () => {
                    this.editor().apply(fix);
                    this.editor().view.focus();
                });
                return button;
            }));
        });
        return details;
    }
}
