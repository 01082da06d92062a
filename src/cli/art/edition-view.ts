import { buildReport, type EditionReport } from '../../art/edition-report.ts'
import { buildAttributes, formatTexts } from '../../art/generate/manifest-rows.ts'
import type { Edition, EditionItem } from '../../art/types.ts'
import { SeededRandom } from '../../core/random-words.ts'
import { MAX_RAREST_TRAITS, type Ranking, Rarity, traitText } from '../../marketplace/rarity.ts'
import { editionPage, type PageNft } from './edition-page.ts'

/** Maximum number of NFTs in each of the groups `rarest` and `commonest`. */
const MAX_EXTREMES = 4
/** Number of NFTs in the table of the rarest NFTs. */
const MAX_RANKED_NFTS = 20
/** Maximum number of one-of-ones on a page. */
const MAX_ONE_OF_ONES = 24

/** Representative NFTs of an edition. No NFT is in two groups. */
export interface RepresentativeNfts {
  rarest: readonly EditionItem[]
  commonest: readonly EditionItem[]
  /** A random sample, derived from the seed. */
  sample: readonly EditionItem[]
}

/** An edition with the rarity of its NFTs, for display. */
export class EditionView {
  readonly edition: Edition
  readonly #ranking: Ranking

  constructor(edition: Edition) {
    this.edition = edition
    const rarity = new Rarity()
    for (const item of edition.items) rarity.add(toRankedAttributes(edition, item))
    this.#ranking = rarity.rank()
  }

  /**
   * Selects representative NFTs of the edition.
   *
   * @param items the NFTs to select from, in the order of their numbers
   */
  pick(size: number, items: readonly EditionItem[] = this.edition.items): RepresentativeNfts {
    const chosen = new Set(items.map(({ number }) => number - 1))
    const order = this.#ranking.hasScores ? this.#ranking.order.filter((index) => chosen.has(index)) : []
    const at = (index: number) => this.edition.items[index] as EditionItem
    const each = Math.min(MAX_EXTREMES, Math.floor(order.length / 2))
    const [rarest, commonest] = [order.slice(0, each), each === 0 ? [] : order.slice(-each).reverse()]
    for (const index of [...rarest, ...commonest]) chosen.delete(index)
    const rest = new SeededRandom(this.edition.seed, 'sample').shuffle([...chosen]).slice(0, size)
    return {
      rarest: rarest.map(at),
      commonest: commonest.map(at),
      sample: rest.sort((a, b) => a - b).map(at),
    }
  }

  /**
   * Returns an NFT in the form that the page needs.
   *
   * @param image a data URL
   */
  toPageNft(item: EditionItem, image: string | null): PageNft {
    const { art } = this.edition
    const index = item.number - 1
    return {
      number: item.number,
      title: formatTexts(art, item)[0],
      attributes: [...buildAttributes(art, item)],
      image,
      isOneOfOne: item.oneOfOne !== null,
      rarity: this.#ranking.hasScores
        ? {
            rank: this.#ranking.ranks[index] ?? 0,
            score: this.#ranking.scores[index] ?? 0,
            rarest: this.#findRarestTraits(item),
          }
        : null,
    }
  }

  /** Returns the rarest traits. A one-of-one isn't made from layers, so its missing traits are omitted. */
  #findRarestTraits({ number, oneOfOne }: EditionItem): string[] {
    const index = number - 1
    if (oneOfOne === null) return this.#ranking.rarestTraits(index, MAX_RAREST_TRAITS).map(traitText)
    const traits = this.#ranking.rarestTraits(index, Number.POSITIVE_INFINITY).filter(({ value }) => value !== null)
    return ['One-of-one', ...traits.map(traitText)].slice(0, MAX_RAREST_TRAITS)
  }

  /**
   * Returns the HTML of a page about the edition.
   *
   * @param picked the NFTs that the page shows
   * @param imageOf returns a data URL; null if there is no image
   * @param among the NFTs that have an image
   */
  async renderPage(
    picked: RepresentativeNfts,
    imageOf: (item: EditionItem) => Promise<string | null>,
    among: readonly EditionItem[] = this.edition.items,
  ): Promise<string> {
    const { art, seed, items } = this.edition
    const pageNfts = async (list: readonly EditionItem[]) => {
      const nfts: PageNft[] = []
      for (const item of list) nfts.push(this.toPageNft(item, await imageOf(item)))
      return nfts
    }
    const report: EditionReport = buildReport(this.edition)
    const ones = among.filter(({ oneOfOne }) => oneOfOne !== null).slice(0, MAX_ONE_OF_ONES)
    return editionPage({
      ...{ file: art.file, seed, report, name: art.collection ?? art.file, size: items.length },
      groups: [
        { heading: 'Sample', nfts: await pageNfts(picked.sample) },
        { heading: 'The rarest', nfts: await pageNfts(picked.rarest) },
        { heading: 'The most common', nfts: await pageNfts(picked.commonest) },
      ],
      oneOfOnes: { total: art.oneOfOnes.length, nfts: await pageNfts(ones) },
      rarest: this.#ranking.order
        .slice(0, MAX_RANKED_NFTS)
        .map((index) => this.toPageNft(items[index] as EditionItem, null)),
    })
  }
}

/** Returns the attributes of an NFT and the layer type of each attribute. */
function toRankedAttributes({ art }: Edition, item: EditionItem) {
  const types = new Map(art.layers.map(({ name, type }) => [name, type]))
  return [...buildAttributes(art, item)].map(([tag, value]) => ({
    tag,
    value,
    display_type: types.get(tag) ?? undefined,
  }))
}
