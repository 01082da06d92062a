import { layersText } from '../../art/describe.ts'
import type { EditionReport, LayerReport, RuleReport, ValueReport } from '../../art/edition-report.ts'
import { count } from '../../core/count.ts'
import { groupDigits } from '../../core/group-digits.ts'
import { formatPercent, METHOD_TEXT } from '../../marketplace/rarity.ts'
import { badge, card } from '../sheet/card.ts'
import { definitions, escapeHtml, isolateDirection, truncateText } from '../sheet/html.ts'
import { image, imagePlaceholder } from '../sheet/image-of.ts'
import { PAGE_END, pageHead, stats } from '../sheet/page.ts'
import { VERSION } from '../version.ts'
import { ART_STYLE } from './page-style.ts'

export interface PageNft {
  number: number
  title: string
  attributes: readonly (readonly [tag: string, value: string])[]
  /** The image as a data URL; null if the page doesn't show it. */
  image: string | null
  isOneOfOne: boolean
  /** The NFT's rank and rarest traits; null if no trait counts toward rarity. */
  rarity: { rank: number; score: number; rarest: readonly string[] } | null
}

export interface EditionPage {
  /** The collection name, or the file name if the collection has none. */
  name: string
  /** The path of `art.yaml`. */
  file: string
  seed: string
  size: number
  report: EditionReport
  /** Groups of NFTs with images, such as the rarest. */
  groups: readonly { heading: string; nfts: readonly PageNft[] }[]
  oneOfOnes: { total: number; nfts: readonly PageNft[] }
  /** The rarest NFTs, in descending order of rarity. */
  rarest: readonly PageNft[]
}

const MAX_NAME_LENGTH = 300
const MAX_VALUE_LENGTH = 200

/** Returns the HTML of a page about an edition. The page embeds its images, runs no script and loads no other file. */
export function editionPage(page: EditionPage): string {
  const { name, file, seed, size, report, groups, oneOfOnes } = page
  const values = report.layers.flatMap((layer) => layer.values)
  const deviating = values.filter(({ wanted, made }) => wanted !== made).length
  const figures = stats([
    [groupDigits(size), size === 1 ? 'NFT' : 'NFTs'],
    [groupDigits(report.layers.length), report.layers.length === 1 ? 'layer' : 'layers'],
    [groupDigits(report.rules.length), report.rules.length === 1 ? 'rule' : 'rules'],
    [groupDigits(oneOfOnes.total), oneOfOnes.total === 1 ? 'one-of-one' : 'one-of-ones'],
    deviating === 0
      ? ['All', 'weights met', 'good']
      : [
          groupDigits(deviating),
          deviating === 1 ? 'trait count differs from its weight' : 'trait counts differ from their weights',
          'busy',
        ],
  ])
  const facts = definitions([
    ['File', `<code>${escapeHtml(truncateText(file, MAX_NAME_LENGTH))}</code>`],
    ['Seed', `<code>${escapeHtml(truncateText(seed, MAX_NAME_LENGTH))}</code>`],
    ['Made by', escapeHtml(`gdn ${VERSION}`)],
  ])
  return `${pageHead({ kind: 'art', title: `${name}: art`, images: 'data:', style: ART_STYLE, hasScript: false })}<header>
<p class="kicker">Art from layers</p>
<h1 dir="auto">${escapeHtml(truncateText(name, MAX_NAME_LENGTH))}</h1>
${figures}${facts}
</header>
<main>
${groups.map(groupPart).join('')}${traitsPart(report, oneOfOnes.total)}${rulesPart(report)}${oneOfOnesPart(oneOfOnes)}${rarityPart(page)}${PAGE_END}`
}

const text = (value: string) => isolateDirection(truncateText(value, MAX_VALUE_LENGTH))

function groupPart({ heading, nfts }: EditionPage['groups'][number], index: number): string {
  if (nfts.length === 0) return ''
  const cards = nfts.map((nft) => nftCard(nft, `g${index}-${nft.number}`))
  return `<h2>${escapeHtml(heading)}</h2>\n<section aria-label="${escapeHtml(heading)}">${cards.join('')}</section>\n`
}

function nftCard(
  { number: nftNumber, title, attributes, image: source, isOneOfOne, rarity }: PageNft,
  id: string,
): string {
  const rank = rarity === null ? '' : badge(`Rank ${groupDigits(rarity.rank)}`, '')
  return card({
    ...{ id, classes: '', title, description: '', problems: '' },
    image: source === null ? imagePlaceholder('No image') : image(source, title),
    where: `<span>#${nftNumber}</span>${isOneOfOne ? badge('One-of-one', 'good') : ''}${rank}`,
    tags: attributes,
    more: rarity === null ? [] : [['Rarest traits', escapeHtml(rarity.rarest.join(', '))]],
  })
}

interface Column {
  name: string
  isNumber?: boolean
}

const numberColumn = (name: string): Column => ({ name, isNumber: true })

