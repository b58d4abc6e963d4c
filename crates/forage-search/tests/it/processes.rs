//! Tests the lifecycle of external processes, and attacks by a hostile engine.

use std::fs;
use std::io::Write;
use std::ops::ControlFlow;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use forage_base::{Stop, Stopped};
use forage_fs::{RelPath, WalkOptions};
use forage_search::external::{self, ExternalError, Program};
use forage_search::{FileEvents, PatternOptions, ScanOptions};

use crate::external::{request, run};
use crate::search::open;

/// A tree to search, and a script that replaces the engine.
struct Stage {
    directory: tempfile::TempDir,
    program: Program,
}

impl Stage {
    /// Creates the stage. `sh` runs `script`, in which `$0` is the program, and the last argument is the path
    /// of the text.
    fn new(name: &str, script: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("root")).unwrap();
        fs::write(directory.path().join("root/a.txt"), "one\ntwo\nthree\n").unwrap();
        let program = directory.path().join(name);
        write_program(&program, script);
        let program = Program::resolve(&program, &[], &[]).unwrap();
        Self { directory, program }
    }

    fn root(&self) -> PathBuf {
        self.directory.path().join("root")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn run(&self, stop: &Stop) -> Result<(Vec<FileEvents>, external::ExternalReport), ExternalError> {
        let request = request("pattern", PatternOptions::default());
        run(&self.program, &request, &self.root(), &WalkOptions::default(), &ScanOptions::default(), stop)
    }

    /// Reads the process group that the fake engine has recorded.
    fn group(&self) -> i32 {
        fs::read_to_string(self.file("group")).unwrap().lines().last().unwrap().parse().unwrap()
    }
}

/// Writes an executable. We use another process for this, because a child that another test starts at the
/// same moment would inherit our handle and make the file busy.
pub(crate) fn write_program(path: &Path, script: &str) {
    let mut shell = Command::new("/bin/sh")
        .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    shell.stdin.take().unwrap().write_all(format!("#!/bin/sh\n{script}\n").as_bytes()).unwrap();
    assert!(shell.wait().unwrap().success());
}

/// Lists the remaining processes of a group: running ones, and dead ones that we should have reaped. (Note
/// that init reaps the dead children of a dead engine at some point.)
fn members(group: i32) -> Vec<String> {
    let own = std::process::id().to_string();
    let stat = |entry: fs::DirEntry| fs::read_to_string(entry.path().join("stat")).ok();
    let member = |stat: String| {
        let rest = stat.rsplit_once(')')?.1.to_owned();
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let (state, parent) = (fields[0], fields[1]);
        (fields[2].parse() == Ok(group) && (state != "Z" || parent == own)).then_some(stat)
    };
    fs::read_dir("/proc").unwrap().flatten().filter_map(stat).filter_map(member).collect()
}

