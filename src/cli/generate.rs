//! `tidings generate`: what packages hold besides the program, made from the commands themselves.

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
    pub fn run(&self, mut command: Command) -> anyhow::Result<()> {
        let folder = &self.folder;
        let write = || format!("cannot write to {}", folder.display());
        std::fs::create_dir_all(folder).with_context(write)?;
        clap_mangen::generate_to(command.clone(), folder).with_context(write)?;
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            clap_complete::generate_to(shell, &mut command, "tidings", folder).with_context(write)?;
        }
        Ok(())
    }
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
        assert!(read("tidings-user-promote.1").contains("administrator"));
        for shell in ["tidings.bash", "_tidings", "tidings.fish"] {
            assert!(read(shell).contains("promote"), "{shell}");
        }
    }
}
