//! Checks the site in a real browser: as wide as a phone and as a screen, and in light and dark colors.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use serde_json::Value;

use crate::cargo::{Workspace, empty, printed, write};

/// The pages to check: one of each kind, and those with the widest tables and the longest lines.
const PAGES: &[&str] = &[
    "index",
    "start",
    "unknown-repository",
    "rank",
    "instant-index",
    "keyword-search",
    "mcp",
    "commands",
    "configuration",
    "records",
];

/// The widths of a phone and a screen, in pixels.
const WIDTHS: [u32; 2] = [360, 1440];

/// The color schemes that a reader's system can request, with Blink's numbers for them.
const SCHEMES: [(&str, u8); 2] = [("dark", 0), ("light", 1)];

/// A script that reports properties of a page as soon as it is loaded.
const PROBE: &str = "<script>addEventListener('load', () => {
const shown = (element) => getComputedStyle(element);
const colour = (text) => (text.match(/[\\d.]+/g) || []).slice(0, 3).map(Number).reduce((sum, part) => sum + part, 0);
const main = document.querySelector('main');
parent.postMessage(JSON.stringify({
  width: innerWidth,
  needed: document.documentElement.scrollWidth,
  text: main.innerText.length,
  background: colour(shown(document.documentElement).backgroundColor),
  ink: colour(shown(main).color),
  broken: [...document.images].filter((image) => !image.naturalWidth).map((image) => image.src),
  small: [...document.images].filter((image) => image.width < Math.min(700, image.naturalWidth)).map((image) => image.src),
}), '*');
});</script>";

/// A page that shows another page in a frame and stores its report. We need a frame because windows are at
/// least 500 pixels wide.
const FRAME: &str = "<!doctype html><style>:root { color-scheme: light dark }</style><script>
addEventListener('message', (event) => { document.documentElement.dataset.probe = event.data });
</script><iframe src='PAGE' width='WIDTH' height='2000' style='border: 0'></iframe>";

/// Checks the site that was built, and writes screenshots to `target/screenshots`. Fails for a page that is wider
/// than its window, is empty, lacks an image, has one that is too small to read, or is unreadable in its colors.
#[test]
fn pages_fit_their_windows() {
    if !super::is_requested("site") {
        return;
    }
    let workspace = &Workspace::from_manifest_dir();
    let (book, pictures) = (workspace.path("target/book"), workspace.path("target/screenshots"));
    empty(&pictures).unwrap();
    let mut faults = Vec::new();
    for page in PAGES {
        for width in WIDTHS {
            for (scheme, number) in SCHEMES {
                let name = format!("{page} at {width} pixels, {scheme}");
                let look = Look { workspace, width, scheme: number };
                let found = look.probe(&book, page).unwrap_or_else(|error| panic!("{name}: {error:#}"));
                let wrong = wrong(&found, width, scheme);
                faults.extend(wrong.into_iter().map(|fault| format!("{name}: {fault}")));
                let picture = pictures.join(format!("{page}-{width}-{scheme}.png"));
                look.take(&book.join(format!("{page}.html")), &picture).unwrap();
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let count = PAGES.len() * WIDTHS.len() * SCHEMES.len();
    println!("    {count} views of {} pages; pictures in {}", PAGES.len(), workspace.shown(&pictures));
}

/// Lists the problems in a page's report.
fn wrong(found: &Value, width: u32, scheme: &str) -> Vec<String> {
    let number = |name: &str| found[name].as_f64().unwrap_or_default();
    let mut faults = Vec::new();
    if number("width") != f64::from(width) {
        faults.push(format!("the window has {} pixels", found["width"]));
    }
    if number("needed") > f64::from(width) {
        faults.push(format!("the page needs {} pixels", found["needed"]));
    }
    if number("text") < 200.0 {
        faults.push(format!("{} characters of text", found["text"]));
    }
    // These are sums of red, green and blue, up to 765.
    let (background, ink) = (number("background"), number("ink"));
    let is_dark = background < ink;
    if is_dark != (scheme == "dark") || (background - ink).abs() < 250.0 {
        faults.push(format!("background {background}, text {ink}"));
    }
    if found["broken"].as_array().is_none_or(|broken| !broken.is_empty()) {
        faults.push(format!("missing pictures: {}", found["broken"]));
    }
    if found["small"].as_array().is_none_or(|small| !small.is_empty()) {
        faults.push(format!("pictures too small to read: {}", found["small"]));
    }
    faults
}

/// A browser window.
struct Look<'a> {
    workspace: &'a Workspace,
    width: u32,
    scheme: u8,
}

impl Look<'_> {
    fn run(&self, page: &Path, arguments: &[String]) -> Result<String> {
        let profile = self.workspace.path("target/browser-profile");
        let mut command = self.workspace.program("chromium");
        command
            // The browser's own sandbox does not work in containers. We do not need it, because the browser
            // loads only our own files.
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                "--virtual-time-budget=10000",
            ])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg(format!("--blink-settings=preferredColorScheme={}", self.scheme))
            .arg(format!("--window-size={},2400", self.width))
            .args(arguments)
            .arg(format!("file://{}", page.display()));
        printed(&mut command)
    }

    fn probe(&self, book: &Path, page: &str) -> Result<Value> {
        let text = self.workspace.read(book.join(format!("{page}.html")))?;
        // The copy must be in the same directory, so that relative links still work.
        let (probed, frame) = (format!("probed-{page}.html"), book.join("frame.html"));
        write(&book.join(&probed), text.replace("</head>", &format!("{PROBE}</head>")))?;
        write(&frame, FRAME.replace("PAGE", &probed).replace("WIDTH", &self.width.to_string()))?;
        let document = self.run(&frame, &["--dump-dom".to_owned()]);
        for made in [&book.join(&probed), &frame] {
            fs::remove_file(made)?;
        }
        let document = document?;
        let said = document.split("data-probe=\"").nth(1).and_then(|rest| rest.split('"').next());
        let said = said.context("the page was not shown")?.replace("&quot;", "\"").replace("&amp;", "&");
        Ok(serde_json::from_str(&said)?)
    }

    fn take(&self, page: &Path, picture: &Path) -> Result<()> {
        self.run(page, &[format!("--screenshot={}", picture.display())])?;
        ensure!(picture.is_file(), "{} was not created", picture.display());
        Ok(())
    }
}
