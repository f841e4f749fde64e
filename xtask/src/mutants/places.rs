//! The places where a source can be mutated. Each place gets a text before it and a text after it,
//! so that the code can still choose the unchanged text.

use std::ops::Range;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, Lit, Pat, ReturnType, Stmt, Type, UnOp};

/// One possible change of a source.
#[derive(Clone)]
pub struct Place {
    /// The place, in bytes of the source.
    pub range: Range<usize>,
    /// The function that contains the place, in bytes of the source.
    pub function: Range<usize>,
    /// A description of the change, for the report.
    pub what: String,
    change: Change,
}

#[derive(Clone)]
enum Change {
    /// Another expression replaces the expression: it has another part of this kind.
    Instead(&'static str, String),
    /// The condition becomes its negation.
    Not,
    /// The condition is always this value.
    Fixed(bool),
    /// The function returns this value at once.
    Return(String),
    /// The statement is left out.
    Omit,
    /// The arm of a `match` never applies.
    Never,
}

impl Place {
    /// The texts to insert before and after the place if its number is `id`.
    pub fn around(&self, id: usize) -> (String, &'static str) {
        let on = format!("crate::mutant({id})");
        match &self.change {
            Change::Instead(_, text) => (format!("(if {on} {{ {text} }} else {{ "), " })"),
            Change::Not => (format!("({on} != ("), "))"),
            Change::Fixed(true) => (format!("({on} || ("), "))"),
            Change::Fixed(false) => (format!("(!{on} && ("), "))"),
            Change::Return(value) => (format!("if {on} {{ return {value}; }} "), ""),
            Change::Omit => (format!("if !{on} {{ "), " }"),
            Change::Never => (format!(" if !{on}"), ""),
        }
    }

    /// What is changed, in a word.
    pub fn kind(&self) -> &'static str {
        match self.change {
            Change::Instead(kind, _) => kind,
            Change::Not => "condition",
            Change::Fixed(_) => "guard",
            Change::Return(_) => "result",
            Change::Omit => "statement",
            Change::Never => "arm",
        }
    }
}

/// All places of a source, and the number of functions without places because they are `const`.
pub fn places(text: &str) -> syn::Result<(Vec<Place>, usize)> {
    let file = syn::parse_file(text)?;
    let mut finder = Finder { text, function: None, places: Vec::new(), constant: 0 };
    finder.visit_file(&file);
    Ok((finder.places, finder.constant))
}

struct Finder<'a> {
    text: &'a str,
    /// The function that is being visited. Outside of functions, there are no places.
    function: Option<Range<usize>>,
    places: Vec<Place>,
    constant: usize,
}

impl Finder<'_> {
    fn add(&mut self, range: Range<usize>, change: Change) {
        let Some(function) = self.function.clone() else { return };
        let old = self.text[range.clone()].split_whitespace().collect::<Vec<_>>().join(" ");
        let what = match &change {
            Change::Instead(_, new) => {
                let new = new.split_whitespace().collect::<Vec<_>>().join(" ");
                format!("`{old}` becomes `{new}`")
            }
            Change::Not => format!("`{old}` is negated"),
            Change::Fixed(value) => format!("`{old}` becomes `{value}`"),
            Change::Return(value) => format!("returns `{value}` at once"),
            Change::Omit => format!("`{old}` is left out"),
            Change::Never => "the arm never applies".into(),
        };
        self.places.push(Place { range, function, what, change });
    }

    /// Adds a place where a part of an expression is replaced.
    fn replace(&mut self, kind: &'static str, whole: Range<usize>, part: Range<usize>, new: &str) {
        let (before, after) = (whole.start..part.start, part.end..whole.end);
        let text = format!("{}{new}{}", &self.text[before], &self.text[after]);
        self.add(whole, Change::Instead(kind, text));
    }

    /// Whether the words are `a & m` and `b & !m`, so that `|` and `^` are the same.
    fn are_disjoint(&self, left: &Expr, right: &Expr) -> bool {
        let parts = |word: &Expr| -> Vec<&str> {
            let Expr::Paren(inner) = word else { return Vec::new() };
            let Expr::Binary(and) = &*inner.expr else { return Vec::new() };
            if !matches!(and.op, BinOp::BitAnd(_)) {
                return Vec::new();
            }
            [&and.left, &and.right].map(|part| &self.text[part.span().byte_range()]).into()
        };
        let (left, right) = (parts(left), parts(right));
        let negates = |x: &str, y: &str| x.strip_prefix('!') == Some(y);
        left.iter().any(|x| right.iter().any(|y| negates(x, y) || negates(y, x)))
    }

    fn condition(&mut self, condition: &Expr) {
        // Literals are negated elsewhere.
        if !has_let(condition) && !matches!(condition, Expr::Lit(_)) {
            self.add(condition.span().byte_range(), Change::Not);
        }
    }

    fn body(
        &mut self,
        attributes: &[syn::Attribute],
        signature: &syn::Signature,
        block: &syn::Block,
        visit: impl FnOnce(&mut Self),
    ) {
        if is_left_out(attributes) {
            return;
        }
        if signature.constness.is_some() {
            self.constant += 1;
            return;
        }
        let outer = self.function.replace(block.span().byte_range());
        if let Some(first) = block.stmts.first() {
            let start = first.span().byte_range().start;
            for value in values(signature) {
                self.add(start..start, Change::Return(value));
            }
        }
        visit(self);
        self.function = outer;
    }
}

