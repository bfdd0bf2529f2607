//! Messages to the moderators: the form, the list of threads, and the page of one.

use super::appeals::{Stranger, credentials, decision_link, login_fields};
use super::message_calls::{self, MessageForm};
use crate::features::inbox::letters;
use crate::limits::MESSAGE_THREADS_SHOWN;
use crate::markup::addresses::{
    MESSAGES, address_of_thing, message_address, message_thread_address, profile_address,
};
use crate::markup::autolink::autolink;
use crate::markup::fields::draft_key;
use crate::markup::head::shortened;
use crate::markup::moderation_tools::{ActionForms, may_moderate, thing_name};
use crate::markup::parts::{DELETED_USER, age, empty_page, more_link};
use crate::markup::{Field, Frame, Member, Page};
use crate::request::form::optional;
use crate::request::{Call, Fields, LocalPath, PathOf, ShownAgain, SignedFields};
use crate::{App, RequestError, Result};
use axum::Extension;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use tidings_domain::moderation::messages::reading::{
    self, Sender, ShownMessage, ShownThread, ThreadState, ThreadWindow,
};
use tidings_domain::moderation::messages::{self, Matter, NewMessage};
use tidings_domain::values::{
    Action, MAX_MESSAGE, MESSAGES_A_DAY, MessageAddress, MessageThreadId, ModerationId,
};
use tidings_domain::{Role, User, Visit};
use tidings_language::lists::enumerated;
use tidings_language::{Argument, Message, m, n, t};

/// The sender, in calls, of an answer whose author is not named.
pub const THE_MODERATORS: &str = "the moderators";

const HEADING: &Message = m!("Write to the moderators");

/// The form of a message.
#[derive(Default)]
struct MessageFields<'a> {
    /// The thread to write in.
    thread: Option<MessageThreadId>,
    /// The decision to write about.
    about: Option<ModerationId>,
    /// For a moderator who answers, the last message on the page.
    answers: Option<u64>,
    /// Somebody without a session, who also enters what a login takes.
    stranger: Option<Stranger<'a>>,
}

impl MessageFields<'_> {
    fn render(&self, frame: &Frame<'_>) -> Markup {
        let most = MAX_MESSAGE.to_string();
        let label = if self.answers.is_some() { t!("Your answer") } else { t!("Your message") };
        let draft = match (self.thread, self.about) {
            (Some(thread), _) => format!("messages/{thread}"),
            (None, Some(line)) => format!("messages/about/{line}"),
            (None, None) => "messages".to_owned(),
        };
        let draft = draft_key(frame, &draft);
        let text = Field::new("text", label).required();
        let text =
            text.with("rows", "6").with("maxlength", &most).with("dir", "auto").with("data-draft", &draft);
        html! {
            form.form method="post" action=(MESSAGES) {
                (frame.signed_fields())
                (frame.form_page())
                @if let Some(thread) = self.thread { input type="hidden" name="thread" value=(thread); }
                @if let Some(line) = self.about { input type="hidden" name="moderation_id" value=(line); }
                (text.hint(self.hint()).text_area())
                @if let Some(last) = self.answers {
                    input type="hidden" name="after" value=(last);
                    label.choice {
                        input type="checkbox" name="anonymous" value="1" checked;
                        " " (t!("Answer as “the moderators”, without your name"))
                    }
                }
                @if let Some(stranger) = self.stranger { (login_fields(stranger)) }
                button.button { (t!("Send message")) }
            }
        }
    }

    fn hint(&self) -> Markup {
        html! {
            @if self.answers.is_some() {
                (t!("The member gets it in their inbox. You can't take it back."))
            } @else {
                (n!(
                    MESSAGES_A_DAY,
                    "Only you and the moderators can read it. You can write {count} message a day.",
                    "Only you and the moderators can read it. You can write {count} messages a day.",
                ))
            }
        }
    }
}

/// GET /moderators: moderation_id. The form.
pub async fn form(Page { app, mut visit, here, .. }: Page<Member>, fields: Fields) -> Result<Markup> {
    let about = optional(message_calls::line)(&fields, "moderation_id")?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    Ok(new_page(&frame, &MessageFields { about, ..MessageFields::default() }))
}

fn new_page(frame: &Frame<'_>, form: &MessageFields<'_>) -> Markup {
    let content = html! {
        @if let Some(line) = form.about { p { (t!("About the decision in {entry}.", entry = decision_link(line))) } }
        p { (t!("Ask about a decision, answer a warning, or report a problem. The answer comes to your inbox.")) }
        (form.render(frame))
        p { a.action href=(MESSAGES) { (t!("Your messages")) } }
    };
    frame.headed(HEADING.text(), &content)
}

