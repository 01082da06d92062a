import { constants } from 'node:fs'
import { open, readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { localBackendId } from '../../config/local-backend-id.ts'
import { localDataDirectory, stateDirectory, userConfigFile, walletsDirectory } from '../../config/paths.ts'
import { parseUrl } from '../../core/parse-url.ts'
import { terminalText } from '../../core/terminal-text.ts'
import { toBackendOrigin } from '../../operations/run-origin.ts'
import { savedAddresses } from '../../state/addresses.ts'
import { queryStateIfReadable } from '../../state/glance.ts'
import {
  type KnownCollectionOfServer,
  listKnownCollections,
  type RunName,
  runNames,
} from '../../state/known-collections.ts'
import { cutToWidth } from '../text/display-width.ts'

interface CompletionValue {
  value: string
  what: string
}

const MAX_COMPLETION_VALUES = 200
const MAX_DESCRIPTION_WIDTH = 60
const MAX_HEAD_BYTES = 512

/** Matches values that need no quotes in any shell and that aren't flags. */
const SAFE_VALUE = /^@?[\p{L}\p{N}][\p{L}\p{N}._-]{0,127}$/u

/**
 * Returns the output of `gdn __complete <kind> [words…]` for shell completions: one line for each value, with a tab and
 * a description. This function runs each time the user presses Tab, so it reads only local files and loads no commands.
 * On any error, it returns no values.
 *
 * @param words the words typed so far
 */
export async function completeValues(
  [kind = '', ...words]: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<string> {
  const find = Object.hasOwn(FINDERS, kind) ? FINDERS[kind] : undefined
  const values = (await find?.(words, env).catch(() => [])) ?? []
  return values
    .filter(({ value }) => SAFE_VALUE.test(value))
    .slice(0, MAX_COMPLETION_VALUES)
    .map(({ value, what }) => `${value}\t${cutToWidth(terminalText(what), MAX_DESCRIPTION_WIDTH)}\n`)
    .join('')
}

const FINDERS: Readonly<
  Record<string, (words: readonly string[], env: NodeJS.ProcessEnv) => Promise<CompletionValue[]>>
> = {
  profiles: findProfiles,
  collections: findCollections,
  wallets: findWallets,
  runs: (words, env) => findRuns(words, env, ({ id, name }) => (SAFE_VALUE.test(name) ? name : id)),
  'run-names': (words, env) => findRuns(words, env, ({ runName }) => runName ?? ''),
}

async function findProfiles(_words: readonly string[], env: NodeJS.ProcessEnv): Promise<CompletionValue[]> {
  const ownProfiles = Object.entries(await readProfiles(env)).filter(([name]) => name !== 'local')
  return [
    { value: 'local', what: 'Use the local backend (gdn local start)' },
    ...ownProfiles.map(([value, settings]) => ({ value, what: readTextField(settings, 'base_url') })),
  ]
}

async function findRuns(
  words: readonly string[],
  env: NodeJS.ProcessEnv,
  nameOf: (run: RunName) => string,
): Promise<CompletionValue[]> {
  const names = runNames(findStateDir(words, env), MAX_COMPLETION_VALUES)
  return names.map((run) => ({
    value: nameOf(run),
    what: `${run.manifest === null ? (run.runName ?? 'standard input') : basename(run.manifest)} on ${run.blockchain}, ${run.startedAt.slice(0, 10)}`,
  }))
}

/**
 * Returns the collections on the server and blockchain that the typed words or the environment select. By default,
 * returns all collections.
 */
async function findCollections(words: readonly string[], env: NodeJS.ProcessEnv): Promise<CompletionValue[]> {
  const isOfServer = await createServerFilter(words, env)
  const all = queryStateIfReadable(findStateDir(words, env), listKnownCollections)
  const blockchain = flagValue(words, '--blockchain', '-b')
  return all
    .filter(isOfServer)
    .filter((collection) => blockchain === undefined || collection.blockchain === blockchain)
    .reverse()
    .flatMap(({ contract_address, name, blockchain }) =>
      contract_address === null ? [] : [{ value: contract_address, what: `${name}, ${blockchain}` }],
    )
}

/** Returns the names of wallets and addresses. For speed, reads only the beginning of each keystore. */
async function findWallets(words: readonly string[], env: NodeJS.ProcessEnv): Promise<CompletionValue[]> {
  const folder = walletsDirectory(env)
  const files = await readdir(folder).catch(() => [])
  const names = files.flatMap((file) => /^([a-z0-9][a-z0-9._-]*)\.json$/.exec(file)?.[1] ?? [])
  const keystores = names
    .sort()
    .slice(0, MAX_COMPLETION_VALUES)
    .map(async (name) => {
      const [, address = ''] = /"address"\s*:\s*"(\w+)"/.exec(await readHead(join(folder, `${name}.json`))) ?? []
      return { value: `@${name}`, what: `Wallet ${await shownAddress(address)}`.trim() }
    })
  const addresses = queryStateIfReadable(findStateDir(words, env), savedAddresses)
  return [
    ...(await Promise.all(keystores)),
    ...addresses.map(({ name, address }) => ({ value: `@${name}`, what: `Address ${address}` })),
  ]
}

/**
 * Returns the address of a keystore in the form that commands print, or an empty string if the text isn't an address.
 */
async function shownAddress(address: string): Promise<string> {
  const [, digits] = /^(?:0x)?([0-9a-fA-F]{40})$/.exec(address) ?? []
  const { checksumAddress } = await import('../../api/address.ts')
  if (digits !== undefined) return checksumAddress(`0x${digits}`)
  const { isSolanaAddress } = await import('../../keystore/solana-key.ts')
  return isSolanaAddress(address) ? address : ''
}

/** Returns the beginning of a regular file, or an empty string for anything else. */
async function readHead(path: string): Promise<string> {
  try {
    const { O_RDONLY, O_NONBLOCK = 0, O_NOFOLLOW = 0 } = constants
    const file = await open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
    try {
      if (!(await file.stat()).isFile()) return ''
      const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_HEAD_BYTES), 0, MAX_HEAD_BYTES, 0)
      return buffer.toString('latin1', 0, bytesRead)
    } finally {
      await file.close()
    }
  } catch {
    return ''
  }
}

