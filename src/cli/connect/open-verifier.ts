import { type Blockchain, chainIdOf, isEvm } from '../../api/blockchains.ts'
import { createTransport } from '../../client/create-transport.ts'
import { findStatus } from '../../client/responses.ts'
import { readProxies } from '../../config/proxy.ts'
import { NoServerError, type Server } from '../../config/server.ts'
import type { Settings } from '../../config/settings.ts'
import { flagError, GdnError } from '../../core/errors.ts'
import { parseUrl } from '../../core/parse-url.ts'
import { rememberKeysInUrl } from '../../core/secret.ts'
import { sleep } from '../../core/time.ts'
import { type ChainReader, createChainReader } from '../../verify/chain-reader.ts'
import { createStorageReader, type StorageReader } from '../../verify/storage-reader.ts'
import type { GdnCommand } from '../command.ts'
import type { Deps } from '../deps.ts'
import { httpAddress } from '../flags/common.ts'
import { VERSION } from '../version.ts'
import { debugExchanges } from './debug-exchange.ts'

/** The chain and storage with which NFTs are compared, or the reason why they can't be read. */
export type NftVerifier = { chain: ChainReader; storage: StorageReader } | { reason: string }

/** Sources of chain and storage data. */
export interface ReaderFlags {
  rpcUrl?: string
  gateway?: string
}

export interface VerifyFlags extends ReaderFlags {
  verify?: boolean
}

const VERIFY_GROUP = 'Verifying'

/** Adds `--verify` and the flags for its data sources. */
export function addVerifyFlags(command: GdnCommand): GdnCommand {
  command.switchFlag(
    '--verify',
    'Compare owner, token URI and metadata with the chain and the storage; exit code 5 if something differs',
    VERIFY_GROUP,
  )
  return addReaderFlags(command)
}

/** Adds `--rpc-url` and `--gateway`. */
export function addReaderFlags(command: GdnCommand): GdnCommand {
  command.valueFlag('--rpc-url <url>', "JSON-RPC URL of the chain (GDN_RPC_URL, or the server's node)", {
    group: VERIFY_GROUP,
    parse: httpAddress,
  })
  return command.valueFlag('--gateway <url>', "IPFS gateway (the server's gateway)", {
    group: VERIFY_GROUP,
    parse: httpAddress,
  })
}

interface OpenedVerifier {
  verifier: NftVerifier
  close(): Promise<void>
}

/**
 * Opens the chain and the storage for comparing NFTs. The chain is read from the node at `--rpc-url` or GDN_RPC_URL, or
 * else from the server. The storage is read from `--gateway`, or else from the server.
 *
 * @throws GdnError `usage` if a URL is invalid or belongs to another chain
 */
export async function openVerifier(
  deps: Deps,
  flags: ReaderFlags,
  blockchain: Blockchain,
  server: Pick<Server, 'baseUrl' | 'isLoopback'> | null,
): Promise<OpenedVerifier> {
  const specified = specifiedRpc(deps, flags)
  const gateway = flags.gateway ?? server?.baseUrl
  const noVerifier = (reason: string): OpenedVerifier => ({ verifier: { reason }, close: async () => {} })
  if (!isEvm(blockchain)) return noVerifier(`gdn can't read data from ${blockchain} yet`)
  const url = specified?.url ?? (server === null ? null : `${server.baseUrl}/rpc/${blockchain}`)
  if (url === null) {
    const files = gateway === undefined ? ', and --gateway for the files' : ''
    return noVerifier(`no node is specified: set --rpc-url or GDN_RPC_URL${files}`)
  }
  if (gateway === undefined) return noVerifier('no gateway is specified: set --gateway for the files')
  const { chain, storage, close } = await readers(deps, url, gateway, server?.isLoopback === true)
  try {
    const actualId = await chain.chainId()
    const chainId = chainIdOf(blockchain)
    if (chainId === null || actualId === chainId) return { verifier: { chain, storage }, close }
    throw flagError(specified?.flag ?? '--rpc-url', `has the chain ID ${actualId}, but ${blockchain} has ${chainId}`)
  } catch (error) {
    await close()
    // A node that the user specifies must respond. Many servers give no access to a node, so a server without a node
    // isn't an error.
    if (specified !== null) throw addNodeHint(error, specified.flag)
    if (!(error instanceof GdnError) || deps.signals.signal.aborted) throw error
    const why = findStatus(error) === 404 ? `this server provides no access to nodes of ${blockchain}` : error.message
    return noVerifier(`${why}: set --rpc-url or GDN_RPC_URL to the URL of a node`)
  }
}

/**
 * Adds a hint about the RPC URL to the error of a node that doesn't respond, or that isn't a JSON-RPC node. Returns
 * other errors unchanged.
 */
export function addNodeHint(error: unknown, flag: string): unknown {
  if (!(error instanceof GdnError)) return error
  if (error.code === 'bad_answer') {
    return error.with({
      place: { flag },
      hint: 'Check the URL, including its path. It must be the URL of a JSON-RPC node.',
    })
  }
  if (error.code !== 'unreachable') return error
  return error.with({ place: { flag }, hint: 'Try again, or configure another RPC URL.' })
}

async function readers({ env, io, signals }: Deps, url: string, gateway: string, isLocal: boolean) {
  const proxy = isLocal ? undefined : readProxies(env)
  const transport = await createTransport('single', { proxy, onExchange: debugExchanges(io) })
  const common = {
    transport,
    clock: { now: () => performance.now(), sleep, random: Math.random },
    userAgent: `gdn/${VERSION}`,
    signal: signals.signal,
  }
  return {
    chain: createChainReader({ ...common, url }),
    storage: createStorageReader({ ...common, gateway }),
    close: () => transport.close(),
  }
}

/**
 * Returns the JSON-RPC URL that the user specifies; null if there is none. The URL may contain an API key, so errors
 * name only its origin.
 */
export function specifiedRpc(
  { env }: Deps,
  { rpcUrl }: Pick<ReaderFlags, 'rpcUrl'>,
): { url: string; flag: string } | null {
  if (rpcUrl !== undefined) return { url: rpcUrl, flag: '--rpc-url' }
  const inEnv = env.GDN_RPC_URL ?? ''
  return inEnv === '' ? null : { url: httpUrl(inEnv, 'GDN_RPC_URL'), flag: 'GDN_RPC_URL' }
}

/**
 * Returns the server whose node a command reads if the user doesn't specify a node.
 *
 * @throws GdnError `usage` with a hint about `--rpc-url` if no server is configured
 */
export async function serverWithNode(settings: Settings): Promise<Server> {
  try {
    return await settings.server()
  } catch (error) {
    if (!(error instanceof NoServerError)) throw error
    const chain = settings.blockchain === null ? '-b <blockchain> and ' : ''
    throw new GdnError('usage', 'no node is specified, and no server is configured', {
      hint: `Add ${chain}--rpc-url <url> to use a node of the contract's chain. To use the node of a server, add --local or --base-url <url>.`,
    })
  }
}

export function httpUrl(text: string, flag: string): string {
  if (/^https?:$/.test(parseUrl(text)?.protocol ?? '')) {
    rememberKeysInUrl(text)
    return text
  }
  throw new GdnError('usage', 'must be a URL that begins with https:// or http://', { place: { flag } })
}
