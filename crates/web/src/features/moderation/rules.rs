//! The rules that new posts are checked with: the list, adding one after a trial, lifting one.

use super::acting::ModeratedResponse;
use super::form::switch;
use super::kept_list::KeptList;
use crate::features::action::{Action, ActionEntry};
use crate::limits::LONG_ACTION_WAIT;
use crate::markup::addresses::{address_of_thing, profile_address};
use crate::markup::fields::choice;
use crate::markup::moderation_tools::REASONS;
use crate::markup::parts::DELETED_USER;
use crate::markup::{Field, Frame, Member, Page};
use crate::request::form::{form, parsed, valid};
use crate::request::{Fields, LocalPath, SignedFields, SignedForm, answer};
use crate::route::LONG;
use crate::{App, Result};
use axum::Json;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, Render, html};
use serde::Serialize;
use strum::IntoEnumIterator;
use tidings_domain::Refusal;
use tidings_domain::moderation::rules::{self, DryRun, NewRule, RuleMatch};
use tidings_domain::moderation::{ModerationRequest, moderate};
use tidings_domain::values::{
    Deed, MAX_PATTERN, ModerationId, Pattern, PostRule, Reason, RuleEffect, RuleId, RuleKind, Thing,
};
use tidings_language::{Message, m, n, t};

form! {
    /// A rule to add or to try.
    pub struct RuleForm {
        /// The kind of the pattern.
        pub what: RuleKind = parsed(KIND), values::RuleKind;
        /// The pattern that the rule looks for.
        pub pattern: Pattern = pattern, values::Pattern;
        /// The effect on posts that match the pattern.
        pub effect: RuleEffect = parsed(m!("it must be refuse or hold")), values::RuleEffect;
        /// Why. Authors of refused posts read it.
        pub reason: Reason = valid(Reason::parse), values::Reason;
        /// `1` to add nothing, and to see what the rule would have caught.
        pub dry_run: bool = switch, values::Switch, required = false;
    }

    /// A rule to lift.
    pub struct LiftForm {
        /// The rule.
        pub rule_id: RuleId = parsed(m!("it must be the number of a rule")), values::Id;
        /// Why.
        pub reason: Reason = valid(Reason::parse), values::Reason;
    }
}

const KIND: &Message = m!("it must be domain, url, phrase or regex");

fn pattern(fields: &Fields, name: &'static str) -> Result<Pattern> {
    Ok(Pattern::parse(fields.parsed("what", KIND)?, fields.required(name)?).map_err(Refusal::Pattern)?)
}

impl From<RuleForm> for NewRule {
    fn from(RuleForm { pattern, effect, reason, .. }: RuleForm) -> Self {
        Self { pattern, effect, reason }
    }
}

/// The outcome of adding a rule, or of trying it.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(untagged)]
#[cfg_attr(test, schema(as = RuleOutcome))]
pub enum RuleResponse {
    /// The rule was added.
    Added(RuleAddedResponse),
    /// The rule was tried.
    Tried(DryRunResponse),
}

answer! {
    /// A rule was added.
    pub struct RuleAddedResponse as RuleAdded from (added: (RuleId, ModerationId)) {
        status;
        /// The rule.
        rule_id: u64 = added.0.0;
        /// The line in the log.
        moderation_id: u64 = added.1.0;
    }

    /// The posts of the last 30 days that a rule would have caught.
    pub struct DryRunResponse as DryRun from (found: DryRun) {
        status;
        /// How many posts.
        count: u64 = found.count;
        /// The first 100 of them.
        matches: Vec<MatchedThing> = found.matches.into_iter().map(MatchedThing::from).collect();
        /// False if there were too many posts to look at all of them in time.
        finished: bool = found.finished;
    }

    /// A post that a rule would have caught.
    pub struct MatchedThing from (found: RuleMatch) {
        /// The kind of thing.
        kind: &'static str = found.thing.kind(), values::ThingKind;
        /// Which.
        id: String = found.thing.id(), values::ThingId;
    }
}

/// POST /api/moderate/rule.
pub async fn add(app: App, SignedForm { user, form }: SignedForm<RuleForm>) -> Result<Json<RuleResponse>> {
    let is_trial = form.dry_run;
    let rule = form.into();
    if is_trial {
        let found = rules::dry_run(&app.site, app.moment(), &user, (&rule, LONG_ACTION_WAIT)).await?;
        return Ok(Json(RuleResponse::Tried(found.into())));
    }
    let adding = rules::add_rule(&app.site, app.moment(), &user, &rule);
    Ok(Json(RuleResponse::Added(user.once(&app.site, adding).await?.into())))
}

/// The address of the page.
pub const ADDRESS: &str = "/moderate/rules";

