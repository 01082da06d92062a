import ipaddr from 'ipaddr.js'

const GLOBAL_UNICAST_V6 = ipaddr.parseCIDR('2000::/3')

/**
 * Addresses at which cloud providers serve credentials to their machines. Connections to these addresses are never
 * allowed, even if private addresses are allowed. Most of them are in ranges that aren't public, but the address of
 * Azure's host service is in a public range.
 */
const CLOUD_METADATA: ReadonlySet<string> = new Set([
  '169.254.169.254', // AWS, GCP, Azure, Oracle Cloud, DigitalOcean
  '169.254.170.2', // AWS ECS
  '169.254.170.23', // AWS EKS
  'fd00:ec2::254', // AWS
  'fd00:ec2::23', // AWS EKS
  'fd20:ce::254', // GCP
  '168.63.129.16', // Azure
  '192.0.0.192', // Oracle Cloud
  '169.254.0.23', // Tencent Cloud
  '169.254.42.42', // Scaleway
  'fd00:42::42', // Scaleway
  '100.100.100.200', // Alibaba Cloud
])

/** Returns whether a cloud provider serves credentials at an address. Recognizes the address in any notation. */
export function isCloudMetadata(text: string): boolean {
  if (!ipaddr.isValid(text)) return false
  const address = ipaddr.process(text)
  return CLOUD_METADATA.has(address.toString()) || CLOUD_METADATA.has(translatedAddress(address) ?? '')
}

/**
 * IPv6 prefixes of addresses that embed an IPv4 address, and the byte at which the IPv4 address begins (RFC 6052, 3056,
 * 4291).
 */
const EMBEDDING_PREFIXES = [
  { prefix: ipaddr.parseCIDR('::/96'), at: 12 },
  { prefix: ipaddr.parseCIDR('64:ff9b::/96'), at: 12 },
  { prefix: ipaddr.parseCIDR('64:ff9b:1::/48'), at: 12 },
  { prefix: ipaddr.parseCIDR('::ffff:0:0:0/96'), at: 12 },
  { prefix: ipaddr.parseCIDR('2002::/16'), at: 2 },
] as const

/** Returns the IPv4 address that is embedded in an IPv6 address, or null. */
function translatedAddress(address: ipaddr.IPv4 | ipaddr.IPv6): string | null {
  if (address.kind() === 'ipv4') return null
  const translation = EMBEDDING_PREFIXES.find(({ prefix }) => address.match(prefix))
  return translation === undefined
    ? null
    : address
        .toByteArray()
        .slice(translation.at, translation.at + 4)
        .join('.')
}

/**
 * Returns whether a connection to an IP address stays on the public internet. Returns false for private, loopback,
 * link-local, shared (CGNAT), multicast, reserved, unspecified, benchmarking and documentation ranges. Also returns
 * false for any IPv6 form of an IPv4 address (mapped, compatible, translated, 6to4, Teredo), and for text that isn't an
 * address.
 */
export function isPublicAddress(text: string): boolean {
  // A zone, as in fe80::1%eth0, is a network interface of this machine.
  if (text.includes('%') || !ipaddr.isValid(text) || isCloudMetadata(text)) return false
  const address = ipaddr.parse(text)
  // ipaddr.js returns `unicast` for every range without a name, including unassigned IPv6 ranges.
  return address.range() === 'unicast' && (address.kind() === 'ipv4' || address.match(GLOBAL_UNICAST_V6))
}
