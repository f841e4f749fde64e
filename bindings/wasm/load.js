// Loads the module in parts: the first part at the start, and each other part when something in it
// is called. Such a call cannot wait for a promise, so a page runs the module in a worker, which
// can load a file synchronously.

import * as own from './vptx_wasm_bg.js';
import { PARTS } from './parts.js';

export * from './vptx_wasm_bg.js';

function readAtOnce(url) {
    const request = new XMLHttpRequest();
    request.open('GET', url, false);
    request.responseType = 'arraybuffer';
    request.send();
    if (request.status !== 200) {
        throw new Error(`${url} cannot be loaded: ${request.status}`);
    }
    return request.response;
}

/** Starts the module. `read` gives the bytes of a file; without `read`, files come by `fetch`. */
export default async function init(read) {
    const load = (part) => {
        const bytes = (read ?? readAtOnce)(PARTS[part]);
        new WebAssembly.Instance(new WebAssembly.Module(bytes), { './vptx_wasm_bg.js': own, first });
    };
    const imports = { './vptx_wasm_bg.js': own, parts: { load } };
    const { instance } = await (read
        ? WebAssembly.instantiate(read(PARTS[0]), imports)
        : WebAssembly.instantiateStreaming(fetch(PARTS[0]), imports));
    const first = instance.exports;
    own.__wbg_set_wasm(first);
    first.__wbindgen_start();
}
