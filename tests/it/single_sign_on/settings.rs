//! Settings that are wrong, and who is told.

use reqwest::StatusCode;
use serde_json::json;
use tidings::config::{CommandLineSettings, Config};

use super::first_login::refusal;
use super::{Place, SITE, alice};
use crate::oidc_provider::OidcProvider;
use crate::pages::page;
use crate::program::{Program, Ran};
use crate::server::{Engine, variables};

/// Waits until the page for administrators says something of single sign-on, and returns it.
async fn told(place: &Place) -> String {
    let administrator = place.server.register("admin").await;
    let text = async || page(&administrator, "/admin").await.text().to_owned();
    tidings_testing::until(async || text().await.contains("sign-in service")).await;
    text().await
}

/// A site with settings that differ from the right ones.
async fn site(provider: OidcProvider, settings: &[(&str, &str)]) -> Place {
    Place::around(provider, Engine::Memory, settings).await
}

#[tokio::test]
async fn administrators_are_told_which_setting_is_wrong() {
    // The issuer.
    let Some(provider) = OidcProvider::start(SITE) else { return };
    let wrong = format!("{}/realm", provider.issuer);
    let place = site(provider, &[("oidc.issuer", &wrong)]).await;
    let text = told(&place).await;
    assert!(text.contains(".well-known/openid-configuration of the issuer: the status is 404"), "{text}");
    assert!(!place.has_button().await);
    // The provider has another name for itself.
    let Some(provider) = OidcProvider::start(SITE) else { return };
    provider.change_discovery(json!({ "issuer": "https://accounts.example.com" })).await;
    let place = site(provider, &[]).await;
    let text = told(&place).await;
    assert!(text.contains("oidc.issuer") && text.contains("https://accounts.example.com"), "{text}");
    assert!(!place.has_button().await);
    // The client.
    let Some(provider) = OidcProvider::start(SITE) else { return };
    let text = told(&site(provider, &[("oidc.client_id", "another")]).await).await;
    assert!(text.contains("oidc.client_id"), "{text}");
    // Its secret.
    let Some(provider) = OidcProvider::start(SITE) else { return };
    let file = provider.wrong_secret_file();
    let text = told(&site(provider, &[("oidc.client_secret_file", &file)]).await).await;
    assert!(text.contains("oidc.client_secret_file"), "{text}");
    assert!(!text.contains("another secret"), "{text}");
    // The address of the site, which the provider does not know.
    let Some(provider) = OidcProvider::start("http://other.example.com") else { return };
    let text = told(&site(provider, &[("site.url", SITE)]).await).await;
    assert!(text.contains("http://news.example.com/oidc/callback"), "{text}");
}

#[tokio::test]
async fn a_clock_that_differs_is_told_to_administrators_and_to_whoever_cannot_log_in() {
    let Some(provider) = OidcProvider::start(SITE) else { return };
    provider.set_date_skew(300).await;
    let place = site(provider, &[]).await;
    let text = told(&place).await;
    assert!(text.contains("clock"), "{text}");
    let Some(place) = Place::start(&[]).await else { return };
    place.provider.set_account("alice", alice()).await;
    for skew in [-4_000_i64, 4_000] {
        let seconds = place.server.now().checked_add_signed(skew).unwrap();
        place.provider.set_clock(seconds).await;
        let (_, answer) = place.log_in("alice").await;
        let sentence = refusal(&answer, StatusCode::SERVICE_UNAVAILABLE);
        assert!(sentence.contains("clock"), "{skew}: {sentence}");
    }
    place.provider.set_clock(place.server.now()).await;
    assert_eq!(place.person().log_in("alice").await.status, StatusCode::OK);
}

#[tokio::test]
async fn all_is_well_with_the_right_settings_and_nothing_is_said() {
    let Some(place) = Place::start(&[]).await else { return };
    let administrator = place.server.register("admin").await;
    let text = page(&administrator, "/admin").await.text().to_owned();
    assert!(!text.contains("oidc."), "{text}");
}

#[test]
fn settings_that_cannot_be_right_stop_the_start() {
    let whole = [
        ("oidc.issuer", "https://accounts.example.com"),
        ("oidc.client_id", "tidings"),
        ("oidc.client_secret_file", concat!(env!("CARGO_MANIFEST_DIR"), "/LICENSE-MIT")),
    ];
    let load = |changed: &[(&str, &str)]| {
        let settings = [&whole[..], changed].concat();
        Config::load(None, variables(&settings).into_iter(), &CommandLineSettings::default())
    };
    load(&[]).unwrap();
    for local in ["http://127.0.0.1:8081", "http://[::1]/realms/one", "http://localhost:9000"] {
        load(&[("oidc.issuer", local)]).unwrap();
    }
    for (name, wrong) in [
        ("oidc.issuer", "http://accounts.example.com"),
        ("oidc.issuer", "accounts.example.com"),
        ("oidc.issuer", "https://accounts.example.com/?a=1"),
        ("oidc.issuer", "https://accounts.example.com/#a"),
        ("oidc.issuer", "ftp://accounts.example.com"),
        ("oidc.client_id", ""),
        ("oidc.client_secret_file", ""),
        ("oidc.mfa", "sometimes"),
        ("oidc.scopes", "profile email"),
        ("oidc.name", ""),
    ] {
        let error = load(&[(name, wrong)]).err().map(|error| format!("{error:#}"));
        assert!(error.as_ref().is_some_and(|error| error.contains(name)), "{name} = {wrong}: {error:?}");
    }
}

#[tokio::test]
async fn the_status_and_the_log_name_the_problem_and_never_the_secret() {
    let Some(provider) = OidcProvider::start(SITE) else { return };
    let folder = tempfile::tempdir().unwrap();
    let store = format!("redb:{}", folder.path().join("site.redb").display());
    let wrong = format!("{}/realm", provider.issuer);
    let settings = [&provider.settings()[..], &[("oidc.issuer", &*wrong)]].concat();
    let variable = |name: &str| format!("TIDINGS_{}", name.replace('.', "__").to_uppercase());
    let names: Vec<String> = settings.iter().map(|(name, _)| variable(name)).collect();
    let values = settings.iter().map(|(_, value)| *value);
    let variables: Vec<(&str, &str)> = names.iter().map(String::as_str).zip(values).collect();
    let program = Program::start_with(&store, &variables);
    const PROBLEM: &str = "openid-configuration of the issuer: the status is 404";
    program.wait_for_log(PROBLEM);
    let mut status = std::process::Command::new(env!("CARGO_BIN_EXE_tidings"));
    status.args(["status", "--store", &store]).envs(variables);
    let said = Ran::from(status.output().unwrap()).said();
    assert!(said.contains(PROBLEM), "{said}");
    for text in [said, program.log()] {
        assert!(!text.contains(provider.secret()), "{text}");
    }
}
