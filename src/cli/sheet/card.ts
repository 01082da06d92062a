import { METADATA_KEYS } from '../../api/metadata-keys.ts'
import { definitions, escapeHtml, isolateDirection, truncateText } from './html.ts'
import type { Tone } from './page.ts'

const MAX_TITLE_CHARACTERS = 1000
const MAX_DESCRIPTION_CHARACTERS = 2000
const MAX_VALUE_CHARACTERS = 300
const MAX_TAGS = 24
/** Length of a title that fits in about three lines of a card. Longer ones are clamped, and repeated in the details. */
const LONG_TITLE_CHARACTERS = 70
const LONG_DESCRIPTION_CHARACTERS = 110

type Metadata = Readonly<Record<string, unknown>>

export interface Card {
  /** Fragment for links to the card. It contains only letters, digits and dashes. */
  id: string
  classes: string
  /** HTML of the image. */
  image: string
  /** HTML of the line number and the state. */
  where: string
  title: string
  description: string
  tags: readonly (readonly [string, string])[]
  /** HTML of the list of problems. */
  problems: string
  /** Details. The terms are text, and the values are HTML. */
  more: readonly (readonly [string, string])[]
  /** HTML at the bottom of the card. */
  after?: string
}

/** Returns the HTML of the card of an NFT. */
export function card({
  id,
  classes,
  image,
  where,
  title,
  description,
  tags,
  problems,
  more,
  after = '',
}: Card): string {
  const whole: [string, string][] = []
  if (title.length > LONG_TITLE_CHARACTERS)
    whole.push(['Title', isolateDirection(truncateText(title, MAX_TITLE_CHARACTERS))])
  if (description.length > LONG_DESCRIPTION_CHARACTERS) {
    whole.push(['Description', isolateDirection(truncateText(description, MAX_DESCRIPTION_CHARACTERS))])
  }
  const rest = definitions([...whole, ...more])
  const beginning = truncateText(description, MAX_DESCRIPTION_CHARACTERS)
  return `<article class="card ${classes}" id="${id}">
<div class="image">${image}</div>
<div class="text">
<p class="where">${where}</p>
<h2 class="clamp" dir="auto">${escapeHtml(truncateText(title, MAX_TITLE_CHARACTERS))}</h2>
${description === '' ? '' : `<p class="description clamp" dir="auto">${escapeHtml(beginning)}</p>\n`}${problems}${tagList(tags)}${rest === '' ? '' : `<details><summary>More</summary>${rest}</details>\n`}${after}</div>
</article>
`
}

function tagList(tags: Card['tags']): string {
  if (tags.length === 0) return ''
  const items = tags.slice(0, MAX_TAGS).map(([tag, value]) => {
    const [shownTag, shownValue] = [truncateText(tag, MAX_VALUE_CHARACTERS), truncateText(value, MAX_VALUE_CHARACTERS)]
    return `<li><span>${isolateDirection(shownTag)}</span> ${isolateDirection(shownValue)}</li>`
  })
  if (tags.length > MAX_TAGS) items.push(`<li><span>and ${tags.length - MAX_TAGS} more</span></li>`)
  return `<ul class="tags">${items.join('')}</ul>\n`
}

const MAX_EXTRAS = 30

/** Returns the metadata that a card doesn't show elsewhere, by key. The values are HTML. */
export function toExtraRows(metadata: Metadata): [string, string][] {
  const extras = Object.entries(metadata).filter(([key]) => !METADATA_KEYS.has(key))
  return extras
    .slice(0, MAX_EXTRAS)
    .map(([key, value]) => [
      truncateText(key, MAX_VALUE_CHARACTERS),
      isolateDirection(truncateText(typeof value === 'string' ? value : JSON.stringify(value), MAX_VALUE_CHARACTERS)),
    ])
}

export const badge = (text: string, tone: Tone) => `<span class="badge ${tone}">${escapeHtml(text)}</span>`
