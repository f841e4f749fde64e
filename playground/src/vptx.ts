// The page's side of the worker: questions about an instruction, and the language server.

import type { Transport } from '@codemirror/lsp-client';

/** What the page asks of the worker: a call of a function, or a message for the language server. */
export type Asked =
    | { id: number; name: string; values: unknown[] }
    | { message: string; method: string };

/** What the worker answers. `unloaded` means that a file could not be loaded, after which the worker
 * may be lost; `broken` means that it stopped and never answers again. */
export type Told =
    | { id: number; result: unknown }
    | { id: number; error: string }
    | { messages: string[] }
    | { unloaded: string; isLost: boolean }
    | { broken: string };

export type Semantics = 'manual' | 'ptxas-12' | 'ptxas-13';
export const SEMANTICS: Semantics[] = ['manual', 'ptxas-12', 'ptxas-13'];

export interface Word {
    hex: string;
    unsigned: number;
    signed: number;
}

export interface Evaluation {
    instruction: string;
    results: Record<Semantics, Word>;
}

export interface Cost {
    target: string;
    ptxas: number;
    rewritten: number;
}

interface Waiting {
    done: (result: string) => void;
    failed: (error: Error) => void;
}

export class Vptx implements Transport {
    private worker: Worker;
    private readonly waiting = new Map<number, Waiting>();
    private handlers: ((message: string) => void)[] = [];
    private asked = 0;

    constructor(
        private readonly unloaded: (why: string, isLost: boolean) => void,
        private readonly broken: (why: string) => void,
    ) {
        this.worker = this.start();
    }

    private start(): Worker {
        const worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });
        worker.addEventListener('message', ({ data }: MessageEvent<Told>) => {
            if ('broken' in data) {
                this.broken(`vptx stopped at this text, which is a bug: ${data.broken}.`);
            } else if ('unloaded' in data) {
                this.unloaded(data.unloaded, data.isLost);
            } else if ('messages' in data) {
                for (const message of data.messages) {
                    this.handlers.forEach((handler) => handler(message));
                }
            } else {
                const waiting = this.waiting.get(data.id);
                this.waiting.delete(data.id);
                if ('error' in data) {
                    waiting?.failed(new Error(data.error));
                } else {
                    waiting?.done(data.result as string);
                }
            }
        });
        // A worker whose own file cannot be loaded has no message.
        worker.addEventListener('error', ({ message }) => this.broken(message ?? 'A part of the page cannot be loaded.'));
        return worker;
    }

    /** Starts another worker in the place of a lost one. */
    restart(): void {
        this.worker.terminate();
        this.worker = this.start();
    }

    private ask(asked: Asked): void {
        this.worker.postMessage(asked);
    }

    private call(name: string, ...values: unknown[]): Promise<string> {
        this.asked += 1;
        const id = this.asked;
        return new Promise((done, failed) => {
            this.waiting.set(id, { done, failed });
            this.ask({ id, name, values });
        });
    }

    send(message: string): void {
        const parsed = JSON.parse(message);
        // JSON of a lone surrogate is not JSON of any text in UTF-8.
        if (/\\ud[89a-f]/.test(message)) {
            message = JSON.stringify(parsed, (_, value) => (typeof value === 'string' ? value.toWellFormed() : value));
        }
        this.ask({ message, method: parsed.method ?? '' });
    }

    subscribe(handler: (message: string) => void): void {
        this.handlers.push(handler);
    }

    unsubscribe(handler: (message: string) => void): void {
        this.handlers = this.handlers.filter((other) => other !== handler);
    }

    /** The registers that are read as a, b and c. */
    async sources(instruction: string): Promise<(string | null)[]> {
        return JSON.parse(await this.call('sources', instruction));
    }

    /** Values are like `a=0x1`. */
    async evaluate(instruction: string, values: string[]): Promise<Evaluation> {
        return JSON.parse(await this.call('evaluate', instruction, values));
    }

    lanes(instruction: string, values: string[] | undefined, semantics: Semantics): Promise<string> {
        return this.call('lanes', instruction, values, semantics);
    }

    trace(instruction: string, values: string[], semantics: Semantics): Promise<string> {
        return this.call('trace', instruction, values, semantics);
    }

    program(instruction: string, semantics: Semantics): Promise<string> {
        return this.call('program', instruction, semantics);
    }

    cFunction(instruction: string, semantics: Semantics): Promise<string> {
        return this.call('cFunction', instruction, semantics);
    }

    llvmFunction(instruction: string, semantics: Semantics, architecture: string): Promise<string> {
        return this.call('llvmFunction', instruction, semantics, architecture);
    }

    ordinary(instruction: string, semantics: Semantics, target: string): Promise<string> {
        return this.call('ordinary', instruction, semantics, target);
    }

    async costs(instruction: string): Promise<Cost[]> {
        return JSON.parse(await this.call('costs', instruction));
    }

    rewrite(text: string, semantics: Semantics, target?: string): Promise<string> {
        return this.call('rewrite', text, semantics, target);
    }

    async port(text: string, semantics: Semantics): Promise<{ text: string; header: string }> {
        return JSON.parse(await this.call('port', text, semantics));
    }

    tree(text: string): Promise<string> {
        return this.call('tree', text);
    }

    explain(subject: string, target: string): Promise<string> {
        return this.call('explain', subject, target);
    }
}
