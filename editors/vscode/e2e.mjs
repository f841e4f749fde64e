// What a user of Visual Studio Code does with the extension. `editors/vscode/e2e` runs this.

import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const tools = path.join(import.meta.dirname, '.e2e');
const { chromium } = createRequire(path.join(tools, 'package.json'))('playwright-core');
const { VPTX, VPTX_FOLDER, VPTX_CHROMIUM } = process.env;
const code = path.join(VPTX_FOLDER, 'code');
const data = path.join(VPTX_FOLDER, 'data');
const server = [
    path.join(tools, 'node_modules/code-server/out/node/entry.js'),
    '--user-data-dir', data,
    '--extensions-dir', path.join(VPTX_FOLDER, 'extensions'),
];

/** The group of editors that has the focus, and the one beside it. */
const ACTIVE = '.editor-group-container.active';
const BESIDE = '.editor-group-container:not(.active)';

let page;

function check(condition, message) {
    if (!condition) {
        throw new Error(message);
    }
}

/** Waits until an answer passes a check. If that takes too long, the error has the last answer. */
async function until(what, ask, good = (answer) => answer) {
    const end = Date.now() + 30000;
    for (;;) {
        const answer = await ask();
        if (good(answer)) {
            return answer;
        }
        check(Date.now() < end, `no ${what}${answer ? `, but: ${JSON.stringify(answer)}` : ''}`);
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
}

function seen(what, element) {
    return until(what, () => element.first().isVisible());
}

function gone(what, element) {
    return until(`end of ${what}`, async () => !(await element.count()));
}

/** Waits for the end of a process, and returns what it printed. */
function ended(child) {
    let text = '';
    child.stdout.on('data', (piece) => (text += piece));
    child.stderr.on('data', (piece) => (text += piece));
    return new Promise((resolve) => child.on('close', (status) => resolve({ status, text })));
}

async function install() {
    const vsix = path.join(import.meta.dirname, 'vptx.vsix');
    const { status, text } = await ended(spawn('node', [...server, '--install-extension', vsix]));
    check(status === 0 && text.includes('successfully installed'), `not installed: ${text}`);
}

/** Settings that keep the editor's notices and the blinking cursor out of the pictures. */
function configure(program) {
    const settings = {
        'vptx.path': program,
        'security.workspace.trust.enabled': false,
        'telemetry.telemetryLevel': 'off',
        'workbench.startupEditor': 'none',
        'workbench.tips.enabled': false,
        'editor.cursorBlinking': 'solid',
        'workbench.colorTheme': 'Default Dark Modern',
    };
    for (const place of ['User', 'Machine']) {
        mkdirSync(path.join(data, place), { recursive: true });
        writeFileSync(path.join(data, place, 'settings.json'), JSON.stringify(settings));
    }
}

/** Starts the server on a free port; reads the address from its output. */
async function serve() {
    const options = ['--auth', 'none', '--bind-addr', '127.0.0.1:0', '--disable-telemetry',
        '--disable-update-check', '--disable-getting-started-override'];
    // A separate process group: processes of the server outlive it, and write until they end.
    const child = spawn('node', [...server, ...options, code], { detached: true });
    const kill = () => process.kill(-child.pid);
    const interrupted = () => {
        kill();
        process.exit(1);
    };
    process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
    let printed = '';
    child.stdout.on('data', (piece) => (printed += piece));
    child.stderr.on('data', (piece) => (printed += piece));
    const address = /HTTP server listening on (http:\S+)\//;
    await until('server', () => printed, () => address.test(printed));
    const isGone = () => {
        try {
            return !process.kill(-child.pid, 0);
        } catch {
            return true;
        }
    };
    const stop = () => {
        kill();
        return until('end of the server', isGone);
    };
    return { stop, address: address.exec(printed)[1] };
}

/** Keeps a picture of the page once the page no longer changes: colours change late. */
async function picture(name) {
    const taken = () => page.screenshot({ animations: 'disabled' });
    let before = await taken();
    for (let more = 10; more > 0; more -= 1) {
        await new Promise((resolve) => setTimeout(resolve, 500));
        const now = await taken();
        more = before.equals(now) ? 0 : more;
        before = now;
    }
    writeFileSync(path.join(tools, 'pictures', `${name}.png`), before);
}

/** The lines of an editor: spaces are drawn as other characters. */
async function lines(group = ACTIVE) {
    const drawn = await page.$$eval(`${group} .view-line`, (all) =>
        all.map((line) => [line.getBoundingClientRect().top, line.textContent]));
    return drawn.sort(([one], [other]) => one - other)
        .map(([, text]) => text.replaceAll('\u00a0', ' '));
}

function textUntil(what, good, group = ACTIVE) {
    return until(what, () => lines(group), good);
}

async function command(title) {
    await page.keyboard.press('F1');
    await page.locator('.quick-input-widget input').fill(`>${title}`);
    const row = page.locator('.quick-input-list .monaco-list-row.focused', { hasText: title });
    await seen(`command ${title}`, row);
    await page.keyboard.press('Enter');
}

function tab(name, group = ACTIVE) {
    return page.locator(`${group} .tab.active[data-resource-name="${name}"]`);
}

async function open(name) {
    await page.locator('.explorer-folders-view').getByText(name, { exact: true }).dblclick();
    await seen(`editor of ${name}`, tab(name));
}

function squiggle(kind) {
    return page.locator(`${ACTIVE} .squiggly-${kind}`);
}

/** The place of a text in the line that has it, in pixels. */
async function place(text) {
    const box = await page.$$eval(`${ACTIVE} .view-line`, (all, wanted) => {
        for (const line of all) {
            const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
            while (walker.nextNode()) {
                const at = walker.currentNode.data.indexOf(wanted);
                if (at >= 0) {
                    const range = document.createRange();
                    range.setStart(walker.currentNode, at);
                    range.setEnd(walker.currentNode, at + wanted.length);
                    const { x, y, width, height } = range.getBoundingClientRect();
                    return { x: x + width / 2, y: y + height / 2 };
                }
            }
        }
        return null;
    }, text);
    check(box, `no ${text} in the editor`);
    return box;
}

async function click(text) {
    const { x, y } = await place(text);
    await page.mouse.click(x, y);
    // A mouse that rests makes hovers appear.
    await page.mouse.move(x, 780);
}

/** The words that appear while the mouse is on a text. */
async function hover(text, words) {
    const { x, y } = await place(text);
    await page.mouse.move(x, y, { steps: 5 });
    const shown = page.locator('.monaco-hover:not(.hidden) .monaco-hover-content');
    const all = async () => (await shown.allInnerTexts()).join('\n');
    return until(`hover with ${words}`, all, (answer) => answer.includes(words));
}

/** Opens the menu of fixes at the cursor, keeps a picture of the menu, and chooses a fix. */
async function fix(title, name) {
    await page.keyboard.press('Control+.');
    const focused = page.locator('.action-widget .monaco-list-row.focused');
    await seen('fixes', focused);
    await picture(name);
    const wanted = focused.filter({ hasText: title });
    for (let row = 0; !(await wanted.count()); row += 1) {
        check(row < 20, `no fix ${title}`);
        await page.keyboard.press('ArrowDown');
    }
    await page.keyboard.press('Enter');
}

async function inPtx() {
    await open('a.ptx');
    await seen('warning', squiggle('warning'));
    await picture('01-squiggle');
    await hover('vadd', 'What it computes');
    await picture('02-hover');
    await click('.sat');
    await fix('Put the modifiers in the documented order', '03-fixes');
    await textUntil('fixed line', (all) => all[4] === '  vadd.s32.s32.s32.sat a, b, a;');
    await gone('warning', squiggle('warning'));
    await picture('04-fixed');
    await command('Format Document');
    await textUntil('formatted text', (all) => all[6] === '    ret;');
    await picture('05-formatted');
}

async function program() {
    await click('vadd');
    await command('vptx: Show the program of this instruction');
    await seen('program', tab('program.txt', BESIDE));
    const all = await textUntil('program', (found) => found.length > 1, BESIDE);
    check(all[0] === '// vadd.s32.s32.s32.sat a, b, a;', `a program of ${all[0]}`);
    check(all.some((line) => line.includes('clamp')), `no clamp in ${all.join('; ')}`);
    await picture('06-program');
    await tab('program.txt', BESIDE).click({ button: 'middle' });
}

async function evaluation() {
    await open('a.ptx');
    await click('vadd');
    await command('vptx: Evaluate an instruction…');
    const panel = page.frameLocator('iframe.webview.ready').frameLocator('#active-frame');
    const instruction = panel.getByLabel('Instruction');
    const rows = async () => (await panel.locator('tr:visible').allInnerTexts())
        .map((row) => row.replace(/\s+/g, ' ').trim());
    const resultUntil = (row) => until(row, rows, (all) => all.includes(row));
    await until('instruction at the cursor', () => instruction.inputValue(),
        (text) => text === 'vadd.s32.s32.s32.sat a, b, a;');
    await panel.getByLabel('value of a').fill('0x7fffffff');
    await panel.getByLabel('value of b').fill('1');
    await resultUntil('b (a) 0x00000001 1');
    await resultUntil('d (a) 0x7fffffff 0x7fffffff 2147483647');
    await picture('07-evaluation');
    await instruction.fill('vadd4.s32.u32.s32.sat d.b310, a, b, c;');
    await panel.getByLabel('value of c').fill('0x00ff0000');
    await panel.getByLabel('value of a').fill('0x01020304');
    await panel.getByLabel('value of b').fill('-1');
    await resultUntil('a b3 0x01 1 b2 0x02 2 b1 0x03 3 b0 0x04 4');
    await resultUntil('b b3 0xff -1 b2 0xff -1 b1 0xff -1 b0 0xff -1');
    await resultUntil('d 0x00ff0203 b3 0x00 0 b2 0xff -1 from c b1 0x02 2 b0 0x03 3');
    await picture('08-lanes');
    await instruction.fill('vmad.u32.u32.u32.shr7 d, a, b, 3;');
    await resultUntil('d ptxas-13 0xfffdfbf9 0xfffdfbf9 4294835193');
    await picture('09-ptxas');
    // A constant expression is no input, and a register may be called as any word.
    await instruction.fill('vadd.u32.u32.u32 d, (1+2), constructor;');
    await resultUntil('b (constructor) 0x00000000 0');
    await resultUntil('d 0x00000003 0x00000003 3');
    await instruction.fill('vadd4.s32.u32.s32 d, a, b;');
    const error = panel.getByRole('alert');
    await until('error', () => error.innerText(), (text) => text.startsWith('V203: '));
    await picture('10-error');
    await page.locator('.tab', { hasText: 'Evaluate' }).click({ button: 'middle' });
}

async function inCuda() {
    await open('b.cu');
    await seen('error', squiggle('error'));
    await picture('11-cuda');
    await hover('vadd2', 'Meaning');
    await picture('12-cuda-hover');
    await click('sta');
    await fix('Write `.sat`', '13-cuda-fixes');
    const fixed = '"vadd2.s32.s32.s32.sat %0, %1, %2, %1;"';
    await textUntil('fixed line', (all) => all[2].includes(fixed));
    await gone('error', squiggle('error'));
    await picture('14-cuda-fixed');
}

async function explanation() {
    await command('vptx: Explain a code…');
    const input = page.locator('.quick-input-widget input');
    await seen('question', page.locator('.quick-input-message', { hasText: 'A code' }));
    await input.fill('V401');
    await page.keyboard.press('Enter');
    const shown = page.frameLocator('iframe.webview.ready').frameLocator('#active-frame');
    await seen('page of V401', shown.getByRole('heading', { name: 'V401' }));
    await picture('15-explanation');
    await page.locator('.tab', { hasText: 'V401' }).click({ button: 'middle' });
}

async function status(good) {
    await page.locator('#status\\.languageStatus').hover();
    const shown = page.locator('.hover-language-status');
    await until('status', async () => (await shown.allInnerTexts()).join('\n'), (text) => good.test(text));
}

async function withoutProgram() {
    configure(path.join(VPTX_FOLDER, 'none'));
    const toast = page.locator('.notification-toast');
    const texts = await until('error', () => toast.allInnerTexts(), (all) => all.length > 0);
    check(texts.length === 1 && texts[0].includes('there is no such program'), texts.join('; '));
    await picture('17-no-program');
    await status(/vptx has stopped/);
    configure(VPTX);
    await status(/vptx(?! has| is)/);
}

async function use() {
    await inPtx();
    await program();
    await evaluation();
    await inCuda();
    await explanation();
    await status(/vptx(?! has| is)/);
    await picture('16-status');
    await page.mouse.move(640, 600);
    await withoutProgram();
}

async function main() {
    configure(VPTX);
    await install();
    const { stop, address } = await serve();
    let browser;
    try {
        browser = await chromium.launch({ executablePath: VPTX_CHROMIUM });
        page = await browser.newPage({
            viewport: { width: 1280, height: 800 },
            reducedMotion: 'reduce',
        });
        page.setDefaultTimeout(30000);
        await page.goto(`${address}/?folder=${encodeURIComponent(code)}`);
        await use();
        console.log('Visual Studio Code: all is well');
    } catch (error) {
        process.exitCode = 1;
        console.error(`Visual Studio Code: ${error.stack}`);
        if (page) {
            await picture('failed');
            console.error(`See ${path.join(tools, 'pictures', 'failed.png')}`);
        }
    } finally {
        await browser?.close();
        await stop();
    }
}

await main();
