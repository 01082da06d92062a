import type { ExplorerCommitment, ExplorerShuffle } from '../../server/explorer/types.ts'
import { count } from '../format.ts'
import { Ago, Id, Outside } from './text.tsx'

const when = (time: string) => new Date(time).toISOString().slice(0, 19).replace('T', ' ')

/** How the row of an NFT is drawn, for a buyer, with the parts of the proof. */
export function Shuffle({ shuffle, token }: { shuffle: ExplorerShuffle; token: string | null }) {
  const { slot, rows, commitment, seal, round, leaves_path: leaves, is_simulated: isSimulated } = shuffle
  return (
    <section class="shuffle" aria-labelledby="shuffle">
      <h2 id="shuffle">Shuffle</h2>
      <p>{stateOf(shuffle)}</p>
      {isSimulated && (
        <p class="reason waiting">
          This is a simulation: the operator of this test chain chooses the times of its blocks.
        </p>
      )}
      <ul class="rows">
        <Part name="Rows committed" commitment={commitment} />
        <Part name="Mint ended" commitment={seal} />
        {round !== null && (
          <li class="row">
            <div class="row-main">
              <b>Round {count(round.number)} of drand</b>
              <Outside href={round.url}>View the round</Outside>
            </div>
            <div class="row-more faint">
              <span>{when(round.time)} UTC</span>
            </div>
          </li>
        )}
        <li class="row">
          <div class="row-main">
            <b>
              Slot {count(slot)} of {count(rows)}
            </b>
            <a class="outside" href={leaves}>
              View the leaves file
            </a>
          </div>
        </li>
      </ul>
      <p class="faint">
        This server checked the hash of the leaves file and the commitments to it, and computed the round from the time
        of the block. It did not check the signature of the round, or whether the NFT shows the row that was drawn for
        its slot. To check both with a node and a gateway of your choice, run{' '}
        <code>gdn nft verify {token ?? '<contract>/<token ID>'} --on-chain</code> (docs/reveal.md).
      </p>
    </section>
  )
}

function stateOf({ seal, round, is_revealed: isRevealed }: ExplorerShuffle): string {
  if (seal === null) {
    return 'Nobody can choose what this NFT will show. The possible contents were fixed before the first NFT of the drop was minted. When the mint has ended, a later round of drand, a public source of random numbers, draws what each NFT shows.'
  }
  const after = `after all NFTs of the drop were minted${seal.block_number === null ? '' : ` (block ${count(seal.block_number)}${seal.time === null ? '' : `, ${when(seal.time)} UTC`})`}`
  if (round === null) return `A round of drand, a public source of random numbers, draws what each NFT shows, ${after}.`
  const name = `round ${count(round.number)} of drand, a public source of random numbers`
  return isRevealed
    ? `By the rule of the drop, ${name}, draws what this NFT shows, so that nobody chooses it. The round was published at ${when(round.time)} UTC, ${after}.`
    : `Nobody can choose what this NFT will show: by the rule of the drop, ${name}, draws it. The time of the round is ${when(round.time)} UTC, ${after}.`
}

function Part({ name, commitment }: { name: string; commitment: ExplorerCommitment | null }) {
  return (
    <li class="row">
      <div class="row-main">
        <b>{name}</b>
        {commitment === null && <span class="faint">Not yet</span>}
      </div>
      {commitment !== null && (
        <>
          <div class="row-id">
            {commitment.transaction_hash !== null && <Id text={commitment.transaction_hash} what="transaction hash" />}
            <Outside href={commitment.explorer_url}>View on block explorer</Outside>
          </div>
          <div class="row-more faint">
            {commitment.block_number !== null && <span>Block {count(commitment.block_number)}</span>}
            {commitment.time !== null && <Ago time={commitment.time} />}
          </div>
        </>
      )}
    </li>
  )
}
