import { BLOCKCHAINS, type Blockchain, isEvm } from '../../api/blockchains.ts'
import { createTransport } from '../../client/create-transport.ts'
import type { Server } from '../../config/server.ts'
import { GdnError } from '../../core/errors.ts'
import { parseUrl } from '../../core/parse-url.ts'
import { knowKeysIn } from '../../core/secret.ts'
import { sleep } from '../../core/time.ts'
import { type ChainReader, createChainReader } from '../../nft/chain-reader.ts'
import { createStorageReader, type StorageReader } from '../../nft/storage-reader.ts'
import { type GdnCommand, switchFlag, valueFlag } from '../command.ts'
import type { Deps } from '../deps.ts'
import { notEmpty } from '../flags/parse.ts'
import { VERSION } from '../version.ts'
import { proxyOf } from './connect.ts'
import { debugExchanges } from './debug-exchange.ts'

/** Chain and storage to compare NFTs with, or why they can't be read here. */
export type Verifier = { chain: ChainReader; storage: StorageReader } | { reason: string }

/** Where chain and storage are read from. */
export interface ReaderFlags {
  rpcUrl?: string
  gateway?: string
}

export interface VerifyFlags extends ReaderFlags {
  verify?: boolean
}

const VERIFYING = 'Verifying'

/** `--verify` and what it reads from. */
export function addVerifyFlags(command: GdnCommand): GdnCommand {
  switchFlag(
    command,
    '--verify',
    'Compare owner, token URI and metadata with chain and storage themselves; exit code 5 where something differs',
    VERIFYING,
  )
  return addReaderFlags(command)
}

/** `--rpc-url` and `--gateway`. */
export function addReaderFlags(command: GdnCommand): GdnCommand {
  valueFlag(command, '--rpc-url <url>', "JSON-RPC of the chain (GDN_RPC_URL); without it, the server's own", {
    group: VERIFYING,
    parse: notEmpty,
  })
  return valueFlag(command, '--gateway <url>', "IPFS gateway; without it, the server's own", {
    group: VERIFYING,
    parse: notEmpty,
  })
}

interface Opened {
  verifier: Verifier
  close(): Promise<void>
}

/**
 * Opens what NFTs are compared with: the chain behind `--rpc-url` or GDN_RPC_URL, else the one that the server serves
 * beside its API; a gateway, else the server's.
 *
 * @throws GdnError `usage` for a URL that is none, or one of another chain
 */
export async function openVerifier(
  deps: Deps,
  flags: ReaderFlags,
  blockchain: Blockchain,
  server: Pick<Server, 'baseUrl' | 'loopback'> | null,
): Promise<Opened> {
  const named = namedRpc(deps, flags)
  const gateway = flags.gateway === undefined ? server?.baseUrl : httpUrl(flags.gateway, '--gateway')
  const nothing = (reason: string): Opened => ({ verifier: { reason }, close: async () => {} })
  if (!isEvm(blockchain)) return nothing(`${blockchain} can't be read by gdn yet`)
  const url = named?.url ?? (server === null ? null : `${server.baseUrl}/rpc/${blockchain}`)
  if (url === null || gateway === undefined) return nothing(`no server is named to read from; ${NAME_ONE}`)
  const { chain, storage, close } = await readers(deps, url, gateway, server?.loopback === true)
  try {
    const found = await chain.chainId()
    const { chainId } = BLOCKCHAINS[blockchain]
    if (found === chainId) return { verifier: { chain, storage }, close }
    throw new GdnError('usage', `that is the chain ${found}; ${blockchain} is ${chainId}`, {
      place: { flag: named?.flag ?? '--rpc-url' },
    })
  } catch (error) {
    await close()
    // One that was named must answer; that a server has none is how many are.
    if (named !== null || !(error instanceof GdnError) || deps.signals.signal.aborted) throw error
    return nothing(`this server shows no chain (${error.message}); ${NAME_ONE}`)
  }
}

/** The price of gas in wei, where a chain can be asked: one that is named, or that of a server on this machine. */
export async function gasPriceOf(
  deps: Deps,
  flags: ReaderFlags,
  blockchain: Blockchain,
  server: Pick<Server, 'baseUrl' | 'loopback'> | null,
): Promise<bigint | null> {
  const named = namedRpc(deps, flags)
  const url = named?.url ?? (server?.loopback === true ? `${server.baseUrl}/rpc/${blockchain}` : null)
  if (url === null || !isEvm(blockchain)) return null
  const { chain, close } = await readers(deps, url, url, server?.loopback === true)
  try {
    return await chain.gasPrice()
  } catch (error) {
    if (error instanceof GdnError && !deps.signals.signal.aborted) return null
    throw error
  } finally {
    await close()
  }
}

const NAME_ONE = 'name one with --rpc-url or GDN_RPC_URL, and with --gateway where its files are'

async function readers({ env, io, signals }: Deps, url: string, gateway: string, isLocal: boolean) {
  const proxy = isLocal ? undefined : proxyOf(env)
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

/** The JSON-RPC URL that the user names; it may hold a key, and is never shown. */
function namedRpc({ env }: Deps, { rpcUrl }: ReaderFlags): { url: string; flag: string } | null {
  if (rpcUrl !== undefined) return { url: httpUrl(rpcUrl, '--rpc-url'), flag: '--rpc-url' }
  const inEnv = env.GDN_RPC_URL ?? ''
  return inEnv === '' ? null : { url: httpUrl(inEnv, 'GDN_RPC_URL'), flag: 'GDN_RPC_URL' }
}

function httpUrl(text: string, flag: string): string {
  if (/^https?:$/.test(parseUrl(text)?.protocol ?? '')) {
    knowKeysIn(text)
    return text
  }
  throw new GdnError('usage', 'is no URL that begins with https:// or http://', { place: { flag } })
}
