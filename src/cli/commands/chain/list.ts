import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, type OutputFlags } from '../../flags/common.ts'
import { createOutput } from '../../render/output.ts'
import type { View } from '../../render/view.ts'
import { addChainFlags, type ChainFlags, chainPlace } from './chain-place.ts'

export type ListFlags = OutputFlags & ChainFlags

const VIEW: View = {
  fields: [
    ...['blockchain', 'chain_id', 'genesis_hash', 'nodes', 'confirmations', 'finality', 'commitment', 'operators'],
    'block_explorer_url',
  ],
  columns: ['blockchain', 'chain_id', 'nodes', 'confirmations', 'operators'],
  id: 'blockchain',
}

export function command(deps: Deps, run = list): GdnCommand {
  const listCommand = new GdnCommand({
    about:
      'Reads the configuration of the backend and contacts no network. Every other blockchain of the API is an embedded chain. Only the hosts of nodes are shown, because a URL may contain a key.',
    examples: [
      ['List the networks of the local backend', 'gdn chain list'],
      ['List the networks in a file', 'gdn chain list --config backend.yaml'],
    ],
  })
  addChainFlags(listCommand)
  addOutputFlags(listCommand)
  return listCommand.action(async (flags: ListFlags) => await run(deps, flags)) as GdnCommand
}

export async function list(deps: Deps, flags: ListFlags): Promise<void> {
  const output = createOutput(deps.io, flags, VIEW)
  const { loadSettings, settingsPath } = await import('../../../server/settings/settings.ts')
  const { signerName } = await import('../../../server/settings/signer-schema.ts')
  const { dataDir, settingsFile } = await chainPlace(deps, flags)
  const { chains, clusters } = await loadSettings(dataDir, settingsFile)
  if (chains.size + clusters.size === 0) {
    deps.io.note(`There are no public networks. Add them to ${settingsPath(dataDir, settingsFile)}.`)
  }
  const nodes = (urls: readonly string[]) => urls.map((url) => new URL(url).host)
  await output.many([
    ...[...chains.values()].map(
      ({ blockchain, chainId, rpcUrls, confirmations, finality, operators, blockExplorerUrl }) => ({
        blockchain,
        chain_id: chainId,
        genesis_hash: null,
        nodes: nodes(rpcUrls),
        confirmations,
        finality,
        commitment: null,
        operators: operators.map(signerName),
        block_explorer_url: blockExplorerUrl,
      }),
    ),
    ...[...clusters.values()].map(({ blockchain, genesisHash, rpcUrls, commitment, signer, blockExplorerUrl }) => ({
      blockchain,
      chain_id: null,
      genesis_hash: genesisHash,
      nodes: nodes(rpcUrls),
      confirmations: null,
      finality: null,
      commitment,
      operators: [signer.keypair_file ?? signer.keypair_credential],
      block_explorer_url: blockExplorerUrl,
    })),
  ])
}
