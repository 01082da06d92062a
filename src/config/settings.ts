import { BLOCKCHAIN_NAMES, type Blockchain, isBlockchain } from '../api/blockchains.ts'
import { GdnError } from '../core/errors.ts'
import { nearest } from '../core/nearest.ts'
import type { Secret } from '../core/secret.ts'
import { resolveApiKey } from './api-key.ts'
import type { OpenKeyring } from './keyring.ts'
import { localDataDirectory, stateDirectory, userConfigFile } from './paths.ts'
import { loadProjectFile } from './project-file.ts'
import type { ProfileSettings, ProjectFile, UserConfig } from './schema.ts'
import { chooseTarget, originOf, type Server, serverOf, type Target } from './server.ts'
import { type StorageProfile, type StorageSettings, storageOf } from './storage.ts'
import { readUserConfig } from './user-file.ts'

/** The flags that configuration knows, as a command got them. */
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

/** A value in effect, and where it came from: `--contract`, `GDN_CONTRACT`, a file, `profile main`. */
export interface Setting<Value> {
  value: Value
  from: string
  /** As it is written there, where a name stands for the value, such as `@alice`. */
  typed?: string
}

/** Flags, environment, project, user and defaults, in this order of precedence. */
export interface Settings {
  /** The profile in use, if there is one. */
  profile: string | null
  blockchain: Setting<Blockchain> | null
  contract: Setting<string> | null
  wallet: Setting<string> | null
  rate: Setting<number> | null
  /** E-mail address of the account, for wallets. */
  email: Setting<string> | null
  /** Another origin than the server's on which signed URLs may be. */
  walletUrl: Setting<string> | null
  /** The address that is configured, before it is looked up; null with --local and where there is none. */
  baseUrl: Setting<string> | null
  /** What the profile says of a storage, as it is written there. */
  storage: StorageProfile
  /** Where local files go when the server takes none. Throws for settings that don't fit together. */
  fileStorage(): StorageSettings | null
  stateDir: string
  userFile: string
  projectFile: string | null
  /** The server to talk to. Throws where none is named, or the local one doesn't run. */
  server(): Promise<Server>
  /** The key for that server. Throws where there is none that may go there. */
  apiKey(server: Server): Promise<Secret>
}

interface Surroundings {
  flags: ConfigFlags
  env: NodeJS.ProcessEnv
  cwd: string
  openKeyring: OpenKeyring
}

interface Layers {
  flags: ConfigFlags
  env: NodeJS.ProcessEnv
  project: ProjectFile | null
  user: UserConfig
  profileName: string | null
  profile: ProfileSettings
}

/** Reads what is there and puts it together; touches no server. */
export async function loadSettings({ flags, env, cwd, openKeyring }: Surroundings): Promise<Settings> {
  const project = await loadProjectFile(cwd, env.HOME)
  const user = await readUserConfig(env)
  const profileName = activeProfile(flags, env, project, user)
  const profile = profileName === null ? {} : profileNamed(user, profileName)
  const layers: Layers = { flags, env, project, user, profileName, profile }
  const target = chooseTarget(layers)
  const dataDir = localDataDirectory(env)

  return {
    profile: profileName,
    blockchain: blockchainOf(layers, target),
    contract: pick(layers, target, 'contract', flags.contract, env.GDN_CONTRACT, 'GDN_CONTRACT'),
    wallet: pick(layers, target, 'wallet', flags.wallet),
    rate: pick(layers, target, 'rate', flags.rate),
    email: profile.email === undefined ? null : { value: profile.email, from: `profile ${profileName}` },
    walletUrl: walletUrlOf(layers),
    baseUrl: target?.kind === 'url' ? { value: target.url, from: target.from } : null,
    storage: profile,
    fileStorage: () => storageOf(profile),
    stateDir: stateDirectory(env, flags.stateDir),
    userFile: userConfigFile(env),
    projectFile: project?.path ?? null,
    server: () => serverOf(target, dataDir),
    apiKey: (server) => resolveApiKey(server, { env, user, dataDir, openKeyring }),
  }
}

