"""Texts: findings as the program reports them, results as it writes them."""

import copy
import errno
import json
import pickle
import subprocess
import sys
import threading
import time
import timeit
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import IS_QUICK, ROOT

import vptx

MODULE = (ROOT / "fixtures/ptx/nvcc/video_simd.sm_90.ptx").read_text()
LANGUAGES = {".ptx": "ptx", ".cu": "cuda"}


def texts():
    folders = ["asm", "cuda", "diagnostics", "diff", "format", "ptx"]
    files = [path for folder in folders for path in (ROOT / "fixtures" / folder).rglob("*")]
    return sorted(path for path in files if path.suffix in LANGUAGES)


def as_json(finding):
    """A finding as `--format json` has it."""

    def span(span):
        return {"start": span.start, "end": span.end}

    def position(position):
        return {"line": position.line, "column": position.column}

    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity,
        "message": finding.message,
        "help": finding.help,
        "path": finding.path,
        "span": span(finding.span),
        "start": position(finding.start),
        "end": position(finding.end),
        "labels": [{**span(it.span), "text": it.text} for it in finding.labels],
        "fixes": [
            {
                "title": fix.title,
                "applicability": fix.applicability,
                "edits": [{**span(it.span), "replacement": it.replacement} for it in fix.edits],
            }
            for fix in finding.fixes
        ],
    }


OPTIONS = [
    ([], {}),
    (["--select", "ALL"], {"select": "ALL"}),
    (["--dialect", "ptxas", "--ignore", "V5"], {"dialect": "ptxas", "ignore": ["V5"]}),
    (
        ["--target", "sm_20,sm_90", "--ptx-version", "2.3", "--extend-select", "V601"],
        {"target": ["sm_20", "sm_90"], "ptx_version": "2.3", "extend_select": "V601"},
    ),
]


@pytest.mark.parametrize("arguments, options", OPTIONS, ids=lambda value: str(value))
def test_findings_are_those_of_the_program(program, arguments, options):
    files = texts()
    assert len(files) > 150
    command = [program, "check", "--isolated", "--format", "json", *arguments, *files]
    output = subprocess.run(command, capture_output=True, text=True, encoding="utf-8").stdout
    reported = {str(path): [] for path in files}
    for line in output.splitlines():
        record = json.loads(line)
        record.pop("url")
        reported[record["path"]].append(record)
    count = 0
    for path in files:
        language = LANGUAGES[path.suffix]
        found = vptx.check(path.read_bytes(), path=path, language=language, **options)
        assert list(map(as_json, found)) == reported[str(path)], path
        count += len(found)
    assert count > 300


def test_fixes_and_layout_are_those_of_the_program(program, tmp_path):
    for path in texts():
        copied = tmp_path / path.name
        language = LANGUAGES[path.suffix]
        content = path.read_bytes()
        try:
            text = content.decode()
        except UnicodeDecodeError:
            continue
        for option, unsafe_fixes in (["--fix", False], ["--unsafe-fixes", True]):
            copied.write_bytes(content)
            command = [program, "check", "--isolated", "--fix", option, copied]
            subprocess.run(list(dict.fromkeys(command)), capture_output=True)
            fixed = vptx.fix(text, language=language, unsafe_fixes=unsafe_fixes)
            assert fixed.text == copied.read_bytes().decode(), path
            assert str(fixed) == fixed.text
            assert fixed.findings == vptx.check(fixed.text, language=language)
        if language == "ptx":
            copied.write_bytes(content)
            command = [program, "fmt", copied]
            status = subprocess.run(command, capture_output=True).returncode
            try:
                formatted = vptx.format(text)
            except vptx.PtxError as error:
                assert error.findings
                assert status != 0
            else:
                assert formatted == copied.read_bytes().decode(), path


