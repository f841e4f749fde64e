// Loads every page of a built book: no error in the console, no request to another server, nothing
// wider than the window, in light and dark.
// usage: node book_browser.cjs BOOK [PICTURES]

const fs = require('fs');
const http = require('http');
const path = require('path');
const { chromium } = require('playwright-core');

const TYPES = {
    '.css': 'text/css', '.html': 'text/html', '.js': 'text/javascript', '.json': 'application/json',
    '.svg': 'image/svg+xml', '.wasm': 'application/wasm', '.woff2': 'font/woff2',
};

// Pages of which pictures are taken.
const SHOWN = [
    'introduction', 'start/ci', 'checking', 'checking/known', 'rewriting/savings', 'rules', 'rules/v5',
    'instructions/vadd4', 'instructions/vset', 'selectors', 'targets', 'library/flow', 'commands',
];

function serve(root) {
    const server = http.createServer((request, response) => {
        const name = path.join(root, decodeURIComponent(new URL(request.url, 'http://x').pathname));
        if (!name.startsWith(root + path.sep) || !fs.existsSync(name) || !fs.statSync(name).isFile()) {
            response.writeHead(404).end();
            return;
        }
        response.writeHead(200, { 'Content-Type': TYPES[path.extname(name)] ?? 'text/plain' });
        fs.createReadStream(name).pipe(response);
    });
    return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

async function main(root, pictures) {
    const pages = fs.readdirSync(root, { recursive: true })
        .filter((name) => name.endsWith('.html') && !['404.html', 'print.html', 'toc.html'].includes(name))
        .sort();
    const server = await serve(root);
    const home = `http://127.0.0.1:${server.address().port}/`;
    const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
    const wrong = [];
    let loads = 0;
    for (const width of [1280, 390]) {
        for (const colorScheme of ['light', 'dark']) {
            const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
            const page = await context.newPage();
            let name = '';
            const report = (what) => wrong.push(`${name} (${width}, ${colorScheme}): ${what}`);
            page.on('console', (message) => {
                if (['error', 'warning'].includes(message.type())) report(message.text());
            });
            page.on('pageerror', (error) => report(error.message));
            page.on('requestfailed', (request) => {
                // Loading the next page aborts requests for the icon of the last page.
                const { errorText } = request.failure();
                if (errorText !== 'net::ERR_ABORTED') report(`${errorText}: ${request.url()}`);
            });
            page.on('response', (response) => {
                if (response.status() >= 400) report(`${response.status()} for ${response.url()}`);
            });
            page.on('request', (request) => {
                if (!request.url().startsWith(home) && !request.url().startsWith('data:')) {
                    report(`asks ${request.url()}`);
                }
            });
            for (name of pages) {
                await page.goto(home + name);
                const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
                if (wide > 0) report(`${wide} pixels wider than the window`);
                loads += 1;
                if (pictures && SHOWN.includes(name.replace('.html', ''))) {
                    const file = `${name.replace('.html', '').replaceAll('/', '-')}-${width}-${colorScheme}.png`;
                    await page.screenshot({ path: path.join(pictures, file), fullPage: true });
                }
            }
            await context.close();
        }
    }
    await browser.close();
    server.close();
    for (const line of wrong) console.error(line);
    console.log(`${pages.length} pages, ${loads} loads, ${wrong.length} errors`);
    if (wrong.length || pages.length < 50) process.exitCode = 1;
}

const [book, pictures] = process.argv.slice(2);
if (pictures) fs.mkdirSync(pictures, { recursive: true });
main(path.resolve(book), pictures);
