//! Signing up: who is let in, and what is written for a new account.
//!
//! The facts that decide are read in one round (two with an invitation, or if the name is taken),
//! once before the costly hashing of the password and again with the batch. The person who becomes
//! the first administrator ([`first_administrator`]) is always let in.

use crate::accounts::applications::{self, NameHolders};
use crate::accounts::origins::{self, Origin};
use crate::accounts::session_store::{self, Device, LoginMethod, Opening, Session};
use crate::accounts::single_sign_on::{self, ProviderLogin};
use crate::accounts::users::{CONFIRMED_EMAIL, UNCONFIRMED};
use crate::accounts::{
    Invitation, SignupLimits, first_administrator, log_in, login, names, origin_bans, outbox, roles,
};
use crate::activity::ActionCounters;
use crate::audit::{self, AUDIT, COMMAND_LINE};
use crate::identity::SIGNUPS_STOPPED;
use crate::passwords::HashingSource;
use crate::values::{
    AccountRules, ApplicationText, BanScope, Email, FOLDING_CHUNKS_OF_ONE_ACTION, InputError, InvitationCode,
    NewPassword, Restriction, SignupAnswer, SignupMode, Timestamp, UserId, Username, WelcomeToken,
    random_token,
};
use crate::{CountedAction, Decision, Refusal, Result, Site, Visit, draws, fields, hooks, keys};
use tidings_keyspace::{Batch, read};

const FIRST_USER: UserId = UserId(1);

/// The data that somebody sends to get an account.
#[derive(Debug, Clone, Copy)]
pub struct SignUp<'a> {
    /// The name.
    pub username: &'a Username,
    /// The password; none for somebody whom a provider knows.
    pub password: Option<&'a NewPassword>,
    /// The person as a provider knows them, to whose identity the account is connected.
    pub provider: Option<&'a ProviderLogin>,
    /// The e-mail address; needed where addresses are confirmed.
    pub email: Option<&'a Email>,
    /// An invitation; needed where only invited people can sign up.
    pub invitation: Option<&'a InvitationCode>,
    /// Why they would like to join; needed where moderators decide who may.
    pub application: Option<&'a ApplicationText>,
    /// The answer to the question of the site, if it has one.
    pub answer: &'a SignupAnswer,
    /// The token of the link for the first administrator.
    pub token: Option<&'a WelcomeToken>,
}

/// A new account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedUp {
    /// The account.
    pub user_id: UserId,
    /// Its session; `None` while its application waits.
    pub session: Option<Session>,
    /// Whether it was one too many, so that those after it wait for approval for an hour.
    pub begins_burst: bool,
    /// Whether it is the first administrator.
    pub is_administrator: bool,
}

/// Creates an account and its session, or its application. The first account ever becomes the
/// administrator if it comes from this machine and only this machine reaches the server; else
/// whoever has the token of the link does. A refused sign-up counts nowhere.
///
/// # Errors
/// [`Refusal::SignupsStopped`]; [`Refusal::SignupClosed`]; [`InputError::Empty`] for what the site asks for and is missing; [`Refusal::SignupAnswerWrong`]; [`Refusal::SignupAnswerMissing`];
/// [`Refusal::WelcomeLinkInvalid`], [`Refusal::UsernameReserved`], [`Refusal::UsernameTaken`], [`Refusal::UsernameConfusable`], [`Refusal::InvitationInvalid`],
/// [`Refusal::AccountCreatedRecently`], [`Refusal::TooManySignupsFromNetwork`], [`Refusal::OriginBanned`], or the store's.
pub async fn create_account(
    site: &Site,
    now: Timestamp,
    sign_up: SignUp<'_>,
    device: &Device,
) -> Result<SignedUp> {
    if sign_up.provider.is_none() {
        log_in::demand_passwords(site)?;
        sign_up.password.ok_or(InputError::Empty { field: "password" })?;
    }
    let applicant = Applicant { sign_up, creator: Creator::Visitor(device), password_hash: None };
    let signed_up = insert_account(site, now, applicant).await?;
    if signed_up.user_id == FIRST_USER && site.is_local {
        // Somebody from elsewhere, through a proxy: the start has shown no link.
        first_administrator::announce_if_missing(site).await?;
    }
    Ok(signed_up)
}

