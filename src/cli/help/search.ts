import { EXIT_BY_CODE } from '../../core/errors.ts'
import { ERRORS_PAGE } from '../render/docs-site.ts'
import { type PageSection, readSections, removeMarkup, sectionName } from './sections.ts'
import { findSetupSection } from './setup-section.ts'

/** A section that matches a question. */
export interface FoundSection extends PageSection {
  /** The sentence with the best match. */
  excerpt: string
  /** The section whose commands the reader must run first; undefined if there is none. */
  setup: PageSection | undefined
}

const MAX_RESULTS = 3

/** Pages for contributors and maintainers. Matches on these pages count less. */
const CONTRIBUTOR_PAGES = new Set(['architecture.md', 'benchmarks.md', 'releasing.md'])
/** Matches the pages of commands. All of them list similar flags, so matches on these pages count less. */
const COMMAND_PAGE_PATTERN = /^commands\//

/** The page that defines terms, in tables whose first column contains the term. */
const GLOSSARY_PAGE = 'glossary.md'

const HEADING_WEIGHT = 6
const TITLE_WEIGHT = 2
/** The weight of a section whose heading is the question, or that defines the term of the question. */
const ANSWER_WEIGHT = 3
/** Weights of pages that are less likely to answer a question. */
const CONTRIBUTOR_PAGE_WEIGHT = 0.3
const COMMAND_PAGE_WEIGHT = 0.7
/**
 * The usual parameters k1 and b of the ranking function BM25. SATURATION limits the effect of a repeated term, and
 * LENGTH_NORMALIZATION the advantage of a long section.
 */
const SATURATION = 1.2
const LENGTH_NORMALIZATION = 0.75

/** Words that are in most questions or on most pages. The search ignores them. */
const STOP_WORDS = new Set(
  (
    'a about all also am an and any are as at be been but by can cannot could did do does doing don doesn for forever from gdn ' +
    'get gets got had has have how i if in into is isn it its many me more much my no not of on or other our out should so ' +
    'some someone such than that the their them then there these they this to too up use used using was we were what when where ' +
    'which while who why will with won would wrong you your'
  ).split(' '),
)

/** Matches an address in a pasted error, such as `127.0.0.1:4680`. Pages about many subjects contain such addresses. */
const IP_ADDRESS = /\b\d+(?:\.\d+){3}(?::\d+)?\b/g

/** Groups of synonyms in questions. A synonym counts less than the word itself. */
const SYNONYMS = [
  ['abort', 'crash', 'ctrl', 'die', 'died', 'interrupt', 'kill', 'killed'],
  ['delay', 'hide', 'hidden', 'launch', 'reveal', 'unrevealed'],
  ['airdrop', 'send', 'transfer'],
  ['change', 'edit', 'modify', 'update'],
  ['attribute', 'property', 'trait'],
  ['coin', 'fund', 'gas'],
  ['pending', 'stuck', 'wait'],
  ['airdrop', 'holder', 'receiver', 'recipient'],
  ['artwork', 'image', 'photo', 'picture'],
  ['opensea', 'marketplace'],
]
const SYNONYM_WEIGHT = 0.4

/**
 * Returns at most three sections of the documentation, the best matches first. If the words are an error code, the name
 * of a section, or a path, this section is first. Reads all pages, which takes less time than starting Node.js.
 */
export async function searchHelp(words: readonly string[], docs?: string): Promise<FoundSection[]> {
  const sections = await readSections(docs)
  const question = words.join(' ')
  const ranked = rank(sections, question)
  const code = words.join('_').replaceAll('-', '_').toLowerCase()
  const exactSection = Object.hasOwn(EXIT_BY_CODE, code)
    ? findErrorCodeSection(sections, code)
    : (findSectionByPath(sections, question) ?? findSectionByName(sections, question))
  const otherSections = ranked.filter((section) => section !== exactSection)
  const best = (exactSection === undefined ? otherSections : [exactSection, ...otherSections]).slice(0, MAX_RESULTS)
  const terms = new Set(toTerms(question))
  return best.map((section) => ({
    ...section,
    excerpt: findExcerpt(section, terms),
    setup: findSetupSection(sections, section),
  }))
}

