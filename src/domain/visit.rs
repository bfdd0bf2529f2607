//! One visit: who asks, and the rounds of reads that answer.
//!
//! Finding out who asks takes two dependent reads: the session token gives the
//! user's id, the id gives the user. A page takes some rounds of its own. So
//! the session's reads ride along with the page's rounds: the token in the
//! first, the user in the second. A page learns who asks without a round more.

use super::clock::Timestamp;
use super::error::Error;
use super::ids::UserId;
use super::keys;
use super::site::Site;
use super::users::User;
use crate::keyspace::{Answers, Query};
use std::sync::Arc;

/// Someone looking at the site at one moment.
pub struct Visit {
    site: Arc<Site>,
    now: Timestamp,
    stage: Stage,
    returned: bool,
}

enum Stage {
    Anonymous,
    Token(String),
    Known(UserId),
    Viewer(Box<User>),
}

impl Visit {
    /// A visit, with the session token that came with the request, if any.
    /// A text that cannot be a token counts as none.
    #[must_use]
    pub fn new(site: Arc<Site>, now: Timestamp, token: Option<&str>) -> Self {
        let stage = match token {
            Some(token) if is_token(token) => Stage::Token(token.to_ascii_lowercase()),
            _ => Stage::Anonymous,
        };
        Self { site, now, stage, returned: false }
    }

    /// The site that is visited.
    #[must_use]
    pub fn site(&self) -> &Site {
        &self.site
    }

    /// The site, for who goes on with the visit meanwhile.
    pub(super) fn site_too(&self) -> Arc<Site> {
        self.site.clone()
    }

    /// The moment of the visit.
    #[must_use]
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// Whether a session token came along, good or not.
    #[must_use]
    pub const fn has_token(&self) -> bool {
        !matches!(self.stage, Stage::Anonymous)
    }

    /// Runs one round of the page's reads, with the session's next read.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn run(&mut self, mut query: Query) -> Result<Answers, Error> {
        match &self.stage {
            Stage::Token(token) => {
                let id = query.string(keys::auth(token));
                let mut answers = self.site.store.query(query).await?;
                self.stage = match answers.take(id).and_then(|id| id.parse().ok()) {
                    Some(id) => Stage::Known(id),
                    None => Stage::Anonymous,
                };
                Ok(answers)
            }
            Stage::Known(id) => {
                let hash = query.hash(keys::user(*id));
                let mut answers = self.site.store.query(query).await?;
                self.stage = match User::from_hash(&answers.take(hash)) {
                    Some(user) => Stage::Viewer(Box::new(user)),
                    None => Stage::Anonymous,
                };
                Ok(answers)
            }
            Stage::Anonymous | Stage::Viewer(_) => Ok(self.site.store.query(query).await?),
        }
    }

    /// Who asks, as far as the first round has told: `None` for a visitor
    /// without a session, and before any round.
    #[must_use]
    pub fn viewer_id(&self) -> Option<UserId> {
        match &self.stage {
            Stage::Known(id) => Some(*id),
            Stage::Viewer(user) => Some(user.id),
            Stage::Anonymous | Stage::Token(_) => None,
        }
    }

    /// Finds out by its own read who asks, where no round of the page has.
    /// Rounds: 1, or none.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn identify(&mut self) -> Result<Option<UserId>, Error> {
        if matches!(self.stage, Stage::Token(_)) {
            self.run(Query::new()).await?;
        }
        Ok(self.viewer_id())
    }

    /// Whether the viewer has been away for so long that the home timeline is
    /// made anew; known once [`Visit::viewer`] has been asked.
    #[must_use]
    pub const fn has_returned(&self) -> bool {
        self.returned
    }

    /// Who asks; runs what is left of the session's own reads. Earns the
    /// viewer the karma of visiting, when it is due, and notes the visit.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn viewer(&mut self) -> Result<Option<&User>, Error> {
        while matches!(self.stage, Stage::Token(_) | Stage::Known(_)) {
            self.run(Query::new()).await?;
        }
        match &mut self.stage {
            Stage::Viewer(user) => {
                if let Err(error) = super::karma::reward_visit(&self.site, self.now, user).await {
                    // The page is worth more than the point.
                    tracing::warn!(user = %user.id, %error, "visit not rewarded");
                }
                match super::presence::note_visit(&self.site, self.now, user).await {
                    Ok(returned) => self.returned |= returned,
                    Err(error) => tracing::warn!(user = %user.id, %error, "visit not noted"),
                }
                Ok(Some(user))
            }
            _ => Ok(None),
        }
    }
}

/// Whether a text has the form of a session token: 40 hex digits.
fn is_token(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
