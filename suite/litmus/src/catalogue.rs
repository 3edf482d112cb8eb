//! Programs of the literature, and how many executions they have.
//!
//! The counts are those of GenMC where it publishes them, one for each graph of program order, reads-from and coherence; under SC,
//! Nidhugg confirms them. Of programs that assume something, they are those executions in which the assumptions hold. All agree
//! with the oracle.

use crate::program::Program;

/// A program and the number of its complete executions under each model.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What it is called.
    pub name: String,
    /// The program.
    pub program: Program,
    /// Under SC.
    pub sc: u64,
    /// Under RC11.
    pub rc11: u64,
}

/// All programs that have at most so many executions.
///
/// # Panics
/// Never: all programs parse.
pub fn entries(most: u64) -> impl Iterator<Item = Entry> {
    let fixed = FIXED.iter().map(|&(name, text, sc, rc11)| (name.to_owned(), text.to_owned(), sc, rc11));
    let entries = fixed.chain(scaling()).filter(move |entry| entry.3 <= most);
    entries.map(|(name, text, sc, rc11)| {
        let program = text.parse().unwrap_or_else(|problem| panic!("{name}: {problem}"));
        Entry { name, program, sc, rc11 }
    })
}

/// Name, program, executions under SC and under RC11.
const FIXED: &[(&str, &str, u64, u64)] = &[
    ("SB", "Wr(x,1); Ra y || Wr(y,1); Ra x", 3, 4),
    ("SB+4sc", "Ws(x,1); Rs y || Ws(y,1); Rs x", 3, 3),
    ("SB+3sc+rel", "Ws(x,1); Rs y || Wr(y,1); Rs x", 3, 4),
    ("SB+2sc+scf", "Ws(x,1); Rs y || Wx(y,1); Fs; Rx x", 3, 3),
    ("SB+scfs", "Wx(x,1); Fs; Rx y || Wx(y,1); Fs; Rx x", 3, 3),
    ("MP", "Wr(x,1); Wr(y,1) || Ra y; Ra x", 3, 3),
    ("MP+rel+acq", "Wx(x,1); Wr(y,1) || a=Ra y; if a==1 { Rx x }", 2, 2),
    ("MP+rels+acq", "Wx(x,1); Wr(y,0); Wx(y,1) || a=Ra y; if a==1 { Rx x }", 3, 4),
    ("LB", "Ra y; Wr(x,1) || Ra x; Wr(y,1)", 3, 3),
    ("LB2", "Rx x; Wx(y,1) || Rx y; Wx(x,1)", 3, 3),
    ("LB3", "Rx x; Wx(y,1) || Rx y; Wx(z,1) || Rx z; Wx(x,1)", 7, 7),
    ("2+2W", "Wr(x,1); Wr(y,2) || Wr(y,1); Wr(x,2)", 3, 4),
    ("2+2W+4sc", "Ws(x,1); Ws(y,2) || Ws(y,1); Ws(x,2)", 3, 3),
    ("2+2W+3sc+rel1", "Wr(x,1); Ws(y,2) || Ws(y,1); Ws(x,2)", 3, 4),
    ("2+2W+scfs", "Wx(x,1); Fs; Wx(y,2) || Wx(y,1); Fs; Wx(x,2)", 3, 3),
    ("CoRR", "Wr(x,1); Wr(x,2) || Ra x; Ra x", 6, 6),
    ("CoRR1", "Wr(x,1) || Wr(x,2) || Ra x; Ra x || Ra x", 36, 36),
    ("CoRR2", "Wr(x,1) || Wr(x,2) || Ra x; Ra x || Ra x; Ra x", 72, 72),
    ("CoRW", "Ra x; Wr(x,1) || Wr(x,2)", 3, 3),
    ("CoWR", "Wr(x,1); Ra x || Wr(x,2)", 3, 3),
    ("2CoWR", "Ra y || Ra x || Wr(x,1) || Wr(y,1)", 4, 4),
    ("IRIW-acq-sc", "Ws(x,1) || Ra x; Rs y || Ra y; Rs x || Ws(y,1)", 15, 16),
    ("RWC+syncs", "Wx(x,1) || Rx x; Fs; Rx y || Wx(y,1); Fs; Rx x", 7, 7),
    ("W+RWC", "Wx(x,1); Wr(z,1) || Ra z; Fs; Rx y || Wx(y,1); Fs; Rx x", 7, 7),
    ("Z6+acq", "Wx(u,1); Fs; Wx(v,1) || Ra v; Wx(w,1) || Wx(w,2); Fs; Rx u", 7, 7),
    ("isa2", "Wx(u,1); Wr(v,1) || Ra v; Wr(w,1) || Ra w; Rx u", 7, 7),
    ("MP+incMP", "Ra y; FAAq(z,1) || FAAq(z,1); Ra x || Wr(x,1); Wr(y,1)", 7, 7),
    ("LB+incMPs", "Ra x; FAAq(z,1) || FAAq(z,1); Wr(y,1) || Ra y; FAAq(w,1) || FAAq(w,1); Wr(x,1)", 15, 15),
    (
        "MPU2+rels+acqf",
        "Wx(x,1); Wr(y,0); Wx(y,1) || CASx(y,2,3) || CASx(y,1,2) || a=Rx y; if a>2 { Fa; Wx(x,2) }",
        35,
        36,
    ),
    ("W+RRR+W", "Wx(x,1) || Rx x; Rx x; Rx x || Wx(x,2)", 20, 20),
    ("fr+w+w+w+reads", "Wx(x,1) || Wx(x,2) || Wx(x,3) || Rx x; Rx x; Rx x; Rx x", 210, 210),
    ("viktor-relseq", "FAAa(x,1); FAAx(x,1) || FAAx(x,1); FAAx(x,1) || FAAr(x,1) || FAAx(x,1)", 180, 180),
    ("ccr", "CASs(x,0,42) || CASs(x,0,17); Rs x", 2, 2),
    ("cii", "CASs(x,1,2) || FAAs(x,1) || FAAs(x,1)", 6, 6),
    ("wcii", "Ws(x,5) || CASs(x,1,2) || FAAs(x,1) || FAAs(x,1)", 24, 24),
    ("inc2w", "FAAx(x,1) || Wr(x,4) || FAAx(x,2)", 6, 6),
    ("riwi", "Rx y; FAAx(x,1) || FAAx(x,1); Wr(y,1)", 3, 3),
    ("CoRR0", "Wr(x,1) || Ra x || Ra x", 4, 4),
    ("default", "Ra x; Ra x || Wr(x,1) || Wr(x,2)", 12, 12),
    ("IRIWish", "Wx(x,1) || a=Rx x; Wr(y,a) || Rx x; Fq; Rx y || Rx y; Fq; Rx x", 27, 28),
    ("MPU+rels+acq", "Wx(x,1); Wr(y,0); Wx(y,1) || FAAx(y,1) || a=Ra y; if a>1 { Wx(x,2) }", 12, 13),
    // GenMC has 22. It puts what happens before a sequentially consistent read-modify-write before its write, also if nothing of
    // that is another place; by C++20 and by RC11, of whose authors the program is, that order need not be.
    ("Z6.U", "Ws(x,1); Wr(y,1) || FAAs(y,1); Rx y || Ws(y,3); Rs x", 18, 24),
    ("cumul-release", "Wx(x,1); Wr(y,1) || a=Rx y; Wx(z,a) || Rx z; Fq; Rx x", 7, 8),
    ("detour", "Wx(x,1) || a=Rx z; Wx(x,a+4294967295); b=Rx x; Wx(y,b) || c=Rx y; Wx(z,c)", 9, 9),
    ("inc+inc+RR+W+RR", "FAAx(x,1) || FAAx(x,1) || Rx x; Rx x || Wx(x,42) || Rx x; Rx x", 600, 600),
    ("atomicpo", "Wx(x,1); Fq; Wx(y,1) || SWPx(y,1); SWPx(x,1)", 3, 4),
    ("casdep", "a=Rx x; CASx(y,a,1); Wx(z,a) || Wx(y,2)", 2, 2),
    ("MP2", "Wr(x,1); Wr(y,1) || Wr(y,2) || Ra y; Ra x", 9, 10),
    ("assume-ctrl", "a=Rx y; if a>1 { b=Rx y; assume b>3 }; Wx(x,1) || Rx x; Wx(y,3); Fs; Wx(y,4)", 4, 4),
    (
        "psc-ar",
        "a=Rx y; assume a==1; Fs; b=Rx z; assume b==0 || Wx(z,1); Fs; Wx(x,1) || \
         d=Rx x; if d==1 { Wx(y,1) }; assume d==1",
        0,
        1,
    ),
    ("wb1", "Ws(x,1); a=FAAs(x,1); assume a==42 || b=FAAs(x,42); assume b==0; Rs x", 0, 0),
    (
        "wb2",
        "a=Rx x; assume a==5; Rx x || c=Rx x; assume c==4; Wx(x,5) || Wx(x,3); Wx(x,4) || \
         d=FAAx(x,10); assume d==3",
        1,
        1,
    ),
    (
        "wb3",
        "a=Rx x; assume a==6; Rx x || Wx(x,4); Wx(x,6) || Wx(x,3); d=FAAx(x,1); assume d==4 || \
         e=FAAx(x,10); assume e==3",
        1,
        1,
    ),
    ("wb4", "a=FAAx(x,1); assume a==1 || Wx(x,1); b=FAAx(x,1); assume b==10; Rx x || Wx(x,10)", 1, 1),
    ("wb5", "a=FAAx(x,1); assume a==0 || b=FAAx(x,1); assume b==10; Rx x || Wx(x,10)", 1, 1),
    (
        "wb-fp",
        "Ws(w,2); Ws(u,2); b=Rs v; assume b==2 || Ws(w,1); a=Rs u; assume a==2; b=Rs v; assume b==1 || \
         Ws(v,2); Ws(u,1); c=Rs w; assume c==2 || Ws(v,1); a=Rs u; assume a==1; c=Rs w; assume c==1",
        0,
        0,
    ),
    (
        "psc-wb-why-fxp",
        "Ws(x,1); a=Rs y; assume a==0; Ws(y,1); b=Rs x; assume b==1 || \
         Ws(x,2); a=Rs y; assume a==0; Ws(y,2); b=Rs x; assume b==2",
        0,
        0,
    ),
    (
        "psc-wb-fixpoint",
        "Ws(x,1); a=Rs y; assume a==0 || Wx(x,2); Fs; c=Rx z; assume c==0 || \
         Ws(y,1); b=Rs x; assume b==2 || Wx(z,1); Fs; d=Rx x; assume d==1",
        0,
        0,
    ),
    ("N-writers(4)", "Wr(x,1) || Wr(x,2) || Wr(x,3) || Wr(x,4) || Wr(x,5) || Ra x", 720, 720),
    (
        "big0",
        "Ra x; Ra y; Ra z; Ra w; Ra x; Ra y; Ra z || Ra x; Ra y; Ra z || \
         Wr(x,1); Wr(y,1); Wr(x,2); Wr(y,2); Wr(x,3); Wr(y,3) || \
         Wr(z,1); Wr(w,1); Wr(z,2); Wr(w,2); Wr(z,3); Wr(w,3)",
        69112,
        82472,
    ),
    (
        "big1",
        "Ra x; Ra y; Ra z; Ra w; Ra x; Ra y; Ra z; Ra w || Ra x; Ra y; Ra z; Ra w; Ra x; Ra y || \
         Wr(x,1); Wr(y,1); Wr(x,2); Wr(y,2); Wr(x,3); Wr(y,3) || \
         Wr(z,1); Wr(w,1); Wr(z,2); Wr(w,2); Wr(z,3); Wr(w,3)",
        1_820_474,
        2_950_753,
    ),
];