/// GET /messages: start. The viewer's threads; for moderators those of all members.
pub async fn list(Page { app, mut visit, user, here }: Page<Member>, fields: Fields) -> Result<Markup> {
    let start = message_calls::start(&fields, "start")?;
    let window = ThreadWindow { start, threads: MESSAGE_THREADS_SHOWN, messages: 1 };
    let list = reading::list(&mut visit, &user, &window).await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let is_staff = frame.viewer.is_some_and(|viewer| viewer.role() >= Role::Moderator);
    let heading = if is_staff { t!("Messages from members") } else { t!("Your messages") };
    let content = html! {
        @if is_staff {
            p.hint {
                (t!("Unanswered messages are also in the {queue}.", queue = html! { a href="/moderate" { (t!("review queue")) } }))
            }
        }
        p { a.action href="/moderators" { (HEADING.text()) } }
        @if list.threads.is_empty() {
            @let later = (start > 0).then_some((t!("No more messages."), frame.here.path()));
            (empty_page(later, t!("No messages here."), ("/moderators", HEADING.text())))
        }
        ol.log role="list" {
            @for thread in &list.threads {
                li data-item {
                    p {
                        a href=(message_thread_address(thread.id)) data-open {
                            @let title = t!("Thread {id}", id = thread.id.to_string());
                            @if is_staff {
                                @let name = thread.username.as_deref().unwrap_or(DELETED_USER);
                                (enumerated([Argument::from(title), name.into()]))
                            } @else {
                                (title)
                            }
                        }
                        " " span.tag { (state_name(thread.state)) }
                        " " span.entry-age { (age(&frame, thread.changed)) }
                    }
                    (about(thread))
                    @if let Some(last) = thread.messages.last() {
                        p.hint dir="auto" {
                            (t!("{name}: {value}", name = sender(&last.from), value = shortened(&last.text)))
                        }
                    }
                }
            }
        }
        (more_link(list.is_more.then(|| format!("{MESSAGES}?start={}", start + MESSAGE_THREADS_SHOWN as u64))))
    };
    Ok(frame.headed(heading, &content))
}

pub(super) fn state_name(state: ThreadState) -> &'static str {
    match state {
        ThreadState::Waiting(_) => t!("thread" => "waits for an answer"),
        ThreadState::Answered => t!("thread" => "answered"),
        ThreadState::Closed(_) => t!("thread" => "closed"),
    }
}

/// The decision that a thread is about.
fn about(thread: &ShownThread) -> Markup {
    html! {
        @if let Some((line, action, thing)) = &thread.about {
            p.hint {
                @let thing = html! { a href=(address_of_thing(thing)) { (thing_name(thing)) } };
                (t!("About {entry}: {deed}", entry = decision_link(*line), deed = action.sentence(None::<&str>, &thing)))
            }
        }
    }
}

/// The sender of a message, in words.
fn sender(from: &Sender) -> &str {
    match from {
        Sender::Member(name) | Sender::Moderator(name) => name.as_deref().unwrap_or(DELETED_USER),
        Sender::Moderators(_) => t!("The moderators"),
    }
}

/// GET /messages/:id: before. A thread.
pub async fn show(id: PathOf<MessageThreadId>, mut page: Page<Member>, fields: Fields) -> Result<Markup> {
    let before = optional(message_calls::number)(&fields, "before")?;
    let thread = reading::thread(&mut page.visit, &page.user, (id.0, before)).await?;
    Ok(thread_page(&page.frame().await?, (&thread, before.is_some())))
}

fn thread_page(frame: &Frame<'_>, (thread, is_part): (&ShownThread, bool)) -> Markup {
    let is_own = frame.viewer.is_some_and(|viewer| viewer.id == thread.member);
    let name = thread.username.as_deref().unwrap_or(DELETED_USER);
    let heading = if is_own {
        t!("Messages with the moderators").to_owned()
    } else {
        t!("Messages with {name}", name).into()
    };
    let answers = (!is_own).then_some(thread.count);
    let form = MessageFields { thread: Some(thread.id), answers, ..MessageFields::default() };
    let content = html! {
        @if !is_own { p { (t!("With {name}.", name = html! { a.author href=(profile_address(name, "")) { (name) } })) } }
        (conversation(frame, thread))
        @if is_part {
            p { a.action href=(message_thread_address(thread.id)) { (t!("Newest messages")) } }
        } @else {
            (form.render(frame))
            @if may_moderate(frame, thread.member) && matches!(thread.state, ThreadState::Waiting(_)) {
                (close_form(frame, thread.id))
            }
        }
        p { a.action href=(MESSAGES) { @if is_own { (t!("Your messages")) } @else { (t!("All messages")) } } }
    };
    frame.headed(&heading, &content)
}