/** A host of wallets that the user named: never a project's file, whose author would come to know the keys. */
function walletUrlOf({ env, profile, profileName }: Layers): Setting<string> | null {
  const named = env.GDN_WALLET_URL ?? ''
  if (named !== '') {
    originOf(named, 'GDN_WALLET_URL')
    return { value: named, from: 'GDN_WALLET_URL' }
  }
  return profile.wallet_url === undefined ? null : { value: profile.wallet_url, from: `profile ${profileName}` }
}

function activeProfile(
  flags: ConfigFlags,
  env: NodeJS.ProcessEnv,
  project: ProjectFile | null,
  user: UserConfig,
): string | null {
  if (flags.local) return 'local'
  const fallback = user.profiles !== undefined && Object.hasOwn(user.profiles, 'default') ? 'default' : null
  return flags.profile ?? (env.GDN_PROFILE || undefined) ?? project?.config.profile ?? user.profile ?? fallback
}

/** The settings of a profile; `local` is built in. */
function profileNamed(user: UserConfig, name: string): ProfileSettings {
  const profiles = user.profiles ?? {}
  const found = Object.hasOwn(profiles, name) ? profiles[name] : undefined
  if (found !== undefined || name === 'local') return found ?? {}
  const names = ['local', ...Object.keys(profiles)]
  const near = nearest(name, names)
  throw new GdnError('usage', `there is no profile "${name}"`, {
    place: { flag: '--profile' },
    hint: near === undefined ? `profiles are ${names.join(', ')}; gdn config set makes one` : `did you mean ${near}?`,
  })
}

// What belongs to a server: taken from a file only when that file's own server is the one in use.
const OF_A_SERVER = new Set<keyof ProfileSettings>(['contract', 'blockchain', 'rate'])

function pick<Name extends 'contract' | 'wallet' | 'rate' | 'blockchain'>(
  { project, profile, profileName }: Layers,
  target: Target | null,
  name: Name,
  flag: NonNullable<ProfileSettings[Name]> | undefined,
  variable?: NonNullable<ProfileSettings[Name]> | '',
  variableName = '',
): Setting<NonNullable<ProfileSettings[Name]>> | null {
  if (flag !== undefined) return { value: flag, from: `--${name}` }
  if (variable !== undefined && variable !== '') return { value: variable, from: variableName }
  const inProject = project?.config[name]
  if (project !== null && inProject !== undefined && applies(name, project.config.base_url, target)) {
    return { value: inProject, from: project.path }
  }
  const inProfile = profile[name]
  if (inProfile !== undefined && (profileName === 'local' || applies(name, profile.base_url, target))) {
    return { value: inProfile, from: `profile ${profileName}` }
  }
  return null
}

function applies(name: keyof ProfileSettings, baseUrl: string | undefined, target: Target | null): boolean {
  if (!OF_A_SERVER.has(name) || baseUrl === undefined) return true
  return target?.kind === 'url' && originOf(target.url) === originOf(baseUrl)
}

function blockchainOf(layers: Layers, target: Target | null): Setting<Blockchain> | null {
  const named = layers.env.GDN_BLOCKCHAIN ?? ''
  if (layers.flags.blockchain === undefined && named !== '' && !isBlockchain(named)) {
    const near = nearest(named, BLOCKCHAIN_NAMES)
    throw new GdnError('usage', `unknown blockchain "${named}"`, {
      place: { flag: 'GDN_BLOCKCHAIN' },
      hint: near === undefined ? `one of ${BLOCKCHAIN_NAMES.join(', ')}` : `did you mean ${near}?`,
    })
  }
  const variable = isBlockchain(named) ? named : ''
  return pick(layers, target, 'blockchain', layers.flags.blockchain, variable, 'GDN_BLOCKCHAIN')
}
