// The page in Chromium: examples, findings, fixes, lanes, links, accessibility.
//
// usage: node tests/page.mjs PROGRAM [--quick] [--shots FOLDER]

import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import assert from 'node:assert/strict';
import { browser, host } from './host.mjs';

const [program, ...options] = process.argv.slice(2);
const quick = options.includes('--quick');
const shots = options.includes('--shots') ? options[options.indexOf('--shots') + 1] : undefined;
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const { url, close } = await host();
const chromium = await browser();
let checks = 0;
const check = (made, ...expected) => {
    checks += 1;
    assert.deepEqual(made, ...expected);
};

/** A page that fails the test on errors and on requests to other hosts. */
async function opened(fragment, { width = 1280, colorScheme = 'light' } = {}) {
    const context = await chromium.newContext({ viewport: { width, height: 800 }, colorScheme });
    const page = await context.newPage();
    page.setDefaultTimeout(15_000);
    const troubles = [];
    page.on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) {
            troubles.push(message.text());
        }
    });
    page.on('pageerror', (error) => troubles.push(String(error)));
    page.on('request', (request) => {
        if (!request.url().startsWith(url)) {
            troubles.push(`a request to ${request.url()}`);
        }
    });
    await page.goto(url + fragment);
    await page.waitForSelector('body[data-ready]');
    const done = async () => {
        check(troubles, []);
        await context.close();
    };
    return { page, done };
}

const fragment = (parts) => `#${new URLSearchParams(parts)}`;

/** The findings of the page, once they are there. */
async function findings(page, count) {
    await page.waitForFunction((wanted) => document.body.dataset.findings === String(wanted), count);
    return page.locator('#findings .severity').allTextContents();
}

