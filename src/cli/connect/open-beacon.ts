import { createTransport } from '../../client/create-transport.ts'
import type { TransportRequest } from '../../client/transport.ts'
import { readProxies } from '../../config/proxy.ts'
import { readText } from '../../config/read-text.ts'
import { flagError } from '../../core/errors.ts'
import type { BeaconSource } from '../../reveal/shuffle/read-beacon.ts'
import type { GdnCommand } from '../command.ts'
import type { Deps } from '../deps.ts'
import { httpAddress, notEmpty } from '../flags/common.ts'
import { VERSION } from '../version.ts'
import { debugExchanges } from './debug-exchange.ts'

/** Flags that select the beacon whose rounds draw the rows of shuffled drops. */
export interface BeaconFlags {
  beaconUrl?: string[]
  beacon?: string
}

const MAX_FILE_BYTES = 1024 * 1024

/** Adds `--beacon-url` and `--beacon`. */
export function addBeaconFlags(command: GdnCommand, group?: string): GdnCommand {
  command.valueFlag('--beacon-url <url>', 'drand relay for shuffled drops; repeatable', {
    group,
    parse: httpAddress,
    repeatable: true,
  })
  return command.valueFlag('--beacon <file>', 'Beacon file that replaces drand in tests', { group, parse: notEmpty })
}

/** Opens the beacon that the flags specify. Default: drand's quicknet. */
export async function openConfiguredBeacon(
  { env, io, now }: Deps,
  { beaconUrl, beacon }: BeaconFlags,
): Promise<BeaconSource> {
  if (beacon !== undefined && beaconUrl !== undefined) {
    throw flagError('--beacon', 'replaces --beacon-url', 'Use one of them.')
  }
  const { openBeacon } = await import('../../reveal/shuffle/read-beacon.ts')
  const text = beacon === undefined ? null : await readText(beacon, MAX_FILE_BYTES, 'invalid_input')
  return openBeacon({
    file: beacon === undefined || text === null ? undefined : { name: beacon, text },
    urls: beaconUrl,
    transport: {
      async request(request: TransportRequest) {
        const transport = await createTransport('single', { proxy: readProxies(env), onExchange: debugExchanges(io) })
        try {
          return await transport.request(request)
        } finally {
          await transport.close()
        }
      },
    },
    userAgent: `gdn/${VERSION}`,
    now,
  })
}
