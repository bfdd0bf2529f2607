//! The page of a list that moderators keep, such as that of rules: its purpose, the form that adds to it after a trial,
//! and its entries, which can be lifted.

use crate::markup::Frame;
use crate::markup::moderation_tools::reason_field;
use crate::markup::parts::label_of;
use crate::markup::refilled::Sent;
use crate::request::Fields;
use maud::{Markup, html};
use tidings_language::{Phrase, t};

/// The page.
pub struct KeptList<'a> {
    /// Its address, which its form is sent to.
    pub address: &'static str,
    /// Its heading.
    pub heading: &'static str,
    /// The purpose of the list.
    pub about: Markup,
    /// The fields of the form that adds to it, and what was found in a trial.
    pub fields: Markup,
    /// The button that adds without a trial.
    pub add: &'static str,
    /// The heading of the entries.
    pub listed: &'static str,
    /// The words if there are none.
    pub none: &'static str,
    /// One of them, in the name of a field.
    pub noun: &'static str,
    /// One of them, by its number.
    pub one: fn(String) -> Phrase<'static>,
    /// The entries: number, content, reason.
    pub entries: Vec<(u64, Markup, &'a str)>,
}

impl KeptList<'_> {
    /// The whole page; its form has what was tried, if it answers a trial.
    pub fn render(&self, frame: &Frame<'_>, tried: Option<&Fields>) -> Markup {
        let content = html! {
            p { (self.about) }
            form.form.narrow method="post" action=(self.address) {
                (frame.signed_fields())
                (self.fields)
                div.buttons {
                    button.button name="dry_run" value="1" { (t!("Try it first")) }
                    " "
                    button.button.quiet name="dry_run" value="0" { (self.add) }
                }
            }
            h2 { (self.listed) }
            @if self.entries.is_empty() { p.empty { (self.none) } }
            ol.log role="list" {
                @for (number, content, reason) in &self.entries {
                    li {
                        p { span.log-number { (number) } " " (content) }
                        p.log-reason dir="auto" { (reason) }
                        form.log-filters method="post" action={ (self.address) "/lift" } {
                            (frame.signed_fields())
                            input type="hidden" name={ (self.noun) "_id" } value=(number);
                            (reason_field(t!("Reason"), ""))
                            button.button.small.quiet { (label_of(t!("button" => "Lift"), (self.one)(number.to_string()))) }
                        }
                    }
                }
            }
        };
        let page = frame.headed(self.heading, &content);
        match tried {
            Some(fields) => Sent { is_post: true, action: self.address, fields }.tried(page),
            None => page,
        }
    }
}
