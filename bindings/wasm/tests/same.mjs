// Compares the WebAssembly module with the program: their outputs must be the same.
//
// usage: node tests/same.mjs PROGRAM [--quick]

import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import init, * as vptx from '../pkg/vptx_wasm.js';

const [program, form] = process.argv.slice(2);
const quick = form === '--quick';
const root = fileURLToPath(new URL('../../../', import.meta.url));
const file = (path) => readFileSync(join(root, path));
await init(readFileSync);

const counts = {};
let wrong = 0;

function same(what, where, own, theirs) {
    counts[what] = (counts[what] ?? 0) + 1;
    if (own !== theirs) {
        wrong += 1;
        const [one, other] = [own, theirs].map((it) => String(it ?? 'no answer'));
        const at = [...one].findIndex((c, index) => c !== other[index]);
        const near = (text) => JSON.stringify(text.slice(Math.max(at - 60, 0), at + 60));
        console.error(`${what} of ${where} differ:\n  wasm     ${near(one)}\n  program  ${near(other)}`);
    }
}

/** Standard output, whatever the exit status; nothing if the program could not run. */
function run(...args) {
    const options = { cwd: empty, encoding: 'utf8', maxBuffer: 1 << 30, stdio: ['pipe', 'pipe', 'ignore'] };
    try {
        return execFileSync(program, args, options);
    } catch (error) {
        return error.status === 1 ? error.stdout : undefined;
    }
}

/** What a function returns, or nothing if it throws. */
function tried(made) {
    try {
        return made();
    } catch {
        return undefined;
    }
}

const LANGUAGES = {
    ptx: 'ptx', cu: 'cuda', cuh: 'cuda', cl: 'cuda', cpp: 'cuda', c: 'cuda', hpp: 'cuda',
    py: 'python', mojo: 'mojo', rs: 'rust', jl: 'julia', zig: 'zig',
};

/** The fixtures that are UTF-8. */
function fixtures() {
    const names = readdirSync(join(root, 'fixtures'), { recursive: true }).sort();
    const all = names.map((name) => ({ name: `fixtures/${name}`, language: LANGUAGES[extname(name).slice(1)] }));
    const texts = all.filter(({ language }) => language).map((it) => ({ ...it, text: file(it.name).toString() }));
    return texts.filter(({ name, text }) => Buffer.from(text).equals(file(name)));
}

/** A language server of the program. */
class Client {
    constructor() {
        this.process = spawn(program, ['server'], { cwd: empty, stdio: ['pipe', 'pipe', 'inherit'] });
        this.buffer = Buffer.alloc(0);
        this.waiting = new Map();
        this.process.stdout.on('data', (data) => {
            this.buffer = Buffer.concat([this.buffer, data]);
            for (;;) {
                const end = this.buffer.indexOf('\r\n\r\n');
                const length = Number(/Content-Length: (\d+)/i.exec(this.buffer.subarray(0, Math.max(end, 0)))?.[1]);
                if (end < 0 || this.buffer.length < end + 4 + length) {
                    return;
                }
                const message = JSON.parse(this.buffer.subarray(end + 4, end + 4 + length));
                this.buffer = this.buffer.subarray(end + 4 + length);
                this.waiting.get(message.id)?.(message);
            }
        });
    }

    ask(message) {
        const text = JSON.stringify(message);
        this.process.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
        return message.id === undefined ? undefined : new Promise((done) => this.waiting.set(message.id, done));
    }
}

