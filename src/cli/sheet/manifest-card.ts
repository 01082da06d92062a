import { basename } from 'node:path'
import { shownValue } from '../../api/traits.ts'
import type { ResultRow } from '../../batch/types.ts'
import { formatPlace } from '../../core/errors.ts'
import type { InvalidRow, ManifestIssue, ManifestRow } from '../../manifest/row.ts'
import { badge, card, extrasOf } from './card.ts'
import { beginningOf, escapeHtml, ownDirection, webLink } from './html.ts'
import { imagePlaceholder, localImage, type PagePlace, remoteImage } from './image-of.ts'
import { TONES } from './result-card.ts'

export interface ManifestCards {
  place: PagePlace
  /** Whether the page loads images from the web. */
  remoteImages: boolean
}

/** A row's rank among the rows of its manifest, and its rarest traits. */
export interface CardRarity {
  rank: number
  of: number
  rarest: readonly string[]
}

const MAX_MESSAGE = 500

/**
 * Returns the card of a row, with the data to be minted.
 *
 * @param outcome the row's outcome in the manifest's run; null if it has none
 * @param rarity null if unknown
 */
export function rowCard(
  row: ManifestRow,
  { place, remoteImages }: ManifestCards,
  outcome: ResultRow | null = null,
  rarity: CardRarity | null = null,
): string {
  const { line, id, receiver, sender, metadata, localFiles } = row
  const { title, description, file_fields, attribute = [] } = metadata
  const paths = new Map(localFiles.map(({ key, path }) => [key, path]))
  const files = file_fields.map(({ key, url }) => ({ key, url, path: paths.get(key) }))
  const shownFile = files.find(({ key }) => key === 'image')
  const otherFiles = files.filter((file) => file !== shownFile)
  return card({
    id: `line-${line}`,
    classes: `is-good ${outcome === null || outcome.status === 'pending' ? 'is-new' : 'is-sent'}`,
    image:
      shownFile === undefined
        ? imagePlaceholder('No image')
        : shownFile.path === undefined
          ? remoteImage(shownFile.url, title, remoteImages)
          : localImage(place, shownFile.path, title),
    where: outcomeOf(outcome) + whereOf(line, id) + rankOf(rarity),
    title,
    description,
    tags: attribute.map((trait) => [trait.tag, shownValue(trait)]),
    problems: outcome === null || outcome.error === null ? '' : errorList(outcome.error),
    more: [
      ['Rarest traits', rarity === null ? '' : ownDirection(beginningOf(rarity.rarest.join(', '), MAX_MESSAGE))],
      ['Receiver', `<code>${escapeHtml(receiver)}</code>`],
      ['First owner', sender === null ? '' : `<code>${escapeHtml(sender)}</code>`],
      ['Image', shownFile === undefined ? '' : fileText(shownFile)],
      ...otherFiles.map((file) => [beginningOf(file.key, 100), fileText(file)] as const),
      ...extrasOf(metadata),
    ],
  })
}

const rankOf = (rarity: CardRarity | null): string =>
  rarity === null ? '' : `<span title="Rank by rarity">rank ${rarity.rank} of ${rarity.of}</span>`

/** Returns the outcome of a row as HTML; an empty string if the row wasn't sent. */
function outcomeOf(outcome: ResultRow | null): string {
  if (outcome === null || outcome.status === 'pending') return ''
  const { status, token_id } = outcome
  const token = token_id === null ? '' : `<span>token ${escapeHtml(beginningOf(token_id, 50))}</span>`
  return badge(status, TONES[status]) + token
}

const errorList = (error: string) =>
  `<ul class="problems"><li>${ownDirection(beginningOf(error, MAX_MESSAGE))}</li></ul>\n`

function fileText({ url, path }: { url: string; path: string | undefined }): string {
  return path === undefined ? webLink(url, beginningOf(url, 200)) : escapeHtml(basename(path))
}

/** Returns the card of a row with problems, or of another place in the manifest. */
export function invalidRowCard(
  issues: readonly ManifestIssue[],
  invalidRow: InvalidRow | undefined,
  { place }: ManifestCards,
): string {
  const [first] = issues
  const line = invalidRow?.line ?? first?.place.line ?? 1
  const title = invalidRow?.title ?? null
  const path = invalidRow?.localFiles.find(({ key }) => key === 'image')?.path
  return card({
    id: `line-${line}`,
    classes: 'faulty is-bad',
    image:
      path === undefined
        ? imagePlaceholder(invalidRow === undefined ? 'Not a row' : 'No image to show')
        : localImage(place, path, title ?? ''),
    where: whereOf(line, null),
    title: title ?? (invalidRow !== undefined ? 'No title' : line > 1 ? 'Unreadable row' : 'The manifest itself'),
    description: '',
    tags: [],
    problems: `<ul class="problems">${issues.map(problem).join('')}</ul>\n`,
    more: [],
  })
}

function problem({ place, message, hint }: ManifestIssue): string {
  const { line, column, field } = place
  const at = [line, column].filter((part) => part !== undefined).join(':')
  // Most messages already begin with the field.
  const name = field === undefined || message.startsWith(field) ? '' : ` ${beginningOf(field, 60)}`
  const where = at === '' ? formatPlace(place) : at + name
  const hintHtml = hint === undefined ? '' : `<span class="hint">${escapeHtml(beginningOf(hint, MAX_MESSAGE))}</span>`
  return `<li><code>${escapeHtml(where)}</code> ${ownDirection(beginningOf(message, MAX_MESSAGE))}${hintHtml}</li>`
}

function whereOf(line: number, id: string | null): string {
  const name = id === null ? '' : `<span title="${escapeHtml(id)}">ID ${ownDirection(beginningOf(id, 60))}</span>`
  return `<a href="#line-${line}">line ${line}</a>${name}`
}
