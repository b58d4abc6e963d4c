//! Runs the inputs of a target one at a time.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    clippy::panic,
    reason = "it reads how long to run from the environment, and is a test: it prints what it found and panics with it"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use crate::entropy::{Entropy, bytes_of};
use crate::limits::{ENTROPY_BYTES, INPUT_BYTES, INPUT_TIME, MUTATIONS, TARGET_TIME};
use crate::memory::max_held;
use crate::mutate::mutated;

const SECONDS: &str = "FORAGE_FUZZ_SECONDS";
const SEED: &str = "FORAGE_FUZZ_SEED";
const ENTROPY: &str = "FORAGE_FUZZ_ENTROPY";

/// The first seed, if none is given.
const FIRST_SEED: u64 = 0;

/// Maximum number of bytes of an input that a failure shows.
const SHOWN_BYTES: usize = 4 << 10;

/// The source location of a target.
#[derive(Clone, Copy, Debug)]
pub struct TargetDirectory {
    /// The source file.
    pub file: &'static str,
    /// The line in the file.
    pub line: u32,
}

fn setting<T: std::str::FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok()?;
    match text.parse() {
        Ok(value) => Some(value),
        Err(_) => panic!("{name}={text} is not a number"),
    }
}

/// Runs a target with its seeds and then with mutated inputs until its time is over.
/// [`target!`](crate::target) calls this.
///
/// # Panics
///
/// Panics if an input fails.
pub fn run(place: TargetDirectory, seeds: &[Vec<u8>], mut property: impl FnMut(&[u8])) {
    if let Some(file) = setting::<PathBuf>(ENTROPY) {
        return one(place, &file, seeds, &mut property);
    }
    let time = setting::<f64>(SECONDS).map_or(TARGET_TIME, Duration::from_secs_f64);
    let first = setting(SEED).unwrap_or(FIRST_SEED);
    let watch = RunWatch::begin(place);
    for (number, seed) in seeds.iter().enumerate() {
        watch.report(number as u64);
        if let Err(problem) = outcome(seed, &mut property) {
            panic!("{}:{}: seed input {number} {problem}: {}", place.file, place.line, shown(seed));
        }
    }
    let started = Instant::now();
    let mut count = 0_u64;
    while started.elapsed() < time {
        let seed = first.wrapping_add(count);
        count += 1;
        watch.report(seed);
        let entropy = bytes_of(seed, ENTROPY_BYTES);
        let input = mutated(seeds, &mut Entropy::new(&entropy), MUTATIONS);
        let Err(problem) = outcome(&input, &mut property) else { continue };
        // We retry with fewer mutations to find a smaller failing input.
        let (input, problem) = (0..MUTATIONS)
            .find_map(|max| {
                let less = mutated(seeds, &mut Entropy::new(&entropy), max);
                outcome(&less, &mut property).err().map(|problem| (less, problem))
            })
            .unwrap_or((input, problem));
        let TargetDirectory { file, line } = place;
        panic!("{file}:{line}: the input of {SEED}={seed} {problem}: {}", shown(&input));
    }
    println!("{}:{}: {} seeds and {count} inputs, none failed", place.file, place.line, seeds.len());
}

/// Runs the one input that a file determines.
fn one(place: TargetDirectory, file: &Path, seeds: &[Vec<u8>], property: &mut impl FnMut(&[u8])) {
    let entropy = std::fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let input = mutated(seeds, &mut Entropy::new(&entropy), MUTATIONS);
    if let Err(problem) = outcome(&input, property) {
        panic!("{}:{}: the input of {} {problem}: {}", place.file, place.line, file.display(), shown(&input));
    }
}

/// Runs an input. If it fails, the error describes the failure.
fn outcome(input: &[u8], property: &mut impl FnMut(&[u8])) -> Result<(), String> {
    let started = Instant::now();
    let (ended, held) = max_held(|| catch_unwind(AssertUnwindSafe(|| property(input))));
    let took = started.elapsed();
    match ended {
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("with no text");
            Err(format!("panics ({text})"))
        }
        Ok(()) if held > INPUT_BYTES => Err(format!("takes {held} bytes of memory")),
        Ok(()) if took > INPUT_TIME => Err(format!("takes {} s", took.as_secs())),
        Ok(()) => Ok(()),
    }
}

