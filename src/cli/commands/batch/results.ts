import { type RunRow, runColumns, runRows } from '../../../batch/run-rows.ts'
import { openRun } from '../../../batch/runs.ts'
import type { RowStatus } from '../../../batch/types.ts'
import type { DataRecord } from '../../cells.ts'
import { GdnCommand, switchFlag, valueFlag } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags, type OutputFlags, type ServerFlags } from '../../flags/common.ts'
import { someOf } from '../../flags/parse.ts'
import { createOutput } from '../../output.ts'
import type { View } from '../../view.ts'
import { printResultsCsv, type ResultRecord } from './results-csv.ts'
import { whichServer } from './which-server.ts'

const STATUSES = ['pending', 'accepted', 'deployed', 'failed', 'unknown'] as const satisfies readonly RowStatus[]

export interface ResultsFlags extends OutputFlags, ServerFlags {
  status?: RowStatus[]
  forSpreadsheet?: boolean
}

const VIEW: View = {
  fields: [
    'key',
    'line',
    'status',
    'nft_gdn_id',
    'token_id',
    'contract_address',
    'receiver_wallet_address',
    'metadata_url',
    'error',
  ],
  columns: ['line', 'status', 'nft_gdn_id', 'token_id', 'receiver_wallet_address', 'error'],
  id: 'nft_gdn_id',
}

export function command(deps: Deps, run = results): GdnCommand {
  const resultsCommand = new GdnCommand({
    name: 'batch results',
    summary: 'Every row of a run with what became of it',
    about:
      "In the order of the manifest, at any time, while the run is under way too. As CSV it is the manifest itself, with key, line, status, nft_gdn_id, token_id, contract_address, receiver_wallet_address, metadata_url and error behind the manifest's own columns; every cell is as it was, also one that a spreadsheet would run as a formula.",
    examples: [
      ['A table', 'gdn batch results drop.csv'],
      ['The manifest with its outcome', 'gdn batch results drop.csv -o csv > results.csv'],
      ['To be opened in a spreadsheet', 'gdn batch results drop.csv -o csv --for-spreadsheet > x.csv'],
      ['What failed, and why', 'gdn batch results drop.csv --status failed,unknown'],
      ['Ids of the NFTs', 'gdn batch results drop.csv --status deployed -o ids'],
    ],
  })
  resultsCommand.argument('<run>')
  valueFlag(resultsCommand, '--status <a,b>', `Only rows in these states: ${STATUSES.join(', ')}`, {
    parse: someOf(STATUSES),
  })
  switchFlag(
    resultsCommand,
    '--for-spreadsheet',
    "Put a ' before what a spreadsheet would run: cells that begin with = + - @ or a tab, also after spaces and quotes",
  )
  addServerFlags(resultsCommand)
  addOutputFlags(resultsCommand)
  return resultsCommand.action(async (name: string, flags: ResultsFlags) => await run(deps, name, flags)) as GdnCommand
}

export async function results(deps: Deps, name: string, flags: ResultsFlags): Promise<void> {
  const { io } = deps
  const output = createOutput(io, flags, VIEW, { forSpreadsheet: flags.forSpreadsheet })
  const { stateDir } = await deps.settings(flags)
  const run = await openRun(stateDir, name, await whichServer(deps, flags))
  const wanted = toRecords(runRows(run), flags.status)
  if (output.mode !== 'csv' || flags.fields !== undefined) return await output.many(recordsOf(wanted))
  const columns = await runColumns(run)
  await printResultsCsv(io, wanted, { columns, fields: VIEW.fields, forSpreadsheet: flags.forSpreadsheet ?? false })
}

async function* toRecords(
  rows: AsyncIterable<RunRow>,
  statuses: readonly RowStatus[] | undefined,
): AsyncGenerator<ResultRecord> {
  for await (const { result, row } of rows) {
    if (statuses === undefined || statuses.includes(result.status)) yield { record: { ...result }, row }
  }
}

async function* recordsOf(results: AsyncIterable<ResultRecord>): AsyncGenerator<DataRecord> {
  for await (const { record } of results) yield record
}
