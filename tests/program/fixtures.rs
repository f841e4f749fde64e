//! Texts and folders that several of these tests use.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::program::{Folder, ROOT, Run};

/// A statement without findings.
pub(crate) const GOOD: &str = "vadd.u32.u32.u32 d, a, b;\n";
/// An error without a fix, V104.
pub(crate) const BAD: &str = "vadd.u32.u32 d, a, b;\n";
/// A warning with a safe fix, V403.
pub(crate) const LOOSE: &str = "vadd.s32.s32.s32 d, a, b, c;\n";
/// A warning with a safe fix, V401.
pub(crate) const ODD: &str = "vadd.sat.s32.s32.s32 d, a, b;\n";
/// A warning without a fix, V501.
pub(crate) const DIFFERS: &str = "vadd.u32.u32.u32.sat d, a, b;\n";
/// A note with a safe fix, V408. It is reported only on request.
pub(crate) const PLAIN: &str = "vmax2.s32.s32.s32 d.h10, a, b, b;\n";
/// A module without video instructions. Its error, V902, is reported only on request.
pub(crate) const NOWHERE: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.entry k()\n{\n\
                                  .reg .b32 r;\nbra nowhere;\n}\n";

/// One file for each kind of finding.
pub(crate) fn kinds(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("bad.ptx", BAD);
    folder.write("differs.ptx", DIFFERS);
    folder.write("loose.ptx", LOOSE);
    folder.write("plain.ptx", PLAIN);
    folder
}

/// The codes of a concise report, in order.
pub(crate) fn codes(text: &str) -> Vec<&str> {
    text.lines().map(|line| &line[line.find('[').expect(line) + 1..][..4]).collect()
}

/// A schema of `docs/`.
pub(crate) fn schema(name: &str) -> Value {
    let text = fs::read_to_string(Path::new(ROOT).join("docs").join(name)).expect(name);
    serde_json::from_str(&text).expect(name)
}

/// The objects in the output of a run, one on each line. They follow a schema of `docs/`.
pub(crate) fn records(run: &Run, name: &str) -> Vec<Value> {
    let validator = jsonschema::validator_for(&schema(name)).expect("a valid schema");
    let read = |line: &str| {
        let record: Value = serde_json::from_str(line).expect(line);
        assert!(validator.is_valid(&record), "{line}");
        record
    };
    run.stdout.lines().map(read).collect()
}