/// The page, with the fields of a trial and the posts that the rule would have caught.
fn show(rules: &[PostRule], frame: &Frame<'_>, tried: Option<(&Fields, &DryRun)>) -> Markup {
    let most = MAX_PATTERN.to_string();
    let pattern = Field::new("pattern", t!("Pattern")).with("maxlength", &most).with("autocomplete", "off");
    let pattern = pattern.with("spellcheck", "false").required().hint(t!(
        "A domain such as example.com covers its subdomains. A URL is the start of a host and a path, such as \
         example.com/shop/. A phrase matches whole words, in upper or lower case."
    ));
    let reason = Field::new("reason", t!("Reason")).with("list", REASONS).required();
    let reason = reason.hint(t!("Shown to authors of refused posts, and in the moderation log."));
    let kinds = RuleKind::iter().map(|kind| (kind.name(), kind_words(kind)));
    let effects = RuleEffect::iter().map(|effect| (effect.name(), effect_words(effect)));
    let list = KeptList {
        address: ADDRESS,
        heading: t!("Rules for new content"),
        about: html! {
            (t!(
                "These rules check every new or edited story, comment, post and profile, except those of moderators and administrators. The {log} shows when and why a rule was added.",
                log = html! { a href="/moderations?kind=rule" { (t!("moderation log")) } },
            ))
        },
        fields: html! {
            (choice("what", t!("Type"), kinds, ""))
            (pattern.input())
            (choice("effect", t!("Effect"), effects, ""))
            (reason.input())
            @if let Some((_, tried)) = tried { (outcome(tried)) }
        },
        add: t!("Add the rule"),
        listed: t!("Rules"),
        none: t!("There are no rules yet."),
        noun: "rule",
        one: |id| t!("rule {id}", id),
        entries: rules.iter().map(|rule| (rule.id.0, rule_line(rule), rule.reason.as_str())).collect(),
    };
    list.render(frame, tried.map(|(fields, _)| fields))
}

fn kind_words(kind: RuleKind) -> &'static str {
    match kind {
        RuleKind::Domain => t!("links to a domain"),
        RuleKind::Url => t!("links that begin with a URL"),
        RuleKind::Phrase => t!("a word or a phrase"),
        RuleKind::Regex => t!("a regular expression"),
    }
}

fn effect_words(effect: RuleEffect) -> &'static str {
    match effect {
        RuleEffect::Refuse => t!("post" => "refused"),
        RuleEffect::Hold => t!("post" => "held for a moderator"),
    }
}

/// The posts that a rule would have caught.
fn outcome(tried: &DryRun) -> Markup {
    html! {
        div.notice role="status" {
            p {
                (t!(
                    "In the last 30 days this rule would have caught {texts}.",
                    texts = html! { strong { (n!(tried.count, "{count} text", "{count} texts")) } },
                ))
                @if !tried.finished { " " (t!("There were too many to check them all.")) }
            }
            @if !tried.matches.is_empty() {
                ul {
                    @for found in &tried.matches { li { (match_link(found)) } }
                }
            }
        }
    }
}

fn match_link(RuleMatch { thing, words, author }: &RuleMatch) -> Markup {
    let words = html! { a href=(address_of_thing(thing)) dir="auto" { (words) } };
    let author = html! {
        @match author {
            Some(name) => a.author href=(profile_address(name, "")) { (name) },
            None => (DELETED_USER),
        }
    };
    let found = match thing {
        Thing::Story(_) => t!("Story “{words}” by {author}", words, author),
        Thing::Comment(_) => t!("Comment “{words}” by {author}", words, author),
        _ => t!("Post “{words}” by {author}", words, author),
    };
    found.render()
}

fn rule_line(rule: &PostRule) -> Markup {
    let pattern = html! { code { (rule.pattern) } };
    let effect = html! { strong { (effect_words(rule.effect)) } };
    t!("{kind}: {pattern}, {effect}.", kind = kind_words(rule.pattern.kind), pattern, effect).render()
}

/// GET /moderate/rules.
pub async fn page(Page { app, mut visit, user, here }: Page<Member>) -> Result<Markup> {
    let rules = rules::rules(&app.site, app.moment(), &user).await?;
    Ok(show(&rules, &Frame::of(&app, &mut visit, &here).await?, None))
}

/// POST /moderate/rules: what, pattern, effect, reason, dry_run, apisecret.
pub async fn change(app: App, here: LocalPath, form: SignedFields) -> Result<Response> {
    let rule: RuleForm = form.fields.read()?;
    let is_trial = rule.dry_run;
    let rule = rule.into();
    if is_trial {
        let how = (&rule, LONG_ACTION_WAIT);
        let found = rules::dry_run(&app.site, app.moment(), &form.user, how).await?;
        let rules = rules::rules(&app.site, app.moment(), &form.user).await?;
        let frame = Frame::for_user(&app, &here, &form.user);
        return Ok(show(&rules, &frame, Some((&form.fields, &found))).into_response());
    }
    form.user.once(&app.site, rules::add_rule(&app.site, app.moment(), &form.user, &rule)).await?;
    Ok(Redirect::to(ADDRESS).into_response())
}

/// The actions behind the forms of this file.
pub fn actions() -> Vec<ActionEntry> {
    vec![
        Action::once(
            "/moderate/rules/lift",
            m!("Lift a rule (moderators only)."),
            |app, by, form: &LiftForm| {
                Box::pin(async move {
                    let thing = Thing::Rule(form.rule_id);
                    let request = ModerationRequest::new(Deed::Unrule, thing, form.reason.clone());
                    moderate(&app.site, app.moment(), by.user, &request).await
                })
            },
        )
        .called("/api/moderate/unrule")
        .answering(async |_, id| Ok(ModeratedResponse::from(id)))
        .form_page(ADDRESS)
        .then(LONG, |_, ()| ADDRESS.to_owned()),
    ]
}
