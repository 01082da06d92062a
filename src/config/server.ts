import { GdnError } from '../core/errors.ts'
import { hasUserInfo, isLoopbackUrl, parseUrl, trimSlashes } from '../core/parse-url.ts'
import { hidePrivateKey } from '../core/quoted.ts'
import type { ProfileSettings, ProjectFile } from './schema.ts'

/** The source of the server setting. An API key is sent only to a server that the user specified. */
export type ServerSource = 'flag' | 'environment' | 'project' | 'profile' | 'local'

export type ServerTarget =
  | { kind: 'local' }
  | { kind: 'url'; url: string; source: Exclude<ServerSource, 'local'>; from: string }

export interface Server {
  baseUrl: string
  origin: string
  source: ServerSource
  from: string
  /** Whether the server runs on this machine. */
  isLoopback: boolean
}

/** The sources of settings, without the flags. */
export interface ConfigLayers {
  env: NodeJS.ProcessEnv
  project: ProjectFile | null
  profileName: string | null
  profile: ProfileSettings
}

interface TargetSources extends ConfigLayers {
  flags: { baseUrl?: string | undefined; local?: boolean | undefined; profile?: string | undefined }
}

/**
 * Returns the server that the flags, the environment, the project or the user's profile specify, in this order of
 * precedence. Returns null if none of them does.
 */
export function chooseTarget({ flags, env, project, profileName, profile }: TargetSources): ServerTarget | null {
  const conflicting = [flags.local && '--local', flags.baseUrl !== undefined && '--base-url'].filter(Boolean)
  if (conflicting.length > 1) {
    throw new GdnError('usage', `${conflicting.join(' and ')} select different servers`, {
      hint: 'Use only one of these flags.',
    })
  }
  if (flags.local && flags.profile !== undefined && flags.profile !== 'local') {
    throw new GdnError('usage', '--local and --profile select different servers', {
      hint: 'Use only one of these flags.',
    })
  }
  const url = (value: string, source: Exclude<ServerSource, 'local'>, from: string): ServerTarget => {
    parseServerOrigin(value, from)
    return { kind: 'url', url: value, source, from }
  }
  const ofProfile = (): ServerTarget | null => {
    if (profileName === 'local') return { kind: 'local' }
    return profile.base_url === undefined ? null : url(profile.base_url, 'profile', `profile ${profileName}`)
  }
  if (flags.baseUrl !== undefined) return url(flags.baseUrl, 'flag', '--base-url')
  if (flags.local || flags.profile !== undefined) {
    const target = ofProfile()
    if (target !== null) return target
  }
  if (env.GDN_BASE_URL !== undefined && env.GDN_BASE_URL !== '') {
    return url(env.GDN_BASE_URL, 'environment', 'GDN_BASE_URL')
  }
  if (env.GDN_PROFILE !== undefined && env.GDN_PROFILE !== '') {
    const target = ofProfile()
    if (target !== null) return target
  }
  const inProject = project?.config.base_url
  if (project !== null && inProject !== undefined) return url(inProject, 'project', project.path)
  return ofProfile()
}

/** Thrown if no flag, variable or configuration file specifies a server. */
export class NoServerError extends GdnError {}

/**
 * Resolves a target to a server. For the local backend, looks up its current address.
 *
 * @throws NoServer if the target is null; GdnError `unreachable` if the local backend isn't running
 */
export async function resolveServer(target: ServerTarget | null, localDataDir: string): Promise<Server> {
  if (target === null) {
    throw new NoServerError('usage', 'no server is configured', {
      hint: 'Run `gdn local start` and add --local, or use --base-url <url>. Run `gdn init` to save a server in a profile.',
    })
  }
  if (target.kind === 'url') {
    const origin = parseServerOrigin(target.url, target.from)
    const baseUrl = trimSlashes(target.url)
    return {
      baseUrl,
      origin,
      source: target.source,
      from: target.from,
      isLoopback: isLoopbackOrigin(origin),
    }
  }
  const { findRunningBackend } = await import('./local-backend.ts')
  const running = await findRunningBackend(localDataDir)
  if (running === null) {
    throw new GdnError('unreachable', 'the local backend is not running', { hint: 'Run `gdn local start`.' })
  }
  return {
    baseUrl: running.url,
    origin: parseServerOrigin(running.url),
    source: 'local',
    from: '--local',
    isLoopback: true,
  }
}

/** Returns the origin of a URL. Throws if the URL isn't an http(s) URL or contains a user name or password. */
export function parseServerOrigin(url: string, from = 'the address'): string {
  const parsed = parseUrl(url)
  if (parsed !== null && hasUserInfo(parsed)) {
    throw new GdnError('usage', 'the URL of the server has a user name or password', {
      place: from.startsWith('/') ? { file: from } : { flag: from },
      hint: 'Remove the user name and password. Requests contain the API key instead.',
    })
  }
  if (parsed !== null && /^https?:$/.test(parsed.protocol) && parsed.hostname !== '') return parsed.origin
  throw new GdnError('usage', `"${hidePrivateKey(url)}" is not the URL of a server`, {
    place: from.startsWith('/') ? { file: from } : { flag: from },
    hint: 'Use a URL that begins with https:// or http://.',
  })
}

export const isLoopbackOrigin = (origin: string): boolean => isLoopbackUrl(new URL(origin))
