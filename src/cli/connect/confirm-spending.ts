import { type Blockchain, isTestnet } from '../../api/blockchains.ts'
import type { Server } from '../../config/server.ts'
import { GdnError } from '../../core/errors.ts'
import { type Io, safe } from '../io/io.ts'

/**
 * Returns whether a request costs money: the blockchain is not a testnet, and the server is not on this machine. An
 * unknown blockchain may be a public network.
 */
export function costsMoney(blockchain: Blockchain | null, server: Server): boolean {
  return (blockchain === null || !isTestnet(blockchain)) && !server.loopback
}

/** Prompts before anything is spent on a public network. Off a terminal, only --yes confirms it. */
export async function confirmSpending(
  io: Io,
  yes: boolean | undefined,
  blockchain: Blockchain | null,
  server: Server,
  what: string,
): Promise<void> {
  if (yes || !costsMoney(blockchain, server)) return
  const where = blockchain === null ? '' : ` on ${blockchain}, a public network,`
  if (await io.confirm(`${safe(what)}${where} through ${server.origin}?`, '--yes')) return
  throw new GdnError('not_confirmed', 'nothing was sent')
}
