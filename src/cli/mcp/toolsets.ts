/** The commands of each toolset. Each command is in exactly one toolset or in `NOT_TOOLS`. */
const TOOLSETS = {
  default: [
    ...['collection create', 'collection set', 'collection show', 'collection list'],
    ...['nft mint', 'nft transfer', 'nft burn', 'nft list', 'nft show', 'nft verify'],
    ...['batch template', 'batch validate', 'batch mint', 'batch list', 'batch status', 'batch results', 'batch retry'],
    ...['plan', 'apply', 'cost', 'wallet list', 'wallet generate', 'doctor'],
  ],
  nfts: ['nft grant', 'nft update', 'nft freeze', 'nft wait', 'nft history', 'collection holders'],
  runs: ['batch resume', 'batch reconcile', 'batch preview', 'batch rarity', 'batch report', 'batch rm', 'reveal'],
  wallets: ['wallet add', 'wallet group', 'wallet rename', 'wallet rm'],
  backend: [
    ...['local status', 'chain list', 'chain status', 'tx list', 'tx show', 'tx unknown', 'key list', 'db status'],
    ...['webhook list', 'webhook show', 'webhook deliveries'],
  ],
  config: ['config get', 'config list', 'config path', 'auth status', 'schema'],
} as const satisfies Readonly<Record<string, readonly string[]>>

export type Toolset = keyof typeof TOOLSETS

const TOOLSET_NAMES = Object.keys(TOOLSETS) as Toolset[]

/** The values of `gdn mcp --toolsets`. */
export const TOOLSET_WORDS: readonly (Toolset | 'all')[] = [...TOOLSET_NAMES, 'all']

/** Returns the toolset of a command; null if the command isn't a tool. */
export function findToolset(command: string): Toolset | null {
  return TOOLSET_NAMES.find((name) => (TOOLSETS[name] as readonly string[]).includes(command)) ?? null
}