/// Creates an account for the operator, who gives it a password: without any limit and without a
/// session. The first account ever becomes the administrator.
///
/// # Errors
/// [`Refusal::UsernameTaken`], [`Refusal::UsernameConfusable`], or the store's.
pub async fn add_account_with_password(
    site: &Site,
    now: Timestamp,
    username: &Username,
    password: &NewPassword,
) -> Result<SignedUp> {
    let added = insert_for_operator(site, now, username, Some(password)).await?;
    let (account, user) = (audit::name_of(site, added.user_id).await, added.user_id.0);
    let administrator = added.is_administrator;
    tracing::info!(target: AUDIT, by = COMMAND_LINE, account, user, administrator, "created an account");
    Ok(added)
}

/// Creates an account that nobody can log in to: without any limit, without a session, and never the
/// administrator's.
///
/// # Errors
/// Those of [`add_account_with_password`].
pub async fn add_account(site: &Site, now: Timestamp, username: &Username) -> Result<UserId> {
    Ok(insert_for_operator(site, now, username, None).await?.user_id)
}

async fn insert_for_operator(
    site: &Site,
    now: Timestamp,
    username: &Username,
    password: Option<&NewPassword>,
) -> Result<SignedUp> {
    let sign_up = SignUp {
        username,
        password,
        provider: None,
        email: None,
        invitation: None,
        application: None,
        answer: &SignupAnswer::default(),
        token: None,
    };
    insert_account(site, now, Applicant { sign_up, creator: Creator::Operator, password_hash: None }).await
}

/// The person who creates an account.
#[derive(Clone, Copy)]
enum Creator<'a> {
    /// The operator, for somebody. No limit holds.
    Operator,
    /// Somebody on the site, with their device.
    Visitor(&'a Device),
}

/// The applicant for an account.
#[derive(Clone, Copy)]
struct Applicant<'a> {
    sign_up: SignUp<'a>,
    creator: Creator<'a>,
    /// The hash of the password, once it is known.
    password_hash: Option<&'a str>,
}

impl<'a> Applicant<'a> {
    /// The device, if a visitor creates the account.
    const fn device(&self) -> Option<&'a Device> {
        match self.creator {
            Creator::Operator => None,
            Creator::Visitor(device) => Some(device),
        }
    }

    /// Whether it is the operator, or somebody on this machine where others cannot reach the
    /// server.
    fn is_on_this_machine(&self, site: &Site) -> bool {
        self.device().is_none_or(|device| site.is_local && device.is_local)
    }

    /// Whether somebody can log in to the account.
    const fn can_log_in(&self) -> bool {
        self.password_hash.is_some() || self.sign_up.provider.is_some()
    }

    /// Whether the provider has verified the e-mail address of the account.
    fn has_verified_email(&self) -> bool {
        let verified = self.sign_up.provider.and_then(ProviderLogin::verified_email);
        verified.is_some() && self.sign_up.email == verified.as_ref()
    }
}

/// The facts that decide whether somebody gets an account.
struct Gate<'a> {
    applicant: Applicant<'a>,
    names: NameHolders,
    /// Whether there is an account already.
    is_used: bool,
    /// Whether the account becomes the first administrator. It is let in always.
    is_administrator: bool,
    /// The highest id whose name is folded.
    folded: u64,
    limits: Option<SignupLimits>,
    invitation: Option<Invitation>,
    /// The account that is already connected to the identity at the provider.
    connected: Option<UserId>,
    /// That moderators have stopped sign-ups.
    stopped: Option<Restriction>,
}