/// Programs with a parameter.
fn scaling() -> Vec<(String, String, u64, u64)> {
    let mut all = Vec::new();
    let mut add = |name: &str, n: usize, text: String, sc: u64, rc11: u64| {
        all.push((format!("{name}({n})"), text, sc, rc11));
    };
    for (n, count) in [(2, 22), (3, 300), (4, 6576)] {
        add("wrw", n, format!("Wr(x,1) || {}", each(n, |i| format!("Rx x; Wr(x,{i})"))), count, count);
    }
    for n in [2, 3, 8, 13] {
        add("readers", n, format!("Wr(x,1) || {}", each(n, |_| "Ra x".into())), 1 << n, 1 << n);
    }
    for (n, count) in [(2, 5), (3, 12), (5, 64), (6, 144), (10, 3328), (15, 147_456)] {
        add("lastzero", n, lastzero(n), count, count);
    }
    for n in 2..=7 {
        let factorial = (1..=n as u64).product();
        add("ainc", n, each(n, |_| "FAAx(x,1)".into()), factorial, factorial);
    }
    for n in [2, 3, 5, 6] {
        // Nidhugg confirms these.
        let factorial = |n: u64| (1..=n).product();
        let (last, floating) = (factorial(n as u64), factorial(n as u64 + 1));
        add("lastwrite", n, each(n, |i| format!("Wr(x,{i})")), last, last);
        add("floating_read", n, format!("Ra x || {}", each(n, |i| format!("Wr(x,{i})"))), floating, floating);
    }
    for (n, count) in [(2, 4), (3, 36), (4, 576)] {
        add("binc", n, each(n, |_| "FAAx(x,1); FAAx(y,1)".into()), count, count);
    }
    for (n, count) in [(2, 8), (3, 216), (4, 13_824)] {
        add("cinc", n, each(n, |_| "FAAx(x,1); FAAx(y,1); FAAx(z,1)".into()), count, count);
    }
    for n in [2, 3] {
        let local =
            |place: &str| (0..n).map(|i| format!("Ws({place},{i}); Rs {place}; ")).collect::<String>();
        let threads = [("u", 1), ("v", 2)].map(|(place, i)| format!("{}Ws(x,{i}); Rs x", local(place)));
        add("par_length", n, threads.join(" || "), 4, 4);
    }
    for n in 2..=6 {
        add("cas", n, each(n, |i| format!("CASs(x,0,{i})")), n as u64, n as u64);
    }
    for (n, count) in (2..).zip([2, 5, 14, 43, 144, 523, 2048, 8597]) {
        add("casrot", n, each(n, |i| format!("CASs(x,{},{i})", i - 1)), count, count);
    }
    for (n, count) in (2..).zip([6, 66, 1200, 32880]) {
        add("casw", n, each(n, |i| format!("CASs(x,0,1); Wr(x,{})", i + 3)), count, count);
    }
    for (n, count) in (2..).zip([4, 36, 576]) {
        add("inc", n, each(n, |i| format!("a=Rx x; Wr(x,a+{})", 1 << i)), count, count);
        add("rw", n, each(n, |i| format!("Rx x; Wr(x,{i})")), count, count);
    }
    for (n, sc, rc11) in [(1, 4, 4), (2, 15, 16), (3, 130, 144), (4, 2028, 2304), (5, 49776, 57600)] {
        let writers = (1..n).map(|i| format!(" || Wr(y,{i}); Wr(z,{i})")).collect::<String>();
        add("CoA", n, format!("Wr(x,1); Ra y; Ra x || Wr(x,2); Ra z; Ra x{writers}"), sc, rc11);
    }
    for (n, sc, rc11) in
        [(1, 11, 11), (2, 140, 153), (3, 1698, 2258), (4, 19605, 34205), (5, 218_243, 525_630)]
    {
        add("fib_bench", n, fib_bench(n), sc, rc11);
    }
    all
}

/// Threads 1 to n.
fn each(n: usize, thread: impl Fn(usize) -> String) -> String {
    (1..=n).map(thread).collect::<Vec<_>>().join(" || ")
}

/// One thread looks for the last zero of an array, from its end; each other one makes an element one more than that before it.
fn lastzero(n: usize) -> String {
    let place = |index: usize| char::from(b'a' + u8::try_from(index).expect("the array is short"));
    let search = (0..=n).fold(String::new(), |rest, index| {
        let register = place(index);
        format!("{register}=Ra {register}; if {register}!=0 {{ {rest} }}")
    });
    let writers = each(n, |index| format!("r=Ra {}; Wr({},r+1)", place(index - 1), place(index)));
    format!("{search} || {writers}")
}

fn fib_bench(n: usize) -> String {
    let add = |to: &str| vec![format!("p=Ra x; q=Ra y; Wr({to},p+q)"); n].join("; ");
    format!("x=1 y=1: {} || {} || p=Ra x; if p>144 {{ }} else {{ Ra y }}", add("x"), add("y"))
}
