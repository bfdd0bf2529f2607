//! `tidings move timelines`: moves home timelines to a server or cluster of their own, or back.

use super::terminal::progress_bar;
use super::{Here, patiently};
use crate::config::TimelinesUrl;
use anyhow::Context;
use clap::{Args, Subcommand};
use tidings_domain::site::Site;
use tidings_domain::timelines::moving::{Destination, OldTimelines, TimelineMove};
use tidings_domain::values::words::counted;

/// The subcommands of `tidings move`.
#[derive(Debug, Subcommand)]
pub enum MoveCommand {
    /// Move home timelines to a Redis server or cluster of their own, or back into the store.
    ///
    /// The site keeps running, and its servers follow at once. Nothing is copied: each timeline is
    /// made anew, and read from its authors' timelines until then. You can stop the command at any
    /// time and run it again.
    Timelines(MoveTimelines),
}

/// The options of `tidings move timelines`.
#[derive(Debug, Args)]
pub struct MoveTimelines {
    /// Where to: redis+cluster://HOST,HOST,HOST, redis://HOST, redis+sentinel://HOST,HOST,HOST/NAME, or
    /// "store" for the store.
    #[arg(long, value_name = "URL")]
    to: Target,
    /// Leave what is at the old place: another site goes on to use it, from which this store was copied
    /// or restored.
    #[arg(long)]
    leave_old: bool,
}

/// Where to.
#[derive(Debug, Clone)]
struct Target(Destination);

impl std::str::FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "store" {
            return Ok(Self(Destination::Store));
        }
        let url: TimelinesUrl = text.parse().map_err(|error| format!("{error}, or store"))?;
        Ok(Self(url.destination()))
    }
}

impl MoveCommand {
    /// Moves.
    ///
    /// # Errors
    /// When a server or the store fails, or others keep writing the same timelines.
    pub async fn run(self, here: &Here) -> anyhow::Result<()> {
        let Self::Timelines(MoveTimelines { to: Target(to), leave_old }) = self;
        let old = if leave_old { OldTimelines::Left } else { OldTimelines::Deleted };
        match here.on_site(async |site| move_all(&site, &to, old).await).await? {
            Some(users) => {
                say!("the home timelines of {} are at {}", counted(users, "user", "users"), to.shown())
            }
            None => say!("the home timelines are at {} already", to.shown()),
        }
        Ok(())
    }
}

/// Moves the timelines of all users. Returns how many there are; `None` if all are there already.
async fn move_all(site: &Site, to: &Destination, old: OldTimelines) -> anyhow::Result<Option<u64>> {
    let begun = patiently(async || {
        to.look().await?;
        Ok(TimelineMove::begin(site, to, old).await?)
    });
    let begun =
        begun.await.with_context(|| format!("the home timelines cannot be moved to {}", to.shown()))?;
    let Some(mut moving) = begun else { return Ok(None) };
    let bar = progress_bar(moving.progress().1, "moving home timelines");
    while moving.next().await? {
        let (done, all) = moving.progress();
        bar.set_length(all);
        bar.set_position(done);
    }
    bar.finish_and_clear();
    Ok(Some(moving.progress().1))
}
