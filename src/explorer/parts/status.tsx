import type { Counts, Status } from '../../server/explorer/types.ts'
import { count, groupDigits } from '../format.ts'

const STATUS_LABELS: Record<Status, string> = { deployed: 'Deployed', initiated: 'In progress', failed: 'Failed' }
export const STATUSES = ['deployed', 'initiated', 'failed'] as const

export const statusWord = (status: Status) => STATUS_LABELS[status]

export const StatusBadge = ({ status }: { status: Status }) => (
  <span class={`badge ${status}`}>
    <span class="dot" aria-hidden="true" />
    {STATUS_LABELS[status]}
  </span>
)

/** The badge that is shown instead of a status if the token no longer exists. */
export const Burned = () => (
  <span class="badge burned">
    <span class="dot" aria-hidden="true" />
    Burned
  </span>
)

export const countTotal = ({ initiated, deployed, failed }: Counts) => initiated + deployed + failed

/** Counts by status, as a bar and as text. Burned NFTs were deployed before, but are counted separately. */
export function Progress({ counts, burned = 0, words = true }: { counts: Counts; burned?: number; words?: boolean }) {
  const total = countTotal(counts)
  const parts = [
    { status: 'deployed', number: counts.deployed - burned, word: 'deployed' },
    { status: 'burned', number: burned, word: 'burned' },
    { status: 'initiated', number: counts.initiated, word: 'in progress' },
    { status: 'failed', number: counts.failed, word: 'failed' },
  ]
  const shown = parts.filter(({ number }) => number > 0)
  const description = shown.map(({ number, word }) => `${groupDigits(number)} ${word}`).join(', ')
  return (
    <div class="progress">
      <div class="bar" role="img" aria-label={`${count(total, 'NFT')}${description === '' ? '' : `: ${description}`}`}>
        {shown.map(({ status, number }) => (
          <span key={status} class={status} style={{ flexGrow: String(number) }} />
        ))}
      </div>
      {words && (
        <ul class="legend" aria-hidden="true">
          {parts
            .filter(({ status, number }) => number > 0 || status === 'deployed')
            .map(({ status, number, word }) => (
              <li key={status} class={status}>
                <span class="dot" />
                <b class="number">{groupDigits(number)}</b> {word}
              </li>
            ))}
        </ul>
      )}
    </div>
  )
}
