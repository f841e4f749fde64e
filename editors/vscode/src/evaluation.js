// The panel that evaluates an instruction. Values come from `vptx eval`; this file only finds the
// sources in the text of an instruction and cuts words into lanes.
'use strict';

const { execFile } = require('node:child_process');
const { randomBytes } = require('node:crypto');
const { promisify } = require('node:util');
const vscode = require('vscode');

const run = promisify(execFile);

const EXAMPLE = 'vadd4.u32.u32.u32 d, a, b, c;';

/** The lanes of a word, the highest first. */
function lanesOf(word, width, signed) {
    const letter = { 8: 'b', 16: 'h', 32: '' }[width];
    return Array.from({ length: 32 / width }, (_, at) => {
        const index = 32 / width - 1 - at;
        const bits = (word << (32 - width * (index + 1))) >>> (32 - width);
        const value = signed ? (bits << (32 - width)) >> (32 - width) : bits;
        const hex = `0x${bits.toString(16).padStart(width / 4, '0')}`;
        return { name: letter && letter + index, hex, value: String(value), note: '' };
    });
}

/** A value as `vptx eval` takes it, as an unsigned word; NaN for other texts. */
function wordOf(text) {
    const number = /^(-?)(0x[\da-f]+|0b[01]+|0o[0-7]+|\d+)$/i.exec(text.trim().replaceAll('_', ''));
    const value = number ? Number(`${number[1]}1`) * Number(number[2]) : NaN;
    const fits = Number.isInteger(value) && value >= -(2 ** 31) && value < 2 ** 32;
    return fits ? value >>> 0 : NaN;
}

/** A number of PTX as JavaScript writes it. */
function valueOf(literal) {
    return literal.replace(/U$/, '').replace(/^-?0(?=\d)/, '$&o');
}

