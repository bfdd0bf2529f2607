//! One visit: who asks, and the rounds of reads that answer.
//!
//! Finding out who asks takes two dependent reads: the session token gives the
//! user's id, the id gives the user. A page takes some rounds of its own. So
//! the session's reads ride along with the page's rounds: the token in the
//! first, the user in the second. A page learns who asks without a round more.
//! Who has asked before is kept.

use crate::accounts::users::User;
use crate::error::Error;
use crate::keys;
use crate::site::Site;
use crate::values::clock::Timestamp;
use crate::values::ids::UserId;
use std::sync::Arc;
use tidings_keyspace::{Answers, Part, Query};

/// Someone looking at the site at one moment.
pub struct Visit {
    site: Arc<Site>,
    now: Timestamp,
    stage: Stage,
    returned: bool,
    current: bool,
}

enum Stage {
    Anonymous,
    Token(String),
    Known(UserId),
    Viewer(Arc<User>),
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
        let current = !site.store.is_shared();
        let mut visit = Self { site, now, stage, returned: false, current };
        visit.recall();
        visit
    }

    /// Goes on as far as it is kept in memory who asks.
    fn recall(&mut self) {
        let kept = &self.site.kept;
        if let Stage::Token(token) = &self.stage
            && let Some(id) = kept.sessions.get(self, token)
        {
            self.stage = Stage::Known(id);
        }
        if let Stage::Known(id) = &self.stage
            && let Some(user) = kept.viewers.get(self, id)
        {
            self.stage = Stage::Viewer(user);
        }
    }

    /// The site that is visited.
    #[must_use]
    pub fn site(&self) -> &Site {
        &self.site
    }

    /// The site, for who goes on with the visit meanwhile.
    pub(crate) fn site_too(&self) -> Arc<Site> {
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
        let (store, kept) = (&self.site.store, &self.site.kept);
        let has_asked = !query.is_empty() || matches!(self.stage, Stage::Token(_) | Stage::Known(_));
        let answers = match &self.stage {
            Stage::Token(token) => {
                let key = keys::auth(token);
                let footprint = store.footprint_of([Part::Key(&key)]);
                let id = query.string(key);
                let mut answers = store.query(query).await?;
                self.stage = match answers.take(id).and_then(|id| id.parse().ok()) {
                    Some(id) => {
                        kept.sessions.put(self, token.clone(), id, footprint, None);
                        Stage::Known(id)
                    }
                    None => Stage::Anonymous,
                };
                answers
            }
            Stage::Known(id) => {
                let key = keys::user(*id);
                let footprint = store.footprint_of([Part::Key(&key)]);
                let hash = query.hash(key);
                let mut answers = store.query(query).await?;
                self.stage = match User::from_hash(&answers.take(hash)) {
                    Some(user) => {
                        let user = Arc::new(user);
                        kept.viewers.put(self, *id, user.clone(), footprint, None);
                        Stage::Viewer(user)
                    }
                    None => Stage::Anonymous,
                };
                answers
            }
            Stage::Anonymous | Stage::Viewer(_) => store.query(query).await?,
        };
        if !self.current && has_asked && self.site.store.tells_of_writes() {
            self.current = true;
            self.recall();
        }
        Ok(answers)
    }

    /// Whether everything is known that was written before the visit: then what is
    /// kept and stands may be used. On a store that others write to it is known
    /// after the first round.
    #[must_use]
    pub(crate) const fn is_current(&self) -> bool {
        self.current
    }

    /// Who asks, as far as it is known: `None` for a visitor without a session,
    /// and mostly before the first round.
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
    pub(crate) async fn identify(&mut self) -> Result<Option<UserId>, Error> {
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
                if let Err(error) = crate::accounts::karma::reward_visit(&self.site, self.now, user).await {
                    // The page is worth more than the point.
                    tracing::warn!(user = %user.id, %error, "visit not rewarded");
                }
                match crate::accounts::presence::note_visit(&self.site, self.now, user).await {
                    Ok(returned) => self.returned |= returned,
                    Err(error) => tracing::warn!(user = %user.id, %error, "visit not recorded"),
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
