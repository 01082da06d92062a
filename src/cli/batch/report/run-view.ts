import { formatIsoSeconds } from '../../../api/shuffle-rule.ts'
import type { RunStatus } from '../../../batch/types.ts'
import { readDropState, withAbandoned } from '../../../reveal/drop-state.ts'
import { SPENT_FIELDS, spentText } from '../../cost/spent.ts'
import type { Io } from '../../io/io.ts'
import { formatRowsByState } from '../../render/count.ts'
import type { DataRecord, View } from '../../render/view.ts'
import { formatAge } from '../runs/age.ts'
import { runCard } from './summary.ts'

const RUN_FIELDS = [
  'run',
  'run_id',
  'state',
  'running',
  'total',
  'deployed',
  'accepted',
  'pending',
  'failed',
  'unknown',
  'burned',
  'abandoned',
  'blockchain',
  'contract_address',
  'server',
  'backend_id',
  'manifest',
  'drop',
  'round',
  'round_at',
  'started_at',
  ...SPENT_FIELDS,
]

const RUN_DETAIL_FIELDS = ['blockchain', 'contract_address', 'server', 'manifest', 'started_at']

/**
 * Returns the view of one run or a list of runs. A terminal shows the age of each run, and other output shows its start
 * time.
 */
export function runView({ stdoutTty, columns }: Io, now: number, stateDir: string | undefined): View {
  return {
    fields: RUN_FIELDS,
    columns: stdoutTty
      ? ['run', 'manifest_file', ...(columns < MIN_WIDE_COLUMNS ? [] : ['contract_address']), 'state', 'rows', 'age']
      : ['run', 'state', 'total', 'deployed', 'accepted', 'pending', 'failed', 'unknown', 'started_at'],
    id: 'run',
    sparse: ['manifest_file'],
    yields: 'manifest_file',
    more: ['manifest_file', 'rows', 'age'],
    cells: (record) => ({
      ...record,
      manifest_file: typeof record.manifest === 'string' ? shortPath(record.manifest) : null,
      rows: formatRowsByState(record),
      age: formatAge(now - Date.parse(String(record.started_at))),
    }),
    card: (record) => [
      ...runCard(record, stateDir),
      ...RUN_DETAIL_FIELDS.map((field) => [field, record[field]] as const),
      ['drop', Number(record.drop) > 1 ? record.drop : null],
      ['paid', typeof record.fee_paid_wei === 'string' ? spentText(record) : null],
      ['waiting', record.waiting],
      ['running', record.running ? 'yes, by another process' : null],
    ],
  }
}

/** Minimum width of a terminal at which the table shows each run's collection. */
const MIN_WIDE_COLUMNS = 100

/** Returns a file name and its folder, because manifests in different folders often have the same name. */
const shortPath = (path: string): string => path.split(/[\\/]/).slice(-2).join('/')

/** Returns the state of a run in one word. */
function toRunState({ running, counts: rowCounts, reading }: RunStatus): string {
  if (running) return 'running'
  const drop = readDropState({ reading })
  if (rowCounts.unknown > 0) return 'unknown'
  if (drop?.phase === 'sealed') return 'sealed'
  const counts = withAbandoned(rowCounts, drop)
  if (counts.pending + counts.accepted > 0) return 'unfinished'
  return counts.failed > 0 ? 'failed' : 'finished'
}

export function runData(status: RunStatus): DataRecord {
  const drop = readDropState(status)
  return {
    run: status.name,
    run_id: status.id,
    state: toRunState(status),
    running: status.running,
    ...withAbandoned(status.counts, drop),
    burned: status.burned,
    blockchain: status.blockchain,
    contract_address: status.contractAddress,
    server: status.url,
    backend_id: status.backendId,
    manifest: status.manifestPath,
    drop: status.generation,
    round: drop?.seal?.round ?? null,
    round_at: drop?.seal?.roundAt == null ? null : formatIsoSeconds(drop.seal.roundAt),
    started_at: status.startedAt,
  }
}