impl<'a> Gate<'a> {
    /// Reads it. Rounds: 1; 1 more with an invitation or if the name is taken, 2 with both.
    async fn read(site: &Site, now: Timestamp, applicant: Applicant<'a>) -> Result<Self> {
        let SignUp { username, token, invitation, provider, .. } = applicant.sign_up;
        let username = username.as_str();
        let holders = [keys::username_to_id(username), keys::username_folded(username)];
        let limits = applicant.device().map(|device| SignupLimits::of(&site.rules, device.address));
        let reads = (
            holders.map(read::string),
            read::string(keys::USERS_COUNT),
            fields::counter(keys::USERNAMES_FOLDED),
            read::field(keys::SITE, SIGNUPS_STOPPED),
            limits,
            token.map(|_| first_administrator::holder()),
            provider.map(|provider| single_sign_on::holder(&provider.identity)),
        );
        let (holders, count, folded, stopped, limits, holder, connected) = site.store.fetch(reads).await?;
        let is_used = count.is_some();
        let stopped = fields::read(stopped.as_deref(), || keys::SITE.to_owned(), SIGNUPS_STOPPED);
        let stopped = stopped.filter(|stopped: &Restriction| stopped.is_in_force(now));
        if let Some(token) = token {
            first_administrator::demand_good(site, token, holder.flatten()).await?;
        }
        let is_administrator = token.is_some() || (!is_used && applicant.is_on_this_machine(site));
        let names = NameHolders::find(site, username, holders).await?;
        let invitation = match invitation.filter(|_| !is_administrator) {
            Some(code) => Some(Invitation::find(site, now, code).await?.ok_or(Refusal::InvitationInvalid)?),
            None => None,
        };
        let connected = connected.flatten();
        Ok(Self {
            applicant,
            names,
            is_used,
            is_administrator,
            folded,
            limits,
            invitation,
            connected,
            stopped,
        })
    }

    /// Whether the account may be created.
    ///
    /// # Errors
    /// Those of [`create_account`].
    fn admit(&self, site: &Site) -> Result<()> {
        let sign_up = &self.applicant.sign_up;
        let must_be_admitted = self.applicant.device().is_some() && !self.is_administrator;
        if must_be_admitted {
            if let Some(stopped) = &self.stopped {
                return Err(Refusal::SignupsStopped(stopped.clone()).into());
            }
            let rules = site.account_rules();
            self.admit_by_mode(rules.signup, sign_up)?;
            self.admit_by_answer(&rules, sign_up.answer)?;
            if self.must_confirm(site) && sign_up.email.is_none() {
                return Err(InputError::Empty { field: "email" }.into());
            }
        }
        let reserved = &site.rules.accounts.reserved_names;
        if must_be_admitted && self.is_used && reserved.cover(sign_up.username.as_str()) {
            return Err(Refusal::UsernameReserved.into());
        }
        self.names.admit()?;
        Refusal::IdentityConnected.when(self.connected.is_some())?;
        if let Some(password) = sign_up.password.filter(|_| self.is_administrator) {
            password.demand_of_staff()?;
        }
        if let Some(limits) = self.limits.as_ref().filter(|_| self.invitation.is_none()) {
            limits.admit()?;
        }
        Ok(())
    }

    fn admit_by_mode(&self, mode: SignupMode, sign_up: &SignUp<'_>) -> Result<()> {
        let missing = |field| Err(InputError::Empty { field }.into());
        match mode {
            SignupMode::Closed => Err(Refusal::SignupClosed.into()),
            SignupMode::Invite if self.invitation.is_none() => missing("invitation"),
            SignupMode::Apply if self.invitation.is_none() && sign_up.application.is_none() => {
                missing("application")
            }
            SignupMode::Open | SignupMode::Invite | SignupMode::Apply => Ok(()),
        }
    }

    /// Refuses a wrong answer to the site's question. Members vouch for people whom they invite.
    fn admit_by_answer(&self, rules: &AccountRules, answer: &SignupAnswer) -> Result<(), Refusal> {
        let is_asked = !rules.signup_question.is_empty() && self.invitation.is_none();
        match rules.signup_answers.accept(answer) {
            _ if !is_asked => Ok(()),
            true => Ok(()),
            false if answer.is_empty() => {
                Err(Refusal::SignupAnswerMissing { question: rules.signup_question.as_str().into() })
            }
            false => Err(Refusal::SignupAnswerWrong),
        }
    }

