import type { RunStatus } from '../../../batch/types.ts'
import type { DataRecord } from '../../cells.ts'
import type { View } from '../../view.ts'
import { runCard } from './summary.ts'

const MORE_OF_RUN = ['blockchain', 'contract_address', 'server', 'manifest', 'started_at', 'problem']

export const RUN_VIEW: View = {
  fields: [
    'run',
    'run_id',
    'running',
    'total',
    'deployed',
    'accepted',
    'pending',
    'failed',
    'unknown',
    'blockchain',
    'contract_address',
    'server',
    'manifest',
    'started_at',
    'problem',
  ],
  columns: ['run', 'total', 'deployed', 'pending', 'failed', 'unknown', 'started_at'],
  id: 'run',
  card: (record) => [
    ...runCard(record),
    ...MORE_OF_RUN.map((field) => [field, record[field]] as const),
    ['running', record.running ? 'yes, by another process' : null],
  ],
}

export function runData({ id, name, counts, ...run }: RunStatus): DataRecord {
  return {
    run: name,
    run_id: id,
    running: run.running,
    ...counts,
    blockchain: run.blockchain,
    contract_address: run.contractAddress,
    server: run.origin,
    manifest: run.manifestPath,
    started_at: run.startedAt,
    problem: run.problem,
  }
}
