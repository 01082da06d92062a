import { groupDigits } from '../core/group-digits.ts'
import { ManifestError } from './manifest-error.ts'
import type { ListLine } from './receiver-list.ts'
import type { ManifestIssue } from './row.ts'

/** Maximum number of NFTs in a list. A larger number is most likely a typo. */
export const MAX_LIST_NFTS = 10_000_000

/** Reads the number of NFTs for each receiver of a list. Without a column `count`, the number is 1. */
export class ListCounts {
  #sum = 0

  /** @throws ManifestError if the list has too many NFTs */
  parseCount(line: ListLine): number | { issue: ManifestIssue } {
    const text = line.text('count') ?? '1'
    const place = () => line.place('count')
    if (!/^[1-9]\d*$/.test(text)) {
      const hint = /^0+$/.test(text)
        ? 'Remove the lines of receivers that receive no NFT.'
        : 'Write digits only, such as 2. Without the column count, gdn mints 1 NFT to each receiver.'
      return { issue: { place: place(), message: 'count must be a whole number of at least 1', hint } }
    }
    const count = Number(text)
    this.#sum += count
    if (this.#sum <= MAX_LIST_NFTS) return count
    throw new ManifestError({
      place: place(),
      message: `count raises the total of the list to more than ${groupDigits(MAX_LIST_NFTS)} NFTs`,
      hint: 'Check the counts, or split the list and mint each part with another --run <name>.',
    })
  }
}
