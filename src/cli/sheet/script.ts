/** Cards in a section: full lines of one to six columns. */
export const CARDS_TOGETHER = 120
/** Cards on the screen at a time: whole sections. */
const CARDS_PER_PAGE = 5 * CARDS_TOGETHER

/**
 * The one script of a sheet. A browser takes minutes to lay out a hundred thousand cards; but what is in a `noscript`
 * it only skims, as text. The script shows pages of it, finds rows, and shows those of one kind. Where it doesn't run,
 * the browser reads the same text as HTML, and has the whole sheet at once.
 *
 * It is text, as the style is: the browser is told its hash, and runs nothing else.
 */
export const SCRIPT = `
'use strict'
{
const PER_SECTION = ${CARDS_TOGETHER}
const PER_PAGE = ${CARDS_PER_PAGE}
const byId = (id) => document.getElementById(id)
const [finder, field, told, rows] = [byId('finder'), byId('find'), byId('told'), byId('rows')]
const bars = [...document.querySelectorAll('.pages')]
const sections = document.getElementsByTagName('noscript')
const number = (value) => value.toLocaleString('en')
const pause = () => new Promise((resolve) => setTimeout(resolve))
let total = 0
let page = 0
let turn = 0
/** Numbers of the rows that are wanted; null for all. */
let found = null
/** The section whose cards were taken apart last. */
let last = { at: -1, cards: [] }

const takenApart = (text) => text.slice(text.indexOf('<article '), text.lastIndexOf('</section>')).split(/\\n(?=<article )/)
const cardsOf = (at) => {
  if (last.at !== at) last = { at, cards: takenApart(sections[at].textContent) }
  return last.cards
}
const CHARS = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }
const textOf = (card) => card.replace(/<summary>.*?<\\/summary>|<[^>]*>/g, ' ').replace(/&(amp|lt|gt|quot|#39);/g, (_, name) => CHARS[name]).toLowerCase()

const kind = () => {
  const { id } = document.querySelector('.filter :checked') ?? { id: 'all' }
  return id === 'all' ? null : new RegExp('^<article class="[^"]*\\\\b' + id.replace('only-', '') + '\\\\b')
}
const pages = () => Math.max(1, Math.ceil((found?.length ?? total) / PER_PAGE))

/** Shows rows: those of the page, or all of them. */
function show(all = false) {
  const count = found?.length ?? total
  page = Math.min(page, pages() - 1)
  const [from, to] = all ? [0, count] : [page * PER_PAGE, Math.min(count, (page + 1) * PER_PAGE)]
  const parts = []
  for (let at = from; at < to; at++) {
    const row = found?.[at] ?? at
    if ((at - from) % PER_SECTION === 0) parts.push(at === from ? '<section>' : '</section><section>')
    parts.push(cardsOf(Math.floor(row / PER_SECTION))[row % PER_SECTION])
  }
  rows.innerHTML = parts.join('') + (parts.length > 0 ? '</section>' : '')
  tell(from, to)
}

function tell(from, to) {
  for (const bar of bars) {
    bar.hidden = pages() < 2
    bar.querySelector('input').value = page + 1
    bar.querySelector('input').max = pages()
    bar.querySelector('span').textContent = 'of ' + number(pages())
    for (const button of bar.querySelectorAll('button')) button.disabled = pageOf(button) === page
  }
  const all = number(total) + (total === 1 ? ' row' : ' rows')
  const which = found === null ? all : found.length === 0 ? 'None of ' + all : number(found.length) + ' of ' + all
  told.textContent = which + (pages() < 2 ? '' : '. Here: ' + number(from + 1) + ' to ' + number(to))
}

const pageOf = ({ value }) => ({ first: 0, previous: Math.max(0, page - 1), next: Math.min(pages() - 1, page + 1), last: pages() - 1 })[value]

function turnTo(wanted) {
  page = Math.min(Math.max(0, wanted), pages() - 1)
  show()
  told.focus({ preventScroll: true })
  finder.scrollIntoView()
}

/** Finds the rows of the chosen kind that have every word, a piece at a time: the page answers all the while. */
async function find() {
  const mine = ++turn
  const [wanted, text] = [kind(), field.value.trim().toLowerCase()]
  const words = text.split(/\\s+/).filter((word) => word !== '')
  const line = /^line (\\d+)$/.exec(text)
  const isWanted = (card) => (wanted === null || wanted.test(card)) && (line !== null ? card.includes(' id="line-' + line[1] + '"') : words.length === 0 || hasAll(textOf(card)))
  const hasAll = (content) => words.every((word) => content.includes(word))
  const hits = wanted === null && words.length === 0 ? null : []
  for (let at = 0, since = performance.now(); hits !== null && at < sections.length; at++) {
    takenApart(sections[at].textContent).forEach((card, i) => isWanted(card) && hits.push(at * PER_SECTION + i))
    if (performance.now() - since < 30) continue
    await pause()
    if (mine !== turn) return
    since = performance.now()
  }
  found = hits
  page = 0
  show()
}

/** Shows the row that the address names. */
function goToNamed() {
  const id = location.hash.slice(1)
  if (!/^line-\\d+$/.test(id)) return
  if (byId(id) === null) {
    const isNamed = (text) => text.includes(' id="' + id + '"')
    const at = [...sections].findIndex(({ textContent }) => isNamed(textContent))
    if (at < 0) return
    const row = at * PER_SECTION + cardsOf(at).findIndex(isNamed)
    if (found !== null && !found.includes(row)) wantAll()
    page = Math.floor((found?.indexOf(row) ?? row) / PER_PAGE)
    show()
  }
  // It wasn't there when the browser looked for it.
  location.replace('#' + id)
}

function wantAll() {
  turn++
  found = null
  field.value = ''
  const all = byId('all')
  if (all !== null) all.checked = true
}

/** The first page is there before the rest of the file has been read. */
const observer = new MutationObserver(() => {
  if (sections.length <= PER_PAGE / PER_SECTION) return
  observer.disconnect()
  total = PER_PAGE
  show()
  told.textContent = 'More rows are being read'
})
observer.observe(rows.parentNode, { childList: true })

addEventListener('DOMContentLoaded', () => {
  observer.disconnect()
  if (sections.length === 0) return
  total = (sections.length - 1) * PER_SECTION + cardsOf(sections.length - 1).length
  finder.hidden = total < 2
  if (kind() !== null || field.value !== '') void find()
  else if (rows.firstChild === null) show()
  else tell(0, Math.min(total, PER_PAGE))
  goToNamed()
  addEventListener('hashchange', goToNamed)
  finder.addEventListener('submit', (event) => event.preventDefault())
  let timer
  field.addEventListener('input', () => {
    clearTimeout(timer)
    timer = setTimeout(find, 150)
  })
  document.querySelector('.filter')?.addEventListener('change', find)
  for (const bar of bars) {
    bar.addEventListener('click', ({ target }) => target.value && target.type === 'button' && turnTo(pageOf(target)))
    bar.querySelector('input').addEventListener('change', ({ target }) => turnTo(Number(target.value || 1) - 1))
  }
  // Paper has all of what is wanted.
  addEventListener('beforeprint', () => show(true))
  addEventListener('afterprint', () => show())
})
}
`

const bar = (label: string) =>
  `<nav class="pages" aria-label="${label}" hidden><button type="button" value="first">First</button><button type="button" value="previous">Previous</button><label>Page <input type="number" min="1" inputmode="numeric"></label> <span></span><button type="button" value="next">Next</button><button type="button" value="last">Last</button></nav>
`

/** Where the script shows rows, and what a person asks it with; none of it is seen where no script runs. */
export const CONTROLS = `<form id="finder" class="finder" role="search" hidden><label for="find">Find rows</label><input id="find" type="search" autocomplete="off" spellcheck="false" placeholder="a title, a receiver, line 12"></form>
<p id="told" class="told" role="status" tabindex="-1"></p>
${bar('Pages')}<div id="rows"></div>
${bar('Pages, below the rows')}`
