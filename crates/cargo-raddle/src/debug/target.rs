//! The program that is debugged: the test of a failure file, built as it was when the failure was found, in replay.

use std::path::{Path, PathBuf};

use super::adapter::Program;
use super::events::Events;
use crate::cargo::options::Output;
use crate::commands::replay::Replayed;
use crate::error::{Error, Result};
use crate::libtest::HarnessOptions;
use crate::options::RaddleOptions;
use crate::report;
use crate::run::Contract;
use crate::terminal::Terminal;

/// What is to be debugged.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The failure file.
    pub(crate) file: PathBuf,
    /// Whether to go on though the program has changed since.
    pub(crate) force: bool,
}

/// A failure and the program that shows it.
pub(crate) struct Target {
    pub(crate) events: Events,
    pub(crate) program: Program,
}

impl Target {
    /// Builds the test of a failure. `table` is the file that is shared with it.
    pub(crate) fn build(request: &Request, table: &Path) -> Result<Target> {
        let failure = report::read(&request.file)?;
        let file = std::path::absolute(&request.file).map_err(Error::file("find", &request.file))?;
        let output = Output::default();
        let terminal = Terminal::new(&output);
        let replayed = Replayed::of(&failure)?;
        let session = replayed.open(&file, &failure.build.cargo_args, output)?;
        let binary = replayed.build(&session)?;
        let mut contract = Contract::new(&session, &RaddleOptions::default(), &terminal)?;
        contract.set("RADDLE_REPLAY", file.display().to_string());
        contract.set("RADDLE_DEBUGGER", table.display().to_string());
        if request.force {
            contract.set("RADDLE_FORCE", "1".to_owned());
        }
        let mut command = binary.command();
        contract.apply_to_test(&mut command, &binary, &failure.test);
        let text = |text: &std::ffi::OsStr| text.to_string_lossy().into_owned();
        let variables =
            command.get_envs().filter_map(|(name, value)| Some((text(name), text(value?)))).collect();
        let args = if binary.own_main {
            vec![failure.test.clone()]
        } else {
            HarnessOptions::run_args(&failure.test).map(str::to_owned).to_vec()
        };
        let directory = command.get_current_dir().map(Path::to_owned).unwrap_or_default();
        let program = Program { executable: binary.executable.clone(), args, directory, variables };
        Ok(Target { events: Events::of(failure), program })
    }
}
