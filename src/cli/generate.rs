//! `tidings generate`: what packages hold besides the program, made from the commands themselves.

use super::PROGRAM;
use anyhow::Context;
use clap::{Args, Command};
use clap_complete::Shell;
use std::path::PathBuf;

/// Write the manual pages and the completions for bash, zsh and fish into a folder.
#[derive(Debug, Args)]
pub struct Generate {
    /// The folder, which is created if it does not exist.
    folder: PathBuf,
}

impl Generate {
    /// Writes the files.
    ///
    /// # Errors
    /// When the folder cannot be written to.
    pub fn run(&self, command: Command) -> anyhow::Result<()> {
        let folder = &self.folder;
        let write = || format!("cannot write to {}", folder.display());
        std::fs::create_dir_all(folder).with_context(write)?;
        let mut shown = shown(&command);
        clap_mangen::generate_to(command, folder).with_context(write)?;
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            clap_complete::generate_to(shell, &mut shown, PROGRAM, folder).with_context(write)?;
        }
        Ok(())
    }
}

/// A command without what is hidden, which completions would offer.
fn shown(command: &Command) -> Command {
    let shown = command.get_subcommands().filter(|inner| !inner.is_hide_set());
    Command::new(PROGRAM).version(env!("CARGO_PKG_VERSION")).args(command.get_arguments()).subcommands(shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::CommandFactory;

    #[test]
    fn each_command_has_a_page_and_each_shell_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let generate = Generate { folder: folder.path().join("new") };
        generate.run(Cli::command()).unwrap();
        let read = |name: &str| std::fs::read_to_string(generate.folder.join(name)).unwrap();
        assert!(read("tidings.1").contains("tidings\\-user(1)"), "{}", read("tidings.1"));
        // Other commands generate passwords and accounts.
        let names_generate = |name: &str| read(name).replace("generated", "").contains("generate");
        assert!(!names_generate("tidings.1") && !generate.folder.join("tidings-generate.1").exists());
        assert!(read("tidings-user-promote.1").contains("administrator"));
        for shell in ["tidings.bash", "_tidings", "tidings.fish"] {
            assert!(read(shell).contains("promote") && read(shell).contains("listen"), "{shell}");
            assert!(!names_generate(shell), "{shell}");
        }
    }
}
