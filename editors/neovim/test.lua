-- A Neovim user opens PTX and a CUDA source, sees findings, makes a fix, renames a register,
-- formats. `editors/neovim/test` runs this with `nvim --headless -l` or `-S`.

local program, folder = vim.env.VPTX, vim.env.VPTX_FOLDER

local function fail(message)
    io.stderr:write('neovim: ' .. message .. '\n')
    vim.cmd('cquit 1')
end

local function check(condition, message)
    if not condition then
        fail(message)
    end
end

-- The configuration of docs/start/editors.md, for one buffer.
local function attach()
    return vim.lsp.start_client({ name = 'vptx', cmd = { program, 'server' }, root_dir = folder })
end

local function wait(condition, what)
    check(vim.wait(20000, condition, 20), 'no ' .. what)
end

local function codes(buffer)
    local found = {}
    for _, it in ipairs(vim.diagnostic.get(buffer)) do
        table.insert(found, it.code or it.user_data.lsp.code)
    end
    table.sort(found)
    return table.concat(found, ' ')
end

local function open(name, filetype, client)
    vim.cmd('edit ' .. folder .. '/' .. name)
    vim.bo.filetype = filetype
    local buffer = vim.api.nvim_get_current_buf()
    vim.lsp.buf_attach_client(buffer, client)
    return buffer
end

local function line(buffer, number)
    return vim.api.nvim_buf_get_lines(buffer, number - 1, number, true)[1]
end

local function act(buffer, row, column, title)
    local place = { line = row - 1, character = column }
    local answers = vim.lsp.buf_request_sync(buffer, 'textDocument/codeAction', {
        textDocument = vim.lsp.util.make_text_document_params(buffer),
        range = { start = place, ['end'] = place },
        context = { diagnostics = {} },
    }, 5000)
    for _, answer in pairs(answers) do
        for _, action in ipairs(answer.result) do
            if action.title == title then
                vim.lsp.util.apply_workspace_edit(action.edit, 'utf-16')
                return
            end
        end
    end
    fail('no action ' .. title)
end

local function request(buffer, method, params)
    params.textDocument = vim.lsp.util.make_text_document_params(buffer)
    local answers = vim.lsp.buf_request_sync(buffer, 'textDocument/' .. method, params, 5000)
    local _, answer = next(answers)
    check(answer.result, method .. ': ' .. vim.inspect(answer))
    return answer.result
end

local ok, message = pcall(function()
    local client = attach()
    local ptx = open('a.ptx', 'ptx', client)
    wait(function() return codes(ptx) == 'V401' end, 'finding in PTX: ' .. codes(ptx))
    act(ptx, 5, 8, 'Put the modifiers in the documented order')
    check(line(ptx, 5) == '  vadd.s32.s32.s32.sat a, b, a;', line(ptx, 5))
    wait(function() return codes(ptx) == '' end, 'end of the finding')
    local hover = request(ptx, 'hover', { position = { line = 4, character = 3 } })
    check(hover.contents.value:find('**What it computes**', 1, true), 'no explanation')
    -- The register `a`, which line 4 declares.
    local place = { line = 4, character = 23 }
    local uses = request(ptx, 'references', { position = place, context = { includeDeclaration = true } })
    check(#uses == 3, 'references: ' .. vim.inspect(uses))
    local edit = request(ptx, 'rename', { position = place, newName = 'sum' })
    vim.lsp.util.apply_workspace_edit(edit, 'utf-16')
    check(line(ptx, 4) == '  .reg .b32 sum, b;', line(ptx, 4))
    local symbols = request(ptx, 'documentSymbol', {})
    check(symbols[1].name == 'f', vim.inspect(symbols))
    vim.lsp.buf.formatting_sync({}, 5000)
    local text = table.concat(vim.api.nvim_buf_get_lines(ptx, 0, -1, true), '\n')
    check(text:find('\n    vadd.s32.s32.s32.sat sum, b, sum;\n    ret;\n', 1, true), text)

    local cuda = open('b.cu', 'cuda', client)
    wait(function() return codes(cuda) == 'V401' end, 'finding in CUDA: ' .. codes(cuda))
    act(cuda, 3, 15, 'Put the modifiers in the documented order')
    check(line(cuda, 3):find('"vadd.s32.s32.s32.sat %0, %1, %2;"', 1, true), line(cuda, 3))
    vim.lsp.stop_client(client)
end)
check(ok, tostring(message))
print('neovim: all is well')
vim.cmd('qall!')
