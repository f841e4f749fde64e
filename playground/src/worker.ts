// Runs vptx outside of the page's thread, so that a large text never blocks typing.

import costsUrl from '../../src/backend/ptx/costs.txt?url';
import init, * as vptx from '../../bindings/wasm/pkg/vptx_wasm.js';
import type { Asked, Told } from './vptx';

/** The functions that need the measured costs. */
const NEED_COSTS = [
    'rewrite', 'ordinary', 'costs', 'explain',
    'textDocument/hover', 'textDocument/codeAction', 'textDocument/inlayHint',
];

const functions: Record<string, unknown> = { ...vptx };
let server: vptx.Server | undefined;
let costs: Promise<void> | undefined;

async function start(): Promise<vptx.Server> {
    await init();
    return new vptx.Server();
}

async function loadCosts(): Promise<void> {
    const answer = await fetch(costsUrl);
    if (!answer.ok) {
        throw new Error(`the costs cannot be loaded: ${answer.status}`);
    }
    vptx.loadCosts(await answer.text());
}

async function answer(asked: Asked): Promise<Told> {
    server ??= await start();
    if (NEED_COSTS.includes('method' in asked ? asked.method : asked.name)) {
        await (costs ??= loadCosts());
    }
    if ('message' in asked) {
        return { messages: server.handle(asked.message) };
    }
    const { id, name, values } = asked;
    try {
        const called = functions[name] as (...values: unknown[]) => unknown;
        return { id, result: called(...values) };
    } catch (error) {
        if (!(error instanceof Error) || error instanceof WebAssembly.RuntimeError) {
            throw error;
        }
        return { id, error: error.message };
    }
}

// One after the other: an edit comes before the questions about it.
let last = Promise.resolve();
self.addEventListener('message', ({ data }: MessageEvent<Asked>) => {
    last = last.then(async () => {
        try {
            const told = await answer(data);
            // The message of a change has no answer.
            if (!('messages' in told) || told.messages.length > 0) {
                self.postMessage(told);
            }
        } catch (error) {
            self.postMessage({ broken: String(error) } satisfies Told);
        }
    });
});