def test_spans_count_bytes_and_characters():
    text = "// é→𝄞\nvadd.sat.s32.s32.s32 d, a, b; /* é */ vadd.s32 d, a, b;"
    first, second = vptx.check(text)
    assert text[first.chars.slice] == ".sat.s32.s32.s32"
    assert text.encode()[first.span.slice].decode() == ".sat.s32.s32.s32"
    assert (first.start.line, first.start.column) == (2, 5)
    assert first.chars != first.span
    assert len(first.chars) == len(".sat.s32.s32.s32")
    for label in [*first.labels, *second.labels]:
        assert text[label.chars.slice] == text.encode()[label.span.slice].decode()
    (fix,) = first.fixes
    assert fix.apply(text) == text.replace("vadd.sat.s32.s32.s32", "vadd.s32.s32.s32.sat")
    for edit in fix.edits:
        assert text[edit.chars.slice] == text.encode()[edit.span.slice].decode()
    with pytest.raises(ValueError, match="another text"):
        fix.apply(text + " ")
    with pytest.raises(ValueError, match="outside"):
        vptx.Fix("nowhere", "safe", fix.edits).apply("vadd")
    overlapping = vptx.Fix("twice", "safe", [fix.edits[0], fix.edits[0]])
    with pytest.raises(ValueError, match="starts before the end"):
        overlapping.apply(text)


def test_the_name_of_a_text_tells_its_language():
    sources = {
        "k.py": "tl.inline_asm_elementwise('vadd.u32.u32 $0, $1, $2;', '=r,r,r', [a, b])",
        "k.cu": 'asm("vadd.u32.u32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));',
        "k.inc": 'asm("vadd.u32.u32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));',
        "k.rs": 'asm!("vadd.u32.u32 {0}, {1}, {2};", out(reg32) d, in(reg32) a, in(reg32) b);',
        "k.ptx": "vadd.u32.u32 d, a, b;",
        # A name whose ending tells no language.
        "k": "vadd.u32.u32 d, a, b;",
    }
    languages = {"py": "python", "cu": "cuda", "inc": "cuda", "rs": "rust"}
    for name, text in sources.items():
        (finding,) = vptx.check(text, path=name)
        assert finding.code == "V104", name
        assert text[finding.chars.slice] == ".u32.u32", name
        language = languages.get(name.split(".")[-1], "ptx")
        assert vptx.check(text, path=name, language=language) == [finding]
        assert vptx.fix(text, path=Path("some") / name).findings != []
    # The argument `language` overrides the name.
    assert vptx.check(sources["k.py"], path="k.py", language="julia") == []
    for language in ["ptx", "cuda", "python", "mojo", "rust", "julia", "zig"]:
        assert vptx.check("", language=language) == []
    with pytest.raises(ValueError, match="`c` is not a language: write `ptx`, `cuda`, `python`"):
        vptx.check("", language="c")


SUBJECTS = "V501 result-differs v104 V5 vadd4 VADD4 .sat h10 C3 vavrg4.u32.u32.u32".split()


@pytest.mark.parametrize("subject", [*SUBJECTS, "vadd4.u32.u32.u32.sat d.b10, a, b.b4444, c;"])
def test_pages_are_those_of_the_program(program, subject):
    for target in ("sm_90", "sm_75"):
        command = [program, "explain", "--target", target, subject]
        run = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
        assert vptx.explain(subject, target=target) == run.stdout != ""
    assert vptx.explain(subject) == vptx.explain(subject, target="sm_90")


def test_pages_that_there_are_not():
    with pytest.raises(ValueError, match="`vavrq4` is not known; did you mean `vavrg4`"):
        vptx.explain("vavrq4")
    with pytest.raises(ValueError, match="`qqqq` is not known"):
        vptx.explain("qqqq")
    with pytest.raises(vptx.PtxError) as raised:
        vptx.explain("vadd.u32.u32")
    assert [it.code for it in raised.value.findings] == ["V104"]


def test_findings_are_values():
    (finding,) = vptx.check("vadd.s32 d, a, b;", path=Path("some") / "where.ptx")
    assert finding == vptx.check("vadd.s32 d, a, b;", path="some/where.ptx")[0]
    assert finding != vptx.check("vadd.s32 d, a, b;")[0]
    assert {finding: 1}[copy.deepcopy(finding)] == 1
    assert pickle.loads(pickle.dumps(finding)) == finding
    assert str(finding).startswith("some/where.ptx:1:")
    assert f"{finding.severity}[{finding.code}]" in repr(finding)
    with pytest.raises(AttributeError):
        finding.code = "V101"
    found = vptx.check("vadd.s32 d, a, b;")
    assert isinstance(found, list)
    assert pickle.loads(pickle.dumps(found)) == found


