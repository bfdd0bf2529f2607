//! How the site presents itself, for administrators: name, colour, logo, texts, links.

use super::announcement;
use crate::App;
use crate::error::{Malformed, RequestError, sentence};
use crate::features::accounts::register::ways_in;
use crate::limits::MAX_FIELDS;
use crate::markup::fields::Field;
use crate::markup::frame::Frame;
use crate::markup::notices::Notice;
use crate::markup::page::{Administrator, Page};
use crate::request::form::{FORM_PAGE, Fields, SentFields};
use crate::request::json::read_body;
use crate::request::viewer::{SignedFields, demand_secret};
use axum::RequestExt;
use axum::body::Body;
use axum::extract::{FromRequest, Multipart, Request};
use axum::http::header;
use axum::response::Redirect;
use maud::{Markup, html};
use tidings_domain::accounts::users::User;
use tidings_domain::administration;
use tidings_domain::identity::Identity;
use tidings_domain::values::words::grouped;
use tidings_domain::values::{
    Colour, FooterLink, IdentityError, Logo, LogoError, MAX_FOOTER_LINKS, MAX_LOGO_BYTES, MAX_LOGO_PIXELS,
    MAX_SITE_DESCRIPTION, MAX_SITE_NAME, MAX_SITE_TEXT, SiteAbout, SiteDescription, SiteName, SiteRules,
};

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

/// Reads the form: name, description, accent, about, rules, and the links. Missing fields count
/// as empty, and empty ones as not set.
///
/// # Errors
/// Everything that is wrong.
pub fn read_identity(fields: &Fields) -> Result<Identity, FieldErrors> {
    let mut errors = FieldErrors::new();
    let mut identity = Identity {
        name: checked(&mut errors, "name", SiteName::parse(fields.text("name"))),
        description: checked(&mut errors, "description", SiteDescription::parse(fields.text("description"))),
        accent: checked(&mut errors, "accent", parse_accent(fields.text("accent"))),
        about: checked(&mut errors, "about", SiteAbout::parse(fields.text("about"))),
        rules: checked(&mut errors, "rules", SiteRules::parse(fields.text("rules"))),
        ..Identity::default()
    };
    for [label, address] in LINK_FIELDS {
        match FooterLink::parse(fields.text(label), fields.text(address)) {
            Ok(link) => identity.links.extend(link),
            Err((is_address, error)) => errors.push((if is_address { address } else { label }, error)),
        }
    }
    if errors.is_empty() { Ok(identity) } else { Err(errors) }
}

/// The value of a field; an error is noted with the name of the field.
fn checked<T>(
    errors: &mut FieldErrors,
    name: &'static str,
    parsed: Result<Option<T>, IdentityError>,
) -> Option<T> {
    parsed.map_err(|error| errors.push((name, error))).ok().flatten()
}

fn parse_accent(text: &str) -> Result<Option<Colour>, IdentityError> {
    match text.trim() {
        "" => Ok(None),
        text => Colour::parse(text).map(Some).ok_or(IdentityError::Colour),
    }
}

/// The page to return to after a change.
const ADDRESS: &str = "/admin/site";

/// The form with what is stored.
fn form(frame: &Frame<'_>, identity: &Identity) -> Markup {
    let configured = &frame.settings.site;
    let line = |name, label, placeholder, hint: &str| {
        let stored = stored(identity, name);
        let field = Field::new(name, label).value(&stored).with("placeholder", placeholder);
        field.with("autocomplete", "off").hint(html! { (hint) }).input()
    };
    let text = |name, label, hint: &str| {
        let stored = stored(identity, name);
        let hint = html! { (hint) " Up to " (grouped(MAX_SITE_TEXT as u64)) " characters, in Markdown." };
        Field::new(name, label).value(&stored).hint(hint).text_area()
    };
    html! {
        form.form method="post" action="/admin/site" {
            (frame.signed_fields())
            (line("name", "Name", &configured.name, &format!(
                "Shown on every page, in feeds and in mail. Up to {MAX_SITE_NAME} characters. \
                 If empty: {}.", configured.name
            )))
            (line("description", "Description", &configured.description, &format!(
                "One sentence for search engines and feeds. Up to {MAX_SITE_DESCRIPTION} characters. \
                 If empty, the one in the configuration."
            )))
            (line("accent", "Accent colour", "#0b6e6a",
                "# and six hexadecimal digits, such as #0b6e6a. Where text in this colour would be hard \
                 to read, the nearest readable shade is used. If empty: teal."
            ))
            (text("about", "About", "What this site is for and who runs it. Shown on the About page."))
            (text("rules", "Rules", "What is welcome here and what is not. Shown on the About page."))
            (links(identity))
            button.button { "Save" }
        }
    }
}

fn links(identity: &Identity) -> Markup {
    let field = |name, label: &str| {
        let stored = stored(identity, name);
        let field = Field::new(name, label).value(&stored).with("autocomplete", "off");
        field.with("aria-describedby", "links-hint").input()
    };
    html! {
        fieldset.group {
            legend { "Links in the footer" }
            p.hint #links-hint {
                "Up to " (MAX_FOOTER_LINKS) ", for example to a privacy notice. Each can lead to a page \
                 of this site (/about), a full address (https://example.com) or a mail address \
                 (mailto:us@example.com). Clear both fields to remove a link."
            }
            @for (number, [label, address]) in (1..).zip(LINK_FIELDS) {
                div.link-row {
                    (field(label, &format!("Label of link {number}")))
                    (field(address, &format!("Address of link {number}")))
                }
            }
        }
    }
}

