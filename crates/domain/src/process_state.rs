//! State of features in the memory of this process. Each declares its own with `process_state!`, and
//! [`Site::of`](crate::site::Site::of) gives it, so that the site need not know its features.

use std::any::Any;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most kinds of state and of cached values in one program.
pub(crate) const MAX_KINDS: usize = 64;

/// State of one feature. Each site of the process has its own, which begins as the default.
pub trait ProcessState: Default + Send + Sync + 'static {
    /// Its position among the states of a site.
    fn slot() -> &'static Slot;
}

/// The position of a kind of state or of cached values, the same for every site of the process.
#[derive(Debug)]
pub struct Slot(OnceLock<usize>);

impl Slot {
    /// A position that is assigned on first use.
    pub const fn unassigned() -> Self {
        Self(OnceLock::new())
    }

    pub(crate) fn index(&self) -> usize {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        *self.0.get_or_init(|| NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Declares that a type is [`ProcessState`].
macro_rules! process_state {
    ($Type:ty) => {
        impl $crate::process_state::ProcessState for $Type {
            fn slot() -> &'static $crate::process_state::Slot {
                static SLOT: $crate::process_state::Slot = $crate::process_state::Slot::unassigned();
                &SLOT
            }
        }
    };
}

pub(crate) use process_state;

/// The states of a site. Each is made on first use.
pub(crate) struct States(Vec<OnceLock<Box<dyn Any + Send + Sync>>>);

impl Default for States {
    fn default() -> Self {
        Self((0..MAX_KINDS).map(|_| OnceLock::new()).collect())
    }
}

impl States {
    pub(crate) fn of<T: ProcessState>(&self) -> &T {
        let slot = self.0.get(T::slot().index());
        match slot.and_then(|slot| slot.get_or_init(|| Box::new(T::default())).downcast_ref()) {
            Some(state) => state,
            // A slot belongs to one type, and there are fewer types than slots.
            None => unreachable!("each kind of state has a slot of its own"),
        }
    }
}
