import type { ResponseOf } from '../../../client/api-client.ts'
import { readNft } from '../../../client/read-records.ts'
import { GdnError } from '../../../core/errors.ts'
import { unknownNftsError } from '../../../operations/unknown-nfts.ts'
import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags, blockchainName, type OutputFlags } from '../../flags/common.ts'
import type { Io } from '../../io/io.ts'
import {
  describeEvent,
  describeEventShortly,
  describeWholeEvent,
  type HistoryEvent,
} from '../../render/history-event.ts'
import { createOutput, type DataRecord, type View } from '../../render/output.ts'
import { awaitResponse } from '../../request/slow-response.ts'
import { resolveNftIds } from './nft-ids.ts'
import { addTokenContractFlag, type TokenFlags } from './token-reference.ts'

export type HistoryFlags = OutputFlags & TokenFlags

export const VIEW: View = {
  fields: [
    ...['kind', 'status', 'transaction_gdn_id', 'accepted_date', 'block_date', 'block_number', 'transaction_hash'],
    ...['from', 'to', 'revision', 'changes', 'changes_left_out', 'error', 'explorer_url'],
    ...['gas_used', 'fee_paid', 'currency', 'is_simulated'],
  ],
  columns: ['date', 'kind', 'status', 'what', 'block', 'transaction', 'error'],
  id: 'transaction_hash',
  plural: 'events',
  cells: (record) => ({
    ...record,
    date: record.block_date ?? record.accepted_date,
    what: describeEvent(record as HistoryEvent),
    block: record.block_number,
    // The ID column is never shortened. This copy can be shortened, so that a terminal has room for the event.
    transaction: record.transaction_hash,
  }),
}

/** Minimum terminal width at which a line has room for two addresses. */
const MIN_WIDE_COLUMNS = 150

/** Returns the view. On a narrow terminal, addresses are shortened. Other output always contains full values. */
function createView({ stdoutTty, columns }: Io): View {
  if (stdoutTty && columns >= MIN_WIDE_COLUMNS) return VIEW
  const textOf = stdoutTty ? describeEventShortly : describeWholeEvent
  return { ...VIEW, cells: (record) => ({ ...VIEW.cells?.(record), what: textOf(record as HistoryEvent) }) }
}

export function command(deps: Deps, run = history): GdnCommand {
  return new GdnCommand({
    about:
      'Specify an NFT by ID, by token ID and --contract, or as <contract>/<token ID>. The command shows the mint, transfers, updates, freezes and burn of an NFT with their blocks and transactions, oldest first. On EVM networks, the history includes transfers that were made without the API. An event with the status `initiated` is not final yet. Only gdn backends provide the history.',
    examples: [
      ['Show the history of an NFT', 'gdn nft history 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d'],
      [
        'Print the changes of each update',
        'gdn nft history 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d --json \\',
        '  | jq \'.[] | select(.kind == "update") | .changes\'',
      ],
    ],
  })
    .argument('<nft_gdn_id>')
    .with(addTokenContractFlag)
    .valueFlag('-b, --blockchain <name>', 'Blockchain of a token', blockchainName)
    .with(addServerFlags, addOutputFlags)
    .action(async (id: string, flags: HistoryFlags) => await run(deps, id, flags))
}

export async function history(deps: Deps, nftId: string, flags: HistoryFlags): Promise<void> {
  const output = createOutput(deps.io, flags, createView(deps.io))
  const connection = await deps.connect(await deps.settings(flags))
  const { client, server } = connection
  const [id = nftId] = await resolveNftIds(deps, connection, [nftId], flags)
  // All servers have this endpoint. Its response shows whether the server also has the history endpoint.
  const reading = readNft({ client, signal: deps.signals.signal }, id)
  const nft = await awaitResponse(deps.io, server.origin, reading)
  if (nft === undefined) throw unknownNftsError([id], { takesTokens: true })
  if (client.supports('history') !== true) {
    throw new GdnError('refused', `${server.origin} does not provide the history of NFTs`, {
      hint: 'Only gdn backends provide the history. Look up the token in a block explorer.',
    })
  }
  await output.many(eventsOf())

  async function* eventsOf(): AsyncGenerator<DataRecord> {
    const signal = deps.signals.signal
    for (let offset: number | null = 0; offset !== null; ) {
      const page: ResponseOf<'getnfthistory'> = await client.call(
        'getnfthistory',
        { nft_gdn_id: id, offset },
        { signal },
      )
      yield* page.events
      offset = page.next_offset
    }
  }
}
