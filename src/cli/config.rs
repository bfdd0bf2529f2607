//! `tidings config`: every effective setting with its origin, as a file that
//! `--config` would read.

use crate::config::Config;
use std::fmt::Write;

/// The settings as TOML, each under a comment that says what it means
/// and where its value comes from. A secret is a comment, too, so that nobody reads `***` back as one; a
/// URL with `***` in it is refused as a setting.
pub fn text_of(config: &Config) -> String {
    let (mut text, mut current) = (String::new(), None);
    for line in config.describe() {
        let (section, name) = line.name.split_once('.').unwrap_or(("", line.name));
        if current != Some(section) {
            let gap = if current.is_some() { "\n" } else { "" };
            // Writing to a string does not fail.
            let _ = writeln!(text, "{gap}[{section}]");
            current = Some(section);
        }
        let concealed = if line.is_concealed { "# " } else { "" };
        let _ = writeln!(text, "\n# {} ({})\n{concealed}{name} = {}", line.meaning, line.origin, line.value);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WrongUse;
    use crate::config::CommandLineSettings;

    fn printed(variables: &[(&str, &str)]) -> String {
        text_of(&Config::from_variables(variables.iter().copied()).unwrap())
    }

    fn read(text: &str) -> Result<Config, WrongUse> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Config::load(Some(file.path()), [].into_iter(), &CommandLineSettings::default())
    }

    #[test]
    fn what_is_printed_is_toml_that_gives_the_same_settings() {
        let variables =
            [("TIDINGS_SITE__NAME", "A \"quoted\" \\ name # é"), ("TIDINGS_RANKING__SCALE", "5e6")];
        let again = read(&printed(&variables)).unwrap();
        let values = |config: &Config| -> Vec<_> {
            config.describe().iter().map(|line| (line.name, line.value.clone())).collect()
        };
        assert_eq!(again.site.name, "A \"quoted\" \\ name # é");
        assert_eq!(values(&again), values(&Config::from_variables(variables).unwrap()));
    }

    #[test]
    fn every_value_is_printed_with_its_origin() {
        let text = printed(&[("TIDINGS_LIMITS__SUBMISSION_SECONDS", "0")]);
        assert!(
            text.contains("(variable TIDINGS_LIMITS__SUBMISSION_SECONDS)\nsubmission_seconds = 0\n"),
            "{text}"
        );
        assert!(text.contains("(default)\nlisten = \"127.0.0.1:8080\"\n"), "{text}");
    }

    #[test]
    fn a_printed_secret_cannot_be_read_back() {
        let text =
            printed(&[("TIDINGS_MAIL__PASSWORD", "swordfish"), ("TIDINGS_ACCOUNTS__LEGACY_SALT", "x")]);
        let again = read(&text).unwrap();
        assert_eq!((again.mail.password.reveal(), again.rules.accounts.legacy_salt.as_str()), ("", ""));
        for (variable, value) in [
            ("TIDINGS_SERVER__STORE", "redis://me:hunter2@localhost/1"),
            ("TIDINGS_SERVER__STORE", "redis+sentinel://a,b,c/name?sentinel_password=hunter2"),
            ("TIDINGS_TIMELINES__STORE", "redis://:hunter2@localhost/1"),
        ] {
            let error = read(&printed(&[(variable, value)])).unwrap_err().to_string();
            assert!(error.contains("tidings config") && error.contains("***"), "{error}");
        }
        let error = read("[mail]\npassword = \"***\"\n").unwrap_err().to_string();
        assert!(error.contains("mail.password") && error.contains("in place of a secret"), "{error}");
    }

    #[test]
    fn secrets_are_not_printed() {
        let text = printed(&[
            ("TIDINGS_MAIL__PASSWORD", "swordfish"),
            ("TIDINGS_ACCOUNTS__LEGACY_SALT", "pepper"),
            ("TIDINGS_SERVER__STORE", "redis://me:hunter2@localhost/1"),
        ]);
        for secret in ["swordfish", "pepper", "hunter2"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
        assert!(text.contains("\n# password = \"***\"\n"), "{text}");
        assert!(text.contains("store = \"redis://***@localhost/1\"\n"), "{text}");
    }
}
