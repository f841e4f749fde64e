// The page in Chromium: examples, findings, fixes, lanes, links, accessibility.
//
// usage: node tests/page.mjs PROGRAM [--quick] [--shots FOLDER]

import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { deflateRawSync } from 'node:zlib';
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
async function opened(fragment, { width = 1280, height = 800, prepare = () => {}, ...look } = {}) {
    const context = await chromium.newContext({ viewport: { width, height }, ...look });
    const page = await context.newPage();
    await prepare(page);
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
    await page.waitForSelector('body[data-findings]');
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

/** Waits until the text of an element has something, or is it. */
async function says(page, selector, wanted) {
    const isSaid = ([name, source]) => new RegExp(source).test(document.querySelector(name).textContent);
    await page.waitForFunction(isSaid, [selector, wanted.source]).catch(async () => {
        check(await page.textContent(selector), wanted.source);
    });
}

const line = (page, number) => page.locator('.cm-line').nth(number - 1);
const content = async (page) => (await page.locator('.cm-line').allTextContents()).join('\n');

/** The instruction that is replaced is the shown one, by the shown PTX, or the button says why not. */
async function replaces() {
    const text = '// c\nvadd4.u32.u32.u32 d, a, b, c;\nvmax2.u32.u32.u32 p, q, r, s;\n';
    const { page, done } = await opened(fragment({ tab: 'ptx', line: '3', text }));
    const replace = page.getByText('Replace it in the source');
    await line(page, 1).click();
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    await replace.click();
    await page.waitForFunction(() => !document.querySelector('.cm-content').textContent.includes('vmax2'));
    check((await content(page)).startsWith('// c\n\n\nvadd4.u32.u32.u32 d, a, b, c;\n'), true);
    // The last instruction is forgotten once it is changed.
    await says(page, '#instruction', /^vadd4/);
    await done();
    const adjacent = await opened(fragment({ tab: 'ptx', text: 'vadd.u32.u32.u32 d, a, b;vavrg4.u32.u32.u32 d, a, b, c;' }));
    await adjacent.page.locator('.cm-content').press('ControlOrMeta+End');
    await says(adjacent.page, '#instruction', /^vavrg4/);
    await says(adjacent.page, '#panel-ptx', /vavrg4/);
    await adjacent.page.getByText('Replace it in the source').click();
    await adjacent.page.waitForFunction(() => /lop3/.test(document.querySelector('.cm-content').textContent));
    check((await content(adjacent.page)).startsWith('vadd.u32.u32.u32 d, a, b;{'), true);
    await adjacent.done();
    const differing = await opened(fragment({ tab: 'ptx', semantics: 'manual', text: 'vsub.s32.s32.s32.sat d.b2, a.b2, b.b2, c;' }));
    check(await differing.page.getByText('Replace it in the source').isDisabled(), true);
    await says(differing.page, '#panel-ptx', /would get other PTX/);
    await differing.page.selectOption('[name=semantics]', 'ptxas-13');
    await differing.page.waitForSelector('#panel-ptx p button:enabled');
    await differing.done();
}

/** Nothing stays that belongs to another instruction, or to none. */
async function leftovers() {
    const { page, done } = await opened(fragment({ text: 'vadd4.u32.u32.u32 d, a, b, c;\nvsub2.u32.u32.u32 d, x, y, z;\n' }));
    const isShown = () => page.locator('.results, .pictures, .stages').filter({ visible: true }).count();
    check(await isShown(), 3);
    await page.locator('.inputs input').first().fill('0x1g');
    await says(page, '.trouble', /is not a number/);
    check(await page.locator('.inputs input').first().getAttribute('aria-invalid'), 'true');
    await line(page, 2).click();
    await says(page, '#instruction', /^vsub2/);
    check(await isShown(), 0);
    await page.getByRole('button', { name: 'Random' }).click();
    await page.waitForFunction(() => document.querySelector('.results').checkVisibility());
    check(await isShown(), 3);
    await page.locator('.cm-content').press('ControlOrMeta+a');
    await page.keyboard.press('Delete');
    await says(page, '.nothing', /^Write an instruction/);
    check(await isShown(), 0);
    check(await page.locator('#instruction, .inputs, .trouble').filter({ visible: true, hasText: /./ }).count(), 0);
    check(await violations(page), []);
    // An instruction on two lines, with the cursor in the first one.
    await page.locator('.cm-content').pressSequentially('vmin2.u32.u32.u32\nd, a, b, c;');
    await page.locator('.cm-content').press('ControlOrMeta+Home');
    await says(page, '#instruction', /^vmin2/);
    await page.locator('.cm-content').press('ControlOrMeta+a');
    // Constants are no inputs.
    await page.locator('.cm-content').pressSequentially('vadd.s32.s32.s32 d, -1, 5;');
    await page.waitForFunction(() => document.querySelector('#panel-lanes').dataset.instruction.includes('-1, 5'));
    check(await isShown(), 3);
    check(await page.locator('.inputs').isVisible(), false);
    await done();
}

/** On a phone: neither a finding nor a long name moves or widens the page; messages are visible. */
async function phones() {
    const text = 'vadd4.sat.u32.u32.u32 d, a, b, c;\n'.repeat(14);
    const { page, done } = await opened(fragment({ text }), { width: 390, height: 480 });
    await findings(page, 14);
    await line(page, 12).click();
    await page.waitForSelector('#findings li:nth-child(12) details[open]');
    check(await page.evaluate(() => window.scrollY), 0);
    check(await page.locator('#findings li:nth-child(12)').textContent().then((it) => it.includes('line 12')), true);
    await done();
    const name = '%_ZN7cutlass4gemm6kernel12DefaultGemmIfLi4E_tmp';
    const long = await opened(fragment({ text: `vadd4.u32.u32.u32 d, ${name}0, ${name}1, ${name}2;` }), { width: 390 });
    check(await long.page.evaluate(() => document.documentElement.scrollWidth), 390);
    await long.page.locator('#fix').click();
    await says(long.page, '#status', /No finding has a safe fix/);
    check(await long.page.locator('#status').evaluate((it) => it.getBoundingClientRect().bottom <= window.innerHeight), true);
    await long.page.locator('.cm-content').press('Enter');
    await says(long.page, '#status', /^$/);
    await long.done();
}

async function hosts() {
    const { page, done } = await opened('');
    for (const [name, word] of [['asm in CUDA', 'vmax4'], ['asm in Triton', 'vavrg4']]) {
        await page.selectOption('#example', name);
        const inString = page.locator('.cm-line .tok-keyword').getByText(word);
        const own = await inString.evaluate((it) => getComputedStyle(it).color);
        check(own !== await page.locator('.tok-string').first().evaluate((it) => getComputedStyle(it).color), true, name);
    }
    // Undoing does not lead to the text of another language.
    await page.locator('.cm-content').press('ControlOrMeta+z');
    check((await content(page)).startsWith('import triton'), true);
    // PTX that is read as Python.
    await page.locator('.cm-content').press('ControlOrMeta+a');
    await page.keyboard.insertText('.version 8.5\n.target sm_90\n');
    await page.getByRole('button', { name: 'Read it as PTX' }).click();
    await page.waitForFunction(() => document.querySelector('#language').value === 'ptx');
    await page.waitForSelector('#other', { state: 'hidden' });
    await done();
}

/** The buttons of a finding are its own, and are for the text as it is. */
async function neighbours() {
    const { page, done } = await opened(fragment({ text: 'vadd.u32.u32.u32.add.sat d, a, b, c;\n' }));
    check(await findings(page, 2), ['warning V501', 'warning V401']);
    for (const [number, code] of [[1, 'V501'], [2, 'V401']]) {
        const details = page.locator(`#findings li:nth-child(${number}) details`);
        await details.evaluate((it) => { it.open = true; });
        await details.getByText(`Ignore ${code}`).first().waitFor();
        check(await details.locator('.preferred').count(), number - 1);
        check(await details.getByText('Ignore').count(), 2);
    }
    // The comment goes to where the line ends now.
    await page.locator('.cm-content').press('ControlOrMeta+Home');
    await page.keyboard.press('End');
    await page.keyboard.insertText(' vmin4.u32.u32.u32 d, a, b, c;');
    await says(page, '.cm-content', /vmin4/);
    await page.getByText(/^Ignore V401 .* here$/).click();
    await findings(page, 1);
    check((await content(page)).startsWith('vadd.u32.u32.u32.add.sat d, a, b, c; vmin4.u32.u32.u32 d, a, b, c; //'), true);
    await done();
}

/** In a large text, keys wait for no answer, and questions do not pile up. */
async function queues() {
    const count = () => {
        const waiting = new Set();
        window.most = 0;
        window.Worker = class extends Worker {
            constructor(...values) {
                super(...values);
                this.addEventListener('message', ({ data }) => {
                    data.messages?.forEach((it) => waiting.delete(JSON.parse(it).id));
                });
            }

            postMessage(asked) {
                if (asked.method === 'textDocument/diagnostic') {
                    waiting.add(JSON.parse(asked.message).id);
                    window.most = Math.max(window.most, waiting.size);
                }
                super.postMessage(asked);
            }
        };
    };
    const z = deflateRawSync('// nothing\n'.repeat(150_000)).toString('base64url');
    const { page, done } = await opened(`#z=${z}`, { prepare: (it) => it.addInitScript(count) });
    await page.locator('.cm-content').press('ControlOrMeta+Home');
    await page.keyboard.type('vadd4.sat.u32.u32.u32 d, a, b, c;');
    await findings(page, 1);
    check(await page.evaluate(() => window.most), 1);
    await done();
}

/** A button that cannot do its work says why. */
async function refusals() {
    const refuse = () => Object.defineProperty(navigator, 'clipboard', { value: undefined });
    const prepare = (page) => page.addInitScript(refuse);
    const { page, done } = await opened(fragment({ text: '.version 8.5\n.func f(){ {', tab: 'program' }), { prepare });
    await page.locator('#format').click();
    await says(page, '#status', /syntax error/);
    await page.locator('#share').click();
    check(await page.locator('#status input').inputValue(), page.url());
    await page.selectOption('#example', { index: 1 });
    await says(page, '#status', /^$/);
    await page.getByRole('tab', { name: 'Program' }).click();
    await page.locator('.copy').click();
    await says(page, '.copy', /It is selected/);
    check(await page.evaluate(() => getSelection().toString().includes('vadd4')), true);
    await done();
}

/** An example takes the place of a text, and Back returns it. Half a character stops nothing. */
async function returns() {
    const { page, done } = await opened(fragment({ text: 'vadd4.sat.u32.u32.u32 d, a, b, c; // mine\n' }));
    await page.locator('.cm-content').click();
    await page.keyboard.press('ControlOrMeta+End');
    await page.evaluate(() => document.execCommand('insertText', false, String.fromCharCode(0xd800)));
    await page.keyboard.type('\nvadd4.sat.u32.u32.u32 d, a, b, c;');
    await findings(page, 2);
    check(await page.textContent('#status'), '');
    await page.selectOption('#example', { index: 2 });
    await page.waitForSelector('body[data-ready]');
    check(/mine/.test(await page.textContent('.cm-content')), false);
    await page.goBack();
    await findings(page, 2);
    check(/mine/.test(await page.textContent('.cm-content')), true);
    await done();
}

/** A file that cannot be loaded is no bug, and may come later. */
async function downloads() {
    const answers = (file, status) => (page) => page.context().route(file, (route) => (
        status ? route.fulfill({ status }) : route.continue()
    ));
    for (const file of ['**/*.wasm', '**/costs*']) {
        const page = await chromium.newPage();
        await answers(file, 404)(page);
        await page.goto(`${url}#text=vavrg4.u32.u32.u32 d, a, b, c;&tab=ptx`);
        await says(page, '#status', /could not be loaded/);
        await answers(file)(page);
        await page.getByRole('button', { name: 'Retry' }).click();
        await says(page, '#panel-ptx', /lop3/);
        await says(page, '#findings-title', /^No findings/);
        await page.context().close();
    }
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
    // A text that no address can keep.
    await again.locator('.cm-content').press('ControlOrMeta+a');
    await again.evaluate((pasted) => {
        const clipboardData = new DataTransfer();
        clipboardData.setData('text/plain', pasted);
        document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true }));
    }, '// long\n'.repeat(30_000));
    await says(again, '#status', /too long for the address/);
    check(new URL(again.url()).hash, '');
    await other.done();
    // What a link names and the page does not have.
    const strange = await opened(fragment({ text: 'vadd4.u32.u32.u32 d, a, b, c;', tab: 'llvm', architecture: 'sparc', target: 'foo', language: 'rust' }));
    await says(strange.page, '#panel-llvm', /define/);
    await strange.done();
    const bomb = await opened(`#z=${deflateRawSync(Buffer.alloc(8e6, 120)).toString('base64url')}`);
    check(/damaged/.test(await bomb.page.textContent('#status')), true);
    await bomb.done();
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

const PARTS = [
    fixes, replaces, leftovers, phones, hosts, neighbours, queues, refusals, returns, downloads, formats, hovers, files, links, lanes,
    examples,
];
try {
    const only = options.includes('--only') ? options[options.indexOf('--only') + 1].split(',') : undefined;
    for (const part of PARTS.filter(({ name }) => only?.includes(name) ?? true)) {
        const start = performance.now();
        await part();
        console.log(`${part.name}: ${((performance.now() - start) / 1000).toFixed(1)} s`);
    }
} finally {
    await chromium.close();
    close();
}
console.log(`${checks} checks of the page`);
