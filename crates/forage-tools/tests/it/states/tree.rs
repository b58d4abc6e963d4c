//! The tree for all pages: a small shop in several languages, with the usual contents of real trees.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::support::Tree;

const RETRY: &str = "\
//! Retries of requests.

use std::time::Duration;

/// How often a request is retried.
pub const RETRIES: u32 = 3;

/// Waits longer before each further retry.
pub fn backoff(attempt: u32) -> Duration {
    Duration::from_millis(100 << attempt)
}

/// Sends a request again until it succeeds.
pub fn with_retries(send: impl Fn() -> bool) -> bool {
    (0..RETRIES).any(|attempt| {
        std::thread::sleep(backoff(attempt));
        send()
    })
}
";

const CLIENT: &str = "\
use crate::retry::with_retries;

pub struct Client {
    base: String,
}

impl Client {
    pub fn get(&self, path: &str) -> bool {
        let url = format!(\"{}{path}\", self.base);
        with_retries(|| send(&url))
    }
}

fn send(_url: &str) -> bool {
    true
}
";

const CART: &str = "\
import { retry } from './retry';

export class Cart {
  items: string[] = [];

  async checkout(): Promise<void> {
    await retry(() => this.pay(), 3);
  }

  private async pay(): Promise<void> {}
}
";

const VIEW: &str = "\
class CartView:
    \"\"\"Shows what is in the cart.\"\"\"

    def render(self, cart):
        return \", \".join(cart.items)
";

const GUIDE: &str = "\
# Retries

A request is retried three times. See `src/retry.rs`.

- The first retry waits 100 ms.
- Each further retry waits twice as long.
";

/// Creates the tree.
pub(super) fn shop() -> Tree {
    let tree = Tree::new();
    tree.write(".git/HEAD", "ref: refs/heads/main\n");
    tree.write(".gitignore", "/build/\n*.log\n");
    tree.write("Cargo.toml", "[package]\nname = \"shop\"\nversion = \"0.1.0\"\n");
    tree.write("README.md", "# Shop\n\nSells things. Requests are retried, see docs/retries.md.\n");
    tree.write("src/main.rs", "mod http;\nmod retry;\n\nfn main() {\n    println!(\"open\");\n}\n");
    tree.write("src/retry.rs", RETRY);
    tree.write("src/http/client.rs", CLIENT);
    tree.write("web/cart.ts", CART);
    tree.write("app/view.py", VIEW);
    tree.write("docs/retries.md", GUIDE);
    tree.write("docs/empty.md", "");
    tree.write("docs/windows.txt", "one\r\nretry two\r\n");
    let utf16 = "\u{feff}name,retry\nmug,1\n".encode_utf16().flat_map(u16::to_le_bytes);
    tree.write("docs/export.csv", utf16.collect::<Vec<u8>>());
    // One of these is a line of minified code. The other is a line of data that is too long for `read_file`.
    let filler = "function a(b){return b+1}".repeat(20);
    tree.write("web/bundle.js", format!("{filler}retryLater(){filler}\n"));
    tree.write("web/data.json", format!("{{\"rows\":[{}1]}}\n", "1,".repeat(1_500)));
    tree.write(
        "config/settings.yaml",
        "host: shop.example\ntoken: ghp_R4nd0mT0kenF0rTh1sTest1234567890abcd\n",
    );
    // By default, searches skip these files.
    tree.write("build/retry.rs", "fn only_in_build() { retry() }\n");
    tree.write("server.log", "only_in_log: retry 1 failed\n");
    tree.write(".config/notes.md", "only_in_hidden: retry less\n");
    tree.write("node_modules/pad/index.js", "module.exports = only_in_modules; // retry\n");
    tree.write(".env", "RETRY_TOKEN=only_in_env\n");
    tree.write("assets/logo.png", b"\x89PNG\r\n\x1a\n\0\0retry");
    std::fs::create_dir(tree.root().join("empty")).unwrap();
    // These names and links need care.
    tree.write(OsStr::from_bytes(b"docs/caf\xe9.txt"), b"caf\xe9: retry\n");
    tree.link("retries.md", "docs/latest.md");
    tree.write("../outside/secret.txt", "retry outside\n");
    tree.link("../outside/secret.txt", "away");
    mknodat(CWD, tree.root().join("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    tree
}