/// The form that closes a thread without an answer.
fn close_form(frame: &Frame<'_>, id: MessageThreadId) -> Markup {
    let own = |_| Some(html! {});
    let (actions, next) = (&[Action::Close][..], &*frame.way_back);
    ActionForms { actions, own: &own, common: html! {}, next }.render(frame, &id.into())
}

/// The messages of a thread, and where it stands.
fn conversation(frame: &Frame<'_>, thread: &ShownThread) -> Markup {
    html! {
        (about(thread))
        @if let Some(earlier) = thread.earlier {
            nav.more aria-label=(t!("Pages")) {
                a href={ (message_thread_address(thread.id)) "?before=" (earlier) } rel="prev" { (t!("earlier messages")) }
            }
        }
        ol.log role="list" {
            @for message in &thread.messages { (shown_message(frame, message)) }
        }
        @match thread.state {
            ThreadState::Waiting(since) => p.hint { (t!("Waiting for the moderators since {age}.", age = age(frame, since))) },
            ThreadState::Answered => {},
            ThreadState::Closed(line) => p.notice { (t!("Closed without an answer: {entry}.", entry = decision_link(line))) },
        }
    }
}

fn shown_message(frame: &Frame<'_>, message: &ShownMessage) -> Markup {
    html! {
        li #{ "message-" (message.number) } data-item {
            p {
                @let name = html! {
                    @match &message.from {
                        Sender::Member(Some(name)) | Sender::Moderator(Some(name)) => {
                            a.author href=(profile_address(name, "")) { (name) }
                        }
                        from => strong { (sender(from)) },
                    }
                };
                @match &message.from {
                    Sender::Moderator(_) => (t!("{name} (moderator)", name)),
                    Sender::Moderators(Some(by)) => { (name) " (" (by) ")" },
                    _ => (name),
                }
                " " span.entry-age { (age(frame, message.time)) }
            }
            div.review-text dir="auto" { (autolink(&message.text, frame.link_target())) }
        }
    }
}

/// POST /messages: text, thread or moderation_id, anonymous, after, and apisecret or username, password and code.
pub async fn send(Page { app, visit, here, .. }: Page, call: Call, fields: Fields) -> Result<Response> {
    match write(&app, visit, fields, &call).await? {
        (Some(user), _) => sent_without_session(&app, &here, &user).await,
        (None, written) => Ok(Redirect::to(&message_address(written)).into_response()),
    }
}

/// The page of a refused message of somebody without a session.
pub async fn again(app: App, here: LocalPath, Extension(again): Extension<ShownAgain>) -> Result<Markup> {
    let form = MessageFields {
        thread: again.fields.get("thread").and_then(|id| id.parse().ok()),
        about: again.fields.get("moderation_id").and_then(|id| id.parse().ok()),
        stranger: Some(Stranger::of_form(&again).ok_or(RequestError::NotFound)?),
        ..MessageFields::default()
    };
    Ok(new_page(&Frame::anonymous(&app, &here).await, &form))
}

/// Writes a message, for both the form and the API: in a session, or with what a login takes for who cannot
/// have one, who is then returned.
pub(crate) async fn write(
    app: &App,
    mut visit: Visit,
    fields: Fields,
    call: &Call,
) -> Result<(Option<User>, MessageAddress)> {
    let (site, now) = (&app.site, app.moment());
    if visit.recognise().await?.is_some() {
        let sender = SignedFields::sign(visit, fields, call).await?;
        let message = NewMessage::from(sender.fields.read::<MessageForm>()?);
        let written = messages::write(site, now, &sender.user, &message).await?;
        if matches!(message.matter, Matter::Thread(_)) && sender.user.role() >= Role::Moderator {
            let app = app.clone();
            tokio::spawn(async move { mail_answer(&app, written.thread, message.text.as_str()).await });
        }
        return Ok((None, written));
    }
    let message = fields.read::<MessageForm>()?.into();
    let who = (&credentials(&fields)?, call.device.address);
    let (user, written) = messages::write_without_session(site, now, who, &message).await?;
    Ok((Some(user), written))
}

