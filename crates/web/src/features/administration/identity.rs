//! How the site presents itself and who may sign up, for administrators: name, colour, logo, texts, links.

mod fields;

use self::fields::{Control, FIELDS, SettingField};
use super::announcement;
use crate::App;
use crate::error::{Malformed, RequestError, Result, inputs};
use crate::features::accounts::register::ways_in;
use crate::limits::MAX_FIELDS;
use crate::markup::brand::colour_preview;
use crate::markup::fields::select;
use crate::markup::{Administrator, Field, Frame, Notice, Page};
use crate::request::form::{FORM_PAGE, SentFields};
use crate::request::json::read_body;
use crate::request::viewer::demand_secret;
use crate::request::{Fields, SignedFields};
use axum::RequestExt;
use axum::body::Body;
use axum::extract::{FromRequest, Multipart, Request};
use axum::http::header;
use axum::response::Redirect;
use maud::{Markup, html};
use tidings_domain::identity::{self, Identity};
use tidings_domain::moderation::log::write_site_change;
use tidings_domain::values::site_settings::{
    ANSWERS, DEFAULT_ACCENT, QUESTION, SITE_SETTINGS, SiteTexts, given_by,
};
use tidings_domain::values::{
    Colour, FooterLink, IdentityError, Logo, LogoError, MAX_FOOTER_LINKS, MAX_LOGO_BYTES, MAX_LOGO_PIXELS,
    MAX_SITE_TEXT, Rules,
};
use tidings_domain::{User, administration};
use tidings_language::{Phrase, p, t};

/// The names of the fields for the links in the footer: label and address of each.
pub const LINK_FIELDS: [[&str; 2]; MAX_FOOTER_LINKS] = [
    ["link1_label", "link1_address"],
    ["link2_label", "link2_address"],
    ["link3_label", "link3_address"],
    ["link4_label", "link4_address"],
    ["link5_label", "link5_address"],
    ["link6_label", "link6_address"],
    ["link7_label", "link7_address"],
    ["link8_label", "link8_address"],
];

/// The errors, by field.
pub type FieldErrors = Vec<(&'static str, IdentityError)>;

/// Reads the form: the settings of the site, and the links. Missing fields count as empty, and empty ones as not set; but a
/// choice that was not sent stays as it is `stored`, so that nobody opens a site by leaving it out.
///
/// # Errors
/// Everything that is wrong.
pub fn read_identity(fields: &Fields, stored: &SiteTexts, rules: &Rules) -> Result<Identity, FieldErrors> {
    let (texts, mut errors) = SiteTexts::parse(|field| match fields.get(field) {
        Some(typed) => typed,
        None if is_choice(field) => stored.get(field).unwrap_or_default(),
        None => "",
    });
    let is_unanswered =
        texts.in_force(rules, QUESTION).is_some() && texts.accounts(rules).signup_question.is_empty();
    if is_unanswered && errors.iter().all(|(field, _)| *field != ANSWERS) {
        errors.push((ANSWERS, IdentityError::NoAnswer));
    }
    let mut identity = Identity { texts, ..Identity::default() };
    for [label, address] in LINK_FIELDS {
        match FooterLink::parse(fields.text(label), fields.text(address)) {
            Ok(link) => identity.links.extend(link),
            Err((is_address, error)) => errors.push((if is_address { address } else { label }, error)),
        }
    }
    if errors.is_empty() { Ok(identity) } else { Err(errors) }
}

fn is_choice(name: &str) -> bool {
    FIELDS.iter().any(|field| field.name == name && matches!(field.control, Control::Choice(_)))
}

/// The page to return to after a change.
const ADDRESS: &str = "/admin/site";

/// The form with what is stored.
fn form(frame: &Frame<'_>, identity: &Identity) -> Markup {
    html! {
        form.form method="post" action=(ADDRESS) {
            (frame.signed_fields())
            @for shown in &FIELDS { (field(frame, &identity.texts, shown)) }
            (links(identity))
            button.button { (t!("Save")) }
        }
    }
}

/// The place that gives a setting: a file or a variable.
fn place_of(given: &str) -> Phrase<'_> {
    match given.split_once(' ') {
        Some(("variable", name)) => p!("variable {name}", name),
        Some(("file", name)) => p!("file {name}", name),
        _ => p!("command line"),
    }
}

