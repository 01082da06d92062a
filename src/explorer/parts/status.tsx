import type { Counts, Status } from '../../server/explorer/types.ts'
import { count, counted } from '../format.ts'

const WORDS: Record<Status, string> = { deployed: 'Deployed', initiated: 'In progress', failed: 'Failed' }
export const STATUSES = ['deployed', 'initiated', 'failed'] as const

export const statusWord = (status: Status) => WORDS[status]

export const StatusBadge = ({ status }: { status: Status }) => (
  <span class={`badge ${status}`}>
    <span class="dot" aria-hidden="true" />
    {WORDS[status]}
  </span>
)

/** In the place of a status: the token does not exist any more. */
export const Burned = () => (
  <span class="badge burned">
    <span class="dot" aria-hidden="true" />
    Burned
  </span>
)

export const totalOf = ({ initiated, deployed, failed }: Counts) => initiated + deployed + failed

/** Counts by status, as a bar and as text. */
export function Progress({ counts, words = true }: { counts: Counts; words?: boolean }) {
  const total = totalOf(counts)
  const shown = STATUSES.filter((status) => counts[status] > 0)
  const description = shown.map((status) => `${count(counts[status])} ${WORDS[status].toLowerCase()}`).join(', ')
  return (
    <div class="progress">
      <div
        class="bar"
        role="img"
        aria-label={`${counted(total, 'NFT')}${description === '' ? '' : `: ${description}`}`}
      >
        {shown.map((status) => (
          <span key={status} class={status} style={{ flexGrow: String(counts[status]) }} />
        ))}
      </div>
      {words && (
        <ul class="legend" aria-hidden="true">
          {STATUSES.filter((status) => counts[status] > 0 || status === 'deployed').map((status) => (
            <li key={status} class={status}>
              <span class="dot" />
              <b class="number">{count(counts[status])}</b> {WORDS[status].toLowerCase()}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