/// The page after a message from somebody who cannot log in. It shows the thread, because they have proved to
/// be its member.
async fn sent_without_session(app: &App, here: &LocalPath, user: &User) -> Result<Response> {
    let thread = reading::newest_of(&app.site, &user.username).await?;
    let frame = Frame::anonymous(app, here).await;
    let content = html! {
        p.notice role="status" {
            (t!("Log in again to read the answer on the page that tells you of the ban. If your account has an e-mail address, we'll mail it to you."))
        }
        @if let Some(thread) = &thread { (conversation(&frame, thread)) }
    };
    Ok(frame.headed(t!("Your message has been sent"), &content).into_response())
}

/// The newest thread of somebody who has shown what a login takes but is banned.
pub(super) async fn newest_of_banned(app: &App, username: &str) -> Option<ShownThread> {
    reading::newest_of(&app.site, username).await.unwrap_or_else(|error| {
        tracing::warn!(%error, "messages of somebody who is banned not read");
        None
    })
}

/// That thread, and the form that continues it, or begins one.
pub(super) fn for_banned(frame: &Frame<'_>, stranger: Stranger<'_>, thread: Option<&ShownThread>) -> Markup {
    html! {
        details.review-more open[thread.is_some()] {
            summary { (HEADING.text()) }
            @if let Some(thread) = thread { (conversation(frame, thread)) }
            // The form of an appeal is on the same page, with fields of the same names.
            form.form method="post" action=(MESSAGES) {
                @if let Some(thread) = thread { input type="hidden" name="thread" value=(thread.id); }
                input type="hidden" name="username" value=(stranger.username);
                label { span { (t!("Your message")) } textarea name="text" rows="6" maxlength=(MAX_MESSAGE) dir="auto" required {} }
                @if let Some(ticket) = stranger.ticket {
                    input type="hidden" name="password" value=(ticket);
                } @else {
                    label {
                        span { (t!("Your password")) }
                        input type="password" name="password" autocomplete="current-password" required;
                    }
                }
                @if stranger.has_second_factor {
                    label {
                        span { (t!("A new code of your app, or a recovery code")) }
                        input name="code" autocomplete="one-time-code" required;
                    }
                }
                button.button { (t!("Send message")) }
            }
        }
    }
}

/// Mails an answer to a member who is banned, if mail is configured and they get none about the entry of
/// their inbox.
pub(super) async fn mail_answer(app: &App, id: MessageThreadId, text: &str) {
    let Some(mailer) = app.mailer.clone() else { return };
    let member = match messages::member_to_mail(&app.site, app.moment(), id).await {
        Ok(Some(member)) => member,
        Ok(None) => return,
        Err(error) => return tracing::warn!(thread = %id, %error, "member of a thread not read"),
    };
    let brand = app.brand().await;
    let (subject, text) = letters::moderators_answer(&brand.site, &member, text);
    if let Err(error) = mailer.send_notice(&member.email, &subject, &text).await {
        tracing::error!(thread = %id, %error, "answer of the moderators not sent");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::PAGE_BYTES;
    use crate::markup::test_support::{NOW, framed, user};
    use tidings_domain::values::{MESSAGES_SHOWN, UserId};

    fn thread(member: u64) -> ShownThread {
        let message = |number| ShownMessage {
            number,
            from: Sender::Moderators(Some("mod".to_owned())),
            time: NOW,
            text: "\"".repeat(MAX_MESSAGE),
        };
        ShownThread {
            id: MessageThreadId(7),
            member: UserId(member),
            username: Some("b<b>".to_owned()),
            about: None,
            changed: NOW,
            count: MESSAGES_SHOWN + 5,
            state: ThreadState::Waiting(NOW),
            messages: (6..=MESSAGES_SHOWN + 5).map(message).collect(),
            earlier: Some(6),
        }
    }

    fn shown(viewer: u64, flags: &str) -> String {
        let viewer = user(&viewer.to_string(), "viewer", flags);
        let thread = thread(2);
        framed(Some(&viewer), |frame| thread_page(frame, (&thread, false))).into_string()
    }

    #[test]
    fn a_page_of_the_longest_messages_is_bounded() {
        let html = shown(1, "m");
        assert!(html.len() <= PAGE_BYTES, "{}", html.len());
        assert!(html.contains("/messages/7?before=6") && html.contains("b&lt;b&gt;"));
    }

    #[test]
    fn a_moderator_answers_and_the_member_writes() {
        for (viewer, flags, answers) in [(1, "m", true), (2, "", false), (2, "m", false)] {
            let html = shown(viewer, flags);
            assert_eq!(html.contains(r#"name="anonymous" value="1" checked"#), answers, "{viewer} {flags}");
            assert_eq!(html.contains(r#"value="close""#), answers, "{viewer} {flags}");
        }
    }
}
