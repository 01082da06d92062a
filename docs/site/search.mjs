// Options of the search, for MiniSearch. VitePress copies the source of each function into the page, so that a function
// can't use anything outside of it.

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
