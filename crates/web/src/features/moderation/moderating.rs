//! The targets of the moderators' forms. The forms are in `markup/moderation_tools.rs`.

use super::calls::ModeratedResponse;
use super::form::{ModerationForm, UndoForm};
use crate::App;
use crate::error::RequestError;
use crate::features::action::{self, ActionEntry};
use crate::markup::moderation_tools::DONE;
use crate::request::form::Next;
use crate::request::local_path::add_parameter;
use crate::request::viewer::SignedForm;
use crate::route::LONG;
use axum::response::Redirect;
use tidings_domain::moderation;
use tidings_domain::values::ids::ModerationId;

/// POST /moderate: as [`crate::features::moderation::calls::moderate`], and next.
pub async fn moderate(
    app: App,
    SignedForm { user, form: (form, back) }: SignedForm<(ModerationForm, Next)>,
) -> Result<Redirect, RequestError> {
    let id = super::acting::moderate(&app, &user, &form.requests()?).await?;
    Ok(done(back.next.way_back(), id))
}

/// The actions behind the forms of this file.
pub fn actions() -> Vec<ActionEntry> {
    vec![
        action::Action::once(
            "/moderate/undo",
            "Undo an action (moderators only).",
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