/// The field of a setting; for one that the configuration gives, its value and where it comes from.
fn field(frame: &Frame<'_>, texts: &SiteTexts, field: &SettingField) -> Markup {
    let &SettingField { name, label, hint, control } = field;
    let setting = SITE_SETTINGS.iter().find(|setting| setting.field == name);
    let setting = setting.map_or("", |setting| setting.setting);
    let configured = frame.rules.configured.get(setting);
    let default = configured.map_or("", |configured| &*configured.text);
    let stored = texts.get(name).unwrap_or_default();
    if let Some(given) = given_by(frame.rules, name) {
        return html! {
            div.field {
                @let value = if default.is_empty() { t!("value" => "none") } else { default };
                p { (t!("{name}: {value}", name = label.text(), value = html! { strong { (value) } })) }
                p.hint {
                    (t!(
                        "Set by {place} as {setting}, so it can't be changed here.",
                        place = place_of(given),
                        setting = html! { code { (setting) } }
                    ))
                    @if !stored.is_empty() {
                        " "
                        (t!(
                            "The value that is stored, {value}, is not used.",
                            value = html! { strong { (stored) } }
                        ))
                    }
                }
            }
        };
    }
    let hint = html! {
        (hint.text())
        @if matches!(control, Control::Text) { " " (t!("Up to {most} characters, in Markdown.", most = MAX_SITE_TEXT)) }
        @if matches!(control, Control::Line) && !default.is_empty() { " " (t!("If empty: {default}.", default)) }
    };
    let shown = Field::new(name, label.text()).with("autocomplete", "off");
    match control {
        Control::Line => shown.value(stored).with("placeholder", default).hint(hint).input(),
        Control::Text => shown.value(stored).hint(hint).text_area(),
        Control::Colour => {
            let chosen = if stored.is_empty() { DEFAULT_ACCENT } else { stored };
            let preview = Colour::parse(chosen).map(colour_preview).unwrap_or_default();
            shown.value(chosen).with("type", "color").hint(hint).after(preview).input()
        }
        Control::Choice(options) => {
            let chosen = if stored.is_empty() { default } else { stored };
            select(name, label.text(), chosen, &options())
        }
    }
}

fn links(identity: &Identity) -> Markup {
    let field = |name, label: &str, value: &str| {
        let field = Field::new(name, label).value(value).with("autocomplete", "off");
        field.with("aria-describedby", "links-hint").input()
    };
    html! {
        fieldset.group {
            legend { (t!("Links in the footer")) }
            p.hint #links-hint {
                (t!(
                    "Up to {most}, for example to a privacy notice. Each can lead to a page \
                     of this site (/about), a full address (https://example.com) or a mail address \
                     (mailto:us@example.com). Clear both fields to remove a link.",
                    most = MAX_FOOTER_LINKS
                ))
            }
            @for (number, [label, address]) in (1..).zip(LINK_FIELDS) {
                div.link-row {
                    @let link = identity.links.get(number - 1);
                    (field(label, &t!("Label of link {number}", number).to_string(), link.map_or("", FooterLink::label)))
                    (field(address, &t!("Address of link {number}", number).to_string(), link.map_or("", FooterLink::address)))
                }
            }
        }
    }
}

