import { BlockList, isIP, isIPv4 } from 'node:net'
import { GdnError } from '../../core/errors.ts'
import { quoted } from '../../core/quoted.ts'

const ADDRESS_BITS = { 4: 32, 6: 128 } as const

/**
 * Returns a function that checks whether an address belongs to a trusted proxy, whose X-Forwarded-* headers are used.
 *
 * @param networks addresses (`10.0.0.7`) and networks (`10.0.0.0/8`, `fd00::/8`)
 * @throws GdnError `usage`
 */
export function createTrust(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const text of networks) {
    const [address = '', bits, ...rest] = text.split('/')
    const version = isIP(address)
    const width = version === 4 || version === 6 ? ADDRESS_BITS[version] : 0
    const prefix = bits === undefined ? width : /^\d{1,3}$/.test(bits) ? Number(bits) : -1
    if (width === 0 || rest.length > 0 || prefix < 0 || prefix > width) throw notANetworkError(text)
    // A network that contains all addresses would let every client claim any address.
    if (prefix === 0) throw notANetworkError(text)
    list.addSubnet(address, prefix, version === 4 ? 'ipv4' : 'ipv6')
  }
  return (address) => {
    const plain = address.split('%')[0] ?? ''
    return isIP(plain) !== 0 && list.check(plain, isIPv4(plain) ? 'ipv4' : 'ipv6')
  }
}

const notANetworkError = (text: string) =>
  new GdnError('usage', `${quoted(text)} is not an IP address or a network`, {
    hint: 'Pass an address (10.0.0.7) or a network (10.0.0.0/8).',
    place: { flag: '--trust-proxy' },
  })
