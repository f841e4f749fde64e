// What visitors of a page do, in stages: first they read the findings of PTX and go on typing. Then
// they hover, take fixes and completions, format, look at lanes, and use other languages.

import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as vptx from './pkg/vptx_wasm_bg.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const LANGUAGES = { ptx: 'ptx', cu: 'cuda', py: 'python' };

/** Texts above this length are left out: they would run no other functions. */
const LONGEST = 100_000;

/** The only finding whose fix is ordinary PTX before costs are known. */
const WITH_ORDINARY = 'V512';

function texts() {
    const names = readdirSync(`${ROOT}fixtures`, { recursive: true }).sort();
    const all = names.map((name) => ({ uri: `untitled:${name}`, name, languageId: LANGUAGES[extname(name).slice(1)] }));
    const read = (it) => ({ ...it, text: readFileSync(`${ROOT}fixtures/${it.name}`, 'utf8') });
    return all.filter((it) => it.languageId).map(read).filter(({ text }) => text.length < LONGEST);
}

/** Runs a module with additional `imports`. `started` is called with the number of each stage. */
export async function session(bytes, imports, started) {
    const { instance } = await WebAssembly.instantiate(bytes, { './vptx_wasm_bg.js': vptx, ...imports });
    vptx.__wbg_set_wasm(instance.exports);
    instance.exports.__wbindgen_start();
    const server = new vptx.Server();
    const send = (message) => server.handle(JSON.stringify({ jsonrpc: '2.0', ...message })).map((it) => JSON.parse(it));
    const tell = (method, params) => send({ method, params });
    const ask = (method, params) => send({ id: 1, method, params }).find(({ id }) => id === 1).result;
    const all = texts();

    started(0);
    const capabilities = { textDocument: { diagnostic: {}, completion: { completionItem: { snippetSupport: true } } } };
    ask('initialize', { capabilities });
    tell('initialized', {});
    const first = all.filter((it) => it.languageId === 'ptx' && !it.name.includes(WITH_ORDINARY));
    for (const { uri, languageId, text } of first) {
        const textDocument = { uri };
        const start = { line: 1, character: 0 };
        const range = { start, end: { line: 50, character: 0 } };
        const change = { range: { start, end: start }, text: ' ' };
        const command = { command: 'vptx.instructions', arguments: [{ textDocument, range }] };
        tell('textDocument/didOpen', { textDocument: { uri, languageId, version: 1, text } });
        tell('textDocument/didChange', { textDocument: { uri, version: 2 }, contentChanges: [change] });
        ask('textDocument/diagnostic', { textDocument });
        ask('textDocument/semanticTokens/range', { textDocument, range });
        ask('workspace/executeCommand', command);
        tell('textDocument/didClose', { textDocument });
    }

    started(1);
    vptx.loadCosts(readFileSync(`${ROOT}src/backend/ptx/costs.txt`, 'utf8'));
    for (const { uri, languageId, text } of all) {
        const textDocument = { uri };
        const range = { start: { line: 0, character: 0 }, end: { line: text.length, character: 0 } };
        const command = { command: 'vptx.instructions', arguments: [{ textDocument, range }] };
        tell('textDocument/didOpen', { textDocument: { uri, languageId, version: 1, text } });
        const found = ask('textDocument/diagnostic', { textDocument }).items;
        ask('textDocument/semanticTokens/range', { textDocument, range });
        ask('textDocument/formatting', { textDocument, options: { tabSize: 4, insertSpaces: true } });
        const instructions = ask('workspace/executeCommand', command);
        for (const it of [...found, ...instructions].slice(0, 6)) {
            ask('textDocument/codeAction', { textDocument, range: it.range, context: { diagnostics: [], only: ['quickfix'] } });
            const { line, character } = it.range.start;
            for (let at = character; at < character + 40; at += 5) {
                const position = { line, character: at };
                ask('textDocument/hover', { textDocument, position });
                ask('textDocument/completion', { textDocument, position });
                ask('textDocument/signatureHelp', { textDocument, position });
            }
        }
        instructions.slice(0, 3).forEach((it) => look(it.text));
        tell('textDocument/didClose', { textDocument });
    }
}

function look(instruction) {
    let names;
    try {
        names = JSON.parse(vptx.sources(instruction)).filter((name) => name !== null);
    } catch {
        // An instruction of an `asm`, with placeholders.
        return;
    }
    const values = [...new Set(names)].map((name) => `${name}=0x80ff017f`);
    vptx.evaluate(instruction, values);
    vptx.lanes(instruction, values, 'manual');
    vptx.costs(instruction);
}
