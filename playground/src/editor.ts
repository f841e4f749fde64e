// The editor: CodeMirror as a client of the language server.

import { closeBrackets } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, diagnosticCount, linter, lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint';
import {
    findReferencesKeymap, formatDocument, formatKeymap, hoverTooltips, jumpToDefinitionKeymap,
    LSPClient, LSPPlugin, renameKeymap, serverCompletion, signatureHelp,
} from '@codemirror/lsp-client';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { Compartment, EditorState, type Extension, RangeSetBuilder } from '@codemirror/state';
import {
    Decoration, type DecorationSet, drawSelection, EditorView, highlightActiveLine,
    highlightActiveLineGutter, keymap, lineNumbers, ViewPlugin, type ViewUpdate,
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
    range: Range;
}

export interface Listener {
    /** The text or the cursor changed. */
    changed: () => void;
    found: (findings: Finding[]) => void;
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

function uriOf(language: LanguageName): string {
    return `untitled:${language}`;
}

export class Editor {
    readonly view: EditorView;
    private readonly client: LSPClient;
    private readonly language = new Compartment();
    private name: LanguageName = 'ptx';
    private opened = 0;

    constructor(parent: HTMLElement, vptx: Vptx, private readonly listener: Listener) {
        this.client = new LSPClient({
            sanitizeHTML: (html) => DOMPurify.sanitize(html),
            timeout: 60_000,
            extensions: [serverCompletion(), hoverTooltips(), signatureHelp()],
        }).connect(vptx);
        this.view = new EditorView({
            parent,
            state: EditorState.create({
                extensions: [
                    lineNumbers(), highlightActiveLineGutter(), highlightActiveLine(), history(),
                    drawSelection(), bracketMatching(), closeBrackets(), highlightSelectionMatches(),
                    syntaxHighlighting(colours), lintGutter(),
                    keymap.of([
                        { key: 'Mod-.', run: () => this.listener.toFindings() },
                        ...defaultKeymap, ...historyKeymap, ...searchKeymap, ...lintKeymap,
                        ...formatKeymap, ...renameKeymap, ...jumpToDefinitionKeymap,
                        ...findReferencesKeymap,
                    ]),
                    this.findings(),
                    this.tokens(),
                    EditorView.updateListener.of((update) => {
                        if (update.docChanged || update.selectionSet) {
                            this.listener.changed();
                        }
                    }),
                    EditorView.contentAttributes.of({ 'aria-label': 'Source text', tabindex: '0' }),
                    this.language.of(this.extensions('ptx', [])),
                ],
            }),
        });
    }

    private extensions(name: LanguageName, base: Extension): Extension {
        return [base, this.client.plugin(uriOf(name), name)];
    }

    get text(): string {
        return this.view.state.doc.toString();
    }

    /** The line of the cursor, from 1. */
    get line(): number {
        return this.view.state.doc.lineAt(this.view.state.selection.main.head).number;
    }

    /** Opens a text with the cursor in a line, from 1. */
    async open(text: string, language: LanguageName, line: number): Promise<void> {
        this.opened += 1;
        const own = this.opened;
        const base = await BASES[language]();
        if (own !== this.opened) {
            // Another text was opened in the meantime.
            return;
        }
        this.name = language;
        this.view.dispatch({
            changes: { from: 0, to: this.view.state.doc.length, insert: text },
            effects: this.language.reconfigure(this.extensions(language, base)),
        });
        const { doc } = this.view.state;
        const at = doc.line(Math.min(line, doc.lines));
        const first = at.from + /^\s*/.exec(at.text)![0].length;
        this.view.dispatch({ selection: { anchor: first }, effects: EditorView.scrollIntoView(first, { y: 'center' }) });
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

    /** Asks for findings as soon as a text changes: nothing else that a key starts is as urgent. */
    private findings(): Extension {
        const editor = this;
        return [linter(null), ViewPlugin.fromClass(class {
            constructor(view: EditorView) {
                // The editor is not complete yet.
                queueMicrotask(() => this.ask(view));
            }

            update({ docChanged, transactions, view }: ViewUpdate): void {
                if (docChanged || transactions.some(({ reconfigured }) => reconfigured)) {
                    queueMicrotask(() => this.ask(view));
                }
            }

            async ask(view: EditorView): Promise<void> {
                const { doc } = view.state;
                const { items } = await editor.request<{ items: Finding[] }>('textDocument/diagnostic', {});
                if (view.state.doc === doc) {
                    editor.show(items);
                }
            }
        })];
    }

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
    fixes({ range }: Finding): Promise<Action[]> {
        return this.actions(range, 'quickfix');
    }

    actions(range: Range, kind: string): Promise<Action[]> {
        return this.request('textDocument/codeAction', { range, context: { diagnostics: [], only: [kind] } });
    }

    apply({ edit }: Action): void {
        const changes = Object.values(edit.changes).flat().map(({ range, newText }) => (
            { from: this.offset(range.start), to: this.offset(range.end), insert: newText }
        ));
        this.view.dispatch({ changes, userEvent: 'input.fix', scrollIntoView: true });
    }

    async fixAll(): Promise<boolean> {
        const actions = await this.actions(this.whole, 'source.fixAll.vptx');
        actions.forEach((action) => this.apply(action));
        return actions.length > 0;
    }

    format(): void {
        formatDocument(this.view);
    }

    /** The page about a code or a word, as safe HTML. */
    html(page: string): string {
        return LSPPlugin.get(this.view)?.docToHTML(page, 'markdown') ?? '';
    }

    /** The instruction at the cursor, or else in its line, or else the first of the text. */
    async instruction(inWholeText: boolean): Promise<Found | undefined> {
        const { head } = this.view.state.selection.main;
        const line = this.view.state.doc.lineAt(head);
        const range = inWholeText ? this.whole : this.range(line.from, line.to);
        const found = await this.client.initializing.then(() => {
            this.client.sync();
            return this.client.request<object, Found[]>('workspace/executeCommand', {
                command: 'vptx.instructions',
                arguments: [{ textDocument: { uri: uriOf(this.name) }, range }],
            });
        });
        const isAfter = (it: Found) => this.offset(it.range.end) >= head;
        return (inWholeText ? undefined : found.find(isAfter)) ?? found[0];
    }

    /** Colours the visible lines by the server's semantic tokens. */
    private tokens(): Extension {
        const editor = this;
        return ViewPlugin.fromClass(class {
            decorations: DecorationSet = Decoration.none;

            constructor(view: EditorView) {
                // The editor is not complete yet.
                queueMicrotask(() => this.ask(view));
            }

            update(update: ViewUpdate): void {
                if (update.docChanged) {
                    this.decorations = this.decorations.map(update.changes);
                }
                const isOther = update.transactions.some((transaction) => transaction.reconfigured);
                if (update.docChanged || update.viewportChanged || isOther) {
                    queueMicrotask(() => this.ask(update.view));
                }
            }

            async ask(view: EditorView): Promise<void> {
                const { from, to } = view.viewport;
                const { doc } = view.state;
                const range = editor.range(from, to);
                const answer = await editor.request<{ data: number[] } | null>('textDocument/semanticTokens/range', { range });
                if (view.state.doc !== doc) {
                    return;
                }
                this.decorations = editor.decorated(answer?.data ?? []);
                // Shows them.
                view.dispatch({});
            }
        }, { decorations: (plugin) => plugin.decorations });
    }

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
