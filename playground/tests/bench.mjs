// How fast the page is: from a key to the findings on a module of 10,000 lines, and from the
// start of a visit to an answer.
//
// usage: node tests/bench.mjs

import { deflateRawSync } from 'node:zlib';
import { browser, host } from './host.mjs';

const LINES = 10_000;
/** Milliseconds. */
const [KEY, START] = [30, 1000];

const { url, close } = await host();
const chromium = await browser();

function median(times) {
    return times.toSorted((one, other) => one - other)[times.length >> 1];
}

/** A module of kernels without findings, of which one line in ten is a video instruction. */
function large() {
    const lines = ['.version 8.5', '.target sm_90', '.address_size 64'];
    for (let number = 0; lines.length < LINES; number += 1) {
        lines.push(
            `.visible .entry k${number}(.param .u64 out, .param .u32 a, .param .u32 b)`, '{',
            '    .reg .b32 %r<8>;', '    .reg .b64 %rd<2>;', '    ld.param.u64 %rd0, [out];',
        );
        for (let at = 0; at < 8; at += 1) {
            lines.push(`    ld.param.u32 %r${at}, [${at % 2 ? 'b' : 'a'}];`);
        }
        for (let at = 0; at < 80; at += 1) {
            const [d, a, b] = [at, at + 1, at + 3].map((it) => `%r${it % 8}`);
            lines.push(at % 10
                ? `    mad.lo.u32 ${d}, ${a}, ${b}, ${d};`
                : `    vadd4.u32.u32.u32.sat ${d}, ${a}, ${b}, ${d};`);
        }
        for (let at = 0; at < 8; at += 1) {
            lines.push(`    st.global.u32 [%rd0+${4 * at}], %r${at};`);
        }
        lines.push('    ret;', '}', '');
    }
    return lines.join('\n');
}

async function keys() {
    const page = await chromium.newPage({ viewport: { width: 1280, height: 800 } });
    await page.goto(`${url}#line=5000&z=${deflateRawSync(large()).toString('base64url')}`);
    await page.waitForSelector('body[data-ready]');
    await page.locator('.cm-content').focus();
    await page.keyboard.press('End');
    await page.keyboard.type(' // ');
    await page.evaluate(() => {
        let start = 0;
        window.painted = [];
        window.found = [];
        window.addEventListener('keydown', () => {
            start = performance.now();
            requestAnimationFrame(() => setTimeout(() => window.painted.push(performance.now() - start)));
        }, { capture: true });
        // Each answer sets it again.
        new MutationObserver(() => window.found.push(performance.now() - start))
            .observe(document.body, { attributeFilter: ['data-findings'] });
    });
    for (let at = 0; at < 60; at += 1) {
        // The key is typed in a comment, so that each text is a legal module.
        await page.keyboard.press(at % 2 ? ' ' : 'a');
        await page.waitForTimeout(150);
    }
    const { painted, found } = await page.evaluate(() => ({ painted: window.painted, found: window.found }));
    await page.close();
    return { painted: median(painted), found: median(found), answers: found.length };
}

async function starts() {
    const context = await chromium.newContext({ viewport: { width: 1280, height: 800 } });
    const times = [];
    for (let at = 0; at < 7; at += 1) {
        const page = await context.newPage();
        await page.goto(`${url}#text=vadd4.sat.u32.u32.u32+d,+a,+b,+c;`);
        await page.waitForFunction(() => document.body.dataset.ready && document.body.dataset.findings === '1');
        times.push(await page.evaluate(() => performance.getEntriesByName('ready')[0].startTime));
        await page.close();
    }
    await context.close();
    // The first visit fetches the files.
    return { first: times[0], warm: median(times.slice(1)) };
}

let tooSlow = false;
try {
    const { painted, found, answers } = await keys();
    const { first, warm } = await starts();
    console.log(`a key on ${LINES} lines: painted after ${painted.toFixed(1)} ms, findings after ${found.toFixed(1)} ms (median of ${answers})`);
    console.log(`start: ${first.toFixed(0)} ms, from warm files ${warm.toFixed(0)} ms`);
    tooSlow = found > KEY || warm > START || answers < 50;
} finally {
    await chromium.close();
    close();
}
process.exit(tooSlow ? 1 : 0);
