//! The options of `cargo test` that `cargo raddle` passes on, in the groups that matter to it.

use std::path::PathBuf;

use clap::{ArgAction, Args};

/// Options of cargo, spelled as cargo spells them.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct CargoOptions {
    #[command(flatten)]
    pub(crate) packages: Packages,
    #[command(flatten)]
    pub(crate) targets: Targets,
    #[command(flatten)]
    pub(crate) features: Features,
    #[command(flatten)]
    pub(crate) compilation: Compilation,
    #[command(flatten)]
    pub(crate) manifest: Manifest,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Which packages.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Package selection")]
pub(crate) struct Packages {
    /// Package to run tests for
    #[arg(short, long = "package", value_name = "SPEC")]
    pub(crate) package: Vec<String>,
    /// Test all packages in the workspace
    #[arg(long, visible_alias = "all")]
    pub(crate) workspace: bool,
    /// Exclude packages from the test
    #[arg(long, value_name = "SPEC")]
    pub(crate) exclude: Vec<String>,
}

/// Which targets of them.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Target selection")]
pub(crate) struct Targets {
    /// Test only this package's library
    #[arg(long)]
    pub(crate) lib: bool,
    /// Test all binaries
    #[arg(long)]
    pub(crate) bins: bool,
    /// Test only the specified binary
    #[arg(long, value_name = "NAME")]
    pub(crate) bin: Vec<String>,
    /// Test all examples
    #[arg(long)]
    pub(crate) examples: bool,
    /// Test only the specified example
    #[arg(long, value_name = "NAME")]
    pub(crate) example: Vec<String>,
    /// Test all targets that have `test = true` set
    #[arg(long)]
    pub(crate) tests: bool,
    /// Test only the specified test target
    #[arg(long, value_name = "NAME")]
    pub(crate) test: Vec<String>,
    /// Test all targets that have `bench = true` set
    #[arg(long)]
    pub(crate) benches: bool,
    /// Test only the specified bench target
    #[arg(long, value_name = "NAME")]
    pub(crate) bench: Vec<String>,
    /// Test all targets
    #[arg(long)]
    pub(crate) all_targets: bool,
}

/// With which features.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Feature selection")]
pub(crate) struct Features {
    /// Space or comma separated list of features to activate
    #[arg(short = 'F', long, value_name = "FEATURES")]
    pub(crate) features: Vec<String>,
    /// Activate all available features
    #[arg(long)]
    pub(crate) all_features: bool,
    /// Do not activate the `default` feature
    #[arg(long)]
    pub(crate) no_default_features: bool,
}

/// How they are compiled.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Compilation options")]
pub(crate) struct Compilation {
    /// Build artifacts in release mode, with optimizations
    #[arg(short, long, conflicts_with = "profile")]
    pub(crate) release: bool,
    /// Build artifacts with the specified profile
    #[arg(long, value_name = "PROFILE-NAME")]
    pub(crate) profile: Option<String>,
    /// Build for the target triple
    #[arg(long, value_name = "TRIPLE")]
    pub(crate) target: Option<String>,
    /// Directory for all generated artifacts; Raddle's go into `raddle` inside it
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) target_dir: Option<PathBuf>,
    /// Number of parallel jobs of the build
    #[arg(short, long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) jobs: Option<String>,
    /// Ignore `rust-version` specification in packages
    #[arg(long)]
    pub(crate) ignore_rust_version: bool,
    /// Build without announcements of plain accesses: faster, but no data race is found
    #[arg(long)]
    pub(crate) no_races: bool,
}

/// From which manifest, and what cargo may do to resolve it.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Manifest options")]
pub(crate) struct Manifest {
    /// Path to Cargo.toml
    #[arg(long, value_name = "PATH")]
    pub(crate) manifest_path: Option<PathBuf>,
    /// Assert that `Cargo.lock` will remain unchanged
    #[arg(long)]
    pub(crate) locked: bool,
    /// Run without accessing the network
    #[arg(long)]
    pub(crate) offline: bool,
    /// Equivalent to specifying both --locked and --offline
    #[arg(long)]
    pub(crate) frozen: bool,
    /// Override a configuration value of cargo
    #[arg(long, value_name = "KEY=VALUE|PATH")]
    pub(crate) config: Vec<String>,
    /// Unstable (nightly-only) flags of cargo
    #[arg(short = 'Z', value_name = "FLAG")]
    pub(crate) unstable: Vec<String>,
}

