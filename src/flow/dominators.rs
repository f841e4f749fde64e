//! Dominators and natural loops.

use super::Block;

/// For each block, the blocks that every path to it passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dominators {
    /// The immediate dominator of each block: the block itself for the first one, and `None` for
    /// blocks that no path leads to.
    immediate: Vec<Option<usize>>,
    /// For each block, its number in depth-first order of the dominator tree, and the last number
    /// below it in the tree.
    below: Vec<(usize, usize)>,
}

impl Dominators {
    /// The immediate dominator of a block: the closest other block that every path to it passes.
    /// `None` for the first block, and for blocks that no path leads to.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn immediate(&self, block: usize) -> Option<usize> {
        self.immediate[block].filter(|it| *it != block)
    }

    /// Whether every path to `block` passes `dominator`. A block dominates itself. False if no path
    /// leads to `block`.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn dominates(&self, dominator: usize, block: usize) -> bool {
        if self.immediate[block].is_none() || self.immediate[dominator].is_none() {
            return false;
        }
        let (first, last) = self.below[dominator];
        (first..=last).contains(&self.below[block].0)
    }

    /// The algorithm Semi-NCA of Georgiadis.
    pub(super) fn of(blocks: &[Block]) -> Dominators {
        let (order, parents) = depth_first(blocks);
        // From here on, blocks have numbers in depth-first order.
        let mut numbers = vec![usize::MAX; blocks.len()];
        order.iter().enumerate().for_each(|(number, block)| numbers[*block] = number);
        let mut semi: Vec<usize> = (0..order.len()).collect();
        let mut forest = Forest::new(order.len());
        let mut dominators = parents.clone();
        for at in (1..order.len()).rev() {
            for &before in &blocks[order[at]].predecessors {
                let before = numbers[before];
                if before != usize::MAX {
                    let least = forest.least(before, at, &semi);
                    semi[at] = semi[at].min(semi[least]);
                }
            }
            forest.link(at, parents[at]);
        }
        for at in 1..order.len() {
            let mut dominator = dominators[at];
            while dominator > semi[at] {
                dominator = dominators[dominator];
            }
            dominators[at] = dominator;
        }
        let mut immediate = vec![None; blocks.len()];
        for (number, &block) in order.iter().enumerate() {
            immediate[block] = Some(order[dominators[number]]);
        }
        Dominators { below: below(&immediate), immediate }
    }
}

/// The blocks that some path leads to, in depth-first order, and for each the number of its parent
/// in the depth-first tree.
fn depth_first(blocks: &[Block]) -> (Vec<usize>, Vec<usize>) {
    let (mut order, mut parents) = (Vec::new(), Vec::new());
    let mut seen = vec![false; blocks.len()];
    let mut open = vec![(0, 0)];
    while let Some((block, parent)) = open.pop() {
        if std::mem::replace(&mut seen[block], true) {
            continue;
        }
        let number = order.len();
        order.push(block);
        parents.push(parent);
        open.extend(blocks[block].successors.iter().rev().map(|next| (*next, number)));
    }
    (order, parents)
}

/// The forest of linked blocks in [`Dominators::of`], with compressed paths.
struct Forest {
    ancestors: Vec<usize>,
    least: Vec<usize>,
}

impl Forest {
    fn new(count: usize) -> Forest {
        Forest { ancestors: vec![usize::MAX; count], least: (0..count).collect() }
    }

    fn link(&mut self, child: usize, parent: usize) {
        self.ancestors[child] = parent;
    }

    /// The block with the least semidominator on the path from `from` up to below the root of its
    /// tree in the forest; `from` itself if its number is at most `last`.
    fn least(&mut self, from: usize, last: usize, semi: &[usize]) -> usize {
        if from <= last {
            return from;
        }
        let mut path = Vec::new();
        let mut at = from;
        while self.ancestors[at] != usize::MAX && self.ancestors[self.ancestors[at]] != usize::MAX {
            path.push(at);
            at = self.ancestors[at];
        }
        while let Some(below) = path.pop() {
            let above = self.ancestors[below];
            if semi[self.least[above]] < semi[self.least[below]] {
                self.least[below] = self.least[above];
            }
            self.ancestors[below] = self.ancestors[above];
        }
        self.least[from]
    }
}

/// For each block, its number in depth-first order of the dominator tree, and the last number below
/// it in the tree.
fn below(immediate: &[Option<usize>]) -> Vec<(usize, usize)> {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); immediate.len()];
    for (block, dominator) in immediate.iter().enumerate() {
        if let Some(dominator) = dominator.filter(|it| *it != block) {
            children[dominator].push(block);
        }
    }
    let mut below = vec![(0, 0); immediate.len()];
    let (mut next, mut open) = (0, vec![(0, false)]);
    while let Some((block, is_left)) = open.pop() {
        if is_left {
            below[block].1 = next - 1;
            continue;
        }
        below[block].0 = next;
        next += 1;
        open.push((block, true));
        open.extend(children[block].iter().map(|child| (*child, false)));
    }
    below
}

/// A natural loop: blocks from which a path leads back to a header that dominates them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loop {
    /// The block where the loop is entered.
    pub header: usize,
    /// The blocks of the loop in order, header included, without the blocks of loops inside of it.
    pub blocks: Vec<usize>,
    /// The index of the loop directly around this one.
    pub parent: Option<usize>,
}

/// The natural loops. An outer loop stands before the loops inside of it. An edge back to a block
/// makes a loop only if that block dominates the start of the edge.
pub(super) fn loops(blocks: &[Block], dominators: &Dominators) -> Vec<Loop> {
    let is_back = |from: usize, to: usize| dominators.dominates(to, from);
    let before = |block: usize| {
        let all = blocks[block].predecessors.iter().copied();
        all.filter(|from| dominators.immediate[*from].is_some())
    };
    let is_header = |block: &usize| before(*block).any(|from| is_back(from, *block));
    let mut headers: Vec<usize> = (0..blocks.len()).filter(is_header).collect();
    // A header dominates the headers of the loops inside of its loop.
    headers.sort_by_key(|header| dominators.below[*header].0);
    let mut loops: Vec<Loop> = headers
        .iter()
        .map(|header| Loop { header: *header, blocks: Vec::new(), parent: None })
        .collect();
    // The innermost loop of each block. Inner loops are found first, and a found loop stands for
    // all its blocks.
    let mut innermost: Vec<Option<usize>> = vec![None; blocks.len()];
    let mut outer: Vec<usize> = (0..loops.len()).collect();
    for number in (0..loops.len()).rev() {
        let header = loops[number].header;
        let ends = before(header).filter(|from| is_back(*from, header));
        let mut open: Vec<usize> = ends.chain([header]).collect();
        while let Some(block) = open.pop() {
            match innermost[block] {
                None => {
                    innermost[block] = Some(number);
                    if block != header {
                        open.extend(before(block));
                    }
                }
                Some(found) => {
                    let top = outermost(&mut outer, found);
                    if top != number {
                        outer[top] = number;
                        loops[top].parent = Some(number);
                        open.extend(before(loops[top].header));
                    }
                }
            }
        }
    }
    for (block, number) in innermost.iter().enumerate() {
        if let Some(number) = number {
            loops[*number].blocks.push(block);
        }
    }
    loops
}

/// The outermost of the known loops around a loop. Shortens the path to it.
fn outermost(outer: &mut [usize], mut number: usize) -> usize {
    while outer[number] != number {
        outer[number] = outer[outer[number]];
        number = outer[number];
    }
    number
}
