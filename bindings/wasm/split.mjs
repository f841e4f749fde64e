// Splits the WebAssembly module in parts. A page loads the first part at once, and each other part
// when something calls a function in it. The parts are the stages of `session.mjs`: a function is
// in the part of the first stage that runs it, and in the last part if none does.
//
// usage: node split.mjs MODULE PART...

import { readFileSync, writeFileSync } from 'node:fs';
import binaryen from 'binaryen';
import { session } from './session.mjs';

const [path, ...paths] = process.argv.slice(2);
const bytes = readFileSync(path);
const { none, i32, funcref } = binaryen;

function all(count, get) {
    return Array.from({ length: count }, (_, at) => get(at));
}

function functions(module) {
    const refs = all(module.getNumFunctions(), (at) => module.getFunctionByIndex(at));
    return refs.map((ref) => ({ ref, ...binaryen.getFunctionInfo(ref) }));
}

/** Reads the module from its bytes, with its functions, globals and tables. */
function read() {
    const module = binaryen.readBinary(bytes);
    return {
        module,
        own: functions(module).filter((it) => !it.module),
        globals: all(module.getNumGlobals(), (at) => binaryen.getGlobalInfo(module.getGlobalByIndex(at))),
        tables: all(module.getNumTables(), (at) => binaryen.getTableInfo(module.getTableByIndex(at))),
    };
}

/** The names of the functions of each part. */
async function parts() {
    const { module, own } = read();
    module.addFunctionImport('ran', 'session', 'ran', i32, none);
    own.forEach(({ ref, body, results }, at) => {
        const call = module.call('ran', [module.i32.const(at)], none);
        binaryen.Function.setBody(ref, module.block(null, [call, body], results));
    });
    const instrumented = module.emitBinary();
    module.dispose();
    const last = paths.length - 1;
    const part = new Array(own.length).fill(last);
    let stage = 0;
    const ran = (at) => {
        part[at] = Math.min(part[at], stage);
    };
    await session(instrumented, { session: { ran } }, (next) => {
        stage = next;
    });
    return paths.map((_, number) => own.filter((_, at) => part[at] === number).map((it) => it.name));
}

function written(module, to) {
    module.runPasses(['remove-unused-module-elements', 'reorder-functions']);
    if (!module.validate()) {
        throw new Error(`${to} is not valid`);
    }
    writeFileSync(to, module.emitBinary());
    return module;
}

/** Writes a part, which imports from the first part what it lacks. Returns the imported names. */
function writePart(number, own, slot, slots) {
    const { module, own: functionsOfAll, globals, tables } = read();
    const segments = all(module.getNumElementSegments(), (at) => module.getElementSegmentByIndex(at));
    segments.forEach((it) => module.removeElementSegment(binaryen.getElementSegmentInfo(it).name));
    const exports = all(module.getNumExports(), (at) => module.getExportByIndex(at));
    exports.forEach((it) => module.removeExport(binaryen.getExportInfo(it).name));
    const isOwn = new Set(own);
    for (const { name, params, results } of functionsOfAll.filter((it) => !isOwn.has(it.name))) {
        module.removeFunction(name);
        module.addFunctionImport(name, 'first', `f${name}`, params, results);
    }
    globals.forEach(({ name, type, mutable }) => module.addGlobalImport(name, 'first', `g${name}`, type, mutable));
    tables.forEach(({ name }) => module.addTableImport(name, 'first', `t${name}`));
    // The first part has all data.
    module.setMemory(module.getMemoryInfo().initial, -1, null, []);
    module.addMemoryImport('0', 'first', 'memory');
    module.addTable('parts', slots, slots);
    module.addTableImport('parts', 'first', 'parts');
    module.addActiveElementSegment('parts', 'own', own, module.i32.const(slot));
    const imports = functions(written(module, paths[number])).filter((it) => it.module === 'first');
    return imports.map((it) => it.name);
}

/**
 * Writes the first part. In place of each function of another part it has a function that loads
 * that part, unless it is loaded, and calls the real function through a table.
 */
function writeFirst(others, imported) {
    const { module, own, globals, tables } = read();
    const moved = others.flatMap((names, at) => names.map((name) => ({ name, part: at + 1 })));
    globals.forEach(({ name }) => module.addGlobalExport(name, `g${name}`));
    tables.forEach(({ name }) => module.addTableExport(name, `t${name}`));
    module.addTable('parts', moved.length, moved.length);
    module.addTableExport('parts', 'parts');
    module.addFunctionImport('load', 'parts', 'load', i32, none);
    const known = new Map(own.map((it) => [it.name, it]));
    moved.forEach(({ name, part }, at) => {
        const { params, results } = known.get(name);
        const slot = () => module.i32.const(at);
        const values = binaryen.expandType(params).map((type, local) => module.local.get(local, type));
        const isMissing = module.ref.is_null(module.table.get('parts', slot(), funcref));
        module.removeFunction(name);
        module.addFunction(name, params, results, [], module.block(null, [
            module.if(isMissing, module.call('load', [module.i32.const(part)], none)),
            module.call_indirect('parts', slot(), values, params, results),
        ], results));
    });
    imported.forEach((name) => module.addFunctionExport(name, `f${name}`));
    written(module, paths[0]);
}

const [, ...others] = await parts();
const slots = others.flat().length;
const imported = new Set();
let slot = 0;
others.forEach((own, at) => {
    writePart(at + 1, own, slot, slots).forEach((name) => imported.add(name));
    slot += own.length;
});
writeFirst(others, imported);
