//! The page around the list and the search.

use maud::{DOCTYPE, Markup, html};

use super::assets::{HOME_ASSET, STYLE_ASSET};
use crate::html::Text;

/// A page. `current` is the path of the part of the site that it belongs to.
pub(crate) fn frame(title: &str, current: &str, content: &Markup) -> Markup {
    let is_current = |path: &str| (path == current).then_some("page");
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="referrer" content="no-referrer";
                meta name="color-scheme" content="dark light";
                title { (Text(title)) }
                link rel="stylesheet" href=(STYLE_ASSET.path);
                link rel="icon" href="data:,";
                script type="module" src=(HOME_ASSET.path) {}
            }
            body.home {
                a.skip href="#main" { "Skip to the content" }
                header.bar {
                    nav aria-label="Pages" {
                        a href="/" aria-current=[is_current("/")] { "Sessions" }
                        a href="/search" aria-current=[is_current("/search")] { "Search" }
                        a href="/stats" aria-current=[is_current("/stats")] { "Statistics" }
                    }
                    span #status role="status" {}
                    button #theme type="button" aria-label="Switch between dark and light" { "◐" }
                    button #help type="button" aria-label="Keyboard shortcuts" { "?" }
                }
                main #main tabindex="-1" { (content) }
            }
        }
    }
}
