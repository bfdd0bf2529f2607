//! The actions of moderators, for both the forms and the API, and the mails about them. The forms are in
//! `markup/moderation_tools.rs`.

use super::form::{ModerationForm, UndoForm};
use super::messages;
use super::review::QueueItem;
use crate::features::accounts::mails;
use crate::features::action::{self, ActionEntry};
use crate::features::inbox::letters;
use crate::markup::moderation_tools::DONE;
use crate::request::answers::ErrorStatus;
use crate::request::local_path::add_parameter;
use crate::request::{Next, SignedFields, SignedForm, answer};
use crate::route::LONG;
use crate::{App, RequestError, Result};
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use tidings_domain::moderation::{self, ModerationRequest, appeals, erasing, queue};
use tidings_domain::values::{Deed, ModerationId, Thing};
use tidings_domain::{Error, Refusal, Role, User};
use tidings_language::m;

/// Acts, for both the form and the API. Applicants for an account, and banned people who have appealed or
/// written, cannot open an inbox, so they get the answer by mail.
pub(crate) async fn act(app: &App, user: &User, requests: &[ModerationRequest]) -> Result<ModerationId> {
    let Some((request, further)) = requests.split_first() else {
        return Err(RequestError::NotFound);
    };
    user.once(&app.site, async {
        // Of several actions each is noted by itself, so that a repeat after a failure half-way does the rest.
        let part = |number: usize| {
            let mut user = user.clone();
            user.request = user.request.map(|all| all.part(&number.to_string()));
            user
        };
        let now = app.moment();
        let id = if further.is_empty() {
            moderation::moderate(&app.site, now, user, request).await?
        } else {
            let user = part(0);
            user.once(&app.site, moderation::moderate(&app.site, now, &user, request)).await?
        };
        if let Deed::Erase(_) = request.deed {
            erasing::wait_for_traces(&app.site, app.moment(), &request.thing).await;
        }
        for (number, request) in (1..).zip(further) {
            let user = part(number);
            let acting = moderation::moderate(&app.site, app.moment(), &user, request);
            match user.once(&app.site, acting).await {
                // Such as a profile without a text.
                Ok(_) | Err(Error::Refused(Refusal::NothingToModerate(_))) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if app.mailer.is_some() {
            let (app, request) = (app.clone(), request.clone());
            tokio::spawn(async move { mail_decision(&app, &request).await });
        }
        Ok(id)
    })
    .await
}

/// Mails the decision about an application, an appeal or a closed thread of messages to the person who waits for
/// it, if mail is configured and the person has an address.
pub async fn mail_decision(app: &App, request: &ModerationRequest) {
    match (&request.thing, &request.deed) {
        (Thing::Application(name), Deed::Approve | Deed::Reject) => {
            mails::mail_answer(app, name, request.reason.as_str()).await;
        }
        (Thing::Appeal(id), _) => mail_answer(app, *id).await,
        (Thing::Message(id), Deed::Close) => messages::mail_answer(app, *id, request.reason.as_str()).await,
        _ => {}
    }
}

/// Does what an administrator asks for with a post of another as a moderator's action, with a line in the
/// log. Returns false if it is an author's own business, and nothing was done.
pub(crate) async fn moderates_instead(
    app: &App,
    user: &User,
    thing: Thing,
    deed: impl FnOnce() -> Result<Deed, Error>,
) -> Result<bool> {
    if user.role() < Role::Administrator {
        return Ok(false);
    }
    let asked = (&thing, deed()?);
    let line = moderation::moderate_as_administrator(&app.site, app.moment(), user, asked).await?;
    Ok(line.is_some())
}

/// Mails the answer to an appeal, if mail is configured.
async fn mail_answer(app: &App, id: ModerationId) {
    let Some(mailer) = app.mailer.clone() else { return };
    let answer = match appeals::answer_to_mail(&app.site, id).await {
        Ok(Some(answer)) => answer,
        Ok(None) => return,
        Err(error) => return tracing::warn!(line = %id, %error, "answer to an appeal not read"),
    };
    let brand = app.brand().await;
    let (subject, text) = letters::appeal_answer(&brand.site, id, &answer);
    if let Err(error) = mailer.send_notice(&answer.to.email, &subject, &text).await {
        tracing::error!(line = %id, %error, "answer to an appeal not sent");
    }
}

/// POST /moderate: as [`call`], and next.
pub async fn moderate(app: App, sent: SignedForm<(ModerationForm, Next)>) -> Result<Redirect> {
    let (form, back) = sent.form;
    let id = act(&app, &sent.user, &form.requests()?).await?;
    Ok(done(back.next.way_back(), id))
}

/// The actions behind the forms of this file.
pub fn actions() -> Vec<ActionEntry> {
    vec![
        action::Action::once(
            "/moderate/undo",
            m!("Undo an action (moderators only)."),
            |app, by, form: &UndoForm| {
                let how = (form.moderation_id, &form.reason, form.anonymous);
                Box::pin(moderation::undo(&app.site, app.moment(), by.user, how))
            },
        )
        .answering(async |_, id| Ok(ModeratedResponse::from(id)))
        .page(LONG, async |sent, _, id| {
            let Next { next } = sent.form.fields.read()?;
            Ok::<_, RequestError>(done(next.way_back(), id))
        }),
    ]
}

/// Redirects to a page, which then says what was done.
pub fn done(mut back: String, id: ModerationId) -> Redirect {
    add_parameter(&mut back, DONE, &id.to_string());
    Redirect::to(&back)
}

answer! {
    /// The outcome of an action.
    pub struct ModeratedResponse as Moderated from (id: ModerationId) {
        status;
        /// The line in the log.
        moderation_id: u64 = id.0;
    }

    /// The refusal of an action on a row of the review queue that has changed since it was seen.
    pub struct RowChangedResponse as RowChanged {
        status: ErrorStatus;
        /// A sentence in English, whatever the language of the site is.
        error: String, values::Message;
        /// A sentence to show to a person, in the language of the site.
        message: String, values::Message;
        /// The row as it is now; null if it waits no longer.
        row: Option<QueueItem>;
    }
}

/// POST /api/moderate.
pub async fn call(app: App, mut form: SignedFields) -> Result<Response> {
    let mut requests = form.fields.read::<ModerationForm>()?.requests()?;
    match act(&app, &form.user, &requests).await {
        Ok(id) => Ok(Json(ModeratedResponse::from(id)).into_response()),
        Err(failure) if matches!(failure.refusal(), Some(Refusal::RowChanged)) => {
            let seen = requests.swap_remove(0);
            let seen = seen.seen.and_then(|seen| seen.thing).unwrap_or(seen.thing);
            let row = queue::row_of(&mut form.visit, &seen).await?.map(QueueItem::from);
            let (error, message) = (failure.message_for_program(), failure.message());
            let changed = RowChangedResponse { status: ErrorStatus::Err, error, message, row };
            Ok((StatusCode::CONFLICT, Json(changed)).into_response())
        }
        Err(error) => Err(error),
    }
}
