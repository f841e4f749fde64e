// Starts the language server, and has commands for what a server cannot show by itself.
'use strict';

const { execFile } = require('node:child_process');
const { existsSync } = require('node:fs');
const path = require('node:path');
const vscode = require('vscode');
const { LanguageClient, State } = require('vscode-languageclient/node');
const { Evaluations } = require('./evaluation');

const LANGUAGES = [
    'ptx', 'cuda-cpp', 'cuda', 'cpp', 'c', 'opencl', 'python', 'rust', 'julia', 'mojo', 'zig',
];

/** The lines in which an instruction at the cursor may end. */
const LINES = 10;

/** Options of the server; those that are not set are left out. */
const OPTIONS = [
    'config', 'target', 'ptxVersion', 'dialect', 'select', 'extendSelect', 'ignore', 'costs', 'hints',
    'laneHints',
];

/** The addresses of the pages to which codes of findings link; `Pages` serves these. */
const PAGES = 'vptx:/codes/{code}.md';

let client;
let status;
/** Resolves when the last start has ended. */
let turn = Promise.resolve();

/** The program that the settings name, or else that of the extension, or else that on the PATH. */
function program(context) {
    const chosen = vscode.workspace.getConfiguration('vptx').get('path');
    const name = process.platform === 'win32' ? 'vptx.exe' : 'vptx';
    const bundled = path.join(context.extensionPath, 'bin', name);
    return chosen || (existsSync(bundled) ? bundled : name);
}

function options() {
    const settings = vscode.workspace.getConfiguration('vptx');
    const set = OPTIONS.map((name) => [name, settings.get(name)]);
    return Object.fromEntries(set.filter(([, value]) => value !== null && value !== undefined));
}

function show(state) {
    const texts = {
        [State.Running]: ['vptx', vscode.LanguageStatusSeverity.Information],
        [State.Starting]: ['vptx is starting', vscode.LanguageStatusSeverity.Information],
        [State.Stopped]: ['vptx has stopped', vscode.LanguageStatusSeverity.Error],
    };
    [status.text, status.severity] = texts[state];
}

/** Why a program cannot be run; the client would say only that it has no connection. */
function trouble(command) {
    return new Promise((resolve) => {
        execFile(command, ['--version'], { timeout: 10000 }, resolve);
    });
}

async function report(message) {
    show(State.Stopped);
    const choice = await vscode.window.showErrorMessage(`vptx: ${message}`, 'Open settings');
    if (choice) {
        vscode.commands.executeCommand('workbench.action.openSettings', 'vptx.path');
    }
}

async function start(context) {
    const command = program(context);
    const error = await trouble(command);
    if (error) {
        const reason = error.code === 'ENOENT' ? 'there is no such program' : error.message;
        report(`cannot start \`${command}\`: ${reason}. Set vptx.path to the program vptx.`);
        return;
    }
    client = new LanguageClient(
        'vptx',
        'vptx',
        { command, args: ['server'] },
        {
            documentSelector: LANGUAGES.flatMap((language) => [
                { language, scheme: 'file' },
                { language, scheme: 'untitled' },
            ]),
            initializationOptions: { ...options(), pages: PAGES },
        },
    );
    client.onDidChangeState((event) => show(event.newState));
    try {
        await client.start();
    } catch (error) {
        report(`the server does not start: ${error.message}`);
    }
}

async function stop() {
    const old = client;
    client = undefined;
    try {
        await old?.dispose();
    } catch {
        // A client that did not start cannot be stopped.
    }
}

/** Settings may change while the server starts. */
function restart(context) {
    turn = turn.then(stop).then(() => start(context));
    return turn;
}

function explained(code) {
    return client?.sendRequest('workspace/executeCommand', {
        command: 'vptx.explain',
        arguments: [code],
    });
}

/** Texts that are shown but are no files. */
class Pages {
    constructor() {
        this.texts = new Map();
        this.changed = new vscode.EventEmitter();
        this.onDidChange = this.changed.event;
    }

    provideTextDocumentContent(uri) {
        const code = /^\/codes\/(\w+)\.md$/.exec(uri.path);
        return code ? explained(code[1]) : this.texts.get(uri.path) ?? '';
    }

    put(name, text) {
        const uri = vscode.Uri.from({ scheme: 'vptx', path: name });
        this.texts.set(uri.path, text);
        this.changed.fire(uri);
        return uri;
    }

    /** Shows a text beside the code; the cursor stays in the code. */
    async show(name, text) {
        const document = await vscode.workspace.openTextDocument(this.put(name, text));
        await vscode.window.showTextDocument(document, {
            preview: true,
            preserveFocus: true,
            viewColumn: vscode.ViewColumn.Beside,
        });
    }
}

async function showProgram(pages) {
    const editor = vscode.window.activeTextEditor;
    if (!editor || !client) {
        return;
    }
    const text = await client.sendRequest('workspace/executeCommand', {
        command: 'vptx.showProgram',
        arguments: [
            client.code2ProtocolConverter.asTextDocumentPositionParams(
                editor.document,
                editor.selection.active,
            ),
        ],
    });
    if (text) {
        await pages.show('/program.txt', text);
    } else {
        vscode.window.showInformationMessage('vptx: there is no legal video instruction here.');
    }
}

/** The legal instruction at the cursor, or else the first one that starts in its line. */
async function instructionHere() {
    const editor = vscode.window.activeTextEditor;
    if (!editor || !client) {
        return undefined;
    }
    const { textDocument, position } = client.code2ProtocolConverter.asTextDocumentPositionParams(
        editor.document,
        editor.selection.active,
    );
    const { line, character } = position;
    const range = { start: { line, character: 0 }, end: { line: line + LINES, character: 0 } };
    try {
        const all = await client.sendRequest('workspace/executeCommand', {
            command: 'vptx.instructions',
            arguments: [{ textDocument, range }],
        });
        const own = all.filter((it) => it.range.start.line <= line);
        const isAfter = ({ range: { end } }) => end.line > line || end.character >= character;
        return (own.find(isAfter) ?? own[0])?.text;
    } catch {
        // The panel works without a server.
        return undefined;
    }
}

async function explain(pages) {
    const code = await vscode.window.showInputBox({ prompt: 'A code, such as V501' });
    if (code && client) {
        const text = await explained(code);
        const page = pages.put(`/${code}.md`, text);
        await vscode.commands.executeCommand('markdown.showPreviewToSide', page);
    }
}

async function activate(context) {
    status = vscode.languages.createLanguageStatusItem(
        'vptx',
        LANGUAGES.map((language) => ({ language })),
    );
    status.name = 'vptx';
    status.command = { command: 'vptx.restart', title: 'Restart' };
    show(State.Starting);
    const pages = new Pages();
    const evaluations = new Evaluations(context, () => program(context), instructionHere);
    const command = (name, run) => vscode.commands.registerCommand(name, run);
    context.subscriptions.push(
        status,
        evaluations,
        vscode.workspace.registerTextDocumentContentProvider('vptx', pages),
        command('vptx.restart', () => restart(context)),
        command('vptx.showProgramHere', () => showProgram(pages)),
        command('vptx.explainCode', () => explain(pages)),
        command('vptx.evaluateHere', () => evaluations.show()),
        vscode.workspace.onDidChangeConfiguration((event) => {
            if (event.affectsConfiguration('vptx')) {
                restart(context);
            }
        }),
    );
    await restart(context);
}

function deactivate() {
    return turn.then(stop);
}

module.exports = { activate, deactivate };
