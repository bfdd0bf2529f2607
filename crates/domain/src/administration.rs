//! Changes by administrators to the site as a whole, and the steps that are left on a new one.

pub mod hooks;
mod waiting;

pub use waiting::{Backlog, Queues, waiting};

use crate::action::Logging;
use crate::identity::{Identity, LINKS, LOGO, stored_picture};
use crate::values::site_settings::{NAME, SITE_SETTINGS, SiteSetting, given_by};
use crate::values::{Action, Logo, SitePart, SiteReaders, Timestamp, UserId, stored_links};
use crate::{AUDIT, Decision, Result, Site, User, Visit, fields, identity, keys};
use tidings_keyspace::{Batch, read};
use tidings_language::t;

/// Adds to the batch of a change the line of the moderation log that says what was done.
pub type LogSiteChange =
    for<'a> fn(&'a Site, &'a mut Batch, (Timestamp, UserId), (Action, SitePart, String)) -> Logging<'a>;

/// Changes how the site presents itself, who may read it and who may sign up, all but the logo: what is `None` or empty comes
/// from the configuration again. What the configuration gives stays as it is stored. Rounds: 3; 1 more if other people
/// may read the site now, which the moderation log says.
///
/// # Errors
/// [`Refusal::AdministratorsOnly`](crate::Refusal::AdministratorsOnly), or the store's.
pub async fn change_identity(
    site: &Site,
    now: Timestamp,
    viewer: &User,
    (changed, log): (&Identity, LogSiteChange),
) -> Result<()> {
    viewer.require_admin()?;
    let links = (!changed.links.is_empty()).then(|| stored_links(&changed.links));
    let editable = SITE_SETTINGS.iter().filter(|setting| given_by(&site.rules, setting.field).is_none());
    let texts = editable.map(|SiteSetting { field, setting, .. }| {
        let default = site.rules.configured.get(setting).map(|configured| &*configured.text);
        (*field, changed.texts.get(field).filter(|text| Some(*text) != default).map(str::to_owned))
    });
    let changes: Vec<_> = texts.chain([(LINKS, links)]).collect();
    let readers = changed.texts.readers(&site.rules);
    let others_read = identity::of_site(site, now).await?.texts.readers(&site.rules) != readers;
    let committed = site.act(keys::SITE, || async {
        let mut batch = Batch::new();
        for (name, value) in &changes {
            match value {
                Some(value) => batch.set_field(keys::SITE, *name, value),
                None => batch.delete_field(keys::SITE, *name),
            }
        }
        if others_read {
            let now_read = match readers {
                SiteReaders::Everyone => t!("now: everyone"),
                SiteReaders::Members => t!("now: members"),
            };
            let line = (Action::SetReaders, SitePart::Readers, now_read.to_owned());
            log(site, &mut batch, (now, viewer.id), line).await?;
        }
        Decision::commit(batch, ()).once(viewer.request.as_ref(), &())
    });
    committed.await?;
    // The choice of readers counts from now on.
    identity::of_site(site, now).await?;
    let name = changed.texts.get(NAME).unwrap_or_default();
    tracing::info!(target: AUDIT, by = viewer.username, name, %readers, "the appearance of the site was changed");
    Ok(())
}

/// Replaces the logo; `None` removes it. Rounds: 1.
///
/// # Errors
/// [`Refusal::AdministratorsOnly`](crate::Refusal::AdministratorsOnly), or the store's.
pub async fn change_logo(site: &Site, viewer: &User, logo: Option<&Logo>) -> Result<()> {
    viewer.require_admin()?;
    let mut batch = Batch::new();
    match logo {
        Some(logo) => {
            batch.set_field(keys::SITE, LOGO, logo.file.to_string());
            batch.set(keys::SITE_LOGO, stored_picture(logo.bytes()));
        }
        None => {
            batch.delete_field(keys::SITE, LOGO);
            batch.delete(keys::SITE_LOGO);
        }
    }
    viewer.commit(site, batch).await?;
    let file = logo.map(|logo| logo.file.name());
    tracing::info!(target: AUDIT, by = viewer.username, file, "the logo of the site was changed");
    Ok(())
}

/// The first steps that a site has taken so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FirstSteps {
    /// Whether a story has been submitted.
    pub has_stories: bool,
    /// Whether a story has had a topic.
    pub has_topics: bool,
    /// Whether anybody besides the first user has signed up.
    pub has_members: bool,
}

/// Reads the first steps that the site has taken so far. Rounds: 1.
pub async fn first_steps(visit: &mut Visit) -> Result<FirstSteps> {
    let [news, users] = [keys::NEWS_COUNT, keys::USERS_COUNT].map(fields::counter);
    let (news, topics, users) = visit.fetch((news, read::sorted_count(keys::TOPICS), users)).await?;
    Ok(FirstSteps { has_stories: news > 0, has_topics: topics > 0, has_members: users > 1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::site_settings::{ACCENT, SiteTexts};
    use crate::values::{FooterLink, Rules};
    use crate::{Error, Refusal};
    use std::sync::Arc;
    use tidings_keyspace::Hash;

    fn user(flags: &str) -> User {
        let fields =
            [("id", "1"), ("username", "alice"), ("flags", flags), ("apisecret", "s"), ("ctime", "1")];
        User::from_hash(&Hash(fields.map(|(name, value)| (name.to_owned(), value.to_owned())).into()))
            .unwrap()
            .acting(&Rules::default(), Timestamp(1))
    }

    async fn site() -> Arc<Site> {
        Arc::new(Site::in_memory().await)
    }

    async fn seen(site: &Arc<Site>) -> Identity {
        (*Visit::new(site.clone(), Timestamp(1), None).identity().await).clone()
    }

    #[tokio::test]
    async fn a_change_is_seen_at_once_and_can_be_taken_back() {
        let site = site().await;
        assert_eq!(seen(&site).await, Identity::default());
        let gazette = Identity {
            texts: SiteTexts::parse(|field| match field {
                NAME => "Gazette",
                ACCENT => "#aa0000",
                _ => "",
            })
            .0,
            links: FooterLink::parse("Us", "/about").unwrap().into_iter().collect(),
            ..Identity::default()
        };
        change_identity(&site, Timestamp(1), &user("a"), (&gazette, UNLOGGED)).await.unwrap();
        assert_eq!(seen(&site).await, gazette);
        assert_eq!(*site.known_identity(), gazette);
        change_identity(&site, Timestamp(1), &user("a"), (&Identity::default(), UNLOGGED)).await.unwrap();
        assert_eq!(seen(&site).await, Identity::default());
    }

    /// None of these changes has a line in the log.
    const UNLOGGED: LogSiteChange = |_, _, _, _| Box::pin(async { Ok(()) });

    #[tokio::test]
    async fn only_administrators_change_the_site() {
        let site = site().await;
        let refused = change_identity(&site, Timestamp(1), &user(""), (&Identity::default(), UNLOGGED)).await;
        assert!(matches!(refused, Err(Error::Refused(Refusal::AdministratorsOnly))));
        let refused = change_logo(&site, &user(""), None).await;
        assert!(matches!(refused, Err(Error::Refused(Refusal::AdministratorsOnly))));
    }

    #[tokio::test]
    async fn the_identity_costs_no_round_of_its_own() {
        let site = site().await;
        let mut visit = Visit::new(site.clone(), Timestamp(1), None);
        let before = site.store.rounds();
        first_steps(&mut visit).await.unwrap();
        visit.identity().await;
        assert_eq!(site.store.rounds() - before, 1);
        seen(&site).await;
        assert_eq!(site.store.rounds() - before, 1);
    }
}
