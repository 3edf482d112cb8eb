//! What one `cargo raddle` command knows once it has looked around: the workspace, the target, where things are built
//! and how they are instrumented.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use raddle_report::file;

use crate::allocator;
use crate::announce;
use crate::cargo::metadata::Package;
use crate::cargo::{Cargo, CargoOptions, Config, Metadata, RustcVersion};
use crate::error::{Error, Result};
use crate::instrument::{self, LibraryFlags, Plan};
use crate::library_cache;
use crate::passthrough;
use crate::setup;
use crate::wrapper;

/// A command in a workspace.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) cargo: Cargo,
    pub(crate) metadata: Metadata,
    pub(crate) options: CargoOptions,
    /// The target triple: the user's, or else the host. Always passed to cargo, because only then does the command
    /// line of the compiler tell crates for the target from build scripts and macros.
    pub(crate) target: String,
    /// The compiler.
    pub(crate) rustc: OsString,
    /// `<target directory>/raddle`.
    pub(crate) directory: PathBuf,
    /// Cargo's target directory for instrumented builds, inside `directory`.
    pub(crate) build_directory: PathBuf,
    /// Where notes about test binaries with a `main` of their own are kept.
    pub(crate) own_main: PathBuf,
    /// Where the command lines by which tests were compiled are kept.
    pub(crate) command_lines: PathBuf,
    /// What `rustc -vV` says.
    pub(crate) rustc_version: String,
    /// The compiler flags of instrumented crates.
    pub(crate) flags: Vec<String>,
    pub(crate) plan_file: PathBuf,
    /// The user's own wrapper of the compiler.
    pub(crate) next_wrapper: Option<OsString>,
}

impl Session {
    /// Looks around and prepares the instrumentation.
    pub(crate) fn open(options: CargoOptions) -> Result<Session> {
        let cargo = Cargo::from_env();
        let config = Config::read(&cargo, &options);
        let rustc = config.rustc.unwrap_or_else(|| "rustc".into());
        let version = RustcVersion::of(&rustc)?;
        let target = match options.compilation.target.clone().or(config.target) {
            Some(target) if target != "host-tuple" => target,
            _ => version.host.clone(),
        };
        setup::check_target(&rustc, &target)?;
        let metadata = cargo.metadata(&options, &target)?;
        setup::check(&metadata)?;
        let directory = match &options.compilation.target_dir {
            Some(directory) => absolute(directory)?,
            None => metadata.target_directory.clone(),
        };
        let directory = directory.join("raddle");
        create_directory(&directory)?;

        let passthrough = passthrough::compile(&rustc, &version, &target, &directory)?;
        let allocator = allocator::compile(&rustc, &version, &target, &directory)?;
        let (own_main, command_lines) = (directory.join("own-main"), directory.join("command-lines"));
        create_directory(&own_main)?;
        create_directory(&command_lines)?;
        let renames = match options.compilation.no_races {
            true => None,
            false => Some(announce::write_renames(&directory)?),
        };
        let plan = Plan {
            flags: instrument::flags(renames.as_deref()),
            whole: instrument::WHOLE.to_args(),
            debuginfo: instrument::DEBUGINFO.iter().map(|arg| (*arg).to_owned()).collect(),
            uninstrumented: instrument::uninstrumented(&metadata)?,
            libraries: LibraryFlags::new(&metadata, &rustc),
            link: instrument::link_args(&passthrough, &target)
                .into_iter()
                .chain(allocator.link_args())
                .collect(),
            compiler: version.verbose.clone(),
            own_main: own_main.clone(),
            command_lines: command_lines.clone(),
        };
        let (plan_file, key) = write_plan(&plan, &directory)?;
        if let Some(cache) = library_cache::directory() {
            library_cache::prune(&cache);
        }
        let build_directory = directory.join(format!("build-{key}"));
        let next_wrapper = config.rustc_wrapper;
        Ok(Session {
            cargo,
            metadata,
            options,
            target,
            rustc,
            directory,
            build_directory,
            own_main,
            command_lines,
            rustc_version: version.verbose,
            flags: plan.flags,
            plan_file,
            next_wrapper,
        })
    }