fn logo(frame: &Frame<'_>) -> Markup {
    html! {
        h2 #logo-heading { "Logo" }
        @if let Some((address, file)) = &frame.brand.logo {
            p {
                img.logo-preview src=(address) width=(file.width) height=(file.height) alt="Current logo";
            }
        }
        form.form method="post" action="/admin/site/logo" enctype="multipart/form-data" {
            (frame.signed_fields())
            div {
                label for="logo" { "Picture" }
                input #logo name="logo" type="file" required accept="image/png,image/jpeg,image/webp,image/gif"
                    aria-describedby="logo-hint";
                p.hint #logo-hint {
                    "PNG, JPEG, WebP or GIF, up to " (MAX_LOGO_BYTES / 1024) " KB and " (grouped(u64::from(MAX_LOGO_PIXELS)))
                    " pixels wide and high. It is shown 26 pixels high. SVG is not accepted, because it can contain \
                     scripts."
                }
            }
            button.button { "Use this logo" }
        }
        @if frame.brand.logo.is_some() {
            form.form method="post" action="/admin/site/removelogo" {
                (frame.signed_fields())
                p.hint { "If you remove it, the Tidings logo is shown." }
                button.button.grave { "Remove the logo" }
            }
        }
    }
}

/// How people get accounts. It is set in the configuration.
fn sign_up(frame: &Frame<'_>) -> Markup {
    html! {
        h2 { "Signing up" }
        p { (ways_in(frame)) }
        p.hint {
            "This comes from the configuration: the settings " code { "accounts.signup" } ", "
            code { "accounts.confirm_email" } " and " code { "limits.account_creation_seconds" } "."
        }
    }
}

/// The text of a field as it is stored.
fn stored(identity: &Identity, name: &str) -> String {
    let link = LINK_FIELDS.iter().zip(&identity.links).find_map(|([label, address], link)| match name {
        name if name == *label => Some(link.label().to_owned()),
        name if name == *address => Some(link.address().to_owned()),
        _ => None,
    });
    let text = match name {
        "name" => identity.name.as_ref().map(ToString::to_string),
        "description" => identity.description.as_ref().map(ToString::to_string),
        "accent" => identity.accent.map(|accent| accent.to_string()),
        "about" => identity.about.as_ref().map(ToString::to_string),
        "rules" => identity.rules.as_ref().map(ToString::to_string),
        _ => link,
    };
    text.unwrap_or_default()
}

/// GET /admin/site.
pub async fn page(Page { app, mut visit, here, .. }: Page<Administrator>) -> Result<Markup, RequestError> {
    let identity = visit.identity().await;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let content = html! {
        h1 { "This site" }
        (form(&frame, &identity))
        (logo(&frame))
        (announcement::section(&frame))
        (sign_up(&frame))
        p { a.action href="/welcome" { "Set-up checklist" } }
        p { a.action href="/admin" { "Administration" } }
    };
    Ok(frame.page("This site", &content))
}

/// POST /admin/site: name, description, accent, about, rules, `link1_label`, `link1_address` and so
/// on to 8, apisecret.
pub async fn change(app: App, form: SignedFields) -> Result<Redirect, RequestError> {
    form.user.require_admin()?;
    let wrong = |(name, error): (_, IdentityError)| (name, sentence(&error.to_string()));
    let identity = read_identity(&form.fields)
        .map_err(|errors| RequestError::Fields(errors.into_iter().map(wrong).collect()))?;
    let changing = administration::change_identity(&app.site, &form.user, &identity);
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
    async fn from_request(mut request: Request, app: &App) -> Result<Self, RequestError> {
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
        let wrong = |error: LogoError| RequestError::Fields([("logo", sentence(&error.to_string()))].into());
        Ok(Self { user: signed_in.user, logo: Logo::parse(picture).map_err(wrong)? })
    }
}

/// POST /admin/site/logo: logo (a file), apisecret.
pub async fn change_logo(app: App, SentLogo { user, logo }: SentLogo) -> Result<Redirect, RequestError> {
    administration::change_logo(&app.site, &user, Some(&logo)).await?;
    Ok(Notice::SiteSaved.redirect(&app, &user, ADDRESS))
}

/// POST /admin/site/removelogo: apisecret.
pub async fn remove_logo(app: App, form: SignedFields) -> Result<Redirect, RequestError> {
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
        MAX_LINK_ADDRESS_BYTES, MAX_LINK_LABEL, MAX_SITE_DESCRIPTION, MAX_SITE_NAME, MAX_SITE_TEXT,
    };

    fn read(encoded: &str) -> Result<Identity, FieldErrors> {
        read_identity(&Fields::parse(encoded.as_bytes()).unwrap())
    }

    #[test]
    fn all_mistakes_are_found_at_once() {
        let errors = read("name=a%00b&accent=red&link2_label=x&link3_address=%2Fabout").unwrap_err();
        let names: Vec<&str> = errors.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["name", "accent", "link2_address", "link3_label"]);
        assert_eq!(read("").unwrap(), Identity::default());
        let identity = read("name=Gazette&accent=%23AA0000&link8_label=Us&link8_address=%2Fabout").unwrap();
        assert_eq!((identity.accent, identity.links.len()), (Colour::parse("#aa0000"), 1));
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
