import { resolve } from 'node:path'
import type { Blockchain } from '../../api/blockchains.ts'
import { createTransport } from '../../client/create-transport.ts'
import { readProxies } from '../../config/proxy.ts'
import { readSavedApiKey } from '../../config/saved-keys.ts'
import type { Settings } from '../../config/settings.ts'
import { count } from '../../core/count.ts'
import { flagError, GdnError } from '../../core/errors.ts'
import { isOnLoopback } from '../../core/parse-url.ts'
import type { Secret } from '../../core/secret.ts'
import { isTimeUp } from '../../core/time-up.ts'
import { OPENSEA_URL, OpenSeaClient, openSeaChain } from '../../marketplace/opensea.ts'
import { debugExchanges } from '../connect/debug-exchange.ts'
import { parseKey, readApiKey } from '../connect/read-key.ts'
import type { Deps } from '../deps.ts'
import type { OpenSeaFlags } from '../flags/opensea.ts'
import { VERSION } from '../version.ts'

/**
 * The outcome of a refresh. `not_sent` means that an earlier request failed for a reason that would also make this
 * request fail.
 */
export interface RefreshResult {
  token_id: string
  status: 'requested' | 'failed' | 'not_sent'
  error: string | null
}

export interface Refresher {
  /** Requests the refresh of each token. Returns all outcomes, and the error if there is one. */
  refresh(contract: string, tokenIds: readonly string[]): Promise<{ records: RefreshResult[]; error: GdnError | null }>
  close(): Promise<void>
}

const DEFAULT_REQUESTS_PER_SECOND = 1

/**
 * Refuses an embedded chain of the server, unless the user specified a different URL for OpenSea's API. Doesn't check a
 * server that doesn't respond.
 *
 * @param settings settings for the server; null if there is no server
 * @throws GdnError `refused`
 */
async function refuseEmbeddedChain(
  deps: Deps,
  { openseaUrl }: OpenSeaFlags,
  settings: Settings | null,
  blockchain: Blockchain,
): Promise<void> {
  if (openseaUrl !== undefined || settings === null) return
  const connection = await deps.connect(settings).catch(() => null)
  if (connection === null) return
  const { client, server } = connection
  try {
    await client.learnCapabilities({ signal: deps.signals.signal })
    if (client.hasNoValue(blockchain) !== true) return
  } finally {
    await client.close()
  }
  const where = server.isLoopback ? 'on this machine' : `at ${server.origin}`
  throw new GdnError('refused', `the blockchain ${blockchain} exists only ${where}, so OpenSea can't read its NFTs`, {
    hint: 'Nothing was sent. To try the command with another server that has the OpenSea API, add --opensea-url <url>.',
  })
}

/**
 * Checks the network and the key, and opens OpenSea's API. Sends nothing to OpenSea yet.
 *
 * @param settings settings for the server of the NFTs; null if there is no server
 * @throws GdnError `usage` if OpenSea doesn't list the network; `refused` for an embedded chain; `unauthorized` without
 *   a key
 */
export async function openRefresher(
  deps: Deps,
  flags: OpenSeaFlags & { rate?: number },
  { blockchain, settings }: { blockchain: Blockchain; settings: Settings | null },
): Promise<Refresher> {
  const chain = openSeaChain(blockchain)
  const url = flags.openseaUrl ?? OPENSEA_URL
  const parsed = new URL(url)
  const isLocal = isOnLoopback(parsed)
  if (parsed.protocol === 'http:' && !isLocal) {
    throw flagError('--opensea-url', 'must be an https URL, because http would send the key unencrypted')
  }
  // Check this first, because a key is useless for a chain that OpenSea can't read.
  await refuseEmbeddedChain(deps, flags, settings, blockchain)
  const key = await readOpenSeaKey(deps, flags, parsed.origin)
  const { io, signals, now, sleep, env } = deps
  const proxy = isLocal ? undefined : readProxies(env)
  const transport = await createTransport('bulk', { proxy, onExchange: debugExchanges(io) })
  return {
    async refresh(contract, tokenIds) {
      const progress = await io.progress(`Requesting the refresh of ${count(tokenIds.length, 'NFT')}`)
      const openSea = new OpenSeaClient({
        ...{ url, key, transport, userAgent: `gdn/${VERSION}`, signal: signals.signal, now, sleep },
        rate: flags.rate ?? DEFAULT_REQUESTS_PER_SECOND,
        onWait: (ms) => progress.update(`Waiting ${Math.ceil(ms / 1000)} s for OpenSea's rate limit`),
      })
      try {
        return await refreshAll(openSea, { chain, contract, tokenIds }, (done) =>
          progress.update(`Requesting the refresh of NFTs: ${done} of ${tokenIds.length}`),
        )
      } finally {
        progress.stop()
      }
    },
    close: () => transport.close(),
  }
}

