//! Requests about names: references, renaming, symbols, folds, semantic tokens.

use serde_json::{Value, json};

use super::client::{Client, applied, uri};
use crate::support::program::{Folder, vptx_in};

const MODULE: &str = "\
.version 8.5
.target sm_90
.global .align 4 .b8 table[8];
// é😀 is before
// a function.
.visible .entry f(
    .param .u64 f_param
)
{
    .reg .b32 %r<9>;
    .reg .pred %p;
    ld.global.u32 %r1, [table];
    @%p bra $L1;
    {
        .reg .b32 %r<4>;
        vadd4.u32.u32.u32 %r1, %r2.b0123, %r3, %r04;
    }
$L1:
    /* 😀 */ add.u32 %r1, %r2, %r01;
    ret;
}
";

const SOURCE: &str = "\
__device__ int f(int x, int y) {
  int d;
  asm(\"{ .reg .b32 t;\\n\\t\"
      \"mov.b32 t, %1;\\n\\t\"
      \"vadd.s32.s32.s32 %0, t, %2; }\" : \"=r\"(d) : \"r\"(x), \"r\"(y));
  return d;
}
";

struct Opened {
    client: Client,
    uri: String,
    text: &'static str,
}

impl Opened {
    fn new(folder: &Folder, name: &str, language: &str, text: &'static str) -> Opened {
        let uri = uri(folder, name);
        let mut client = Client::usual(&folder.0);
        client.findings(&uri, language, text);
        Opened { client, uri, text }
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let mut params = params.clone();
        params["textDocument"] = json!({ "uri": self.uri });
        self.client.ask(&format!("textDocument/{method}"), &params)
    }

    /// The position of the nth occurrence of a text, in UTF-16 units.
    fn place(&self, word: &str, number: usize) -> Value {
        let (at, _) = self.text.match_indices(word).nth(number).expect(word);
        let before = &self.text[..at];
        let line = before.matches('\n').count();
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        json!({ "line": line, "character": before[start..].encode_utf16().count() })
    }

    /// The texts of ranges, each after its line number.
    fn shown(&self, places: &Value) -> Vec<String> {
        let text = |place: &Value| {
            let range = &place["range"];
            let line = range["start"]["line"].as_u64().unwrap();
            assert_eq!(range["end"]["line"].as_u64(), Some(line));
            let units: Vec<u16> =
                self.text.lines().nth(line as usize).unwrap().encode_utf16().collect();
            let [start, end] =
                ["start", "end"].map(|end| range[end]["character"].as_u64().unwrap() as usize);
            format!("{line} {}", String::from_utf16(&units[start..end]).unwrap())
        };
        places.as_array().unwrap().iter().map(text).collect()
    }

    fn references(&mut self, word: &str, number: usize, with_declaration: bool) -> Vec<String> {
        let position = self.place(word, number);
        let context = json!({ "includeDeclaration": with_declaration });
        let places = self.ask("references", &json!({ "position": position, "context": context }));
        self.shown(&places)
    }

    /// The text after renaming, or the message that says why the name stays.
    fn renamed(&mut self, word: &str, number: usize, new: &str) -> Result<String, String> {
        let params = json!({
            "textDocument": { "uri": self.uri },
            "position": self.place(word, number),
            "newName": new,
        });
        let response = self.client.response("textDocument/rename", &params);
        match response.get("error") {
            Some(error) => Err(error["message"].as_str().unwrap().to_string()),
            None => Ok(applied(self.text, &response["result"]["changes"][&self.uri])),
        }
    }
}

