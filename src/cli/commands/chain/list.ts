import { type Blockchain, blockchainFacts, chainIdOf, isEvm, KNOWN_NAMES } from '../../../api/blockchains.ts'
import { findRetirement } from '../../../api/retired.ts'
import { GdnCommand } from '../../command.ts'
import { addBackendFlags, type BackendFlags } from '../../connect/data-dir.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, type OutputFlags } from '../../flags/common.ts'
import { createOutput, type DataRecord, type View } from '../../render/output.ts'
import { resolveChainOptions } from './chain-place.ts'

export type ListFlags = OutputFlags & BackendFlags

const VIEW: View = {
  fields: [
    ...['blockchain', 'chain_id', 'currency', 'testnet', 'network', 'retired_since', 'successor', 'fee_model', 'nodes'],
    ...['genesis_hash', 'confirmations', 'finality', 'commitment', 'operators', 'block_explorer_url'],
  ],
  columns: ['blockchain', 'chain_id', 'currency', 'network', 'successor'],
  id: 'blockchain',
  cells: (record) => ({ ...record, network: record.nodes ?? record.network }),
}

export function command(deps: Deps, run = list): GdnCommand {
  return new GdnCommand({
    about:
      'The command reads the configuration of the backend and contacts no network. It first lists the networks in the configuration, including those with custom names. All other blockchains are embedded chains, which start when they are first used. A network with a successor is retired, but still works as an embedded chain. For each node, the command shows only the host of its URL, because the URL may contain a key.',
    examples: [
      ['List the blockchains of the local backend', 'gdn chain list'],
      ["List the blockchains in a backend's configuration file", 'gdn chain list --config backend.yaml'],
      ['Print the blockchains with an RPC URL', 'gdn chain list --json | jq \'.[] | select(.network == "rpc")\''],
    ],
  })
    .with(addBackendFlags, addOutputFlags)
    .action(async (flags: ListFlags) => await run(deps, flags))
}

export async function list(deps: Deps, flags: ListFlags): Promise<void> {
  const output = createOutput(deps.io, flags, VIEW)
  const [{ loadServerSettings, settingsPath }, { networkWithChainId }, { signerName }, { solanaSignerName }] =
    await Promise.all([
      import('../../../server/settings/settings.ts'),
      import('../../../server/settings/networks.ts'),
      import('../../../server/settings/signer-schema.ts'),
      import('../../../server/settings/solana-schema.ts'),
    ])
  const { dataDir, settingsFile } = await resolveChainOptions(deps, flags)
  const { chains, clusters } = await loadServerSettings(dataDir, settingsFile)
  const embedded = KNOWN_NAMES.filter((name) => (isEvm(name) ? !chains.has(name) : !clusters.has(name)))
  const record = (blockchain: Blockchain, chainId: number | null, more: Partial<DataRecord>): DataRecord => {
    const facts = chainId === null ? null : networkWithChainId(chainId)
    const retired = findRetirement(blockchain)
    return {
      blockchain,
      chain_id: chainId,
      currency: isEvm(blockchain) ? (facts?.coin ?? null) : 'SOL',
      testnet: blockchainFacts(blockchain)?.testnet ?? null,
      network: 'rpc',
      retired_since: retired?.since ?? null,
      successor: retired?.successor ?? null,
      fee_model: facts?.feeModel ?? null,
      ...UNCONFIGURED_FIELDS,
      ...more,
    }
  }
  await output.many([
    ...[...chains.values()].map((chain) =>
      record(chain.blockchain, chain.chainId, {
        nodes: toHosts(chain.rpcUrls),
        confirmations: chain.confirmations,
        finality: chain.finality,
        operators: chain.operators.map(signerName),
        block_explorer_url: chain.blockExplorerUrl,
      }),
    ),
    ...[...clusters.values()].map((cluster) =>
      record(cluster.blockchain, null, {
        genesis_hash: cluster.genesisHash,
        nodes: toHosts(cluster.rpcUrls),
        commitment: cluster.commitment,
        operators: [solanaSignerName(cluster.signer)],
        block_explorer_url: cluster.blockExplorerUrl,
      }),
    ),
    ...embedded.map((name) => record(name, chainIdOf(name), { network: 'embedded' })),
  ])
  if (chains.size + clusters.size === 0) {
    deps.io.note(`No public network is configured. Add one to ${settingsPath(dataDir, settingsFile)}.`)
  }
}

const UNCONFIGURED_FIELDS = {
  nodes: null,
  genesis_hash: null,
  confirmations: null,
  finality: null,
  commitment: null,
  operators: null,
  block_explorer_url: null,
}

const toHosts = (urls: readonly string[]) => urls.map((url) => new URL(url).host)
