import { keccak_256 } from '@noble/hashes/sha3.js'
import { decodeAddress, decodeNumber, isWord } from '../abi.ts'
import { type ContractReader, problemOrNull, valueOrNull } from './contract-reader.ts'

/** A role in OpenZeppelin's AccessControl. */
export interface Role {
  role: string
  /** The ID of the role: `keccak256` of its name, or 0 for the default admin. */
  id: string
  member_count: number | null
  /** At most 20 members in lower case, or null if the contract doesn't list its members. */
  members: string[] | null
  /** The reason why members are missing, or null. */
  problem: string | null
}

const DEFAULT_ADMIN = 'DEFAULT_ADMIN_ROLE'
/**
 * Roles that most contracts have. If the contract doesn't list members, other roles can't be distinguished from roles
 * that don't exist.
 */
const STANDARD_ROLES = [DEFAULT_ADMIN, 'MINTER_ROLE']
const ROLE_NAMES = [...STANDARD_ROLES, 'PAUSER_ROLE', 'BURNER_ROLE', 'UPGRADER_ROLE', 'TRANSFER_ROLE', 'METADATA_ROLE']
const MAX_MEMBERS = 20

const computeRoleId = (name: string): string =>
  name === DEFAULT_ADMIN ? `0x${'0'.repeat(64)}` : `0x${Buffer.from(keccak_256(Buffer.from(name))).toString('hex')}`

/** Reads the members of the usual roles, or returns the reason why the contract has no roles. */
export async function readRoles(reader: ContractReader): Promise<{ roles: Role[] } | { problem: string }> {
  const ids = ROLE_NAMES.map(computeRoleId)
  const [admins, counts] = await Promise.all([
    reader.call(ids.map((id) => ({ signature: 'getRoleAdmin(bytes32)', args: [id], decode: parseWord }))),
    reader.call(ids.map((id) => ({ signature: 'getRoleMemberCount(bytes32)', args: [id], decode: decodeNumber }))),
  ])
  const [hasRoles] = admins
  if (hasRoles === undefined || valueOrNull(hasRoles) === null) {
    return { problem: `getRoleAdmin() ${hasRoles === undefined ? 'has no response' : problemOrNull(hasRoles)}` }
  }
  const roles: Role[] = []
  for (const [at, role] of ROLE_NAMES.entries()) {
    const [id = '', count] = [ids[at], counts[at]]
    const size = valueOrNull(count)
    if (size === null && STANDARD_ROLES.includes(role)) {
      const why = count === undefined ? 'has no response' : problemOrNull(count)
      const problem = `the contract does not list members: getRoleMemberCount() ${why}. The RoleGranted and RoleRevoked events show the members`
      roles.push({ role, id, member_count: null, members: null, problem })
    } else if (size !== null && (size > 0n || STANDARD_ROLES.includes(role))) {
      roles.push({ role, id, ...(await readMembers(reader, id, size)) })
    }
  }
  return { roles }
}

async function readMembers(reader: ContractReader, id: string, size: bigint): Promise<Omit<Role, 'role' | 'id'>> {
  const listed = size < MAX_MEMBERS ? Number(size) : MAX_MEMBERS
  const questions = Array.from({ length: listed }, (_, at) => ({
    signature: 'getRoleMember(bytes32,uint256)',
    args: [id, BigInt(at)],
    decode: decodeAddress,
  }))
  const answers = await reader.call(questions)
  const members = answers.flatMap((answer) => valueOrNull(answer) ?? [])
  const missing = answers.find((answer) => valueOrNull(answer) === null)
  const member_count = size <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(size) : null
  const problem =
    missing !== undefined
      ? `getRoleMember() ${problemOrNull(missing)}`
      : size > BigInt(listed)
        ? `only the first ${MAX_MEMBERS} of ${size} members are listed`
        : null
  return { member_count, members, problem }
}

const parseWord = (data: string): string | null => (isWord(data) ? data : null)
