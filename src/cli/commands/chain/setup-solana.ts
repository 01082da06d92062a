import type { SolanaBlockchain } from '../../../api/blockchains.ts'
import { GdnError } from '../../../core/errors.ts'
import { EXIT } from '../../../core/exit-codes.ts'
import type { Deps } from '../../deps.ts'
import { createOutput, type View } from '../../render/output.ts'
import { resolveChainOptions } from './chain-place.ts'
import type { SetupFlags, StatusFlags } from './flags.ts'

const COST_FIELDS = ['balance', 'needed', 'cost_per_collection', 'cost_per_nft', 'nfts_left']

const SETUP_VIEW: View = {
  fields: ['blockchain', 'cluster', 'genesis_hash', 'status', 'signer', ...COST_FIELDS, 'compute_unit_price'],
  columns: ['blockchain', 'cluster', 'status', 'signer', ...COST_FIELDS],
  id: 'blockchain',
}

const STATUS_VIEW: View = {
  fields: [
    ...['blockchain', 'cluster', 'genesis_hash', 'block', 'compute_unit_price', 'signer', ...COST_FIELDS, 'set_up'],
    'problem',
  ],
  columns: ['signer', 'balance', 'nfts_left', 'set_up', 'problem'],
  id: 'signer',
}

/** Runs `gdn chain setup` for a Solana cluster. The setup neither deploys nor spends anything. */
export async function setUpSolana(deps: Deps, blockchain: SolanaBlockchain, flags: SetupFlags): Promise<void> {
  for (const [flag, value] of [
    ['--admin-keystore', flags.adminKeystore],
    ['--factory', flags.factory],
  ]) {
    if (value === undefined) continue
    throw new GdnError('usage', `is for EVM networks only: ${blockchain} has no factory`, {
      place: { flag: String(flag) },
      hint: 'Omit the flag. Solana needs only the signer in the configuration.',
    })
  }
  const output = createOutput(deps.io, flags, SETUP_VIEW)
  const { clusterStatus, setUpCluster, withCluster } = await import('../../../server/setup/cluster.ts')
  await withCluster(await resolveChainOptions(deps, flags), blockchain, async (cluster) => {
    const { cluster: name, genesis_hash, signer, compute_unit_price, set_up, ...rest } = await clusterStatus(cluster)
    const costs = Object.fromEntries(COST_FIELDS.map((field) => [field, rest[field]]))
    const record = (status: string) => ({
      blockchain,
      cluster: name,
      genesis_hash,
      status,
      signer,
      ...costs,
      compute_unit_price,
    })
    if (flags.dryRun) return await output.one(record(set_up ? 'done' : 'planned'))
    await setUpCluster(cluster, deps.now())
    await output.one(record('done'))
    deps.io.note(`${blockchain} is set up. To use the network, start the backend with this configuration.`)
  })
}

/** Runs `gdn chain status` for a Solana cluster. */
export async function solanaStatus(deps: Deps, blockchain: SolanaBlockchain, flags: StatusFlags): Promise<void> {
  const output = createOutput(deps.io, flags, STATUS_VIEW)
  const { clusterStatus, withCluster } = await import('../../../server/setup/cluster.ts')
  const status = await withCluster(await resolveChainOptions(deps, flags), blockchain, clusterStatus)
  await output.many([status])
  if (status.problem !== null) deps.setExitCode(EXIT.refused)
}
