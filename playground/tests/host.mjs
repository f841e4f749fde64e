// A static host for the page, and a browser.

import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const DIST = fileURLToPath(new URL('../dist/', import.meta.url));

const TYPES = {
    '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css',
    '.wasm': 'application/wasm', '.txt': 'text/plain',
};

/** Serves the page from a subfolder, as a host with other pages would. */
export async function host() {
    const server = createServer(async ({ url }, answer) => {
        const path = normalize(decodeURIComponent(new URL(url, 'http://host').pathname));
        try {
            if (!path.startsWith('/in/a/folder/')) {
                throw new Error(path);
            }
            const name = path.slice('/in/a/folder/'.length) || 'index.html';
            const content = await readFile(join(DIST, name));
            const type = TYPES[extname(name)] ?? 'application/octet-stream';
            answer.writeHead(200, { 'content-type': type, 'cache-control': 'max-age=600' });
            answer.end(content);
        } catch {
            answer.writeHead(404).end();
        }
    });
    await new Promise((done) => server.listen(0, '127.0.0.1', done));
    const { port } = server.address();
    return { url: `http://127.0.0.1:${port}/in/a/folder/`, close: () => server.close() };
}

export function browser() {
    const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
    return chromium.launch({ executablePath, args: ['--no-sandbox'] });
}