    /// A cargo command that builds with instrumentation. `--target` and `--target-dir` are for the caller to pass.
    pub(crate) fn instrumented(&self) -> Result<Command> {
        let this = std::env::current_exe().map_err(Error::file("find", "cargo-raddle"))?;
        let mut command = self.cargo.command();
        command.env("RUSTC_WRAPPER", this);
        self.tell_wrapper(&mut command);
        // Optimisation of the whole program at link time would run the instrumentation on everything at once, the
        // engine included.
        let profile = self.options.compilation.profile().to_uppercase().replace('-', "_");
        command.env(format!("CARGO_PROFILE_{profile}_LTO"), "false");
        Ok(command)
    }

    /// The wrapper of the compiler, as cargo calls it.
    pub(crate) fn wrapper(&self) -> Result<Command> {
        let this = std::env::current_exe().map_err(Error::file("find", "cargo-raddle"))?;
        let mut command = Command::new(this);
        crate::cargo::remove_package_variables(&mut command);
        self.tell_wrapper(&mut command);
        Ok(command)
    }

    fn tell_wrapper(&self, command: &mut Command) {
        command.env(wrapper::PLAN, &self.plan_file);
        match &self.next_wrapper {
            Some(next) => command.env(wrapper::NEXT, next),
            None => command.env_remove(wrapper::NEXT),
        };
    }

    /// Where failure files are written.
    pub(crate) fn failures(&self) -> PathBuf {
        self.directory.join("failures")
    }

    /// The arguments that decide what cargo builds, for the failure file: the packages by name whatever the working
    /// directory, because which packages are built together decides the features of what they share.
    pub(crate) fn build_args(&self) -> Vec<String> {
        let options = &self.options;
        let mut args = Vec::new();
        if options.packages.is_default() {
            for package in self.default_packages() {
                args.extend(["--package".to_owned(), package.name.clone()]);
            }
        } else {
            args.extend(options.packages.to_args());
        }
        args.extend(options.features.to_args());
        args.extend(options.compilation.profile_args());
        args.extend(options.compilation.no_races.then(|| "--no-races".to_owned()));
        for (name, path) in [
            ("--manifest-path", &options.manifest.manifest_path),
            ("--target-dir", &options.compilation.target_dir),
        ] {
            if let Some(path) = path.as_ref().and_then(|path| absolute(path).ok()) {
                args.extend([name.to_owned(), path.display().to_string()]);
            }
        }
        if let Some(target) = &options.compilation.target {
            args.extend(["--target".to_owned(), target.clone()]);
        }
        args.extend(options.manifest.config_args());
        args
    }

    /// The packages that cargo selects when none is asked for.
    pub(crate) fn default_packages(&self) -> Vec<&Package> {
        let directory = std::env::current_dir().unwrap_or_default();
        self.metadata.default_packages(&directory, self.options.manifest.manifest_path.as_deref())
    }
}

/// Writes the plan where the wrapper finds it, and returns its key. Cargo does not see what the wrapper does, so the key
/// becomes part of cargo's target directory: another plan is another build.
fn write_plan(plan: &Plan, directory: &Path) -> Result<(PathBuf, String)> {
    let text = serde_json::to_string(plan).map_err(Error::usage)?;
    // A build directory holds what was compiled with these flags and no others, also after this command has changed.
    let key = instrument::key(&[&text]);
    let file = directory.join(format!("plan-{key}.json"));
    if !file.exists() {
        file::replace(&file, text).map_err(Error::file("write", &file))?;
    }
    Ok((file, key))
}

fn create_directory(directory: &Path) -> Result<()> {
    fs::create_dir_all(directory).map_err(Error::file("create", directory))
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(Error::file("find", path))
}