/// Values that a mutated function can return.
fn values(signature: &syn::Signature) -> Vec<String> {
    let ReturnType::Type(_, of) = &signature.output else { return vec![String::new()] };
    match &**of {
        Type::ImplTrait(_) | Type::Never(_) => Vec::new(),
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else { return Vec::new() };
            match last.ident.to_string().as_str() {
                "bool" => vec!["true".into(), "false".into()],
                "Result" => vec!["Ok(Default::default())".into()],
                // `Default::default()` would call the function itself.
                _ if signature.ident == "default" => Vec::new(),
                _ => vec!["Default::default()".into()],
            }
        }
        _ => vec!["Default::default()".into()],
    }
}

fn has_let(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}

/// Whether the code is a test, or is compiled only on other systems or without a feature.
fn is_left_out(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::List(list) => {
            let condition = list.tokens.to_string();
            let is_for_wasm = condition.contains("wasm") && !condition.contains("not");
            list.path.is_ident("cfg")
                && (condition == "test" || condition.starts_with("not") || is_for_wasm)
        }
        syn::Meta::NameValue(_) => false,
    })
}

/// The operators that may replace an operator.
fn operators(operator: &BinOp) -> &'static [&'static str] {
    match operator {
        BinOp::Eq(_) => &["!="],
        BinOp::Ne(_) => &["=="],
        BinOp::Lt(_) => &["<=", ">="],
        BinOp::Le(_) => &["<", ">"],
        BinOp::Gt(_) => &[">=", "<="],
        BinOp::Ge(_) => &[">", "<"],
        BinOp::And(_) => &["||"],
        BinOp::Or(_) => &["&&"],
        BinOp::Add(_) => &["-", "*"],
        BinOp::Sub(_) | BinOp::Mul(_) => &["+"],
        BinOp::Div(_) => &["*"],
        BinOp::Rem(_) => &["/"],
        BinOp::BitAnd(_) => &["|", "^"],
        BinOp::BitOr(_) => &["&", "^"],
        BinOp::BitXor(_) => &["|", "&"],
        BinOp::Shl(_) => &[">>"],
        BinOp::Shr(_) => &["<<"],
        BinOp::AddAssign(_) => &["-="],
        BinOp::SubAssign(_) | BinOp::MulAssign(_) => &["+="],
        BinOp::BitAndAssign(_) => &["|="],
        BinOp::BitOrAssign(_) | BinOp::BitXorAssign(_) => &["&="],
        BinOp::ShlAssign(_) => &[">>="],
        BinOp::ShrAssign(_) => &["<<="],
        _ => &[],
    }
}

/// Pairs of methods that may replace each other.
const METHODS: [[&str; 2]; 6] = [
    ["min", "max"],
    ["any", "all"],
    ["is_some", "is_none"],
    ["first", "last"],
    ["starts_with", "ends_with"],
    ["take_while", "skip_while"],
];

