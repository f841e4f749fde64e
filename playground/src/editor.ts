// The editor: CodeMirror as a client of the language server.

import { closeBrackets } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, diagnosticCount, linter, lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint';
import {
    findReferencesKeymap, hoverTooltips, jumpToDefinitionKeymap, LSPClient, LSPPlugin, renameKeymap,
    serverCompletion, signatureHelp,
} from '@codemirror/lsp-client';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import {
    type ChangeDesc, EditorState, type Extension, Prec, RangeSetBuilder, StateEffect, StateField,
} from '@codemirror/state';
import {
    Decoration, type DecorationSet, drawSelection, EditorView, highlightActiveLine,
    highlightActiveLineGutter, keymap, lineNumbers,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';
import DOMPurify from 'dompurify';
import type { LanguageName } from './link';
import type { Vptx } from './vptx';

interface Position {
    line: number;
    character: number;
}

interface Range {
    start: Position;
    end: Position;
}

interface TextEdit {
    range: Range;
    newText: string;
}

/** Edits with a title. */
export interface Action {
    title: string;
    isPreferred?: boolean;
    /** The findings that it is about. */
    diagnostics?: Finding[];
    edit: { changes: Record<string, TextEdit[]> };
}

/** A finding at its place. */
export interface Finding {
    range: Range;
    severity: 1 | 2 | 3;
    code: string;
    /** The message; its help follows on other lines. */
    message: string;
    tags?: number[];
}

/** A legal instruction at its place. */
export interface Found {
    text: string;
    from: number;
    to: number;
    /** What the source has at its place. */
    source: string;
}

export interface Listener {
    /** The text or the cursor changed. */
    changed: (changes: ChangeDesc) => void;
    found: (findings: Finding[]) => void;
    /** The findings take long. */
    checking: () => void;
    /** There are no findings for the text, and this is why. */
    unchecked: (why: string) => void;
    format: () => void;
    say: (text: string) => void;
    /** Goes to the findings; false if there are none. */
    toFindings: () => boolean;
}

const SEVERITIES = { 1: 'error', 2: 'warning', 3: 'info' } as const;

const colours = HighlightStyle.define([
    { tag: [tags.keyword, tags.controlKeyword, tags.modifier], class: 'tok-keyword' },
    { tag: [tags.comment], class: 'tok-comment' },
    { tag: [tags.string, tags.special(tags.string)], class: 'tok-string' },
    { tag: [tags.number, tags.bool, tags.null], class: 'tok-number' },
    { tag: [tags.typeName, tags.className], class: 'tok-type' },
    { tag: [tags.processingInstruction, tags.meta], class: 'tok-macro' },
    { tag: [tags.function(tags.variableName), tags.definition(tags.variableName)], class: 'tok-function' },
]);

/** CodeMirror's support for a language, loaded when needed; the server knows the PTX in it. */
const BASES: Record<LanguageName, () => Promise<Extension>> = {
    ptx: async () => [],
    cuda: async () => (await import('@codemirror/lang-cpp')).cpp(),
    python: async () => (await import('@codemirror/lang-python')).python(),
};

/** Milliseconds after which a check takes long. */
const LONG = 500;

/** The lines after the cursor's in which an instruction at the cursor may end. */
const LINES = 10;

/** The colours of the server. */
const setColours = StateEffect.define<DecorationSet>();
const serverColours = StateField.define<DecorationSet>({
    create: () => Decoration.none,
    update: (shown, { changes, effects }) => (
        effects.find((effect) => effect.is(setColours))?.value ?? shown.map(changes)
    ),
    // Inside of the colours of a host: its strings have PTX.
    provide: (field) => Prec.highest(EditorView.decorations.from(field)),
});

function uriOf(language: LanguageName): string {
    return `untitled:${language}`;
}

/** The message of an error, which may come from the language server. */
export function reason(error: unknown): string {
    return (error as Partial<Error>).message ?? String(error);
}

/** Runs a task whenever it is called, but not twice at once: then it runs again when it has ended. */
export function oneAtATime(task: () => Promise<void>): () => Promise<void> {
    let isRunning = false;
    let isDue = false;
    return async () => {
        isDue = true;
        while (isDue && !isRunning) {
            [isDue, isRunning] = [false, true];
            await task().finally(() => {
                isRunning = false;
            });
        }
    };
}

export class Editor {
    readonly view: EditorView;
    private readonly client: LSPClient;
    private name: LanguageName = 'ptx';
    private opened = 0;

    constructor(parent: HTMLElement, vptx: Vptx, private readonly listener: Listener) {
        this.client = new LSPClient({
            sanitizeHTML: (html) => DOMPurify.sanitize(html),
            timeout: 60_000,
            extensions: [serverCompletion(), hoverTooltips(), signatureHelp()],
        }).connect(vptx);
        this.view = new EditorView({ parent });
    }

    private extensions(name: LanguageName, base: Extension): Extension {
        const format = () => {
            this.listener.format();
            return true;
        };
        return [
            lineNumbers(), highlightActiveLineGutter(), highlightActiveLine(), history(),
            drawSelection(), bracketMatching(), closeBrackets(), highlightSelectionMatches(),
            syntaxHighlighting(colours), linter(null), lintGutter(), serverColours,
            keymap.of([
                { key: 'Mod-.', run: () => this.listener.toFindings() },
                { key: 'Shift-Alt-f', run: format, preventDefault: true },
                ...defaultKeymap, ...historyKeymap, ...searchKeymap, ...lintKeymap,
                ...renameKeymap, ...jumpToDefinitionKeymap, ...findReferencesKeymap,
            ]),
            EditorView.updateListener.of(({ changes, docChanged, selectionSet, viewportChanged }) => {
                if (docChanged) {
                    // At once: nothing else that a key starts is as urgent.
                    void this.check();
                }
                if (docChanged || viewportChanged) {
                    void this.colour();
                }
                if (docChanged || selectionSet) {
                    this.listener.changed(changes);
                }
            }),
            EditorView.contentAttributes.of({ 'aria-label': 'Source text', tabindex: '0' }),
            base, this.client.plugin(uriOf(name), name),
        ];
    }

    get text(): string {
        return this.view.state.doc.toString();
    }

    /** The line of the cursor, from 1. */
    get line(): number {
        return this.view.state.doc.lineAt(this.view.state.selection.main.head).number;
    }

    /** Opens a text with the cursor in a line, from 1; false if another one was opened meanwhile. */
    async open(text: string, language: LanguageName, line: number): Promise<boolean> {
        this.opened += 1;
        const own = this.opened;
        const base = await BASES[language]().catch(() => {
            this.listener.say('The colours of this language could not be loaded.');
            return [];
        });
        if (own !== this.opened) {
            return false;
        }
        this.name = language;
        // No undoing leads back to the text before, which may be in another language.
        this.view.setState(EditorState.create({ doc: text, extensions: this.extensions(language, base) }));
        const { doc } = this.view.state;
        const at = doc.line(Math.min(line, doc.lines));
        const first = at.from + /^\s*/.exec(at.text)![0].length;
        this.view.dispatch({ selection: { anchor: first }, effects: EditorView.scrollIntoView(first, { y: 'center' }) });
        this.refresh();
        return true;
    }

    /** Starts again with a server that knows nothing. */
    reconnect(vptx: Vptx): void {
        this.client.disconnect();
        this.client.connect(vptx);
        this.refresh();
    }

    private refresh(): void {
        void this.check();
        void this.colour();
    }

    private async request<T>(method: string, params: object): Promise<T> {
        await this.client.initializing;
        this.client.sync();
        const textDocument = { uri: uriOf(this.name) };
        return this.client.request<object, T>(method, { textDocument, ...params });
    }

    private position(offset: number): Position {
        const line = this.view.state.doc.lineAt(offset);
        return { line: line.number - 1, character: offset - line.from };
    }

    private offset({ line, character }: Position): number {
        const { doc } = this.view.state;
        return line < doc.lines ? Math.min(doc.line(line + 1).from + character, doc.length) : doc.length;
    }

    private range(from: number, to: number): Range {
        return { start: this.position(from), end: this.position(to) };
    }

    private get whole(): Range {
        return this.range(0, this.view.state.doc.length);
    }

    /** A place, widened to at least one character so that its mark is visible. */
    private visible({ start, end }: Range): { from: number; to: number } {
        const [from, to] = [this.offset(start), this.offset(end)];
        const line = this.view.state.doc.lineAt(from);
        return from < to ? { from, to }
            : from < line.to ? { from, to: from + 1 } : { from: Math.max(line.from, from - 1), to };
    }

    private readonly check = oneAtATime(async () => {
        const { doc } = this.view.state;
        const isLong = window.setTimeout(() => this.listener.checking(), LONG);
        try {
            const { items } = await this.request<{ items: Finding[] }>('textDocument/diagnostic', {});
            if (this.view.state.doc === doc) {
                this.show(items);
            }
        } catch (error) {
            this.show([]);
            this.listener.unchecked(reason(error));
        } finally {
            window.clearTimeout(isLong);
        }
    });

    private show(items: Finding[]): void {
        this.listener.found(items);
        if (items.length === 0 && diagnosticCount(this.view.state) === 0) {
            return;
        }
        const diagnostics = items.map((finding): Diagnostic => ({
            ...this.visible(finding.range),
            severity: SEVERITIES[finding.severity],
            markClass: finding.tags?.includes(1) ? 'unnecessary' : undefined,
            source: finding.code,
            message: finding.message,
        }));
        this.view.dispatch(setDiagnostics(this.view.state, diagnostics));
    }

    /** The distance of the cursor from a finding, in characters; infinite if on another line. */
    distance({ range: { start, end } }: Finding): number {
        const { line, character } = this.position(this.view.state.selection.main.head);
        if (line < start.line || line > end.line) {
            return Infinity;
        }
        const before = line === start.line ? start.character - character : 0;
        const after = line === end.line ? character - end.character : 0;
        return Math.max(before, after, 0);
    }

    select({ start, end }: Range): void {
        const [anchor, head] = [this.offset(end), this.offset(start)];
        this.view.dispatch({ selection: { anchor, head }, effects: EditorView.scrollIntoView(head, { y: 'center' }) });
    }

    /** The edits that fix or suppress a finding. */
    async fixes({ code, range }: Finding): Promise<Action[]> {
        const place = JSON.stringify(range);
        const isOwn = (it: Finding) => it.code === code && JSON.stringify(it.range) === place;
        const actions = await this.actions(range, 'quickfix');
        return actions.filter(({ diagnostics }) => diagnostics?.some(isOwn));
    }

    private actions(range: Range, kind: string): Promise<Action[]> {
        return this.request('textDocument/codeAction', { range, context: { diagnostics: [], only: [kind] } });
    }

    /** Makes the edit of an action, unless there is none or the text changes before it is there. */
    private async make(asked: Promise<Action | undefined>): Promise<boolean> {
        const { doc } = this.view.state;
        const action = await asked;
        if (!action || this.view.state.doc !== doc) {
            return false;
        }
        this.apply(Object.values(action.edit.changes).flat());
        return true;
    }

    private apply(edits: TextEdit[]): void {
        const changes = edits.map(({ range, newText }) => (
            { from: this.offset(range.start), to: this.offset(range.end), insert: newText }
        ));
        this.view.dispatch({ changes, userEvent: 'input.fix', scrollIntoView: true });
    }

    /** Asks again for a fix, because the text may have changed at another place. */
    fix(finding: Finding, title: string): Promise<boolean> {
        return this.make(this.fixes(finding).then((fixes) => fixes.find((fix) => fix.title === title)));
    }

    fixAll(): Promise<boolean> {
        return this.make(this.actions(this.whole, 'source.fixAll.vptx').then(([action]) => action));
    }

    /** The edit that puts ordinary PTX in the place of an instruction. */
    private async rewriting({ from, to }: Found): Promise<Action | undefined> {
        // Another one may end where this one starts.
        const [action] = await this.actions(this.range(from + 1, to), 'refactor.rewrite');
        return action;
    }

    /** What `replace` writes, if it can. */
    async replacement(found: Found): Promise<string | undefined> {
        const action = await this.rewriting(found);
        return action && Object.values(action.edit.changes).flat().map(({ newText }) => newText).join('');
    }

    replace(found: Found): Promise<boolean> {
        return this.make(this.rewriting(found));
    }

    /** Formats the text; false if it has a syntax error. */
    async format(): Promise<boolean> {
        const { doc } = this.view.state;
        const options = { tabSize: 4, insertSpaces: true };
        const edits = await this.request<TextEdit[] | null>('textDocument/formatting', { options });
        if (edits && this.view.state.doc === doc) {
            this.apply(edits);
        }
        return edits !== null;
    }

    /** The page about a code or a word, as safe HTML. */
    html(page: string): string {
        return LSPPlugin.get(this.view)?.docToHTML(page, 'markdown') ?? '';
    }

    /** The instruction at the cursor, or else in its line; or the first of the text. */
    async instruction(inWholeText: boolean): Promise<Found | undefined> {
        const { doc, selection: { main: { head } } } = this.view.state;
        const line = doc.lineAt(head);
        const last = doc.line(Math.min(line.number + LINES, doc.lines));
        const range = inWholeText ? this.whole : this.range(line.from, last.to);
        await this.client.initializing;
        this.client.sync();
        const all = await this.client.request<object, { text: string; range: Range }[]>('workspace/executeCommand', {
            command: 'vptx.instructions',
            arguments: [{ textDocument: { uri: uriOf(this.name) }, range }],
        });
        if (this.view.state.doc !== doc) {
            return undefined;
        }
        const own = inWholeText ? all : all.filter((it) => it.range.start.line < line.number);
        const isAfter = (it: { range: Range }) => this.offset(it.range.end) >= head;
        const found = (inWholeText ? undefined : own.find(isAfter)) ?? own[0];
        if (!found) {
            return undefined;
        }
        const [from, to] = [this.offset(found.range.start), this.offset(found.range.end)];
        return { text: found.text, from, to, source: doc.sliceString(from, to) };
    }

    /** An instruction at its place after changes; nothing if they changed it. */
    kept(found: Found, changes: ChangeDesc): Found | undefined {
        const [from, to] = [changes.mapPos(found.from, 1), changes.mapPos(found.to, -1)];
        return this.view.state.sliceDoc(from, to) === found.source ? { ...found, from, to } : undefined;
    }

    /** Colours the visible lines by the server's semantic tokens. */
    private readonly colour = oneAtATime(async () => {
        const { viewport: { from, to }, state: { doc } } = this.view;
        const range = this.range(from, to);
        const method = 'textDocument/semanticTokens/range';
        // Without an answer, the colours stay; the findings say why.
        const answer = await this.request<{ data: number[] } | null>(method, { range }).catch(() => undefined);
        if (answer !== undefined && this.view.state.doc === doc) {
            this.view.dispatch({ effects: setColours.of(this.decorated(answer?.data ?? [])) });
        }
    });

    private decorated(data: number[]): DecorationSet {
        const legend = this.client.serverCapabilities?.semanticTokensProvider?.legend.tokenTypes ?? [];
        const builder = new RangeSetBuilder<Decoration>();
        let [line, character] = [0, 0];
        for (let at = 0; at + 4 < data.length; at += 5) {
            const [lines, characters, length, type] = data.slice(at, at + 4);
            line += lines;
            character = lines > 0 ? characters : character + characters;
            const from = this.offset({ line, character });
            builder.add(from, from + length, Decoration.mark({ class: `tok-${legend[type]}` }));
        }
        return builder.finish();
    }
}
