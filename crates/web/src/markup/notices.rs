//! Sentences that a page says once, after the action that led to it. An address could be made by anybody, so no
//! sentence comes from one: the parameter [`NOTICE`] is signed with the secret of the viewer's session, and holds for
//! [`NOTICE_SECONDS`]. The words about actions of moderators come from the log: see `moderation_tools`.

use super::frame::Frame;
use crate::App;
use crate::error::Result;
use crate::request::local_path::add_parameter;
use axum::response::Redirect;
use maud::{Markup, html};
use strum::{EnumIter, EnumString, IntoStaticStr};
use tidings_domain::User;
use tidings_domain::accounts::sessions;
use tidings_domain::accounts::users::ApiSecret;
use tidings_domain::values::{NOTICE_SECONDS, Timestamp, UserId};
use tidings_language::{n, t};

/// The parameter of a page that names what was done.
pub const NOTICE: &str = "notice";

/// Makes the notices with their words. Some have a number.
macro_rules! notices {
    ($number:ident: $($(#[$about:meta])* $name:ident => $words:expr,)+) => {
        /// Something that its viewer has just done.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, EnumIter, EnumString, IntoStaticStr)]
        #[strum(serialize_all = "snake_case")]
        pub enum Notice {
            $($(#[$about])* $name,)+
        }

        impl Notice {
            fn words(self, $number: u64) -> Markup {
                match self {
                    $(Self::$name => html! { ($words) },)+
                }
            }
        }
    };
}

notices! {
    number:
    /// The profile was changed.
    ProfileSaved => t!("Your profile has been saved."),
    /// The choices for reading were changed.
    ReadingSaved => t!("Your reading settings have been saved."),
    /// The choices for mail were changed.
    MailSaved => t!("Your mail settings have been saved."),
    /// The password was changed.
    PasswordChanged => t!("Your password has been changed. Your other sessions have ended."),
    /// Sessions have ended.
    SessionsEnded => t!("Done."),
    /// The second factors of the account were changed.
    FactorsChanged => t!("Done."),
    /// The account was connected to the provider.
    Connected => t!("Your account is connected."),
    /// It was disconnected.
    Disconnected => t!("Your account is disconnected."),
    /// The link that confirms an address was sent again.
    LinkSent => t!("The link has been sent again."),
    /// Somebody was unblocked.
    Unblocked => t!("Unblocked. If they followed you before, they have to follow you again."),
    /// An invitation was made.
    InvitationMade => t!("Here is your invitation. Send this link to the person you want to invite."),
    /// And it is being mailed.
    InvitationMailed => t!("Your invitation is on its way."),
    /// One was withdrawn.
    InvitationWithdrawn => t!("The invitation has been withdrawn. It no longer works."),
    /// The look of the site was changed.
    SiteSaved => t!("Your changes have been saved. They count from now on."),
    /// So many ranks were computed again.
    Recomputed => n!(number, "Recomputed {count} story.", "Recomputed {count} stories."),
    /// Ranks are being computed again.
    Recomputing => t!("Recomputing all stories. The log will say when it is done."),
    /// The stories of a topic are being moved.
    MovingTopic => t!("The stories are being moved. The move is listed here until it is finished."),
    /// The votes of a voter are being updated.
    UpdatingVotes => t!("The votes are still being updated. Reload this page to see the progress."),
}

impl Notice {
    fn name(self) -> &'static str {
        self.into()
    }

    /// The address of a page of the site that says it to a user, with a number for those that have one.
    pub fn address(
        self,
        number: u64,
        (user, secret): (UserId, &ApiSecret),
        (to, now): (&str, Timestamp),
    ) -> String {
        let [name, number, time] = [self.name(), &number.to_string(), &now.to_string()];
        let (path, fragment) = to.split_at(to.find('#').unwrap_or(to.len()));
        let mut address = path.to_owned();
        if let Some(signature) = secret.sign(&[&user.to_string(), name, number, time]) {
            add_parameter(&mut address, NOTICE, &format!("{name}.{number}.{time}.{signature}"));
        }
        address + fragment
    }

    /// Redirects a user to a page that says it.
    pub fn redirect(self, app: &App, user: &User, to: &str) -> Redirect {
        self.redirect_with(0, app, user, to)
    }

    /// The same with a number.
    pub fn redirect_with(self, number: u64, app: &App, user: &User, to: &str) -> Redirect {
        Redirect::to(&self.address(number, (user.id, &user.apisecret), (to, app.now())))
    }

    /// The same after an action that may have replaced the secret of the session. Rounds: 1.
    ///
    /// # Errors
    /// The store's.
    pub async fn redirect_anew(self, app: &App, user: UserId, to: &str) -> Result<Redirect> {
        let secret = sessions::secret_of(&app.site, user).await?;
        Ok(Redirect::to(&self.address(0, (user, &secret), (to, app.now()))))
    }

    /// The notice in a parameter, with its number, if it is of this user and of the last minutes.
    fn read(text: &str, viewer: &User, now: Timestamp) -> Option<(Self, u64)> {
        let &[name, number, time, signature] = text.split('.').collect::<Vec<_>>().as_slice() else {
            return None;
        };
        let made: Timestamp = Timestamp(time.parse().ok()?);
        let is_recent = made <= now && now.seconds_since(made) < NOTICE_SECONDS;
        let is_signed = viewer.apisecret.has_signed(&[&viewer.id.to_string(), name, number, time], signature);
        (is_recent && is_signed).then_some((name.parse().ok()?, number.parse().ok()?))
    }
}

/// The notice about an action that the viewer of a page has just done, if its address proves it.
pub fn notice_line(frame: &Frame<'_>) -> Markup {
    let told = frame.viewer.zip(frame.here.field(NOTICE));
    let told = told.and_then(|(viewer, text)| Notice::read(text, viewer, frame.now));
    html! {
        @if let Some((notice, number)) = told { p.notice role="status" { (notice.words(number)) } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::test_support::{NOW, user};
    use strum::IntoEnumIterator;

    #[test]
    fn a_notice_is_for_its_user_its_session_and_some_minutes() {
        let mut alice = user("1", "alice", "");
        let read = |text: &str, viewer: &User, now| Notice::read(text, viewer, now);
        for notice in Notice::iter() {
            let address = notice.address(47, (alice.id, &alice.apisecret), ("/people?q=a#b", NOW));
            let text = address.strip_prefix("/people?q=a&notice=").and_then(|rest| rest.strip_suffix("#b"));
            let text = text.unwrap_or_default();
            let end = Timestamp(NOW.0 + NOTICE_SECONDS);
            assert_eq!(read(text, &alice, NOW), Some((notice, 47)), "{address}");
            assert_eq!(read(text, &alice, Timestamp(end.0 - 1)), Some((notice, 47)));
            for (viewer, now) in [(&alice, end), (&alice, Timestamp(NOW.0 - 1)), (&user("2", "bob", ""), NOW)]
            {
                assert_eq!(read(text, viewer, now), None, "{address}");
            }
            for other in
                [text.replace(".47.", ".48."), format!("{text}0"), format!("{text}.x"), String::new()]
            {
                assert_eq!(read(&other, &alice, NOW), None, "{other}");
            }
        }
        let address = Notice::ProfileSaved.address(0, (alice.id, &alice.apisecret), ("/", NOW));
        alice.apisecret = ApiSecret::default();
        let text = address.trim_start_matches("/?notice=");
        assert_eq!(read(text, &alice, NOW), None, "another session");
        assert_eq!(Notice::ProfileSaved.address(0, (alice.id, &alice.apisecret), ("/", NOW)), "/");
    }
}