/// The literals next to a literal.
fn beside(literal: &Lit) -> Vec<String> {
    let both = |value: u128, suffix: &str| {
        let around = [value.checked_add(1), value.checked_sub(1)];
        around.into_iter().flatten().map(|value| format!("{value}{suffix}")).collect()
    };
    match literal {
        Lit::Int(int) => {
            int.base10_parse::<u128>().map(|value| both(value, int.suffix())).unwrap_or_default()
        }
        Lit::Byte(byte) => both(byte.value().into(), "u8"),
        Lit::Bool(bool) => vec![(!bool.value).to_string()],
        _ => Vec::new(),
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    // Patterns, types and attributes cannot contain a call that asks for the active mutant.
    fn visit_pat(&mut self, _: &'ast Pat) {}
    fn visit_type(&mut self, _: &'ast Type) {}
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}
    fn visit_variant(&mut self, _: &'ast syn::Variant) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}

    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_left_out(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        let syn::ItemFn { attrs, sig, block, .. } = function;
        self.body(attrs, sig, block, |finder| visit::visit_item_fn(finder, function));
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if !is_left_out(&item.attrs) {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        let syn::ImplItemFn { attrs, sig, block, .. } = function;
        self.body(attrs, sig, block, |finder| visit::visit_impl_item_fn(finder, function));
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        let syn::TraitItemFn { attrs, sig, default: Some(block), .. } = function else { return };
        self.body(attrs, sig, block, |finder| visit::visit_trait_item_fn(finder, function));
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        if !has_let(&binary.left) && !has_let(&binary.right) {
            let (whole, part) = (binary.span().byte_range(), binary.op.span().byte_range());
            let is_same = matches!(binary.op, BinOp::BitOr(_))
                && self.are_disjoint(&binary.left, &binary.right);
            for new in operators(&binary.op).iter().filter(|new| !is_same || **new != "^") {
                self.replace("operator", whole.clone(), part.clone(), new);
            }
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        if matches!(unary.op, UnOp::Not(_) | UnOp::Neg(_)) {
            let (whole, part) = (unary.span().byte_range(), unary.op.span().byte_range());
            self.replace("operator", whole, part, "");
        }
        visit::visit_expr_unary(self, unary);
    }

    fn visit_expr_lit(&mut self, literal: &'ast syn::ExprLit) {
        for new in beside(&literal.lit) {
            self.add(literal.span().byte_range(), Change::Instead("literal", new));
        }
    }

    // How much memory is reserved changes only time.
    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        let Expr::Path(function) = &*call.func else { return visit::visit_expr_call(self, call) };
        if function.path.segments.last().is_none_or(|name| name.ident != "with_capacity") {
            visit::visit_expr_call(self, call);
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        for [one, other] in METHODS {
            for [old, new] in [[one, other], [other, one]] {
                if call.method == old {
                    let (whole, part) = (call.span().byte_range(), call.method.span().byte_range());
                    self.replace("method", whole, part, new);
                }
            }
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_if(&mut self, expression: &'ast syn::ExprIf) {
        self.condition(&expression.cond);
        visit::visit_expr_if(self, expression);
    }

    fn visit_expr_while(&mut self, expression: &'ast syn::ExprWhile) {
        self.condition(&expression.cond);
        visit::visit_expr_while(self, expression);
    }

    fn visit_expr_match(&mut self, expression: &'ast syn::ExprMatch) {
        let has_rest = |arm: &syn::Arm| matches!(arm.pat, Pat::Wild(_)) && arm.guard.is_none();
        let rest = expression.arms.iter().position(has_rest).unwrap_or(0);
        for (index, arm) in expression.arms.iter().enumerate() {
            if let Some((_, guard)) = &arm.guard {
                if !has_let(guard) {
                    for value in [true, false] {
                        self.add(guard.span().byte_range(), Change::Fixed(value));
                    }
                }
            } else if index < rest {
                let end = arm.pat.span().byte_range().end;
                self.add(end..end, Change::Never);
            }
        }
        visit::visit_expr_match(self, expression);
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        if self.text[statement.span().byte_range()].starts_with("#[cfg(not(") {
            return;
        }
        let can_go = match statement {
            Stmt::Expr(expression, Some(_)) => match expression {
                Expr::Try(of) => {
                    matches!(*of.expr, Expr::Call(_) | Expr::MethodCall(_) | Expr::Macro(_))
                }
                Expr::Binary(_) | Expr::Call(_) | Expr::MethodCall(_) | Expr::Assign(_) => true,
                other => matches!(other, Expr::Return(_) | Expr::Continue(_)),
            },
            Stmt::Macro(statement) => {
                let name = statement.mac.path.segments.last().map(|name| name.ident.to_string());
                name.is_some_and(|name| name.starts_with("write"))
            }
            _ => false,
        };
        if can_go {
            self.add(statement.span().byte_range(), Change::Omit);
        }
        visit::visit_stmt(self, statement);
    }
}