def test_notebooks_get_escaped_html():
    text = "vadd.u32.u32.u32 <script>, a, b;\nvadd.<b> d, a, b;"
    found = vptx.check(text, path="<img>&\"'.ptx")
    for html in (found._repr_html_(), found[0]._repr_html_()):
        assert "<script" not in html and "<img" not in html and "<b>" not in html
        assert "&lt;img&gt;&amp;&quot;&#39;.ptx" in html
    trace = vptx.Instruction("vadd4.u32.u32.u32 d, a, b, c;").trace(1, 2, 3)
    html = trace._repr_html_()
    assert html.count("<td") == html.count("</td>")
    for lane in trace.lanes:
        assert f">{lane.name}<" in html
    assert "vadd4.u32.u32.u32 d, a, b, c; = 0x00000003" in html


def test_wrong_arguments():
    with pytest.raises(TypeError, match=r"expected a text \(str or bytes\), got int"):
        vptx.check(5)
    with pytest.raises(ValueError, match="`fortran` is not a language"):
        vptx.check("", language="fortran")
    with pytest.raises(ValueError, match="sm90"):
        vptx.check("", target="sm90")
    with pytest.raises(ValueError, match="did you mean `result-differs`"):
        vptx.check("", select="result-difers")
    with pytest.raises(ValueError, match="dialect"):
        vptx.check("", dialect="nvcc")
    with pytest.raises(UnicodeEncodeError):
        vptx.check("\ud800")
    assert vptx.check(b"// \xff\n") == []
    with pytest.raises(ValueError, match="`V999` is not known"):
        vptx.explain("V999")
    with pytest.raises(ValueError, match="line ending"):
        vptx.format("", line_ending="cr")
    with pytest.raises(ValueError, match="indent_width: must be from 0 to 16"):
        vptx.format("", indent_width=2**40)


def test_no_new_text_loses_bytes():
    text = b"// \xe9\nvadd.sat.s32.s32.s32 d, a, b;"
    for function in (vptx.fix, vptx.format, vptx.normalize, vptx.rewrite, vptx.parse):
        with pytest.raises(UnicodeDecodeError, match="position 3"):
            function(text)
    fixed = vptx.fix(text.decode("latin-1")).text.encode("latin-1")
    assert fixed == b"// \xe9\nvadd.s32.s32.s32.sat d, a, b;"


def test_several_fixes():
    text = "vadd.sat.s32.s32.s32 d, a, b;\nvadd2.u32.u32.u32 t.h10, a, b, c;\n"
    # A new text has other places.
    fixes = [it.fixes[0] for it in reversed(vptx.check(text, select="V4")) if it.fixes]
    assert len(fixes) > 1
    new = fixes[0].apply(text)
    with pytest.raises(ValueError, match="another text"):
        fixes[1].apply(new)
    with pytest.raises(ValueError, match="another text"):
        pickle.loads(pickle.dumps(fixes[1])).apply(new)
    fixed = vptx.apply(text, fixes)
    assert fixed == "vadd.s32.s32.s32.sat d, a, b;\nvadd2.u32.u32.u32 t, a, b, c;\n"
    assert vptx.apply(text, []) == text
    with pytest.raises(ValueError, match="before the end"):
        vptx.apply(text, [fixes[0], fixes[0]])


def test_dialects_of_modules():
    text = "vadd.u32.u32.u32 d, -d, -d;"
    assert vptx.parse(text).instructions == []
    assert len(vptx.parse(text, dialect="ptxas").instructions) == 1


def test_results_can_be_copied():
    module = vptx.parse(MODULE)
    moved = pickle.loads(pickle.dumps(module))
    assert (moved.text, moved.target, moved.version) == (module.text, "sm_90", "9.5")
    assert moved.instructions == module.instructions and moved.functions[0].name
    rewritten = copy.deepcopy(vptx.rewrite(MODULE))
    assert rewritten.text == vptx.rewrite(MODULE).text
    for old, new in zip(vptx.rewrite(MODULE).changes, rewritten.changes):
        assert MODULE[new.chars.slice].startswith(("v", "@")) and new.span == old.span
        assert (new.outcome, new.cost, new.differs) == (old.outcome, old.cost, old.differs)
    fixed = pickle.loads(pickle.dumps(vptx.fix("vadd.sat.s32.s32.s32 d, a, b; vadd d;")))
    assert fixed.codes == ["V401"] and {it.severity for it in fixed.findings} == {"error"}
    images = vptx.extract(ROOT / "fixtures/fatbin/size.fatbin", strict=False)
    assert pickle.loads(pickle.dumps(images)) == images != []


