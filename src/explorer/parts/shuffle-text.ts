import type { ExplorerShuffle } from '../../server/explorer/types.ts'
import { groupDigits } from '../format.ts'

export const timeText = (time: string) => new Date(time).toISOString().slice(0, 19).replace('T', ' ')

/** Describes the state of the draw to a buyer, in sentences. */
export function shuffleState({ seal, round, is_revealed: isRevealed, beacon }: ExplorerShuffle): string {
  if (seal === null) {
    return 'Nobody can choose the content of this NFT. The possible contents were fixed before the first NFT of the drop was minted. When the mint has ended, the drop is sealed, so no more NFTs of the drop can be minted. A later round of drand, a public source of random numbers, determines the content of each NFT.'
  }
  const after = `after the drop was sealed${seal.block_number === null ? '' : ` (block ${groupDigits(seal.block_number)}${seal.time === null ? '' : `, ${timeText(seal.time)} UTC`})`}`
  if (beacon === 'other') {
    return `This draw is a rehearsal: the signature in the metadata is not from drand, but from another beacon, such as a beacon file of the issuer. Anyone with the key of that beacon could choose the content of each NFT. The NFT was revealed ${after}.`
  }
  if (round === null)
    return `The content of each NFT is determined ${after}, by a round of drand, a public source of random numbers.`
  const name = `round ${groupDigits(round.number)} of drand, a public source of random numbers`
  if (beacon !== null) {
    return `Under the rule of the drop, ${name}, determined the content of this NFT, so nobody chose it. The round was published at ${timeText(round.time)} UTC, ${after}.`
  }
  const roundText = `The time of the round is ${timeText(round.time)} UTC, which is ${after}.`
  return isRevealed
    ? `Under the rule of the drop, ${name}, determines the content of this NFT, but its metadata does not contain the signature of the round. ${roundText}`
    : `Nobody can choose the content of this NFT. Under the rule of the drop, ${name}, determines the content. ${roundText}`
}
