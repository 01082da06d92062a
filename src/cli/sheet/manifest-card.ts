import { basename } from 'node:path'
import { formatTraitValue } from '../../api/traits.ts'
import type { ResultRow } from '../../batch/types.ts'
import { formatPlace } from '../../core/errors.ts'
import type { InvalidRow, ManifestIssue, ManifestRow } from '../../manifest/row.ts'
import { badge, card, toExtraRows } from './card.ts'
import { escapeHtml, isolateDirection, truncateText, webLink } from './html.ts'
import { imagePlaceholder, localImage, type PageLocation, remoteImage } from './image-of.ts'
import { TONE_BY_STATE } from './result-card.ts'

export interface ManifestCardOptions {
  place: PageLocation
  /** Whether the page loads images from the web. */
  remoteImages: boolean
}

/** A row's rank among the rows of its manifest, and its rarest traits. */
export interface CardRarity {
  rank: number
  rankedRows: number
  rarest: readonly string[]
}

const MAX_MESSAGE_CHARACTERS = 500

/**
 * Returns the card of a row, with the data to be minted.
 *
 * @param outcome the row's outcome in the manifest's run; null if it has none
 * @param rarity null if unknown
 */
export function rowCard(
  row: ManifestRow,
  { place, remoteImages }: ManifestCardOptions,
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
    where: renderOutcome(outcome) + renderLocation(line, id) + renderRank(rarity),
    title,
    description,
    tags: attribute.map((trait) => [trait.tag, formatTraitValue(trait)]),
    problems: outcome === null || outcome.error === null ? '' : errorList(outcome.error),
    more: [
      [
        'Rarest traits',
        rarity === null ? '' : isolateDirection(truncateText(rarity.rarest.join(', '), MAX_MESSAGE_CHARACTERS)),
      ],
      ['Receiver', `<code>${escapeHtml(receiver)}</code>`],
      ['First owner', sender === null ? '' : `<code>${escapeHtml(sender)}</code>`],
      ['Image', shownFile === undefined ? '' : fileText(shownFile)],
      ...otherFiles.map((file) => [truncateText(file.key, 100), fileText(file)] as const),
      ...toExtraRows(metadata),
    ],
  })
}

const renderRank = (rarity: CardRarity | null): string =>
  rarity === null ? '' : `<span title="Rank by rarity">rank ${rarity.rank} of ${rarity.rankedRows}</span>`

/** Returns the outcome of a row as HTML; an empty string if the row wasn't sent. */
function renderOutcome(outcome: ResultRow | null): string {
  if (outcome === null || outcome.status === 'pending') return ''
  const { status, token_id } = outcome
  const token = token_id === null ? '' : `<span>token ${escapeHtml(truncateText(token_id, 50))}</span>`
  return badge(status, TONE_BY_STATE[status]) + token
}

const errorList = (error: string) =>
  `<ul class="problems"><li>${isolateDirection(truncateText(error, MAX_MESSAGE_CHARACTERS))}</li></ul>\n`

function fileText({ url, path }: { url: string; path: string | undefined }): string {
  return path === undefined ? webLink(url, truncateText(url, 200)) : escapeHtml(basename(path))
}

/** Returns the card of a row with problems, or of another place in the manifest. */
export function invalidRowCard(
  issues: readonly ManifestIssue[],
  invalidRow: InvalidRow | undefined,
  { place }: ManifestCardOptions,
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
    where: renderLocation(line, null),
    title: title ?? (invalidRow !== undefined ? 'No title' : line > 1 ? 'Unreadable row' : 'The manifest itself'),
    description: '',
    tags: [],
    problems: `<ul class="problems">${issues.map(renderIssue).join('')}</ul>\n`,
    more: [],
  })
}

function renderIssue({ place, message, hint }: ManifestIssue): string {
  const { line, column, field } = place
  const at = [line, column].filter((part) => part !== undefined).join(':')
  // Most messages already begin with the field.
  const name = field === undefined || message.startsWith(field) ? '' : ` ${truncateText(field, 60)}`
  const where = at === '' ? formatPlace(place) : at + name
  const hintHtml =
    hint === undefined ? '' : `<span class="hint">${escapeHtml(truncateText(hint, MAX_MESSAGE_CHARACTERS))}</span>`
  return `<li><code>${escapeHtml(where)}</code> ${isolateDirection(truncateText(message, MAX_MESSAGE_CHARACTERS))}${hintHtml}</li>`
}

function renderLocation(line: number, id: string | null): string {
  const name = id === null ? '' : `<span title="${escapeHtml(id)}">ID ${isolateDirection(truncateText(id, 60))}</span>`
  return `<a href="#line-${line}">line ${line}</a>${name}`
}
