//! Parses and prints instructions, for a comparison with the same in C.
//!
//! usage: round_trips COUNT LINES

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, count, lines] = arguments.as_slice() else { panic!("round_trips COUNT LINES") };
    let text = std::fs::read_to_string(lines).expect("the lines");
    let lines: Vec<&str> =
        text.lines().filter(|it| !it.is_empty() && !it.starts_with('/')).take(1000).collect();
    let mut printed = 0;
    for line in lines.iter().cycle().take(count.parse().expect("a count")) {
        let instruction: library::Instruction = line.parse().expect("an instruction");
        printed += std::hint::black_box(instruction.to_string()).len();
    }
    println!("{printed} bytes");
}
