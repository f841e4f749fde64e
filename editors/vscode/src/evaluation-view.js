// Runs in the panel: sends what the user types to the extension, and shows the extension's answers.
'use strict';

const host = acquireVsCodeApi();
const instruction = document.getElementById('instruction');
// The name of a register may be that of a property of objects.
const values = Object.create(null);
let asked = 0;

function ask() {
    asked += 1;
    host.postMessage({ number: asked, instruction: instruction.value, values });
}

/** An element with a text or with children. */
function element(name, ...children) {
    const made = document.createElement(name);
    made.append(...children);
    return made;
}

/** The name of an operand, and the name of its register if that is another. */
function heading(role, name) {
    return element('th', role, element('small', name === role ? '' : ` (${name})`));
}

function laneCells(lanes) {
    return lanes.map(({ name, hex, value, note }) => {
        const cell = element('td', element('small', name), element('code', hex),
            element('span', value), element('small', note));
        cell.className = 'lane';
        cell.colSpan = 4 / lanes.length;
        return cell;
    });
}

/** Rows of sources are kept if only their values change: the user may be typing in one. */
const sources = ['a', 'b', 'c'].map((role) => {
    const input = element('input');
    input.spellcheck = false;
    input.setAttribute('aria-label', `value of ${role}`);
    const row = element('tr', heading(role, role), element('td', input));
    row.hidden = true;
    document.getElementById('sources').append(row);
    const source = { role, row, input, name: role };
    input.addEventListener('input', () => {
        values[source.name] = input.value;
        ask();
    });
    return source;
});

function showSource(source, shown) {
    const { role, row, input } = source;
    row.hidden = !shown;
    if (shown) {
        source.name = shown.name;
        input.readOnly = shown.literal;
        if (input.value !== shown.value) {
            input.value = shown.value;
        }
        row.firstChild.replaceWith(heading(role, shown.literal ? role : shown.name));
        row.querySelectorAll('.lane').forEach((cell) => cell.remove());
        row.append(...laneCells(shown.lanes));
    }
}

function resultRow(name, { label, hex, lanes }) {
    const head = label ? element('th', 'd', element('small', ` ${label}`)) : heading('d', name);
    return element('tr', head, element('td', element('code', hex)), ...laneCells(lanes));
}

window.addEventListener('message', ({ data }) => {
    if (data.open !== undefined) {
        instruction.value = data.open;
        instruction.focus();
        ask();
        return;
    }
    // The user has typed more since this was sent.
    if (data.number !== asked) {
        return;
    }
    sources.forEach((source, at) => showSource(source, data.sources[at]));
    const results = data.rows.map((row) => resultRow(data.name, row));
    document.getElementById('results').replaceChildren(...results);
    document.getElementById('steps').hidden = !data.trace;
    document.getElementById('trace').textContent = data.trace;
    document.getElementById('error').textContent = data.error;
});

instruction.addEventListener('input', ask);
host.postMessage({ ready: true });
