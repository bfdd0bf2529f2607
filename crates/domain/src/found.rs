//! The findings of a search, as one viewer sees them now: whatever an index says, nobody reads here what they may not.

use crate::accounts::{Seen, ShownIn};
use crate::changes::Findable;
use crate::comments::lists::{self as comment_lists, SiteComment};
use crate::news::lines::NewsLine;
use crate::news::lists as news_lists;
use crate::timelines::lines::TweetLine;
use crate::timelines::reading;
use crate::values::Hostname;
use crate::{Result, User, Visit};
use std::collections::HashMap;
use tidings_keyspace::Fetch;

/// Something that was found.
#[derive(Debug)]
pub enum Finding {
    /// A story.
    Story(Seen<NewsLine>),
    /// A comment.
    Comment(Box<Seen<SiteComment>>),
    /// A tweet.
    Tweet(Seen<TweetLine>),
    /// A person.
    Person(Seen<Box<User>>),
    /// A site.
    Site(Seen<Hostname>),
}

impl Finding {
    /// The thing that it is.
    pub fn of(&self) -> Findable {
        match self {
            Self::Story(line) => Findable::Story(line.news.id),
            Self::Comment(comment) => Findable::Comment(comment.address()),
            Self::Tweet(line) => Findable::Tweet(line.tweet.id),
            Self::Person(user) => Findable::Person(user.id),
            Self::Site(host) => Findable::Site((**host).clone()),
        }
    }
}

/// Those of some things that the viewer may see, by what they are. Rounds: at most 2 for each kind.
pub async fn read(visit: &mut Visit, things: &[Findable]) -> Result<HashMap<Findable, Finding>> {
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
        let lines = news_lists::chosen(visit, &stories).await?.into_iter();
        findings.extend(
            lines.filter_map(|line| visit.perspective().see(line, ShownIn::List)).map(Finding::Story),
        );
    }
    if !comments.is_empty() {
        let (lines, _) = comment_lists::chosen(visit, &comments, comments.len()).await?;
        findings.extend(lines.into_iter().map(|line| Finding::Comment(Box::new(line))));
    }
    if !tweets.is_empty() {
        findings.extend(reading::chosen(visit, &tweets).await?.into_iter().map(Finding::Tweet));
    }
    if !people.is_empty() {
        let users = people.into_iter().map(|id| User::by_id(id).or_absent()).collect::<Vec<_>>();
        let users = visit.fetch(users).await?.into_iter().flatten();
        visit.reader().await?;
        let (perspective, now) = (visit.perspective(), visit.now());
        let seen = users.filter_map(|user| perspective.find_person(user, now));
        findings.extend(seen.map(Finding::Person));
    }
    if !sites.is_empty() {
        visit.reader().await?;
        let seen = sites.into_iter().filter_map(|host| visit.perspective().find_site(host));
        findings.extend(seen.map(Finding::Site));
    }
    Ok(findings.into_iter().map(|finding| (finding.of(), finding)).collect())
}
