//! Nothing of a token, of a code or of a person's address is in a log.

use std::fmt;
use std::sync::{Arc, Mutex};

use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

use super::{ALICE, Place, alice};
use crate::oidc_provider::{Fault, Signature};

/// All that is logged by our crates, at every level.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl Visit for Log {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let line = format!("{}={value:?}\n", field.name());
        self.0.lock().unwrap().push_str(&line);
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Log {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        if attributes.metadata().target().starts_with("tidings") {
            attributes.record(&mut self.clone());
        }
    }

    fn on_record(&self, _: &Id, values: &Record<'_>, _: Context<'_, S>) {
        values.record(&mut self.clone());
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target().starts_with("tidings") {
            event.record(&mut self.clone());
        }
    }
}

/// The value of a parameter in an address.
fn parameter(address: &str, name: &str) -> String {
    let (_, query) = address.split_once('?').unwrap();
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    pairs.find(|(found, _)| found == name).unwrap().1.into_owned()
}

#[tokio::test]
async fn no_token_no_code_and_no_address_of_a_person_is_logged() {
    let log = Log::default();
    let _guard = tracing_subscriber::registry().with(log.clone()).set_default();
    let Some(place) = Place::start(&[("oidc.administrators", "staff")]).await else { return };
    let mut secrets = vec![
        place.provider.secret().to_owned(),
        "alice@example.com".to_owned(),
        "Alice A.".to_owned(),
        ALICE.to_owned(),
    ];
    let mut person = place.person();
    let address = person.begin("/").await;
    let back = person.prove(&address, "alice").await;
    secrets.extend(["state", "nonce", "code_challenge"].map(|name| parameter(&address, name)));
    secrets.push(parameter(&back, "code"));
    secrets.push(person.cookie("oidc").unwrap().to_owned());
    let form = crate::pages::shown(&person.get(&back).await).form("/register");
    secrets.push(form.value("ticket").unwrap().to_owned());
    person.send(&form).await;
    secrets.push(person.cookie("auth").unwrap().to_owned());
    person.get(&back).await;
    // Whatever goes wrong.
    for (claims, signature) in [
        (json!({ "nonce": "a-wrong-nonce" }), Signature::Right),
        (json!({ "exp": 1, "email": "carol@example.com" }), Signature::Right),
        (json!({ "aud": "another-site" }), Signature::Right),
        (json!({}), Signature::OtherKey),
        (json!({}), Signature::None),
    ] {
        place.provider.change_id_tokens(claims, signature).await;
        place.person().log_in("alice").await;
    }
    secrets.extend(["a-wrong-nonce", "carol@example.com"].map(str::to_owned));
    place.provider.change_id_tokens(json!({}), Signature::Right).await;
    for fault in [Fault::Status(500), Fault::Padding(70_000), Fault::Reset] {
        place.provider.set_faults(&[("/token", fault)]).await;
        place.person().log_in("alice").await;
    }
    place.provider.set_faults(&[]).await;
    let mut claims = alice();
    claims["groups"] = json!(["staff"]);
    place.provider.set_account("alice", claims).await;
    place.person().log_in("alice").await;
    for signature in [Signature::Right, Signature::OtherKey] {
        let token = place.provider.logout_token(ALICE, json!({}), signature).await;
        secrets.extend(token.split('.').map(str::to_owned));
        place.server.visitor().post("/oidc/logout", &[("logout_token", &token)]).await;
    }
    let text = log.0.lock().unwrap().clone();
    // It has seen what is logged.
    assert!(text.contains("a token of the sign-in service was refused"), "{text}");
    let told: Vec<&String> = secrets.iter().filter(|secret| text.contains(secret.as_str())).collect();
    assert!(told.is_empty(), "{told:?} in {text}");
    // No part of an ID token, and of an access token.
    assert!(!text.contains("eyJ"), "{text}");
}
