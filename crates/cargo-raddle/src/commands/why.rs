//! `cargo raddle why`: a question about a failure, answered as text.

use raddle_report::query::{Answer, Index, Question, render_answer};

use crate::cli::WhyArgs;
use crate::error::{Error, Result, exit};
use crate::report;
use crate::terminal::Terminal;

/// Prints the answer. Nothing is built or run, unless other executions are asked for.
pub(crate) fn why(args: WhyArgs) -> Result<u8> {
    if args.alternatives {
        super::find_alternatives(&args.file, args.output.clone())?;
    }
    let failure = report::read(&args.file)?;
    let terminal = Terminal::new(&args.output);
    let index = Index::of(&failure);
    let mut questions = vec![Question::Why { target: args.target.clone() }];
    if args.alternatives && !args.target.is_empty() {
        let point = failure.point_of_no_return.as_ref().map(|_| Question::PointOfNoReturn);
        let pass = failure.nearest_pass.as_ref().map(|_| Question::NearestPass);
        questions.extend(point.into_iter().chain(pass));
    }
    let answers =
        questions.iter().map(|question| index.answer(question)).collect::<std::result::Result<_, _>>();
    let answer = Answer::Why { answers: answers.map_err(Error::usage)? };
    print!("{}", render_answer(&answer, report::style(&terminal)));
    Ok(exit::PASSED)
}
