import { type Blockchain, isTestnet } from '../../api/blockchains.ts'
import { learnSupport } from '../../client/learn-support.ts'
import { GdnError } from '../../core/errors.ts'
import { isWithoutValue } from '../connect/is-without-value.ts'
import type { Connection, Deps } from '../deps.ts'
import { safe } from '../io/io.ts'
import { atMostText, type PricedRequests } from './at-most.ts'

/**
 * Returns whether requests on a blockchain cost money. They don't on a testnet, nor where the server runs on this machine
 * and says that the blockchain's coins have no value. Another server isn't believed: its operator may charge for requests
 * on any chain. A request that counts as free is sent with that condition, because the server may have been restarted
 * with other networks since, and because the user may have named another blockchain than that of the NFT.
 *
 * @param blockchain null if it isn't known, which may be a public network
 * @throws GdnError `unreachable` if the server does not respond
 */
export async function costsMoney(
  { signals, sleep }: Pick<Deps, 'signals' | 'sleep'>,
  blockchain: Blockchain | null,
  { client, server }: Pick<Connection, 'client' | 'server'>,
): Promise<boolean> {
  const isOnTestnet = blockchain !== null && isTestnet(blockchain)
  if (!isOnTestnet && server.loopback) await learnSupport(client, signals.signal, { sleep, random: Math.random })
  const isFree = isWithoutValue(blockchain, { client, server })
  client.onlyWithoutValue(isFree)
  return !isFree
}

/**
 * Prompts before anything is spent on a public network, with the most that it can cost. Off a terminal, only --yes confirms
 * it.
 *
 * @param priced null if what the requests use is not known
 */
export async function confirmSpending(
  deps: Pick<Deps, 'io' | 'signals' | 'sleep'>,
  yes: boolean | undefined,
  blockchain: Blockchain | null,
  connection: Pick<Connection, 'client' | 'server'>,
  what: string,
  priced: PricedRequests | null,
): Promise<void> {
  if (yes || !(await costsMoney(deps, blockchain, connection))) return
  const where = blockchain === null ? '' : ` on ${blockchain}, a public network,`
  const on = blockchain ?? (await priced?.findBlockchain?.()) ?? null
  const cost = priced !== null ? await atMostText(deps, connection, on, priced) : ''
  if (await deps.io.confirm(`${safe(what)}${where} through ${connection.server.origin}${safe(cost)}?`, '--yes')) return
  throw new GdnError('not_confirmed', 'nothing was sent')
}