fn logo(frame: &Frame<'_>) -> Markup {
    html! {
        h2 #logo-heading { (t!("Logo")) }
        @if let Some((address, file)) = &frame.brand.logo {
            p {
                img.logo-preview src=(address) width=(file.width) height=(file.height) alt=(t!("Current logo"));
            }
        }
        form.form method="post" action="/admin/site/logo" enctype="multipart/form-data" {
            (frame.signed_fields())
            div {
                label for="logo" { (t!("Picture")) }
                input #logo name="logo" type="file" required accept="image/png,image/jpeg,image/webp,image/gif"
                    aria-describedby="logo-hint";
                p.hint #logo-hint {
                    (t!(
                        "PNG, JPEG, WebP or GIF, up to {size} KB and {pixels} pixels wide and high. It is shown 26 \
                         pixels high. SVG is not accepted, because it can contain scripts.",
                        size = MAX_LOGO_BYTES / 1024,
                        pixels = MAX_LOGO_PIXELS
                    ))
                }
            }
            button.button { (t!("Use this logo")) }
        }
        @if frame.brand.logo.is_some() {
            form.form method="post" action="/admin/site/removelogo" {
                (frame.signed_fields())
                p.hint { (t!("If you remove it, the Tidings logo is shown.")) }
                button.button.grave { (t!("Remove the logo")) }
            }
        }
    }
}

/// How people get accounts.
fn sign_up(frame: &Frame<'_>) -> Markup {
    html! {
        h2 { (t!("Signing up")) }
        p { (ways_in(frame)) }
        p.hint {
            (t!(
                "Further settings are in the configuration: {confirm} and {pause}.",
                confirm = html! { code { "accounts.confirm_email" } },
                pause = html! { code { "limits.account_creation_seconds" } }
            ))
        }
    }
}

/// GET /admin/site.
pub async fn page(Page { app, mut visit, here, .. }: Page<Administrator>) -> Result<Markup> {
    let identity = visit.identity().await;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let content = html! {
        (form(&frame, &identity))
        (logo(&frame))
        (announcement::section(&frame))
        (sign_up(&frame))
        p { a.action href="/welcome" { (t!("Set-up checklist")) } }
        p { a.action href="/admin" { (t!("Administration")) } }
    };
    Ok(frame.headed(t!("This site"), &content))
}

/// POST /admin/site: the fields of [`SITE_SETTINGS`], `link1_label`, `link1_address` and so
/// on to 8, apisecret.
pub async fn change(app: App, form: SignedFields) -> Result<Redirect> {
    form.user.require_admin()?;
    let wrong = |(name, error): (_, IdentityError)| (name, inputs::identity(&error).to_string());
    let stored = identity::of_site(&app.site, app.now()).await?;
    let identity = read_identity(&form.fields, &stored.texts, &app.site.rules)
        .map_err(|errors| RequestError::Fields(errors.into_iter().map(wrong).collect()))?;
    let (user, log) = (&form.user, write_site_change);
    let changing = administration::change_identity(&app.site, app.now(), user, (&identity, log));
    form.user.once(&app.site, changing).await?;
    Ok(Notice::SiteSaved.redirect(&app, &form.user, ADDRESS))
}

/// A picture sent by an administrator, from a page of their own session.
pub struct SentLogo {
    user: User,
    logo: Logo,
}

impl FromRequest<App> for SentLogo {
    type Rejection = RequestError;

    /// Refuses anybody who is not an administrator before the body is read.
    async fn from_request(mut request: Request, app: &App) -> Result<Self> {
        let signed_in: Page<Administrator> = request.extract_parts_with_state(app).await?;
        let sent = request.extensions().get::<SentFields>().cloned();
        let content_type = request.headers().get(header::CONTENT_TYPE).cloned();
        let mut whole = Request::new(Body::from(read_body(request).await?));
        whole.headers_mut().extend(content_type.map(|content_type| (header::CONTENT_TYPE, content_type)));
        let not_a_form = |_| RequestError::from(Malformed::NotMultipart);
        let mut parts = Multipart::from_request(whole, &()).await.map_err(not_a_form)?;
        let (mut secret, mut picture) = (String::new(), Vec::new());
        for _ in 0..MAX_FIELDS {
            let Some(part) = parts.next_field().await.map_err(|_| Malformed::NotMultipart)? else { break };
            match part.name() {
                Some("apisecret") => secret = part.text().await.map_err(|_| Malformed::NotMultipart)?,
                Some("logo") => {
                    picture = part.bytes().await.map_err(|_| Malformed::NotMultipart)?.into();
                }
                _ => {}
            }
        }
        demand_secret(&signed_in.visit, &signed_in.user, &secret)?;
        // It comes back on the page of the other form.
        let of_page = Fields::parse(format!("{FORM_PAGE}={ADDRESS}").as_bytes())?;
        sent.into_iter().for_each(|sent| sent.keep(&of_page));
        let wrong =
            |error: LogoError| RequestError::Fields([("logo", inputs::logo(error).to_string())].into());
        Ok(Self { user: signed_in.user, logo: Logo::parse(picture).map_err(wrong)? })
    }
}

