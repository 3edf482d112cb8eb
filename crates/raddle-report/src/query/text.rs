//! Answers as text, in the voice of the report.

use super::Answer;
use super::answer::{
    Accesses, Before, Edge, End, HowMissed, Link, Miss, Missed, Moment, NearestPass, Order, Origin,
    PointOfNoReturn, Relation, Step, When,
};
use crate::narrative::words::{counted, tag};
use crate::page::{Line, Page, Paint, Style};

/// Renders an answer.
pub fn render_answer(answer: &Answer, style: Style) -> String {
    let mut page = Page::new(style);
    print(answer, &mut page);
    page.finish()
}

fn print(answer: &Answer, page: &mut Page) {
    match answer {
        Answer::Origin(answer) => origin(answer, page),
        Answer::Accesses(answer) => accesses(answer, page),
        Answer::Missed(answer) => missed(answer, page),
        Answer::Before(answer) => before(answer, page),
        Answer::Order(answer) => order(answer, page),
        Answer::When(answer) => when(answer, page),
        Answer::PointOfNoReturn(answer) => point_of_no_return(answer, page),
        Answer::NearestPass(answer) => nearest_pass(answer, page),
        Answer::Why { answers } => {
            for (number, answer) in answers.iter().enumerate() {
                if number > 0 {
                    page.blank();
                }
                print(answer, page);
            }
        }
    }
}

fn origin(answer: &Origin, page: &mut Page) {
    let text = match &answer.value {
        Some(value) => format!("where {value} comes from"),
        None => "where this comes from".to_owned(),
    };
    heading(page, text);
    for step in &answer.steps {
        if let Some(link) = link(step) {
            page.wrapped(10, 2, Line::of(Paint::Dim, link));
        }
        moment(&step.at, 2, page);
    }
    page.wrapped(10, 2, Line::of(Paint::Dim, end(&answer.end)));
}

fn link(step: &Step) -> Option<String> {
    let thread = tag(step.at.thread);
    let text = match step.link {
        Link::Asked => return None,
        Link::ReadsFrom if step.certain => "read from:".to_owned(),
        Link::ReadsFrom => "read from, likely (the last write before):".to_owned(),
        Link::SameValue => format!("likely the value that {thread} read before:"),
        Link::ComputedFrom => format!("likely computed from what {thread} read before:"),
        Link::Mentioned => format!("likely the value that {thread} read before:"),
        Link::Returned => "likely the result of:".to_owned(),
        Link::LastRead => format!("the last value that {thread} read before:"),
    };
    Some(text)
}

fn end(end: &End) -> String {
    match end {
        End::Initial { location } => format!("the initial value of {location}"),
        End::NotRecorded { location } => {
            format!(
                "a value of {location} that no recorded event wrote: a plain write, or one of the standard library"
            )
        }
        End::Own { thread, spawned_by: Some(spawn) } => format!(
            "a value of {}'s own: a constant, or moved into the thread by event {} ({} {})",
            tag(*thread),
            spawn.event,
            tag(spawn.thread),
            spawn.text
        ),
        End::Own { thread, spawned_by: None } => {
            format!(
                "a value of {}'s own: a constant, or computed from nothing that is recorded",
                tag(*thread)
            )
        }
        End::Address { of, made_by: Some(made) } => {
            format!(
                "the address of {of}, which exists since event {} ({} {})",
                made.event,
                tag(made.thread),
                made.text
            )
        }
        End::Address { of, made_by: None } => format!("the address of {of}"),
        End::CutOff => "and so on".to_owned(),
    }
}

fn accesses(answer: &Accesses, page: &mut Page) {
    heading(page, format!("who wrote {}", answer.location));
    list(&answer.writes, "no recorded event writes it", page);
    page.blank();
    heading(page, format!("who read {}", answer.location));
    for read in &answer.reads {
        moment(&read.at, 2, page);
        let from = match (read.from, read.stale) {
            (Some(write), false) => format!("what event {write} wrote"),
            (Some(write), true) => format!("what event {write} wrote, although there is a newer value"),
            (None, true) => "an older value, although there is a newer one".to_owned(),
            (None, false) => continue,
        };
        page.wrapped(10, 2, Line::of(Paint::Dim, from));
    }
    if answer.reads.is_empty() {
        page.wrapped(2, 2, Line::of(Paint::Dim, "no recorded event reads it"));
    }
    for write in &answer.missed {
        page.blank();
        missed(write, page);
    }
}

fn missed(answer: &Missed, page: &mut Page) {
    heading(page, format!("who should have seen event {} and did not", answer.write.event));
    moment(&answer.write, 2, page);
    for miss in &answer.by {
        page.wrapped(10, 2, Line::of(Paint::Dim, "missed by:"));
        moment(&miss.at, 2, page);
        page.wrapped(10, 2, Line::of(Paint::Dim, why_missed(miss)));
    }
    if answer.by.is_empty() {
        page.wrapped(10, 2, Line::of(Paint::Dim, "nobody: every later access saw it or something newer"));
    }
}

fn why_missed(miss: &Miss) -> String {
    let (write, read) = miss.missing;
    let thread = tag(miss.at.thread);
    let knew = match &miss.knew {
        Some(knew) => {
            format!("{thread} knew {} up to event {} only ({})", tag(knew.thread), knew.event, knew.text)
        }
        None => format!("{thread} knew nothing of that thread"),
    };
    match (miss.how, &miss.read) {
        (HowMissed::Overwrote, Some(relied)) => format!(
            "{thread} overwrites it after it read an older value at event {} ({}): read and write are two steps, and event \
             {write} came between or was not visible",
            relied.event, relied.text
        ),
        _ => format!("nothing makes event {write} happen before event {read}: {knew}"),
    }
}

