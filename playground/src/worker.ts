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
let hasCosts = false;

/** A file could not be loaded. */
class Unloaded extends Error {}
/** The file without which a call was interrupted; what that left may not be used. */
let lost: Unloaded | undefined;

async function loading(load: () => Promise<void>): Promise<void> {
    try {
        await load();
    } catch (error) {
        throw new Unloaded(error instanceof Error ? error.message : String(error));
    }
}

async function loadCosts(): Promise<void> {
    const answer = await fetch(costsUrl);
    if (!answer.ok) {
        throw new Error(`${answer.url} cannot be loaded: ${answer.status}`);
    }
    vptx.loadCosts(await answer.text());
}

/** Whether an error of a call means that a part of the module could not be loaded. */
function isPart(error: unknown): error is Error {
    return error instanceof DOMException
        || (error instanceof Error && /\.wasm cannot be loaded: \d+$/.test(error.message));
}

function call(asked: Asked, own: vptx.Server): Told {
    try {
        if ('message' in asked) {
            return { messages: own.handle(asked.message) };
        }
        const called = functions[asked.name] as (...values: unknown[]) => unknown;
        return { id: asked.id, result: called(...asked.values) };
    } catch (error) {
        if (isPart(error)) {
            lost = new Unloaded(error.message);
            throw lost;
        }
        if ('message' in asked || !(error instanceof Error) || error instanceof WebAssembly.RuntimeError) {
            throw error;
        }
        return { id: asked.id, error: error.message };
    }
}

async function answer(asked: Asked): Promise<Told> {
    if (lost) {
        throw lost;
    }
    // After a failure, the next question tries again.
    if (!server) {
        await loading(init);
        server = new vptx.Server();
    }
    if (!hasCosts && NEED_COSTS.includes('method' in asked ? asked.method : asked.name)) {
        await loading(loadCosts);
        hasCosts = true;
    }
    return call(asked, server);
}

/** The answer to a question that nothing can answer. */
function refusal(asked: Asked, message: string): Told {
    if ('name' in asked) {
        return { id: asked.id, error: message };
    }
    const { id } = JSON.parse(asked.message);
    const error = { code: -32603, message };
    return { messages: id === undefined ? [] : [JSON.stringify({ jsonrpc: '2.0', id, error })] };
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
            if (error instanceof Unloaded) {
                self.postMessage(refusal(data, error.message));
                self.postMessage({ unloaded: error.message, isLost: !server || error === lost } satisfies Told);
            } else {
                self.postMessage({ broken: String(error) } satisfies Told);
            }
        }
    });
});