/** The registers and literals of an instruction by operand, with the width and the sign of their lanes. */
function operandsOf(instruction) {
    const parts = /^\s*(?:@\S+\s+)?([a-z]+)([24]?)\.(\S+)\s+([^;]*)/.exec(instruction);
    if (!parts) {
        return [];
    }
    const types = parts[3].split('.').filter((name) => /^[su]32$/.test(name));
    // Comparisons have no type for their result.
    const [ofResult, ofA, ofB] = types.length < 3 ? ['u32', ...types] : types;
    const texts = parts[4].split(',').slice(0, 4).filter((text) => text.trim());
    return texts.map((text, at) => {
        const [, minus, name, selector] = /^\s*(-?)\s*(.*?)(?:\.([bh])\d+)?\s*$/.exec(text);
        const lanes = { 4: 8, 2: 16 }[parts[2]] ?? { b: 8, h: 16 }[selector];
        return {
            role: 'dabc'[at],
            name,
            literal: /^[\d(~!-]/.test(name) ? minus + name : undefined,
            width: lanes ?? 32,
            signed: [ofResult, ofA, ofB, ofResult][at] === 's32',
        };
    });
}

/** The lanes at the end of a trace, by name: the lanes of the result that were computed. */
function lanesOfTrace(trace) {
    const line = /^ {2}\S+\.([bh]\d) +0x[0-9a-f]+ +(-?\d+)(?: +(.*))?$/gm;
    const found = [...trace.matchAll(line)];
    return new Map(found.map(([, name, value, note]) => [name, { value, note: note ?? '' }]));
}

/** The output of the program. A message about a wrong instruction is an output, too. */
async function outputOf(program, options) {
    try {
        return (await run(program, options, { timeout: 10000 })).stdout;
    } catch (error) {
        if (error.code === 1) {
            return error.stdout;
        }
        const missing = error.code === 'ENOENT' && `cannot run \`${program}\`; set vptx.path`;
        throw new Error(missing || error.stderr?.trim().replace(/^vptx: /, '') || error.message);
    }
}

/** The results of an instruction: the manual's, and those of ptxas if they differ. */
async function resultsOf(program, instruction, inputs, signed) {
    const evaluate = (...options) =>
        outputOf(program, ['eval', '--color', 'never', ...options, '--', instruction, ...inputs]);
    const { results, error } = JSON.parse(await evaluate('--format', 'json', '--semantics', 'all'));
    if (error) {
        throw new Error(`${error.code}: ${error.message}`);
    }
    const trace = await evaluate('--trace');
    const computed = lanesOfTrace(trace);
    const [first] = computed.keys();
    const width = { b: 8, h: 16 }[first?.[0]] ?? 32;
    const rows = Object.entries(results)
        .filter(([label, { hex }]) => label === 'manual' || hex !== results.manual.hex)
        .map(([label, { hex, unsigned }]) => ({
            label: label === 'manual' ? '' : label,
            hex,
            lanes: lanesOf(unsigned, width, signed),
        }));
    rows[0].lanes = rows[0].lanes.map((lane) => ({ ...lane, ...computed.get(lane.name) }));
    return { rows, width, trace: trace.slice(trace.indexOf('\n\n') + 2) };
}

/** What the panel shows for an instruction and the values of its registers by name. */
async function answer(program, instruction, values) {
    const [result, ...found] = operandsOf(instruction);
    const valueFor = (name) => (Object.hasOwn(values, name) ? values[name] : '0');
    const names = new Set(found.filter(({ literal }) => !literal).map(({ name }) => name));
    const inputs = [...names]
        .map((name) => [name, valueFor(name)])
        .filter(([, value]) => value.trim())
        .map(([name, value]) => `${name}=${value.trim()}`);
    const shown = { name: result?.name ?? '', rows: [], trace: '', error: '' };
    let ofResult;
    try {
        const { width, ...rest } = await resultsOf(program, instruction, inputs, result?.signed);
        Object.assign(shown, rest);
        ofResult = width;
    } catch (error) {
        shown.error = error.message;
    }
    shown.sources = found.map(({ role, name, literal, width, signed }) => {
        const value = literal ?? valueFor(name);
        const word = wordOf(literal ? valueOf(literal) : value);
        // A merged or accumulated source is cut like the result.
        const own = role === 'c' ? ofResult ?? width : width;
        const lanes = isNaN(word) ? [] : lanesOf(word, own, signed);
        return { name, literal: Boolean(literal), value, lanes };
    });
    return shown;
}

function page(webview, folder) {
    const nonce = randomBytes(16).toString('base64');
    const uri = (name) => webview.asWebviewUri(vscode.Uri.joinPath(folder, name));
    return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
    content="default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'">
<meta name="viewport" content="width=device-width">
<link nonce="${nonce}" rel="stylesheet" href="${uri('evaluation-view.css')}">
<title>Evaluate</title>
</head>
<body>
<label for="instruction">Instruction</label>
<input id="instruction" spellcheck="false" autocomplete="off">
<p id="error" role="alert"></p>
<table>
<thead><tr><th>Operand</th><th>Value</th><th colspan="4">Lanes</th></tr></thead>
<tbody id="sources"></tbody>
<tbody id="results" aria-live="polite"></tbody>
</table>
<details id="steps" open><summary>Each step</summary><pre id="trace"></pre></details>
<script nonce="${nonce}" src="${uri('evaluation-view.js')}"></script>
</body>
</html>`;
}

/** One panel, which is made when it is first needed. */
class Evaluations {
    constructor(context, program, instructionHere) {
        this.folder = vscode.Uri.joinPath(context.extensionUri, 'dist');
        this.program = program;
        this.instructionHere = instructionHere;
        this.panel = undefined;
    }

    /** Shows the panel with the instruction at the cursor. */
    async show() {
        const found = await this.instructionHere();
        if (this.panel) {
            this.panel.reveal();
            // If there is no instruction at the cursor, the one that the user typed stays.
            if (found) {
                this.panel.webview.postMessage({ open: found });
            }
            return;
        }
        this.panel = vscode.window.createWebviewPanel(
            'vptx.evaluation',
            'Evaluate',
            vscode.ViewColumn.Beside,
            { enableScripts: true, localResourceRoots: [this.folder], retainContextWhenHidden: true },
        );
        const { webview } = this.panel;
        this.panel.onDidDispose(() => (this.panel = undefined));
        webview.onDidReceiveMessage(async ({ ready, number, instruction, values }) => {
            const message = ready
                ? { open: found ?? EXAMPLE }
                : { number, ...(await answer(this.program(), instruction, values)) };
            // The panel may be closed while the program runs.
            this.panel?.webview.postMessage(message);
        });
        webview.html = page(webview, this.folder);
    }

    dispose() {
        this.panel?.dispose();
    }
}

module.exports = { Evaluations };