/** Returns a table. The cells are HTML, and the first cell of each row is its heading. */
function table(caption: string, columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const kind = (index: number) => (columns[index]?.isNumber === true ? ' class="number"' : '')
  const head = columns.map(({ name }, index) => `<th scope="col"${kind(index)}>${escapeHtml(name)}</th>`)
  const body = rows.map(([first = '', ...cells]) => {
    const dataCells = cells.map((cell, index) => `<td${kind(index + 1)}>${cell}</td>`)
    return `<tr><th scope="row"${kind(0)}>${first}</th>${dataCells.join('')}</tr>`
  })
  return `<div class="panel" tabindex="0" role="group" aria-label="${escapeHtml(caption)}"><table><caption>${text(caption)}</caption><thead><tr>${head.join('')}</tr></thead><tbody>${body.join('')}</tbody></table></div>\n`
}

function traitsPart({ generated, layers }: EditionReport, ones: number): string {
  const columns = [
    { name: 'Trait' },
    numberColumn('Requested'),
    numberColumn('Made'),
    numberColumn('Share'),
    { name: 'Distribution' },
  ]
  const valueCells = (value: ValueReport): string[] => {
    const { trait, isExact, wanted, made } = value
    const share = generated === 0 ? 0 : made / generated
    const difference = made - wanted
    const off =
      difference === 0
        ? ''
        : ` ${badge(difference > 0 ? `+${groupDigits(difference)}` : groupDigits(difference), 'busy')}`
    return [
      trait === null ? '<i>Not shown</i>' : text(trait),
      `${groupDigits(wanted)}${isExact ? ` ${badge('exact', '')}` : ''}`,
      `${groupDigits(made)}${off}`,
      formatPercent(share),
      shareCell(share),
    ]
  }
  const tables = layers.map(({ layer, values }: LayerReport) => table(layer, columns, values.map(valueCells)))
  return `<h2>Traits</h2>
<p class="note">The tables show how many NFTs were requested and made with each trait. The edition has ${layersText(generated, ones)}.</p>
<div class="tables">${tables.join('')}</div>
`
}

/** Returns a bar that shows a share. The number next to the bar shows the same value. */
const shareCell = (share: number): string =>
  `<div class="bar" aria-hidden="true"><svg viewBox="0 0 100 1" preserveAspectRatio="none"><rect class="some" width="${(share * 100).toFixed(2)}" height="1"/></svg></div>`

function rulesPart({ rules, reasons }: EditionReport): string {
  if (rules.length === 0) return ''
  const rows = rules.map(({ text: rule, line, forbidden, applies, isBinding }: RuleReport) => [
    `${text(rule)}${isBinding ? ` ${badge('binding', 'busy')}` : ''}`,
    line === null ? '' : groupDigits(line),
    groupDigits(applies),
    formatPercent(forbidden),
  ])
  const columns = [{ name: 'Rule' }, numberColumn('Line'), numberColumn('Applies to'), numberColumn('Forbids')]
  const items = reasons.map((reason) => `<li>${text(reason.text)}</li>`)
  const why =
    reasons.length === 0
      ? ''
      : `<div class="reasons"><p>The weights can't be met, because these rules and counts contradict each other</p><ul>${items.join('')}</ul></div>\n`
  return `<h2>Rules</h2>
<p class="note">A rule applies to the NFTs that have a trait in its <code>if</code>. The last column shows the share of all combinations that the rule alone forbids.</p>
${why}<div class="tables wide">${table('Rules of this edition', columns, rows)}</div>
`
}

function oneOfOnesPart({ total, nfts }: EditionPage['oneOfOnes']): string {
  if (nfts.length === 0) return ''
  const cards = nfts.map((nft) => nftCard(nft, `one-${nft.number}`))
  const notShown = total - nfts.length
  const more = notShown > 0 ? `<p class="note">and ${count(notShown, 'more one-of-one')}</p>\n` : ''
  return `<h2>One-of-ones</h2>\n<section aria-label="One-of-ones">${cards.join('')}</section>\n${more}`
}

function rarityPart({ rarest }: EditionPage): string {
  const ranked = rarest.flatMap((nft) => (nft.rarity === null ? [] : [{ ...nft, rarity: nft.rarity }]))
  if (ranked.length === 0) return ''
  const rows = ranked.map(({ number: nftNumber, title, rarity }) => [
    groupDigits(rarity.rank),
    `#${nftNumber}`,
    text(title),
    rarity.score.toFixed(2),
    text(rarity.rarest.join(', ')),
  ])
  const columns = [
    numberColumn('Rank'),
    numberColumn('NFT'),
    { name: 'Title' },
    numberColumn('Score'),
    { name: 'Rarest traits' },
  ]
  return `<h2>Rarity</h2>
<p class="note">${escapeHtml(METHOD_TEXT)} Typed traits are not scored.</p>
<div class="tables wide">${table('The rarest NFTs', columns, rows)}</div>
`
}