/// POST /admin/site/logo: logo (a file), apisecret.
pub async fn change_logo(app: App, SentLogo { user, logo }: SentLogo) -> Result<Redirect> {
    administration::change_logo(&app.site, &user, Some(&logo)).await?;
    Ok(Notice::SiteSaved.redirect(&app, &user, ADDRESS))
}

/// POST /admin/site/removelogo: apisecret.
pub async fn remove_logo(app: App, form: SignedFields) -> Result<Redirect> {
    let changing = administration::change_logo(&app.site, &form.user, None);
    form.user.once(&app.site, changing).await?;
    Ok(Notice::SiteSaved.redirect(&app, &form.user, ADDRESS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::BODY_BYTES;
    use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
    use tidings_domain::values::{
        MAX_LINK_ADDRESS_BYTES, MAX_LINK_LABEL, MAX_SIGNUP_ANSWERS, MAX_SIGNUP_QUESTION,
        MAX_SITE_DESCRIPTION, MAX_SITE_NAME, MAX_SITE_TEXT,
    };

    fn read(encoded: &str) -> Result<Identity, FieldErrors> {
        read_identity(&Fields::parse(encoded.as_bytes()).unwrap(), &SiteTexts::default(), &Rules::default())
    }

    #[test]
    fn all_mistakes_are_found_at_once() {
        let errors = read("name=a%00b&accent=red&link2_label=x&link3_address=%2Fabout&signup_question=Why")
            .unwrap_err();
        let names: Vec<&str> = errors.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["name", "accent", "signup_answers", "link2_address", "link3_label"]);
        assert_eq!(read("").unwrap(), Identity::default());
        let identity = read("name=Gazette&accent=%23AA0000&link8_label=Us&link8_address=%2Fabout").unwrap();
        assert_eq!((identity.texts.get("accent"), identity.links.len()), (Some("#aa0000"), 1));
    }

    #[test]
    fn the_longest_form_fits_into_the_body_of_a_request() {
        let longest = |characters: usize| "\u{1F600}".repeat(characters);
        let texts = [
            ("name", MAX_SITE_NAME),
            ("description", MAX_SITE_DESCRIPTION),
            ("about", MAX_SITE_TEXT),
            ("rules", MAX_SITE_TEXT),
        ];
        let mut fields: Vec<(&str, String)> =
            texts.into_iter().map(|(name, most)| (name, longest(most))).collect();
        fields.push(("accent", "#aa0000".to_owned()));
        // There is no room for these in characters of four bytes, too.
        fields.push(("signup_question", "x".repeat(MAX_SIGNUP_QUESTION)));
        fields.push(("signup_answers", "x".repeat(MAX_SIGNUP_ANSWERS)));
        for [label, address] in LINK_FIELDS {
            fields.push((label, longest(MAX_LINK_LABEL)));
            fields.push((address, format!("/{}", ".".repeat(MAX_LINK_ADDRESS_BYTES - 1))));
        }
        fields.push(("apisecret", "x".repeat(100)));
        let encode = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let form: Vec<String> =
            fields.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
        let form = form.join("&");
        assert!(form.len() <= BODY_BYTES, "{}", form.len());
        assert!(read(&form).is_ok());
    }
}
