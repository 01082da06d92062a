import ipaddr from 'ipaddr.js'

const GLOBAL_UNICAST_V6 = ipaddr.parseCIDR('2000::/3')

/**
 * Whether a connection to an IP address stays on the public internet. Everything with another use is refused: private,
 * loopback, link-local, shared (CGNAT), multicast, reserved, unspecified, benchmarking and documentation ranges, and
 * every IPv6 form that carries an IPv4 address (mapped, compatible, translated, 6to4, Teredo), whatever it carries.
 * Text that is no address isn't public.
 */
export function isPublicAddress(text: string): boolean {
  // A zone (fe80::1%eth0) names an interface of this machine.
  if (text.includes('%') || !ipaddr.isValid(text)) return false
  const address = ipaddr.parse(text)
  // ipaddr.js calls ordinary what it has no name for: in IPv6 that is also what nobody was assigned.
  return address.range() === 'unicast' && (address.kind() === 'ipv4' || address.match(GLOBAL_UNICAST_V6))
}
