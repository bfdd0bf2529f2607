//! Suggestions while one types: titles, topics and people in the box of a search, and stories like the one
//! that is being submitted.

use super::searching::{ForViewer, Job, Searching, seen};
use crate::App;
use crate::error::RequestError;
use std::net::IpAddr;
use std::sync::Arc;
use tidings_domain::accounts::visit::Visit;
use tidings_domain::error::Error;
use tidings_domain::found::Finding;
use tidings_domain::rates;
use tidings_search::asking::Sort;
use tidings_search::index::{Kind, View};
use tidings_search::language::{MIN_PREFIX, Search};
use tidings_text::words;

/// The type of a document with suggestions.
pub const SUGGESTED: &str = "application/x-suggestions+json";
/// The most stories like one that is being submitted.
const SIMILAR: usize = 5;
/// The most suggestions of topics, and of people, while one types.
const NAMES: usize = 2;
/// The shortest beginning of a topic or a name that is completed.
const SHORTEST_BEGINNING: usize = 2;

/// A look at the index without the page of a search.
struct Quick {
    searching: Arc<Searching>,
    for_viewer: Arc<ForViewer>,
    now: i64,
}

impl Quick {
    /// Rounds: at most 2.
    async fn begin(app: &App, visit: &mut Visit, from: IpAddr) -> Result<Self, RequestError> {
        let searching = app.searching()?;
        visit.recognise().await?;
        rates::spend_search(&app.site, app.moment(), visit.viewer_id(), from).map_err(Error::from)?;
        let for_viewer = Arc::new(ForViewer::read(visit, &Search::default()).await?);
        Ok(Self { searching, for_viewer, now: i64::try_from(visit.now().0).unwrap_or(i64::MAX) })
    }

    fn job(&self, search: Search) -> Job {
        Job { search, for_viewer: self.for_viewer.clone(), sort: Sort::Relevance, now: self.now }
    }
}

/// Stories with a title like this one. Rounds: at most 4.
///
/// # Errors
/// When the index or the store fails.
pub async fn stories_like(
    app: &App,
    visit: &mut Visit,
    title: &str,
    from: IpAddr,
) -> Result<Vec<Finding>, RequestError> {
    let quick = Quick::begin(app, visit, from).await?;
    let job = quick.job(Search::default());
    let title = title.to_owned();
    let find =
        move |index: &View, until| index.like(&title, &job.question(Some(Kind::Story), (0, SIMILAR), until));
    let found = quick.searching.run(find).await?;
    Ok(seen(visit, found.hits).await?.into_iter().map(|(_, finding)| finding).collect())
}

/// Topics, people and titles of stories that begin with what is being typed. Rounds: at most 6.
///
/// # Errors
/// When the index or the store fails.
pub async fn suggestions(
    app: &App,
    visit: &mut Visit,
    (typed, from): (&str, IpAddr),
    most: usize,
) -> Result<Vec<String>, RequestError> {
    // Nothing is typed: nothing is looked for, and no search is spent.
    if words::asked(typed).is_empty() {
        app.searching()?;
        return Ok(Vec::new());
    }
    let quick = Quick::begin(app, visit, from).await?;
    let beginning = typed.to_lowercase();
    let is_name = beginning.len() >= SHORTEST_BEGINNING && !beginning.contains(' ');
    // The last word may be unfinished.
    let is_unfinished = typed.chars().rev().take_while(|c| c.is_alphanumeric()).count() >= MIN_PREFIX;
    // A short one too, if there are other words.
    let short = typed.rsplit_once(char::is_whitespace).filter(|_| !is_unfinished);
    let short = short.and_then(|(before, last)| Some((before, words::asked(last).pop()?)));
    let parsed = match short {
        Some((before, last)) => Search::parse(before, quick.now).map(|search| search.and_beginning(&last)),
        None if is_unfinished => Search::parse(&format!("{typed}*"), quick.now),
        None => Search::parse(typed, quick.now),
    };
    let Ok(search) = parsed else { return Ok(Vec::new()) };
    let job = quick.job(search);
    let prefix = beginning.clone();
    let searching = quick.searching.clone();
    let (mut suggestions, hits) = searching
        .run(move |index, until| {
            let (mut topics, mut hits) = (Vec::new(), Vec::new());
            if is_name {
                for topic in index.topics_beginning(&prefix, NAMES, until)? {
                    // Perhaps only stories have it that the viewer may not see.
                    let Ok(search) = Search::parse(&format!("topic:{topic}"), quick.now) else { continue };
                    let job = quick.job(search);
                    if index.find(&job.question(Some(Kind::Story), (0, 1), until))?.total > 0 {
                        topics.push(topic);
                    }
                }
                let job = quick.job(Search::beginning(&prefix));
                hits.extend(index.find(&job.question(Some(Kind::Person), (0, most), until))?.hits);
            }
            hits.extend(index.find(&job.question(Some(Kind::Story), (0, most), until))?.hits);
            Ok((topics, hits))
        })
        .await?;
    let (mut names, mut titles) = (Vec::new(), Vec::new());
    for (_, finding) in seen(visit, hits).await? {
        match finding {
            Finding::Person(user) if user.username.to_lowercase().starts_with(&beginning) => {
                names.push(user.username.clone());
            }
            Finding::Story(line) => titles.push(line.news.title.clone()),
            _ => {}
        }
    }
    names.truncate(NAMES);
    suggestions.extend(names.into_iter().chain(titles));
    suggestions.truncate(most);
    Ok(suggestions)
}
