// The findings as a list: what is wrong, and what can be done about it.

import type { Action, Editor, Finding } from './editor';

const NAMES = { 1: 'error', 2: 'warning', 3: 'note' } as const;

/** How many findings are listed; the editor marks all. */
const MOST = 200;

/** The server tells no more findings than these. */
const ALL = 10_000;

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

    /** Says why there are no findings, or not yet. */
    say(text: string): void {
        this.title.textContent = text;
    }

    show(findings: Finding[]): void {
        const more = findings.length >= ALL ? ' or more' : '';
        this.say(findings.length === 1 ? '1 finding' : `${findings.length || 'No'}${more} findings`);
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
            this.scroll(here.details);
        }
    }

    /** Scrolls the list, but not the page. */
    private scroll(details: HTMLDetailsElement): void {
        const box = this.list.parentElement!;
        const [all, own] = [box, details].map((it) => it.getBoundingClientRect());
        if (own.top < all.top || own.bottom > all.bottom) {
            box.scrollTop += own.top < all.top ? own.top - all.top : own.bottom - all.bottom;
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
        const line = `line ${range.start.line + 1}`;
        const place = element('button', '', `Go to ${line}`);
        place.type = 'button';
        place.addEventListener('click', () => {
            this.editor().select(range);
            this.editor().view.focus();
        });
        const about = element('button', '', `About ${code}`);
        about.type = 'button';
        about.addEventListener('click', () => this.explain(code));
        const actions = element('div', 'fixes', place, about);
        const summary = element('summary', '', element('span', `severity ${name}`, `${name} ${code}`), ' ', element('span', 'line', line), ' ', first);
        const body = help.length > 0 ? [element('p', 'help', help.join('\n'))] : [];
        const details = element('details', '', summary, ...body, actions);
        details.addEventListener('toggle', async () => {
            if (details.open && !details.dataset.asked) {
                details.dataset.asked = 'yes';
                const fixes = await this.editor().fixes(finding).catch(() => undefined);
                if (fixes) {
                    actions.prepend(...this.buttons(finding, fixes));
                } else {
                    // They may come when it is opened again.
                    delete details.dataset.asked;
                }
            }
        });
        return details;
    }

    /** A button for each fix, the preferred one first. */
    private buttons(finding: Finding, fixes: Action[]): HTMLButtonElement[] {
        fixes.sort((one, other) => Number(other.isPreferred ?? false) - Number(one.isPreferred ?? false));
        return fixes.map(({ isPreferred, title }) => {
            const button = element('button', isPreferred ? 'preferred' : '', title);
            button.type = 'button';
            button.addEventListener('click', () => {
                void this.editor().fix(finding, title);
                this.editor().view.focus();
            });
            return button;
        });
    }
}
