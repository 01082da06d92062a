import type { ExplorerCommitment, ExplorerShuffle } from '../../server/explorer/types.ts'
import { groupDigits } from '../format.ts'
import { shuffleState, timeText } from './shuffle-text.ts'
import { Ago, ExternalLink, Id } from './text.tsx'

/** Explains to a buyer how the row of an NFT is drawn, and shows the parts of the proof. */
export function Shuffle({ shuffle, token }: { shuffle: ExplorerShuffle; token: string | null }) {
  const { slot, rows, commitment, seal, round, leaves_path: leaves, is_simulated: isSimulated, beacon } = shuffle
  const isRehearsed = beacon === 'other'
  const isDue = round !== null && Date.parse(round.time) <= Date.now()
  return (
    <section class="shuffle" aria-labelledby="shuffle">
      <h2 id="shuffle">Shuffle</h2>
      <p>{shuffleState(shuffle)}</p>
      {isSimulated && (
        <p class="reason waiting">
          This is a simulation: the operator of this embedded chain sets the block timestamps.
        </p>
      )}
      <ul class="rows">
        <Part name="Rows committed" commitment={commitment} />
        <Part name="Drop sealed" commitment={seal} />
        {isRehearsed && (
          <li class="row">
            <div class="row-main">
              <b>Round of another beacon</b>
              <span class="faint">A rehearsal</span>
            </div>
          </li>
        )}
        {round !== null && !isRehearsed && (
          <li class="row">
            <div class="row-main">
              <b>Round {groupDigits(round.number)} of drand</b>
              {isDue && <ExternalLink href={round.url}>View the round</ExternalLink>}
            </div>
            <div class="row-more faint">
              <span>
                {beacon === 'drand-quicknet' ? 'Published' : 'Due'} at {timeText(round.time)} UTC
              </span>
            </div>
          </li>
        )}
        <li class="row">
          <div class="row-main">
            <b>
              Slot {groupDigits(slot)} of {groupDigits(rows)}
            </b>
            <a class="outside" href={leaves}>
              View the leaves file
            </a>
          </div>
        </li>
      </ul>
      <p class="faint">
        This server checked the hash of the leaves file and the commitments to it
        {round !== null && ', and computed the round from the time of the block'}
        {beacon !== null && ', and checked whether the signature of the round is from drand'}. It did not check whether
        the NFT shows the row that was drawn for its slot. To check everything with a node and a gateway of your choice,
        run{' '}
        <code>
          gdn nft verify {token ?? '<contract>/<token ID>'} --on-chain{isRehearsed && ' --beacon <file>'}
        </code>{' '}
        (docs/shuffle.md).
      </p>
    </section>
  )
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
            <ExternalLink href={commitment.explorer_url}>View on block explorer</ExternalLink>
          </div>
          <div class="row-more faint">
            {commitment.block_number !== null && <span>Block {groupDigits(commitment.block_number)}</span>}
            {commitment.time !== null && <Ago time={commitment.time} />}
          </div>
        </>
      )}
    </li>
  )
}
