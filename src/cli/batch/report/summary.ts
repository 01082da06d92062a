import type { BatchOptions, BatchSummary, ManifestChanges, RowCounts } from '../../../batch/types.ts'
import type { ManifestIssue } from '../../../manifest/row.ts'
import { withRunPaid } from '../../cost/paid.ts'
import type { Io } from '../../io/io.ts'
import { formatRowsByState } from '../../render/count.ts'
import type { DataRecord, RecordCard, View } from '../../render/view.ts'
import { runCommands } from '../runs/run-commands.ts'

/**
 * Counts of deployed rows that were compared with chain and storage. `changed` rows differ from their request but match
 * the server's current record. `unread` rows could not be read.
 */
export interface VerifiedCounts {
  verified: number
  changed: number
  differing: number
  unread: number
}

/**
 * Returns the view of a summary.
 *
 * @param stateDir the state directory, if a flag set it
 */
export const summaryView = (stateDir: string | undefined): View =>
  withRunPaid({
    fields: [
      'run',
      'run_id',
      'blockchain',
      'contract_address',
      'total',
      'deployed',
      'accepted',
      'pending',
      'failed',
      'unknown',
      'burned',
      'abandoned',
      'requests',
      'attempts',
      'reconciled',
      'kept_accepted',
      'verified',
      'differing',
      'unread',
      'changed',
      'warnings',
      'notes',
    ],
    columns: ['run', 'total', 'deployed', 'accepted', 'pending', 'failed', 'unknown'],
    id: 'run',
    card: (record) => runCard(record, stateDir),
  })

/** Formats a run for a terminal: its state, and the command that shows its results. */
export function runCard(record: DataRecord, stateDir: string | undefined): RecordCard {
  return [
    ['run', record.run],
    ['state', formatRowsByState(record)],
    ['verified', verifiedText(record)],
    ['results', runCommands(String(record.run), stateDir)('results')],
  ]
}

function verifiedText({ verified, changed, differing, unread }: DataRecord): string | null {
  if (typeof verified !== 'number') return null
  const parts = [`${verified} ${verified === 1 ? 'matches' : 'match'} on chain and in storage`]
  if (Number(changed) > 0) parts.push(`${changed} changed since the mint`)
  if (Number(differing) > 0) parts.push(`${differing} differ`)
  if (Number(unread) > 0) parts.push(`${unread} could not be read`)
  return parts.join(', ')
}

const UNVERIFIED_FIELDS = { verified: null, differing: null, unread: null, changed: null }

/**
 * Returns the summary as JSON data. Every run has the same fields. Callers add the paid fees.
 *
 * @param warnings the manifest's warnings, if it has rows to send
 * @param notes the notes of the run's plan
 */
export function summaryData(
  {
    run,
    counts,
    burned,
    requests,
    attempts,
    reconciled,
    changes,
  }: Pick<BatchSummary, 'run' | 'burned' | 'requests' | 'attempts' | 'reconciled'> & {
    counts: RowCounts & { abandoned: number }
    changes: Pick<ManifestChanges, 'keptAccepted'>
  },
  { blockchain, contractAddress }: Pick<BatchOptions, 'blockchain' | 'contractAddress'>,
  verified: VerifiedCounts | null,
  warnings: readonly ManifestIssue[],
  notes: readonly string[],
): DataRecord {
  return {
    run: run.name,
    run_id: run.id,
    blockchain,
    contract_address: contractAddress,
    ...counts,
    burned,
    requests,
    attempts,
    reconciled,
    kept_accepted: changes.keptAccepted,
    ...(verified ?? UNVERIFIED_FIELDS),
    warnings,
    notes,
  }
}

/** Prints the outcome and the next command on stderr, for users who redirect the summary to a file or a program. */
export function printNextSteps(io: Io, { run, counts, burned }: BatchSummary, stateDir: string | undefined): void {
  io.note(io.errPaint.good(formatRowsByState({ ...counts, burned })))
  io.note(`Results: ${runCommands(run.name, stateDir)('results')}`)
}
