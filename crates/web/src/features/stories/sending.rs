//! Sending stories, for both the forms and the API.

use crate::App;
use crate::error::{Result, TitleError};
use crate::features::moderation::acting::moderates_instead;
use crate::features::stories::form::SubmissionForm;
use crate::features::stories::titles::{self, FetchPlace};
use tidings_domain::submissions::{self, Submission, Submitted, preparing};
use tidings_domain::values::{Deed, NewsId, NewsUrl, Thing, Title};
use tidings_domain::{Actor, User};

/// Submits or edits a story, for both the form and the API.
pub(crate) async fn submit_or_edit(app: &App, author: Actor<'_>, form: SubmissionForm) -> Result<Submitted> {
    let parsed = Submission::parse(&form.title, &form.url, &form.text)?;
    let submission = Submission { topics: form.topics, ..parsed };
    let (site, now) = (&app.site, app.moment());
    let sending = async {
        let Some(id) = form.news_id else {
            return submissions::submit_news(site, now, author, &submission).await;
        };
        submissions::edit_news(site, now, author.user, id, &submission).await?;
        Ok(Submitted::New(id))
    };
    if let Some(id) = form.news_id
        && moderates_instead(app, author.user, Thing::Story(id), || Ok(submission.as_edit()?)).await?
    {
        return Ok(Submitted::New(id));
    }
    Ok(author.once(site, sending).await?)
}

/// Deletes a story, for both the form and the API.
pub(crate) async fn delete_news(app: &App, user: &User, id: NewsId) -> Result<()> {
    if moderates_instead(app, user, Thing::Story(id), || Ok(Deed::Remove)).await? {
        return Ok(());
    }
    let deleting = submissions::delete_news(&app.site, app.moment(), user, id);
    Ok(user.once(&app.site, deleting).await?)
}

/// Fetches the title of the page at a URL, for both the form and the API.
pub(crate) async fn fetch_title(app: &App, actor: Actor<'_>, url: &NewsUrl) -> Result<Title> {
    let settings = &app.settings.titles;
    if !settings.is_on {
        return Err(TitleError::SwitchedOff.into());
    }
    titles::check_address(settings, url)?;
    let place = FetchPlace::take(actor.id, actor.address)?;
    preparing::admit_title_fetch(&app.site, app.moment(), actor).await?;
    Ok(titles::fetch_title(settings, &app.settings.site.url, place, url).await?)
}
