import { CARDS_PER_SECTION } from '../sections.ts'
import { cardsIn, cardTest, isAt } from './cards.ts'

/** Number of cards per page. A page consists of whole sections, so this is a multiple of the section size. */
const CARDS_PER_PAGE = 5 * CARDS_PER_SECTION
/** Maximum time in milliseconds that a search may block the browser before it yields. */
const SLICE_MS = 30
const TYPING_MS = 150

function pick<Tag extends keyof HTMLElementTagNameMap>(tag: Tag, id = '', parent: ParentNode = document) {
  const element = parent.querySelector<HTMLElementTagNameMap[Tag]>(tag + id)
  if (element === null) throw new Error(`the page has no ${tag}${id}`)
  return element
}

const finder = pick('form', '#finder')
const field = pick('input', '#find')
const status = pick('p', '#told')
const rows = pick('div', '#rows')
const bars = [...document.querySelectorAll<HTMLElement>('.pages')].map((nav) => ({
  nav,
  input: pick('input', '', nav),
  label: pick('span', '', nav),
  buttons: [...nav.querySelectorAll('button')],
}))
const sections = document.getElementsByTagName('noscript')

let total = 0
let page = 0
/** Indexes of the matching rows; null if all match. */
let matches: number[] | null = null
/** The number of the current search. Each new search increments it, which stops earlier searches. */
let search = 0
/** The last section that was split into cards. */
let last: { at: number; cards: string[] } = { at: -1, cards: [] }

function cardsOf(at: number): string[] {
  if (last.at !== at) last = { at, cards: cardsIn(sections[at]?.textContent ?? '') }
  return last.cards
}

const cardOf = (row: number) => cardsOf(Math.floor(row / CARDS_PER_SECTION))[row % CARDS_PER_SECTION] ?? ''
const kind = () => /^only-(.+)$/.exec(document.querySelector('.filter :checked')?.id ?? '')?.[1] ?? null
const pages = () => Math.max(1, Math.ceil((matches?.length ?? total) / CARDS_PER_PAGE))
const inDigits = (value: number) => value.toLocaleString('en')

/** Shows the rows of the current page, or of all pages. */
function show(all = false): void {
  const count = matches?.length ?? total
  page = Math.min(page, pages() - 1)
  const [from, to] = all ? [0, count] : [page * CARDS_PER_PAGE, Math.min(count, (page + 1) * CARDS_PER_PAGE)]
  const sections: string[] = []
  for (let at = from; at < to; at += CARDS_PER_SECTION) {
    const end = Math.min(to, at + CARDS_PER_SECTION)
    const cards = Array.from({ length: end - at }, (_, i) => cardOf(matches?.[at + i] ?? at + i))
    sections.push(`<section>${cards.join('')}</section>`)
  }
  rows.innerHTML = sections.join('')
  describe(from, to)
}

function describe(from: number, to: number): void {
  for (const { nav, input, label, buttons } of bars) {
    nav.hidden = pages() < 2
    input.value = String(page + 1)
    input.max = String(pages())
    label.textContent = `of ${inDigits(pages())}`
    for (const button of buttons) button.disabled = pageOf(button) === page
  }
  const all = `${inDigits(total)} ${total === 1 ? 'row' : 'rows'}`
  const which =
    matches === null ? all : matches.length === 0 ? `None of ${all}` : `${inDigits(matches.length)} of ${all}`
  status.textContent = which + (pages() < 2 ? '' : `. Showing ${inDigits(from + 1)} to ${inDigits(to)}`)
}

function pageOf({ value }: HTMLButtonElement): number {
  if (value === 'first') return 0
  if (value === 'previous') return Math.max(0, page - 1)
  return value === 'next' ? Math.min(pages() - 1, page + 1) : pages() - 1
}

function turnTo(pageNumber: number): void {
  page = Math.min(Math.max(0, pageNumber), pages() - 1)
  show()
  status.focus({ preventScroll: true })
  finder.scrollIntoView()
}

/**
 * Searches for rows of the selected kind that contain every word of the search text, and shows the first page of
 * results. Yields regularly, so that the browser stays responsive.
 */
async function find(): Promise<void> {
  const mine = ++search
  const passes = cardTest(kind(), field.value)
  const hits: number[] = []
  for (let at = 0, since = performance.now(); passes !== null && at < sections.length; at++) {
    for (const [i, card] of cardsIn(sections[at]?.textContent ?? '').entries()) {
      if (passes(card)) hits.push(at * CARDS_PER_SECTION + i)
    }
    if (performance.now() - since < SLICE_MS) continue
    await new Promise((resolve) => setTimeout(resolve))
    if (mine !== search) return
    since = performance.now()
  }
  matches = passes === null ? null : hits
  page = 0
  show()
}

/** Shows the row that the fragment of the URL identifies. */
function showNamed(): void {
  const id = location.hash.slice(1)
  if (!/^line-\d+$/.test(id)) return
  if (document.getElementById(id) === null) {
    const at = [...sections].findIndex(({ textContent }) => isAt(textContent, id))
    if (at < 0) return
    const row = at * CARDS_PER_SECTION + cardsOf(at).findIndex((card) => isAt(card, id))
    if (matches !== null && !matches.includes(row)) wantAll()
    page = Math.floor((matches?.indexOf(row) ?? row) / CARDS_PER_PAGE)
    show()
  }
  // Scroll to the row, which didn't exist when the browser first looked for it.
  location.replace(`#${id}`)
}

function wantAll(): void {
  search++
  matches = null
  field.value = ''
  const all = document.querySelector<HTMLInputElement>('input#all')
  if (all !== null) all.checked = true
}

// Show the first page before the rest of the file is loaded.
const observer = new MutationObserver(() => {
  if (sections.length <= CARDS_PER_PAGE / CARDS_PER_SECTION) return
  observer.disconnect()
  total = CARDS_PER_PAGE
  show()
  status.textContent = 'Loading more rows'
})
observer.observe(pick('main'), { childList: true })

addEventListener('DOMContentLoaded', () => {
  observer.disconnect()
  if (sections.length === 0) return
  total = (sections.length - 1) * CARDS_PER_SECTION + cardsOf(sections.length - 1).length
  finder.hidden = total < 2
  // After a reload, browsers restore the selected kind and the search text.
  if (kind() !== null || field.value !== '') void find()
  else if (rows.firstChild === null) show()
  else describe(0, Math.min(total, CARDS_PER_PAGE))
  showNamed()
  addEventListener('hashchange', showNamed)
  finder.addEventListener('submit', (event) => event.preventDefault())
  let timer: number | undefined
  field.addEventListener('input', () => {
    clearTimeout(timer)
    timer = setTimeout(find, TYPING_MS)
  })
  document.querySelector('.filter')?.addEventListener('change', find)
  for (const { input, buttons } of bars) {
    for (const button of buttons) button.addEventListener('click', () => turnTo(pageOf(button)))
    input.addEventListener('change', () => turnTo(Number(input.value || 1) - 1))
  }
  // Print all matching rows instead of a single page.
  addEventListener('beforeprint', () => show(true))
  addEventListener('afterprint', () => show())
})
