//! Slots: the 16,384 parts into which a cluster divides the keys.

/// How many there are.
pub(super) const SLOTS: u16 = 16_384;

/// The slot of a key. If the key has a part in braces, that part alone decides.
pub(super) fn slot_of(key: &str) -> u16 {
    let key = key.as_bytes();
    checksum(tag(key).unwrap_or(key)) % SLOTS
}

/// The bytes between the first `{` and the next `}`, if there are any.
fn tag(key: &[u8]) -> Option<&[u8]> {
    let (_, rest) = key.split_at_checked(memchr::memchr(b'{', key)? + 1)?;
    let (tag, _) = rest.split_at_checked(memchr::memchr(b'}', rest)?)?;
    (!tag.is_empty()).then_some(tag)
}

/// CRC-16/XMODEM, as the specification of Redis Cluster demands.
fn checksum(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |sum: u16, byte| {
        let [high, _] = sum.to_be_bytes();
        (sum << 8) ^ TABLE[usize::from(high ^ byte)]
    })
}

const TABLE: [u16; 256] = table();

const fn table() -> [u16; 256] {
    const POLYNOMIAL: u16 = 0x1021;
    let mut table = [0; 256];
    let mut index = 0;
    let mut high: u16 = 0;
    while index < 256 {
        let mut sum = high << 8;
        let mut bit = 0;
        while bit < 8 {
            sum = if sum & 0x8000 == 0 { sum << 1 } else { (sum << 1) ^ POLYNOMIAL };
            bit += 1;
        }
        table[index] = sum;
        index += 1;
        high += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::{checksum, slot_of};

    #[test]
    fn keys_have_the_slots_that_a_server_gives_them() {
        // The check value of the algorithm, and answers of a server to CLUSTER KEYSLOT.
        assert_eq!(checksum(b"123456789"), 0x31c3);
        for (key, slot) in [("foo", 12_182), ("bar", 5_061), ("", 0), ("foo{}{bar}", 8_363)] {
            assert_eq!(slot_of(key), slot, "{key}");
        }
        assert_eq!(slot_of("{foo}x"), slot_of("foo"));
        assert_eq!(slot_of("a{foo}{bar}"), slot_of("foo"));
        assert_eq!(slot_of("{{foo}}"), slot_of("{foo"));
        assert_ne!(slot_of("{foo"), slot_of("foo"));
    }
}