/// What is printed.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
pub(crate) struct Output {
    /// Use verbose output (-vv very verbose)
    #[arg(short, long, action = ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Print failures and results only
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Coloring
    #[arg(long, value_name = "WHEN", value_parser = ["auto", "always", "never"])]
    pub(crate) color: Option<String>,
}

impl CargoOptions {
    /// All of them, as arguments of `cargo test`, but for `--target` and `--target-dir`, which the session sets.
    pub(crate) fn to_args(&self) -> Vec<String> {
        let mut args = self.packages.to_args();
        args.extend(self.targets.to_args());
        args.extend(self.features.to_args());
        args.extend(self.compilation.profile_args());
        flag(&mut args, "--ignore-rust-version", self.compilation.ignore_rust_version);
        value(&mut args, "--jobs", self.compilation.jobs.as_ref());
        args.extend(self.manifest.to_args());
        args.extend(self.output.to_args());
        args
    }
}

impl Packages {
    pub(crate) fn to_args(&self) -> Vec<String> {
        let mut args = Vec::new();
        values(&mut args, "--package", &self.package);
        flag(&mut args, "--workspace", self.workspace);
        values(&mut args, "--exclude", &self.exclude);
        args
    }

    /// Whether the user left the choice to cargo (the package of the working directory, or the default members).
    pub(crate) fn is_default(&self) -> bool {
        self.package.is_empty() && !self.workspace
    }
}

impl Targets {
    pub(crate) fn to_args(&self) -> Vec<String> {
        let mut args = Vec::new();
        flag(&mut args, "--lib", self.lib);
        flag(&mut args, "--bins", self.bins);
        values(&mut args, "--bin", &self.bin);
        flag(&mut args, "--examples", self.examples);
        values(&mut args, "--example", &self.example);
        flag(&mut args, "--tests", self.tests);
        values(&mut args, "--test", &self.test);
        flag(&mut args, "--benches", self.benches);
        values(&mut args, "--bench", &self.bench);
        flag(&mut args, "--all-targets", self.all_targets);
        args
    }
}

impl Features {
    pub(crate) fn to_args(&self) -> Vec<String> {
        let mut args = Vec::new();
        values(&mut args, "--features", &self.features);
        flag(&mut args, "--all-features", self.all_features);
        flag(&mut args, "--no-default-features", self.no_default_features);
        args
    }
}

impl Compilation {
    pub(crate) fn profile_args(&self) -> Vec<String> {
        let mut args = Vec::new();
        flag(&mut args, "--release", self.release);
        value(&mut args, "--profile", self.profile.as_ref());
        args
    }

    /// The profile that `cargo test` takes its settings from.
    pub(crate) fn profile(&self) -> &str {
        match &self.profile {
            Some(profile) => profile,
            None if self.release => "release",
            None => "test",
        }
    }
}

impl Manifest {
    /// What every cargo command understands, `cargo metadata` included.
    pub(crate) fn to_args(&self) -> Vec<String> {
        let mut args = Vec::new();
        value(
            &mut args,
            "--manifest-path",
            self.manifest_path.as_ref().map(|path| path.display().to_string()),
        );
        flag(&mut args, "--locked", self.locked);
        flag(&mut args, "--offline", self.offline);
        flag(&mut args, "--frozen", self.frozen);
        args.extend(self.config_args());
        args
    }

    /// What changes cargo's configuration.
    pub(crate) fn config_args(&self) -> Vec<String> {
        let mut args = Vec::new();
        values(&mut args, "--config", &self.config);
        values(&mut args, "-Z", &self.unstable);
        args
    }
}

impl Output {
    pub(crate) fn to_args(&self) -> Vec<String> {
        let mut args = vec!["--verbose".to_owned(); usize::from(self.verbose)];
        flag(&mut args, "--quiet", self.quiet);
        value(&mut args, "--color", self.color.as_ref());
        args
    }
}

fn flag(args: &mut Vec<String>, name: &str, set: bool) {
    if set {
        args.push(name.to_owned());
    }
}

fn value(args: &mut Vec<String>, name: &str, value: Option<impl ToString>) {
    if let Some(value) = value {
        args.push(name.to_owned());
        args.push(value.to_string());
    }
}

fn values(args: &mut Vec<String>, name: &str, list: &[String]) {
    for item in list {
        value(args, name, Some(item));
    }
}
