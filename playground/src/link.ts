// What the fragment of the address keeps: `#text=…&language=ptx&tab=lanes&a=0x1&…`. A long text is
// compressed: `z` is the text in raw deflate, in base64url.

export const LANGUAGES = ['ptx', 'cuda', 'python'] as const;
export type LanguageName = (typeof LANGUAGES)[number];

export const TABS = ['lanes', 'ptx', 'program', 'c', 'llvm', 'tree'] as const;
export type TabName = (typeof TABS)[number];

export interface State {
    text: string;
    language: LanguageName;
    tab: TabName;
    /** What a, b and c hold, as typed. */
    values: [string, string, string];
    semantics: string;
    /** The GPU for ordinary PTX. */
    target: string;
    /** The processor for LLVM IR. */
    architecture: string;
    /** The line of the cursor, from 1. */
    line: number;
}

export const START: State = {
    text: '',
    language: 'ptx',
    tab: 'lanes',
    values: ['0x01ff7f80', '0x02018001', '0x00000005'],
    semantics: 'ptxas-13',
    target: 'sm_90',
    architecture: 'any',
    line: 1,
};

/** Texts of this length and above are compressed. */
const LONG = 600;

/** A longer text, in characters, is not kept: browsers and mail cut such links. */
export const LONGEST = 200_000;

async function through(bytes: BlobPart, stream: CompressionStream | DecompressionStream) {
    return new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer();
}

async function packed(text: string): Promise<string> {
    const bytes = new Uint8Array(await through(text, new CompressionStream('deflate-raw')));
    let binary = '';
    for (const byte of bytes) {
        binary += String.fromCharCode(byte);
    }
    return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

async function unpacked(text: string): Promise<string> {
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(binary, (c) => c.charCodeAt(0));
    const stream = new DecompressionStream('deflate-raw');
    return new TextDecoder('utf-8', { fatal: true }).decode(await through(bytes, stream));
}

/** The fragment for a state, without its `#`. Values that are the defaults are left out. */
export async function written(state: State): Promise<string> {
    const parts = new URLSearchParams();
    if (state.text.length < LONG) {
        parts.set('text', state.text);
    } else {
        parts.set('z', await packed(state.text));
    }
    for (const key of ['language', 'tab', 'semantics', 'target', 'architecture', 'line'] as const) {
        if (state[key] !== START[key]) {
            parts.set(key, String(state[key]));
        }
    }
    ['a', 'b', 'c'].forEach((name, at) => {
        if (state.values[at] !== START.values[at]) {
            parts.set(name, state.values[at]);
        }
    });
    return parts.toString();
}

function oneOf<T extends string>(all: readonly T[], text: string | null): T | undefined {
    return all.find((one) => one === text);
}

/** The state of a fragment; nothing if it has no text. */
export async function read(fragment: string): Promise<State | undefined> {
    const parts = new URLSearchParams(fragment);
    const z = parts.get('z');
    let text = parts.get('text');
    try {
        text = z === null ? text : await unpacked(z);
    } catch {
        throw new Error('the link is damaged: its text cannot be read');
    }
    if (text === null) {
        return undefined;
    }
    const line = Number(parts.get('line'));
    const [a, b, c] = ['a', 'b', 'c'].map((name, at) => parts.get(name) ?? START.values[at]);
    return {
        text,
        language: oneOf(LANGUAGES, parts.get('language')) ?? START.language,
        tab: oneOf(TABS, parts.get('tab')) ?? START.tab,
        values: [a, b, c],
        semantics: parts.get('semantics') ?? START.semantics,
        target: parts.get('target') ?? START.target,
        architecture: parts.get('architecture') ?? START.architecture,
        line: Number.isInteger(line) && line > 0 ? line : START.line,
    };
}