fn before(answer: &Before, page: &mut Page) {
    heading(page, format!("what must have happened before event {}", answer.event.event));
    moment(&answer.event, 2, page);
    for known in &answer.threads {
        let what = match known.events {
            1 => format!("{} made 1 event before:", tag(known.last.thread)),
            events => format!(
                "{} made {} before; the last:",
                tag(known.last.thread),
                counted(events.into(), "event")
            ),
        };
        page.wrapped(10, 2, Line::of(Paint::Dim, what));
        moment(&known.last, 2, page);
        path(&known.path, page);
    }
    if answer.threads.is_empty() {
        page.wrapped(10, 2, Line::of(Paint::Dim, "nothing of other threads"));
    }
    for other in &answer.unordered {
        let text = format!(
            "not ordered: {} of {} from event {} on ({})",
            counted(other.events.into(), "event"),
            tag(other.first.thread),
            other.first.event,
            other.first.text
        );
        page.wrapped(10, 2, Line::of(Paint::Dim, text));
    }
}

fn order(answer: &Order, page: &mut Page) {
    let (first, second) = (answer.first.event, answer.second.event);
    heading(
        page,
        match answer.relation {
            Relation::Before => format!("event {first} happens before event {second}"),
            Relation::After => format!("event {second} happens before event {first}"),
            Relation::Same => format!("event {first} is event {second}"),
            Relation::Unordered => format!("events {first} and {second} are not ordered"),
        },
    );
    moment(&answer.first, 2, page);
    moment(&answer.second, 2, page);
    path(&answer.path, page);
    match (&answer.knew, answer.relation) {
        (Some(knew), _) => {
            let text =
                format!("{} was known up to event {} only ({})", tag(knew.thread), knew.event, knew.text);
            page.wrapped(10, 2, Line::of(Paint::Dim, text));
        }
        (None, Relation::Unordered) => {
            page.wrapped(10, 2, Line::of(Paint::Dim, "nothing synchronises the two threads before"));
        }
        _ => {}
    }
}

fn path(path: &[Edge], page: &mut Page) {
    for edge in path {
        let arrow = page.style.glyphs().arrow;
        let text = format!(
            "by {} {} ({}) {arrow} {} {} ({})",
            tag(edge.from.thread),
            edge.from.event,
            edge.from.text,
            tag(edge.to.thread),
            edge.to.event,
            edge.to.text
        );
        page.wrapped(10, 2, Line::of(Paint::Dim, text));
    }
}

fn when(answer: &When, page: &mut Page) {
    heading(page, format!("when {}", answer.condition));
    for span in &answer.spans {
        match &span.from {
            Some(from) => {
                page.wrapped(10, 2, Line::of(Paint::Dim, "holds after:"));
                moment(from, 2, page);
            }
            None => page.wrapped(10, 2, Line::of(Paint::Dim, "holds from the beginning")),
        }
        match &span.until {
            Some(until) => {
                page.wrapped(10, 2, Line::of(Paint::Dim, "until:"));
                moment(until, 2, page);
            }
            None => page.wrapped(10, 2, Line::of(Paint::Dim, "to the end")),
        }
    }
    if answer.spans.is_empty() {
        page.wrapped(10, 2, Line::of(Paint::Dim, "never"));
    }
}

fn point_of_no_return(answer: &PointOfNoReturn, page: &mut Page) {
    heading(page, "from here on the failure was unavoidable");
    moment(&answer.event, 2, page);
    let tried = counted(answer.executions, "execution");
    let text = match answer.exhaustive {
        true => format!("every execution that goes on from there fails ({tried})"),
        false => format!("every execution that was tried from there fails ({tried} were tried in all)"),
    };
    page.wrapped(10, 2, Line::of(Paint::Dim, text));
}

fn nearest_pass(answer: &NearestPass, page: &mut Page) {
    heading(page, "the nearest execution that passes");
    match &answer.common {
        Some(common) => {
            page.wrapped(10, 2, Line::of(Paint::Dim, "is the same up to:"));
            moment(common, 2, page);
        }
        None => page.wrapped(10, 2, Line::of(Paint::Dim, "differs from the first event on")),
    }
    for (text, event) in
        [("then the failing one does:", &answer.fails), ("and the passing one:", &answer.passes)]
    {
        if let Some(event) = event {
            page.wrapped(10, 2, Line::of(Paint::Dim, text));
            moment(event, 2, page);
        }
    }
    page.wrapped(10, 2, Line::of(Paint::Dim, format!("its schedule: {}", answer.schedule)));
}

fn heading(page: &mut Page, text: impl Into<String>) {
    page.wrapped(0, 2, Line::of(Paint::Bold, text));
}

fn list(moments: &[Moment], none: &str, page: &mut Page) {
    for at in moments {
        moment(at, 2, page);
    }
    if moments.is_empty() {
        page.wrapped(2, 2, Line::of(Paint::Dim, none));
    }
}

/// The column at which source lines end.
const RIGHT: usize = 100;

/// Prints an event: its number, its thread, its text, its source line.
fn moment(at: &Moment, indent: usize, page: &mut Page) {
    let width = page.style.width;
    let mut line = Line::of(Paint::Dim, format!("{:>4}  ", at.event));
    line.push(Paint::ThreadName(at.thread), tag(at.thread));
    line.push(Paint::Plain, "  ");
    line.push(Paint::Thread(at.thread), at.text.clone());
    if let Some(source) = &at.line {
        let room = width.min(RIGHT).saturating_sub(indent + line.width() + source.chars().count());
        line.push(Paint::Plain, " ".repeat(room.max(2)));
        line.push(Paint::Dim, source.clone());
    }
    page.wrapped(indent, 10, line);
}