def test_instructions():
    text = "@!%p vmad.s32.s32.u32.sat.shr7 d, a.h1, -b, 0x10"
    instruction = vptx.Instruction(text)
    assert str(instruction) == text + ";"
    assert repr(instruction) == f'Instruction("{text};")'
    assert instruction == vptx.Instruction(text + " ;") != vptx.Instruction(text[5:])
    assert instruction != text
    assert len({instruction, vptx.Instruction(text)}) == 1
    assert instruction.mnemonic == "vmad"
    assert instruction.modifiers == [".s32", ".s32", ".u32", ".sat", ".shr7"]
    assert instruction.guard == "@!%p"
    assert instruction.span is instruction.function is None
    d, a, b, c = instruction.operands
    assert (d.name, d.text, d.register, d.constant, d.selector) == ("d", "d", "d", None, None)
    assert (a.text, a.register, a.selector) == ("a.h1", "a", ".h1")
    assert (b.text, b.register) == ("-b", "b")
    assert (c.text, c.register, c.constant) == ("0x10", None, "0x10")
    special = vptx.Instruction("vadd.u32.u32.u32 d, %laneid, %0;").operands
    assert [operand.register for operand in special] == ["d", "%laneid", "%0"]
    assert pickle.loads(pickle.dumps(instruction)) == instruction
    cost = vptx.Instruction("vavrg4.u32.u32.u32 d, a, b, c;").cost("sm_90")
    assert (cost.ptxas, cost.rewritten) == (31, 3)
    assert "lop3.b32" in vptx.Instruction("vavrg4.u32.u32.u32 d, a, b, c;").to_ptx("sm_90")


def test_errors_carry_their_findings():
    with pytest.raises(vptx.PtxError, match=r"1:5: error\[V104\]") as raised:
        vptx.Instruction("vadd.u32.u32 d, a, b;")
    (finding,) = raised.value.findings
    assert finding.code == "V104"
    assert isinstance(raised.value, ValueError)
    assert pickle.loads(pickle.dumps(raised.value)).findings == [finding]
    for text in ("", "mov.u32 d, a;", "vadd.u32.u32.u32 d, a, b; mov.u32 d, a;"):
        with pytest.raises(vptx.PtxError, match="not one video instruction|not a legal video"):
            vptx.Instruction(text)
    with pytest.raises(vptx.PtxError) as raised:
        vptx.format("{")
    assert [it.code for it in raised.value.findings] == ["V003"]
    with pytest.raises(vptx.PtxError):
        vptx.normalize("{")
    with pytest.raises(vptx.PtxError) as raised:
        vptx.rewrite(".target sm_90\n{")
    assert [it.code for it in raised.value.findings] == ["V003"]


def test_modules():
    module = vptx.parse(MODULE + "vadd.u32 d, a, b;")
    assert (module.target, module.version) == ("sm_90", "9.5")
    assert module.findings[0].code == "V104"
    assert {it.severity for it in module.findings} == {"error"}
    assert len(module.instructions) == 92
    for instruction in module.instructions:
        text = module.text[instruction.chars.slice]
        assert vptx.Instruction(text) == instruction
    assert {it.function for it in module.instructions} >= {"every_simd", "intrinsics"}
    moved = pickle.loads(pickle.dumps(module.instructions[3]))
    assert (moved, moved.span, moved.function) == (
        module.instructions[3],
        module.instructions[3].span,
        "every_simd",
    )


def test_rewriting_is_that_of_the_program(program, tmp_path):
    path = tmp_path / "module.ptx"
    path.write_text(MODULE)
    for arguments, options in [
        ([], {}),
        (
            ["--semantics", "manual", "--target", "sm_75"],
            {"semantics": "manual", "target": "sm_75"},
        ),
    ]:
        command = [program, "rewrite", *arguments, path]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        rewritten = vptx.rewrite(MODULE, **options)
        assert str(rewritten) == rewritten.text == output
        outcomes = [change.outcome for change in rewritten.changes]
        assert outcomes.count("rewritten") == rewritten.count > 0
        assert len(outcomes) == 92
        best = [it.cost for it in rewritten.changes if it.cost and it.outcome == "rewritten"]
        assert sum(it.rewritten for it in best) < sum(it.ptxas for it in best)
    with pytest.raises(ValueError, match="no `.target`"):
        vptx.rewrite("vadd.u32.u32.u32 d, a, b;")