fn shown(input: &[u8]) -> String {
    let cut = input.len().saturating_sub(SHOWN_BYTES);
    let more = if cut > 0 { format!(" and {cut} bytes more") } else { String::new() };
    format!("b\"{}\"{more}", input[..input.len() - cut].escape_ascii())
}

/// Aborts the process if an input does not end.
struct RunWatch {
    input: Arc<AtomicU64>,
    _ends: mpsc::Sender<()>,
}

impl RunWatch {
    fn begin(place: TargetDirectory) -> Self {
        let input = Arc::new(AtomicU64::new(0));
        let (ends, ended) = mpsc::channel();
        let watched = Arc::clone(&input);
        std::thread::spawn(move || {
            let mut before = (u64::MAX, 0);
            while ended.recv_timeout(INPUT_TIME) == Err(mpsc::RecvTimeoutError::Timeout) {
                let now = watched.load(Ordering::Relaxed);
                before = if before.0 == now { (now, before.1 + 1) } else { (now, 0) };
                // By now, the input has run for at least three times the maximum time. An input that does end
                // gets a better report from the thread that runs it.
                if before.1 > 2 {
                    eprintln!("{}:{}: the input of {SEED}={now} does not end", place.file, place.line);
                    std::process::abort();
                }
            }
        });
        Self { input, _ends: ends }
    }

    fn report(&self, input: u64) {
        self.input.store(input, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: TargetDirectory = TargetDirectory { file: "here", line: 7 };

    fn failure(property: impl FnMut(&[u8])) -> String {
        let seeds = crate::seeds(["a valid input, 17 bytes of it\n"]);
        let panic = catch_unwind(AssertUnwindSafe(|| run(PLACE, &seeds, property))).unwrap_err();
        panic.downcast_ref::<String>().unwrap().clone()
    }

    #[test]
    fn panicking_input_is_reported_with_its_seed() {
        let text = failure(|input| assert!(!input.contains(&0xff), "a byte"));
        let (head, tail) = text.split_once(" panics (a byte): ").unwrap();
        let seed: u64 = head.strip_prefix("here:7: the input of FORAGE_FUZZ_SEED=").unwrap().parse().unwrap();
        let again = mutated(
            &crate::seeds(["a valid input, 17 bytes of it\n"]),
            &mut Entropy::new(&bytes_of(seed, ENTROPY_BYTES)),
            MUTATIONS,
        );
        assert!(again.contains(&0xff) && tail.contains("\\xff"), "{text}");
    }

    #[test]
    fn fuzz_run_reports_unbounded_allocation() {
        let text = failure(|input| {
            if !input.starts_with(b"a valid") {
                drop(Vec::<u8>::with_capacity(INPUT_BYTES + 1));
            }
        });
        assert!(text.contains("bytes of memory"), "{text}");
    }

    #[test]
    fn a_file_chooses_one_input() {
        let directory = tempfile::tempdir().unwrap();
        let (file, seeds) = (directory.path().join("entropy"), crate::seeds(["valid"]));
        let mut given = Vec::new();
        // Without any bytes, the first input is determined by the minimal decisions.
        std::fs::write(&file, b"").unwrap();
        one(PLACE, &file, &seeds, &mut |input: &[u8]| given.push(input.to_vec()));
        std::fs::write(&file, bytes_of(5, ENTROPY_BYTES)).unwrap();
        one(PLACE, &file, &seeds, &mut |input: &[u8]| given.push(input.to_vec()));
        let expected = mutated(&seeds, &mut Entropy::new(&bytes_of(5, ENTROPY_BYTES)), MUTATIONS);
        assert_eq!((given.len(), &given[1]), (2, &expected));
        let failed = catch_unwind(|| one(PLACE, &file, &seeds, &mut |_: &[u8]| panic!("on purpose")));
        assert!(
            failed.unwrap_err().downcast_ref::<String>().unwrap().contains("entropy panics (on purpose)")
        );
    }
}
