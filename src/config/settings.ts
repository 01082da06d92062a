import { blockchainHint } from '../api/blockchain-hint.ts'
import { type Blockchain, isBlockchain } from '../api/blockchains.ts'
import type { ApiVersion } from '../api/versions.ts'
import { flagError, type Place } from '../core/errors.ts'
import { quoted } from '../core/quoted.ts'
import { rememberKeysInUrl, type Secret } from '../core/secret.ts'
import { resolveApiKey } from './api-key.ts'
import type { OpenKeyring } from './keyring.ts'
import { localDataDirectory, stateDirectory, userConfigFile } from './paths.ts'
import { refuseUnknownProfile } from './profile-names.ts'
import { loadProjectFile } from './project-file.ts'
import type { ProfileSettings, ProjectConfig, ProjectFile, UserConfig } from './schema.ts'
import {
  type ConfigLayers,
  chooseTarget,
  parseServerOrigin,
  resolveServer,
  type Server,
  type ServerTarget,
} from './server.ts'
import { parseStorageSettings, type StorageProfile, type StorageSettings } from './storage.ts'
import { readUserConfig } from './user-file.ts'

/** Command flags whose values the configuration can also set. */
export interface ConfigFlags {
  baseUrl?: string | undefined
  local?: boolean | undefined
  profile?: string | undefined
  stateDir?: string | undefined
  blockchain?: Blockchain | undefined
  contract?: string | undefined
  wallet?: string | undefined
  rate?: number | undefined
}

/** A value in effect and its source, such as `--contract`, `GDN_CONTRACT`, a file or `profile main`. */
export interface Setting<Value> {
  value: Value
  from: string
}

/** The configuration in effect. The order of precedence is: flags, environment, project, user, defaults. */
export interface Settings {
  profile: string | null
  profileFrom: string | null
  blockchain: Setting<Blockchain> | null
  contract: Setting<string> | null
  /** The wallet, as an address or as a name such as `@alice` or `alice.eth`. */
  wallet: Setting<string> | null
  rate: Setting<number> | null
  /** The API version of requests. Null means 1.1. */
  apiVersion: Setting<ApiVersion> | null
  /** Meanings of manifest columns, from the project file. */
  columnMap: Setting<NonNullable<ProjectConfig['map']>> | null
  /** How to treat unknown manifest columns, from the project file. */
  unknownColumns: Setting<NonNullable<ProjectConfig['unknown_columns']>> | null
  /** E-mail address of the account, for wallets. */
  email: Setting<string> | null
  /** Allowed origin of signed URLs, in addition to the server's origin. */
  walletUrl: Setting<string> | null
  /** JSON-RPC URL of the Ethereum node that resolves ENS names. The URL may contain an API key. */
  ensRpcUrl: Setting<string> | null
  /** The configured server URL, as written. Null with `--local`, or if no URL is configured. */
  baseUrl: Setting<string> | null
  /** The storage settings of the profile, unparsed. */
  storage: StorageProfile
  /** The source of coin prices, from the profile. */
  prices: Pick<ProfileSettings, 'price_url' | 'price_path' | 'price_currency'>
  /**
   * Returns the storage to which local files are uploaded if the server doesn't accept files. Throws for inconsistent
   * settings.
   */
  fileStorage(): StorageSettings | null
  stateDir: string
  userFile: string
  projectFile: string | null
  /** Returns the server to use. Throws if no server is configured or the local backend isn't running. */
  server(): Promise<Server>
  /** Returns the key for a server. Throws if there is no key that may be sent to this server. */
  apiKey(server: Server): Promise<Secret>
}

interface SettingsSources {
  flags: ConfigFlags
  env: NodeJS.ProcessEnv
  cwd: string
  openKeyring: OpenKeyring
}

interface Layers extends ConfigLayers {
  flags: ConfigFlags
  user: UserConfig
}

/** Loads and merges all sources. Doesn't contact a server. */
export async function loadSettings({ flags, env, cwd, openKeyring }: SettingsSources): Promise<Settings> {
  await checkContractVariable(flags, env)
  const project = await loadProjectFile(cwd, env.HOME)
  const user = await readUserConfig(env)
  const active = findActiveProfile(flags, env, project, user)
  if (active !== null) refuseUnknownProfile(user, active.name, active.from)
  const profileName = active?.name ?? null
  const profile =
    profileName !== null && Object.hasOwn(user.profiles ?? {}, profileName) ? (user.profiles?.[profileName] ?? {}) : {}
  const layers: Layers = { flags, env, project, user, profileName, profile }
  const target = chooseTarget(layers)
  const dataDir = localDataDirectory(env)

  return {
    profile: profileName,
    profileFrom: active?.from.flag ?? active?.from.file ?? null,
    blockchain: resolveBlockchain(layers, target),
    contract: resolveSetting(layers, target, 'contract', flags.contract, env.GDN_CONTRACT, 'GDN_CONTRACT'),
    wallet: resolveSetting(layers, target, 'wallet', flags.wallet),
    rate: resolveSetting(layers, target, 'rate', flags.rate),
    apiVersion: resolveSetting(layers, target, 'api_version', undefined),
    columnMap: projectSetting(project, 'map'),
    unknownColumns: projectSetting(project, 'unknown_columns'),
    email: profile.email === undefined ? null : { value: profile.email, from: `profile ${profileName}` },
    walletUrl: resolveWalletUrl(layers),
    ensRpcUrl: resolveEnsRpcUrl(layers),
    baseUrl: target?.kind === 'url' ? { value: target.url, from: target.from } : null,
    storage: profile,
    prices: profile,
    fileStorage: () => parseStorageSettings(profile),
    stateDir: stateDirectory(env, flags.stateDir),
    userFile: userConfigFile(env),
    projectFile: project?.path ?? null,
    server: () => resolveServer(target, dataDir),
    apiKey: (server) => resolveApiKey(server, { env, user, dataDir, openKeyring }),
  }
}