/// Asserts that the engine is gone when a call returns. Its children got the same signal, so they must be
/// gone a moment later.
fn assert_gone(group: i32) {
    let left = members(group);
    assert!(left.iter().all(|stat| !stat.starts_with(&format!("{group} "))), "not reaped: {left:?}");
    let since = Instant::now();
    while !members(group).is_empty() {
        assert!(since.elapsed() < SOON, "still there of group {group}: {:?}", members(group));
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// This is long enough for a busy machine, and short compared to the thousand seconds that these engines
/// would run.
const SOON: Duration = Duration::from_secs(15);

/// Deadline for calls whose engine must have started before it, even on a busy machine.
const STARTED: Duration = Duration::from_secs(2);

/// An engine with children in its own group, ignored signals and endless output, which never ends on its own.
/// It appends to the group file, because this file would be empty if we killed the engine between opening and
/// writing it.
const HOSTILE: &str = r#"trap '' TERM INT HUP PIPE
echo $$ >> "${0%/*}/group"
/bin/sleep 1000 &
(trap '' TERM; /bin/sleep 1000) &
while :; do echo "2:x"; echo "2:y" >&2; done"#;

#[test]
fn engine_gets_only_our_arguments_and_environment() {
    for (name, last) in [("rg", "pattern"), ("ugrep", "(?:(?:pattern))")] {
        let stage = Stage::new(
            name,
            r#"here=${0%/*}
printf '%s\n' "$@" > $here/arguments
/bin/cat /proc/$$/environ > $here/environment
/bin/ls -l /proc/$$/fd > $here/handles
/bin/readlink /proc/$$/cwd > $here/place"#,
        );
        stage.run(&Stop::never()).unwrap();
        let arguments = fs::read_to_string(stage.file("arguments")).unwrap();
        let arguments: Vec<&str> = arguments.lines().collect();
        let end = &arguments[arguments.len() - 4..];
        assert_eq!((end[0], end[2]), ("-e", "--"), "{arguments:?}");
        assert!(end[1] == last || end[1] == "(?:pattern)", "{arguments:?}");
        assert!(end[3].starts_with("/proc/self/fd/"), "{arguments:?}");
        assert_eq!(fs::read(stage.file("environment")).unwrap(), b"", "{name}");
        assert_eq!(fs::read_to_string(stage.file("place")).unwrap(), "/\n");
        // Our own handles are the pipes and one text. The shell adds the script and its redirections. Handles
        // that the parent of the test run left open for every child are not our concern.
        let handles = fs::read_to_string(stage.file("handles")).unwrap();
        let targets: Vec<&str> =
            handles.lines().filter_map(|line| Some(line.split_once(" -> ")?.1)).collect();
        let texts = targets.iter().filter(|target| target.starts_with("/memfd:")).count();
        assert_eq!(texts, 1, "{handles}");
        let expected = |target: &&str| {
            *target == "/dev/null"
                || target.starts_with("pipe:")
                || target.starts_with("/memfd:forage-text")
                || target.ends_with(&format!("/{name}"))
                || target.ends_with("/handles")
                || is_left_open(target)
        };
        assert!(targets.iter().all(expected), "{handles}");
    }
}

/// Returns true if this process has a handle that every child inherits.
fn is_left_open(target: &str) -> bool {
    let close_on_exec = |name: &std::ffi::OsStr| {
        let about = fs::read_to_string(Path::new("/proc/self/fdinfo").join(name)).unwrap_or_default();
        let flags = about.lines().find_map(|line| line.strip_prefix("flags:")).unwrap_or("0").trim();
        u64::from_str_radix(flags, 8).unwrap_or(0) & 0o2_000_000 != 0
    };
    fs::read_dir("/proc/self/fd").unwrap().flatten().any(|entry| {
        fs::read_link(entry.path()).is_ok_and(|link| link == Path::new(target))
            && !close_on_exec(&entry.file_name())
    })
}

#[test]
fn hostile_engine_ends_at_the_deadline() {
    let stage = Stage::new("rg", HOSTILE);
    // The text is long, so that much output is not considered abnormal.
    fs::write(stage.root().join("a.txt"), "x\n".repeat(400_000)).unwrap();
    let began = Instant::now();
    let (files, report) = stage.run(&Stop::after(STARTED)).unwrap();
    let took = began.elapsed();
    assert!(took < SOON, "{took:?}");
    assert_eq!(report.walk.stopped, Some(Stopped::Deadline));
    assert!(files.len() <= 1);
    assert_gone(stage.group());
}

/// Shows that the naive approach fails: waiting for the output and killing only the child on a timeout.
#[test]
fn naive_kill_leaves_processes() {
    let stage = Stage::new("rg", HOSTILE);
    let mut child = Command::new(stage.program.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    let began = Instant::now();
    let group = child.id() as i32;
    while members(group).len() < 3 {
        assert!(began.elapsed() < SOON, "{:?}", members(group));
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let left = members(group).len();
    let _ = Command::new("/bin/sh").args(["-c", &format!("kill -9 -{group}")]).status();
    assert!(left >= 2, "{left} left");
    assert_gone(group);
}

#[test]
fn flood_ends_without_a_deadline() {
    let stage = Stage::new("rg", "echo $$ > ${0%/*}/group\n/bin/sleep 1000 &\nexec /usr/bin/yes 2:x");
    let began = Instant::now();
    assert!(matches!(stage.run(&Stop::never()), Err(ExternalError::Flooded { .. })));
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    assert_gone(stage.group());
}

#[test]
fn children_end_with_the_engine() {
    // The child keeps the pipes open, so we must neither wait for it nor let it survive.
    let stage = Stage::new("rg", "echo $$ > ${0%/*}/group\n/bin/sleep 1000 &\necho 3:two");
    let began = Instant::now();
    let (files, report) = stage.run(&Stop::never()).unwrap();
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    assert_eq!((files[0].events[0].bytes.as_slice(), report.exit_code), (&b"two\n"[..], Some(0)));
    assert_gone(stage.group());
}

#[test]
fn engine_with_closed_pipes_ends_at_the_deadline() {
    let stage = Stage::new("rg", "echo $$ > ${0%/*}/group\nexec >&- 2>&-\n/bin/sleep 1000");
    let began = Instant::now();
    let (_, report) = stage.run(&Stop::after(STARTED)).unwrap();
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    assert_eq!(report.walk.stopped, Some(Stopped::Deadline));
    assert_gone(stage.group());
}

/// At the deadline all known results must be delivered, and nothing after the first unknown one.
#[test]
fn the_deadline_leaves_no_hole() {
    // Texts that contain `SLEEP` hang after two lines; the others are searched at once.
    let script = r#"echo $$ >> "${0%/*}/groups"
for last; do :; done
echo 2:x; echo 3:x; echo 4:x
if /bin/grep -q SLEEP "$last"; then exec /bin/sleep 1000; fi"#;
    let stage = Stage::new("rg", script);
    let filler = "x\n".repeat(60_000);
    for (name, head) in [("a.txt", "A\n"), ("b.txt", "SLEEP\n"), ("c.txt", "C\n")] {
        fs::write(stage.root().join(name), format!("{head}{filler}{}", filler.repeat(2))).unwrap();
    }
    let (files, report) = stage.run(&Stop::after(STARTED)).unwrap();
    let found: Vec<(String, Vec<u64>)> = files
        .iter()
        .map(|file| {
            let numbers = file.events.iter().map(|event| event.line_number).collect();
            (file.path.display().into_owned(), numbers)
        })
        .collect();
    // The last line of an interrupted run is left out, because its match could have continued.
    assert_eq!(found, [("a.txt".to_owned(), vec![1, 2, 3]), ("b.txt".to_owned(), vec![1, 2])]);
    assert_eq!((report.walk.stopped, report.walk.broke_off), (Some(Stopped::Deadline), false));
    for group in fs::read_to_string(stage.file("groups")).unwrap().lines() {
        assert_gone(group.parse().unwrap());
    }
}

#[test]
fn panic_and_break_end_processes() {
    let script = r#"echo $$ >> "${0%/*}/groups"
for last; do :; done
if /bin/grep -q SLEEP "$last"; then /bin/sleep 1000; fi
echo 2:x"#;
    for panics in [true, false] {
        let stage = Stage::new("ugrep", script);
        fs::write(stage.root().join("a.txt"), "x\n".repeat(60_000)).unwrap();
        fs::write(stage.root().join("b.txt"), "SLEEP\n".repeat(60_000)).unwrap();
        let began = Instant::now();
        let request = request("pattern", PatternOptions::default());
        let searched = catch_unwind(AssertUnwindSafe(|| {
            let (walk, scan) = (WalkOptions::default(), ScanOptions::default());
            let start = RelPath::root();
            let receive = |_| {
                if panics {
                    // This test only shows something if the other batch has been started.
                    while fs::read_to_string(stage.file("groups")).unwrap().lines().count() < 2 {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    panic!("enough");
                }
                ControlFlow::Break(())
            };
            let root = open(&stage.root());
            external::search(&stage.program, &request, &root, &start, &walk, &scan, &Stop::never(), receive)
        }));
        assert_eq!(searched.is_err(), panics);
        assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
        for group in fs::read_to_string(stage.file("groups")).unwrap().lines() {
            assert_gone(group.parse().unwrap());
        }
    }
}

/// Exit codes and signals, with and without output: the reported lines decide.
#[test]
fn endings_depend_on_reported_lines() {
    for (ending, code, signal) in [
        ("exit 0", Some(0), None),
        ("exit 1", Some(1), None),
        ("exit 2", Some(2), None),
        ("exit 101", Some(101), None),
        ("kill -SEGV $$", None, Some(11)),
    ] {
        let with = Stage::new("rg", &format!("echo 3:two\necho trouble >&2\n{ending}"));
        let (files, report) = with.run(&Stop::never()).unwrap();
        assert_eq!(files.len(), 1, "{ending}");
        assert_eq!(report.stderr, "trouble\n", "{ending}");
        let partial = code.is_none_or(|code| code >= 2);
        assert_eq!(!report.notes.is_empty(), partial, "{ending}: {:?}", report.notes);
        if partial {
            assert!(report.incomplete && report.stderr.contains("trouble"), "{report:?}");
        }
        assert_eq!(report.exit_code, if code == Some(1) { Some(0) } else { code }, "{ending}");

        let without = Stage::new("rg", &format!("echo trouble >&2\n{ending}"));
        match without.run(&Stop::never()) {
            Ok((files, report)) => {
                assert!(files.is_empty() && !partial, "{ending}");
                assert_eq!(report.exit_code, Some(1), "{ending}");
            }
            Err(ExternalError::Failed { code: found, signal: by, stderr, .. }) => {
                assert!(partial && (found, by, stderr.as_str()) == (code, signal, "trouble"), "{ending}");
            }
            Err(error) => panic!("{ending}: {error}"),
        }
    }
    let invalid = Stage::new("rg", "echo 'regex parse error: oh' >&2\nexit 2");
    assert!(matches!(invalid.run(&Stop::never()), Err(ExternalError::InvalidPattern { .. })));
}

#[test]
fn garbage_is_left_out_and_reported() {
    let stage = Stage::new(
        "rg",
        r"printf 'nonsense\n2:one\n1:\n9999:x\n\377\n3:two\n99999999999999999999999999999:x\n\n4'",
    );
    let (files, report) = stage.run(&Stop::never()).unwrap();
    let numbers: Vec<u64> = files[0].events.iter().map(|event| event.line_number).collect();
    // A number after the end of the text can't be followed by a smaller one: the third line is out of order.
    assert_eq!(numbers, [1]);
    assert!(report.notes[0].contains("not numbered lines of the text"), "{:?}", report.notes);
    // We keep errors up to a limit.
    let stage =
        Stage::new("rg", "i=0; while [ $i -lt 4000 ]; do echo 0123456789 >&2; i=$((i+1)); done; echo 2:x");
    let (_, report) = stage.run(&Stop::never()).unwrap();
    assert_eq!(report.stderr.len(), 16 << 10);
}

#[test]
fn incomplete_engine_run_is_detected() {
    let stage = Stage::new("ugrep", "echo 2:one");
    let (files, report) = stage.run(&Stop::never()).unwrap();
    assert_eq!(files.len(), 1);
    assert!(report.notes[0].contains("stopped early in a.txt"), "{:?}", report.notes);
    for number in 0..200 {
        fs::write(stage.root().join(format!("f{number}")), "x\n").unwrap();
    }
    assert!(matches!(stage.run(&Stop::never()), Err(ExternalError::GaveUp { .. })));
}

#[test]
fn unstartable_program_is_an_error() {
    let stage = Stage::new("rg", "");
    fs::remove_file(stage.program.path()).unwrap();
    assert!(matches!(stage.run(&Stop::never()), Err(ExternalError::Start { .. })));
}

/// Runs this test alone in a child process, so that it counts only its own resources. Returns true in the
/// child.
pub(crate) fn alone(name: &str, environment: &[(&str, &Path)]) -> bool {
    if std::env::var_os("FORAGE_TEST_ALONE").is_some() {
        return true;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env("FORAGE_TEST_ALONE", "1")
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    false
}

fn peak_kilobytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_flood_takes_little_memory() {
    if !alone("processes::a_flood_takes_little_memory", &[]) {
        return;
    }
    let quiet = Stage::new("rg", "echo 2:x");
    quiet.run(&Stop::never()).unwrap();
    let before = peak_kilobytes();
    // Endless lines, endless numbers, and endless stderr output, at the speed of a pipe.
    for flood in ["/dev/zero", "-", "digits"] {
        let script = match flood {
            "-" => "exec /usr/bin/yes 2:x".to_owned(),
            "digits" => "/usr/bin/yes 1111111111 | /usr/bin/tr -d '\\n'".to_owned(),
            path => format!("/bin/cat {path} >&2 & exec /bin/cat {path}"),
        };
        let stage = Stage::new("rg", &script);
        let began = Instant::now();
        let _ = stage.run(&Stop::after(Duration::from_millis(700)));
        assert!(began.elapsed() < SOON, "{flood}: {:?}", began.elapsed());
    }
    // Only the deadline limits stderr.
    let stage = Stage::new("rg", "exec /bin/cat /dev/zero >&2");
    let (_, report) = stage.run(&Stop::after(Duration::from_millis(700))).unwrap();
    assert_eq!(report.walk.stopped, Some(Stopped::Deadline));
    let grown = peak_kilobytes() - before;
    assert!(grown < 32 << 10, "{grown} KB");
}

fn open_handles() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

fn children() -> Vec<String> {
    let own = std::process::id().to_string();
    let stat = |entry: fs::DirEntry| fs::read_to_string(entry.path().join("stat")).ok();
    let child = |stat: String| {
        let rest = stat.rsplit_once(')')?.1.to_owned();
        (rest.split_whitespace().nth(1) == Some(&own)).then_some(stat)
    };
    fs::read_dir("/proc").unwrap().flatten().filter_map(stat).filter_map(child).collect()
}

fn threads() -> usize {
    fs::read_dir("/proc/self/task").unwrap().count()
}

#[test]
fn hundred_cancelled_calls_leak_nothing() {
    if !alone("processes::hundred_cancelled_calls_leak_nothing", &[]) {
        return;
    }
    let stage = Stage::new("rg", HOSTILE);
    for name in ["b.txt", "c.txt"] {
        fs::write(stage.root().join(name), "x\n".repeat(100_000)).unwrap();
    }
    let once = |wait: u64| {
        let stop = Stop::never();
        std::thread::scope(|scope| {
            let canceller = stop.clone();
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(wait));
                canceller.cancel();
            });
            stage.run(&stop).map(|(_, report)| report.walk.stopped)
        })
    };
    let _ = once(5);
    let before = (open_handles(), threads());
    let mut cancelled = 0;
    for wait in 0..100 {
        // The shell's output can exceed its limit before the search is cancelled.
        cancelled += u32::from(matches!(once(wait % 20), Ok(Some(Stopped::Cancelled))));
    }
    assert!(cancelled > 90, "{cancelled}");
    // The system takes a moment to remove an ended thread from its list, also before the test.
    let left = || open_handles() > before.0 || threads() > before.1;
    let end = Instant::now() + Duration::from_secs(5);
    while left() && Instant::now() < end {
        std::thread::yield_now();
    }
    assert!(!left(), "{} handles, {} threads left, {before:?} before", open_handles(), threads());
    assert_eq!(children(), Vec::<String>::new());
    assert_gone(stage.group());
}

/// The status of a process killed by a signal, as reported by the standard library. The table of endings
/// depends on this.
#[test]
fn a_signal_is_no_exit_code() {
    let status = Command::new("/bin/sh").args(["-c", "kill -SEGV $$"]).status().unwrap();
    assert_eq!((status.code(), status.signal()), (None, Some(11)));
}
