//! The key with which the site signs what browsers carry between two steps. It is drawn when the
//! first second factor is set up, is in the store, and is the same for all servers of it.

use crate::values::SigningKey;
use crate::{Applied, Error, Result, Site, keys};
use tidings_keyspace::{Batch, read};
use tokio::sync::OnceCell;

/// The key, once this server knows it.
#[derive(Default)]
struct KnownKey(OnceCell<SigningKey>);

crate::process_state::process_state!(KnownKey);

/// The key of the site, for somebody who has given a password. Rounds: none once this server
/// knows it; 1 before, and 2 more if no server has drawn it yet.
pub(crate) async fn signing_key(site: &Site) -> Result<&SigningKey> {
    site.of::<KnownKey>().0.get_or_try_init(|| read_or_draw(site)).await
}

/// The same for a stranger, who must not make the site store anything. As long as there is none,
/// nobody has a passkey, so that any key will do. Rounds: none once this server knows it; else 1.
pub(crate) async fn signing_key_for_strangers(site: &Site) -> Result<SigningKey> {
    if let Some(known) = site.of::<KnownKey>().0.get() {
        return Ok(known.clone());
    }
    match read(site).await? {
        Some(key) => Ok(site.of::<KnownKey>().0.get_or_init(async || key).await.clone()),
        None => Ok(SigningKey::random()?),
    }
}

async fn read_or_draw(site: &Site) -> Result<SigningKey> {
    if let Some(key) = read(site).await? {
        return Ok(key);
    }
    let drawn = SigningKey::random()?;
    let mut batch = Batch::new();
    batch.key_absent(keys::SIGNING_KEY);
    batch.set(keys::SIGNING_KEY, drawn.expose());
    if let Applied::Yes(_) = site.apply(batch).await? {
        return Ok(drawn);
    }
    // Another server was faster.
    read(site).await?.ok_or(Error::Busy)
}

async fn read(site: &Site) -> Result<Option<SigningKey>> {
    let key = site.store.fetch(read::string(keys::SIGNING_KEY)).await?;
    Ok(key.filter(|key| !key.is_empty()).map(SigningKey::new))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidings_keyspace::Store;

    #[tokio::test]
    async fn all_servers_of_a_store_have_the_same_key_and_strangers_draw_none() {
        let store = Store::in_memory().await.unwrap();
        let site = |store: &Store| Site::on(store.clone());
        let (one, other) = (site(&store), site(&store));
        signing_key_for_strangers(&one).await.unwrap();
        assert!(read(&one).await.unwrap().is_none());
        let key = signing_key(&one).await.unwrap().expose().to_owned();
        assert_eq!(signing_key_for_strangers(&other).await.unwrap().expose(), key);
        assert_eq!(signing_key(&other).await.unwrap().expose(), key);
        assert_eq!(signing_key(&one).await.unwrap().expose(), key);
    }
}