function projectSetting<Name extends 'map' | 'unknown_columns'>(
  project: ProjectFile | null,
  name: Name,
): Setting<NonNullable<ProjectConfig[Name]>> | null {
  const value = project?.config[name]
  return project === null || value === undefined ? null : { value, from: project.path }
}

/**
 * Returns the additional origin of signed URLs that the user configured. A project file can't set this origin, because
 * the author of the file would then receive the private keys of the wallets.
 */
function resolveWalletUrl({ env, profile, profileName }: Layers): Setting<string> | null {
  const walletUrl = env.GDN_WALLET_URL ?? ''
  if (walletUrl !== '') {
    parseServerOrigin(walletUrl, 'GDN_WALLET_URL')
    return { value: walletUrl, from: 'GDN_WALLET_URL' }
  }
  return profile.wallet_url === undefined ? null : { value: profile.wallet_url, from: `profile ${profileName}` }
}

/**
 * Returns the URL of the node that resolves ENS names. A project file can't set this URL, because the node is trusted.
 */
function resolveEnsRpcUrl({ env, profile: { ens_rpc_url: url }, profileName }: Layers): Setting<string> | null {
  if (url !== undefined) rememberKeysInUrl(url)
  const rpcUrl = env.GDN_ENS_RPC_URL ?? ''
  if (rpcUrl !== '') return { value: rpcUrl, from: 'GDN_ENS_RPC_URL' }
  return url === undefined ? null : { value: url, from: `profile ${profileName}` }
}

/** Returns the name of the active profile and the source of the name, or null if there is none. */
function findActiveProfile(
  flags: ConfigFlags,
  env: NodeJS.ProcessEnv,
  project: ProjectFile | null,
  user: UserConfig,
): { name: string; from: Place } | null {
  if (flags.local) return { name: 'local', from: { flag: '--local' } }
  const sources: [name: string | undefined, from: Place][] = [
    [flags.profile, { flag: '--profile' }],
    [env.GDN_PROFILE || undefined, { flag: 'GDN_PROFILE' }],
    [project?.config.profile, { file: project?.path, field: 'profile' }],
    [user.profile, { file: userConfigFile(env), field: 'profile' }],
    [
      user.profiles !== undefined && Object.hasOwn(user.profiles, 'default') ? 'default' : undefined,
      { file: userConfigFile(env) },
    ],
  ]
  for (const [name, from] of sources) if (name !== undefined) return { name, from }
  return null
}

// Settings that depend on the server. If a project file or a profile specifies a server, its values for these settings
// apply only to that server.
const SERVER_SETTINGS = new Set<keyof ProfileSettings>(['contract', 'blockchain', 'rate', 'api_version'])

function resolveSetting<Name extends 'contract' | 'wallet' | 'rate' | 'blockchain' | 'api_version'>(
  { project, profile, profileName }: Layers,
  target: ServerTarget | null,
  name: Name,
  flag: NonNullable<ProfileSettings[Name]> | undefined,
  variable?: NonNullable<ProfileSettings[Name]> | '',
  variableName = '',
): Setting<NonNullable<ProfileSettings[Name]>> | null {
  if (flag !== undefined) return { value: flag, from: `--${name}` }
  if (variable !== undefined && variable !== '') return { value: variable, from: variableName }
  const inProject = project?.config[name]
  if (project !== null && inProject !== undefined && appliesToTarget(name, project.config.base_url, target)) {
    return { value: inProject, from: project.path }
  }
  const inProfile = profile[name]
  if (inProfile !== undefined && (profileName === 'local' || appliesToTarget(name, profile.base_url, target))) {
    return { value: inProfile, from: `profile ${profileName}` }
  }
  return null
}

function appliesToTarget(
  name: keyof ProfileSettings,
  baseUrl: string | undefined,
  target: ServerTarget | null,
): boolean {
  if (!SERVER_SETTINGS.has(name) || baseUrl === undefined) return true
  return target?.kind === 'url' && parseServerOrigin(target.url) === parseServerOrigin(baseUrl)
}

function resolveBlockchain(layers: Layers, target: ServerTarget | null): Setting<Blockchain> | null {
  const environmentValue = layers.env.GDN_BLOCKCHAIN ?? ''
  if (layers.flags.blockchain === undefined && environmentValue !== '' && !isBlockchain(environmentValue)) {
    throw flagError(
      'GDN_BLOCKCHAIN',
      `unknown blockchain ${quoted(environmentValue)}`,
      blockchainHint(environmentValue),
    )
  }
  const variable = isBlockchain(environmentValue) ? environmentValue : ''
  return resolveSetting(layers, target, 'blockchain', layers.flags.blockchain, variable, 'GDN_BLOCKCHAIN')
}

/**
 * Rejects a wrong address in `GDN_CONTRACT`, unless a flag overrides it. Configuration files have a schema instead.
 *
 * @throws GdnError `usage`
 */
async function checkContractVariable(flags: ConfigFlags, { GDN_CONTRACT: contract = '' }: NodeJS.ProcessEnv) {
  if (contract === '' || flags.contract !== undefined) return
  const { anyAddressProblem } = await import('../api/address.ts')
  const problem = anyAddressProblem(contract)
  if (problem === null) return
  const hint = 'Set GDN_CONTRACT to the address of a collection, or unset it.'
  throw flagError('GDN_CONTRACT', `${quoted(contract)} ${problem}`, hint)
}
