//! What is made of texts once for each language.

use crate::catalogue::{CATALOGUES, place_of_spoken};
use std::ops::Deref;
use std::sync::OnceLock;

/// A value that is made of texts: for each language when it is first needed.
#[derive(Debug)]
pub struct PerLanguage<T> {
    /// Plain English is the last.
    made: [OnceLock<T>; CATALOGUES + 1],
    make: fn() -> T,
}

impl<T> PerLanguage<T> {
    /// A value, not made yet.
    pub const fn new(make: fn() -> T) -> Self {
        Self { made: [const { OnceLock::new() }; CATALOGUES + 1], make }
    }
}

impl<T> Deref for PerLanguage<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.made[place_of_spoken()].get_or_init(self.make)
    }
}
