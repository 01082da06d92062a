import { dirname, resolve } from 'node:path'
import {
  type Blockchain,
  chainIdOf,
  type EvmBlockchain,
  isBlockchain,
  isEvm,
  isTestnet,
  SOLANA_BLOCKCHAINS,
  type SolanaBlockchain,
} from '../../api/blockchains.ts'
import { parseYaml } from '../../api/parse-yaml.ts'
import { findRetirement, retirementText } from '../../api/retired.ts'
import { GdnError } from '../../core/errors.ts'
import { rememberKeysInUrl } from '../../core/secret.ts'
import { readSecretFile } from '../../keystore/private-file.ts'
import { findBuiltInNetwork, findChainId, nearestNetwork, networkWithChainId } from './networks.ts'
import { type ChainEntry, type SettingsFile, settingsFileSchema } from './schema.ts'
import type { RemoteSignerEntry } from './signer-schema.ts'
import { CLUSTERS, DEFAULT_CLUSTERS, GENESIS_HASHES } from './solana-clusters.ts'
import type { SolanaChainEntry } from './solana-schema.ts'
import type { ChainSettings, ClusterSettings, ServerSettings } from './types.ts'

const MAX_SETTINGS_BYTES = 1024 * 1024
const WEI_PER_GWEI = 1_000_000_000

/**
 * Reads the backend's settings.
 *
 * @throws GdnError `invalid_config` with the location of the problem; `invalid_input` if other users may read the file,
 * because URLs of providers may contain keys
 */
export function readSettings(path: string): ServerSettings {
  const { chains, storage, pinning, ipfs_gateway, require_stored_files, api_version } = readSettingsFile(path)
  if (ipfs_gateway !== undefined) rememberKeysInUrl(ipfs_gateway)
  return {
    chains: new Map(
      Object.keys(chains).flatMap((name) => {
        const entry = chains[name]
        if (entry === undefined || !isBlockchain(name) || !isEvm(name)) return []
        return [[name, toSettings(name, entry, path)] as const]
      }),
    ),
    clusters: new Map(
      SOLANA_BLOCKCHAINS.flatMap((blockchain) => {
        const entry = chains[blockchain]
        return entry === undefined ? [] : [[blockchain, toCluster(blockchain, entry, path)] as const]
      }),
    ),
    storage: resolveFileFields(storage, path),
    pinning: pinning === undefined ? null : resolveFileFields(pinning, path),
    ipfsGateway: ipfs_gateway ?? null,
    requireStoredFiles: require_stored_files,
    apiVersion: api_version,
  }
}

/** Resolves the paths in `_file` fields relative to the settings file. */
function resolveFileFields<Entry extends object>(entry: Entry, path: string): Entry {
  const fields = Object.entries(entry).map(([key, value]) =>
    key.endsWith('_file') && typeof value === 'string' ? [key, resolve(dirname(path), value)] : [key, value],
  )
  return Object.fromEntries(fields) as Entry
}

/** Resolves the paths in `_file` fields and the path of a keystore relative to the settings file. */
const resolveEntryPaths = <Entry extends object>(entry: Entry, path: string): Entry =>
  'keystore' in entry
    ? { ...resolveFileFields(entry, path), keystore: resolve(dirname(path), String(entry.keystore)) }
    : resolveFileFields(entry, path)

/**
 * Returns the parsed settings file, without conversions.
 *
 * @throws as `readSettings`
 */
export const readSettingsFile = (path: string): SettingsFile =>
  parseYaml(settingsFileSchema, readSecretFile(path, MAX_SETTINGS_BYTES), path)

function toCluster(blockchain: SolanaBlockchain, entry: SolanaChainEntry, path: string): ClusterSettings {
  for (const url of entry.rpc_urls) rememberKeysInUrl(url)
  const genesisHash = entry.genesis_hash ?? GENESIS_HASHES[entry.cluster ?? DEFAULT_CLUSTERS[blockchain]]
  const cluster = CLUSTERS.find((name) => GENESIS_HASHES[name] === genesisHash) ?? null
  return {
    blockchain,
    genesisHash,
    rpcUrls: entry.rpc_urls,
    requestLimits: toRequestLimits(entry),
    commitment: entry.commitment,
    pollMs: entry.poll_seconds * 1000,
    priceCap: BigInt(entry.max_compute_unit_price),
    blockExplorerUrl: entry.block_explorer_url ?? null,
    isTestNetwork: isTestNetwork(
      blockchain,
      entry,
      cluster && { name: cluster, testnet: cluster !== 'mainnet-beta' },
      path,
    ),
    signer: resolveEntryPaths(entry.signer, path),
  }
}

