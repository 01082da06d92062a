import { isEvm } from '../../../api/blockchains.ts'
import { findRunningBackend } from '../../../config/local-backend.ts'
import { count } from '../../../core/count.ts'
import { EXIT } from '../../../core/exit-codes.ts'
import { GdnCommand } from '../../command.ts'
import { addBackendFlags } from '../../connect/data-dir.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags } from '../../flags/common.ts'
import { type Io, safe } from '../../io/io.ts'
import { createOutput, type DataRecord, type View } from '../../render/output.ts'
import { addBlockchainArgument, formatSetupOfSettings, parseBlockchain, resolveChainOptions } from './chain-place.ts'
import type { StatusFlags } from './flags.ts'
import { formatCost } from './setup-view.ts'

const VIEW: View = {
  fields: [
    'blockchain',
    'chain_id',
    'currency',
    'block',
    'max_fee_gwei',
    'factory',
    'signer',
    'balance',
    'needed',
    'appointed',
    'waiting',
    'waiting_nfts',
    'problem',
  ],
  columns: ['signer', 'balance', 'appointed', 'waiting', 'factory', 'problem'],
  id: 'signer',
}

/** Returns the view. On a terminal, amounts have units, and the full text of problems is below the table. */
const createView = ({ stdoutTty }: Io, { fields }: StatusFlags): View =>
  stdoutTty && fields === undefined
    ? {
        ...VIEW,
        columns: ['signer', 'balance', 'needed', 'appointed', 'waiting'],
        cells: (record) => ({
          ...record,
          balance: formatCost(record, 'balance', 'down'),
          needed: formatCost(record, 'needed', 'up'),
          waiting: waitingText(record),
        }),
      }
    : VIEW

/** Formats the work that is waiting for a signer, such as `2 transactions, 24 NFTs`. */
function waitingText({ waiting, waiting_nfts }: DataRecord): string {
  const [transactions, nfts] = [Number(waiting), Number(waiting_nfts)]
  const parts = [transactions > 0 ? count(transactions, 'transaction') : '', nfts > 0 ? count(nfts, 'NFT') : '']
  return parts.filter((part) => part !== '').join(', ') || '0'
}

export function command(deps: Deps, run = status): GdnCommand {
  return new GdnCommand({
    about:
      'The command prints one line for each signer, with the reason if the signer cannot sign. The exit code is 6 if the network is unreachable, and 5 if no signer can sign. An embedded chain has no signers to check, so the command prints only a note.',
    examples: [
      ['Check that the backend can sign', 'gdn chain status polygon'],
      [
        'Print the balances, for a monitor',
        'gdn chain status polygon --json | jq -r \'.[] | "\\(.signer) \\(.balance)"\'',
      ],
    ],
  })
    .with(addBlockchainArgument, addBackendFlags, addOutputFlags)
    .action(async (name: string, flags: StatusFlags) => await run(deps, name, flags))
}

export async function status(deps: Deps, name: string, flags: StatusFlags): Promise<void> {
  const blockchain = parseBlockchain(name)
  const place = await resolveChainOptions(deps, flags)
  const { isEmbedded } = await import('../../../server/setup/with-chain.ts')
  if (await isEmbedded(place, blockchain)) {
    const output = createOutput(deps.io, flags, VIEW)
    if (output.mode !== 'table') await output.many([])
    deps.io.note(
      `${blockchain} is an embedded chain of the backend in ${safe(place.dataDir)}. It needs no funds and no setup.`,
    )
    if ((await findRunningBackend(place.dataDir)) === null)
      deps.io.note('The backend is not running, so nothing is minted.')
    return
  }
  if (!isEvm(blockchain)) {
    const { solanaStatus } = await import('./setup-solana.ts')
    return await solanaStatus(deps, blockchain, flags)
  }
  const output = createOutput(deps.io, flags, createView(deps.io, flags))
  const { chainStatus } = await import('../../../server/setup/status.ts')
  const { withChain } = await import('../../../server/setup/with-chain.ts')
  const states = await withChain(place, blockchain, async (chain) => {
    return await chainStatus(chain, formatSetupOfSettings(blockchain, flags, chain.settings))
  })
  await output.many(states)
  if (deps.io.stdoutTty && output.mode === 'table' && flags.fields === undefined) {
    for (const problem of new Set(states.map((state) => state.problem)))
      if (problem !== null) deps.io.warn(safe(problem))
  }
  if (states.every(({ problem }) => problem !== null)) deps.setExitCode(EXIT.refused)
}
