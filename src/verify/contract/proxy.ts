import { decodeAddress } from '../abi.ts'
import { type ContractReader, problemOrNull, valueOrNull } from './contract-reader.ts'

/** A contract that delegates its calls to an implementation. Addresses are in lower case. */
export interface ProxyFacts {
  kind: string
  implementation: string | null
  beacon: string | null
  admin: string | null
  /** The reason why the implementation is unknown, or the problem with the implementation. */
  problem: string | null
}

/** Storage slots of implementations, beacons and admins. */
const PROXY_SLOTS = {
  implementation: '0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc',
  beacon: '0xa3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50',
  admin: '0xb53127684a568b3173ae13b9f8a6016e243e63b6e8ee1178d6a717850b5d6103',
  /** `keccak256("PROXIABLE")` of EIP-1822. */
  proxiable: '0xc5f16f0fcc639fa48a6947836d9850f504798523bf8c9a3a87d5876cf622bcf7',
  /** `keccak256("org.zeppelinos.proxy.implementation")` of OpenZeppelin before EIP-1967. */
  zeppelin: '0x7050c9e0f4ca769c69bd3a8ef740bc37934f8e2c036e5a723fd8ee048ed3f8c3',
}

/** Code of minimal proxies and of delegating accounts. Immutable arguments may follow the code of minimal proxies. */
const PROXY_CODES: readonly (readonly [kind: string, code: RegExp])[] = [
  ['EIP-7702', /^0xef0100([0-9a-f]{40})$/],
  ['EIP-1167', /^0x363d3d373d3d3d363d73([0-9a-f]{40})5af43d82803e903d91602b57fd5bf3/],
  ['EIP-1167', /^0x3d3d3d3d363d3d37363d73([0-9a-f]{40})5af43d3d93803e602a57fd5bf3/],
  ['EIP-1167', /^0x365f5f375f5f365f73([0-9a-f]{40})5af43d5f5f3e5f3d91602a57fd5bf3/],
]

/** Returns the proxy's kind and addresses, or null if the contract isn't a proxy. */
export async function readProxy(reader: ContractReader, code: string): Promise<ProxyFacts | null> {
  const lower = code.toLowerCase()
  for (const [kind, pattern] of PROXY_CODES) {
    const address = pattern.exec(lower)?.[1]
    if (address !== undefined) return await checkImplementation(reader, { kind, implementation: `0x${address}` })
  }
  const names = Object.keys(PROXY_SLOTS) as (keyof typeof PROXY_SLOTS)[]
  const answers = await reader.readStorage(Object.values(PROXY_SLOTS))
  const addresses = Object.fromEntries(names.map((name, at) => [name, decodeSlotAddress(valueOrNull(answers[at]))]))
  const { implementation, beacon, admin = null, proxiable, zeppelin } = addresses
  if (beacon) return await readBeaconProxy(reader, beacon, admin)
  for (const [kind, address] of [
    ['EIP-1967', implementation],
    ['EIP-1822', proxiable],
    ['OpenZeppelin before EIP-1967', zeppelin],
  ] as const) {
    if (address) return await checkImplementation(reader, { kind, implementation: address, admin })
  }
  const [first] = answers
  const problem = first === undefined ? null : problemOrNull(first)
  return problem === null
    ? null
    : { kind: 'unknown', implementation: null, beacon: null, admin: null, problem: `its storage ${problem}` }
}

/** Returns the address in a storage slot, or null if the slot is empty or contains anything else. */
function decodeSlotAddress(word: string | null): string | null {
  const address = word === null ? null : decodeAddress(`0x${word.slice(2).padStart(64, '0')}`)
  return address === null || /^0x0+$/.test(address) ? null : address
}

async function readBeaconProxy(reader: ContractReader, beacon: string, admin: string | null): Promise<ProxyFacts> {
  const [answer] = await reader.call([{ to: beacon, signature: 'implementation()', decode: decodeAddress }])
  const implementation = valueOrNull(answer)
  const kind = 'EIP-1967 beacon'
  if (implementation !== null) return await checkImplementation(reader, { kind, implementation, beacon, admin })
  const why = answer === undefined ? 'has no response' : (problemOrNull(answer) ?? '')
  return { kind, implementation, beacon, admin, problem: `implementation() of the beacon ${beacon} ${why}` }
}

/** Completes the data of a proxy, and reports a problem if the implementation has no code. */
async function checkImplementation(
  reader: ContractReader,
  proxy: Partial<ProxyFacts> & { kind: string; implementation: string },
): Promise<ProxyFacts> {
  const code = await reader.codeAt(proxy.implementation)
  const problem = 'problem' in code ? `its code ${code.problem}` : code.value === '0x' ? 'it has no code' : null
  return {
    ...{ beacon: null, admin: null, ...proxy },
    problem: problem === null ? null : `the implementation ${proxy.implementation}: ${problem}`,
  }
}
