//! The findings of a search, as one viewer sees them now: whatever an index says, nobody reads here what they may not.

use crate::accounts::users::User;
use crate::accounts::visit::Visit;
use crate::changes::Findable;
use crate::comments::lists::{self as comment_lists, SiteComment};
use crate::error::Error;
use crate::news::lines::NewsLine;
use crate::news::lists as news_lists;
use crate::timelines::lines::TweetLine;
use crate::timelines::reading;
use crate::values::hostname::Hostname;
use crate::values::restriction::RestrictionKind;
use std::collections::HashMap;
use tidings_keyspace::Fetch;

/// Something that was found.
#[derive(Debug)]
pub enum Finding {
    /// A story.
    Story(Box<NewsLine>),
    /// A comment.
    Comment(Box<SiteComment>),
    /// A tweet.
    Tweet(Box<TweetLine>),
    /// A person.
    Person(Box<User>),
    /// A site.
    Site(Hostname),
}

impl Finding {
    /// The thing that it is.
    pub fn of(&self) -> Findable {
        match self {
            Self::Story(line) => Findable::Story(line.news.id),
            Self::Comment(comment) => Findable::Comment(comment.address()),
            Self::Tweet(line) => Findable::Tweet(line.tweet.id),
            Self::Person(user) => Findable::Person(user.id),
            Self::Site(host) => Findable::Site(host.clone()),
        }
    }
}

/// Those of some things that the viewer may see, by what they are. Rounds: at most 2 for each kind.
pub async fn read(visit: &mut Visit, things: &[Findable]) -> Result<HashMap<Findable, Finding>, Error> {
    let (mut stories, mut comments, mut tweets, mut people, mut sites) =
        (vec![], vec![], vec![], vec![], vec![]);
    let mut findings = Vec::new();
    for thing in things {
        match thing {
            Findable::Story(id) => stories.push(*id),
            Findable::Comment(address) => comments.push(*address),
            Findable::Tweet(id) => tweets.push(*id),
            Findable::Person(id) => people.push(*id),
            Findable::Site(host) => sites.push(host.clone()),
        }
    }
    if !stories.is_empty() {
        let lines = news_lists::chosen(visit, &stories).await?;
        findings.extend(lines.into_iter().map(|line| Finding::Story(Box::new(line))));
    }
    if !comments.is_empty() {
        let (seen, _) = comment_lists::chosen(visit, &comments, comments.len()).await?;
        findings.extend(seen.into_iter().map(|comment| Finding::Comment(Box::new(comment))));
    }
    if !tweets.is_empty() {
        let lines = reading::chosen(visit, &tweets).await?;
        findings.extend(lines.into_iter().map(|line| Finding::Tweet(Box::new(line))));
    }
    if !people.is_empty() {
        let users = people.into_iter().map(|id| User::by_id(id).or_absent()).collect::<Vec<_>>();
        let users = visit.fetch(users).await?.into_iter().flatten();
        let now = visit.now();
        let may_be_found = |user: &User| {
            user.withheld.is_none() && user.restrictions.in_force(RestrictionKind::Ban, now).is_none()
        };
        let reader = visit.reader().await?;
        let is_avoided = |user: &User| {
            reader.as_ref().is_some_and(|reader| {
                let texts = [&user.username, &user.fullname, &user.about];
                reader.avoids(user.id) || texts.iter().any(|text| reader.words().are_in(text))
            })
        };
        findings.extend(
            users
                .filter(|user| may_be_found(user) && !is_avoided(user))
                .map(|user| Finding::Person(Box::new(user))),
        );
    }
    if !sites.is_empty() {
        let reader = visit.reader().await?;
        let is_muted = |host: &Hostname| {
            reader
                .as_ref()
                .is_some_and(|reader| reader.has_muted_site(host) || reader.words().are_in(host.as_str()))
        };
        findings.extend(sites.into_iter().filter(|host| !is_muted(host)).map(Finding::Site));
    }
    Ok(findings.into_iter().map(|finding| (finding.of(), finding)).collect())
}
