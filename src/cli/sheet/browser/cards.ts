/** Splits the HTML of a section into cards. */
export const cardsIn = (section: string): string[] =>
  section.slice(section.indexOf('<article '), section.lastIndexOf('</section>')).split(/\n(?=<article )/)

const CHARACTERS: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }

/** Returns the lower-case text of a card. Omits the labels of collapsed details. */
const visibleText = (card: string): string =>
  card
    .replace(/<summary>.*?<\/summary>|<[^>]*>/g, ' ')
    .replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => CHARACTERS[name] ?? '')
    .toLowerCase()

/** Returns whether the HTML of a card or section contains the card with an ID, such as `line-12`. */
export const isAt = (card: string, id: string): boolean => card.includes(` id="${id}"`)

/**
 * Returns a test for cards that have the given kind and contain every word of the text. The text `line 12` matches the
 * row on that line. Returns null if all cards would pass.
 *
 * @param kind a class of cards; null for all
 */
export function cardTest(kind: string | null, text: string): ((card: string) => boolean) | null {
  const searchText = text.trim().toLowerCase()
  if (kind === null && searchText === '') return null
  const ofKind = kind === null ? null : new RegExp(`^<article class="[^"]*\\b${kind}\\b`)
  const line = /^line (\d+)$/.exec(searchText)
  const words = searchText.split(/\s+/).filter((word) => word !== '')
  const hasWords = (content: string) => words.every((word) => content.includes(word))
  return (card) => {
    if (ofKind !== null && !ofKind.test(card)) return false
    if (line !== null) return isAt(card, `line-${line[1]}`)
    return words.length === 0 || hasWords(visibleText(card))
  }
}