#[test]
fn names_are_found_in_their_scopes() {
    let folder = Folder::new("server-names");
    let mut module = Opened::new(&folder, "a.ptx", "ptx", MODULE);
    // The inner range does not declare `%r04`. `%r01` is another spelling of `%r1`.
    assert_eq!(module.references("%r1", 0, true), ["11 %r1", "18 %r1", "18 %r01"]);
    assert_eq!(module.references("%r1", 1, true), ["15 %r1"]);
    assert_eq!(module.references("%r<", 0, true).len(), 6);
    assert_eq!(module.references("table", 1, false), ["11 table"]);
    assert_eq!(module.references("table", 1, true), ["2 table", "11 table"]);
    let position = module.place("$L1", 0);
    let places = module.ask("documentHighlight", &json!({ "position": position }));
    assert_eq!(module.shown(&places), ["12 $L1", "17 $L1"]);
    let definition = module.ask("definition", &json!({ "position": position }));
    assert_eq!(module.shown(&json!([definition])), ["17 $L1"]);
    let hover = module.ask("hover", &json!({ "position": position }));
    assert_eq!(hover["contents"]["value"], "```ptx\n$L1\n```\n");
    let position = module.place("table", 1);
    let hover = module.ask("hover", &json!({ "position": position }));
    assert_eq!(hover["contents"]["value"], "```ptx\n.global .align 4 .b8 table[8];\n```\n");
    assert_eq!(module.client.end(), 0);

    let mut source = Opened::new(&folder, "b.cu", "cuda", SOURCE);
    assert_eq!(source.references("t,", 0, true), ["2 t", "3 t", "4 t"]);
    assert_eq!(source.references("%1", 0, true), ["3 %1", "4 \"r\""]);
    assert_eq!(source.client.end(), 0);
}

#[test]
fn renaming_leaves_legal_text() {
    let folder = Folder::new("server-rename");
    let findings = |text: &str, name: &str| {
        std::fs::write(folder.0.join(name), text).unwrap();
        let run = vptx_in(&folder.0, &["check", "--format", "json", name], b"");
        run.stdout.lines().count()
    };
    let mut module = Opened::new(&folder, "a.ptx", "ptx", MODULE);
    let before = findings(MODULE, "a.ptx");
    let text = module.renamed("%r1", 0, "%sum").unwrap();
    assert!(text.contains("    .reg .b32 %r<9>;\n    .reg .b32 %sum;\n"), "{text}");
    assert!(text.contains("/* 😀 */ add.u32 %sum, %r2, %sum;"), "{text}");
    assert!(text.contains("vadd4.u32.u32.u32 %r1,"), "{text}");
    assert_eq!(findings(&text, "a.ptx"), before);
    let text = module.renamed("%r<", 1, "%inner").unwrap();
    assert!(text.contains("%inner1, %inner2.b0123, %inner3, %r04;"), "{text}");
    assert_eq!(findings(&text, "a.ptx"), before);
    let text = module.renamed("$L1", 0, "$done").unwrap();
    assert!(text.contains("bra $done;") && text.contains("$done:"), "{text}");
    let taken = module.renamed("$L1", 0, "%p").unwrap_err();
    assert_eq!(taken, "`%p` already has another meaning here");
    assert_eq!(module.renamed("$L1", 0, "a b").unwrap_err(), "`a b` is not a name");
    assert_eq!(module.renamed("ret", 0, "x").unwrap_err(), "there is no name here");
    // Numbers follow the name of a range.
    assert_eq!(module.renamed("%r<", 0, "%a b").unwrap_err(), "`%a b` is not a name");
    let refused = module.renamed("%r<", 0, "%a1").unwrap_err();
    assert!(refused.ends_with("and do not end with a digit"), "{refused}");
    let position = module.place("%r2", 0);
    let prepared = module.ask("prepareRename", &json!({ "position": position }));
    assert_eq!(prepared["placeholder"], "%r2");
    assert_eq!(module.client.end(), 0);

    let mut source = Opened::new(&folder, "b.cu", "cuda", SOURCE);
    let text = source.renamed("t,", 0, "sum").unwrap();
    assert_eq!(
        text,
        SOURCE
            .replace(".b32 t;", ".b32 sum;")
            .replace("32 t,", "32 sum,")
            .replace(", t,", ", sum,")
    );
    assert_eq!(findings(&text, "b.cu"), findings(SOURCE, "b.cu"));
    let position = source.place("%1", 0);
    let params = json!({ "textDocument": { "uri": source.uri }, "position": position });
    let refused = source.client.response("textDocument/prepareRename", &params);
    assert!(refused["error"]["message"].as_str().unwrap().contains("declared"), "{refused}");
    assert_eq!(source.client.end(), 0);
}

