//! Prints the commits of a repository along first parents, with the files that each one changed: `log ROOT
//! [COMMITS]`. The output equals that of `git log --first-parent --diff-merges=first-parent --no-renames
//! --name-only --format=%H`, except that files are sorted.
#![expect(clippy::disallowed_macros, clippy::unwrap_used, reason = "a program for comparing with git")]

use forage_base::Stop;
use forage_fs::{Root, RootPolicy, SecretPolicy};
use forage_git::Repository;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let root = arguments.next().unwrap();
    let count = arguments.next().map_or(usize::MAX, |count| count.parse().unwrap());
    let root = Root::open(root.as_ref(), &RootPolicy::default(), SecretPolicy::standard(&[])).unwrap();
    let mut repository = Repository::open(&root, &Stop::never()).unwrap();
    let mut next = Some(repository.head());
    for _ in 0..count {
        let Some(id) = next else { break };
        let commit = repository.commit(&id).unwrap();
        println!("{id}");
        let mut files = repository.changed_files(&commit, 100_000).unwrap().unwrap_or_default();
        files.sort();
        files.iter().for_each(|path| println!("{}", String::from_utf8_lossy(path)));
        next = commit.parents.first().copied();
    }
}