    /// The application that a moderator must answer first; empty if nobody was asked for one.
    fn application(&self, site: &Site) -> Option<&'a str> {
        if self.applicant.device().is_none() || self.is_administrator || self.invitation.is_some() {
            return None;
        }
        let decides = site.account_rules().signup == SignupMode::Apply;
        let holds = self.limits.as_ref().is_some_and(|limits| limits.holds());
        let text = self.applicant.sign_up.application.map_or("", ApplicationText::as_str);
        (decides || holds).then_some(text)
    }

    /// Adds the account to a batch.
    fn write(&self, site: &Site, now: Timestamp, batch: &mut Batch, session: &Session) -> Result<SignedUp> {
        let (sign_up, id) = (&self.applicant.sign_up, session.user_id);
        let is_administrator = self.is_administrator && self.applicant.can_log_in();
        self.names.replace(batch, id);
        batch.set_fields(keys::user(id), self.fields(site, now, (session, is_administrator))?);
        if self.folded + 1 >= id.0 {
            // Without a check: a number that is too low costs a look at known accounts.
            batch.set(keys::USERNAMES_FOLDED, id.to_string());
        }
        if let Some(provider) = sign_up.provider {
            batch.key_absent(keys::oidc_identity(&provider.identity));
            single_sign_on::write(batch, id, &provider.identity);
        }
        if let Some(invitation) = &self.invitation {
            invitation.write_use(batch, now, id);
        }
        if self.must_confirm(site) {
            outbox::write_confirmation(batch, now, id);
        }
        if is_administrator {
            if sign_up.token.is_some() {
                batch.key_absent(keys::FIRST_ADMINISTRATOR);
            }
            first_administrator::write(batch, id);
        }
        let is_invited = self.invitation.is_some();
        let begins_burst = self.limits.as_ref().is_some_and(|limits| limits.write(batch, is_invited));
        let mut signed_up = SignedUp { user_id: id, session: None, begins_burst, is_administrator };
        if let Some(text) = self.application(site) {
            applications::write_application(batch, now, (id, sign_up.username.as_str()), text);
        } else if let Some(device) = self.applicant.device() {
            let method = match sign_up.provider {
                Some(_) => LoginMethod::Provider,
                None => LoginMethod::Password,
            };
            let opened = Opening { device, newest: None, method };
            session_store::write_new(batch, now, session, &opened);
            signed_up.session = Some(session.clone());
        }
        Ok(signed_up)
    }

    /// Whether the account can only read until its e-mail address is confirmed.
    fn must_confirm(&self, site: &Site) -> bool {
        let is_visitor = self.applicant.device().is_some();
        let is_asked = is_visitor && !self.is_administrator && site.rules.accounts.confirm_email;
        is_asked && !self.applicant.has_verified_email()
    }

    /// The fields of the account.
    fn fields(
        &self,
        site: &Site,
        now: Timestamp,
        (session, is_administrator): (&Session, bool),
    ) -> Result<Vec<(&'static str, String)>> {
        let Applicant { sign_up, password_hash, .. } = &self.applicant;
        let email = sign_up.email.map_or("", Email::as_str);
        let mut fields = vec![
            ("id", session.user_id.to_string()),
            ("username", sign_up.username.as_str().to_owned()),
            ("password", password_hash.unwrap_or_default().to_owned()),
            // For Lamer News, which cannot refuse a login without one.
            ("salt", random_token()?),
            ("ctime", now.to_string()),
            ("karma", site.rules.karma.initial.to_string()),
            ("about", String::new()),
            ("email", email.to_owned()),
            ("apisecret", session.apisecret.clone()),
            ("flags", if is_administrator { "a".to_owned() } else { String::new() }),
            ("karma_incr_time", now.to_string()),
            ("seen_time", now.to_string()),
        ];
        if self.must_confirm(site) {
            fields.push((UNCONFIRMED, "1".to_owned()));
        }
        if (!site.sends_mail && !email.is_empty()) || self.applicant.has_verified_email() {
            fields.push((CONFIRMED_EMAIL, email.to_owned()));
        }
        fields.extend(self.invitation.as_ref().map(Invitation::field_of_invited));
        Ok(fields)
    }
}

