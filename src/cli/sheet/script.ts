/** Bundled from `browser/main.ts` and written in by the build, and by Vitest's configuration. */
declare const __GDN_SHEET_SCRIPT__: string

/**
 * The one script of a sheet. A browser takes minutes to lay out a hundred thousand cards, but reads what is in a
 * `noscript` as text. The script shows pages of it, finds rows, and shows those of one kind. Where it doesn't run, the
 * browser reads the same text as HTML, and shows the whole sheet at once.
 *
 * The content security policy of the sheet names its hash: the browser runs nothing else.
 */
export const SCRIPT = __GDN_SHEET_SCRIPT__

const bar = (label: string) =>
  `<nav class="pages" aria-label="${label}" hidden><button type="button" value="first">First</button><button type="button" value="previous">Previous</button><label>Page <input type="number" min="1" inputmode="numeric"></label> <span></span><button type="button" value="next">Next</button><button type="button" value="last">Last</button></nav>
`

/** Where the script shows rows, and what a person asks it with; none of it is seen where no script runs. */
export const CONTROLS = `<form id="finder" class="finder" role="search" hidden><label for="find">Find rows</label><input id="find" type="search" autocomplete="off" spellcheck="false" placeholder="a title, a receiver, line 12"></form>
<p id="told" class="told" role="status" tabindex="-1"></p>
${bar('Pages')}<div id="rows"></div>
${bar('Pages, below the rows')}`
