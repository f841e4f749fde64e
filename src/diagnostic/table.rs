//! The table of all rules.

use super::{Applicability, Code};

/// The rules as a Markdown table: code, name, severity, whether the rule is on, the kinds of fixes,
/// and the title.
pub fn table() -> String {
    let mut table = String::from(
        "| code | name | severity | default | fix | finds |\n|---|---|---|---|---|---|\n",
    );
    for code in Code::ALL {
        let fixes: Vec<&str> = code
            .fixes()
            .iter()
            .map(|applicability| match applicability {
                Applicability::Safe => "safe",
                Applicability::Unsafe => "unsafe",
                Applicability::DisplayOnly => "shown",
            })
            .collect();
        let row = [
            code.text(),
            code.name(),
            &code.severity().to_string(),
            if code.default() { "on" } else { "off" },
            &fixes.join(", "),
            code.title(),
        ]
        .map(|cell| cell.replace('|', "\\|"));
        table += "| ";
        table += &row.join(" | ");
        table += " |\n";
    }
    table
}
