/** Bundled from `browser/main.ts` and written in by the build, and by Vitest's configuration. */
declare const __GDN_SHEET_SCRIPT__: string

/**
 * The only script of a sheet. A browser takes minutes to lay out 100,000 cards, but reads the content of a `noscript`
 * as text. The script shows it in pages, searches it, and filters it. If scripts are disabled, the browser reads the
 * same text as HTML and shows the whole sheet at once.
 *
 * The content security policy of the sheet has its hash, so the browser runs no other script.
 */
export const SCRIPT = __GDN_SHEET_SCRIPT__

const bar = (label: string) =>
  `<nav class="pages" aria-label="${label}" hidden><button type="button" value="first">First</button><button type="button" value="previous">Previous</button><label>Page <input type="number" min="1" inputmode="numeric"></label> <span></span><button type="button" value="next">Next</button><button type="button" value="last">Last</button></nav>
`

/** The search form and the place for the rows. They are hidden if scripts are disabled. */
export const CONTROLS = `<form id="finder" class="finder" role="search" hidden><label for="find">Find rows</label><input id="find" type="search" autocomplete="off" spellcheck="false" placeholder="a title, a receiver, line 12"></form>
<p id="told" class="told" role="status" tabindex="-1"></p>
${bar('Pages')}<div id="rows"></div>
${bar('Pages, below the rows')}`
