//! The benches believe what `wrk` measured only when every answer was good.

use std::time::Duration;

use crate::wrk::{LoadError, Measured, median, read};

const PRINTED: &str = "Running 3s test @ http://127.0.0.1:1\n  2 threads and 16 connections\n\
    measured requests=6000 microseconds=3000000 p50=1500 p99=9000 status=0 broken=0 timeout=0 refused=0\n";

#[test]
fn what_the_script_prints_is_read() {
    let expected = Measured {
        requests: 6_000,
        per_second: 2_000.0,
        p50: Duration::from_micros(1_500),
        p99: Duration::from_millis(9),
    };
    assert_eq!(read(PRINTED), Ok(expected));
}

#[test]
fn no_answer_may_be_bad() {
    for name in ["status", "broken", "timeout", "refused"] {
        let printed = PRINTED.replace(&format!("{name}=0"), &format!("{name}=3"));
        let error = read(&printed).unwrap_err();
        assert!(matches!(&error, LoadError::Answers(text) if text.starts_with("3 of 6000 ")), "{error}");
    }
    assert!(matches!(read("unable to connect"), Err(LoadError::NoFigures(_))));
    assert!(matches!(read("measured requests=many"), Err(LoadError::NoFigures(_))));
}

#[test]
fn the_median_is_in_the_middle() {
    for (values, expected) in [(vec![3], 3), (vec![9, 1, 5], 5), (vec![4, 1, 3, 2], 3)] {
        assert_eq!(median(values.into_iter()), expected);
    }
}