type LimitedEntry = Pick<ChainEntry | SolanaChainEntry, 'rpc_urls' | 'requests_per_second'>

function toRequestLimits({ rpc_urls: urls, requests_per_second: limit }: LimitedEntry): Map<string, number> {
  const limitOf = (url: string) => (typeof limit === 'object' ? limit[new URL(url).host] : limit)
  return new Map(
    urls.flatMap((url) => {
      const perSecond = limitOf(url)
      return perSecond === undefined ? [] : [[url, perSecond] as const]
    }),
  )
}

function toSettings(blockchain: EvmBlockchain, entry: ChainEntry, path: string): ChainSettings {
  const retired = findRetirement(blockchain)
  const place = { file: path, field: `chains.${blockchain}` }
  if (retired?.stillRuns === false && entry.chain_id === undefined) {
    const { successor } = retired
    throw new GdnError('invalid_config', retirementText(blockchain, retired), {
      place,
      hint: `Use its successor ${successor} instead. To use ${successor} under the old name, add chain_id: ${chainIdOf(successor)}. For an embedded chain, remove this entry.`,
    })
  }
  const chainId = entry.chain_id ?? findChainId(blockchain)
  if (chainId === null) {
    const near = nearestNetwork(blockchain)
    throw new GdnError('invalid_config', `chain_id is required, because ${blockchain} is not a known network`, {
      place,
      hint: `Add the chain ID of the network.${near === undefined ? '' : ` Or did you mean ${near}?`}`,
    })
  }
  for (const url of entry.rpc_urls) rememberKeysInUrl(url)
  return {
    blockchain,
    chainId,
    rpcUrls: entry.rpc_urls,
    requestLimits: toRequestLimits(entry),
    confirmations: entry.confirmations,
    finality: entry.finality,
    pollMs: entry.poll_seconds * 1000,
    stuckMs: entry.stuck_seconds * 1000,
    feeCap: BigInt(Math.round(entry.max_fee_gwei * WEI_PER_GWEI)),
    mintsInFlight: entry.mints_in_flight,
    blockExplorerUrl: entry.block_explorer_url ?? networkWithChainId(chainId)?.blockExplorerUrl ?? null,
    isTestNetwork: isTestNetwork(blockchain, entry, findBuiltInNetwork(chainId), path),
    operators: entry.operators.map((operator) =>
      'keystore' in operator ? resolveEntryPaths(operator, path) : toRemoteSigner(operator, path),
    ),
    admin: entry.admin && toRemoteSigner(entry.admin, path),
  }
}

/**
 * Returns whether a network's coins have no value.
 *
 * @param network the built-in network with this chain ID or genesis hash
 * @throws GdnError `invalid_config` if a network that isn't a testnet has the name of a testnet, which clients trust
 */
function isTestNetwork(
  blockchain: Blockchain,
  { test_network: isDeclared }: Pick<ChainEntry, 'test_network'>,
  network: { name: string; testnet: boolean } | null,
  path: string,
): boolean {
  const isTest = isDeclared || (network?.testnet ?? isTestnet(blockchain))
  if (isTest || !isTestnet(blockchain)) return isTest
  throw new GdnError(
    'invalid_config',
    `${blockchain} is the name of a testnet, but ${network?.name} is not a testnet`,
    {
      place: { file: path, field: `chains.${blockchain}` },
      hint: 'Configure the network under its own name.',
    },
  )
}

function toRemoteSigner(entry: RemoteSignerEntry, path: string): RemoteSignerEntry {
  rememberKeysInUrl(entry.remote_signer)
  return resolveFileFields(entry, path)
}
