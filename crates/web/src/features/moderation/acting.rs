//! The actions of moderators, for both the forms and the API, and the mails about them.

use super::messages;
use crate::App;
use crate::error::RequestError;
use crate::features::accounts::signup_mail;
use crate::features::inbox::letters;
use tidings_domain::accounts::users::{Role, User};
use tidings_domain::moderation::{self, ModerationRequest, appeals, erasing};
use tidings_domain::values::actions::Deed;
use tidings_domain::values::ids::ModerationId;
use tidings_domain::values::moderation::Thing;
use tidings_domain::{Error, Refusal};

/// Moderates, for both the form and the API. Applicants for an account, and banned people who have appealed or
/// written, cannot open an inbox, so they get the answer by mail.
pub(crate) async fn moderate(
    app: &App,
    user: &User,
    requests: &[ModerationRequest],
) -> Result<ModerationId, RequestError> {
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
            signup_mail::mail_answer(app, name, request.reason.as_str()).await;
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
) -> Result<bool, RequestError> {
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