/// A label with `%=` has another name in each copy of its `asm`. It still has after renaming.
#[test]
fn unique_labels_stay_unique() {
    let folder = Folder::new("server-unique-labels");
    let text = r#"void f(int x) {
  asm("{ L%=_a: bra L%=_a; }" :: "r"(x));
}
"#;
    let mut source = Opened::new(&folder, "a.cu", "cuda", text);
    let position = source.place("L%", 1);
    let prepared = source.ask("prepareRename", &json!({ "position": position }));
    assert_eq!(prepared["placeholder"], "L%=_a");
    assert_eq!(source.renamed("L%", 0, "$top%=b").unwrap(), text.replace("L%=_a", "$top%=b"));
    assert_eq!(source.renamed("L%", 1, "L%=_b").unwrap(), text.replace("_a", "_b"));
    let refused = "the new name must have `%=` once, too: each copy of the `asm` has its own name";
    assert_eq!(source.renamed("L%", 0, "top").unwrap_err(), refused);
    assert_eq!(source.renamed("L%", 0, "top%=%=").unwrap_err(), refused);
    assert_eq!(source.renamed("L%", 0, "%=").unwrap_err(), "`%=` is not a name");
    assert_eq!(source.client.end(), 0);
}

#[test]
fn outlines_show_functions_and_fold_blocks() {
    let folder = Folder::new("server-outline");
    let mut module = Opened::new(&folder, "a.ptx", "ptx", MODULE);
    let symbols = module.ask("documentSymbol", &json!({}));
    let shown: Vec<String> = symbols
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            let (start, end) = (&it["range"]["start"]["line"], &it["range"]["end"]["line"]);
            let children = it["children"].as_array().unwrap();
            let children: Vec<&str> =
                children.iter().map(|child| child["name"].as_str().unwrap()).collect();
            format!("{} {} {start}-{end} {children:?}", it["name"], it["detail"])
        })
        .collect();
    assert_eq!(
        shown,
        ["\"table\" \".global .align .b8\" 2-2 []", "\"f\" \".visible .entry\" 5-20 [\"$L1\"]",]
    );
    let folds = module.ask("foldingRange", &json!({}));
    assert_eq!(
        folds,
        json!([
            { "startLine": 8, "endLine": 19 },
            { "startLine": 13, "endLine": 15 },
            { "startLine": 17, "endLine": 19 },
            { "startLine": 3, "endLine": 4, "kind": "comment" },
        ])
    );
    assert_eq!(module.client.end(), 0);
    let mut source = Opened::new(&folder, "b.cu", "cuda", SOURCE);
    assert_eq!(source.ask("documentSymbol", &json!({})), Value::Null);
    assert_eq!(source.client.end(), 0);
}

#[test]
fn basic_blocks_and_loops_fold() {
    const LOOPS: &str = "\
.func f(.reg .b32 n)
{
    .reg .b32 %r<3>;
    .reg .pred %p;
outer:
    mov.b32 %r1, 0;
inner:  .loc 1 5 9
    add.s32 %r1, %r1, 1;
    setp.lt.s32 %p, %r1, n;
    @%p bra inner;
    add.s32 n, n, -1;
    @%p bra outer;
T: .branchtargets outer, end;
    brx.idx n, T;
alone:
    {
        trap;
    }
end: ret;
}
";
    let folder = Folder::new("server-blocks");
    let mut module = Opened::new(&folder, "a.ptx", "ptx", LOOPS);
    let symbols = module.ask("documentSymbol", &json!({}));
    let labels: Vec<String> = symbols[0]["children"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            let (start, end) = (&it["range"]["start"]["line"], &it["range"]["end"]["line"]);
            format!("{} {start}-{end} {}", it["name"].as_str().unwrap(), it["detail"])
        })
        .collect();
    // The branch back to `outer` also goes through the table of targets.
    assert_eq!(
        labels,
        [
            "outer 4-5 \"loop\"",
            "inner 6-9 \"loop\"",
            "T 12-12 \"\"",
            "alone 14-14 \"\"",
            "end 18-18 \"\"",
        ]
    );
    let folds = module.ask("foldingRange", &json!({}));
    let lines: Vec<[u64; 2]> = folds
        .as_array()
        .unwrap()
        .iter()
        .map(|it| ["startLine", "endLine"].map(|name| it[name].as_u64().unwrap()))
        .collect();
    assert_eq!(lines, [[1, 18], [15, 16], [4, 13], [6, 9]]);
    assert_eq!(module.client.end(), 0);
}