def test_normal_forms():
    text = ".version 8.0\n.target sm_90\n.func f() {\n.reg .b32 %x;\nmov.u32 %x, 0x10; // x\n}\n"
    other = text.replace("%x", "%other").replace("0x10", "16").replace("// x", "")
    assert vptx.normalize(text) == vptx.normalize(other)
    assert vptx.normalize(text) != vptx.normalize(other, keep_names=True)


def test_extraction(program, tmp_path):
    libraries = sorted(path for path in (ROOT / "fixtures/fatbin").iterdir() if path.is_file())
    count = 0
    for path in libraries:
        images = vptx.extract(path, strict=False)
        assert vptx.extract(path.read_bytes(), strict=False) == images
        for image in images:
            assert image.text == str(image)
            assert image.target in image.name
            count += ".target" in image.text
    assert count > 3
    broken = b"\x50\xed\x55\xba\x01\x00\x10\x00" + (1000).to_bytes(8, "little") + b"\x01\x00"
    assert vptx.extract(broken, strict=False) == []
    with pytest.raises(vptx.ExtractError) as raised:
        vptx.extract(broken)
    assert raised.value.images == [] and raised.value.errors
    with pytest.raises(FileNotFoundError) as raised:
        vptx.extract(tmp_path / "none")
    assert raised.value.filename == tmp_path / "none"
    assert raised.value.errno == errno.ENOENT
    with pytest.raises(IsADirectoryError):
        vptx.extract(tmp_path, strict=False)
    with pytest.raises(TypeError, match="expected a path"):
        vptx.extract(5)


def test_releases_of_ptxas():
    releases = {"11.8": 12, "12.9": 12, "13": 12, "13.2.86": 12, "13.3": 13, "14.0": 13}
    for release, semantics in releases.items():
        assert vptx.semantics_of_ptxas(release) == f"ptxas-{semantics}"
    with pytest.raises(ValueError, match="`new` is no release of ptxas"):
        vptx.semantics_of_ptxas("new")


def test_the_program_of_the_wheel(program):
    for command in ([program], [sys.executable, "-m", "vptx"]):
        run = subprocess.run([*command, "--version"], capture_output=True, text=True)
        assert run.stdout == f"vptx {vptx.__version__}\n"
        run = subprocess.run(
            [*command, "check", "-"], input="vadd d;", capture_output=True, text=True
        )
        assert run.returncode == 1


def test_other_threads_go_on_during_a_check():
    text = MODULE * 300
    steps = []
    done = threading.Event()
    worker = threading.Thread(target=lambda: (vptx.check(text), done.set()))
    start = time.perf_counter()
    worker.start()
    while not done.is_set():
        steps.append(time.perf_counter() - start)
        time.sleep(0.0005)
    worker.join()
    # The main thread ran during the check, and not only before and after it.
    assert len([step for step in steps if 0.2 < step / steps[-1] < 0.8]) > 3


def test_eight_threads_find_the_same():
    texts = [MODULE[start * 100 :] for start in range(64)]
    with ThreadPoolExecutor(8) as pool:
        parallel = list(pool.map(vptx.check, texts))
    assert parallel == [vptx.check(text) for text in texts]


def test_nothing_leaks():
    resource = pytest.importorskip("resource")
    wrong = "vadd.s32 d, a, b;"

    def work(count):
        for _ in range(count):
            vptx.check(wrong)[0].fixes
            vptx.fix(wrong)
            vptx.Instruction("vadd4.u32.u32.u32 d, a, b, c;").operands
            with pytest.raises(vptx.PtxError):
                vptx.Instruction(wrong)

    work(500)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    work(3000)
    unit = 1 if sys.platform == "darwin" else 1024
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * unit < 2 << 20


@pytest.mark.skipif(IS_QUICK, reason="built without optimisation")
def test_a_short_text_takes_little_time():
    line = "vadd4.u32.u32.u32 d, a, b, c;"
    runs = timeit.repeat(lambda: vptx.check(line), number=1000, repeat=20)
    assert min(runs) / 1000 < 20e-6
