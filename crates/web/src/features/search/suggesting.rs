//! Suggestions while one types: titles, topics and people in the box of a search, and stories like the one
//! that is being submitted.

use super::searching::{Job, seen};
use crate::App;
use crate::error::Result;
use std::net::IpAddr;
use tidings_domain::accounts::visit::Visit;
use tidings_domain::found::Finding;
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

/// Stories with a title like this one. Rounds: at most 4.
///
/// # Errors
/// When the index or the store fails.
pub async fn stories_like(app: &App, visit: &mut Visit, title: &str, from: IpAddr) -> Result<Vec<Finding>> {
    let searching = app.searching()?;
    let job = Job::begin(app, visit, (Search::default(), Sort::Relevance), from).await?;
    let title = title.to_owned();
    let find =
        move |index: &View, until| index.like(&title, &job.question(Some(Kind::Story), (0, SIMILAR), until));
    let found = searching.run(find).await?;
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
) -> Result<Vec<String>> {
    // Nothing is typed: nothing is looked for, and no search is spent.
    let searching = app.searching()?;
    if words::asked(typed).is_empty() {
        return Ok(Vec::new());
    }
    let quick = Job::begin(app, visit, (Search::default(), Sort::Relevance), from).await?;
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
    let job = quick.with(search);
    let prefix = beginning.clone();
    let (mut suggestions, hits) = searching
        .run(move |index, until| {
            let (mut topics, mut hits) = (Vec::new(), Vec::new());
            if is_name {
                for topic in index.topics_beginning(&prefix, NAMES, until)? {
                    // Perhaps only stories have it that the viewer may not see.
                    let Ok(search) = Search::parse(&format!("topic:{topic}"), quick.now) else { continue };
                    let job = quick.with(search);
                    if index.find(&job.question(Some(Kind::Story), (0, 1), until))?.total > 0 {
                        topics.push(topic);
                    }
                }
                let job = quick.with(Search::beginning(&prefix));
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