async function violations(page) {
    // The page allows no foreign script; this one is injected by the browser.
    await page.evaluate(axe);
    const found = await page.evaluate(async () => (await globalThis.axe.run()).violations);
    return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 150)).join(' | ')}`);
}

async function picture(page, { width, colorScheme }, name) {
    if (shots) {
        mkdirSync(shots, { recursive: true });
        await page.screenshot({ path: join(shots, `${width}-${colorScheme}-${name}.png`), fullPage: true });
    }
}

async function examples() {
    const looks = quick
        ? [{ width: 390, colorScheme: 'dark' }]
        : [390, 1280].flatMap((width) => ['light', 'dark'].map((colorScheme) => ({ width, colorScheme })));
    for (const look of looks) {
        const { page, done } = await opened('', look);
        const names = await page.locator('#example option').allTextContents();
        check(names.length > 6, true);
        for (const name of names.slice(1)) {
            await page.selectOption('#example', name);
            await page.waitForSelector('body[data-ready]');
            await page.waitForFunction(() => document.querySelector('[role=tabpanel]:not([hidden])').dataset.instruction);
            const isWide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
            check(isWide, false, `${name} is wider than ${look.width} pixels`);
            check(await violations(page), [], name);
            await picture(page, look, `${names.indexOf(name)}`);
            for (const tab of quick ? [] : await page.getByRole('tab').all()) {
                await tab.click();
                await page.waitForTimeout(150);
                check(await page.locator('[role=tabpanel]:not([hidden]) .trouble').filter({ hasText: /./ }).count(), 0, name);
                const title = await tab.textContent();
                check(await violations(page), [], `${name}, ${title}`);
                if (name === 'asm in CUDA') {
                    await picture(page, look, title);
                }
            }
        }
        await done();
    }
}

async function fixes() {
    const { page, done } = await opened(fragment({ text: 'vadd4.sat.u32.u32.u32 d, a, b, c;\n' }));
    const [first] = await findings(page, 1);
    check(/^\w+ V\d+$/.test(first), true, first);
    check(await page.locator('.cm-lintRange').count() > 0, true);
    const preferred = page.locator('#findings .preferred');
    await preferred.click();
    await findings(page, 0);
    check(await page.locator('.cm-content').innerText().then((text) => text.trim()), 'vadd4.u32.u32.u32.sat d, a, b, c;');
    // A mistake is marked when it is typed; then another text is typed, with the keyboard alone.
    await page.locator('.cm-content').click();
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.type('vadd4.u32.u32.u32 d, a, b;');
    await page.waitForSelector('.cm-lintRange');
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.type('vmin2.sat.u32.u32.u32 d, a, b, c;');
    await findings(page, 1);
    await page.locator('#fix').click();
    await page.waitForFunction(() => document.querySelector('#instruction').textContent.startsWith('vmin2.u32.u32.u32.sat'));
    // From a mistake to its fix and back by keys.
    await page.locator('.cm-content').click();
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.type('vset2.add.u32.u32.lt d, a, b, c;');
    await findings(page, 1);
    await page.keyboard.press('Escape');
    await page.keyboard.press('ControlOrMeta+.');
    await page.waitForSelector('#findings .preferred');
    for (let at = 0; at < 8; at += 1) {
        await page.keyboard.press('Tab');
        if (await page.evaluate(() => document.activeElement.className === 'preferred')) {
            break;
        }
    }
    await page.keyboard.press('Enter');
    await findings(page, 0);
    check(await page.evaluate(() => document.activeElement.className.includes('cm-content')), true);
    // Completion.
    await page.keyboard.press('Escape');
    await page.locator('.cm-content').click();
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.type('vabs');
    await page.waitForSelector('.cm-tooltip-autocomplete');
    check((await page.locator('.cm-tooltip-autocomplete li').allTextContents()).some((text) => text.includes('vabsdiff4')), true);
    await page.keyboard.press('Escape');
    await done();
}

async function formats() {
    const { page, done } = await opened(fragment({ text: '.version 8.5\n.target sm_90\n.func f(){.reg .b32 %r<4>;vadd.u32.u32.u32  %r0,%r1,%r2;ret;}\n' }));
    await page.locator('#format').click();
    await page.waitForFunction(() => document.querySelector('.cm-content').innerText.includes('%r0, %r1, %r2;'));
    await done();
}

async function hovers() {
    const { page, done } = await opened(fragment({ text: 'vavrg4.u32.u32.u32 d, a, b, c;\n', tab: 'program' }));
    await page.locator('.cm-line .tok-keyword, .cm-line .tok-function').first().hover();
    await page.waitForSelector('.cm-lsp-hover-tooltip');
    const text = await page.locator('.cm-lsp-hover-tooltip').innerText();
    // The costs were loaded in time.
    check(/machine instructions?/.test(text) && !/not measured/.test(text), true, text);
    await done();
}

/** If it is opened as a file, the page says that it needs a server. */
async function files() {
    const page = await chromium.newPage();
    await page.goto(new URL('../dist/index.html', import.meta.url).href);
    check(await page.locator('.unstarted').isVisible(), true);
    await page.close();
    const served = await opened('');
    check(await served.page.locator('.unstarted').isVisible(), false);
    await served.done();
}

const hex = (word) => `0x${word.toString(16).padStart(8, '0')}`;

const SIMD = ['vadd', 'vsub', 'vavrg', 'vabsdiff', 'vmin', 'vmax', 'vset'];
const MNEMONICS = [
    'vadd', 'vsub', 'vabsdiff', 'vmin', 'vmax', 'vshl', 'vshr', 'vmad', 'vset',
    ...SIMD.map((name) => `${name}2`), ...SIMD.map((name) => `${name}4`),
];

/** The program's test vectors of a mnemonic: instructions with inputs, and results of all
 * semantics. */
function vectors(mnemonic, count) {
    const args = ['conformance', '--format', 'json', '--count', `${count}`, '--mnemonic', mnemonic];
    const lines = execFileSync(program, args, { encoding: 'utf8' }).trim().split('\n');
    return lines.map((line) => JSON.parse(line)).filter(({ kind }) => kind === 'vector');
}

/** The word that a picture shows as the result, from its parts. */
function shown(picture) {
    return picture.locator('> div').evaluate((it) => {
        const boxes = [...it.shadowRoot.querySelectorAll('rect[data-box^=d]')];
        return boxes.reduce((sum, { dataset: { box, value } }) => {
            const [, kind, number] = /\.([bh])(\d)$/.exec(box) ?? [undefined, 'b', '0'];
            return sum + Number(value) * 2 ** (Number(number) * { b: 8, h: 16 }[kind]);
        }, 0);
    });
}

/** The pictures and the table, beside what the program computes. */
async function lanes() {
    const { page, done } = await opened('');
    for (const mnemonic of MNEMONICS) {
        for (const { instruction, results, ...words } of vectors(mnemonic, quick ? 1 : 6)) {
            const values = Object.fromEntries(['a', 'b', 'c'].map((name) => [name, hex(words[name])]));
            await page.evaluate((hash) => { window.location.hash = hash; }, fragment({ text: instruction, ...values }));
            await page.waitForFunction((wanted) => (
                document.querySelector('#panel-lanes').dataset.instruction === wanted.instruction
                && document.querySelector('.results tbody td')?.textContent === wanted.manual
            ), { instruction, manual: hex(results.manual) });
            for (const [semantics, word] of Object.entries(results)) {
                const row = page.locator(`.results tr[data-semantics="${semantics}"] td`);
                check(await row.allTextContents(), [hex(word), `${word}`, `${word | 0}`], instruction);
                const picture = page.locator(`.pictures [data-semantics~="${semantics}"]`);
                check(await shown(picture), word, `the picture of ${instruction}, ${semantics}`);
            }
        }
    }
    // The stages, one by one.
    const range = page.locator('.stages input');
    await range.focus();
    await page.keyboard.press('Home');
    const seen = () => page.locator('.pictures .scroll > div').first().evaluate((it) => (
        [...it.shadowRoot.querySelectorAll('rect')].filter(({ style }) => style.visibility !== 'hidden').length
    ));
    let before = await seen();
    const stages = Number(await range.getAttribute('max'));
    check(stages > 0, true);
    for (let at = 0; at < stages; at += 1) {
        await page.keyboard.press('ArrowRight');
        const now = await seen();
        check(now > before, true);
        before = now;
    }
    // An input that is no number is reported.
    await page.locator('.inputs input').first().fill('0x1g');
    await page.waitForFunction(() => document.querySelector('#panel-lanes .trouble').textContent.includes('is not a number'));
    await done();
}

async function links() {
    const text = `.version 8.5\n.target sm_90\n// ${'é😀 '.repeat(400)}\n.func f(.reg .b32 d, .reg .b32 a)\n{\n    vmin.s32.s32.s32 d, a, a;\n    vset4.u32.u32.lt d, a, a, a;\n}\n`;
    const state = { text, line: '7', tab: 'llvm', semantics: 'manual', architecture: 'aarch64', b: '7' };
    const { page, done } = await opened(fragment(state));
    await page.waitForFunction(() => document.querySelector('#panel-llvm').textContent.includes('aarch64'));
    await page.waitForFunction(() => window.location.hash.includes('z='));
    const link = new URL(page.url()).hash;
    await done();
    const other = await opened(link);
    const { page: again } = other;
    await again.waitForFunction(() => document.querySelector('#panel-llvm').textContent.includes('aarch64'));
    check(await again.textContent('#instruction'), 'vset4.u32.u32.lt d, a, a, a;');
    check(await again.inputValue('[name=semantics]'), 'manual');
    check(await again.getByRole('tab', { selected: true }).textContent(), 'LLVM IR');
    await again.getByRole('tab', { name: 'Lanes' }).click();
    check(await again.inputValue('.inputs [name=b]'), '7');
    await other.done();
    // A damaged link, and a text that would run a script if the page inserted it as HTML.
    const damaged = await opened('#z=AAAA');
    check(/damaged/.test(await damaged.page.textContent('#status')), true);
    await damaged.done();
    const hostile = '<img src=x onerror=alert(1)>`<img src=//elsewhere/x>`';
    const source = `asm("vadd.u32.u32.u32 %0, %1, %1;" : "=r"(${hostile}) : "r"(${hostile}));`;
    const cuda = await opened(fragment({ text: source, language: 'cuda' }));
    await cuda.page.locator('.cm-line').getByText('%1').first().hover();
    await cuda.page.waitForTimeout(700);
    check(await cuda.page.locator('.cm-tooltip img[onerror]').count(), 0);
    await cuda.done();
}

try {
    const only = options.includes('--only') ? options[options.indexOf('--only') + 1].split(',') : undefined;
    for (const part of [fixes, formats, hovers, files, links, lanes, examples].filter(({ name }) => only?.includes(name) ?? true)) {
        const start = performance.now();
        await part();
        console.log(`${part.name}: ${((performance.now() - start) / 1000).toFixed(1)} s`);
    }
} finally {
    await chromium.close();
    close();
}
console.log(`${checks} checks of the page`);
