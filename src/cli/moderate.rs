//! `tidings moderate`: what `POST /api/moderate` does, for an operator at a terminal.

use super::{Here, patiently, user};
use crate::WrongUse;
use crate::config::Config;
use crate::mail::Mailer;
use anyhow::bail;
use clap::Args;
use clap::builder::PossibleValuesParser;
use serde::Serialize;
use std::sync::Arc;
use tidings_domain::moderation::{self, ModerationRequest, erasing};
use tidings_domain::values::{Action, Deed, ModerationId};
use tidings_domain::{Error, Refusal, Site, User, keys};
use tidings_keyspace::{EngineClock, read};
use tidings_language::{Message, m};
use tidings_web::error::{RequestError, in_english, wrong_fields};
use tidings_web::features::moderation::form::{ModerationForm, UndoForm};
use tidings_web::mail::SendMail;
use tidings_web::request::form::Fields;
use tidings_web::{App, mail_decision};
use url::form_urlencoded::Serializer;

/// The action that undoes another one. It takes the number of a line of the log, and no kind.
const UNDO: &str = "undo";

/// Moderate a story, a comment, a post, a person, or an item of the review queue.
///
/// `tidings moderate ACTION KIND ID --as NAME --reason TEXT` does what a moderator does on the
/// site, and `tidings moderate undo ID --as NAME --reason TEXT` undoes it. Prints the number of
/// the entry in the moderation log. docs/api.md says what each action takes (POST /api/moderate).
#[derive(Debug, Args, Serialize)]
#[command(allow_missing_positional = true)]
pub struct ModerateCommand {
    /// The action.
    #[arg(value_parser = actions())]
    action: String,
    /// The kind of its target: story, comment, tweet, user, application, appeal or message; nothing for undo.
    kind: Option<String>,
    /// Which one: a number; 7-3 for comment 3 of story 7; a username for a person; for undo the
    /// entry of the log.
    id: String,
    /// The moderator or administrator who acts.
    #[arg(long = "as", value_name = "NAME")]
    #[serde(skip)]
    moderator: String,
    /// Why. Everybody can read it in the log, except for a note. keep and approve need none.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// How long silence, hold, ban and discount last; permanently, if left out.
    #[arg(long, value_name = "N")]
    hours: Option<String>,
    /// For remove_all, the posts of how many days.
    #[arg(long, value_name = "N")]
    days: Option<String>,
    /// For merge, the other story.
    #[arg(long, value_name = "ID")]
    into: Option<String>,
    /// For edit, the new title.
    #[arg(long)]
    title: Option<String>,
    /// For edit, the new topics.
    #[arg(long)]
    topics: Option<String>,
    /// For edit, the new URL.
    #[arg(long)]
    url: Option<String>,
    /// For erase, the ID again. Without it, the refusal names what would go.
    #[arg(long, value_name = "ID")]
    confirm: Option<String>,
    /// Have the log name "a moderator" to all but administrators.
    #[arg(long)]
    anonymous: bool,
}

fn actions() -> PossibleValuesParser {
    let by_call = Action::ALL.iter().map(|action| action.facts()).filter(|facts| !facts.has_own_call);
    let actions = by_call.map(|facts| facts.name);
    actions.chain([UNDO]).collect::<Vec<_>>().into()
}

/// The request of the command line.
enum Asked {
    Deed(Box<ModerationRequest>),
    Undo(UndoForm),
}

impl ModerateCommand {
    /// Acts, and prints the number of the line in the log.
    ///
    /// # Errors
    /// [`WrongUse`], or why the action is refused.
    pub async fn run(self, here: &Here) -> anyhow::Result<()> {
        let asked = self.asked().map_err(|error| WrongUse::new(in_options(&error)))?;
        let line = self.act(here.site().await?.for_command(), &asked, &here.config).await?;
        say!("entry {line} of the moderation log");
        Ok(())
    }

    /// The fields, read as those of the call of the same name.
    fn asked(&self) -> Result<Asked, RequestError> {
        let is_undo = self.action == UNDO;
        let mut form = Serializer::new(String::new());
        for (name, value) in serde_json::to_value(self).unwrap_or_default().as_object().into_iter().flatten()
        {
            let name = if is_undo && name == "id" { "moderation_id" } else { name };
            value.as_str().map(|value| form.append_pair(name, value));
        }
        if self.anonymous {
            form.append_pair("anonymous", "1");
        }
        let fields = Fields::parse(form.finish().as_bytes()).map_err(RequestError::Malformed)?;
        match (is_undo, &self.kind) {
            (true, Some(_)) => {
                let expected = m!("undo takes only the number of an entry of the log");
                return Err(RequestError::Field { name: "kind", expected });
            }
            (true, None) => return fields.read().map(Asked::Undo),
            (false, _) => {}
        }
        let requests = fields.read::<ModerationForm>()?.requests()?;
        let [request] = <[_; 1]>::try_from(requests)
            .map_err(|requests| Error::Internal(format!("these are {} actions", requests.len())))?;
        Ok(Asked::Deed(request.into()))
    }

    async fn act(&self, site: Site, asked: &Asked, config: &Config) -> anyhow::Result<ModerationId> {
        let mailer = Mailer::from_config(&config.mail)?;
        let mailer = mailer.map(|mailer| Arc::new(mailer) as Arc<dyn SendMail>);
        let app = App::new(site, config.web_settings(), mailer, EngineClock::System);
        let moderator = find(&app, &self.moderator).await?;
        let (site, now) = (&app.site, app.moment());
        match asked {
            Asked::Deed(request) => {
                let id = patiently(async || Ok(moderation::moderate(site, now, &moderator, request).await?))
                    .await?;
                if let Deed::Erase(_) = request.deed {
                    erasing::wait_for_traces(site, now, &request.thing).await;
                }
                mail_decision(&app, request).await;
                Ok(id)
            }
            Asked::Undo(form) => {
                let how = (form.moderation_id, &form.reason, form.anonymous);
                patiently(async || Ok(moderation::undo(site, now, &moderator, how).await?)).await
            }
        }
    }
}

fn is_missing(expected: &Message) -> bool {
    expected.english == RequestError::MISSING.english
}

/// Describes an error in the fields, in the words of the command line.
fn in_options(error: &RequestError) -> String {
    match error {
        RequestError::Field { name: "title", expected } if is_missing(expected) => {
            "edit needs --title, --topics or --url".to_owned()
        }
        RequestError::Field { name, expected } if is_missing(expected) => {
            format!("{} is missing", option_of(name))
        }
        RequestError::Field { name, expected } => format!("{}: {}", option_of(name), expected.english),
        RequestError::Domain(wrong) => match wrong_fields(error).first() {
            Some(field) => format!("{}: {}", option_of(field), in_english(&**wrong)),
            None => in_english(&**wrong),
        },
        error => error.message_for_program(),
    }
}

/// The name on the command line for a field of the call.
fn option_of(field: &str) -> String {
    match field {
        "action" | "kind" | "id" => field.to_uppercase(),
        "moderation_id" => "ID".to_owned(),
        other => format!("--{other}"),
    }
}

/// The account that acts.
async fn find(app: &App, name: &str) -> anyhow::Result<User> {
    let id = user::find(&app.site, name).await?;
    let hash = app.site.store.fetch(read::hash(keys::user(id))).await.map_err(Error::from)?;
    match User::from_hash(&hash) {
        Some(user) => Ok(user.acting(&app.site.rules, app.now())),
        None => bail!("cannot find {name:?}: {}", in_english(&Refusal::NoSuchUser)),
    }
}