/// Adds an account in one batch, with a session if a visitor creates it. Reads and decides again if something has changed.
async fn insert_account(site: &Site, now: Timestamp, applicant: Applicant<'_>) -> Result<SignedUp> {
    let (sign_up, device) = (applicant.sign_up, applicant.device());
    names::fold_usernames(site, FOLDING_CHUNKS_OF_ONE_ACTION).await?;
    if let Some(device) = device {
        let email = sign_up.email.map_or("", Email::as_str);
        origin_bans::demand(site, now, BanScope::Signup, (Some(device.address), email)).await?;
    }
    if let Some(password) = sign_up.password {
        roles::demand_no_name((site, now), sign_up.username.as_str(), password).await?;
    }
    // Refuses before the hashing what the batch would refuse anyway.
    Gate::read(site, now, applicant).await?.admit(site)?;
    let source = device.map_or(HashingSource::Operator, |device| HashingSource::Address(device.address));
    let hash = match sign_up.password {
        Some(password) => Some(site.passwords.hash_for(source, password).await?),
        None => None,
    };
    let applicant = Applicant { password_hash: hash.as_deref(), ..applicant };
    let (origin, network) = match device {
        Some(device) => {
            (Origin::of(site, device.address).await?, Some(origins::tag_of(site, device.address).await?))
        }
        None => (None, None),
    };
    let signed_up = site.act(keys::USERS_COUNT, || async {
        let gate = Gate::read(site, now, applicant).await?;
        gate.admit(site)?;
        let id = if gate.is_used { draws::next_id(site, keys::USERS_COUNT).await? } else { FIRST_USER };
        let session = Session::new(id)?;
        let mut batch = Batch::new();
        if id == FIRST_USER {
            // The first id is set here and not drawn, so that it is never lost: its owner
            // is the administrator.
            batch.key_absent(keys::USERS_COUNT);
            batch.set(keys::USERS_COUNT, id.to_string());
        }
        // Even if the counter is behind, no account is overwritten.
        let unused = batch.key_absent(keys::user(id));
        let signed_up = gate.write(site, now, &mut batch, &session)?;
        origins::write(origin.as_ref(), &mut batch, now, id);
        // A person who must wait has signed up only once a moderator lets them in.
        if signed_up.session.is_some() {
            hooks::write(&mut batch, &hooks::Event::Signup(id));
        }
        if let Some(network) = network.as_ref().filter(|_| signed_up.session.is_some()) {
            login::write_network(&mut batch, now, id, network);
        }
        let drawn_unused = (id != FIRST_USER).then_some(unused);
        Ok(Decision::commit(batch, signed_up).draws_unused(drawn_unused, keys::USERS_COUNT, id))
    });
    let signed_up = signed_up.await?;
    site.count(CountedAction::Signup);
    if device.is_some() {
        site.of::<ActionCounters>().count_visit(None, now);
    }
    Ok(signed_up)
}

/// The facts that the sign-up page depends on, besides the rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignupFacts {
    /// Whether this account will be the first administrator, who is let in always.
    pub is_administrator: bool,
    /// The name of the inviter, by the invitation that was given.
    pub inviter: Option<String>,
    /// Whether the invitation that was given is not valid.
    pub is_invitation_invalid: bool,
}

/// The invitation or token that a visitor brings to the sign-up page, and where they are.
#[derive(Debug, Clone, Copy, Default)]
pub struct Admittance<'a> {
    /// An invitation.
    pub invitation: Option<&'a InvitationCode>,
    /// The token of the link for the first administrator.
    pub token: Option<&'a WelcomeToken>,
    /// Whether the visitor is on the machine that the site runs on.
    pub is_local: bool,
}

/// Reads the facts that the sign-up page depends on. Rounds: none if nothing is brought and
/// the visitor is elsewhere; else at most 4.
///
/// # Errors
/// [`Refusal::WelcomeLinkInvalid`], or the store's.
pub async fn facts(visit: &mut Visit, brought: Admittance<'_>) -> Result<SignupFacts> {
    let site = visit.site_too();
    let mut facts = SignupFacts::default();
    if let Some(token) = brought.token {
        first_administrator::demand_token(visit, token).await?;
        return Ok(SignupFacts { is_administrator: true, ..facts });
    }
    if site.is_local && brought.is_local {
        facts.is_administrator = match visit.fetch(read::string(keys::USERS_COUNT)).await {
            Ok(count) => count.is_none(),
            // The form is the same for everybody else, and can wait for the store.
            Err(_) if site.account_rules().signup == SignupMode::Open => false,
            Err(error) => return Err(error),
        };
    }
    if let Some(code) = brought.invitation {
        let found = Invitation::find(&site, visit.now(), code).await?;
        facts.is_invitation_invalid = found.is_none();
        facts.inviter = found.map(|invitation| invitation.inviter);
    }
    Ok(facts)
}
