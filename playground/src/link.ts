// What the fragment of the address keeps: `#text=…&language=ptx&tab=lanes&a=0x1&…`. A long text is
// compressed: `z` is the text in raw deflate, in base64url.

import { SEMANTICS, type Semantics } from './vptx';

export const LANGUAGES = ['ptx', 'cuda', 'python'] as const;
export type LanguageName = (typeof LANGUAGES)[number];

export const TABS = ['lanes', 'ptx', 'program', 'c', 'llvm', 'tree'] as const;
export type TabName = (typeof TABS)[number];

export const ARCHITECTURES = ['any', 'nvptx64', 'x86_64', 'aarch64', 'amdgcn'] as const;

export interface State {
    text: string;
    language: LanguageName;
    tab: TabName;
    /** What a, b and c hold, as typed. */
    values: [string, string, string];
    semantics: Semantics;
    /** The GPU for ordinary PTX. */
    target: string;
    /** The processor for LLVM IR. */
    architecture: (typeof ARCHITECTURES)[number];
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

/** A link whose text is longer than this is damaged or hostile. */
const MOST = 4 << 20;

async function packed(text: string): Promise<string> {
    const stream = new Blob([text]).stream().pipeThrough(new CompressionStream('deflate-raw'));
    const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
    let binary = '';
    for (const byte of bytes) {
        binary += String.fromCharCode(byte);
    }
    return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

async function unpacked(text: string): Promise<string> {
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(binary, (c) => c.charCodeAt(0));
    let at = 0;
    // In small pieces: a stream unpacks the whole of each piece before anything can stop it.
    const pieces = new ReadableStream<BufferSource>({
        pull: (out) => (at < bytes.length ? out.enqueue(bytes.subarray(at, at += 1024)) : out.close()),
    });
    const reader = pieces.pipeThrough(new DecompressionStream('deflate-raw'))
        .pipeThrough(new TextDecoderStream('utf-8', { fatal: true })).getReader();
    let whole = '';
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
        whole += part.value;
        if (whole.length > MOST) {
            await reader.cancel();
            throw new Error('too long');
        }
    }
    return whole;
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

/** What a text in a language has near its start. */
const SIGNS: Record<LanguageName, RegExp> = {
    ptx: /^[ \t]*(\.version\s+\d|\.target\s+sm_|(@!?\S+[ \t]+)?v[a-z]+[24]?(\.\w+)*\.[su]32\b)/m,
    cuda: /^[ \t]*(#include\b|template\s*<|(extern\s+"C"\s+)?__(global|device)__\b)|\basm\s*(volatile\s*)?\(/m,
    python: /^[ \t]*(import \w+|from [\w.]+ import |def \w+\(|@\w+\.jit\b)/m,
};

/** The language that a text plainly is in, if that is another one than it is read in. */
export function otherLanguage({ text, language }: State): LanguageName | undefined {
    const start = text.slice(0, 20_000);
    return SIGNS[language].test(start) ? undefined : LANGUAGES.find((one) => SIGNS[one].test(start));
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
        semantics: oneOf(SEMANTICS, parts.get('semantics')) ?? START.semantics,
        target: /^sm_\d{2,3}[af]?$/.exec(parts.get('target') ?? '')?.[0] ?? START.target,
        architecture: oneOf(ARCHITECTURES, parts.get('architecture')) ?? START.architecture,
        line: Number.isInteger(line) && line > 0 ? line : START.line,
    };
}