type IsOfServer = (server: Pick<KnownCollectionOfServer, 'origin' | 'url'>) => boolean

/**
 * Returns a filter for the server that the typed words or the environment select. Recognizes the local backend by its
 * last known ID.
 */
async function createServerFilter(words: readonly string[], env: NodeJS.ProcessEnv): Promise<IsOfServer> {
  const profile = words.includes('--local') ? 'local' : flagValue(words, '--profile')
  const url = flagValue(words, '--base-url') ?? (profile === undefined ? env.GDN_BASE_URL : undefined)
  if (url !== undefined && url !== '') return createUrlFilter(url)
  const name = profile ?? env.GDN_PROFILE
  if (name === undefined || name === '') return () => true
  if (name === 'local') {
    const id = await localBackendId(localDataDirectory(env))
    return ({ origin }) => id !== null && origin === toBackendOrigin(id)
  }
  const profiles = await readProfiles(env)
  return createUrlFilter(Object.hasOwn(profiles, name) ? readTextField(profiles[name], 'base_url') : '')
}

function createUrlFilter(url: string): IsOfServer {
  const origin = parseUrl(url)?.origin
  return (server) => origin === undefined || server.origin === origin || server.url === origin
}

function findStateDir(words: readonly string[], env: NodeJS.ProcessEnv): string {
  return stateDirectory(env, flagValue(words, '--state-dir')?.replace(/^~(?=\/|$)/, env.HOME ?? '~'))
}

async function readProfiles(env: NodeJS.ProcessEnv): Promise<Record<string, unknown>> {
  const text = await readFile(userConfigFile(env), 'utf8').catch(() => '{}')
  const config: unknown = JSON.parse(text)
  const profiles = config !== null && typeof config === 'object' && 'profiles' in config ? config.profiles : null
  return profiles !== null && typeof profiles === 'object' ? { ...profiles } : {}
}

function readTextField(record: unknown, name: string): string {
  const value =
    record !== null && typeof record === 'object' ? Object.entries(record).find(([key]) => key === name) : null
  return typeof value?.[1] === 'string' ? value[1] : ''
}

/** Returns the value of a flag among the typed words, without surrounding quotes. */
function flagValue(words: readonly string[], ...names: string[]): string | undefined {
  for (const [i, word] of words.entries()) {
    const name = names.find((flagName) => word === flagName || word.startsWith(`${flagName}=`))
    if (name === undefined) continue
    const value = word === name ? words[i + 1] : word.slice(name.length + 1)
    return value?.replace(/^(['"])(.*)\1$/s, '$2')
  }
  return undefined
}
