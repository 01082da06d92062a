// The search of the site.

/**
 * Options for MiniSearch. VitePress copies the source of each function into the page, so that a function can't use
 * anything outside of it.
 */
export const miniSearch = {
  options: {
    /** Drops words that are on every page, and the ending of plurals. */
    processTerm: (term) => {
      const word = term.toLowerCase()
      const common =
        /^(?:a|an|and|are|as|at|be|by|can|do|for|from|how|i|if|in|is|it|my|of|on|or|that|the|to|what|with|you|your)$/
      return common.test(word) ? null : word.replace(/(?<=[a-z]{3}[^s])s$/, '')
    },
  },
  searchOptions: {
    fuzzy: (term) => (term.length > 4 ? 0.2 : false),
    prefix: (term) => term.length > 2,
    boost: { title: 4, titles: 3, text: 1 },
    /** Guides come first: pages of commands repeat words in each flag, and pages of the project have other readers. */
    boostDocument: (id) => (/\/(?:commands\/|architecture|benchmarks|releasing)/.test(id) ? 0.5 : 1),
  },
}

/** Changes to the source of VitePress's search dialog, which has roles that assistive technology can't use. */
const ROLES = [
  // The dialog had the role of a button, which can't contain an input or links.
  [
    `role="button"
      :aria-owns="results?.length ? 'localsearch-list' : undefined"
      aria-expanded="true"
      aria-haspopup="listbox"`,
    'role="dialog" aria-modal="true"',
  ],
  [
    'aria-autocomplete="both"',
    `role="combobox" aria-autocomplete="list" :aria-expanded="results?.length ? 'true' : 'false'"`,
  ],
  // A link can't be inside an option, so the link is the option.
  [
    `:id="'localsearch-item-' + index"
            :aria-selected="selectedIndex === index ? 'true' : 'false'"
            role="option"`,
    'role="presentation"',
  ],
  [
    ':href="p.id"',
    `:href="p.id" :id="'localsearch-item-' + index" role="option" :aria-selected="selectedIndex === index ? 'true' : 'false'"`,
  ],
  // The label of a result lacked the number sign before its text.
  [`:aria-label="[...p.titles, p.title].join(' > ')"`, ''],
  ['class="title-icon"', 'class="title-icon" aria-hidden="true"'],
  // An element without a role can't have a label.
  ['<kbd :aria-label', '<kbd role="img" :aria-label'],
]

/** A plugin of Vite. The build fails if another version of VitePress has a different dialog. */
export const accessibleSearch = {
  name: 'accessible-search',
  enforce: 'pre',
  transform(source, id) {
    if (!id.endsWith('/VPLocalSearchBox.vue')) return
    return ROLES.reduce((text, [from, to]) => {
      if (!text.includes(from))
        throw new Error(`docs/site/search.mjs: VitePress's search dialog doesn't contain ${from}`)
      return text.replaceAll(from, to)
    }, source)
  },
}
