import { type Blockchain, isTestnet } from '../../api/blockchains.ts'
import { GdnError } from '../../core/errors.ts'
import { isDevelopmentNode } from '../../verify/block-at.ts'
import { openVerifier, type ReaderFlags } from '../connect/open-verifier.ts'
import type { Connection, Deps } from '../deps.ts'

/**
 * Refuses to draw the rows of a drop on a public network with the user's own beacon. Buyers couldn't verify the draw,
 * and an NFT is revealed only once.
 *
 * @throws GdnError `refused`
 */
export async function refuseNamedBeacon(
  deps: Deps,
  connection: Connection,
  { blockchain, flags }: { blockchain: Blockchain; flags: ReaderFlags },
): Promise<void> {
  if (await permitsNamedBeacon(deps, connection, { blockchain, flags })) return
  throw new GdnError('refused', `${blockchain} is a public network, and a beacon file is only for rehearsals`, {
    place: { flag: '--beacon' },
    hint: 'Nothing was sent. Omit the flag, so that drand draws the rows and buyers can verify the draw.',
  })
}

/**
 * Returns whether the rows of a drop may be drawn with the user's own beacon. This is permitted on a testnet and on a
 * development node.
 */
export async function permitsNamedBeacon(
  deps: Deps,
  { server }: Connection,
  { blockchain, flags }: { blockchain: Blockchain; flags: ReaderFlags },
): Promise<boolean> {
  if (isTestnet(blockchain)) return true
  const { verifier, close } = await openVerifier(deps, flags, blockchain, server)
  try {
    // Without a node, the seal can't be read either, and that read reports the reason.
    return 'reason' in verifier || (await isDevelopmentNode(verifier.chain))
  } finally {
    await close()
  }
}