/** Returns the section that explains an error code: the one with the code in its heading, or else in a table. */
export function findErrorCodeSection(sections: readonly PageSection[], code: string): PageSection | undefined {
  const onPage = sections.filter(({ page }) => page === ERRORS_PAGE)
  return (
    onPage.find(({ heading }) => heading === code) ??
    onPage.find(({ markdown }) => new RegExp(`^\\|[^|]*\`${code}\``, 'm').test(markdown))
  )
}

/** Returns the section at a path, such as `drops.md`, `docs/drops.md` or `docs/drops.md#failed-rows`. */
function findSectionByPath(sections: readonly PageSection[], path: string): PageSection | undefined {
  const [, page, anchor = ''] = /^(?:docs\/)?([\w/-]+\.md)(?:#(.*))?$/.exec(path) ?? []
  return sections.find((section) => section.page === page && section.anchor === anchor)
}

/** Returns the section with a name, such as `Troubleshooting › Images don't load`. Ignores case and punctuation. */
function findSectionByName(sections: readonly PageSection[], name: string): PageSection | undefined {
  const wantedName = splitWords(name).join(' ')
  return sections.find((section) => splitWords(sectionName(section)).join(' ') === wantedName)
}

/** Ranks sections with BM25. Words in headings, symptoms and titles count several times. */
function rank(sections: readonly PageSection[], question: string): PageSection[] {
  const terms = [...new Set(toTerms(question))]
  if (terms.length === 0) return []
  const isDefinition = /^what (?:is|are)\b/i.test(question)
  const synonyms = terms.map((term) => findSynonyms(term).filter((synonym) => !terms.includes(synonym)))
  const sectionCounts = sections.map((section) => {
    const body = toStems(section.markdown)
    const headings = [section.heading, ...parseSymptoms(section)].map(toStems)
    const title = section.anchor === '' ? [] : toStems(section.pageTitle)
    const frequencyOf = (term: string) =>
      countOccurrences(body, term) +
      HEADING_WEIGHT * countOccurrences(headings.flat(), term) +
      TITLE_WEIGHT * countOccurrences(title, term)
    const frequencies = terms.map((term, i) =>
      (synonyms[i] ?? []).reduce((sum, synonym) => sum + SYNONYM_WEIGHT * frequencyOf(synonym), frequencyOf(term)),
    )
    return {
      section,
      frequencies,
      length: body.length,
      isNamed: headings.some((heading) => consistsOf(terms, heading, title)) || namesPage(section, terms),
    }
  })
  const average = sectionCounts.reduce((sum, { length }) => sum + length, 0) / Math.max(1, sectionCounts.length)
  const rarity = terms.map((_, i) => {
    const having = sectionCounts.reduce((sum, { frequencies }) => sum + Math.min(1, frequencies[i] ?? 0), 0)
    return Math.log(1 + (sectionCounts.length - having + 0.5) / (having + 0.5))
  })
  return sectionCounts
    .map(({ section, frequencies, length, isNamed }) => {
      const saturation = SATURATION * (1 - LENGTH_NORMALIZATION + (LENGTH_NORMALIZATION * length) / average)
      const sum = frequencies.reduce(
        (all, n, i) => all + ((rarity[i] ?? 0) * n * (SATURATION + 1)) / (n + saturation),
        0,
      )
      const matched = frequencies.filter((n) => n > 0).length / terms.length
      const isAnswer = isNamed || (isDefinition && hasDefinition(section, terms))
      return { section, score: sum * matched * toPageWeight(section.page) * (isAnswer ? ANSWER_WEIGHT : 1) }
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .map(({ section }) => section)
}

/** Matches a sentence that lists phrases as users would type them. The phrases count as headings of the section. */
const SYMPTOMS = /^Symptoms: ([^.]+)\.\s*/m

const parseSymptoms = ({ markdown }: PageSection): string[] => SYMPTOMS.exec(markdown)?.[1]?.split(',') ?? []

function toPageWeight(page: string): number {
  if (CONTRIBUTOR_PAGES.has(page)) return CONTRIBUTOR_PAGE_WEIGHT
  return COMMAND_PAGE_PATTERN.test(page) ? COMMAND_PAGE_WEIGHT : 1
}

const countOccurrences = (stems: readonly string[], term: string) =>
  stems.reduce((n, stem) => (stem === term ? n + 1 : n), 0)

/** Returns whether a question consists of the words of a heading, with or without the page title. */
function consistsOf(terms: readonly string[], heading: readonly string[], title: readonly string[]): boolean {
  const headingStems = new Set(heading.filter((stem) => !STOP_WORDS.has(stem)))
  const all = new Set([...headingStems, ...title])
  return terms.every((term) => all.has(term)) && [...headingStems].every((stem) => terms.includes(stem))
}

/** Returns whether a question is the file name of a page, and the section is the beginning of this page. */
const namesPage = ({ page, anchor }: PageSection, terms: readonly string[]): boolean =>
  anchor === '' && consistsOf(terms, toStems(page.replace(/\.md$/, '')), [])

/** Returns whether a glossary section has a row for a term. */
const hasDefinition = ({ page, markdown }: PageSection, terms: readonly string[]): boolean =>
  page === GLOSSARY_PAGE &&
  [...markdown.matchAll(/^\| ([^|]+) \|/gm)].some(([, term = '']) => consistsOf(terms, toStems(term), []))

/** Returns the stems of the significant words in a question. */
function toTerms(question: string): string[] {
  return splitWords(question.replaceAll(IP_ADDRESS, ' '))
    .filter((word) => !STOP_WORDS.has(word))
    .map(findStem)
}

/** Returns the stems of a term's synonyms. */
function findSynonyms(term: string): string[] {
  const groups = SYNONYMS.map((words) => words.map(findStem)).filter((group) => group.includes(term))
  return [...new Set(groups.flat())].filter((synonym) => synonym !== term)
}

const toStems = (text: string) => splitWords(text).map(findStem)

/** Splits text into lower-case words. For a name such as `seems_minted`, returns both the name and its parts. */
function splitWords(text: string): string[] {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+(?:_[\p{L}\p{N}]+)*/gu) ?? []
  return words
    .flatMap((word) => (word.includes('_') ? [word, ...word.split('_')] : word))
    .filter((word) => word.length > 1 || /\d/.test(word))
}

/** A cache of stems by word. It stays small, because the pages contain few distinct words. */
const stemCache = new Map<string, string>()

function findStem(word: string): string {
  const stemmed = stemCache.get(word) ?? stem(word)
  stemCache.set(word, stemmed)
  return stemmed
}

/** Removes the endings of plurals and verbs, so that `nonces` matches `nonce`, and `minting` matches `minted`. */
function stem(word: string): string {
  if (word.length < 4 || word.includes('_')) return word
  const singular = word.replace(/ies$/, 'y').replace(/([^s])s$/, '$1')
  const base = singular.replace(/([aeiouy].*)(?:ing|ed)$/, '$1').replace(/([^aeiouls])\1$/, '$1')
  return (base.length < 3 ? singular : base).replace(/(.{2})e$/, '$1')
}

/** Returns the sentence with the most terms in a section, or else the first sentence. */
function findExcerpt({ markdown }: PageSection, terms: ReadonlySet<string>): string {
  const sentences = markdown
    .replace(SYMPTOMS, '')
    .replaceAll(/^ *(```|~~~).*?^ *\1$/gms, '')
    .split(/\n{2,}|\n(?=[|-])|(?<=[.!?])\s+/)
    .map((text) =>
      removeMarkup(text.replace(/^[|\s-]+|[|\s]+$/g, '').replaceAll(/\s*\|\s*/g, ': '))
        .replaceAll(/\s+/g, ' ')
        .trim(),
    )
    .filter((text) => /\p{L}/u.test(text))
  const countOf = (text: string) => new Set(toStems(text).filter((stem) => terms.has(stem))).size
  return sentences.reduce((best, text) => (countOf(text) > countOf(best) ? text : best), sentences[0] ?? '')
}