/// The tokens as text: each after its type, with a mark if it is a declaration, and another one if
/// it is part of PTX.
fn tokens(opened: &Opened, answer: &Value) -> Vec<String> {
    let legend = &opened.client.capabilities["semanticTokensProvider"]["legend"]["tokenTypes"];
    let numbers: Vec<usize> =
        answer["data"].as_array().unwrap().iter().map(|it| it.as_u64().unwrap() as usize).collect();
    let (mut line, mut start) = (0, 0);
    let lines: Vec<Vec<u16>> =
        opened.text.lines().map(|line| line.encode_utf16().collect()).collect();
    numbers
        .chunks(5)
        .map(|token| {
            if token[0] > 0 {
                (line, start) = (line + token[0], 0);
            }
            start += token[1];
            let text = String::from_utf16(&lines[line][start..start + token[2]]).unwrap();
            let mark = match token[4] {
                1 => "!",
                // `readonly` and `defaultLibrary`.
                6 => "*",
                _ => "",
            };
            format!("{}:{text}{mark}", legend[token[3]].as_str().unwrap())
        })
        .collect()
}

#[test]
fn semantic_tokens_tell_names_from_words() {
    let folder = Folder::new("server-tokens");
    let mut module = Opened::new(&folder, "a.ptx", "ptx", MODULE);
    let answer = module.ask("semanticTokens/full", &json!({}));
    let all = tokens(&module, &answer);
    assert_eq!(
        all[..13],
        [
            "macro:.version",
            "number:8.5",
            "macro:.target",
            "modifier:sm_90",
            "macro:.global",
            "modifier:.align",
            "number:4",
            "type:.b8",
            "variable:table!",
            "number:8",
            "comment:// é😀 is before",
            "comment:// a function.",
            "macro:.visible",
        ]
    );
    let range = json!({
        "start": { "line": 15, "character": 0 }, "end": { "line": 18, "character": 100 },
    });
    let answer = module.ask("semanticTokens/range", &json!({ "range": range }));
    assert_eq!(
        tokens(&module, &answer),
        [
            "keyword:vadd4",
            "type:.u32",
            "type:.u32",
            "type:.u32",
            "variable:%r1",
            "variable:%r2",
            "property:.b0123",
            "variable:%r3",
            "variable:%r04",
            "label:$L1!",
            "comment:/* 😀 */",
            "keyword:add",
            "type:.u32",
            "variable:%r1",
            "variable:%r2",
            "variable:%r01",
        ]
    );
    assert_eq!(module.client.end(), 0);

    // `_` is no name, and no comment starts in a string.
    let text = ".file 1 \"a/*b\"\n.func f()\n{\n    p: .callprototype _ (); // c\n}\n";
    let mut module = Opened::new(&folder, "c.ptx", "ptx", text);
    let answer = module.ask("semanticTokens/full", &json!({}));
    assert_eq!(
        tokens(&module, &answer),
        [
            "macro:.file",
            "number:1",
            "string:\"a/*b\"",
            "macro:.func",
            "function:f!",
            "label:p!",
            "macro:.callprototype",
            "comment:// c",
        ]
    );
    assert_eq!(module.client.end(), 0);

    // Only special registers are part of PTX, and none is if it is declared.
    let text = ".func f()\n{\n.reg .u32 %tid;\nmov.u32 %tid, %laneid;\nmov.u32 %lane, 1;\n}\n";
    let mut module = Opened::new(&folder, "d.ptx", "ptx", text);
    let answer = module.ask("semanticTokens/full", &json!({}));
    let variables: Vec<_> = tokens(&module, &answer)
        .into_iter()
        .filter_map(|it| Some(it.strip_prefix("variable:")?.to_string()))
        .collect();
    assert_eq!(variables, ["%tid!", "%tid", "%laneid*", "%lane"]);
    assert_eq!(module.client.end(), 0);

    // In C-like sources, only video instructions have tokens: other servers know the rest.
    let mut source = Opened::new(&folder, "b.cu", "cuda", SOURCE);
    let answer = source.ask("semanticTokens/full", &json!({}));
    assert_eq!(
        tokens(&source, &answer),
        [
            "keyword:vadd",
            "type:.s32",
            "type:.s32",
            "type:.s32",
            "parameter:%0",
            "variable:t",
            "parameter:%2",
        ]
    );
    assert_eq!(source.client.end(), 0);
}

