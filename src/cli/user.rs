//! `tidings user`: manages accounts.

mod list;

use super::terminal::{self, Need, progress_bar};
use super::{CreateOption, Here, now};
use crate::WrongUse;
use anyhow::Context;
use clap::Subcommand;
use std::sync::Arc;
use tidings_domain::accounts::roles::{self, GivenRole};
use tidings_domain::accounts::two_factor::setup;
use tidings_domain::accounts::{account, harden, login_link, people, signup};
use tidings_domain::values::secrets::random_token;
use tidings_domain::values::words::counted;
use tidings_domain::values::{NewPassword, UserId, Username};
use tidings_domain::{Site, Visit};
use tidings_web::error::in_english;
use tidings_web::features::sessions::login_link::login_link_path;

/// Manage accounts.
///
/// Passwords are read from the terminal, or as one line from standard input. If the
/// line is empty, a password is generated and printed.
#[derive(Debug, Subcommand)]
pub enum UserCommand {
    /// Create an account. The first one of a site is the administrator's.
    Add {
        /// The username.
        name: String,
        /// Whether the store may be created.
        #[command(flatten)]
        create: CreateOption,
    },
    /// Make a user an administrator, or remove the role.
    ///
    /// The last administrator stays one. The moderation log does not record it.
    Promote {
        /// The username.
        name: String,
        /// Remove the role.
        #[arg(long)]
        end: bool,
    },
    /// Remove the administrator role, as `promote --end` does.
    Demote {
        /// The username.
        name: String,
    },
    /// Make a user a moderator, or remove the role.
    ///
    /// The moderation log does not record it.
    Moderator {
        /// The username.
        name: String,
        /// Remove the role.
        #[arg(long)]
        end: bool,
    },
    /// List accounts.
    List(list::ListAccounts),
    /// Protect the weak password hashes of accounts from an older site.
    ///
    /// Wraps the hashes that Lamer News stored in Argon2id, for everybody who has not logged
    /// in here yet. Their passwords stay the same, but Lamer News cannot verify them any
    /// more. The site may run meanwhile. The command can be interrupted: the next run
    /// continues.
    Harden,
    /// Remove the second factors of a user who has lost them.
    ///
    /// Removes the authenticator app, the passkeys and the recovery codes. From then on the
    /// password alone logs in. Make sure that it is the owner who asks.
    RemoveTwoFactor {
        /// The username.
        name: String,
    },
    /// Print a link with which an administrator logs in, if the OpenID provider does not work.
    ///
    /// The link works once, for ten minutes, and whatever the settings of logins are.
    LoginLink {
        /// The username of an administrator.
        name: String,
    },
    /// Set a user's password and log the user out everywhere.
    Password {
        /// The username.
        name: String,
    },
}

impl UserCommand {
    /// Whether it may create the store.
    pub(super) fn create(&self) -> CreateOption {
        match self {
            Self::Add { create, .. } => *create,
            _ => CreateOption::default(),
        }
    }

    /// A password, for those that set one.
    pub(super) fn need(&self) -> Need {
        match self {
            Self::Add { name, .. } | Self::Password { name } => Need::Password(name.clone()),
            _ => Need::Nothing,
        }
    }

    /// Runs the command.
    ///
    /// # Errors
    /// A message for the operator.
    pub async fn run(self, here: &Here) -> anyhow::Result<()> {
        let site = match &self {
            Self::Add { .. } => here.site_or_new().await?,
            _ => here.site().await?,
        };
        let site = &Arc::new(site.for_command());
        match self {
            Self::Add { name, .. } => {
                let username = Username::parse(&name).map_err(|error| WrongUse::new(in_english(&error)))?;
                let Chosen { password, generated } = choose_password()?;
                let added = signup::add_account_with_password(site, now(), &username, &password).await?;
                say_generated(generated)?;
                say!("created the account {name} (user {})", added.user_id);
                if added.is_administrator {
                    say!("{name} is the site's administrator, because this is the first account");
                }
            }
            Self::Promote { name, end } => set_role(site, &name, GivenRole::Administrator, !end).await?,
            Self::Demote { name } => set_role(site, &name, GivenRole::Administrator, false).await?,
            Self::Moderator { name, end } => set_role(site, &name, GivenRole::Moderator, !end).await?,
            Self::List(list) => list.run(site, now()).await?,
            Self::Harden => harden_all(site).await?,
            Self::RemoveTwoFactor { name } => {
                let had_any = setup::remove_all(site, find(site, &name).await?).await?;
                match had_any {
                    true => say!("{name} has no second factor any more"),
                    false => say!("{name} had no second factor"),
                }
            }
            Self::LoginLink { name } => {
                let token = login_link::make(site, now(), find(site, &name).await?).await?;
                say!("{}{}", site.address.trim_end_matches('/'), login_link_path(&token));
            }
            Self::Password { name } => {
                let id = find(site, &name).await?;
                let Chosen { password, generated } = choose_password()?;
                account::set_password(site, now(), id, &password).await?;
                say_generated(generated)?;
                say!("{name} has a new password and is logged out everywhere");
            }
        }
        Ok(())
    }
}

/// Gives a user a role, or takes it.
async fn set_role(site: &Arc<Site>, name: &str, role: GivenRole, has: bool) -> anyhow::Result<()> {
    let id = find(site, name).await?;
    let changed = roles::set_role(site, now(), id, (role, has)).await?;
    let called = match role {
        GivenRole::Administrator => "an administrator",
        GivenRole::Moderator => "a moderator",
    };
    match (has, changed) {
        (true, true) => say!("{name} is now {called}"),
        (true, false) => say!("{name} is {called} already"),
        (false, true) => say!("{name} is no longer {called}"),
        (false, false) => say!("{name} is not {called}"),
    }
    Ok(())
}

/// Wraps all weak hashes, with a progress bar.
async fn harden_all(site: &Site) -> anyhow::Result<()> {
    let bar = progress_bar(harden::count_accounts(site).await?, "protecting passwords");
    let done = harden::harden(site, |done| bar.set_position(done.checked)).await?;
    drop(bar);
    say!(
        "{} checked; protected {}",
        counted(done.checked, "account", "accounts"),
        counted(done.wrapped, "weak password", "weak passwords")
    );
    Ok(())
}

/// The account with a name.
pub(super) async fn find(site: &Arc<Site>, name: &str) -> anyhow::Result<UserId> {
    let mut visit = Visit::new(Arc::clone(site), now(), None);
    people::id_of(&mut visit, name).await.with_context(|| format!("cannot find {name:?}"))
}

/// A password, and its text if it was generated.
struct Chosen {
    password: NewPassword,
    generated: Option<String>,
}

/// Says a generated password, once it is that of the account.
fn say_generated(generated: Option<String>) -> anyhow::Result<()> {
    if let Some(generated) = generated {
        say!("password: {generated}");
    }
    Ok(())
}

/// Asks for a password, and generates one if the input is empty.
fn choose_password() -> anyhow::Result<Chosen> {
    let typed = terminal::password()?;
    if typed.is_empty() {
        let generated: String = random_token()?.chars().take(20).collect();
        return Ok(Chosen { password: NewPassword::parse(&generated)?, generated: Some(generated) });
    }
    Ok(Chosen { password: NewPassword::parse(&typed)?, generated: None })
}
