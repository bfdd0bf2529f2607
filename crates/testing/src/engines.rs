//! A store on each engine, for benches of both.

use crate::redis_server::RedisServer;
use std::sync::Mutex;
use tempfile::TempDir;

/// The engines.
pub const ENGINES: [&str; 2] = ["redb", "redis"];

/// The folder and the server of the stores; [`end`] takes them out again, because statics are not dropped and both
/// would stay.
static KEPT: Mutex<(Option<TempDir>, Option<RedisServer>)> = Mutex::new((None, None));

/// The URL of an empty store on an engine, there until [`end`]. Its file is in a folder on a disk, such as that of the
/// build; the folder of the system may be in memory.
pub fn url_of_empty_store(engine: &str, folder_on_disk: &str) -> String {
    let (folder, server) = &mut *KEPT.lock().unwrap();
    if engine == "redis" {
        return server.insert(RedisServer::start()).url();
    }
    let folder = folder.insert(tempfile::tempdir_in(folder_on_disk).unwrap());
    format!("redb:{}/bench.redb", folder.path().display())
}

/// Removes the file and stops the server.
pub fn end() {
    *KEPT.lock().unwrap() = (None, None);
}