#[test]
fn selectors_show_their_lanes() {
    let folder = Folder::new("server-lanes");
    let mut module = Opened::new(&folder, "a.ptx", "ptx", MODULE);
    let range = json!({
        "start": { "line": 0, "character": 0 }, "end": { "line": 30, "character": 0 },
    });
    let hints = module.ask("inlayHint", &json!({ "range": range }));
    assert_eq!(hints.as_array().unwrap().len(), 1, "{hints}");
    assert_eq!(hints[0]["label"], "a0 a1 a2 a3");
    let after = module.place(", %r3", 0);
    assert_eq!(hints[0]["position"], after);
    assert_eq!(module.client.end(), 0);
}

#[test]
fn commands_evaluate_and_explain() {
    let folder = Folder::new("server-commands");
    let mut client = Client::usual(&folder.0);
    let mut run = |command: &str, arguments: Value| {
        let params = json!({ "command": command, "arguments": arguments });
        client.response("workspace/executeCommand", &params)
    };
    let text = "vadd4.u32.u32.u32.sat d, a, b, c";
    let page = run("vptx.evaluate", json!([text, ["a=0x01ff0304", "b=0x01020304", "c=0"]]));
    let program =
        vptx_in(&folder.0, &["eval", "--trace", text, "a=0x01ff0304", "b=0x01020304", "c=0"], b"");
    assert_eq!(page["result"], program.stdout.as_str());
    let wrong = run("vptx.evaluate", json!([text, ["a=1"]]));
    let message = wrong["error"]["message"].as_str().unwrap();
    assert!(message.contains("missing input: b"), "{message}");
    let wrong = run("vptx.evaluate", json!(["vadd4.u32 d, a, b, c;"]));
    assert!(wrong["error"]["message"].is_string(), "{wrong}");
    let page = run("vptx.explain", json!(["V401"]));
    assert!(page["result"].as_str().unwrap().starts_with("# V401"), "{page}");
}

/// A client may set the address to which codes link.
#[test]
fn codes_link_to_pages() {
    let folder = Folder::new("server-pages");
    let options = json!({ "pages": "vptx:/{code}.md" });
    let mut client = Client::new(&folder.0, &json!({}), &options);
    let text = "vadd.sat.s32.s32.s32 d, a, b;";
    let found = client.findings(&uri(&folder, "a.ptx"), "ptx", text);
    assert_eq!(found[0]["code"], "V401");
    assert_eq!(found[0]["codeDescription"]["href"], "vptx:/V401.md");
    assert_eq!(client.end(), 0);
}

#[test]
fn whole_forms_are_offered_to_clients_that_take_them() {
    let folder = Folder::new("server-snippets");
    for takes in [false, true] {
        let item = json!({ "completionItem": { "snippetSupport": takes } });
        let capabilities = json!({ "textDocument": { "completion": item } });
        let mut client = Client::new(&folder.0, &capabilities, &Value::Null);
        let uri = uri(&folder, "a.ptx");
        client.findings(&uri, "ptx", "vabsd");
        let place = json!({ "line": 0, "character": 5 });
        let params = json!({ "textDocument": { "uri": uri }, "position": place });
        let list = client.ask("textDocument/completion", &params);
        let forms: Vec<&Value> = list["items"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|item| item["insertTextFormat"] == 2)
            .collect();
        assert_eq!(forms.len() > 3, takes, "{list}");
        if takes {
            assert_eq!(forms[0]["filterText"], "vabsdiff");
            let text = forms[0]["textEdit"]["newText"].as_str().unwrap();
            assert!(text.starts_with("vabsdiff.${1|u32,s32|}."), "{text}");
        }
        assert_eq!(client.end(), 0);
    }
}
