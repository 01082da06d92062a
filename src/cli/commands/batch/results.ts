import { openRun, runResults } from '../../../batch/runs.ts'
import type { DataRecord } from '../../cells.ts'
import { GdnCommand, switchFlag } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addProfileFlags, type OutputFlags, type ServerFlags } from '../../flags/common.ts'
import { createOutput } from '../../output.ts'
import type { View } from '../../view.ts'

export interface ResultsFlags extends OutputFlags, ServerFlags {
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
    about: 'In the order of the manifest, at any time, while the run is under way too.',
    examples: [
      ['A table', 'gdn batch results drop.csv'],
      ['For a spreadsheet', 'gdn batch results drop.csv -o csv --for-spreadsheet > results.csv'],
      ['What failed', 'gdn batch results drop.csv -o ndjson | jq \'select(.status == "failed")\''],
    ],
  })
  resultsCommand.argument('<run>')
  switchFlag(resultsCommand, '--for-spreadsheet', 'Neutralise cells that a spreadsheet would run')
  addProfileFlags(resultsCommand)
  addOutputFlags(resultsCommand)
  return resultsCommand.action(async (name: string, flags: ResultsFlags) => await run(deps, name, flags)) as GdnCommand
}

export async function results(deps: Deps, name: string, flags: ResultsFlags): Promise<void> {
  const output = createOutput(deps.io, flags, VIEW, { forSpreadsheet: flags.forSpreadsheet })
  const { stateDir } = await deps.settings(flags)
  await output.many(records(runResults(await openRun(stateDir, name))))
}

async function* records(rows: AsyncIterable<object>): AsyncGenerator<DataRecord> {
  for await (const row of rows) yield { ...row }
}