interface RefreshRequest {
  chain: string
  contract: string
  tokenIds: readonly string[]
}

async function refreshAll(
  openSea: OpenSeaClient,
  { chain, contract, tokenIds }: RefreshRequest,
  onDone: (done: number) => void,
): ReturnType<Refresher['refresh']> {
  const records: RefreshResult[] = []
  let error: GdnError | null = null
  for (const token_id of tokenIds) {
    try {
      if (error !== null) records.push({ token_id, status: 'not_sent', error: null })
      else {
        const reason = await openSea.refresh(chain, contract, token_id)
        records.push({ token_id, status: reason === null ? 'requested' : 'failed', error: reason })
      }
    } catch (cause) {
      if (!(cause instanceof GdnError)) throw cause
      error = cause
      records.push({ token_id, status: 'not_sent', error: cause.message })
    }
    onDone(records.length)
  }
  return { records, error: toRefreshError(records, error) }
}

/** Returns the error of a refresh, with the number of NFTs that were not requested; null if all were requested. */
function toRefreshError(records: readonly RefreshResult[], error: GdnError | null): GdnError | null {
  const requested = records.filter(({ status }) => status === 'requested').length
  const so = `failed to request the refresh of ${records.length - requested} of ${count(records.length, 'NFT')}`
  const details = {
    not_requested: records.filter(({ status }) => status !== 'requested').map((record) => record.token_id),
  }
  if (error !== null) {
    const message = `${so}: ${error.message}`
    // The user can request the remaining refreshes later, as after any timeout.
    if (isTimeUp(error) && requested > 0) return new GdnError('pending', message, { hint: error.hint, details })
    return error.with({ message, details })
  }
  const [failed] = records.filter(({ status }) => status === 'failed')
  if (failed === undefined) return null
  return new GdnError('batch_failed_rows', `${so}: token ${failed.token_id}: ${failed.error}`, {
    hint: 'OpenSea indexes an NFT some time after its mint. Run `gdn nft refresh` with the token IDs later.',
    details,
  })
}

/**
 * Returns the key from a file, the environment or the saved keys. The key can't be an argument, because other users can
 * see the arguments of a process.
 */
async function readOpenSeaKey(
  { io, cwd, env, openKeyring }: Deps,
  { openseaKeyFile: file }: OpenSeaFlags,
  origin: string,
): Promise<Secret> {
  if (file !== undefined) return await readApiKey(io, file === '-' ? file : resolve(cwd, file), '')
  const environmentKey = env.GDN_OPENSEA_KEY ?? ''
  const key =
    environmentKey === ''
      ? await readSavedApiKey(env, origin, openKeyring)
      : parseKey(environmentKey, 'GDN_OPENSEA_KEY')
  if (key !== null) return key
  throw new GdnError('unauthorized', `there is no API key for ${origin}`, {
    hint: `Nothing was sent to OpenSea. Add --opensea-key-file <file>, set GDN_OPENSEA_KEY, or run \`gdn auth login --no-check --base-url ${origin}\` to save the key.`,
  })
}