const empty = mkdtempSync(join(tmpdir(), 'vptx-same-'));
try {
    const all = fixtures();
    const server = new vptx.Server();
    const client = new Client();
    const sent = [];
    const tell = (method, params) => {
        const message = { jsonrpc: '2.0', method, params };
        server.handle(JSON.stringify(message));
        client.ask(message);
    };
    const ask = (where, method, params) => {
        const message = { jsonrpc: '2.0', id: sent.length, method, params };
        const own = server.handle(JSON.stringify(message)).map((it) => JSON.parse(it)).find(({ id }) => id === message.id);
        sent.push(client.ask(message).then((theirs) => {
            same(method, where, JSON.stringify(own.result ?? own.error), JSON.stringify(theirs.result ?? theirs.error));
        }));
        return own.result;
    };
    const askAll = ({ name, text, language }) => {
        const textDocument = { uri: `untitled:${name}` };
        const lines = text.split('\n');
        const whole = { start: { line: 0, character: 0 }, end: { line: lines.length, character: 0 } };
        tell('textDocument/didOpen', { textDocument: { ...textDocument, languageId: language, version: 1, text } });
        const found = ask(name, 'textDocument/diagnostic', { textDocument }).items;
        ask(name, 'textDocument/formatting', { textDocument, options: { tabSize: 4, insertSpaces: true } });
        ask(name, 'textDocument/semanticTokens/full', { textDocument });
        ask(name, 'textDocument/documentSymbol', { textDocument });
        ask(name, 'textDocument/inlayHint', { textDocument, range: whole });
        const command = { command: 'vptx.instructions', arguments: [{ textDocument, range: whole }] };
        const instructions = ask(name, 'workspace/executeCommand', command);
        const ranges = [...found.slice(0, quick ? 2 : 20), ...instructions.slice(0, quick ? 2 : 20)].map(({ range }) => range);
        for (const range of ranges) {
            const { line, character } = range.start;
            ask(name, 'textDocument/codeAction', { textDocument, range, context: { diagnostics: [] } });
            const length = lines[line]?.length ?? 0;
            for (let at = character; at < length; at += quick ? 16 : 5) {
                const position = { line, character: at };
                ask(name, 'textDocument/hover', { textDocument, position });
                ask(name, 'textDocument/completion', { textDocument, position });
                ask(name, 'textDocument/signatureHelp', { textDocument, position });
            }
        }
        tell('textDocument/didClose', { textDocument });
        return instructions.map((it) => it.text);
    };

    // Outputs that depend on costs are compared after these.
    const findings = new Map();
    for (const line of run('check', '--isolated', '--format', 'json', ...all.map(({ name }) => join(root, name))).split('\n')) {
        const path = line && JSON.parse(line).path;
        findings.set(path, `${findings.get(path) ?? ''}${line}\n`);
    }
    for (const { name, text, language } of all) {
        const path = join(root, name);
        same('findings', name, vptx.check(text, language, path), findings.get(path) ?? '');
    }
    vptx.loadCosts(file('src/backend/ptx/costs.txt').toString());

    ask('', 'initialize', { capabilities: { textDocument: { diagnostic: {} } } });
    tell('initialized', {});
    const instructions = new Set(all.flatMap(askAll));
    await Promise.all(sent);
    client.process.kill();

    const ptx = all.filter(({ language }) => language === 'ptx');
    const copy = join(empty, 'text.ptx');
    for (const { name, text } of quick ? ptx.filter((_, at) => at % 8 === 0) : ptx) {
        writeFileSync(copy, text);
        const each = (what, made, ...args) => {
            const own = tried(made);
            const theirs = run(...args, copy);
            // The program prints nothing to standard output where the library throws a reason.
            same(what, name, own ?? '', theirs ?? '');
        };
        each('normal forms', () => vptx.normalize(text), 'fmt', '--normalize');
        const rewritten = tried(() => vptx.rewrite(text, 'ptxas-13', 'sm_90'));
        if (rewritten === undefined) {
            // The library refuses a text with syntax errors; the program leaves such statements as
            // they are.
            same('refusals', name, vptx.check(text, 'ptx', name).includes('"severity":"error"'), true);
        } else {
            each('rewritten texts', () => rewritten, 'rewrite', '--quiet', '--target', 'sm_90');
        }
        each('trees', () => vptx.tree(text), 'tree');
        each('trees as JSON', () => vptx.treeJson(text), 'tree', '--format', 'json');
        run('fmt', copy);
        same('formatted texts', name, tried(() => vptx.format(text)) ?? text, readFileSync(copy, 'utf8'));
    }
    for (const { name, text } of all.filter(({ language }) => language === 'cuda')) {
        writeFileSync(join(empty, 'text.cu'), text);
        rmSync(join(empty, 'vptx_video.h'), { force: true });
        run('port', '--quiet', '--to', 'cuda', join(empty, 'text.cu'));
        same('ported texts', name, JSON.parse(vptx.port(text, 'ptxas-13')).text, readFileSync(join(empty, 'text.cu'), 'utf8'));
    }

    // Recorded inputs.
    const lines = file('fixtures/oracle/vectors.tsv').toString().split('\n').filter((line) => line && !line.startsWith('#'));
    const vectors = lines.filter((_, at) => at % (quick ? 50 : 5) === 0).map((line) => line.split('\t'));
    writeFileSync(join(empty, 'batch'), vectors.map((vector) => vector.slice(0, 4).join('\t')).join('\n'));
    const records = run('eval', '--batch', 'batch', '--semantics', 'all', '--format', 'json').trim().split('\n');
    const given = (text, words) => {
        const sources = JSON.parse(vptx.sources(text));
        return [...new Map(sources.flatMap((name, at) => (name === null ? [] : [[name, words[at]]])).toReversed())]
            .map(([name, word]) => `${name}=${word}`);
    };
    vectors.forEach(([text, ...words], at) => {
        const own = JSON.parse(vptx.evaluate(text, given(text, words)));
        // The batch repeats a text as it is.
        same('evaluations', text, JSON.stringify(own.results), JSON.stringify(JSON.parse(records[at]).results));
    });

    // Functions about one instruction.
    const every = [...instructions].filter((text) => !/[@%${]/.test(text));
    for (const text of every.filter((_, at) => at % (quick ? 100 : 5) === 0)) {
        const values = given(text, ['0x01ff7f80', '0x8081fe03', '0x00000005']);
        for (const semantics of ['manual', 'ptxas-12', 'ptxas-13']) {
            const chosen = ['--semantics', semantics];
            same('pictures', text, vptx.lanes(text, values, semantics), run('eval', text, ...values, ...chosen, '--format', 'svg'));
            same('steps', text, vptx.trace(text, values, semantics), run('eval', text, ...values, ...chosen, '--trace'));
            same('programs', text, vptx.program(text, semantics), run('lower', text, ...chosen, '--emit', 'ir'));
            same('functions of C', text, vptx.cFunction(text, semantics), run('lower', text, ...chosen, '--emit', 'c'));
            same('functions of LLVM', text, vptx.llvmFunction(text, semantics, 'any'), run('lower', text, ...chosen, '--emit', 'llvm'));
            for (const target of ['sm_90', 'sm_120f']) {
                const own = tried(() => vptx.ordinary(text, semantics, target)) ?? '';
                same('ordinary PTX', text, own, run('rewrite', '--quiet', text, ...chosen, '--target', target));
            }
        }
        same('pages', text, vptx.explain(text, 'sm_90'), run('explain', text));
    }
} finally {
    rmSync(empty, { recursive: true });
}
const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
console.log(Object.entries(counts).map(([what, count]) => `${what} ${count}`).join(', '));
console.log(`${total} comparisons, ${wrong} differ`);
process.exit(wrong > 0 ? 1 : 0);
