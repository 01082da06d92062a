/** Returns the HTML of each card in the text of a section. */
export const cardsIn = (section: string): string[] =>
  section.slice(section.indexOf('<article '), section.lastIndexOf('</section>')).split(/\n(?=<article )/)

const CHARACTERS: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }

/** Returns the text of a card in lower case, without the summaries of collapsed details. */
const textOf = (card: string): string =>
  card
    .replace(/<summary>.*?<\/summary>|<[^>]*>/g, ' ')
    .replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => CHARACTERS[name] ?? '')
    .toLowerCase()

/** Returns whether a card is for the row at a line of the manifest (`line-12`). */
export const isAt = (card: string, id: string): boolean => card.includes(` id="${id}"`)

/**
 * Returns a test for cards of the kind with every word of the text, or null if all cards pass. `line 12` matches the
 * row at that line.
 *
 * @param kind a class of the card, or null for all kinds
 */
export function cardTest(kind: string | null, text: string): ((card: string) => boolean) | null {
  const wanted = text.trim().toLowerCase()
  if (kind === null && wanted === '') return null
  const ofKind = kind === null ? null : new RegExp(`^<article class="[^"]*\\b${kind}\\b`)
  const line = /^line (\d+)$/.exec(wanted)
  const words = wanted.split(/\s+/).filter((word) => word !== '')
  const hasWords = (content: string) => words.every((word) => content.includes(word))
  return (card) => {
    if (ofKind !== null && !ofKind.test(card)) return false
    if (line !== null) return isAt(card, `line-${line[1]}`)
    return words.length === 0 || hasWords(textOf(card))
  }
}
